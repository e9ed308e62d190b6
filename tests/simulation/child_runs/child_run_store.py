"""A store for trees of runs: slow, away at any call, with its answers lost, and a process that dies at any of them."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.protocol.run.batch import Batch
from weftwork.protocol.run.header import RunKey

StoreFault = str | None
"""`down`: nothing is done. `lost`: it is done, and nobody is told."""


class UnreliableTreeLog:
    """A log in front of another one. `fate` and `wait` are asked at every call."""

    def __init__(self, log: Any) -> None:
        self.log = log
        self.fate: Callable[[], StoreFault] = lambda: None
        self.wait: Callable[[], int] = lambda: 0
        """Turns of the loop that a call takes, before it is done and after it."""
        self.seen: Callable[[RunKey, Batch], Awaitable[None]] | None = None
        self.die: Callable[[], None] = lambda: None
        """Ends the process."""
        self.kills: set[tuple[int, str]] = set()
        self.calls = self.writes = self.busy = 0

    def __getattr__(self, name: str) -> Any:
        async def call(*arguments: Any) -> Any:
            return await self._call(name, arguments)

        return call

    async def append(self, key: RunKey, expected: int, batch: Batch) -> Any:
        number, self.writes = self.writes, self.writes + 1
        await self._kill(number, "before")
        result = await self._call("append", (key, expected, batch))
        if self.seen is not None:
            await self.seen(key, batch)
        await self._kill(number, "after")
        return result

    async def _call(self, name: str, arguments: tuple[Any, ...]) -> Any:
        self.calls += 1
        self.busy += 1
        try:
            await self._delay()
            fate = self.fate()
            if fate == "down":
                raise StoreUnavailable("no disk")
            result = await getattr(self.log, name)(*arguments)
            if fate == "lost":
                raise StoreUnavailable("no answer")
            await self._delay()
            return result
        finally:
            self.busy -= 1

    async def _delay(self) -> None:
        for _ in range(self.wait()):
            await asyncio.sleep(0)

    async def _kill(self, number: int, when: str) -> None:
        if (number, when) in self.kills:
            self.die()
            await asyncio.get_running_loop().create_future()
