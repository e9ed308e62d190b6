"""The body of an answer, read as it comes and never beyond its cap."""

import zlib
from collections.abc import AsyncIterator
from typing import Final

_STEP: Final = 262_144
"""Bytes decoded in one go, so that a small piece cannot become a large one."""
_GZIP: Final = 16 + zlib.MAX_WBITS


class BadContent(Exception):
    """A body that is too large or cannot be decoded; the message is ours."""


async def read_content(chunks: AsyncIterator[bytes], encoding: str, most: int) -> bytes:
    """The decoded body; the cap holds for what is kept, so a bomb stops at it. Raises BadContent."""
    kind = encoding.strip().lower()
    if kind not in ("", "identity", "gzip", "x-gzip"):
        raise BadContent("The answer has an encoding that is not read here.")
    unpack = _Gzip() if kind.endswith("gzip") else None
    kept = bytearray()
    async for chunk in chunks:
        if unpack is None:
            kept += chunk
        else:
            unpack.into(kept, chunk, most)
        if len(kept) > most:
            raise BadContent(f"The answer is larger than {most} bytes.")
    if unpack is not None and not unpack.whole:
        raise BadContent("The answer is not whole.")
    return bytes(kept)


class _Gzip:
    """One or more members, one after the other."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(_GZIP)
        self._begun = False

    @property
    def whole(self) -> bool:
        return not self._begun or self._member.eof

    def into(self, kept: bytearray, data: bytes, most: int) -> None:
        try:
            while data and len(kept) <= most:
                if self._member.eof:
                    self._member = zlib.decompressobj(_GZIP)
                self._begun = True
                kept += self._member.decompress(data, _STEP)
                data = self._member.unused_data if self._member.eof else self._member.unconsumed_tail
        except zlib.error:
            raise BadContent("The answer is not what its encoding says.") from None
