"""Logs of real runs: the caches equal the fold, unknown events are refused, an ended run leaves nothing in memory."""

import asyncio
import gc
import random
from collections.abc import Iterator
from typing import Any
from weakref import ref

import msgspec
import pytest
from hypothesis import strategies as st

from tests.engine.host.test_failures import FlakyLog
from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import edge, for_all, node, plan_of, variable, workflow
from tests.harness.engine_harness import CALLER, EngineHarness, WrappedLog, run_ready_tasks, until
from weftwork.engine.host.executor import Executor
from weftwork.engine.nodes import node_runner
from weftwork.engine.run import append, live_run, replay
from weftwork.engine.run.live_run import LiveRun
from weftwork.engine.run.replay import load_state
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.protocol.errors import ClientFault, HostFault
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.json import schema
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.privacy.secret_matcher import redaction_marker
from weftwork.protocol.run.events import Draft, Event
from weftwork.protocol.run.header import TERMINAL_STATUSES, Owner, RunHeader, RunKey
from weftwork.protocol.run.interrupts import InterruptState
from weftwork.protocol.run.projection import run_snapshot
from weftwork.protocol.timestamps import iso

RULES = ["all_success", "all_success", "any_success", "all_complete", "none_failed", "any_failed"]
KINDS = ["core.noop", "core.identity", "core.identity", "core.delay", "core.fail", "conformance.requiresMissing"]
SECRET = "secret-text"
MOVES = {
    "node.started": (("idle", "retrying"), "running"),
    "node.suspended": (("running",), "suspended"),
    "node.resumed": (("suspended",), "running"),
    "node.retried": (("running",), "retrying"),
    "node.completed": (("running",), "idle"),
    "node.failed": (("idle", "running"), "idle"),
    "node.skipped": (("idle",), "idle"),
    "node.cancelled": (("running", "suspended", "retrying"), "idle"),
}
"""Event -> how a node may stand before it, and how it stands after it."""
ENDS = {"node.completed", "node.failed", "node.skipped", "node.cancelled"}


def a_graph(dice: random.Random) -> dict[str, Any]:
    names = [f"n{index}" for index in range(dice.randint(1, 7))]
    nodes: list[dict[str, Any]] = []
    for name in names:
        kind = dice.choice(KINDS)
        config = {"ms": dice.choice([0, 1, 10, 10, 25])} if kind == "core.delay" else {}
        ports = {}
        if kind == "core.identity":
            wanted = dice.choice(["open", "hidden", "gone"])
            ports["output"] = {"type": "variable", "variableName": wanted, "optional": dice.random() < 0.8}
        more = {"outputSensitivity": {"output": True}} if dice.random() < 0.2 else {}
        nodes.append(node(name, kind, config=config, inputs=ports, disabled=dice.random() < 0.1, **more))
    edges = [
        edge(names[a], names[b], dice.choice(RULES))
        for a in range(len(names))
        for b in range(a + 1, len(names))
        if dice.random() < 0.35
    ]
    variables = [variable("open", "array", defaultValue=[]), variable("hidden", sensitive=True, defaultValue=SECRET)]
    return workflow(nodes, edges, variables)


