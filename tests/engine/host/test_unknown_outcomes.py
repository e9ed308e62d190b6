"""The connection to the store is lost after a commit was sent: the store is read before anything else is done."""

import asyncio
from collections.abc import Awaitable
from itertools import product
from typing import Any

import pytest

from tests.engine.forks.test_branches import fork
from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import edge, node, workflow
from tests.harness.engine_harness import CALLER, EngineHarness, run_ready_tasks, until
from weftwork.engine import read_back
from weftwork.engine.api.annotations import Annotations
from weftwork.engine.api.keyring import Keyring
from weftwork.engine.api.retention import Retention
from weftwork.engine.host import executor
from weftwork.engine.read_back import DELAYS_MS
from weftwork.engine.run import live_run
from weftwork.ports.node_outcome import Completed, NodeOutcome
from weftwork.ports.nodes import NodeCall, NodeContext, WaitingNode
from weftwork.ports.storage.event_log import OutcomeUnknown, StoreUnavailable
from weftwork.protocol.wire.v1.routes import SCOPES
from weftwork.protocol.workflow.node_types import NodeDeclaration
from weftwork.testing.storage.samples import record

NOT_READ_BACK = fails_without(
    live_run.LiveRun, "_is_appended", lambda self, batch, error: asyncio.sleep(0, False), errors=(StoreUnavailable,)
)
GATES = workflow([node("g", "test.gate"), node("h", "test.gate")], [edge("g", "h")])


class DoubtfulPort:
    """A port whose next call of the method `name` has an unknown outcome, as often as `times`: it was done or not. The
    next `away` other calls fail, as the store does not answer."""

    def __init__(self, port: Any) -> None:
        self._port = port
        self.name = ""
        self.done = True
        self.times = 1
        self.away = 0
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        async def call(*arguments: Any) -> Any:
            self.calls.append(name)
            if name == self.name and self.times:
                self.times -= 1
                if self.done:
                    await getattr(self._port, name)(*arguments)
                raise OutcomeUnknown("the connection was lost")
            if self.away and not self.times:
                self.away -= 1
                raise StoreUnavailable("away")
            return await getattr(self._port, name)(*arguments)

        return call

    def doubt(self, name: str, done: bool = True, away: int = 0) -> None:
        self.name, self.done, self.away, self.times = name, done, away, 1
        self.calls.clear()


async def in_time(bench: EngineHarness, call: Awaitable[Any]) -> Any:
    """The result of a call that may wait for the clock."""
    task = asyncio.ensure_future(call)
    for _ in range(len(DELAYS_MS) + 2):
        await run_ready_tasks()
        if task.done():
            break
        bench.clock.advance(max(DELAYS_MS))
    return await task


def counted_gate() -> tuple[WaitingNode, list[str]]:
    """The type of a node that ends at once, and the ids of the nodes that were called."""
    called: list[str] = []

    async def body(call: NodeCall, context: NodeContext) -> NodeOutcome:
        called.append(call.node_id)
        return Completed({})

    declaration = NodeDeclaration("test.counted", "Counts its calls.", instant=False, effect="once")
    return WaitingNode(declaration, body), called


@fails_without(executor, "confirm_created", None, errors=(TypeError,))
@each_case("away", 0, 2)
def test_a_run_that_was_created_is_reported_and_executed(away: int) -> None:
    async def check() -> None:
        bench = await EngineHarness(wrap=DoubtfulPort).open()
        assert await bench.catalog.register(GATES) == []
        bench.log.doubt("create", away=away)
        outcome = await in_time(bench, bench.service.create_run(CALLER, {"workflowId": GATES["id"]}, "key"))
        await until(lambda: bench.gate_node.waiting)
        assert await bench.status(CALLER.run(outcome.run_id)) == "running"
        again = await bench.service.create_run(CALLER, {"workflowId": GATES["id"]}, "key")
        assert (again.run_id, again.replayed) == (outcome.run_id, True)
        assert bench.log.calls.count("create") == 1
        assert [call.node_id for call in bench.gate_node.calls] == ["g"]

    asyncio.run(check())


async def test_a_run_that_was_not_created_is_refused_and_not_created_again() -> None:
    bench = await EngineHarness(wrap=DoubtfulPort).open()
    assert await bench.catalog.register(GATES) == []
    bench.log.doubt("create", done=False)
    with pytest.raises(StoreUnavailable):
        await bench.service.create_run(CALLER, {"workflowId": GATES["id"]}, "key")
    assert bench.log.calls.count("create") == 1
    await run_ready_tasks()
    bench.clock.advance(5_000)
    await run_ready_tasks()
    assert not bench.executor.live_count
    assert not bench.executor._retries.runs


async def test_a_store_that_does_not_come_back_in_time_is_unavailable_and_the_run_is_found_later() -> None:
    bench = await EngineHarness(wrap=DoubtfulPort).open()
    assert await bench.catalog.register(GATES) == []
    bench.log.doubt("create", away=len(DELAYS_MS))
    with pytest.raises(StoreUnavailable, match="away"):
        await in_time(bench, bench.service.create_run(CALLER, {"workflowId": GATES["id"]}, "key"))
    bench.clock.advance(5_000)
    await until(lambda: bench.gate_node.waiting)
    assert bench.log.calls.count("create") == 1


