"""Child runs that wait for room: each has its turn, and no tenant takes that of another."""

import asyncio

import pytest

from tests.engine.run.test_waiting_runs import pass_time
from tests.harness.cases import fails_without
from tests.harness.child_workflows import child_keys, start_run
from tests.harness.definitions import node, workflow
from tests.harness.engine_harness import EngineHarness, run, settle
from weftwork.engine.host.admission import SLOT_BYTES, Admission
from weftwork.ports.node_outcome import Completed, NodeOutcome
from weftwork.ports.nodes import NodeCall, NodeContext, WaitingNode
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.protocol.fair_share import FairLimit
from weftwork.protocol.limits import Limits
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.workflow.node_types import NodeDeclaration
from weftwork.testing.deterministic import ManualClock

MANY = workflow(
    [node("m", "core.flow.map", config={"items": list(range(6)), "body": {"workflowId": "held"}, "concurrency": 6})],
    id="many",
)
HELD = workflow([node("h", "test.room")], id="held")


class HoldingNode:
    """The node type `test.room`: who is in it stays until the test lets one go."""

    def __init__(self) -> None:
        self.inside: list[asyncio.Future[NodeOutcome]] = []
        self.most = 0
        self.type = WaitingNode(NodeDeclaration("test.room", "Waits for the test.", instant=False), self._run)

    async def _run(self, call: NodeCall, context: NodeContext) -> NodeOutcome:
        gate: asyncio.Future[NodeOutcome] = asyncio.get_running_loop().create_future()
        self.inside.append(gate)
        self.most = max(self.most, len(self.inside))
        try:
            return await gate
        finally:
            self.inside.remove(gate)

    async def let_go(self) -> None:
        assert self.inside, "nobody works, and not all are done"
        self.inside[0].set_result(Completed({}))
        await settle()


async def _most_at_once() -> int:
    room = HoldingNode()
    bench, key = await start_run(MANY, HELD, bench=EngineHarness(room.type, limits=Limits(max_live_children=2)))
    for _ in range(6):
        await room.let_go()
    assert await bench.status(key) == "completed"
    assert len(await child_keys(bench, key)) == 6
    return room.most


@pytest.mark.rule("lim-16")
def test_so_many_children_are_executed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(_most_at_once) == 2
    monkeypatch.setattr(Admission, "admit", lambda *_: True)
    assert run(_most_at_once) == 6


async def test_one_that_is_cancelled_before_its_turn_takes_no_place() -> None:
    room = HoldingNode()
    free = {**MANY["nodes"][0]["config"], "items": [1]}
    bench, key = await start_run(MANY, HELD, bench=EngineHarness(room.type, limits=Limits(max_live_children=1)))
    assert await bench.cancel(key) == "cancelled"
    await settle()
    assert [await bench.status(each) for each in await child_keys(bench, key)] == ["cancelled"] * 6
    other = await bench.start(workflow([node("m", "core.flow.map", config=free)], id="one"))
    await settle()
    await room.let_go()
    assert await bench.status(other) == "completed"


async def test_a_host_that_starts_lets_in_what_it_has_room_for() -> None:
    room = HoldingNode()
    bench, key = await start_run(MANY, HELD, bench=EngineHarness(room.type))
    assert room.most == 6
    await bench.crash()
    room.most = 0
    after = bench.successor(limits=Limits(max_live_runs=1, max_live_children=1))
    recovering = after.executor.start_recovery()
    await settle()
    for _ in range(6):
        assert after.executor.live_count == 1
        await room.let_go()
    assert (await recovering).resumed == 6
    assert await after.status(key) == "completed"
    assert room.most == 1
    await after.close()


class RecordingWaker:
    """Wakes runs, in order, unless it is away."""

    def __init__(self) -> None:
        self.woken: list[str] = []
        self.away = 0

    async def wake(self, key: RunKey) -> object:
        if self.away:
            self.away -= 1
            raise StoreUnavailable("away")
        if key.run_id == "broken":
            raise ValueError("no log")
        self.woken.append(key.run_id)
        return key


async def test_tenants_do_not_wait_for_each_other() -> None:
    store = RecordingWaker()
    admission = Admission(1, ManualClock(), store.wake)
    assert admission.admit(RunKey("a", "first"))
    assert not admission.admit(RunKey("a", "a1"))
    assert admission.admit(RunKey("b", "b1"))
    assert not admission.admit(RunKey("b", "b2"))
    for key in (RunKey("b", "b1"), RunKey("a", "first"), RunKey("a", "a1"), RunKey("b", "b2")):
        admission.free(key)
        for _ in range(5):
            await asyncio.sleep(0)
    assert not admission._tenants
    assert store.woken == ["b2", "a1"]


