"""Values between JSON and the types of an author: what fits the schema converts, and what does not is named."""

import math
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.definitions import example_count
from weftwork.adapters.python.declaration.signature import ports_schema
from weftwork.adapters.python.values import NotJson, ValueTooLarge, as_json, convert, storable_text, to_loggable
from weftwork.protocol.json import schema
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.json.decoder import MAX_INTEGER, decode
from weftwork.protocol.json.values import MAX_VALUE_COUNT, MAX_VALUE_DEPTH, MAX_VALUE_TEXT, is_too_large


class Color(Enum):
    RED = "red"


class Leaf(msgspec.Struct):
    count: int
    name: str = ""
    tags: list[str] = []


class Text(str):
    __slots__ = ()


scalars = st.sampled_from(
    [int, float, str, bool, None, int | None, Literal["a", 1], Color, Leaf, Any, Annotated[int, msgspec.Meta(ge=0)]]
)
kinds = st.recursive(
    scalars,
    lambda inner: st.one_of(
        inner.map(lambda kind: list[kind]),
        inner.map(lambda kind: dict[str, kind]),
        st.tuples(inner, inner).map(lambda pair: tuple[pair]),  # type: ignore[valid-type]
    ),
    max_leaves=4,
)
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=4)
# Beyond these a float without a fraction is an integer that the log does not take.
floats = st.floats(-float(MAX_INTEGER), float(MAX_INTEGER))
numbers = st.one_of(st.integers(-MAX_INTEGER, MAX_INTEGER), floats)
jsons = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, texts, st.sampled_from(["a", 1, 1.0, "red"])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(texts, inner, max_size=3),
        st.fixed_dictionaries({"count": st.integers(0, 3)}, optional={"name": texts, "tags": st.lists(texts)}),
    ),
    max_leaves=6,
)


@settings(max_examples=example_count(200), deadline=None)
@given(kinds, jsons)
def test_what_the_schema_takes_converts_and_the_other_way_round(kind: Any, value: Any) -> None:
    try:
        wanted = ports_schema({"port": kind}, {})
    except TypeError:
        return
    fits = not schema.check_inline(wanted, {"port": value}, "")
    try:
        found = convert(value, kind)
    except msgspec.ValidationError:
        assert not fits
        return
    assert fits
    # And back again: what was converted is JSON that fits.
    again = as_json(found)
    assert not schema.check_inline(wanted, {"port": again}, "")
    assert convert(again, kind) == found


@settings(max_examples=example_count(200), deadline=None)
@given(jsons)
def test_json_stays_what_it_is_and_shares_nothing(value: Any) -> None:
    made = as_json(value)
    assert made == value
    assert convert(value, Any) == value
    assert decode(encode_stored(made)) == made
    for copy in (made, convert(value, Any)):
        if isinstance(value, dict | list):
            assert copy is not value


def test_parts_of_a_copy_are_copies() -> None:
    value = {"list": [{"a": 1}]}
    copy = convert(value, Any)
    copy["list"][0]["a"] = 2
    assert value == {"list": [{"a": 1}]}