@fails_without(executor, "confirm_created", None, errors=(TypeError,))
async def test_a_fork_that_was_created_is_reported_and_executed() -> None:
    bench, key = await EngineHarness(wrap=DoubtfulPort).with_ended_run(workflow([node("a"), node("b")]))
    bench.log.doubt("create_fork")
    made = await fork(bench, key, 2)
    await bench.run_to_end(made)
    assert await bench.status(made) == "completed"
    assert bench.log.calls.count("create_fork") == 1


@NOT_READ_BACK
async def test_a_request_whose_events_are_stored_succeeds() -> None:
    bench, key = await EngineHarness(wrap=DoubtfulPort).with_gated_run(GATES)
    bench.log.doubt("append")
    assert (await in_time(bench, bench.control.cancel_run(CALLER, key.run_id, {}, "key"))).status == "cancelling"
    assert bench.log.calls[:3] == ["find_record", "append", "read"]
    await bench.run_to_end(key)
    again = await bench.control.cancel_run(CALLER, key.run_id, {}, "key")
    assert again.replayed
    types = await bench.event_types(key)
    assert (types.count("weftwork.run.cancel-requested"), types.count("run.cancelled")) == (1, 1)


async def test_a_request_whose_events_are_not_stored_is_refused() -> None:
    bench, key = await EngineHarness(wrap=DoubtfulPort).with_gated_run(GATES)
    bench.log.doubt("append", done=False)
    with pytest.raises(StoreUnavailable):
        await bench.control.pause_run(CALLER, key.run_id, {}, "key")
    bench.clock.advance(2_000)
    await run_ready_tasks()
    assert await bench.status(key) == "running"
    assert [call.node_id for call in bench.gate_node.calls] == ["g"]


@each_case("number, done, away", *product(range(4), (True, False), (0, 3)))
def test_no_effect_is_repeated_whichever_append_is_in_doubt(number: int, done: bool, away: int) -> None:
    """The claim of the effect, its outcome, or the events around it."""

    async def check() -> None:
        node_type, called = counted_gate()
        bench = await EngineHarness(node_type, wrap=DoubtfulPort).open()
        document = workflow([node("g", "test.gate"), node("a", "test.counted")], [edge("g", "a")])
        key = await bench.start(document)
        await until(lambda: bench.gate_node.waiting)
        log = bench.log
        left = number

        async def append(*arguments: Any) -> Any:
            nonlocal left
            left -= 1
            if left == -1:
                log.doubt("append", done, away)
            return await log.__getattr__("append")(*arguments)

        log.append = append
        bench.gate_node.release("g")
        for _ in range(20):
            await run_ready_tasks()
            bench.clock.advance(500)
        assert await bench.status(key) == "completed"
        assert called == ["a"]
        assert (await bench.event_types(key)).count("node.completed") == 2

    asyncio.run(check())


async def test_a_batch_without_events_is_written_again() -> None:
    bench, key = await EngineHarness(wrap=DoubtfulPort).with_gated_run(GATES)
    stored = await bench.stored_run(key)
    assert not await read_back.is_appended(
        bench.log, bench.clock, key, live_run.Batch((), stored.projection, (), (), None)
    )


async def written(port: str, name: str, done: bool) -> Any:
    """The result of the request that calls this method of a port."""
    bench = await EngineHarness().open()
    store: Any = bench.store
    doubtful = DoubtfulPort(getattr(store, port))
    key = await bench.execute(workflow([node("a")]))
    if port == "annotations":
        setattr(store, port, doubtful)
        facade = Annotations(bench.runtime, bench.catalog, bench.executor, doubtful)  # type: ignore[arg-type]
        doubtful.doubt(name, done)
        return await facade.create(CALLER, key.run_id, {"signal": {"kind": "flag"}}, "k")
    if port == "definitions":
        bench.catalog._definitions = doubtful  # type: ignore[attr-defined]
        doubtful.doubt(name, done)
        return await bench.workflows.register(CALLER, workflow([node("a")], id="fresh"), "k")
    if port == "keys":
        ring = Keyring(doubtful, bench.clock, bench.ids, SCOPES)  # type: ignore[arg-type]
        doubtful.doubt(name, done)
        made, _ = await ring.create("acme")
        return ring.authenticate(made)
    if port == "signing":
        bench.signer._keys = doubtful  # type: ignore[attr-defined]
        doubtful.doubt(name, done)
        return await bench.signer.rotate()
    if port == "retention":
        retention = Retention(doubtful, store.log, store.records, bench.clock)  # type: ignore[arg-type]
        doubtful.doubt(name, done)
        return await retention.delete_run(CALLER, key.run_id, "k") is False
    doubtful.doubt(name, done)
    return await read_back.save_record(doubtful, bench.clock, record()) is None  # type: ignore[arg-type]


@each_case(
    "port, name",
    ("annotations", "add"),
    ("definitions", "register"),
    ("keys", "put"),
    ("signing", "put"),
    ("retention", "delete"),
    ("records", "save_record"),
)
def test_a_write_succeeds_exactly_if_the_store_has_it(port: str, name: str) -> None:
    assert asyncio.run(written(port, name, True))
    with pytest.raises(OutcomeUnknown):
        asyncio.run(written(port, name, False))


async def test_a_slot_that_another_request_took_is_told() -> None:
    bench = EngineHarness()
    await bench.open()
    await bench.store.records.save_record(record(outcome=b"other"))
    doubtful = DoubtfulPort(bench.store.records)
    doubtful.doubt("save_record", done=False)
    taken = await read_back.save_record(doubtful, bench.clock, record())  # type: ignore[arg-type]
    assert taken is not None
    assert taken.record.outcome == b"other"
