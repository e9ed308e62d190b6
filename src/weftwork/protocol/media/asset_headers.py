"""The HTTP headers of responses about an asset, its file name, and the byte ranges that a request asks for.

Theory of operation. Assets are bytes from third parties that a browser loads from an origin of this host. No single
header is enough protection. The browser must not guess the type, content that could run is offered as a download, and
content that is displayed is sandboxed and can load nothing. Every response carries all of these headers. Sources: RFC
0055 and the reading of it, RFC 6266 and RFC 8187 (file names), RFC 9110 sections 13 and 14 (conditions and ranges).
"""

import re
import unicodedata
from typing import Final, Literal, NamedTuple
from urllib.parse import quote

from weftwork.protocol.media.media_types import ACTIVE_TYPES, PLAIN_TYPE, canonical_media_type, is_harmless, is_inline

Headers = list[tuple[bytes, bytes]]

MAX_AGE: Final = 31_536_000
"""One year in seconds, the conventional maximum."""

ResourcePolicy = Literal["same-origin", "same-site", "cross-origin"]
"""Which pages may embed an asset: pages of the same origin, of the same site, or any page that has the URL."""
DEFAULT_RESOURCE_POLICY: Final[ResourcePolicy] = "same-site"

SECURITY_HEADERS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; sandbox"),
    (b"cross-origin-resource-policy", DEFAULT_RESOURCE_POLICY.encode()),
    (b"referrer-policy", b"no-referrer"),
)
"""media-13 (RFC 0055, reading): on 200, 206, 304, 404 and 416."""

ERROR_HEADERS: Final = (*SECURITY_HEADERS, (b"cache-control", b"no-store"))
"""media-13: on 404 and 416, whose bodies the host writes."""

MAX_NAME: Final = 120
"""Characters of a file name."""
MAX_NAME_BYTES: Final = 240
"""Bytes of a file name in UTF-8. Common file systems allow 255."""

_RANGE: Final = re.compile(r"bytes=[ \t]*([0-9]{0,60})-([0-9]{0,60})[ \t]*", re.IGNORECASE)
_TAGS: Final = re.compile(r'(?:W/)?("[\x21\x23-\x7e\x80-\xff]*")')

_UNSAFE: Final = frozenset('/\\:*?"<>|%;\x7f')
"""Separators of paths and headers, and characters with a meaning for a file system or shell."""
_UNSAFE_KINDS: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Unicode categories: control and format characters (which include bidirectional and invisible ones), surrogates,
private use, unassigned, and line and paragraph separators."""
_SPACES: Final = re.compile(r"\s+")
_OUTSIDE_ASCII: Final = re.compile(r"[^ !#-\[\]-~]")


def asset_headers(
    token_media_type: str,
    name: str,
    sha256: str,
    max_age: int = MAX_AGE,
    reach: ResourcePolicy = DEFAULT_RESOURCE_POLICY,
) -> Headers:
    """media-13: the headers of 200, 206 and 304, except those that depend on the length; the caller adds these.

    `max_age` is in seconds and must not exceed the remaining lifetime of the token.
    """
    guards = dict(SECURITY_HEADERS) | (
        {b"cross-origin-resource-policy": reach.encode()} if reach != DEFAULT_RESOURCE_POLICY else {}
    )
    # Active types keep their name, because they are served as sandboxed downloads. Every other type that a browser
    # could run becomes plain text.
    media_type = canonical_media_type(token_media_type)
    media_type = media_type if media_type in ACTIVE_TYPES or is_harmless(media_type) else PLAIN_TYPE
    cache_seconds = min(max(max_age, 0), MAX_AGE)
    return [
        (b"content-type", media_type.encode("ascii")),
        (b"content-disposition", content_disposition(media_type, name)),
        *guards.items(),
        (b"cache-control", b"private, max-age=%d, immutable" % cache_seconds),
        (b"accept-ranges", b"bytes"),
        (b"etag", asset_etag(sha256).encode("ascii")),
    ]


def content_disposition(media_type: str, name: str) -> bytes:
    """media-10 (RFC 6266): the header that makes a browser display or save the asset, with its file name. The value is
    one line of ASCII."""
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
    """media-09 (RFC 6266, reading): a file name that is safe to display and to save, from any text; empty if no usable
    character remains.

    The result has no path separators, no control or bidirectional characters, and no dots or spaces at either end.
    """
    name = _shorten_name(sanitize_name(text[-4 * MAX_NAME :]))
    return name if name.strip("_. ") else ""


def sanitize_name(text: str) -> str:
    """media-09: replace or remove the unsafe characters of a name. Does not limit its length."""
    safe = "".join(
        "_" if each in _UNSAFE else "" if unicodedata.category(each) in _UNSAFE_KINDS and not each.isspace() else each
        for each in text
    )
    return _SPACES.sub(" ", safe).strip(" .")


def _shorten_name(name: str) -> str:
    """Cut a name to the limits but keep its extension, because that shows the type of the file."""
    if len(name) <= MAX_NAME and len(name.encode()) <= MAX_NAME_BYTES:
        return name
    stem, dot, suffix = name.rpartition(".")
    tail = dot + suffix if dot and stem and len(suffix) <= 16 else ""
    body = name[: len(name) - len(tail)]
    while len(body) + len(tail) > MAX_NAME or len((body + tail).encode()) > MAX_NAME_BYTES:
        body = body[:-1]
    return (body.strip(" .") + tail).strip(" .")


def asset_etag(sha256: str) -> str:
    """The ETag of an asset. It depends only on the bytes, not on the file name."""
    return f'"{sha256}"'


def is_not_modified(if_none_match: str | None, tag: str) -> bool:
    """media-12 (RFC 9110 13.1.2): whether the response is 304."""
    if if_none_match is None:
        return False
    return if_none_match.strip() == "*" or tag in _TAGS.findall(if_none_match)


def is_range_current(if_range: str | None, tag: str) -> bool:
    """media-12 (RFC 9110 13.1.5): whether `If-Range` allows the `Range`. A date never matches, because assets have an
    ETag and no modification date."""
    return if_range is None or if_range.strip() == tag


class ByteRange(NamedTuple):
    """The bytes from `start` (inclusive) to `stop` (exclusive)."""

    start: int
    stop: int

    def content_range(self, size: int) -> bytes:
        """The `Content-Range` value of a 206 or 416 for an asset of this size."""
        return b"bytes */%d" % size if self == UNSATISFIABLE else b"bytes %d-%d/%d" % (self.start, self.stop - 1, size)


UNSATISFIABLE: Final = ByteRange(0, 0)
"""A range without any byte of the asset. The response is 416."""


def parse_byte_range(value: str | None, size: int) -> ByteRange | None:
    """media-11 (RFC 9110 14): the range that a `Range` header requests, or UNSATISFIABLE. None if the response is the
    whole asset.

    The whole asset is sent for several ranges, for other units and for a malformed header, which RFC 9110 allows.
    """
    if value is None or (match := _RANGE.fullmatch(value.strip())) is None:
        return None
    first, last = match.groups()
    if not first and (not last or (int(last) and not size)):
        return None
    if not first:
        return ByteRange(max(size - int(last), 0), size) if int(last) else UNSATISFIABLE
    if last and int(last) < int(first):
        return None
    if int(first) >= size:
        return UNSATISFIABLE
    return ByteRange(int(first), min(int(last) + 1, size) if last else size)