async def lived(dice: random.Random) -> tuple[EngineHarness, RunKey]:
    """One run from start to end, with whatever the dice do to it on the way."""
    bench = EngineHarness(wrap=FlakyLog)
    bench.log.plan = {n: dice.choice(["down", "lost", "conflict"]) for n in range(1, 20) if dice.random() < 0.1}
    configurable = {"recursionLimit": dice.randint(1, 6)} if dice.random() < 0.2 else {}
    if dice.random() < 0.3:
        configurable["runTimeoutMs"] = dice.choice([5, 20, 2000])
    key = await bench.start(a_graph(dice), inputs={"open": [1.0, SECRET]}, configurable=configurable)
    asking: set[asyncio.Task[Any]] = set()
    for _ in range(60):
        act = dice.random()
        if act < 0.08:
            asking.add(asyncio.create_task(bench.cancel(key, dice.choice([None, "enough"]))))
        elif act < 0.2:
            if dice.random() < 0.5:
                await bench.crash()
                # Nobody hears the answers, but they have been looked at.
                await asyncio.gather(*asking, return_exceptions=True)
                asking.clear()
            else:
                bench.log.plan.clear()  # else closing waits for a store that nobody brings back
                await bench.advance(1000)
                await bench.close()
            bench = await bench.take_over(wrap=FlakyLog)
        elif act < 0.5 and bench.clock.next_wake is not None:
            bench.clock.advance(bench.clock.next_wake - bench.clock.now())
        else:
            await run_ready_tasks()
    await bench.run_to_end(key)
    while bench.executor.live_count:
        await bench.advance(1000)
    for answer in await asyncio.gather(*asking, return_exceptions=True):
        assert isinstance(answer, StoreUnavailable) or answer == "cancelling" or answer in TERMINAL_STATUSES
    return bench, key


def expected_error(state: RunState, node_id: str | None, error: Any) -> Any:
    """A node that was given something sensitive shows no details."""
    if node_id is None or "details" not in error or not state.plan.nodes[node_id].hides_outputs:
        return error
    return {**error, "details": {"redacted": redaction_marker(f"{node_id}.error")}}


def is_shown(row: Any, value: Any) -> bool:
    """Whether a row shows this value; a text in it may be hidden because it is also a part of something sensitive."""
    if isinstance(row, str) and isinstance(value, str):
        return row == value or "[REDACTED:" in row
    if isinstance(row, dict) and isinstance(value, dict):
        return row.keys() == value.keys() and all(is_shown(row[name], value[name]) for name in row)
    if isinstance(row, list) and isinstance(value, list):
        return len(row) == len(value) and all(map(is_shown, row, value))
    return bool(row == value)


def expected_interrupt(state: RunState, name: str, asked: InterruptState) -> dict[str, Any]:
    row = {"interruptId": name, "nodeId": asked.node_id, "kind": asked.kind, "key": asked.key, "status": asked.status}
    row["requestedAt"] = iso(asked.requested_at)
    if asked.status == "open":
        more: dict[str, Any] = {"data": asked.data}
        if asked.resume_schema is not None:
            more["resumeSchema"] = asked.resume_schema
        return {**row, **more}
    if asked.status == "resolved":
        found = state.resolutions[asked.key]
        return {**row, "resolvedAt": iso(found.at), **({"resolvedBy": found.by} if found.by is not None else {})}
    return row


def expected_rows(state: RunState) -> dict[tuple[str, str], Any]:
    """What the store should have cached, from the state alone. A node that never began has no row."""
    rows: dict[tuple[str, str], Any] = {}
    for name, value in state.variables.items():
        rows["variable", name] = redaction_marker(name) if name in state.plan.sensitive_variables else value
    for name, channel in state.channels.items():
        rows["channel", name] = redaction_marker(name) if name in state.plan.taint.channels else channel.value
    for name, asked in state.interrupts.items():
        rows["interrupt", name] = expected_interrupt(state, name, asked)
    for node_id, each in state.nodes.items():
        if each.status == "pending" and not each.visits:
            continue
        row: dict[str, Any] = {"status": each.status}
        if each.attempt:
            row["attempt"] = each.attempt
        if each.error is not None:
            row["error"] = expected_error(state, node_id, each.error)
        rows["node", node_id] = row
    return rows


def hidden(value: Any) -> Any:
    return msgspec.json.decode(encode_stored(value).replace(SECRET.encode(), redaction_marker("hidden").encode()))


