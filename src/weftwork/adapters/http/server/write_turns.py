"""Bounds what all streams and large documents together do in one iteration of the event loop.

Theory. A reader that was woken encodes a page of events and writes it to its connection, without waiting for anything.
If hundreds of readers do so in the same iteration, all other requests wait for them. Each reader therefore takes a turn
first. An iteration has a limited number of turns and of bytes; the readers beyond it wait, in order, for the next one.
"""

import asyncio
from collections import deque
from typing import Final

TURNS: Final = 64
"""Turns in one iteration of the loop."""
TURN_BYTES: Final = 2**20
"""Bytes that are encoded and written in one iteration; the turn that reaches this size is the last."""


class WriteTurns:
    """Grants turns. Used by one event loop."""

    __slots__ = ("_bytes", "_turns", "_waiting", "granted")

    def __init__(self) -> None:
        self._turns = self._bytes = 0
        self._waiting: deque[tuple[asyncio.Future[None], int]] = deque()
        self.granted = 0
        """Turns that were granted so far."""

    async def next_turn(self, size: int) -> None:
        """lim-41 (host): wait for a turn with about this many bytes. Returns at once if this iteration has one left."""
        if self._turns < TURNS and self._bytes < TURN_BYTES and not self._waiting:
            self._grant(size)
            return
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.append((waiter, size))
        await waiter

    def charge(self, size: int) -> None:
        """Count work that cannot wait, because it would keep its data in memory. Others wait longer for it."""
        if not self._bytes and not self._turns:
            # Runs in the next iteration, before what is scheduled later.
            asyncio.get_running_loop().call_soon(self._begin_iteration)
        self._bytes += size

    @property
    def _is_used_up(self) -> bool:
        return self._turns >= TURNS or self._bytes >= TURN_BYTES

    def _grant(self, size: int) -> None:
        if not self._bytes and not self._turns:
            asyncio.get_running_loop().call_soon(self._begin_iteration)
        self._bytes += size
        self._turns += 1
        self.granted += 1

    def _begin_iteration(self) -> None:
        self._turns = self._bytes = 0
        while self._waiting and not self._is_used_up:
            waiter, size = self._waiting.popleft()
            # A waiter that was cancelled takes no turn.
            if not waiter.done():
                self._grant(size)
                waiter.set_result(None)
