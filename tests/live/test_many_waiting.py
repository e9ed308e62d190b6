"""Thousands of runs that wait for people or a time, or are paused, are in the store and nowhere else, before a restart
and after it."""

import asyncio
import contextlib
import gc
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.harness.definitions import FULL, edge, node
from tests.live import KEY, InProcessHost
from tests.live.listening_host import until
from tests.live.steering import flow, interrupt_node
from tests.live.tokens import approval_workflow
from weftwork.adapters.sqlite.interrupts import list_interrupts
from weftwork.adapters.sqlite.ownership import SqliteOwnership
from weftwork.adapters.system.clock_and_ids import SystemClock
from weftwork.app import Host
from weftwork.engine.host import run_loader
from weftwork.engine.run.live_run import LiveRun
from weftwork.ports.clock import Clock
from weftwork.ports.storage.ownership import UntakenRun
from weftwork.ports.storage.run_queries import InterruptQuery
from weftwork.protocol.fold import facts
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.ids import partition
from weftwork.protocol.run.header import RunKey
from weftwork.settings import Settings

pytestmark = pytest.mark.slow

MANY = 10_000 if FULL else 500
MANY_TIMED = 2_000 if FULL else 200
CACHED = 64
"""How many parked runs these hosts cache."""
FEW = 2 * CACHED
"""After so many the host remembers as much of runs as it ever does."""
AT_ONCE = 50
DAY = 86_400_000
PATIENCE_SECONDS = 60.0
OTHER_OBJECTS = 400
"""What a busy host may keep in all, such as the reports of the watchdog and the log lines about them."""
WINDOW = 0.3
"""Seconds in which nothing happens."""
FLOWS = [
    flow("many-ask", [interrupt_node("gate")]),
    approval_workflow("many-due", timeoutMs=30 * DAY, remindAfterMs=[10 * DAY, 20 * DAY]),
]
LONG_RETRY = {"maxRetries": 1, "retryDelayMs": DAY, "retryMaxDelayMs": DAY}
FAR_AWAY = "2999-01-01T00:00:00Z"
TIMED = [
    flow("many-delay", [node("wait", "core.delay", config={"delayMs": DAY}), node("end")], [edge("wait", "end")]),
    flow("many-until", [node("wait", "core.wait", config={"until": FAR_AWAY})]),
    flow("many-retry", [node("wait", "core.fail", settings=LONG_RETRY)]),
    flow("many-paused", [node("wait", "core.delay", config={"delayMs": DAY})]),
    flow("many-parent", [node("wait", "core.subWorkflow", config={"workflowId": "many-delay"})]),
]
"""Every kind of wait for a time, and one whose runs are paused at once."""


