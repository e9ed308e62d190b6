"""A process that dies, or hears nothing, when something is durable."""

import asyncio
from typing import Any

from tests.harness.child_workflows import settle
from tests.harness.engine_harness import EngineHarness
from weftwork.ports.nodes import (
    NodeType,
)
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.protocol.run.batch import Batch
from weftwork.protocol.run.header import RunKey


class CrashAfterEventLog:
    """A log behind which the process dies, or hears nothing once, when an event of this type is durable."""

    def __init__(self, log: Any, kind: str, dies: bool) -> None:
        self._log = log
        self._kind = kind
        self._dies = dies
        self.reached = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    async def append(self, run: RunKey, expected: int, batch: Batch) -> Any:
        taken = await self._log.append(run, expected, batch)
        if not self.reached and any(event.type == self._kind for event in batch.events):
            self.reached = True
            if self._dies:
                await asyncio.get_running_loop().create_future()
            raise StoreUnavailable("no word came back")
        return taken


def harness_crashing_after(kind: str, *types: NodeType, dies: bool = True) -> EngineHarness:
    return EngineHarness(*types, wrap=lambda log: CrashAfterEventLog(log, kind, dies))


async def restart(bench: EngineHarness) -> EngineHarness:
    await bench.crash()
    after = bench.successor()
    await after.executor.recover()
    await settle()
    return after
