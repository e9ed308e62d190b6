"""A replay whose code has changed says where it differs, and goes on in one order with what is recorded."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.engine.replay.replay_harness import check_equal, compared, replay
from tests.harness.definitions import edge, node, workflow
from tests.harness.engine_harness import EngineHarness, run_ready_tasks
from weftwork.engine.replay import node_rerun
from weftwork.ports.node_outcome import AppendLog, Completed, Failed, NodeOutcome, SetVariable
from weftwork.ports.nodes import InstantNode, NodeCall, NodeContext, WaitingNode
from weftwork.ports.storage.run_queries import RunQuery
from weftwork.protocol.json import schema
from weftwork.protocol.run.events import EFFECT_CLAIMED
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.run.interrupts import Interrupt
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
        return Completed({}, (AppendLog("info", "here", {}),) if call.node_id == "a" else ())

    quiet = instant(lambda call: Completed({}))
    engine, source = await EngineHarness(quiet).with_ended_run(LINE)
    key = await check_two(with_code(engine, instant(writes)), source)
    assert (await divergence(engine, key))[:2] == ("a", "extra")
    engine, source = await EngineHarness(instant(writes)).with_ended_run(LINE)
    key = await check_two(with_code(engine, quiet), source)
    assert (await divergence(engine, key))[:2] == ("a", "missing")


async def emitting(call: NodeCall, context: NodeContext, lines: list[str]) -> NodeOutcome:
    for line in lines:
        context.emit_event(AppendLog("info", line, {}))
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


async def test_a_node_that_waits_for_something_else_now_is_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    async def hangs(call: NodeCall, context: NodeContext) -> NodeOutcome:
        return await asyncio.get_running_loop().create_future()

    async def ends(call: NodeCall, context: NodeContext) -> NodeOutcome:
        return Completed({})

    monkeypatch.setattr(node_rerun, "MAX_CALL_MS", 1)
    engine, source = await EngineHarness(code(ends)).with_ended_run(LINE)
    key = await check_two(with_code(engine, code(hangs)), source)
    assert await divergence(engine, key) == ("a", "type-mismatch", "node.completed", 2)
    assert (await engine.payload(key, "run.failed"))["error"]["code"] == "node_timeout"


class World:
    """Counts what reaches it."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    async def call(self, name: str) -> str:
        self.calls.append(name)
        return f"{name} {len(self.calls)}"


class Worker:
    """Node types that do and ask what their config says."""

    def __init__(self, world: World, first: int = 1) -> None:
        self.world = world
        self.first = first

    def types(self) -> tuple[Any, ...]:
        return (
            instant(lambda call: Completed({"output": self.first}), "test.first"),
            code(self.works, "test.works"),
            code(self.acts, "test.acts", "once"),
            code(self.asks, "test.asks"),
        )

    async def works(self, call: NodeCall, context: NodeContext) -> NodeOutcome:
        found = [
            await context.step(name, "once", lambda name=name: self.world.call(name)) for name in call.config["steps"]
        ]
        return Completed({"output": found}, (SetVariable("seen", found),))

    async def acts(self, call: NodeCall, context: NodeContext) -> NodeOutcome:
        return Completed({"output": await self.world.call("acts")})

    async def asks(self, call: NodeCall, context: NodeContext) -> NodeOutcome:
        answer = await context.ask(Interrupt("custom", call.node_id, {"customKind": "test.ask", "payload": None}))
        return Completed({"output": answer.value})


WORK = workflow(
    [
        node("first", "test.first"),
        node("works", "test.works", config={"steps": ["x", "y"]}),
        node("acts", "test.acts"),
        node("asks", "test.asks"),
        node("last"),
    ],
    [edge("first", "works"), edge("works", "acts"), edge("acts", "asks"), edge("asks", "last")],
)


async def worked(world: World) -> tuple[EngineHarness, RunKey]:
    engine, source = await EngineHarness(*Worker(world).types()).with_settled_run(WORK)
    await engine.answer(source, "yes", "asks")
    await engine.run_to_end(source)
    return engine, source