@pytest.fixture(autouse=True)
def small_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache that a few runs fill, so that it does not grow while the others are counted."""
    monkeypatch.setattr(run_loader, "MAX_PARKED", CACHED)


class Watched(InProcessHost):
    """A host of which it is known how often it asks its store for something."""

    def __init__(self, host: Host) -> None:
        super().__init__(host)
        self.executor = host._executor
        self.asked: Counter[str] = Counter()

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        store: Any = self.host._store
        ports = [store.log, store.queries, store.child_runs, store.records, store.retention]
        real = [
            (port, name, each) for port in ports for name, each in vars(port).items() if name in ("_read", "_write")
        ]

        def counted(name: str, each: Any) -> Any:
            def submit(*arguments: Any, **named: Any) -> Any:
                self.asked[name] += 1
                return each(*arguments, **named)

            return submit

        for port, name, each in real:
            setattr(port, name, counted(name, each))
        try:
            yield
        finally:
            for port, name, each in real:
                setattr(port, name, each)

    async def create(self, count: int, flows: list[dict[str, Any]] = FLOWS) -> list[str]:
        """So many runs of all kinds, which all wait."""
        found: list[str] = []
        for start in range(0, count, AT_ONCE):
            some = range(start, min(start + AT_ONCE, count))
            found += await asyncio.gather(*(self.create_one(flows[at % len(flows)]["id"]) for at in some))
        await self.until_all_left()
        return found

    async def until_all_left(self) -> None:
        """Wait until no run is in memory, or until patience ends. A turn of a run that took long is followed by one
        more, in which there is nothing to do."""
        with contextlib.suppress(AssertionError):
            await until(lambda: not self.executor.live_count, "runs to leave", PATIENCE_SECONDS)

    async def create_one(self, workflow_id: str) -> str:
        run_id = (await self.call("POST", "/v1/runs", {"workflowId": workflow_id})).document["runId"]
        if workflow_id == "many-paused":
            paused = await self.call("POST", f"/v1/runs/{run_id}:pause", {"drainPolicy": "immediate"})
            assert paused.status == 202
        return run_id

    async def types(self, run_id: str) -> list[str]:
        answer = await self.call("GET", f"/v1/runs/{run_id}/events", headers={"accept": "application/json"})
        return [event["type"] for event in answer.document["events"]]

    async def snapshot(self, run_id: str) -> dict[str, Any]:
        return (await self.call("GET", f"/v1/runs/{run_id}")).document

    async def inbox(self) -> list[dict[str, Any]]:
        """All that it shows, page by page."""
        found: list[dict[str, Any]] = []
        query = "?limit=200"
        while query:
            page = (await self.call("GET", f"/v1/host/weftwork/interrupts{query}")).document
            found += page["interrupts"]
            query = f"?limit=200&cursor={page['nextCursor']}" if "nextCursor" in page else ""
        return found


@contextlib.asynccontextmanager
async def opened(data: Path, clock: Clock | None = None) -> AsyncIterator[tuple[Watched, int]]:
    """A host on this folder, and how many runs it went on with."""
    host = Host(Settings(data=str(data)), clock)
    await host.open()
    went_on = (await host.resume_runs()).resumed
    try:
        host.keyring.accept_for_process(KEY, "acme", None)
        for document in (*FLOWS, *TIMED):
            await host.register_fixture(document)
        yield Watched(host), went_on
    finally:
        await host.close()


def _runs() -> Counter[type]:
    return Counter(type(each) for each in gc.get_objects() if isinstance(each, LiveRun | RunState))


def _timers() -> int:
    loop: Any = asyncio.get_running_loop()
    return sum(not each.cancelled() for each in loop._scheduled)


class Footprint:
    """What a process holds, before many runs wait."""

    def __init__(self) -> None:
        self.objects, self.tasks, _ = self._look()
        # Other tests of this process may have left some.
        self.runs = _runs()

    def _look(self) -> tuple[int, int, int]:
        gc.collect()
        return len(gc.get_objects()), len(asyncio.all_tasks()), _timers()

    async def check(self, host: Watched, count: int) -> None:
        """Nothing in memory is one of these runs, or waits for one of them, or asks the store about it."""
        # What the last turn of the event loop holds is gone with the next.
        await asyncio.sleep(0.01)
        await host.until_all_left()
        assert host.executor.live_count == 0, f"{host.executor.live_count} runs are in memory"
        assert not host.executor._pending_requests
        # A task that is about to end, and its timer, may need a few more turns on a busy machine.
        with contextlib.suppress(AssertionError):
            await until(lambda: len(asyncio.all_tasks()) - self.tasks <= 3, "tasks to end", PATIENCE_SECONDS)
            await until(lambda: _timers() <= 3, "timers to end", PATIENCE_SECONDS)
        objects, tasks, timers = self._look()
        kept = _runs() - self.runs
        assert not kept[LiveRun], f"{kept[LiveRun]} runs are in memory, though nobody executes them"
        cached = CACHED + run_loader.MAX_PARKED_PARENTS
        assert kept[RunState] <= cached, f"{kept[RunState]} states are in memory"
        # The alarm sleeps until one time for all of them: a task, with two others that it waits for.
        assert tasks - self.tasks <= 3, f"{tasks - self.tasks} more tasks wait"
        # Its timer, that of the loop watchdog, and that of the sweeper, which may not have begun to sleep when the
        # process was looked at first.
        assert timers <= 3, f"{timers} timers wait"
        more = objects - self.objects
        assert more < count + OTHER_OBJECTS, f"{more / count:.1f} objects for each run"
        with host.watching():
            await asyncio.sleep(WINDOW)
        assert not host.asked, f"somebody asks the store: {host.asked}"


def waiting(data: Path, count: int) -> None:
    """So many runs come to wait; the host ends, and the next one finds them."""

    async def first() -> list[str]:
        async with opened(data) as (host, _):
            # The first ones load and cache what the others need, too.
            runs = await host.create(FEW)
            before = Footprint()
            runs += await host.create(count - FEW)
            await before.check(host, count - FEW)
            return runs

    async def second(runs: list[str]) -> None:
        async with opened(data) as (host, went_on):
            assert went_on == 0, f"{went_on} runs were loaded at start"
            await host.inbox()
            before = Footprint()
            shown = await host.inbox()
            assert sorted(row["runId"] for row in shown) == sorted(runs), "the inbox has others"
            assert [row["requestedAt"] for row in shown] == sorted(row["requestedAt"] for row in shown)
            by_run = {row["runId"]: row["token"] for row in shown}
            assert len(by_run) == count
            answer = await host.call("POST", f"/v1/interrupts/{by_run[runs[0]]}", {"resumeValue": 1})
            assert answer.status == 200
            assert (await host.call("POST", f"/v1/runs/{runs[1]}/cancel")).status == 200
            del shown, by_run
            refused = await host.call("POST", f"/v1/runs/{runs[3]}/interrupts/gate", {"resumeValue": {"action": "?"}})
            assert refused.status == 400, "one that was woken for nothing"
            await before.check(host, count)
            assert len(await host.inbox()) == count - 2
            ended = [(await host.snapshot(run_id))["status"] for run_id in runs[:2]]
            assert ended == ["completed", "cancelled"]

    asyncio.run(second(asyncio.run(first())))


class LaterClock(SystemClock):
    """The system's clock, some time later."""

    ahead = DAY + 60_000

    def now(self) -> int:
        return super().now() + self.ahead


