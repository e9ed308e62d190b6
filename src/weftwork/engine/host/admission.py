"""Limits how many child runs and how many recovered runs execute concurrently. The others are stored and wait.

Theory. A child run has no caller whose request could be refused, and a few definitions that start each other can create
very many children. Therefore each tenant has a number of slots for its children, and the children of one tenant do not
delay those of another. A child with large inputs uses several slots. A parent uses none while it waits for its
children.

A host that starts finds runs that its predecessor left. They wait here for room (`enter`), because there may be more of
them than `max_live_runs`. They take at most a share of it, so that new runs are accepted meanwhile.

Child runs also count as live runs, of which the host has a limited number (`FairLimit`). The next free slot goes to the
tenant with waiting runs that is furthest below its share.
"""

import asyncio
import logging
import sys
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import msgspec

from weftwork.ports.clock import Clock
from weftwork.ports.storage.event_log import STORE_RETRY_MS, StoreUnavailable
from weftwork.protocol.fair_share import FairLimit
from weftwork.protocol.run.header import RunKey

log = logging.getLogger("weftwork.run")

T = TypeVar("T")

MAX_CONCURRENT_STARTS: Final = 16
"""Waiting children that are started at the same time."""
SLOT_BYTES: Final = 65_536
"""Size of the inputs that one slot covers."""
NEW_RUNS_SHARE: Final = 5
"""Of what a tenant can use besides the reserved part, recovered runs leave one in so many live runs to new runs."""


QueuedRun = tuple[RunKey, int, str]
"""A run, the number of its slots, and the root of its tree."""


class _TenantSlots(msgspec.Struct):
    """The child runs of one tenant."""

    running: dict[RunKey, int] = {}
    waiting: deque[QueuedRun] = msgspec.field(default_factory=deque["QueuedRun"])
    on_hold: deque[QueuedRun] = msgspec.field(default_factory=deque["QueuedRun"])
    """Runs of trees that are being cancelled: most of them will never have to start."""
    used: int = 0
    recovered: "tuple[RunKey, asyncio.Future[None]] | None" = None
    """A recovered child that waits for a slot. It takes precedence, because it is older than the others."""


