"""Pictures in rows of bytes, from PNG files and back: as much of the format as the example needs."""

import struct
import zlib

SIGNATURE = b"\x89PNG\r\n\x1a\n"
CHANNELS = {0: 1, 2: 3, 4: 2, 6: 4}


def unpack(data: bytes) -> tuple[int, int, int, list[bytearray]]:
    """Width, height, kind of colour, and the rows. Raises ValueError for what this reader does not know."""
    if not data.startswith(SIGNATURE):
        raise ValueError("no PNG file")
    chunks: dict[bytes, bytes] = {}
    at = len(SIGNATURE)
    while at + 8 <= len(data):
        length, name = struct.unpack_from(">I4s", data, at)
        chunks[name] = chunks.get(name, b"") + data[at + 8 : at + 8 + length]
        at += 12 + length
    width, height, depth, kind, *more = struct.unpack(">IIBBBBB", chunks.get(b"IHDR", b"").ljust(13, b"\0")[:13])
    if depth != 8 or kind not in CHANNELS or any(more) or not 0 < width * height <= 20_000_000:
        raise ValueError("a PNG file of another form")
    size = width * CHANNELS[kind]
    try:
        raw = zlib.decompressobj().decompress(chunks.get(b"IDAT", b""), height * (size + 1))
    except zlib.error:
        raw = b""
    if len(raw) < height * (size + 1) or max(raw[:: size + 1]) > 4:
        raise ValueError("a PNG file that is broken")
    rows: list[bytearray] = []
    for start in range(0, len(raw), size + 1):
        above = rows[-1] if rows else bytearray(size)
        rows.append(_unfiltered(raw[start], bytearray(raw[start + 1 : start + 1 + size]), above, CHANNELS[kind]))
    return width, height, kind, rows


def _unfiltered(way: int, row: bytearray, above: bytearray, step: int) -> bytearray:
    for at in range(len(row) if way else 0):
        a = row[at - step] if at >= step else 0
        b = above[at]
        c = above[at - step] if at >= step else 0
        nearest = min((abs(b - c), 0, a), (abs(a - c), 1, b), (abs(a + b - 2 * c), 2, c))[2]
        row[at] = (row[at] + (0, a, b, (a + b) // 2, nearest)[way]) & 255
    return row


def pack(width: int, height: int, kind: int, rows: list[bytearray]) -> bytes:
    head = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
    body = zlib.compress(b"".join(b"\0" + row for row in rows), 9)
    chunks = (b"IHDR" + head, b"IDAT" + body, b"IEND")
    return SIGNATURE + b"".join(struct.pack(">I", len(c) - 4) + c + struct.pack(">I", zlib.crc32(c)) for c in chunks)