@pytest.mark.parametrize(
    ("value", "made"),
    [
        ((1, 2), [1, 2]),
        ({"a": (1, (2,))}, {"a": [1, [2]]}),
        ({1: "a"}, {"1": "a"}),
        (frozenset({1}), [1]),
        (b"hi", "aGk="),
        (datetime(2031, 5, 6, tzinfo=UTC), "2031-05-06T00:00:00Z"),
        (date(2031, 5, 6), "2031-05-06"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (Decimal("1.50"), "1.50"),
        (Color.RED, "red"),
        (Leaf(1), {"count": 1, "name": "", "tags": []}),
        (Text("hi"), "hi"),
        (OrderedDict(a=1), {"a": 1}),
        (True, True),
    ],
)
def test_what_becomes_json(value: Any, made: Any) -> None:
    assert as_json(value) == made
    assert type(as_json(value)) is type(made)


class Deep(msgspec.Struct, rename={"inside": "within"}):
    inside: Any


@dataclass
class Flat:
    within: Any


class Secretive(Mapping[str, int]):
    def __getitem__(self, name: str) -> int:
        raise ValueError("sesame")

    def __iter__(self) -> Iterator[str]:
        return iter(["a"])

    def __len__(self) -> int:
        return 1


ITSELF: list[Any] = []
ITSELF.append(ITSELF)


@pytest.mark.parametrize(
    ("value", "pointer", "why"),
    [
        ({"a": [1, math.nan]}, "/a/1", "is a number that is not finite"),
        ({"a/b": math.inf}, "/a~1b", "is a number that is not finite"),
        (2**53, "", "is an integer beyond 2^53-1; give it as text"),
        ("\ud800", "", "holds NUL or a lone surrogate"),
        ({"a": "\0"}, "/a", "holds NUL or a lone surrogate"),
        ({"\ud800": 1}, "", "has a member whose name holds NUL or a lone surrogate"),
        ([object()], "/0", "is an object of type object"),
        ({"a": Deep([1, {"b": object()}])}, "/a/within/1/b", "is an object of type object"),
        ({"a": Flat((0, object()))}, "/a/within/1", "is an object of type object"),
        ([Secretive()], "/0", "could not be read: ValueError"),
        ({(1, 2): 3}, "", "has a member whose name is neither a text nor a number"),
        (ITSELF, "", "is nested too deeply, or holds itself"),
    ],
)
def test_what_is_no_json_is_named(value: Any, pointer: str, why: str) -> None:
    with pytest.raises(NotJson) as refused:
        as_json(value)
    assert (refused.value.pointer, refused.value.why) == (pointer, why)


async def later() -> int:
    return 1


def test_what_is_still_to_be_awaited_is_named() -> None:
    forgotten = later()
    with pytest.raises(NotJson, match=r"/a is still to be awaited; is an await missing\?"):
        as_json({"a": forgotten})
    forgotten.close()


def nested(levels: int) -> Any:
    return [nested(levels - 1)] if levels else 1


LARGEST = [[0] * (MAX_VALUE_COUNT - 2), "a" * MAX_VALUE_TEXT]


@pytest.mark.parametrize(
    "value",
    [
        [0] * (MAX_VALUE_COUNT + 1),
        {"a": tuple(range(MAX_VALUE_COUNT))},
        "a" * (MAX_VALUE_TEXT + 1),
        ["a" * MAX_VALUE_TEXT, "b"],
        {"a" * MAX_VALUE_TEXT: "b"},
        nested(MAX_VALUE_DEPTH + 2),
    ],
)
def test_what_is_too_large_is_not_gone_through(value: Any) -> None:
    with pytest.raises(ValueTooLarge, match="has more than"):
        as_json(value)
    assert as_json(value, bounded=False) is not None
    assert to_loggable({"a": value}) == {"a": f"({type(value).__name__})"}


@pytest.mark.parametrize("value", [LARGEST, nested(MAX_VALUE_DEPTH)], ids=["values and text", "levels"])
def test_what_is_just_not_too_large(value: Any) -> None:
    assert as_json(value) == value
    assert not is_too_large(value)


class Rude:
    def __str__(self) -> str:
        raise RuntimeError


def test_a_line_in_a_log_is_never_refused() -> None:
    fields = {"a": math.nan, "b": object, "c": {"d": (1,)}, "\ud800": "x\ud800", "e": ITSELF, "f": Rude()}
    said = to_loggable(fields)
    assert said["a"] == "nan"
    assert said["b"] == "<class 'object'>"
    assert said["c"] == {"d": [1]}
    assert said["\ufffd"] == "x\ufffd"
    assert said["f"] == "(Rude)"
    assert as_json(said) == said
    assert storable_text("x" * 9, 3) == "xxx"
