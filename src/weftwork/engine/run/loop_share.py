"""Shares of the event loop: which long work of which tenant may occupy it next.

Theory of operation. A run that loops or maps, a costly expression or a large body needs the loop for milliseconds,
again and again. Such work is cut into slices, and each slice waits for a turn. One slice is granted at a time, at most
one per iteration of the loop, so that requests, commits and the first batches of new runs are processed in between.
Tenants take turns (`FairQueue`), by the time that their slices took. While requests are being served, the loop also
rests after each slice: otherwise a request would wait for a slice in each of the iterations that it needs, and the
threads of the store would wait for the interpreter lock. The rest is limited, so long work never starves. Slices are
shorter while others wait (`is_shared`).

`TurnSchedule` decides and knows neither the loop nor a clock; `LoopShare` carries that out. It knows exactly how long a
slice took, because nothing runs between the callbacks before and after it.

Expressions that are evaluated without a wait count in units of `protocol/expressions/cost`: one iteration of the loop
has room for LOOP_SLICE_UNITS of them, over all runs. While others wait for a turn, they are charged to their tenant:
otherwise a tenant with many small evaluations would get these in addition to its turns.
"""

import asyncio
from collections.abc import Callable
from typing import Final

import msgspec

from weftwork.protocol.fair_share import FairQueue
from weftwork.protocol.limits import LOOP_SLICE_UNITS

REST: Final = 3.0
"""Rest after a slice while requests are served, as a multiple of the slice's duration."""
MIN_REST_S: Final = 0.004
"""Most requests end within this time."""
MAX_REST_S: Final = 0.05
SHARED_S: Final = 0.05
"""How long slices stay short after work had to wait for a turn: it may be waiting for the store meanwhile."""
UNIT_S: Final = 14e-9
"""Duration of a unit of expression work. Evaluations without a wait are not measured."""
LOOK_S: Final = 0.001
"""How often the end of the requests is noticed during a rest."""


Waiter = tuple[asyncio.Future[None], str]
"""What waits for a turn, and its run."""


class TurnSchedule(msgspec.Struct, eq=False):
    """Who has the next turn, and when. All times are seconds of one clock."""

    _queue: "FairQueue[Waiter]" = msgspec.field(default_factory=FairQueue["Waiter"])
    _runs: dict[str, int] = {}
    """How many slices of each run wait."""
    _is_granted: bool = False
    _rests_until: float = 0.0
    _shared_until: float = 0.0

    @property
    def is_waiting(self) -> bool:
        """Whether work waits for a turn that is not granted yet."""
        return len(self._queue) > 0

    def add(self, tenant: str, waiter: "asyncio.Future[None]", run: str = "") -> None:
        self._queue.add(tenant, (waiter, run))
        self._runs[run] = self._runs.get(run, 0) + 1

    def discard(self, tenant: str, waiter: "asyncio.Future[None]", run: str = "") -> None:
        before = len(self._queue)
        self._queue.discard(tenant, (waiter, run))
        if len(self._queue) < before:
            self._forget(run)

    def _forget(self, run: str) -> None:
        self._runs[run] -= 1
        if not self._runs[run]:
            del self._runs[run]

    def grant(self, now: float, is_serving: bool) -> "tuple[str, asyncio.Future[None]] | None":
        """lim-24 (host): the tenant and the waiter of the next slice; None if none is due now. `end` must follow."""
        if self._is_granted or (is_serving and now < self._rests_until):
            return None
        while self._queue:
            tenant, (waiter, run) = self._queue.take(0)
            self._forget(run)
            if not waiter.done():
                self._is_granted = True
                if len(self._runs) > (run in self._runs):
                    # A run may also wait for itself: the items of its map, and their records.
                    self._shared_until = now + SHARED_S
                return tenant, waiter
        return None

    def end(self, tenant: str, began: float, now: float) -> None:
        """The granted slice is over."""
        taken = max(now - began, 0)
        self._is_granted = False
        self._queue.charge(tenant, taken)
        self._rests_until = now + min(max(taken * REST, MIN_REST_S), MAX_REST_S)

    def charge(self, tenant: str, taken: float) -> None:
        """Work of a tenant took so long without a turn. Counts only while others wait, so that a tenant does not pay
        for time that was free."""
        if self._queue:
            self._queue.charge(tenant, taken)

    def is_shared(self, now: float, is_serving: bool) -> bool:
        """Whether other long work or requests want the loop, so that slices should be short."""
        return is_serving or now < self._shared_until

    def delay(self, now: float) -> float | None:
        """Seconds until the next slice is due; None if a slice is granted or nothing waits."""
        return max(self._rests_until - now, 0) if self._queue and not self._is_granted else None


