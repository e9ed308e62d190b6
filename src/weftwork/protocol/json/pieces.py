"""Encodes a JSON document in pieces, without copying the large values that are encoded already.

The pieces joined are the bytes of `msgspec.json.encode`. Small members are joined to pieces of about PIECE_BYTES. A
`msgspec.Raw` of at least SPLICED_BYTES is a piece of its own, which refers to the bytes of the value, so that all
documents with this value share them. A Placeholder is a piece too: the text in its place differs between readers.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from weftwork.protocol.json.values import is_array, is_object

PIECE_BYTES: Final = 32_768
SPLICED_BYTES: Final = 8_192
ITEMS_TOGETHER: Final = 256
"""Numbers and short texts of an array that are encoded together: 90,000 of them take 5 ms, and 50 ms one by one."""
SPLIT_DEPTH: Final = 4
"""How deep objects and arrays are split; what is below is encoded at once."""

_encode = msgspec.json.encode
_SCALARS: Final = frozenset({int, float, bool, type(None), str})


class Placeholder(msgspec.Struct, frozen=True, eq=False):
    """The place of a text that is inserted for each reader, or left out. `value` says which."""

    value: Any


class Spliced(msgspec.Struct, frozen=True, eq=False):
    """A value as parts of JSON that are already encoded."""

    parts: tuple[bytes | Placeholder, ...]


Piece = bytes | memoryview | Placeholder


def encode_pieces(document: Any) -> Iterator[Piece]:
    """The encoding of a document, in which values may be `Spliced`, in pieces. No piece is empty."""
    return join_small(_parts(document, SPLIT_DEPTH))


def join_small(parts: Iterable[Piece]) -> Iterator[Piece]:
    """The same bytes, with adjacent small parts joined."""
    small: list[bytes | memoryview] = []
    size = 0
    for part in parts:
        if not isinstance(part, Placeholder) and len(part) < SPLICED_BYTES:
            small.append(part)
            size += len(part)
            if size < PIECE_BYTES:
                continue
            part = b""
        if size:
            yield b"".join(small)
            small, size = [], 0
        if part != b"":
            yield part
    if size:
        yield b"".join(small)


def _parts(value: Any, depth: int) -> Iterator[Piece]:
    if isinstance(value, msgspec.Raw):
        yield memoryview(value)
    elif isinstance(value, Spliced):
        yield from value.parts
    elif depth and value and is_object(value):
        before = b"{"
        for name, member in value.items():
            yield b"%b%b:" % (before, _encode(name))
            yield from _parts(member, depth - 1)
            before = b","
        yield b"}"
    elif depth and value and is_array(value):
        before = b"["
        for at in range(0, len(value), ITEMS_TOGETHER):
            items = value[at : at + ITEMS_TOGETHER]
            if _are_small(items):
                yield b"%b%b" % (before, memoryview(_encode(items))[1:-1])
                before = b","
                continue
            for item in items:
                yield before
                yield from _parts(item, depth - 1)
                before = b","
        yield b"]"
    else:
        yield _encode(value)


def _are_small(items: Sequence[Any]) -> bool:
    """Whether these items are only numbers, and texts that are short together."""
    kinds = set(map(type, items))
    if not kinds <= _SCALARS:
        return False
    return str not in kinds or sum([len(item) for item in items if type(item) is str]) < SPLICED_BYTES
