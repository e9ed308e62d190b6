"""The width and height of a picture, from its first bytes: PNG, GIF, WebP and JPEG."""

from typing import Final

HEAD_BYTES: Final = 65_536
"""Bytes that are enough for nearly every picture. Metadata can push the size of a JPEG further back."""
_JPEG_SIZE_MARKERS: Final = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})


def picture_size(head: bytes) -> tuple[int, int] | None:
    """The width and height in pixels; None if these bytes do not show them."""
    if head.startswith(b"\x89PNG\r\n\x1a\n") and len(head) >= 24:
        return int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")
    if head.startswith((b"GIF87a", b"GIF89a")) and len(head) >= 10:
        return int.from_bytes(head[6:8], "little"), int.from_bytes(head[8:10], "little")
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP" and len(head) >= 30:
        return _webp_size(head)
    return _jpeg_size(head) if head.startswith(b"\xff\xd8") else None


def _webp_size(head: bytes) -> tuple[int, int] | None:
    if head[12:16] == b"VP8X":
        return int.from_bytes(head[24:27], "little") + 1, int.from_bytes(head[27:30], "little") + 1
    if head[12:16] == b"VP8L":
        bits = int.from_bytes(head[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if head[12:16] == b"VP8 ":
        return int.from_bytes(head[26:28], "little") & 0x3FFF, int.from_bytes(head[28:30], "little") & 0x3FFF
    return None


def _jpeg_size(head: bytes) -> tuple[int, int] | None:
    at = 2
    # Each segment has a marker and a length of at least 2, so the search ends.
    while at + 9 <= len(head) and head[at] == 0xFF:
        length = int.from_bytes(head[at + 2 : at + 4], "big")
        if head[at + 1] in _JPEG_SIZE_MARKERS:
            return int.from_bytes(head[at + 7 : at + 9], "big"), int.from_bytes(head[at + 5 : at + 7], "big")
        if length < 2:
            return None
        at += 2 + length
    return None
