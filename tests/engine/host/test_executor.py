"""Runs from start to end over a store in memory, also when two requests reach a run at the same time."""

import asyncio
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from tests.harness.cases import fails_without, present
from tests.harness.definitions import edge, node, variable, workflow
from tests.harness.engine_harness import (
    ANSWERER,
    CALLER,
    EngineHarness,
    WrappedLog,
    background_tasks,
    run,
    run_ready_tasks,
    until,
)
from tests.live.steering import interrupt_node
from weftwork.engine.decide.inputs import AnswerReceived
from weftwork.engine.host.executor import Executor
from weftwork.engine.nodes.node_runner import NodeRunner
from weftwork.engine.run import next_commit
from weftwork.ports.node_outcome import Completed, Failed, NodeOutcome
from weftwork.ports.nodes import InstantNode, NodeCall
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.protocol.json import schema
from weftwork.protocol.limits import Limits
from weftwork.protocol.run.events import is_event_type
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.workflow.node_types import NodeDeclaration
from weftwork.testing.storage.samples import unfinished

NOOP = workflow([node("a")])
ASKS = workflow([interrupt_node("ask")])


class CountingLog(WrappedLog):
    """A log that counts batches: those that come with a run, and appends."""

    def __init__(self, log: Any) -> None:
        super().__init__(log)
        self.sizes: list[int] = []
        self.rows: list[list[str]] = []

    async def create(self, *given: Any) -> Any:
        self._count(given[4])
        return await self._log.create(*given)

    async def append(self, key: RunKey, expected: int, batch: Any, *fence: Any) -> Any:
        self._count(batch)
        return await self._log.append(key, expected, batch, *fence)

    def _count(self, batch: Any) -> None:
        self.sizes.append(len(batch.events))
        self.rows.append([row.name for row in batch.rows])


async def finished(bench: EngineHarness, document: dict[str, Any], **request: Any) -> RunKey:
    key = await bench.start(document, **request)
    events = await bench.run_to_end(key)
    assert [event.sequence for event in events] == list(range(len(events)))
    for event in events:
        assert is_event_type(event.type)
        assert schema.check("run-event", msgspec.json.decode(event.document)) == []
        assert schema.check_payload(event.type, msgspec.json.decode(event.payload)) == []
    assert [event.type for event in events if event.is_terminal] == [events[-1].type]
    return key


async def test_nodes_run_in_the_order_of_the_edges_and_give_what_they_are_given() -> None:
    bench = EngineHarness()
    key = await finished(bench, NOOP)
    assert await bench.event_types(key) == ["run.started", "node.started", "node.completed", "run.completed"]
    assert await bench.payloads(key, "run.completed") == [{"outputs": {"a": {}}}]
    assert bench.executor.live_count == 0
    key = await finished(bench, workflow([node(n) for n in "cba"], [edge("b", "a"), edge("c", "b")]))
    assert [each["nodeId"] for each in await bench.payloads(key, "node.started")] == ["c", "b", "a"]
    ports = {"x": {"type": "variable", "variableName": "v"}, "y": {"type": "static", "value": [1.0, None]}}
    document = workflow([node("a", "core.identity", inputs=ports)], None, [variable("v", defaultValue="d")])
    key = await finished(bench, document, inputs={"v": "given"})
    assert await bench.payloads(key, "node.completed") == [{"nodeId": "a", "outputs": {"x": "given", "y": [1.0, None]}}]


async def test_a_failing_node_fails_the_run_unless_that_is_handled() -> None:
    bench = EngineHarness()
    key = await finished(bench, workflow([node("a", "core.fail", config={"code": "boom", "message": "It broke."})]))
    assert await bench.event_types(key) == ["run.started", "node.started", "node.failed", "run.failed"]
    failure = {"code": "boom", "message": "It broke."}
    assert await bench.payloads(key, "run.failed") == [{"error": failure, "failedNodeId": "a"}]
    assert msgspec.json.decode(present((await bench.stored_run(key)).projection.error)) == failure
    nodes = [node("a", "core.fail"), node("b"), node("c")]
    key = await finished(bench, workflow(nodes, [edge("a", "b", "any_failed"), edge("b", "c")]))
    assert (await bench.event_types(key))[-1] == "run.completed"
    key = await finished(bench, workflow(nodes, [edge("a", "b"), edge("b", "c")]))
    assert (await bench.event_types(key)).count("node.skipped") == 2
    assert (await bench.event_types(key))[-1] == "run.failed"