async def check_caches(bench: EngineHarness, key: RunKey) -> None:
    stored = await bench.stored_run(key)
    plan = await bench.catalog.pinned_plan(stored.header.workflow_id, stored.header.definition)
    state = await load_state(bench.store.log, stored.header, plan)
    projection = stored.projection
    assert (projection.status, projection.last_sequence) == (state.status, state.last_sequence)
    assert (projection.started_at, projection.completed_at) == (state.started_at, state.completed_at)
    assert (projection.current_node, projection.executions) == (state.current_node, state.executions)
    error = None if projection.error is None else msgspec.json.decode(projection.error)
    failed = await bench.payloads(key, "run.failed")
    assert is_shown(
        error, hidden(expected_error(state, failed[0].get("failedNodeId") if failed else None, state.error))
    )
    completed = await bench.payloads(key, "run.completed")
    outputs = None if projection.outputs is None else msgspec.json.decode(projection.outputs)
    assert outputs == (completed[0]["outputs"] if completed else None)
    rows = {(row.kind, row.name): msgspec.json.decode(row.value) for row in stored.rows}
    expected = {place: hidden(value) for place, value in expected_rows(state).items()}
    assert rows.keys() == expected.keys()
    assert all(is_shown(rows[place], expected[place]) for place in rows), (rows, expected)
    document = msgspec.json.decode(msgspec.json.encode(run_snapshot(stored)))
    assert schema.check("run-snapshot", document) == []


def check_log(events: list[Event]) -> None:
    assert [event.sequence for event in events] == list(range(len(events)))
    assert [event.type for event in events if event.is_terminal] == [events[-1].type]
    stands: dict[str, str] = {}
    for event in events:
        assert SECRET.encode() not in event.document
        assert schema.check_payload(event.type, msgspec.json.decode(event.payload)) == []
        if event.node_id is not None and event.type in MOVES:
            before, after = MOVES[event.type]
            assert stands.get(event.node_id, "idle") in before, (event.type, event.node_id)
            stands[event.node_id] = after
        elif event.type == "run.paused":
            stands = {name: "idle" if each == "running" else each for name, each in stands.items()}
    assert set(stands.values()) <= {"idle"}
    kinds = [event.type for event in events]
    assert all(kinds.count(kind) <= 1 for kind in ("run.started", "cap.breached", "weftwork.run.cancel-requested"))


@pytest.mark.rule("fold-01", "run-01")
@for_all(60, st.integers(0, 2**48), full=2_400)
async def test_what_is_cached_of_a_run_is_the_fold_of_its_log(seed: int) -> None:
    bench, key = await lived(random.Random(seed))
    events = await bench.events(key)
    check_log(events)
    ends = [event.node_id for event in events if event.type in ENDS]
    assert len(ends) == len(set(ends))
    await check_caches(bench, key)
    assert bench.executor.live_count == 0
    await bench.crash()


@pytest.mark.rule("fold-01")
@fails_without(append.BatchBuilder, "_rows", lambda self: ())
async def test_caches_hold_at_every_append_of_a_run() -> None:
    for seed in range(30):
        dice = random.Random(seed)
        bench, key = await EngineHarness().with_run(a_graph(dice), inputs={"open": [1.0, SECRET]})
        for _ in range(8):
            await check_caches(bench, key)
            await run_ready_tasks()
            if bench.clock.next_wake is not None:
                bench.clock.advance(bench.clock.next_wake - bench.clock.now())
        await bench.run_to_end(key)
        await check_caches(bench, key)


def test_a_second_end_would_be_seen() -> None:
    def event(sequence: int, kind: str) -> Event:
        return Event("run-1", sequence, f"e{sequence}", kind, 0, b"{}")

    check_log([event(0, "run.cancelled")])
    for second in ("run.cancelled", "acme.thing"):
        with pytest.raises(AssertionError):
            check_log([event(0, "run.cancelled"), event(1, second)])


HEADER = RunHeader("run-1", "live:acme", Owner("acme", "key_1"), "sample", "digest", 1)


