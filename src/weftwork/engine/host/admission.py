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
from weftwork.ports.storage.event_log import AWAY_MS, StoreUnavailable
from weftwork.protocol.run.header import RunKey

log = logging.getLogger("weftwork.run")

TOGETHER: Final = 16
"""Children that are let in at the same time."""
SEAT_BYTES: Final = 65_536
"""What a child in one seat may be given; a larger one takes more of them."""


Entry = tuple[RunKey, int, str]
"""A run, the seats that it takes, and the run at the top of its tree."""


class _Seats(msgspec.Struct):
    """Of one tenant."""

    taken: dict[RunKey, int] = {}
    waiting: deque[Entry] = msgspec.field(default_factory=deque["Entry"])
    held: deque[Entry] = msgspec.field(default_factory=deque["Entry"])
    """Those of trees that are being cancelled: most of them will not have to begin."""
    used: int = 0


class Admission:
    """`wake` executes a run that is stored."""

    def __init__(self, most: int, clock: Clock, wake: Callable[[RunKey], Awaitable[object]]) -> None:
        self._most = most
        self._clock = clock
        self._wake = wake
        self._seats: dict[str, _Seats] = {}
        """By partition, while there is any."""
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._doomed: set[str] = set()
        self._closed = False

    def admit(self, run: RunKey, weight: int = 0, root: str = "") -> bool:
        """lim-16 (host): whether the run may be executed now; otherwise it is, when there is room."""
        wanted = 1 + weight // SEAT_BYTES
        seats = self._seats.setdefault(run.partition, _Seats())
        if root in self._doomed or seats.waiting or not self._has_room(seats, wanted):
            seats.waiting.append((run, wanted, root))
            return False
        self._sit(seats, run, wanted)
        return True

    def hold(self, root: str) -> None:
        """Runs of this tree are being cancelled: that comes first."""
        self._doomed.add(root)

    def release(self) -> None:
        """That is done; what is left of those trees goes on."""
        self._doomed.clear()
        for partition, seats in list(self._seats.items()):
            seats.waiting.extend(seats.held)
            seats.held.clear()
            self._open(partition, seats)

    def leave(self, run: RunKey) -> None:
        """A run has ended, or rests."""
        seats = self._seats.get(run.partition)
        if seats is None or not (taken := seats.taken.pop(run, 0)):
            return
        seats.used -= taken
        self._open(run.partition, seats)

    def _open(self, partition: str, seats: _Seats) -> None:
        if seats.waiting and partition not in self._tasks and not self._closed:
            self._tasks[partition] = asyncio.create_task(self._let_in(partition, seats))
        elif not seats.taken and not seats.waiting and not seats.held:
            self._seats.pop(partition, None)

    def close(self) -> None:
        self._closed = True
        for task in self._tasks.values():
            task.cancel()

    def _has_room(self, seats: _Seats, wanted: int) -> bool:
        # One that is larger than the room has it for itself.
        return not seats.taken or seats.used + wanted <= self._most

    def _sit(self, seats: _Seats, run: RunKey, wanted: int) -> None:
        seats.taken[run] = wanted
        seats.used += wanted

    async def _let_in(self, partition: str, seats: _Seats) -> None:
        try:
            while seats.waiting and not self._closed:
                several: list[Entry] = []
                while seats.waiting and len(several) < TOGETHER and self._has_room(seats, seats.waiting[0][1]):
                    entry = seats.waiting.popleft()
                    if entry[2] in self._doomed:
                        seats.held.append(entry)
                        continue
                    several.append(entry)
                    self._sit(seats, *entry[:2])
                if not several:
                    break
                if not all(await asyncio.gather(*(self._begin(seats, *each) for each in several))):
                    await self._clock.sleep_until(self._clock.now() + AWAY_MS)
        finally:
            del self._tasks[partition]

    async def _begin(self, seats: _Seats, run: RunKey, wanted: int, root: str) -> bool:
        """False if the store is away."""
        try:
            woken = await self._wake(run) is not None
        except StoreUnavailable:
            seats.used -= seats.taken.pop(run, 0)
            seats.waiting.appendleft((run, wanted, root))
            return False
        except Exception:
            woken = False
            log.exception("run left as it is: its log cannot be folded", extra={"runId": run.run_id})
        if not woken:
            # It was cancelled before its turn came, or cannot be moved here.
            seats.used -= seats.taken.pop(run, 0)
        return True
