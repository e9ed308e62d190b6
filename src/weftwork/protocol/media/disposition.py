"""Names of files: made safe to show, and written into a header. Sources: RFC 6266, RFC 8187."""

import re
import unicodedata
from typing import Final
from urllib.parse import quote

from weftwork.protocol.media.media_type import is_inline

MAX_NAME: Final = 120
"""In characters."""
MAX_NAME_BYTES: Final = 240
"""In UTF-8: what file systems take."""

_UNSAFE: Final = frozenset('/\\:*?"<>|%;\x7f')
"""Separators of paths and headers, and what some file system or shell gives a meaning."""
_UNSAFE_KINDS: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Controls, what turns the direction of text or is not seen at all, halves of characters, and what nobody has named."""
_SPACES: Final = re.compile(r"\s+")
_OUTSIDE_ASCII: Final = re.compile(r"[^ !#-\[\]-~]")


def clean_name(text: str) -> str:
    """media-09 (RFC 6266, reading): a name to show and to save under, whatever text it was made from; empty if nothing
    of it is left.

    No separators of paths, controls or marks that turn the direction of text; no dots or spaces at either end.
    """
    name = _cut(plain_name(text[-4 * MAX_NAME :]))
    return name if name.strip("_. ") else ""


def plain_name(text: str) -> str:
    """media-09: all of a name, of characters that may stand in it."""
    kept = "".join(
        "_" if each in _UNSAFE else "" if unicodedata.category(each) in _UNSAFE_KINDS and not each.isspace() else each
        for each in text
    )
    return _SPACES.sub(" ", kept).strip(" .")


def _cut(name: str) -> str:
    """The end says what kind of file it is, so it is the middle that goes."""
    if len(name) <= MAX_NAME and len(name.encode()) <= MAX_NAME_BYTES:
        return name
    stem, dot, suffix = name.rpartition(".")
    tail = dot + suffix if dot and stem and len(suffix) <= 16 else ""
    body = name[: len(name) - len(tail)]
    while len(body) + len(tail) > MAX_NAME or len((body + tail).encode()) > MAX_NAME_BYTES:
        body = body[:-1]
    return (body.strip(" .") + tail).strip(" .")


def disposition(media_type: str, name: str) -> bytes:
    """media-10 (RFC 6266): whether a browser shows it or saves it, and under which name. In ASCII, on one line."""
    way = "inline" if is_inline(media_type) else "attachment"
    clean = clean_name(name)
    if not clean:
        return way.encode()
    plain = _OUTSIDE_ASCII.sub("_", clean)
    value = f'{way}; filename="{plain}"'
    if plain != clean:
        value += f"; filename*=UTF-8''{quote(clean, safe='')}"
    return value.encode("ascii")