class LoopShare:
    """Grants turns on the event loop. One instance per host."""

    __slots__ = ("_began", "_clock", "_is_pumping", "_schedule", "_taken", "is_serving", "is_shared")

    def __init__(self, clock: Callable[[], float] | None = None) -> None:
        """`clock`: seconds, with a resolution of microseconds. The default is the clock of the loop, which has
        milliseconds on some loops."""
        self._clock: Callable[[], float] = clock or (lambda: asyncio.get_running_loop().time())
        self._schedule = TurnSchedule()
        self._began = 0.0
        self._is_pumping = False
        self._taken = 0
        self.is_shared = False
        """Whether the slice of the present turn should be short."""
        self.is_serving: Callable[[], bool] = lambda: False
        """Whether requests are being served. Set by the composition root."""

    async def turn(self, partition: str, units: int = 0, run: str = "") -> None:
        """Wait for the next turn of the tenant on the event loop, and reserve units of expression work. Slices of the
        same run do not become shorter because of each other.

        Always yields to the loop. The turn is over with the next `await` that waits.
        """
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[None] = loop.create_future()
        self._schedule.add(partition, waiter, run)
        if not self._is_pumping:
            self._is_pumping = True
            loop.call_soon(self._pump)
        try:
            await waiter
        except asyncio.CancelledError:
            self._schedule.discard(partition, waiter, run)
            raise
        if units:
            # Not charged to the tenant, because the duration of the turn is.
            self._reserve(units)

    def _pump(self) -> None:
        """Grant the next turn, or look again when it is due."""
        loop, now = asyncio.get_running_loop(), self._clock()
        is_serving = self.is_serving()
        granted = self._schedule.grant(now, is_serving)
        if granted is not None:
            tenant, waiter = granted
            self.is_shared = self._schedule.is_shared(now, is_serving)
            # The loop runs these three one after the other: the task of the waiter resumes between the two callbacks.
            loop.call_soon(self._begin)
            waiter.set_result(None)
            loop.call_soon(self._end, tenant)
            return
        delay = self._schedule.delay(now)
        self._is_pumping = delay is not None
        if delay is not None:
            loop.call_later(min(delay, LOOK_S), self._pump)

    def _begin(self) -> None:
        self._began = self._clock()

    def _end(self, tenant: str) -> None:
        self._schedule.end(tenant, self._began, self._clock())
        if self._schedule.is_waiting:
            asyncio.get_running_loop().call_soon(self._pump)
        else:
            self._is_pumping = False

    @property
    def is_full(self) -> bool:
        """Whether the current iteration has no room for any further expression work."""
        return self._taken >= LOOP_SLICE_UNITS

    def take(self, partition: str, units: int) -> bool:
        """Reserve room in the current iteration for work of a tenant; False if the work has to wait for a turn.

        After a refusal the iteration is full, so that no further work is prepared in vain. Work of more than a slice
        gets an iteration of its own.
        """
        if not self._taken:
            asyncio.get_running_loop().call_soon(self._renew)
        elif self._taken + units > LOOP_SLICE_UNITS:
            self._taken = max(self._taken, LOOP_SLICE_UNITS)
            return False
        self._taken += max(1, units)
        if self._is_pumping:
            self._schedule.charge(partition, units * UNIT_S)
        return True

    def charge(self, partition: str, units: int) -> None:
        """Count work of a tenant that has been done already or cannot be postponed."""
        self._reserve(units)
        if self._is_pumping:
            self._schedule.charge(partition, units * UNIT_S)

    def _reserve(self, units: int) -> None:
        if not self._taken:
            asyncio.get_running_loop().call_soon(self._renew)
        self._taken += units

    def give_back(self, units: int) -> None:
        """Return room that a turn has reserved and that is not needed."""
        self._taken = max(1, self._taken - units)

    def _renew(self) -> None:
        self._taken = 0
