"""URLs of assets in texts that are rewritten.

Theory. A token is random letters, and among enough of them some look like the beginning of a credential, or go on for
too long. Changed by one letter it opens nothing. So tokens are set aside before a text is rewritten, and put back.
"""

import re
from collections.abc import Callable
from typing import Final

from weftwork.protocol.media.token import split

_MARK: Final = "/assets/v1."
_TOKEN: Final = re.compile(
    r"(?<=/assets/)v1\.[A-Za-z0-9_-]{1,64}\.[A-Za-z0-9_-]{4,1900}\.[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])"
)
_PLACE: Final = re.compile("\0([0-9]+)\0")
"""No text of a document holds NUL, and no rule of those who rewrite takes it for part of anything."""


def beside_links(text: str, change: Callable[[str], str]) -> str:
    """media-55 (RFC 0055 C): the text as `change` makes it, with every token of an asset in it as it was."""
    if _MARK not in text or "\0" in text:
        return change(text)
    tokens: list[str] = []

    def aside(found: re.Match[str]) -> str:
        # What only looks like a token may be a credential in disguise.
        if split(found[0]) is None:
            return found[0]
        tokens.append(found[0])
        return f"\0{len(tokens) - 1}\0"

    changed = change(_TOKEN.sub(aside, text))
    return _PLACE.sub(lambda place: tokens[int(place[1])], changed)