def timed(data: Path, count: int) -> None:
    """So many runs come to wait for a time; the host ends, the next one finds them, and the one after a day wakes those
    whose time has come."""

    async def first() -> list[str]:
        async with opened(data) as (host, _):
            runs = await host.create(FEW, TIMED)
            before = Footprint()
            runs += await host.create(count - FEW, TIMED)
            # A parent and its child are two runs.
            await before.check(host, 2 * (count - FEW))
            return runs

    async def second(runs: list[str]) -> None:
        async with opened(data) as (host, went_on):
            assert went_on == 0, f"{went_on} runs were loaded at start"
            before = Footprint()
            shown = [(await host.snapshot(run_id))["status"] for run_id in runs[: len(TIMED)]]
            assert shown == ["running", "running", "running", "paused", "running"]
            for run_id in runs[:4]:
                cancelled = await host.call("POST", f"/v1/runs/{run_id}/cancel")
                assert cancelled.document["status"] in ("cancelling", "cancelled")
            assert (await host.call("POST", f"/v1/runs/{runs[8]}:resume")).status == 202
            assert (await host.call("POST", f"/v1/runs/{runs[5]}:pause", {"drainPolicy": "immediate"})).status == 202
            await before.check(host, count)
            for run_id, last in zip(runs[:4], ["node.cancelled"] * 3 + ["run.paused"], strict=True):
                assert (await host.types(run_id))[-2:] == [last, "run.cancelled"]
            assert (await host.types(runs[8]))[-3:] == ["run.paused", "run.resumed", "node.started"]
            assert (await host.snapshot(runs[5]))["status"] == "paused"

    async def third(runs: list[str]) -> None:
        async with opened(data, LaterClock()) as (host, went_on):
            assert went_on == 0, f"{went_on} runs were loaded at start"
            query = "/v1/runs?status=completed,failed&limit=200"
            # A parent counts twice, with its child. One delay was paused, and one paused run resumed.
            kinds = [len(range(start, len(runs), len(TIMED))) for start in range(len(TIMED))]
            expected = (kinds[0] - 2) + (kinds[2] - 1) + 2 * kinds[4]

            async def ended() -> int:
                found, cursor = 0, ""
                while True:
                    page = (await host.call("GET", f"{query}{cursor}")).document
                    found += len(page["runs"])
                    if "nextCursor" not in page:
                        return found
                    cursor = f"&cursor={page['nextCursor']}"

            for _ in range(600):
                if await ended() == expected and not host.executor.live_count:
                    break
                await asyncio.sleep(0.1)
            assert await ended() == expected, "not all whose time had come have ended"
            started = ["run.started", "node.started"]
            assert await host.types(runs[10]) == [*started, "node.completed", "node.started", *ENDED]
            assert await host.types(runs[12]) == [*started, "node.retried", "node.started", "node.failed", "run.failed"]
            assert await host.types(runs[11]) == started
            assert (await host.snapshot(runs[5]))["status"] == "paused"

    runs = asyncio.run(first())
    asyncio.run(second(runs))
    asyncio.run(third(runs))


