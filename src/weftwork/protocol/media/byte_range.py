"""Part of an asset: which bytes a request asks for, and whether it has them already. Source: RFC 9110, 13 and 14."""

import re
from typing import Final, NamedTuple

_RANGE: Final = re.compile(r"bytes=[ \t]*([0-9]{0,60})-([0-9]{0,60})[ \t]*", re.IGNORECASE)
_TAGS: Final = re.compile(r'(?:W/)?("[\x21\x23-\x7e\x80-\xff]*")')


class ByteRange(NamedTuple):
    """From `start` up to, and without, `stop`."""

    start: int
    stop: int

    def content_range(self, size: int) -> bytes:
        """The header of a 206 or a 416 for something of this size."""
        return b"bytes */%d" % size if self == UNSATISFIABLE else b"bytes %d-%d/%d" % (self.start, self.stop - 1, size)


UNSATISFIABLE: Final = ByteRange(0, 0)
"""No byte of it is there: 416."""


def byte_range(value: str | None, size: int) -> ByteRange | None:
    """media-11 (RFC 9110 14): the bytes that a `Range` header asks for; None if the answer is the whole.

    That is so for several ranges, for other units, and for what is not well formed: a server may always send all.
    """
    if value is None or (found := _RANGE.fullmatch(value.strip())) is None:
        return None
    first, last = found.groups()
    if not first:
        return _last(int(last), size) if last else None
    if last and int(last) < int(first):
        return None
    if int(first) >= size:
        return UNSATISFIABLE
    return ByteRange(int(first), min(int(last) + 1, size) if last else size)


def _last(count: int, size: int) -> ByteRange | None:
    if count == 0:
        return UNSATISFIABLE
    return ByteRange(max(size - count, 0), size) if size else None


def etag(sha256: str) -> str:
    """The same bytes have the same tag, whatever they are called."""
    return f'"{sha256}"'


def has_already(if_none_match: str | None, tag: str) -> bool:
    """media-12 (RFC 9110 13.1.2): whether the answer is 304."""
    if if_none_match is None:
        return False
    return if_none_match.strip() == "*" or tag in _TAGS.findall(if_none_match)


def still_holds(if_range: str | None, tag: str) -> bool:
    """media-12 (RFC 9110 13.1.5): whether the `Range` counts. A date never does: assets have a tag."""
    return if_range is None or if_range.strip() == tag
