"""A replay whose code has changed says where it differs, and goes on in one order with what is recorded."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.engine.replay.replay_harness import check_equal, compared, replay
from tests.harness.definitions import edge, node, workflow
from tests.harness.engine_harness import EngineHarness, run_ready_tasks
from weftwork.ports.node_outcome import AppendLog, Completed, Failed, NodeOutcome
from weftwork.ports.nodes import InstantNode, NodeCall, NodeContext, WaitingNode
from weftwork.protocol.json import schema
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.workflow.node_types import Effect, NodeDeclaration

Run = Callable[[NodeCall, NodeContext], Awaitable[NodeOutcome]]
ANY_CONFIG = {"type": "object"}


def code(run: Run, name: str = "test.code", effect: Effect = "pure") -> WaitingNode:
    declaration = NodeDeclaration(name, "Code.", effect, instant=False, resumes_after_crash=False, config=ANY_CONFIG)
    return WaitingNode(declaration, run)


def instant(run: Callable[[NodeCall], NodeOutcome], name: str = "test.code") -> InstantNode:
    return InstantNode(NodeDeclaration(name, "Code.", config=ANY_CONFIG), run)


def with_code(engine: EngineHarness, *types: Any) -> EngineHarness:
    """The host with other code."""
    return EngineHarness(*types, store=engine.store, clock=engine.clock, ids=engine.ids)


LINE = workflow([node("a", "test.code"), node("b"), node("c", "test.code")], [edge("a", "b"), edge("b", "c")])


async def divergence(engine: EngineHarness, key: RunKey) -> tuple[Any, ...]:
    """The node, kind, point and sequence of the difference."""
    (found,) = [each for each in await engine.events(key) if each.type == "replay.diverged"]
    payload = await engine.payload(key, "replay.diverged")
    assert schema.check_payload("replay.diverged", payload) == []
    assert payload["atSequence"] == found.sequence
    return found.node_id, payload["divergenceKind"], payload["divergencePoint"], found.sequence


async def check_two(engine: EngineHarness, source: RunKey, from_seq: int = 0) -> RunKey:
    """Two replays are equal, and what readers see of them is what their logs say."""
    first, second = [await replay(engine, source, from_seq, name) for name in ("one", "two")]
    await run_ready_tasks()
    assert compared(await engine.events(first)) == compared(await engine.events(second))
    return first


@pytest.mark.rule("replay-03", "replay-04")
async def test_another_output_is_a_difference() -> None:
    engine, source = await EngineHarness(instant(lambda call: Completed({"output": 1}))).with_ended_run(LINE)
    changed = with_code(engine, instant(lambda call: Completed({"output": 1 + (call.node_id == "c")})))
    key = await check_two(changed, source)
    assert await divergence(changed, key) == ("c", "output", "node.completed", 6)
    original = compared(await engine.events(source))
    events = compared(await engine.events(key))
    assert events[:6] == original[:6]
    assert events[7:] == [
        ("node.completed", "c", {"nodeId": "c", "outputs": {"output": 2}}),
        ("run.completed", None, {"outputs": {"c": {"output": 2}}}),
    ]
    payload = await engine.payload(key, "replay.diverged")
    assert payload["originalEventId"] == (await engine.events(source))[6].event_id
    assert payload["sourceRunId"] == source.run_id


async def test_a_failure_instead_of_an_outcome_is_a_difference() -> None:
    engine, source = await EngineHarness(instant(lambda call: Completed({}))).with_ended_run(LINE)
    failed = Failed("no", "No.", retryable=False)
    changed = with_code(engine, instant(lambda call: failed if call.node_id == "a" else Completed({})))
    key = await check_two(changed, source)
    assert await divergence(changed, key) == ("a", "type-mismatch", "node.completed", 2)
    assert (await engine.event_types(key))[3:] == ["node.failed", "node.skipped", "node.skipped", "run.failed"]


async def test_more_and_fewer_events_are_differences() -> None:
    def writes(call: NodeCall) -> NodeOutcome:
        return Completed({}, (AppendLog("info", "here", None),) if call.node_id == "a" else ())

    quiet = instant(lambda call: Completed({}))
    engine, source = await EngineHarness(quiet).with_ended_run(LINE)
    key = await check_two(with_code(engine, instant(writes)), source)
    assert (await divergence(engine, key))[:2] == ("a", "extra")
    engine, source = await EngineHarness(instant(writes)).with_ended_run(LINE)
    key = await check_two(with_code(engine, quiet), source)
    assert (await divergence(engine, key))[:2] == ("a", "missing")


async def emitting(call: NodeCall, context: NodeContext, lines: list[str]) -> NodeOutcome:
    for line in lines:
        context.emit_event(AppendLog("info", line, None))
        await context.turn()
    return Completed({})


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (["one", "two"], None),
        (["one", "2"], ("output", "log.appended")),
        (["one"], ("missing", "log.appended")),
        (["one", "two", "three"], ("extra", "node.completed")),
    ],
)
async def test_what_a_node_emits_while_it_runs_is_compared(lines: list[str], found: Any) -> None:
    engine, source = await EngineHarness(code(lambda call, ctx: emitting(call, ctx, ["one", "two"]))).with_ended_run(
        LINE
    )
    changed = with_code(engine, code(lambda call, context: emitting(call, context, lines)))
    if found is None:
        await check_equal(changed, source, await replay(changed, source))
        return
    key = await check_two(changed, source)
    assert (await divergence(engine, key))[1:3] == found
