"""How nodes end: what they return, what they raise, and when nothing is heard of them."""

import asyncio
import logging
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

import weftwork
from tests.adapters.python.fake_node_host import FakeNodeHost
from tests.harness.engine_harness import run_ready_tasks
from weftwork.adapters.python.errors import CallAbandoned
from weftwork.ports.node_outcome import Completed, Failed


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


@pytest.mark.parametrize("code", ["", "Not", "not today", "a" * 65, "not_", "1a", "a\n"])
def test_codes_have_a_grammar(code: str) -> None:
    with pytest.raises(ValueError, match="is no code"):
        weftwork.NodeError(code, "x")


@pytest.mark.parametrize("code", ["CARD_DECLINED", 3])
def test_a_code_that_is_none_is_a_mistake_that_is_not_repeated(code: Any) -> None:
    @weftwork.node("acme.shouts")
    async def shouts(ctx: weftwork.Context) -> None:
        raise weftwork.NodeError(code, "No.", retryable=True)

    found = FakeNodeHost().run(shouts)
    assert isinstance(found, Failed)
    assert (found.code, found.retryable) == ("node_misused", False)
    assert "is no code" in found.message


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


@pytest.mark.parametrize(
    ("returned", "outputs"),
    [
        ({"a": 1}, {"a": 1}),
        (Receipt(1, datetime(2031, 5, 6, tzinfo=UTC)), {"number": 1, "at": "2031-05-06T00:00:00Z"}),
        (None, {}),
        (3, {"output": 3}),
        ([{}], {"output": [{}]}),
    ],
)
def test_what_a_function_without_annotation_returns(returned: Any, outputs: Any) -> None:
    @weftwork.node("acme.any")
    async def give(ctx: Any) -> Any:
        return returned

    assert FakeNodeHost().run(give) == Completed(outputs)


class Positive(msgspec.Struct):
    count: int


@pytest.mark.parametrize(
    ("returned", "pointer"),
    [(Positive("one"), "/outputs/count"), (3, "/outputs"), ({"count": float("nan")}, "/outputs/count")],  # type: ignore[arg-type]
)
def test_what_does_not_fit_the_annotation_is_a_failure(returned: Any, pointer: str) -> None:
    @weftwork.node("acme.positive")
    async def give(ctx: Any) -> Positive:
        return returned

    found = FakeNodeHost().run(give)
    assert isinstance(found, Failed)
    assert (found.code, found.details, found.retryable) == ("node_output_invalid", {"pointer": pointer}, False)


async def helper() -> int:
    return 1


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (None, "/outputs is nothing, and the annotation of the function promises one"),
        ([1], "/outputs is no object, and the annotation of the function promises one"),
        ({"count": 2**60}, "/outputs/count is an integer beyond 2^53-1; give it as text"),
        ({"count": object()}, "/outputs/count is an object of type object"),
    ],
)
def test_the_message_tells_what_is_wrong_and_where(returned: Any, said: str, caplog: pytest.LogCaptureFixture) -> None:
    @weftwork.node("acme.positive")
    async def give(ctx: Any) -> Positive:
        return returned

    found = FakeNodeHost().run(give)
    message = f"The node returned what cannot be its output: {said}."
    assert isinstance(found, Failed)
    assert found.message == message
    (record,) = caplog.records
    assert (vars(record)["runId"], vars(record)["nodeId"], vars(record)["reason"]) == ("run-1", "n", message)


def test_a_coroutine_that_is_returned_is_named() -> None:
    @weftwork.node("acme.forgets")
    async def forgets(ctx: Any) -> int:
        coroutine = helper()
        made.append(coroutine)
        return coroutine  # type: ignore[return-value]

    made: list[Any] = []
    found = FakeNodeHost().run(forgets)
    made[0].close()
    assert isinstance(found, Failed)
    assert "/outputs/output is still to be awaited; is an await missing?" in found.message
    assert found.details == {"pointer": "/outputs/output"}


def test_inputs_and_config_that_do_not_fit_are_named_without_their_value() -> None:
    @weftwork.node("acme.take")
    async def take(ctx: Any, at: datetime, *, config: Positive) -> datetime:
        return at

    good = {"at": "2031-05-06T00:00:00Z", "config": {"count": 1.0}}
    assert FakeNodeHost().run(take, **good) == Completed({"output": "2031-05-06T00:00:00Z"})
    assert FakeNodeHost().run(take, **{**good, "at": "sesame"}) == Failed(
        "node_input_invalid", "The value of the input at does not fit its type.", retryable=False
    )
    assert FakeNodeHost().run(take, **{**good, "config": {"count": "sesame"}}) == Failed(
        "node_config_invalid", "The value of config does not fit its type at count.", retryable=False
    )
    assert FakeNodeHost().run(take, config={"count": 1}) == Failed(
        "node_input_missing", "The input at has no value.", retryable=False
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
    assert stage.run(quiet) == Failed("node_heartbeat_lost", "Nothing was heard of the node for 1 s.")
    assert heard == ["cancelled"]


def test_a_once_node_that_was_given_up_is_not_tried_again() -> None:
    @weftwork.node("acme.fire", effect="once", heartbeat_timeout=0.05)
    async def fire(ctx: weftwork.Context) -> None:
        await asyncio.sleep(60)

    found = FakeNodeHost().run(fire)
    assert isinstance(found, Failed)
    assert (found.code, found.retryable) == ("node_heartbeat_lost", False)


@pytest.mark.parametrize("guarded", [True, False])
async def test_a_node_that_was_told_to_stop_records_nothing_more(
    guarded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not guarded:
        monkeypatch.setattr("weftwork.adapters.python.calls.call_state.CallState.check_not_stopping", lambda self: None)

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

    early = {"after a timeout of its own": 1}
    stage = FakeNodeHost()
    task = asyncio.ensure_future(stage.enter(stubborn))
    while not stage.recorded:
        await asyncio.sleep(0.01)
    # The step is recorded before the node hears of it.
    await run_ready_tasks()
    task.cancel()
    await asyncio.wait((task,), timeout=10)
    assert task.cancelled() is guarded
    assert stage.recorded == (early if guarded else {**early, "late": 2})


async def test_a_node_with_heartbeats_can_be_cancelled() -> None:
    @weftwork.node("acme.patient", heartbeat_timeout=60)
    async def patient(ctx: weftwork.Context) -> None:
        await asyncio.sleep(60)

    task = asyncio.ensure_future(FakeNodeHost().enter(patient))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 10)
