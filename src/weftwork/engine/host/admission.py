"""Admission: how many child runs are executed at once; the others are in the store and wait for their turn.

Theory. Nobody outside asked for a child, so nobody can be refused for it, and a few definitions that start each other
make very many. Each tenant has seats for its children, so that they keep nobody else waiting. A large one takes
several. Parents take none while they wait.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from weftwork.ports.clock import Clock
from weftwork.ports.storage.event_log import STORE_RETRY_MS, StoreUnavailable
from weftwork.protocol.run.header import RunKey

log = logging.getLogger("weftwork.run")

MAX_CONCURRENT_STARTS: Final = 16
"""Children that are let in at the same time."""
SLOT_BYTES: Final = 65_536
"""What a child in one seat may be given; a larger one takes more of them."""


QueuedRun = tuple[RunKey, int, str]
"""A run, the seats that it takes, and the run at the top of its tree."""


class _TenantSlots(msgspec.Struct):
    """Of one tenant."""

    running: dict[RunKey, int] = {}
    waiting: deque[QueuedRun] = msgspec.field(default_factory=deque["QueuedRun"])
    on_hold: deque[QueuedRun] = msgspec.field(default_factory=deque["QueuedRun"])
    """Those of trees that are being cancelled: most of them will not have to begin."""
    used: int = 0


class Admission:
    """`wake` executes a run that is stored."""

    def __init__(self, most: int, clock: Clock, wake: Callable[[RunKey], Awaitable[object]]) -> None:
        self._max_slots = most
        self._clock = clock
        self._wake = wake
        self._tenants: dict[str, _TenantSlots] = {}
        """By partition, while there is any."""
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._cancelling_roots: set[str] = set()
        self._closed = False

    def admit(self, run: RunKey, weight: int = 0, root: str = "") -> bool:
        """lim-16 (host): whether the run may be executed now; otherwise it is, when there is room."""
        wanted = 1 + weight // SLOT_BYTES
        seats = self._tenants.setdefault(run.partition, _TenantSlots())
        if root in self._cancelling_roots or seats.waiting or not self._has_room(seats, wanted):
            seats.waiting.append((run, wanted, root))
            return False
        self._take_slots(seats, run, wanted)
        return True

    def hold_tree(self, root: str) -> None:
        """Runs of this tree are being cancelled: that comes first."""
        self._cancelling_roots.add(root)

    def release_held(self) -> None:
        """That is done; what is left of those trees goes on."""
        self._cancelling_roots.clear()
        for partition, seats in list(self._tenants.items()):
            seats.waiting.extend(seats.on_hold)
            seats.on_hold.clear()
            self._start_waiting(partition, seats)

    def free(self, run: RunKey) -> None:
        """A run has ended, or rests."""
        seats = self._tenants.get(run.partition)
        if seats is None or not (taken := seats.running.pop(run, 0)):
            return
        seats.used -= taken
        self._start_waiting(run.partition, seats)

    def _start_waiting(self, partition: str, seats: _TenantSlots) -> None:
        if seats.waiting and partition not in self._tasks and not self._closed:
            self._tasks[partition] = asyncio.create_task(self._admit_waiting(partition, seats))
        elif not seats.running and not seats.waiting and not seats.on_hold:
            self._tenants.pop(partition, None)

    def close(self) -> None:
        self._closed = True
        for task in self._tasks.values():
            task.cancel()

    def _has_room(self, seats: _TenantSlots, wanted: int) -> bool:
        # One that is larger than the room has it for itself.
        return not seats.running or seats.used + wanted <= self._max_slots

    def _take_slots(self, seats: _TenantSlots, run: RunKey, wanted: int) -> None:
        seats.running[run] = wanted
        seats.used += wanted

    async def _admit_waiting(self, partition: str, seats: _TenantSlots) -> None:
        try:
            while seats.waiting and not self._closed:
                several: list[QueuedRun] = []
                while (
                    seats.waiting
                    and len(several) < MAX_CONCURRENT_STARTS
                    and self._has_room(seats, seats.waiting[0][1])
                ):
                    entry = seats.waiting.popleft()
                    if entry[2] in self._cancelling_roots:
                        seats.on_hold.append(entry)
                        continue
                    several.append(entry)
                    self._take_slots(seats, *entry[:2])
                if not several:
                    break
                if not all(await asyncio.gather(*(self._start(seats, *each) for each in several))):
                    await self._clock.sleep_until(self._clock.now() + STORE_RETRY_MS)
        finally:
            del self._tasks[partition]

    async def _start(self, seats: _TenantSlots, run: RunKey, wanted: int, root: str) -> bool:
        """False if the store is away."""
        try:
            woken = await self._wake(run) is not None
        except StoreUnavailable:
            seats.used -= seats.running.pop(run, 0)
            seats.waiting.appendleft((run, wanted, root))
            return False
        except Exception:
            woken = False
            log.exception("run left as it is: its log cannot be folded", extra={"runId": run.run_id})
        if not woken:
            # It was cancelled before its turn came, or cannot be moved here.
            seats.used -= seats.running.pop(run, 0)
        return True
