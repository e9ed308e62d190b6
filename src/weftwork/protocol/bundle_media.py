"""Media in a bundle: by reference only, and no bytes as text.

Theory. Bytes make a bundle unreadable and may be what nobody wanted to pass on. Media that stand in an event become
the URL that the host would have given them, which opens as long as the run is there; any other run of base64 is cut
down to its beginning. Whether a document holds any of it is asked of its bytes first, since most hold none.

Source: RFC 0055 C (debug bundles list media by URL).
"""

import hashlib
import re
from collections.abc import Callable
from typing import Any, Final

from weftwork.protocol.credential_patterns import mask_text
from weftwork.protocol.events import ENVELOPE_RECORDED
from weftwork.protocol.json_value import is_object
from weftwork.protocol.media.elide import elided
from weftwork.protocol.media.inline import decoded
from weftwork.protocol.media.sniff import HEAD, settled, sniff
from weftwork.protocol.media.whole_links import beside_links

Link = Callable[[bytes, str, str], str]
"""The URL of an asset by the digest of its bytes, its media type and its name."""

LONGEST: Final = 1024
"""Characters of base64 that may stand in a bundle."""
LINE: Final = 40
"""A line of base64 that is broken into lines is at least so long."""

_FAMILY: Final = "media."
_MEMBER: Final = b'"base64"'
_LETTERS: Final = bytes(
    65 if chr(each).isascii() and (chr(each).isalnum() or chr(each) in "+/_-") else 32 for each in range(256)
)
_RUN: Final = b"A" * LINE
_WORD: Final = "[A-Za-z0-9+/_-]"
_LINES: Final = re.compile(rf"(?<!{_WORD}){_WORD}{{{LINE},}}(?:\r?\n{_WORD}{{{LINE},}})+")
_HEX: Final = re.compile(r"[0-9a-f\s]+")


def may_hold_media(together: bytes, documents: list[bytes]) -> bool:
    """Whether one of these documents, which are joined in `together`, is worth a closer look."""
    return _MEMBER in together or any(len(each) > LONGEST for each in documents)


def holds_media(document: bytes) -> bool:
    """Whether media or a long run of base64 could be in an encoded document; False is certain."""
    return _MEMBER in document or (len(document) > LONGEST and _RUN in document.translate(_LETTERS))


def by_reference(event: Any, link: Link | None) -> Any:
    """bundle-08 (RFC 0055 C): an event of media with a URL instead of their bytes; others as they are. Without `link`
    nothing is said but that they were left out."""
    kind, payload = (event.get("type"), event.get("payload")) if is_object(event) else (None, None)
    if not is_object(payload):
        return event
    if isinstance(kind, str) and kind.startswith(_FAMILY):
        return {**event, "payload": _referred(payload, link)}
    if kind == ENVELOPE_RECORDED and str(payload.get("type")).startswith(_FAMILY) and is_object(payload.get("payload")):
        return {**event, "payload": {**payload, "payload": _referred(payload["payload"], link)}}
    return event


def without_bytes(text: str) -> str:
    """bundle-08: a text in which no run of base64 is longer than it may be, in one line or in many."""
    return text if len(text) <= LONGEST else beside_links(text, _cut)


def _cut(text: str) -> str:
    return elided(_LINES.sub(_cut_lines, text) if "\n" in text else text, LONGEST)


def _cut_lines(found: re.Match[str]) -> str:
    # Digests below each other are no media.
    text = found[0]
    if len(text) <= LONGEST or _HEX.fullmatch(text):
        return text
    return elided(re.sub(r"\s+", "", text), LONGEST)


def _referred(payload: dict[str, Any], link: Link | None) -> dict[str, Any]:
    if "base64" not in payload:
        return payload
    kept = {name: value for name, value in payload.items() if name != "base64"}
    if isinstance(kept.get("url"), str):
        return kept
    text = payload["base64"]
    data = decoded(text) if isinstance(text, str) else None
    if link is None or data is None:
        return {**kept, "elided": "The bytes are not in the bundle."}
    declared, name = (kept.get(each) if isinstance(kept.get(each), str) else "" for each in ("mimeType", "name"))
    media_type = settled(declared or "", sniff(data[:HEAD]))
    # In a token a credential could be found by nobody.
    return {"url": link(hashlib.sha256(data).digest(), media_type, mask_text(name or "")), **kept}
