"""A store that fails as told: slow, away at any call, with its answers lost, and a process that dies at any append."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from weftwork.ports.storage.event_log import OutcomeUnknown, SequenceConflict, StoreUnavailable
from weftwork.protocol.run.batch import Batch
from weftwork.protocol.run.header import RunKey

Fault = str | None
"""`down`: nothing is done. `lost`: it is done, and the caller is told that nothing was. `unknown`: it is done, and the
caller is told that this is not known. `conflict`: an append came too late."""


@dataclass
class CommitHistory:
    """What was committed, over all processes."""

    creation: tuple[Any, ...] = ()
    """The arguments of the last `create`."""
    batches: list[Batch] = field(default_factory=list)
    lost: int = 0
    """Appends that were stored, and of which the caller was not told."""


class SimulatedLog:
    """The ports about runs as one process sees them. `fails` and `delay` are asked at every call, or at those of
    `faulty`; once the process has died, no call does anything or comes back."""

    def __init__(self, log: Any, faulty: Collection[str] | None = None) -> None:
        self._log = log
        self._faulty = faulty
        self.fails: Callable[[], Fault] = lambda: None
        self.delay: Callable[[], int] = lambda: 0
        """Turns of the loop that a call takes, before it is done and after it."""
        self.seen: Callable[[RunKey, Batch], Awaitable[None]] | None = None
        self.history = CommitHistory()
        self.kills: set[tuple[int, str]] = set()
        """Appends by their number, `before` or `after` which the process dies."""
        self.calls: Counter[str] = Counter()
        self.busy = 0
        self.died = False

    def __getattr__(self, name: str) -> Any:
        async def call(*arguments: Any) -> Any:
            return await self._call(name, arguments)

        return call

    def die(self) -> None:
        self.died = True

    async def append(self, key: RunKey, expected: int, batch: Batch, *fence: Any) -> Any:
        number = self.calls["append"]
        await self._kill(number, "before")
        result = await self._call("append", (key, expected, batch, *fence))
        if self.seen is not None:
            await self.seen(key, batch)
        await self._kill(number, "after")
        return result

    async def _call(self, name: str, arguments: tuple[Any, ...]) -> Any:
        self.calls[name] += 1
        self.busy += 1
        try:
            if self.died:
                await asyncio.get_running_loop().create_future()
            await self._delay()
            fate = self.fails() if self._faulty is None or name in self._faulty else None
            if fate == "down":
                raise StoreUnavailable("no disk")
            if fate == "conflict" and name == "append":
                raise SequenceConflict("somebody else")
            result = await getattr(self._log, name)(*arguments)
            self._record(name, arguments, fate)
            if fate == "lost":
                raise StoreUnavailable("no answer")
            if fate == "unknown":
                raise OutcomeUnknown("no answer")
            await self._delay()
            return result
        finally:
            self.busy -= 1

    def _record(self, name: str, arguments: tuple[Any, ...], fate: Fault) -> None:
        if name == "create":
            self.history.creation = arguments
        if name in ("create", "append"):
            self.history.batches += [each for each in arguments if isinstance(each, Batch)]
            self.history.lost += name == "append" and fate in ("lost", "unknown")

    async def _delay(self) -> None:
        for _ in range(self.delay()):
            await asyncio.sleep(0)

    async def _kill(self, number: int, when: str) -> None:
        if (number, when) in self.kills:
            self.die()
            await asyncio.get_running_loop().create_future()
