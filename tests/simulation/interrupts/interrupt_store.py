"""A store for runs that wait: away at any call, and nothing of what was committed is forgotten."""

from typing import Any

from tests.simulation.run_driver import CheckedLog
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.protocol.run.batch import Batch
from weftwork.protocol.run.header import RunHeader, RunKey


class RecordingLog:
    """A log that keeps what was committed, batch by batch."""

    def __init__(self, log: Any) -> None:
        self._log = log
        self.batches: list[Batch] = []
        self.creation: tuple[Any, ...] = ()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    async def create(self, header: RunHeader, hidden: Any, record: Any, exclusive: bool, first: Any) -> Any:
        result = await self._log.create(header, hidden, record, exclusive, first)
        self.creation = (header, hidden)
        if first is not None:
            self.batches.append(first)
        return result

    async def append(self, key: RunKey, expected: int, batch: Batch) -> Any:
        result = await self._log.append(key, expected, batch)
        self.batches.append(batch)
        return result


class UnreliableInterruptLog(CheckedLog):
    """Every call may find the store away."""

    made: RunHeader | None = None

    def __init__(self, log: Any) -> None:
        kept: Any = RecordingLog(log)
        super().__init__(kept)
        self.looks = 0

    def _check(self) -> None:
        if self.fails() == "down":
            raise StoreUnavailable("no disk")

    async def create(self, header: RunHeader, hidden: Any, record: Any, exclusive: bool, first: Any) -> Any:
        self._check()
        result = await self._log.create(header, hidden, record, exclusive, first)
        self.made = header
        if self.fails() == "lost":
            raise StoreUnavailable("no answer")
        return result

    async def read(self, *arguments: Any) -> Any:
        self._check()
        return await self._log.read(*arguments)

    async def read_run(self, *arguments: Any) -> Any:
        self._check()
        return await self._log.read_run(*arguments)

    async def unfinished_runs(self, *arguments: Any) -> Any:
        self._check()
        return await self._log.unfinished_runs(*arguments)

    async def next_wake(self, *arguments: Any) -> Any:
        self._check()
        return await self._log.next_wake(*arguments)

    async def due_runs(self, *arguments: Any) -> Any:
        self.looks += 1
        self._check()
        return await self._log.due_runs(*arguments)
