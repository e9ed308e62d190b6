"""The HTTP headers of responses about an asset, its file name, and the byte ranges that a request asks for.

Theory of operation. A browser shows bytes that somebody else sent on an origin of this host. No single header is
enough protection: the type is never guessed, content that could run is downloaded and not shown, and content that is
shown anyway is in a sandbox that loads nothing. Every response carries all of these headers. Sources: RFC 0055 and the
reading of it, RFC 6266 and RFC 8187 (file names), RFC 9110 sections 13 and 14 (conditions and ranges).
"""

import re
import unicodedata
from typing import Final, Literal, NamedTuple
from urllib.parse import quote

from weftwork.protocol.media.media_types import ACTIVE_TYPES, PLAIN_TYPE, canonical_media_type, is_harmless, is_inline

Headers = list[tuple[bytes, bytes]]

MAX_AGE: Final = 31_536_000
"""One year in seconds, by convention the longest time."""

ResourcePolicy = Literal["same-origin", "same-site", "cross-origin"]
"""Whose pages may show an asset: those of the same origin, of the same site, or of anybody who has its URL."""
DEFAULT_RESOURCE_POLICY: Final[ResourcePolicy] = "same-site"

SECURITY_HEADERS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; sandbox"),
    (b"cross-origin-resource-policy", DEFAULT_RESOURCE_POLICY.encode()),
    (b"referrer-policy", b"no-referrer"),
)
"""media-13 (RFC 0055, reading): on 200, 206, 304, 404 and 416."""

ERROR_HEADERS: Final = (*SECURITY_HEADERS, (b"cache-control", b"no-store"))
"""media-13: on 404 and 416, whose bodies are ours."""

MAX_NAME: Final = 120
"""In characters."""
MAX_NAME_BYTES: Final = 240
"""In UTF-8: what file systems take."""

_RANGE: Final = re.compile(r"bytes=[ \t]*([0-9]{0,60})-([0-9]{0,60})[ \t]*", re.IGNORECASE)
_TAGS: Final = re.compile(r'(?:W/)?("[\x21\x23-\x7e\x80-\xff]*")')

_UNSAFE: Final = frozenset('/\\:*?"<>|%;\x7f')
"""Separators of paths and headers, and what some file system or shell gives a meaning."""
_UNSAFE_KINDS: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Controls, what turns the direction of text or is not seen at all, halves of characters, and what nobody has named."""
_SPACES: Final = re.compile(r"\s+")
_OUTSIDE_ASCII: Final = re.compile(r"[^ !#-\[\]-~]")


def asset_headers(
    token_media_type: str,
    name: str,
    sha256: str,
    max_age: int = MAX_AGE,
    reach: ResourcePolicy = DEFAULT_RESOURCE_POLICY,
) -> Headers:
    """media-13: on 200, 206 and 304. What is not known of the length is left to whoever sends it.

    `max_age` is in seconds: how long the token lasts, at most.
    """
    guards = dict(SECURITY_HEADERS) | (
        {b"cross-origin-resource-policy": reach.encode()} if reach != DEFAULT_RESOURCE_POLICY else {}
    )
    # One fixed name, which a browser does not execute from a foreign page.
    media_type = canonical_media_type(token_media_type)
    media_type = media_type if media_type in ACTIVE_TYPES or is_harmless(media_type) else PLAIN_TYPE
    kept = min(max(max_age, 0), MAX_AGE)
    return [
        (b"content-type", media_type.encode("ascii")),
        (b"content-disposition", content_disposition(media_type, name)),
        *guards.items(),
        (b"cache-control", b"private, max-age=%d, immutable" % kept),
        (b"accept-ranges", b"bytes"),
        (b"etag", asset_etag(sha256).encode("ascii")),
    ]


def content_disposition(media_type: str, name: str) -> bytes:
    """media-10 (RFC 6266): whether a browser shows it or saves it, and under which name. In ASCII, on one line."""
    disposition = "inline" if is_inline(media_type) else "attachment"
    clean = safe_file_name(name)
    if not clean:
        return disposition.encode()
    plain = _OUTSIDE_ASCII.sub("_", clean)
    value = f'{disposition}; filename="{plain}"'
    if plain != clean:
        value += f"; filename*=UTF-8''{quote(clean, safe='')}"
    return value.encode("ascii")


def safe_file_name(text: str) -> str:
    """media-09 (RFC 6266, reading): a name to show and to save under, whatever text it was made from; empty if nothing
    of it is left.

    No separators of paths, controls or marks that turn the direction of text; no dots or spaces at either end.
    """
    name = _shorten_name(sanitize_name(text[-4 * MAX_NAME :]))
    return name if name.strip("_. ") else ""


def sanitize_name(text: str) -> str:
    """media-09: all of a name, of characters that may stand in it."""
    kept = "".join(
        "_" if each in _UNSAFE else "" if unicodedata.category(each) in _UNSAFE_KINDS and not each.isspace() else each
        for each in text
    )
    return _SPACES.sub(" ", kept).strip(" .")


def _shorten_name(name: str) -> str:
    """The end says what kind of file it is, so it is the middle that goes."""
    if len(name) <= MAX_NAME and len(name.encode()) <= MAX_NAME_BYTES:
        return name
    stem, dot, suffix = name.rpartition(".")
    tail = dot + suffix if dot and stem and len(suffix) <= 16 else ""
    body = name[: len(name) - len(tail)]
    while len(body) + len(tail) > MAX_NAME or len((body + tail).encode()) > MAX_NAME_BYTES:
        body = body[:-1]
    return (body.strip(" .") + tail).strip(" .")


def asset_etag(sha256: str) -> str:
    """The same bytes have the same tag, whatever they are called."""
    return f'"{sha256}"'


def is_not_modified(if_none_match: str | None, tag: str) -> bool:
    """media-12 (RFC 9110 13.1.2): whether the answer is 304."""
    if if_none_match is None:
        return False
    return if_none_match.strip() == "*" or tag in _TAGS.findall(if_none_match)


def is_range_current(if_range: str | None, tag: str) -> bool:
    """media-12 (RFC 9110 13.1.5): whether the `Range` counts. A date never does: assets have a tag."""
    return if_range is None or if_range.strip() == tag


class ByteRange(NamedTuple):
    """From `start` up to, and without, `stop`."""

    start: int
    stop: int

    def content_range(self, size: int) -> bytes:
        """The header of a 206 or a 416 for something of this size."""
        return b"bytes */%d" % size if self == UNSATISFIABLE else b"bytes %d-%d/%d" % (self.start, self.stop - 1, size)


UNSATISFIABLE: Final = ByteRange(0, 0)
"""No byte of it is there: 416."""


def parse_byte_range(value: str | None, size: int) -> ByteRange | None:
    """media-11 (RFC 9110 14): the bytes that a `Range` header asks for; None if the answer is the whole.

    That is so for several ranges, for other units, and for what is not well formed: a server may always send all.
    """
    if value is None or (found := _RANGE.fullmatch(value.strip())) is None:
        return None
    first, last = found.groups()
    if not first and (not last or (int(last) and not size)):
        return None
    if not first:
        return ByteRange(max(size - int(last), 0), size) if int(last) else UNSATISFIABLE
    if last and int(last) < int(first):
        return None
    if int(first) >= size:
        return UNSATISFIABLE
    return ByteRange(int(first), min(int(last) + 1, size) if last else size)