ENDED = ["node.completed", "run.completed"]


@pytest.mark.rule("park-01", "park-02", "park-03")
def test_many_that_wait_for_a_time_are_in_nobodys_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A cache that the first few runs fill, so that it does not grow while the others are counted.
    monkeypatch.setattr(run_loader, "MAX_PARKED_PARENTS", FEW // len(TIMED))
    timed(tmp_path / "data", MANY_TIMED)


def test_a_host_that_keeps_those_in_memory_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts, "LONG_WAIT_MS", 2 * 365 * 1000 * DAY)
    monkeypatch.setattr("tests.live.test_many_waiting.PATIENCE_SECONDS", 1.0)
    with pytest.raises(AssertionError, match="runs are in memory"):
        timed(tmp_path / "data", 150)


@pytest.mark.rule("park-01", "park-02")
def test_many_that_wait_are_in_nobodys_memory(tmp_path: Path) -> None:
    waiting(tmp_path / "data", MANY)


def test_a_host_that_keeps_them_in_memory_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LiveRun, "park_if_idle", lambda self: None)
    monkeypatch.setattr("tests.live.test_many_waiting.PATIENCE_SECONDS", 1.0)
    with pytest.raises(AssertionError, match="200 runs are in memory"):
        waiting(tmp_path / "data", 200)


def test_a_host_that_keeps_something_of_each_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[Any] = []
    halt = LiveRun._halt

    def keep(self: LiveRun, reason: Exception) -> None:
        kept.append([self.key, [reason]])
        halt(self, reason)

    monkeypatch.setattr(LiveRun, "_halt", keep)
    with pytest.raises(AssertionError, match="objects for each run"):
        waiting(tmp_path / "data", 600)


def test_a_host_that_loads_them_at_start_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def untaken(self: SqliteOwnership, fence: int, after: RunKey | None, *_: Any) -> list[UntakenRun]:
        mine = partition("acme", "live")
        page = await self._read(list_interrupts, mine, InterruptQuery(limit=50))
        return [UntakenRun(RunKey(mine, each.run_id), False) for each in page.interrupts] if after is None else []

    async def count(self: SqliteOwnership, fence: int, until: RunKey) -> int:
        return 50

    monkeypatch.setattr(SqliteOwnership, "untaken", untaken)
    monkeypatch.setattr(SqliteOwnership, "count_untaken", count)
    with pytest.raises(AssertionError, match="50 runs were loaded at start"):
        waiting(tmp_path / "data", 200)
