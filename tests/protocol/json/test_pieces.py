"""Documents in pieces: joined they are the encoding, small values are joined and large ones are not copied."""

from typing import Any

import msgspec
import pytest
from hypothesis import strategies as st

from tests.harness.cases import fails_without
from tests.harness.definitions import for_all
from weftwork.protocol.json import pieces as module
from weftwork.protocol.json.pieces import PIECE_BYTES, SPLICED_BYTES, Placeholder, Spliced, encode_pieces

SCALARS = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | st.text(max_size=8)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4)
)


def with_raw(value: Any, dice: Any, large: bool) -> Any:
    """The value with some of its parts encoded already."""
    if dice.randrange(3) == 0:
        encoded = msgspec.json.encode([value, "x" * SPLICED_BYTES] if large and dice.random() < 0.5 else value)
        return msgspec.Raw(encoded)
    if isinstance(value, dict):
        return {name: with_raw(each, dice, large) for name, each in value.items()}
    return [with_raw(each, dice, large) for each in value] if isinstance(value, list) else value


def whole(document: Any) -> bytes:
    return b"".join(b"" if isinstance(piece, Placeholder) else piece for piece in encode_pieces(document))


@for_all(300, VALUES, st.randoms(use_true_random=False), st.booleans())
def test_the_pieces_joined_are_the_encoding(value: Any, dice: Any, large: bool) -> None:
    document = {"value": with_raw(value, dice, large), "": with_raw(value, dice, large)}
    assert whole(document) == msgspec.json.encode(document)


@pytest.mark.parametrize("count", [0, 1, 5_000])
def test_small_members_are_joined_and_no_piece_is_empty(count: int) -> None:
    document = {"rows": {f"r{at}": msgspec.Raw(b'"%d"' % at) for at in range(count)}}
    found = list(encode_pieces(document))
    assert [isinstance(piece, bytes) and len(piece) > 0 for piece in found] == [True] * len(found)
    assert all(PIECE_BYTES <= len(piece) < PIECE_BYTES + SPLICED_BYTES for piece in found[:-1])  # type: ignore[arg-type]
    assert b"".join(found) == msgspec.json.encode(document)  # type: ignore[arg-type]


LONG_ARRAYS: dict[str, list[Any]] = {
    "numbers": [0.1234567] * 10_000,
    "short texts": ["text"] * 10_000,
    "both": [1, None, True, "text"] * 2_500,
}


@pytest.mark.parametrize("kind", LONG_ARRAYS)
@fails_without(module, "ITEMS_TOGETHER", 1)
def test_the_small_items_of_a_long_array_are_encoded_together(kind: str) -> None:
    """The event loop would otherwise be busy for ten times as long."""
    calls: list[int] = []
    encode = msgspec.json.encode

    def counted(value: Any) -> bytes:
        calls.append(1)
        return encode(value)

    document = {"inputs": {"items": LONG_ARRAYS[kind]}}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_encode", counted)
        assert whole(document) == encode(document)
    assert len(calls) < 100


def test_long_texts_of_an_array_are_pieces_of_their_own() -> None:
    found = list(encode_pieces([1, "x" * SPLICED_BYTES, "y" * SPLICED_BYTES, 2]))
    assert [len(piece) for piece in found if isinstance(piece, bytes)] == [
        3,
        SPLICED_BYTES + 2,
        1,
        SPLICED_BYTES + 2,
        3,
    ]


@pytest.mark.parametrize("limit", [SPLICED_BYTES, 2**40])
def test_a_large_value_is_not_copied(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SPLICED_BYTES", limit)
    large = msgspec.Raw(msgspec.json.encode("x" * SPLICED_BYTES))
    found = list(encode_pieces({"a": large, "b": {"c": large}}))
    shared = [piece for piece in found if isinstance(piece, memoryview) and piece.obj is large]
    assert len(shared) == (2 if limit == SPLICED_BYTES else 0)


def test_a_placeholder_is_a_piece_of_its_own() -> None:
    place = Placeholder(1)
    found = list(encode_pieces({"a": 1, "b": [Spliced((b'{"c":2', place, b"}"))]}))
    assert found == [b'{"a":1,"b":[{"c":2', place, b"}]}"]