@pytest.mark.rule("evt-02")
@fails_without(append, "is_event_type", lambda name: True, match="DID NOT RAISE")
def test_an_event_type_that_nobody_may_use_reaches_no_log() -> None:
    batch = append.BatchBuilder(RunState(plan_of(workflow([node("a")])), HEADER, {}), None, 1)
    with pytest.raises(HostFault, match=r"run\.invented"):
        batch.add((Draft("run.invented", {}),))


WAITING = workflow([node("a"), node("b", "test.gate")], [edge("a", "b")])


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Weak references to every live run, with the collector switched off."""
    references: list[Any] = []
    honest = Executor._make_live

    def make(executor: Executor, state: Any) -> LiveRun:
        made = honest(executor, state)
        references.extend((ref(made), ref(made._activity.runner)))
        return made

    monkeypatch.setattr(Executor, "_make_live", make)
    gc.collect()
    gc.disable()
    try:
        yield references
    finally:
        gc.enable()


async def completed(bench: EngineHarness) -> None:
    await bench.execute(workflow([node("a")]))


async def failed(bench: EngineHarness) -> None:
    await bench.execute(workflow([node("a", "core.fail")]))


async def waited(bench: EngineHarness) -> None:
    key = await bench.start(WAITING, configurable={"runTimeoutMs": 1000})
    await until(lambda: bench.gate_node.waiting)
    await bench.run_to_end(key, release="b")


async def cancelled(bench: EngineHarness) -> None:
    key = await bench.start(WAITING, configurable={"runTimeoutMs": 1000})
    await until(lambda: bench.gate_node.waiting)
    await bench.cancel(key)
    await bench.run_to_end(key)


async def timed_out(bench: EngineHarness) -> None:
    await bench.execute(WAITING, configurable={"runTimeoutMs": 1000})


async def refused(bench: EngineHarness) -> None:
    key = await bench.start(WAITING, scopeId="s")
    with pytest.raises(ClientFault):
        await bench.service.create_run(CALLER, {"workflowId": WAITING["id"], "scopeId": "s"}, exclusive=True)
    await until(lambda: bench.gate_node.waiting)
    await bench.run_to_end(key, release="b")


@pytest.mark.parametrize("story", [completed, failed, waited, cancelled, timed_out, refused])
@fails_without(live_run, "weak_reporter", lambda receiver: receiver.send)
async def test_an_ended_run_goes_at_once(made: list[Any], story: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_runner, "STOP_GRACE_S", 0.01)
    await story(EngineHarness())
    await run_ready_tasks()
    assert made
    assert [reference() for reference in made if reference() is not None] == []


class CountedReads(WrappedLog):
    """Counts how often a page of events is read."""

    reads = 0

    async def read(self, *given: Any) -> list[Event]:
        self.reads += 1
        return await self._log.read(*given)


async def folded(bench: EngineHarness, key: RunKey) -> tuple[RunState, int]:
    """The state of a run from its log, and the pages that were read for it."""
    header = (await bench.stored_run(key)).header
    plan = await bench.catalog.pinned_plan(header.workflow_id, header.definition)
    log = CountedReads(bench.store.log)
    return await load_state(log, header, plan), log.reads  # type: ignore[arg-type]


@each_case("events, size", (1, 2**22), (4, 2**22), (1000, 1), (1000, 700))
async def test_a_log_of_several_pages_is_folded_whole(events: int, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = [node(name) for name in "abcd"]
    bench, key = await EngineHarness().with_ended_run(workflow(nodes, [edge("a", "b"), edge("b", "c"), edge("c", "d")]))
    logged = await bench.events(key)
    monkeypatch.setattr(replay, "REPLAY_PAGE_EVENTS", events)
    monkeypatch.setattr(replay, "REPLAY_PAGE_BYTES", size)
    state, reads = await folded(bench, key)
    assert (state.last_sequence, state.status) == (logged[-1].sequence, "completed")
    assert reads > 1


async def test_a_short_log_is_read_once() -> None:
    bench, key = await EngineHarness().with_ended_run(workflow([node("a")]))
    state, reads = await folded(bench, key)
    assert (state.status, reads) == ("completed", 1)
