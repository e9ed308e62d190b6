"""Shares of the event loop: limits the expression work that runs between two iterations of the loop.

Theory of operation. Work on the loop is counted in the units of `protocol/expressions/cost`. One iteration of the loop
has room for LOOP_SLICE_UNITS, over all runs. The first work of an iteration schedules a callback, which the loop runs
in its next iteration, and which makes the slice free again. After a slice of which much was used, a few iterations have
no room, because a request takes several iterations and must not wait for a slice in each of them. Work that finds no
room waits for a turn.
"""

import asyncio
from typing import Final

from weftwork.protocol.limits import LOOP_SLICE_UNITS

RESTING_ITERATIONS: Final = 3
"""Iterations of the loop without room after one in which at least half of a slice was used."""


class LoopShare:
    """The slice of the current iteration of the event loop. One instance per host."""

    __slots__ = ("_loop", "_resting", "_taken")

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        """The loop that will call `_renew`."""
        self._taken = 0
        self._resting = 0

    @property
    def is_full(self) -> bool:
        """Whether the current iteration has no room for any further work."""
        return self._taken >= LOOP_SLICE_UNITS

    def take(self, partition: str, units: int) -> bool:
        """Reserve room in the current iteration for work of a tenant; False if the work has to wait for a turn.

        After a refusal the iteration is full, so that no further work is prepared in vain. Work of more than a slice
        gets an iteration of its own.
        """
        if not self._taken:
            self._schedule_renewal()
        elif self._taken + units > LOOP_SLICE_UNITS:
            self._taken = max(self._taken, LOOP_SLICE_UNITS)
            return False
        self._taken += max(1, units)
        return True

    def charge(self, partition: str, units: int) -> None:
        """Count work of a tenant that has been done already and could not be postponed."""
        if not self._taken:
            self._schedule_renewal()
        self._taken += units

    def give_back(self, partition: str, units: int) -> None:
        """Return room that was reserved and is not needed."""
        self._taken = max(1, self._taken - units)

    async def turn(self, partition: str, units: int = 0) -> None:
        """Wait for the next turn of the tenant on the event loop before work of this bound, and reserve its room.

        Always yields to the loop.
        """
        await asyncio.sleep(0)
        if self._loop is not asyncio.get_running_loop():
            # The loop that should have called `_renew` is closed.
            self._resting = self._taken = 0
        while not self.take(partition, units):
            await asyncio.sleep(0)

    async def batch_turn(self, partition: str) -> None:
        """Wait until a run of the tenant may occupy the loop with another full batch of events: one run per iteration.

        Reserves nothing on return: the instant nodes of the batch take what they need.
        """
        await self.turn(partition, LOOP_SLICE_UNITS)
        self.give_back(partition, LOOP_SLICE_UNITS)

    def _schedule_renewal(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._loop.call_soon(self._renew)

    def _renew(self) -> None:
        if not self._resting and self._taken * 2 >= LOOP_SLICE_UNITS:
            self._resting = RESTING_ITERATIONS + 1
            self._taken = LOOP_SLICE_UNITS
        if self._resting > 1:
            self._resting -= 1
            self._schedule_renewal()
        else:
            self._resting = self._taken = 0