@pytest.mark.rule("node-01", "node-02")
async def test_a_node_that_needs_what_no_host_has_fails_the_run() -> None:
    bench = EngineHarness(provided=frozenset({"conformance.never-provided"}))
    key = await finished(bench, workflow([node("a", "conformance.requiresMissing")]))
    assert await bench.event_types(key) == ["run.started", "node.failed", "run.failed"]
    assert (await bench.payload(key, "run.failed"))["error"]["code"] == "capability_not_provided"
    assert (await bench.stored_run(key)).projection.executions == 0


async def test_a_node_runs_with_what_the_host_provides() -> None:
    declaration = NodeDeclaration("test.needs", "Needs two things.", requires=("one", "two"))
    needs = InstantNode(declaration, lambda call: Completed({}))
    bench = EngineHarness(needs, provided=frozenset({"one", "two", "three"}))
    assert (await bench.event_types(await finished(bench, workflow([node("a", "test.needs")]))))[-1] == "run.completed"
    lacking = EngineHarness(needs, provided=frozenset({"one"}))
    (failed,) = await lacking.payloads(await finished(lacking, workflow([node("a", "test.needs")])), "node.failed")
    assert failed["error"]["details"] == {"capability": "two"}


@pytest.mark.parametrize("port", [{"type": "variable", "variableName": "gone"}, {"type": "static", "value": -1}])
async def test_inputs_that_are_missing_or_do_not_fit_fail_the_node(port: dict[str, Any]) -> None:
    bench = EngineHarness()
    key = await finished(bench, workflow([node("a", "core.delay", inputs={"delayMs": port})]))
    (failed,) = await bench.payloads(key, "node.failed")
    expected = "node_input_missing" if port["type"] == "variable" else "node_config_invalid"
    assert failed["error"]["code"] == expected


def chain(length: int) -> dict[str, Any]:
    names = [f"n{index:02}" for index in range(length)]
    return workflow([node(n) for n in names], [edge(a, b) for a, b in pairwise(names)])


