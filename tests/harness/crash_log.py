"""A process that dies, or hears nothing, when something is durable."""

import asyncio
from typing import Any

from tests.harness.engine_harness import EngineHarness, settle
from tests.harness.run_ports import WrappedLog
from weftwork.ports.nodes import NodeType
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.protocol.run.batch import Batch
from weftwork.protocol.run.header import RunKey


class CrashAfterEventLog(WrappedLog):
    """A log behind which the process dies, or hears nothing once, when an event of this type is durable."""

    def __init__(self, log: Any, kind: str, dies: bool) -> None:
        super().__init__(log)
        self._kind = kind
        self._dies = dies
        self.reached = False

    async def append(self, run: RunKey, expected: int, batch: Batch) -> Any:
        taken = await self._log.append(run, expected, batch)
        if not self.reached and any(event.type == self._kind for event in batch.events):
            self.reached = True
            if self._dies:
                await asyncio.get_running_loop().create_future()
            raise StoreUnavailable("no word came back")
        return taken


class CrashingLog(WrappedLog):
    """A log whose process dies at one of its appends, counted from 1: when that is durable, or just before."""

    def __init__(self, log: Any, at: int, written: bool) -> None:
        super().__init__(log)
        self._at, self._written = at, written
        self.count = 0
        self.died = asyncio.Event()

    async def append(self, *given: Any) -> Any:
        self.count += 1
        if self.died.is_set() or self.count == self._at:
            if self._written and not self.died.is_set():
                await self._log.append(*given)
            self.died.set()
            await asyncio.get_running_loop().create_future()
        return await self._log.append(*given)


def harness_crashing_after(kind: str, *types: NodeType, dies: bool = True) -> EngineHarness:
    return EngineHarness(*types, wrap=lambda log: CrashAfterEventLog(log, kind, dies))


async def restart(bench: EngineHarness) -> EngineHarness:
    after = await bench.restart()
    await settle()
    return after