class Admission(msgspec.Struct, eq=False):
    """Queues child runs per tenant. `_wake` loads and executes a stored run."""

    _max_slots: int
    _clock: Clock
    _wake: Callable[[RunKey], Awaitable[object]]
    _live_slots: FairLimit = msgspec.field(default_factory=lambda: FairLimit(sys.maxsize))
    """The slots of all live runs of the host."""
    _tenants: dict[str, _TenantSlots] = {}
    """By partition; an entry exists while the partition has child runs here."""
    _tasks: dict[str, asyncio.Task[None]] = {}
    _cancelling_roots: set[str] = set()
    _recovered: set[RunKey] = set()
    """Recovered runs that are loading or live."""
    _loading: int = 0
    """How many of them are loading."""
    _room_waiters: deque[asyncio.Future[None]] = msgspec.field(default_factory=deque[asyncio.Future[None]])
    _closed: bool = False

    def admit(self, run: RunKey, input_bytes: int = 0, root: str = "") -> bool:
        """lim-16 (host): take slots for a run that becomes live now; False if it has to wait. Then it is queued, and
        executed when slots are free."""
        count = 1 + input_bytes // SLOT_BYTES
        slots = self._tenants.setdefault(run.partition, _TenantSlots())
        has_room = self._has_room(slots, count) and self._live_slots.has_room(run.partition)
        if root in self._cancelling_roots or slots.waiting or not has_room:
            slots.waiting.append((run, count, root))
            return False
        self._take_slots(slots, run, count)
        return True

    def hold_tree(self, root: str) -> None:
        """Start no more runs of this tree until `release_held`, because its runs are being cancelled."""
        self._cancelling_roots.add(root)

    def release_held(self) -> None:
        """The cancel requests are delivered: queue the remaining runs of the held trees again."""
        self._cancelling_roots.clear()
        for partition, slots in list(self._tenants.items()):
            slots.waiting.extend(slots.on_hold)
            slots.on_hold.clear()
            self._start_waiting(partition, slots)

    async def enter(self, run: RunKey, is_child: bool) -> None:
        """lim-07, lim-16 (host): wait until a recovered run may be loaded. A child waits for a slot of its tenant as
        well. For each partition, at most one child may wait here. `entered` has to follow."""
        if is_child:
            await self._wait_for_slot(run)
        try:
            # In the order of arrival, so that tenants take turns.
            if self._room_waiters:
                await self._wait_for_room(self._room_waiters.append)
            while not self._has_recovery_room():
                await self._wait_for_room(self._room_waiters.appendleft)
        except asyncio.CancelledError:
            self.free(run)
            raise
        self._recovered.add(run)
        self._loading += 1
        self.on_room()

    def entered(self, run: RunKey, is_live: bool) -> None:
        """The recovered run is loaded, or cannot be loaded."""
        self._loading -= 1
        if not is_live:
            self.free(run)

    def free(self, run: RunKey) -> None:
        """Free the slots of a run that has ended or parked."""
        if self._recovered:
            self._recovered.discard(run)
        if not self._tenants and not self._room_waiters:
            return
        slots = self._tenants.get(run.partition)
        if slots is not None and (taken := slots.running.pop(run, 0)):
            slots.used -= taken
            self._start_recovered(slots)
            self._start_waiting(run.partition, slots)
        self.on_room()

    def on_room(self) -> None:
        """A run is no longer live or being created: let the next recovered run check whether there is room, and start
        the waiting children of the tenant furthest below its share."""
        if self._room_waiters and self._has_recovery_room():
            waiter = self._room_waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
        if self._tenants and (waiting := self._tenants_with_room()):
            partition = self._live_slots.furthest_below_share(waiting)
            if self._live_slots.has_room(partition):
                self._start_waiting(partition, self._tenants[partition])

    def _tenants_with_room(self) -> list[str]:
        """The tenants whose next waiting run has to wait only for a live run to end."""
        tenants = self._tenants.items()
        return [each for each, slots in tenants if slots.waiting and self._has_room(slots, slots.waiting[0][1])]

    def _is_next(self, partition: str) -> bool:
        """lim-21 (host): whether the next live run may be one of this tenant."""
        live = self._live_slots
        if live.total < live.unreserved:
            return True
        return live.has_room(partition) and live.furthest_below_share(self._tenants_with_room()) == partition

    async def _wait_for_room(self, queue: Callable[[asyncio.Future[None]], None]) -> None:
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queue(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter in self._room_waiters:
                self._room_waiters.remove(waiter)
            else:
                self.on_room()
            raise

    async def _wait_for_slot(self, run: RunKey) -> None:
        slots = self._tenants.setdefault(run.partition, _TenantSlots())
        if run in slots.running:
            # Recovered before an outage of the store, after which the recovery starts again.
            return
        if self._has_room(slots, 1):
            self._take_slots(slots, run, 1)
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        slots.recovered = (run, waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            slots.recovered = None
            self.free(run)
            raise

    def _start_recovered(self, slots: _TenantSlots) -> None:
        if slots.recovered is not None and self._has_room(slots, 1):
            run, waiter = slots.recovered
            slots.recovered = None
            self._take_slots(slots, run, 1)
            if not waiter.done():
                waiter.set_result(None)

    def _has_recovery_room(self) -> bool:
        live = self._live_slots
        most = max(1, live.unreserved - live.unreserved // NEW_RUNS_SHARE)
        return live.total + self._loading < live.limit and len(self._recovered) < most

    def _start_waiting(self, partition: str, slots: _TenantSlots) -> None:
        if slots.waiting and partition not in self._tasks and not self._closed:
            self._tasks[partition] = asyncio.create_task(self._admit_waiting(partition, slots))
        elif not slots.running and not slots.waiting and not slots.on_hold:
            self._tenants.pop(partition, None)

    def close(self) -> None:
        self._closed = True
        for task in self._tasks.values():
            task.cancel()

    def _has_room(self, slots: _TenantSlots, count: int) -> bool:
        # A run that needs more slots than there are runs alone.
        return not slots.running or slots.used + count <= self._max_slots

    def _take_slots(self, slots: _TenantSlots, run: RunKey, count: int) -> None:
        slots.running[run] = count
        slots.used += count

    async def _admit_waiting(self, partition: str, slots: _TenantSlots) -> None:
        try:
            while slots.waiting and not self._closed:
                batch: list[QueuedRun] = []
                while (
                    slots.waiting
                    and len(batch) < MAX_CONCURRENT_STARTS
                    and self._has_room(slots, slots.waiting[0][1])
                    and self._is_next(partition)
                ):
                    run, count, root = entry = slots.waiting.popleft()
                    if root in self._cancelling_roots:
                        slots.on_hold.append(entry)
                        continue
                    batch.append(entry)
                    self._take_slots(slots, run, count)
                    # Until it is loaded and holds a slot itself.
                    self._live_slots.force(partition)
                if not batch:
                    break
                if not all(await asyncio.gather(*(self._start(slots, run, count, root) for run, count, root in batch))):
                    await self._clock.sleep(STORE_RETRY_MS)
        finally:
            del self._tasks[partition]
            self.on_room()

    async def _start(self, slots: _TenantSlots, run: RunKey, count: int, root: str) -> bool:
        """Execute a waiting run; False if the store is unavailable, and then the run is queued again."""
        try:
            woken = await self._wake(run) is not None
        except StoreUnavailable:
            slots.used -= slots.running.pop(run, 0)
            slots.waiting.appendleft((run, count, root))
            return False
        except Exception:
            woken = False
            log.exception("run skipped: its event log cannot be replayed", extra=run.log_fields)
        finally:
            self._live_slots.free(run.partition)
        if not woken:
            # The run was cancelled while it waited, or this host cannot execute it.
            slots.used -= slots.running.pop(run, 0)
        return True


class LiveRuns(dict[RunKey, T]):
    """Live runs by key. Each of them holds a unit of `slots` until it is removed."""

    def __init__(self, slots: FairLimit) -> None:
        super().__init__()
        self._slots = slots

    def add_created(self, run: RunKey, value: T) -> None:
        """Add a run that has held a unit since its creation began."""
        super().__setitem__(run, value)

    def __setitem__(self, run: RunKey, value: T) -> None:
        """Add a run that cannot be refused, because it was accepted earlier."""
        if run not in self:
            self._slots.force(run.partition)
        super().__setitem__(run, value)

    def __delitem__(self, run: RunKey) -> None:
        super().__delitem__(run)
        self._slots.free(run.partition)

    def discard(self, run: RunKey) -> None:
        """Remove a run if it is there."""
        if run in self:
            del self[run]
