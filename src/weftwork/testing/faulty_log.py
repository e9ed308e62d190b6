"""The log as one process under test sees it: with the faults of the test, and dead once the process is."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast

from weftwork.ports.eventlog import (
    Active,
    Batch,
    Created,
    EventLog,
    Hidden,
    Record,
    Recorded,
    StoreUnavailable,
)
from weftwork.protocol.run import RunHeader, RunKey
from weftwork.testing.fault import Crash, Faults, LostAnswer
from weftwork.testing.watched import Living


class FaultyLog:
    """Implements ports.eventlog.EventLog. When the process is to end, in the middle of a commit, `rest` is awaited and
    `die` is called."""

    def __init__(
        self,
        log: EventLog,
        faults: Faults,
        living: Living,
        rest: Callable[[], Awaitable[None]],
        die: Callable[[], None],
    ) -> None:
        self._log = log
        self._faults = faults
        self._living = living
        self._rest = rest
        self._die = die

    @classmethod
    def of(cls, *arguments: Any) -> EventLog:
        return cast("EventLog", cls(*arguments))

    def __getattr__(self, name: str) -> Any:
        async def call(*arguments: Any) -> Any:
            await self._alive()
            return await getattr(self._log, name)(*arguments)

        return call

    async def create(
        self,
        header: RunHeader,
        hidden: tuple[Hidden, ...] = (),
        record: Record | None = None,
        exclusive: bool = False,
        first: Batch | None = None,
    ) -> Created | Recorded | Active:
        return await self._commit(first, lambda: self._log.create(header, hidden, record, exclusive, first))

    async def append(self, run: RunKey, expected: int, batch: Batch) -> Recorded | None:
        return await self._commit(batch, lambda: self._log.append(run, expected, batch))

    async def _commit(self, batch: Batch | None, write: Callable[[], Any]) -> Any:
        await self._alive()
        fault = self._faults.commit(batch.events if batch is not None else ())
        if fault is None:
            return await write()
        if isinstance(fault, Crash):
            await self._rest()
            if fault.written:
                await write()
            self._die()
            return await self._alive()
        if isinstance(fault, LostAnswer):
            await write()
        raise StoreUnavailable("the test says so")

    async def _alive(self) -> None:
        """Returns while the process lives, and never after."""
        if self._living.over:
            await asyncio.get_running_loop().create_future()