async def test_a_chain_of_pure_nodes_is_one_commit_and_a_very_long_one_is_some(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = EngineHarness(wrap=CountingLog)
    await finished(bench, chain(50))
    assert bench.log.sizes == [102]
    monkeypatch.setattr(next_commit, "MAX_BATCH_EVENTS", 5)
    bench = EngineHarness(wrap=CountingLog)
    await finished(bench, chain(20))
    assert (sum(bench.log.sizes), max(bench.log.sizes)) == (42, 5)


async def test_the_start_of_a_waiting_node_is_durable_before_it_runs() -> None:
    bench = EngineHarness(wrap=CountingLog)
    key = await bench.start(workflow([node("a"), node("b", "test.gate")], [edge("a", "b")]))
    await until(lambda: bench.gate_node.calls)
    assert await bench.event_types(key) == ["run.started", "node.started", "node.completed", "node.started"]
    assert (await bench.stored_run(key)).projection.current_node == "b"
    bench.gate_node.release("b", Completed({"o": 1}))
    await bench.run_to_end(key)
    assert bench.log.sizes == [4, 2]
    assert bench.log.rows == [["a", "b"], ["b"]], "only what changed is written again"
    assert await bench.payloads(key, "run.completed") == [{"outputs": {"b": {"o": 1}}}]


async def test_branches_run_side_by_side_up_to_the_bound() -> None:
    bench = EngineHarness(limits=Limits(max_parallel_nodes=3))
    names = [f"n{index}" for index in range(7)]
    key = await bench.start(workflow([node(n, "test.gate") for n in names]))
    for released in range(7):
        await run_ready_tasks()
        assert len(bench.gate_node.waiting) == min(3, 7 - released)
        bench.gate_node.release(next(iter(bench.gate_node.waiting)))
    await bench.run_to_end(key)
    assert bench.gate_node.max_waiting == 3
    assert (await bench.stored_run(key)).projection.executions == 7


async def test_what_memory_says_of_a_run_is_what_the_store_says() -> None:
    bench = EngineHarness()
    nodes = [node("a", "test.gate"), node("b", "core.fail")]
    key = await bench.start(workflow(nodes, None, [variable("v", defaultValue="d")]), tags=["t"])
    for step in ("start", "gate", "end"):
        if step == "end":
            bench.gate_node.release("a", Failed("late", "Later."))
            await bench.run_to_end(key)
        shown = present(await bench.executor.read_run(key))
        stored = await bench.stored_run(key)
        assert (shown.header, shown.projection) == (stored.header, stored.projection)
        assert sorted(shown.rows, key=repr) == sorted(stored.rows, key=repr)
        await run_ready_tasks()


async def test_a_node_that_raises_fails_and_its_words_stay_here(caplog: pytest.LogCaptureFixture) -> None:
    canary = "canary-91c2"

    def explode(call: NodeCall) -> NodeOutcome:
        raise RuntimeError(canary)

    bench = EngineHarness(InstantNode(NodeDeclaration("test.raise", "Raises."), explode))
    key = await finished(bench, workflow([node("a", "test.raise")]))
    assert (await bench.payload(key, "run.failed"))["error"]["code"] == "node_failed"
    assert all(canary.encode() not in event.document for event in await bench.events(key))
    assert canary not in repr(await bench.stored_run(key))
    assert canary in caplog.text


GATE = workflow([node("a", "test.gate")])
AWAY = StoreUnavailable("no disk")


def lose_one_answer(bench: EngineHarness, monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """The next run is stored, and its creator told otherwise."""
    honest = bench.store.log.create

    async def create(*given: Any) -> Any:
        await honest(*given)
        monkeypatch.setattr(bench.store.log, "create", honest)
        raise error

    monkeypatch.setattr(bench.store.log, "create", create)


async def only_run(bench: EngineHarness) -> RunKey:
    (key,) = await unfinished(bench.store, None, 10)
    return key


@fails_without(Executor, "_wake", lambda executor, key, to_cancel=False: executor._load(key), match="== 1")
async def test_a_run_that_is_woken_twice_is_executed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a cancel and by a doubt."""
    bench = EngineHarness()
    lose_one_answer(bench, monkeypatch, AWAY)
    with pytest.raises(StoreUnavailable):
        await bench.start(GATE)
    key = await only_run(bench)
    await bench.executor._wake(key)
    await until(lambda: bench.gate_node.calls)
    await bench.advance(1000)
    calls = len(bench.gate_node.calls)
    await bench.run_to_end(key, release="a")
    assert calls == 1


async def test_a_creation_that_is_given_up_in_the_middle_goes_on_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = EngineHarness()
    lose_one_answer(bench, monkeypatch, asyncio.CancelledError())
    with pytest.raises(asyncio.CancelledError):
        await bench.start(GATE)
    key = await only_run(bench)
    await run_ready_tasks()
    bench.clock.advance(1000)
    await until(lambda: bench.gate_node.waiting)
    await bench.run_to_end(key, release="a")


async def test_a_new_run_goes_on_although_somebody_else_failed_to_load_it(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = EngineHarness()
    honest, gate = bench.store.log.create, asyncio.Event()

    async def create(*given: Any) -> Any:
        created = await honest(*given)
        await gate.wait()
        return created

    async def away(key: RunKey, *rest: Any) -> Any:
        gate.set()
        await run_ready_tasks()
        raise AWAY

    monkeypatch.setattr(bench.store.log, "create", create)
    creating = asyncio.create_task(bench.start(GATE))
    await run_ready_tasks()
    key = await only_run(bench)
    with monkeypatch.context() as broken:
        broken.setattr(bench.store.log, "read_whole", away)
        with pytest.raises(StoreUnavailable):
            await bench.executor._wake(key)
    assert await creating == key
    bench.clock.advance(1000)
    await until(lambda: bench.gate_node.waiting)
    await bench.run_to_end(key, release="a")
    assert len(bench.gate_node.calls) == 1


@pytest.mark.parametrize("woken", [False, True])
async def test_an_error_of_ours_after_the_commit_fails_the_run(monkeypatch: pytest.MonkeyPatch, woken: bool) -> None:
    def broken(*given: Any) -> None:
        raise RuntimeError("canary-77ab")

    bench = EngineHarness()
    if not woken:
        monkeypatch.setattr(NodeRunner, "launch", broken)
    key = await bench.start(GATE)
    if woken:
        await bench.crash()
        bench = bench.successor()
        monkeypatch.setattr(NodeRunner, "launch", broken)
        await bench.executor.recover()
    await bench.run_to_end(key)
    assert (await bench.payload(key, "run.failed"))["error"]["code"] == "host_invariant_broken"
    await run_ready_tasks()
    assert (bench.executor.live_count, bench.executor.run_slots.held_by(key.partition)) == (0, 0)


@pytest.mark.parametrize("stored", [False, True])
def test_after_its_end_an_executor_begins_nothing(monkeypatch: pytest.MonkeyPatch, stored: bool) -> None:
    async def work() -> None:
        bench = EngineHarness()
        honest, gate = bench.store.log.create, asyncio.Event()

        async def create(*given: Any) -> Any:
            await gate.wait()
            created = await honest(*given)
            if not stored:
                raise AWAY
            return created

        monkeypatch.setattr(bench.store.log, "create", create)
        creating = asyncio.create_task(bench.start(GATE))
        await run_ready_tasks()
        await bench.close()
        gate.set()
        await asyncio.wait((creating,))
        await bench.advance(1000)
        assert (bench.gate_node.calls, bench.executor.live_count) == ([], 0)
        assert background_tasks() == set()
        assert (await only_run(bench)).partition == CALLER.partition

    run(work)


class ReadsCountingLog(WrappedLog):
    """A log that counts its reads."""

    def __init__(self, log: Any) -> None:
        super().__init__(log)
        self.reads: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name in ("read", "read_run", "read_whole", "outline", "hidden_values", "projection"):
            self.reads.append(name)
        return getattr(self._log, name)


class Unloaded:
    """In place of `Executor.loaded`: the run is looked at in the store, and loaded by the request."""

    def __init__(self, executor: Executor, key: RunKey) -> None:
        self._executor, self._key = executor, key

    async def __aenter__(self) -> Any:
        return await self._executor.read_run(self._key)

    async def __aexit__(self, *_: object) -> None: ...


@fails_without(Executor, "loaded", lambda executor, key: Unloaded(executor, key), match="read_run")
async def test_a_run_that_is_looked_at_and_then_asked_is_read_once_and_unloaded_again() -> None:
    first = EngineHarness()
    key = await first.start(ASKS)
    await first.crash()
    bench = first.successor(wrap=ReadsCountingLog)
    # A run that the executor still has to take is read a second time afterwards.
    assert await bench.store.ownership.take(key, bench.runtime.fence.epoch)
    async with bench.executor.loaded(key) as stored:
        assert present(stored).projection.status == "waiting-input"
        for _ in range(2):
            # Nothing of it is due, and nevertheless it stays.
            await run_ready_tasks()
        answer = AnswerReceived("ask", {}, ANSWERER, bench.clock.now())
        assert await bench.executor.request(key, answer) in ("running", "completed")
    assert bench.log.reads == ["read_whole"]
    await bench.run_to_end(key)
    bench.log.reads.clear()
    async with bench.executor.loaded(key) as stored:
        assert present(stored).projection.status == "completed"
    async with bench.executor.loaded(RunKey(key.partition, "no-run")) as stored:
        assert stored is None
    assert bench.executor.live_count == 0


async def test_a_run_that_is_only_looked_at_is_parked_again() -> None:
    first = EngineHarness()
    key = await first.start(ASKS)
    await first.crash()
    bench = first.successor()
    async with bench.executor.loaded(key):
        await run_ready_tasks()
        assert bench.executor.live_count == 1
    await run_ready_tasks()
    assert bench.executor.live_count == 0