async def test_a_large_child_takes_several_seats_and_one_that_is_larger_than_the_room_has_it_alone() -> None:
    admission = Admission(4, ManualClock(), RecordingWaker().wake)
    sizes = {"small": 10, "large": 2 * SLOT_BYTES, "another": 10}
    admitted = [admission.admit(RunKey("a", name), weight) for name, weight in sizes.items()]
    alone = Admission(4, ManualClock(), RecordingWaker().wake)
    admitted += [alone.admit(RunKey("a", "huge"), 99 * SLOT_BYTES), alone.admit(RunKey("a", "small"))]
    assert admitted == [True, True, False, True, False]


async def test_a_store_that_is_away_and_a_run_that_cannot_be_read_keep_nobody_from_their_turn() -> None:
    store, clock = RecordingWaker(), ManualClock()
    admission = Admission(1, clock, store.wake)
    assert admission.admit(RunKey("a", "first"))
    for name in ("broken", "a1"):
        admission.admit(RunKey("a", name))
    store.away = 1
    admission.free(RunKey("a", "first"))
    for _ in range(10):
        await asyncio.sleep(0)
    assert store.woken == []
    clock.advance(1000)
    for _ in range(10):
        await asyncio.sleep(0)
    admission.close()
    assert store.woken == ["a1"]


async def test_nothing_is_let_in_once_the_host_closes() -> None:
    room = HoldingNode()
    bench, key = await start_run(MANY, HELD, bench=EngineHarness(room.type, limits=Limits(max_live_children=1)))
    await bench.close()
    await pass_time(bench, 5000)
    assert len([each for each in await child_keys(bench, key) if await bench.status(each) == "pending"]) == 5


async def test_a_tree_that_is_being_cancelled_begins_nothing_until_that_is_done() -> None:
    store = RecordingWaker()
    admission = Admission(2, ManualClock(), store.wake)
    admission.hold_tree("doomed")
    assert not admission.admit(RunKey("a", "d1"), 0, "doomed")
    assert not admission.admit(RunKey("a", "d2"), 0, "doomed")
    assert not admission.admit(RunKey("a", "other"), 0, "sound")
    assert admission.admit(RunKey("b", "b1"), 0, "sound")
    admission.free(RunKey("b", "b1"))
    admission._start_waiting("a", admission._tenants["a"])
    for _ in range(5):
        await asyncio.sleep(0)
    assert store.woken == ["other"]
    admission.release_held()
    for _ in range(5):
        await asyncio.sleep(0)
    assert store.woken == ["other", "d1"]


async def test_a_child_that_is_cancelled_before_it_began_does_not_begin() -> None:
    room = HoldingNode()
    bench, key = await start_run(MANY, HELD, bench=EngineHarness(room.type, limits=Limits(max_live_children=1)))
    waiting = (await child_keys(bench, key))[-1]
    assert await bench.cancel(waiting) == "cancelled"
    assert await bench.event_types(waiting) == ["run.cancelled"]
    await bench.close()


async def _order_of_admission() -> list[str]:
    """Five waiting runs of one tenant and one of another, and slots that become free one by one."""
    store = RecordingWaker()
    slots = FairLimit(4, 0)
    admission = Admission(100, ManualClock(), store.wake, slots)
    slots.force("busy", 4)
    for name in ("b1", "b2", "b3"):
        assert not admission.admit(RunKey("busy", name))
    assert not admission.admit(RunKey("late", "l1"))
    for _ in range(4):
        slots.free("busy")
        admission.free(RunKey("busy", "root"))
        for _ in range(5):
            await asyncio.sleep(0)
        # The run that was woken is live now.
        slots.force("late" if store.woken[-1].startswith("l") else "busy")
    assert slots.total == 4
    return store.woken


@pytest.mark.rule("lim-21")
@fails_without(FairLimit, "furthest_below_share", lambda self, tenants: next(iter(tenants)))
async def test_the_next_live_run_is_one_of_the_tenant_furthest_below_its_share() -> None:
    assert await _order_of_admission() == ["l1", "b1", "b2", "b3"]


async def test_child_runs_wait_for_live_runs_of_other_tenants_to_end() -> None:
    slots = FairLimit(2)
    admission = Admission(100, ManualClock(), RecordingWaker().wake, slots)
    slots.force("other", 2)
    assert not admission.admit(RunKey("a", "first"))
    slots.free("other")
    assert not admission.admit(RunKey("a", "second")), "it would overtake the first"
    assert admission.admit(RunKey("b", "third"))


async def test_a_child_run_is_executed_when_the_only_live_run_is_its_parent() -> None:
    room = HoldingNode()
    bench, key = await start_run(MANY, HELD, bench=EngineHarness(room.type, limits=Limits(max_live_runs=1)))
    for _ in range(6):
        await room.let_go()
    assert await bench.status(key) == "completed"
    assert room.most == 1
