"""Recognises credentials by their form: texts that are keys or tokens of some service, wherever they stand.

Theory of operation. The log hides values that are known to be secret. A credential that a caller put anywhere else is
not known, but most can be recognised by their prefix. Every rule is a literal followed by a run of characters that
matches in one way only, so the time is proportional to the length of the text, whatever it contains. Many texts are
first scanned together for the literals, because most contain none.

Masking cannot be undone. It is a last line of defence: a credential of an unknown form is not found.
"""

import re
from functools import partial
from typing import Any, Final

from weftwork.protocol.json.values import map_texts
from weftwork.protocol.media.asset_references import rewrite_around_tokens

MARKER: Final = "[REDACTED:credential]"

_WORD: Final = "[A-Za-z0-9]"
_KEY: Final = "[A-Za-z0-9_-]"
_TOKEN: Final = f"{_KEY}{{8,}}[.]{_KEY}{{8,}}(?:[.]{_KEY}*)?"
_PEM: Final = "(?:[^-]|-(?!----))*(?:-----END [A-Z0-9 ]{0,32}PRIVATE KEY-----)?"

_RULES: Final[tuple[tuple[tuple[str, ...], str, str], ...]] = (
    # How it begins, what may not stand before that, what follows.
    (("sk-",), _WORD, f"{_KEY}{{12,}}"),
    (("sk_live_", "sk_test_", "rk_live_", "rk_test_", "hk_live_", "hk_test_"), _WORD, f"{_KEY}{{8,}}"),
    (("AKIA", "ASIA"), _WORD, "[A-Z0-9]{16}(?![A-Za-z0-9])"),
    (("AIza",), _WORD, f"{_KEY}{{30,}}"),
    (("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"), _WORD, "[A-Za-z0-9_]{20,}"),
    (("glpat-", "npm_", "hf_"), _WORD, f"{_KEY}{{20,}}"),
    (("xoxa-", "xoxb-", "xoxp-", "xoxr-", "xoxs-"), _WORD, "[A-Za-z0-9-]{10,}"),
    # A signed token: all of it up to the first dot is read once, since it begins where nothing of its kind ends.
    (("eyJ",), _KEY, _TOKEN),
    (("Bearer ", "bearer ", "BEARER "), _WORD, "[ ]{0,8}[A-Za-z0-9._~+/=-]{16,}"),
    (("Basic ", "basic ", "BASIC "), _WORD, "[ ]{0,8}[A-Za-z0-9+/]{20,}={0,2}"),
    # A private key as text, or all that follows its first line.
    ((" PRIVATE KEY-----",), "-", _PEM),
    # Name and password in an address.
    (("://",), "/", "[^\\s/@:\"'<>]{0,128}:[^\\s/@\"'<>]{1,128}@"),
    # Texts that are planted to see whether they come out.
    (("CANARY", "secret-canary", "secret:canary", "secret_canary"), "/", "[-_:][A-Za-z0-9_.:-]{4,}"),
)


def _pattern(head: str, before: str, behind: str) -> re.Pattern[str]:
    """The literal first, so that it is searched for at the speed of a literal."""
    literal = re.escape(head)
    return re.compile(f"{literal}(?<!{before}{literal}){behind}")


_PATTERNS: Final = tuple((head, _pattern(head, before, behind)) for heads, before, behind in _RULES for head in heads)
_HEADS: Final = tuple(head.encode() for head, _ in _PATTERNS)


def may_hold_credential(data: bytes) -> bool:
    """Whether a credential could stand in a text of this JSON; False is certain."""
    return any(head in data for head in _HEADS)


def mask_credentials_in_text(text: str) -> str:
    """bundle-02 (OpenWOP debug-bundle): the text without what looks like a credential."""
    for head, pattern in _PATTERNS:
        if head in text:
            text = rewrite_around_tokens(text, partial(pattern.sub, MARKER))
    return text


def mask_credentials(value: Any) -> Any:
    """A copy of a JSON value in which no text and no member name holds one. Members keep their order."""
    return map_texts(value, mask_credentials_in_text)
