"""Values of Python nodes: what goes in, what comes out, and what is refused."""

import asyncio
import logging
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
from hypothesis import strategies as st

import weftwork
from tests.adapters.nodes.fake_context import final_failure
from tests.adapters.python.fake_node_host import FakeNodeHost
from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import for_all
from tests.harness.engine_harness import run_ready_tasks
from weftwork.adapters.python.calls.call_state import CallState
from weftwork.adapters.python.declaration.signature import ports_schema
from weftwork.adapters.python.errors import CallAbandoned
from weftwork.adapters.python.values import NotJson, ValueTooLarge, as_json, convert, storable_text, to_loggable
from weftwork.ports.node_outcome import Completed, Failed
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


@for_all(100, kinds, jsons, full=4_000)
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


@for_all(100, jsons, full=4_000)
def test_json_stays_what_it_is_and_shares_nothing(value: Any) -> None:
    made = as_json(value)
    assert made == value
    assert convert(value, Any) == value
    assert decode(encode_stored(made)) == made
    nested_value = {"list": [value]}
    for copy in (made, convert(value, Any), convert(nested_value, Any)["list"][0]):
        if isinstance(value, dict | list):
            assert copy is not value


@each_case(
    "value, made",
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


@each_case(
    "value, pointer, why",
    ({"a": [1, math.nan]}, "/a/1", "is not a finite number"),
    ({"a/b": math.inf}, "/a~1b", "is not a finite number"),
    (2**53, "", "is an integer beyond 2^53-1; use a string instead"),
    ("\ud800", "", "contains NUL or a lone surrogate"),
    ({"a": "\0"}, "/a", "contains NUL or a lone surrogate"),
    ({"\0": None}, "", "has a member whose name contains NUL or a lone surrogate"),
    ({"\ud800": 1}, "", "has a member whose name contains NUL or a lone surrogate"),
    ([object()], "/0", "is an object of type object"),
    ({"a": Deep([1, {"b": object()}])}, "/a/within/1/b", "is an object of type object"),
    ({"a": Flat((0, object()))}, "/a/within/1", "is an object of type object"),
    ([Secretive()], "/0", "could not be converted: ValueError"),
    ({(1, 2): 3}, "", "has a member whose name is neither a string nor a number"),
    (ITSELF, "", "is nested too deeply, or contains itself"),
)
def test_what_is_no_json_is_named(value: Any, pointer: str, why: str) -> None:
    with pytest.raises(NotJson) as refused:
        as_json(value)
    assert (refused.value.pointer, refused.value.why) == (pointer, why)


async def later() -> int:
    return 1


def test_what_is_still_to_be_awaited_is_named() -> None:
    forgotten = later()
    with pytest.raises(NotJson, match=r"/a is an awaitable; is an await missing\?"):
        as_json({"a": forgotten})
    forgotten.close()


def nested(levels: int) -> Any:
    return [nested(levels - 1)] if levels else 1


LARGEST = [[0] * (MAX_VALUE_COUNT - 2), "a" * MAX_VALUE_TEXT]


@each_case(
    "value",
    [0] * (MAX_VALUE_COUNT + 1),
    {"a": tuple(range(MAX_VALUE_COUNT))},
    "a" * (MAX_VALUE_TEXT + 1),
    ["a" * MAX_VALUE_TEXT, "b"],
    {"a" * MAX_VALUE_TEXT: "b"},
    nested(MAX_VALUE_DEPTH + 2),
)
def test_what_is_too_large_is_not_gone_through_and_the_largest_is(value: Any) -> None:
    with pytest.raises(ValueTooLarge, match="has more than"):
        as_json(value)
    assert as_json(value, bounded=False) is not None
    assert to_loggable({"a": value}) == {"a": f"({type(value).__name__})"}
    for largest in (LARGEST, nested(MAX_VALUE_DEPTH)):
        assert as_json(largest) == largest
        assert not is_too_large(largest)


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


class Receipt(msgspec.Struct):
    number: int
    at: datetime


def test_a_failure_of_its_own(caplog: pytest.LogCaptureFixture) -> None:
    @weftwork.node("acme.fail")
    async def fail(ctx: weftwork.Context) -> None:
        try:
            raise KeyError("inner text")
        except KeyError as error:
            raise weftwork.NodeError("not-today", "Come \0back.", {"when": object()}, retryable=True) from error

    caplog.set_level(logging.INFO)
    found = FakeNodeHost().run(fail)
    assert isinstance(found, Failed)
    assert (found.code, found.message, found.retryable) == ("not-today", "Come \ufffdback.", True)
    assert "inner text" in caplog.text
    assert "inner text" not in str(found)


@each_case("code", "", "Not", "not today", "a" * 65, "not_", "1a", "a\n")
def test_codes_have_a_grammar(code: str) -> None:
    with pytest.raises(ValueError, match="is not a valid error code"):
        weftwork.NodeError(code, "x")


@each_case("code", "CARD_DECLINED", 3)
def test_a_code_that_is_none_is_a_mistake_that_is_not_repeated(code: Any) -> None:
    @weftwork.node("acme.shouts")
    async def shouts(ctx: weftwork.Context) -> None:
        raise weftwork.NodeError(code, "No.", retryable=True)

    found = FakeNodeHost().run(shouts)
    assert isinstance(found, Failed)
    assert (found.code, found.retryable) == ("node_misused", False)
    assert "is not a valid error code" in found.message


def test_other_errors_are_left_to_the_host_and_no_node_ends_the_process() -> None:
    @weftwork.node("acme.raise")
    async def raising(ctx: weftwork.Context, leave: bool = False) -> None:
        if leave:
            raise SystemExit(3)
        raise KeyError("inner")

    with pytest.raises(KeyError):
        FakeNodeHost().run(raising)
    with pytest.raises(Exception, match="raised SystemExit"):
        FakeNodeHost().run(raising, leave=True)


def test_a_context_is_of_no_use_afterwards() -> None:
    kept: list[weftwork.Context] = []

    @weftwork.node("acme.keep")
    async def keep(ctx: weftwork.Context) -> None:
        kept.append(ctx)

    stage = FakeNodeHost()
    stage.run(keep)
    for call in (kept[0].now, kept[0].heartbeat, lambda: kept[0].log.info("late")):
        with pytest.raises(CallAbandoned):
            call()
    assert stage.emitted == []


@each_case(
    "returned, outputs",
    ({"a": 1}, {"a": 1}),
    (Receipt(1, datetime(2031, 5, 6, tzinfo=UTC)), {"number": 1, "at": "2031-05-06T00:00:00Z"}),
    (None, {}),
    (3, {"output": 3}),
    ([{}], {"output": [{}]}),
)
def test_what_a_function_without_annotation_returns(returned: Any, outputs: Any) -> None:
    @weftwork.node("acme.any")
    async def give(ctx: Any) -> Any:
        return returned

    assert FakeNodeHost().run(give) == Completed(outputs)


class Positive(msgspec.Struct):
    count: int


@each_case(
    "returned, said",
    (None, "/outputs is null, but the return annotation of the function is an object type"),
    ([1], "/outputs is not an object, but the return annotation of the function is an object type"),
    (3, "/outputs is not an object, but the return annotation of the function is an object type"),
    ({"count": 2**60}, "/outputs/count is an integer beyond 2^53-1; use a string instead"),
    ({"count": object()}, "/outputs/count is an object of type object"),
    ({"count": math.nan}, "/outputs/count is not a finite number"),
)
def test_what_does_not_fit_the_annotation_is_a_failure_that_tells_what_is_wrong_and_where(
    returned: Any, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    @weftwork.node("acme.positive")
    async def give(ctx: Any) -> Positive:
        return returned

    caplog.clear()
    found = FakeNodeHost().run(give)
    message = f"The node returned an invalid output: {said}."
    assert isinstance(found, Failed)
    assert found.message == message
    assert final_failure(found) == ("node_output_invalid", {"pointer": said.split()[0]})
    (record,) = caplog.records
    assert (vars(record)["runId"], vars(record)["nodeId"], vars(record)["reason"]) == ("run-1", "n", message)


def test_a_member_of_another_type_is_named() -> None:
    @weftwork.node("acme.positive")
    async def give(ctx: Any) -> Positive:
        return Positive("one")  # type: ignore[arg-type]

    assert final_failure(FakeNodeHost().run(give)) == ("node_output_invalid", {"pointer": "/outputs/count"})


def test_a_coroutine_that_is_returned_is_named() -> None:
    @weftwork.node("acme.forgets")
    async def forgets(ctx: Any) -> int:
        coroutine = later()
        made.append(coroutine)
        return coroutine  # type: ignore[return-value]

    made: list[Any] = []
    found = FakeNodeHost().run(forgets)
    made[0].close()
    assert isinstance(found, Failed)
    assert "/outputs/output is an awaitable; is an await missing?" in found.message
    assert found.details == {"pointer": "/outputs/output"}


def test_inputs_and_config_that_do_not_fit_are_named_without_their_value() -> None:
    @weftwork.node("acme.take")
    async def take(ctx: Any, at: datetime, *, config: Positive) -> datetime:
        return at

    good = {"at": "2031-05-06T00:00:00Z", "config": {"count": 1.0}}
    assert FakeNodeHost().run(take, **good) == Completed({"output": "2031-05-06T00:00:00Z"})
    assert FakeNodeHost().run(take, **{**good, "at": "sesame"}) == Failed(
        "node_input_invalid", "The value of the input at does not match its type.", retryable=False
    )
    assert FakeNodeHost().run(take, **{**good, "config": {"count": "sesame"}}) == Failed(
        "node_config_invalid", "The value of config does not match its type at count.", retryable=False
    )
    assert FakeNodeHost().run(take, config={"count": 1}) == Failed(
        "node_input_missing", "The input at is required, but has no value.", retryable=False
    )


def test_a_node_that_is_not_heard_of_is_left_behind() -> None:
    heard: list[str] = []

    @weftwork.node("acme.quiet", heartbeat_timeout=1)
    async def quiet(ctx: weftwork.Context, beats: int = 0) -> None:
        for _ in range(beats):
            await asyncio.sleep(0.25)
            ctx.heartbeat(part=1)
        try:
            await asyncio.sleep(60 if not beats else 0)
        except asyncio.CancelledError:
            heard.append("cancelled")
            raise

    stage = FakeNodeHost()
    assert stage.run(quiet, beats=5) == Completed({})
    assert stage.run(quiet) == Failed("node_heartbeat_lost", "The node sent no heartbeat for 1 s.")
    assert heard == ["cancelled"]

    @weftwork.node("acme.fire", effect="once", heartbeat_timeout=0.05)
    async def fire(ctx: weftwork.Context) -> None:
        await asyncio.sleep(60)

    assert final_failure(stage.run(fire))[0] == "node_heartbeat_lost", "a once node is not tried again"


@fails_without(CallState, "check_not_stopping", lambda self: None)
async def test_a_node_that_was_told_to_stop_records_nothing_more() -> None:
    @weftwork.node("acme.stubborn")
    async def stubborn(ctx: weftwork.Context) -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await asyncio.sleep(60)
        await ctx.step("after a timeout of its own", lambda: 1)
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            await ctx.step("late", lambda: 2)

    stage = FakeNodeHost()
    task = asyncio.ensure_future(stage.enter(stubborn))
    while not stage.recorded:
        await asyncio.sleep(0.01)
    # The step is recorded before the node hears of it.
    await run_ready_tasks()
    task.cancel()
    await asyncio.wait((task,), timeout=10)
    assert (task.cancelled(), stage.recorded) == (True, {"after a timeout of its own": 1})


async def test_a_node_with_heartbeats_can_be_cancelled() -> None:
    @weftwork.node("acme.patient", heartbeat_timeout=60)
    async def patient(ctx: weftwork.Context) -> None:
        await asyncio.sleep(60)

    task = asyncio.ensure_future(FakeNodeHost().enter(patient))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 10)
