"""Runs that the last process left are resumed in the background: all of them, within the limits, in bounded memory."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from tests.engine.host.test_admission import HoldingNode
from tests.harness.cases import fails_without
from tests.harness.definitions import node, workflow
from tests.harness.engine_harness import CALLER, EngineHarness, fault_of, run_ready_tasks, settle
from weftwork.engine.fence import ExecutorFence
from weftwork.engine.host import admission as admission_module
from weftwork.engine.host import child_messages, recovery
from weftwork.engine.host.admission import Admission
from weftwork.engine.host.child_messages import ChildMessages
from weftwork.engine.host.recovery import LANE_RUNS, Outcome, Recovery, RecoveryProgress
from weftwork.ports.storage.child_runs import PendingChildResult
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.ports.storage.ownership import UntakenRun
from weftwork.protocol.fair_share import FairLimit
from weftwork.protocol.limits import Limits
from weftwork.protocol.run.batch import ChildResult
from weftwork.protocol.run.header import RunKey
from weftwork.testing.deterministic import ManualClock

LIFETIME = 30
"""Turns of the event loop until a run ends."""


class SimulatedHost:
    """A store with unfinished runs, and runs that end when a test says so, or by themselves after a while."""

    def __init__(self, *runs: UntakenRun, max_live: int = 20, max_children: int = 8) -> None:
        self.runs = list(runs)
        self.clock = ManualClock()
        self.resumed: list[UntakenRun] = []
        self.live: set[RunKey] = set()
        self.most = 0
        self.most_children: dict[str, int] = defaultdict(int)
        self.pages: list[int] = []
        self.ends = True
        self.grows = False
        self.outages = 0
        self.slots = FairLimit(max_live)
        self.admission = Admission(max_children, self.clock, self._never, self.slots)
        self.recovery = Recovery(self, ExecutorFence(), self.admission, self.clock, self._resume)  # type: ignore[arg-type]
        self._ended: set[RunKey] = set()

    async def _never(self, run: RunKey) -> object:
        raise AssertionError("no child run was created")

    async def newest_run(self) -> RunKey | None:
        return self.runs[-1].key if self.runs else None

    async def count_untaken(self, fence: int, until: RunKey) -> int:
        return sum(each.key not in self._ended for each in self.runs[: self._position(until) + 1])

    async def untaken(
        self, fence: int, after: RunKey | None, limit: int, until: RunKey, partition: str = ""
    ) -> list[UntakenRun]:
        later = self.runs[0 if after is None else self._position(after) + 1 : self._position(until) + 1]
        page = [each for each in later if each.key not in self._ended and partition in ("", each.key.partition)][:limit]
        self.pages.append(len(page))
        return page

    async def _resume(self, run: RunKey) -> Outcome:
        await asyncio.sleep(0)
        if self.outages:
            self.outages -= 1
            raise StoreUnavailable("away")
        if run in self._ended:
            return "ended"
        found = self.runs[self._position(run)]
        if run not in self.live:
            self.resumed.append(found)
            self.live.add(run)
            self.slots.force(run.partition)
            self.most = max(self.most, len(self.live))
            children = sum(each.partition == run.partition and self._is_child(each) for each in self.live)
            self.most_children[run.partition] = max(self.most_children[run.partition], children)
            if self.grows:
                self.runs.append(UntakenRun(RunKey(run.partition, f"new-{len(self.runs)}"), True))
            if self.ends:
                self._end_after(LIFETIME, run)
        return "live"

    def _end_after(self, turns: int, run: RunKey) -> None:
        if turns:
            asyncio.get_running_loop().call_soon(self._end_after, turns - 1, run)
        else:
            self.end(run)

    def end(self, run: RunKey) -> None:
        self.live.discard(run)
        self.slots.free(run.partition)
        self._ended.add(run)
        self.admission.free(run)

    def _is_child(self, run: RunKey) -> bool:
        return self.runs[self._position(run)].is_child

    def _position(self, run: RunKey) -> int:
        return next(at for at, each in enumerate(self.runs) if each.key == run)


def some(count: int, partition: str = "a", is_child: bool = False) -> list[UntakenRun]:
    return [UntakenRun(RunKey(partition, f"{partition}-{is_child}-{at}"), is_child) for at in range(count)]


def names(runs: Iterable[UntakenRun]) -> list[str]:
    return [each.key.run_id for each in runs]


@pytest.mark.rule("lim-07", "lim-16")
@fails_without(Admission, "_has_recovery_room", lambda self: True)
@fails_without(Admission, "_has_room", lambda self, slots, count: True)
async def test_many_runs_are_resumed_within_all_limits_and_in_the_order_of_their_tenant() -> None:
    runs = [*some(150), *some(300, "a", True), *some(90, "b", True), *some(5, "c")]
    host = SimulatedHost(*runs)
    async with asyncio.timeout(10):
        assert await host.recovery.run() == RecoveryProgress(len(runs), len(runs), 0, True)
    for partition, is_child in (("a", False), ("a", True), ("b", True), ("c", False)):
        mine = [each for each in runs if (each.key.partition, each.is_child) == (partition, is_child)]
        order = [each for each in host.resumed if (each.key.partition, each.is_child) == (partition, is_child)]
        assert names(order) == names(mine)
    assert host.most <= 16, "recovered runs left no room"
    assert max(host.most_children.values()) <= 8
    await settle()
    assert not host.admission._tenants
    assert not host.admission._recovered


@fails_without(recovery, "_lane_of", lambda found: ("", found.is_child))
async def test_a_tenant_with_many_runs_does_not_delay_another() -> None:
    host = SimulatedHost(*some(400), *some(5, "b"))
    await host.recovery.run()
    assert max(at for at, each in enumerate(host.resumed) if each.key.partition == "b") < 100


@fails_without(recovery, "LANE_RUNS", 10**9)
async def test_only_a_few_keys_are_in_memory_however_many_runs_wait() -> None:
    host = SimulatedHost(*some(1_000), max_live=1)
    host.ends = False
    task = host.recovery.start()
    await settle()
    assert sum(host.pages) >= 1_000, "the scan waits for the runs"
    assert sum(map(len, host.recovery._lanes.values())) <= LANE_RUNS
    assert host.recovery.progress == RecoveryProgress(1_000, 1)
    task.cancel()


@fails_without(recovery, "MAX_LANES", 10**9)
async def test_the_scan_waits_while_many_tenants_have_a_lane() -> None:
    with pytest.MonkeyPatch.context() as patch:
        if recovery.MAX_LANES < 10**9:
            patch.setattr(recovery, "MAX_LANES", 3)
        host = SimulatedHost(*(each for at in range(20) for each in some(1, f"t{at}")), max_live=1)
        host.ends = False
        recovering = host.recovery.start()
        await settle()
        assert len(host.recovery._lanes) <= 3
        host.ends = True
        for run in list(host.live):
            host.end(run)
        async with asyncio.timeout(10):
            assert (await recovering).resumed == 20


@fails_without(SimulatedHost, "newest_run", lambda self: _late(self))
async def test_the_scan_ends_although_runs_are_created_meanwhile() -> None:
    host = SimulatedHost(*some(300, "a", True))
    host.grows = True
    async with asyncio.timeout(10):
        assert (await host.recovery.run()).total == 300
    assert len(host.resumed) == 300


async def _late(host: SimulatedHost) -> RunKey:
    """A bound that is found too late."""
    host.runs += some(50, "late")
    return host.runs[-1].key


async def test_the_recovery_continues_after_an_outage_of_the_store() -> None:
    host = SimulatedHost(*some(40), *some(40, "b", True))
    recovering = host.recovery.start()
    for _ in range(2):
        host.outages = 1
        await run_ready_tasks()
        assert not recovering.done()
        assert not host.recovery.progress.done
        host.clock.advance(1000)
    async with asyncio.timeout(10):
        assert (await recovering).done
    await settle()
    assert sorted(names(host.resumed)) == sorted(names(host.runs))
    assert host.admission._loading == 0
    assert not host.admission._recovered


async def test_a_cancelled_recovery_holds_no_slot() -> None:
    host = SimulatedHost(*some(20, "a", True), *some(20), max_live=4, max_children=2)
    host.ends = False
    recovering = host.recovery.start()
    await settle()
    host.recovery.close()
    await asyncio.wait((recovering,))
    for run in list(host.live):
        host.end(run)
    assert not host.admission._tenants
    assert (host.admission._loading, len(host.admission._recovered)) == (0, 0)


HOLD = workflow([node("h", "test.room")], id="hold")


async def _unfinished(count: int, **limits: Any) -> tuple[EngineHarness, list[RunKey], HoldingNode]:
    """A host over a store with so many unfinished runs."""
    room = HoldingNode()
    bench = EngineHarness(room.type)
    runs = [await bench.start(HOLD) for _ in range(count)]
    await settle()
    await bench.crash()
    after = bench.successor(limits=Limits(**limits))
    assert await after.catalog.register(HOLD) == []
    return after, runs, room


@pytest.mark.rule("lim-07")
@fails_without(admission_module, "NEW_RUNS_SHARE", 10**9)
async def test_recovered_runs_leave_room_for_new_ones() -> None:
    host, _, room = await _unfinished(12, max_live_runs=10)
    host.executor.start_recovery()
    await settle()
    assert host.executor.recovery.progress == RecoveryProgress(12, 7)
    await host.service.create_run(CALLER, {"workflowId": "hold"})
    fault = await fault_of(host.service.create_run(CALLER, {"workflowId": "hold"}))
    assert fault.code == "service_unavailable"
    await settle()
    for _ in range(3):
        await room.let_go()
    assert host.executor.recovery.progress.resumed == 10, "a run that ends makes room for the next one"
    await host.close()


async def test_a_request_does_not_wait_for_the_recovery() -> None:
    host, runs, _ = await _unfinished(5, max_live_runs=1)
    recovering = host.executor.start_recovery()
    await settle()
    await host.cancel(runs[-1])
    await settle()
    assert await host.status(runs[-1]) == "cancelled"
    assert host.executor.recovery.progress.resumed == 1
    for run in runs[:-1]:
        await host.cancel(run)
        await settle()
    progress = await recovering
    assert (progress.resumed, progress.skipped) == (5, 0), "a run that has ended meanwhile is not skipped"


async def test_a_run_that_cannot_be_loaded_is_counted_and_takes_no_room() -> None:
    bench = EngineHarness(HoldingNode().type)
    for _ in range(3):
        await bench.start(HOLD)
    await settle()
    await bench.crash()
    after = bench.successor(types=(), limits=Limits(max_live_runs=1))
    async with asyncio.timeout(10):
        progress = await after.executor.start_recovery()
    assert progress == RecoveryProgress(3, 0, 3, True)
    assert not after.executor._admission._recovered


class ManyResults:
    """A store with results for many parents."""

    def __init__(self, count: int) -> None:
        self.results = [
            PendingChildResult(RunKey("a", f"parent-{at}"), ChildResult(f"child-{at}", "n", "0", 0, "completed"))
            for at in range(count)
        ]

    async def child_results(self, after: PendingChildResult | None, limit: int) -> list[PendingChildResult]:
        first = 0 if after is None else self.results.index(after) + 1
        return self.results[first : first + limit]

    async def acknowledge_results(self, results: tuple[PendingChildResult, ...]) -> None: ...

    async def cancel_requests(self, after: RunKey | None, limit: int) -> list[Any]:
        return []


async def _at_once(_: ChildMessages, parent: RunKey) -> None: ...


@fails_without(ChildMessages, "_wait_until_delivered", _at_once)
async def test_messages_are_recovered_page_by_page() -> None:
    queued: list[int] = []
    delivered: list[RunKey] = []

    async def send(parent: RunKey, _: Any) -> None:
        queued.append(len(messages._queued))
        await asyncio.sleep(0)
        delivered.append(parent)

    nothing: Callable[..., Any] = lambda *_: None  # noqa: E731
    admission = Admission(1, ManualClock(), send)  # type: ignore[arg-type]
    store: Any = ManyResults(5 * child_messages.BATCH_SIZE)
    messages = ChildMessages(store, ManualClock(), send, nothing, nothing, nothing, admission)
    await messages.recover()
    await run_ready_tasks()
    assert max(queued) <= child_messages.BATCH_SIZE
    await run_ready_tasks()
    assert sorted(delivered, key=str) == sorted((each.parent for each in store.results), key=str)
    messages.close()
