"""Resumes the runs that an earlier process left unfinished, in the background and with bounded memory.

Theory. The newest run at the start is the bound of the scan, so that the scan ends although runs are created meanwhile.
The scan reads the keys of unfinished runs in pages and never waits for a run. It puts each run into the lane of its
tenant; child runs have a lane of their own. A lane resumes its runs in the order of creation, as room permits
(`Admission.enter`), so that no tenant waits for another. A lane that is full takes no more runs from the scan and later
reads its own pages instead. Requests do not wait for any of this: they load the run that they need.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final, Literal

import msgspec

from weftwork.engine.fence import ExecutorFence
from weftwork.engine.host.admission import Admission
from weftwork.ports.clock import Clock
from weftwork.ports.storage.event_log import STORE_RETRY_MS, StoreUnavailable
from weftwork.ports.storage.ownership import RunOwnership, UntakenRun
from weftwork.protocol.run.header import RunKey

log = logging.getLogger("weftwork.run")

PAGE_RUNS: Final = 256
"""Keys that the scan reads at a time."""
LANE_RUNS: Final = 64
"""Keys in a lane, and keys that a lane reads at a time."""
MAX_LANES: Final = 1_000
"""Lanes at the same time. If there are more tenants, the scan waits until a lane has ended."""
CONCURRENT_LOADS: Final = 16
"""Runs that are loaded concurrently. Requests share the event loop and the store with them."""

Lane = deque[RunKey]
LaneKey = tuple[str, bool]
"""A partition, and whether the lane is for child runs."""


Outcome = Literal["live", "ended", "skipped"]
"""What became of a run: it is executing, it had ended in the meantime, or this host cannot load it."""


class RecoveryProgress(msgspec.Struct, frozen=True):
    """How far the recovery is. `total` is the number of unfinished runs at the start; None until they are counted."""

    total: int | None = None
    resumed: int = 0
    """Runs that are executed again, or have ended in the meantime."""
    skipped: int = 0
    """Runs that cannot be loaded; the log names them."""
    done: bool = False


class Recovery(msgspec.Struct, eq=False):
    """`_resume` loads and executes a run. It raises only StoreUnavailable."""

    _ownership: RunOwnership
    _fence: ExecutorFence
    _admission: Admission
    _clock: Clock
    _resume: Callable[[RunKey], Coroutine[Any, Any, Outcome]]
    progress: RecoveryProgress = RecoveryProgress()
    _until: RunKey | None = None
    _lanes: dict[LaneKey, Lane] = {}
    _full: set[LaneKey] = set()
    """Lanes that read their own pages."""
    _lane_ended: asyncio.Event = msgspec.field(default_factory=asyncio.Event)
    _loads: asyncio.Semaphore = msgspec.field(default_factory=lambda: asyncio.Semaphore(CONCURRENT_LOADS))
    _task: asyncio.Task[RecoveryProgress] | None = None

    def start(self) -> "asyncio.Task[RecoveryProgress]":
        """Resume all runs in the background, also over outages of the store. The task ends when that is done."""
        if self._task is None:
            self._task = asyncio.create_task(self._run_until_done())
        return self._task

    @property
    def is_done(self) -> bool:
        """Whether the task of `start` has ended."""
        return self._task is not None and self._task.done()

    async def repeat(self) -> None:
        """Start again in the background if the recovery is done and there are untaken runs. Raises StoreUnavailable."""
        if self.is_done and await self._ownership.untaken(self._fence.epoch, None, 1):
            self._task = self._until = None
            self.start()

    def close(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def run(self) -> RecoveryProgress:
        """Resume all runs that were unfinished at the first call. Raises StoreUnavailable, and can then be repeated:
        runs that are live by then are left as they are."""
        self._until = self._until or await self._ownership.newest_run()
        epoch = self._fence.epoch
        total = await self._ownership.count_untaken(epoch, self._until) if self._until is not None else 0
        self.progress = RecoveryProgress(total)
        if self._until is not None and total:
            log.info("resuming unfinished runs", extra={"count": total})
            await self._resume_all(self._until)
            skipped = self.progress.skipped or None
            log.info("unfinished runs resumed", extra={"count": self.progress.resumed, "skipped": skipped})
        self.progress = msgspec.structs.replace(self.progress, done=True)
        return self.progress

    async def _run_until_done(self) -> RecoveryProgress:
        while True:
            try:
                return await self.run()
            except StoreUnavailable as error:
                log.warning("store unavailable, resuming of runs postponed", extra={"reason": str(error)})
                await self._clock.sleep(STORE_RETRY_MS)
            except Exception:
                log.exception("unfinished runs not resumed: bug in the host; the next start resumes the others")
                return self.progress

    async def _resume_all(self, until: RunKey) -> None:
        self._lanes.clear()
        self._full.clear()
        try:
            async with asyncio.TaskGroup() as tasks:
                await self._scan(until, tasks)
        except BaseExceptionGroup as failed:
            raise failed.exceptions[0] from None

    async def _scan(self, until: RunKey, tasks: asyncio.TaskGroup) -> None:
        after: RunKey | None = None
        while page := await self._ownership.untaken(self._fence.epoch, after, PAGE_RUNS, until):
            for found in page:
                while len(self._lanes) >= MAX_LANES and _lane_of(found) not in self._lanes:
                    self._lane_ended.clear()
                    await self._lane_ended.wait()
                self._put(found, until, tasks)
            after = page[-1].key

    def _put(self, found: UntakenRun, until: RunKey, tasks: asyncio.TaskGroup) -> None:
        key = _lane_of(found)
        if key in self._full:
            return
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes[key] = deque()
            tasks.create_task(self._empty_lane(key, lane, until, tasks))
        if len(lane) < LANE_RUNS:
            lane.append(found.key)
        else:
            self._full.add(key)

    async def _empty_lane(self, key: LaneKey, lane: Lane, until: RunKey, tasks: asyncio.TaskGroup) -> None:
        """Resume the runs of a lane in order. Waiting for room delays only this lane."""
        partition, is_child = key
        last: RunKey | None = None
        while True:
            while lane:
                last = lane.popleft()
                await self._admission.enter(last, is_child)
                try:
                    await self._loads.acquire()
                except asyncio.CancelledError:
                    self._admission.entered(last, is_live=False)
                    raise
                load = tasks.create_task(self._resume(last))
                load.add_done_callback(partial(self._on_loaded, last))
            if key not in self._full:
                break
            page = await self._ownership.untaken(self._fence.epoch, last, LANE_RUNS, until, partition)
            if not page:
                break
            lane.extend(found.key for found in page if found.is_child is is_child)
            last = page[-1].key
        del self._lanes[key]
        self._lane_ended.set()

    def _on_loaded(self, run: RunKey, load: "asyncio.Task[Outcome]") -> None:
        # A callback, because a task that is cancelled before it starts runs no code of its own.
        outcome = load.result() if not load.cancelled() and load.exception() is None else None
        self._loads.release()
        self._admission.entered(run, outcome == "live")
        now = self.progress
        if outcome == "skipped":
            self.progress = msgspec.structs.replace(now, skipped=now.skipped + 1)
        elif outcome is not None:
            self.progress = msgspec.structs.replace(now, resumed=now.resumed + 1)


def _lane_of(found: UntakenRun) -> LaneKey:
    return found.key.partition, found.is_child