async def test_a_replay_of_effects_and_answers_reaches_nothing_outside() -> None:
    world = World()
    engine, source = await worked(world)
    before = len(world.calls)
    for from_seq in range(len(await engine.events(source))):
        await check_equal(engine, source, await replay(engine, source, from_seq))
    assert len(world.calls) == before == 3


async def test_after_a_difference_nodes_get_recorded_steps_outcomes_and_answers() -> None:
    world = World()
    engine, source = await worked(world)
    changed = with_code(engine, *Worker(world, first=2).types())
    key = await check_two(changed, source)
    assert len(world.calls) == 3
    assert await divergence(changed, key) == ("first", "output", "node.completed", 2)
    # Of a node with an effect, the outcome is taken, and no claim is made.
    rest = [each for each in compared(await engine.events(source))[3:] if each[:2] != (EFFECT_CLAIMED, "acts")]
    assert compared(await changed.events(key))[4:] == rest
    assert (await changed.event_types(key))[-1] == "run.completed"


async def test_a_step_without_a_record_fails_its_node() -> None:
    world = World()
    engine, source = await worked(world)
    more = Worker(world)

    async def works(call: NodeCall, context: NodeContext) -> NodeOutcome:
        await context.step("new", "idempotent", lambda: world.call("new"))
        return Completed({})

    more.works = works
    changed = with_code(engine, *more.types())
    key = await check_two(changed, source)
    assert len(world.calls) == 3
    assert (await divergence(changed, key))[:2] == ("works", "extra")
    failed = await changed.payload(key, "node.failed")
    assert (failed["nodeId"], failed["error"]["code"]) == ("works", "replay_source_missing")


CHILD = {**workflow([node("inner", "test.first")]), "id": "child"}
PARENT = workflow(
    [node("first", "test.first"), node("sub", "core.subWorkflow", config={"workflowId": "child"}), node("last")],
    [edge("first", "sub"), edge("sub", "last")],
)


async def parent_and_child(world: World) -> tuple[EngineHarness, RunKey]:
    engine = await EngineHarness(*Worker(world).types()).open()
    assert await engine.catalog.register(CHILD) == []
    return engine, await engine.execute(PARENT)


async def count_runs(engine: EngineHarness, source: RunKey) -> int:
    return len((await engine.store.queries.list_runs(source.partition, RunQuery(limit=50))).runs)


async def test_a_replay_starts_no_child_and_has_its_recorded_end() -> None:
    world = World()
    engine, source = await parent_and_child(world)
    before = await count_runs(engine, source)
    await check_equal(engine, source, await replay(engine, source))
    changed = with_code(engine, *Worker(world, first=2).types())
    key = await check_two(changed, source)
    assert await divergence(changed, key) == ("first", "output", "node.completed", 2)
    ends = [each for each in compared(await engine.events(source)) if each[:2] == ("node.completed", "sub")]
    assert [each for each in compared(await changed.events(key)) if each[:2] == ("node.completed", "sub")] == ends
    assert (await changed.event_types(key))[-1] == "run.completed"
    assert await count_runs(engine, source) == before + 3, "three replays, and no child"


async def test_a_child_without_a_record_is_not_started() -> None:
    world = World()

    condition = {"type": "expression", "expression": "nodes.first.outputs.output == 2.0"}
    document = workflow(
        [*PARENT["nodes"]], [edge("first", "sub", condition=condition), edge("first", "last", id="way")], id="choice"
    )
    engine = await EngineHarness(*Worker(world).types()).open()
    assert await engine.catalog.register(CHILD) == []
    source = await engine.execute(document)
    before = await count_runs(engine, source)
    changed = with_code(engine, *Worker(world, first=2).types())
    key = await check_two(changed, source)
    failed = await changed.payload(key, "node.failed")
    assert (failed["nodeId"], failed["error"]["code"]) == ("sub", "replay_source_missing")
    assert await count_runs(engine, source) == before + 2
