"""Turns: large pieces of work are done one per turn of the event loop, so that many of them together stop nobody."""

import asyncio


class Turns:
    """Who takes a turn may keep the loop busy until its next wait."""

    __slots__ = ("_taken",)

    def __init__(self) -> None:
        self._taken: asyncio.AbstractEventLoop | None = None

    async def take(self) -> None:
        """Return in a turn of the loop that nobody else has taken; everybody else who is ready had theirs before."""
        loop = asyncio.get_running_loop()
        await asyncio.sleep(0)
        while self._taken is loop:
            await asyncio.sleep(0)
        self._taken = loop
        # Not sooner than in the next turn.
        loop.call_soon(self._free)

    def _free(self) -> None:
        self._taken = None
