"""A host without edges, in one life of its process: the real engine on a store that outlives it."""

import asyncio
import time
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar

from weftwork.adapters.blobs.memory import MemoryBlobs
from weftwork.adapters.memory.store import MemoryStore
from weftwork.adapters.python.declaration.decorator import NodeFunction
from weftwork.adapters.python.node_runner import PythonNodes
from weftwork.adapters.python.node_tasks import guard_tasks
from weftwork.adapters.python.threads import ThreadPool
from weftwork.engine.api.interrupts import InterruptLinks, Interrupts
from weftwork.engine.api.runs import Runs
from weftwork.engine.host.catalog import WorkflowCatalog
from weftwork.engine.host.executor import Executor
from weftwork.engine.media.assets import Assets
from weftwork.engine.runtime import Runtime
from weftwork.engine.signer import Signer
from weftwork.engine.streams.feeds import Feeds
from weftwork.ports.outbound import OutboundRequest, OutboundResponse
from weftwork.protocol.envelopes.kinds import BUILTIN_KINDS, MEDIA_KINDS, KindDefinition
from weftwork.protocol.limits import Limits
from weftwork.protocol.wire.v1.assets import ASSET_PREFIXES
from weftwork.testing.call_recorder import PerformedCalls, ProcessGuard, record_calls
from weftwork.testing.deterministic import ManualClock, SequentialIds
from weftwork.testing.fake_model import FakeModel, FakeModels
from weftwork.testing.fake_outbound import FakeOutbound
from weftwork.testing.faults import FaultPlan, FaultyLog, ProcessPort
from weftwork.testing.media import MEDIA_BASE
from weftwork.wiring.node_types import builtin_node_types

T = TypeVar("T")

THREAD_POLL_SECONDS: Final = 0.002
"""Real seconds between two looks at threads that are at work."""
SETTLE_SLICES: Final = 16
"""Turns of the loop in which an async function that waits for nothing comes to its end."""


class SimulatedHost:
    """What outlives a process: the store, the time, the other side of requests, and what was seen."""

    def __init__(
        self,
        nodes: Iterable[NodeFunction],
        clock: ManualClock,
        outbound: FakeOutbound,
        faults: FaultPlan,
        limits: Limits,
        model: FakeModel,
        first_attempt: int = 1,
        kinds: Iterable[KindDefinition] = (),
    ) -> None:
        self.nodes = [*nodes]
        self.clock = clock
        self.outbound = outbound
        self.faults = faults
        self.limits = limits
        self.models = FakeModels(clock, model)
        self.ids = SequentialIds()
        self.store = MemoryStore()
        self.blobs = MemoryBlobs(clock, SequentialIds())
        self.calls = PerformedCalls()
        self.first_attempt = first_attempt
        self.kinds = BUILTIN_KINDS.with_kinds(kinds).with_displayed(MEDIA_KINDS)


class HostProcess:
    """From the start of a process to its end."""

    def __init__(self, world: SimulatedHost) -> None:
        world.calls.process_number += 1
        guard_tasks(asyncio.get_running_loop())
        self._exempt_tasks: set[asyncio.Task[Any]] = set()
        self.guard = ProcessGuard(world.calls)
        self.threads = CountedThreads()
        outbound = _ProcessOutbound(self.guard, world.outbound)
        library = PythonNodes(world.nodes, self.threads, outbound)
        types = {**builtin_node_types(outbound), **library.types}
        types = {name: record_calls(node, self.guard, world.first_attempt) for name, node in types.items()}
        log = FaultyLog.wrap(world.store.log, self.guard, world.faults, self.settle, self.kill)
        # With ids of its own: those of a run do not depend on what is signed beside it.
        self.signer = Signer(world.store.signing, world.clock, SequentialIds())
        self.assets = Assets(
            world.store.assets,
            world.blobs,
            self.signer,
            world.clock,
            world.limits,
            MEDIA_BASE,
            prefixes=ASSET_PREFIXES,
        )
        runtime = Runtime(
            log,
            ProcessPort.wrap(world.store.queries, self.guard),
            ProcessPort.wrap(world.store.child_runs, self.guard),
            ProcessPort.wrap(world.store.records, self.guard),
            Feeds(log),
            world.clock,
            world.ids,
            types,
            world.limits,
            models=world.models,
            kinds=world.kinds,
            assets=self.assets,
            outbound=outbound,
        )
        self.catalog = WorkflowCatalog(
            world.store.definitions, {name: node.declaration for name, node in types.items()}
        )
        self.executor = Executor(runtime, self.catalog)
        self.service = Runs(runtime, self.catalog, self.executor)
        links = InterruptLinks(self.signer, world.clock, world.ids, "")
        self.interrupts = Interrupts(runtime, self.executor, links)

    def exempt(self, task: "asyncio.Task[Any] | None") -> None:
        """This task does not belong to the process."""
        if task is not None:
            self._exempt_tasks.add(task)

    async def settle(self) -> None:
        """Wait until no function is in the middle of its work, unless it waits: where it was could not be told."""
        turns = 0
        while turns < SETTLE_SLICES:
            if self.threads.busy > 0:
                await asyncio.to_thread(time.sleep, THREAD_POLL_SECONDS)
                # What ended may be followed by another one.
                turns = 0
            else:
                await asyncio.sleep(0)
                turns += 1

    def kill(self) -> None:
        """The process ends where it stands: nothing of it gets any further than to its next wait."""
        self.guard.is_dead = True
        for task in asyncio.all_tasks() - self._exempt_tasks:
            task.cancel()


class CountedThreads(ThreadPool):
    """Knows how many functions somebody waits for."""

    def __init__(self) -> None:
        super().__init__(32, 32)
        self.awaited = 0

    @property
    def busy(self) -> int:
        """Functions that are at work, and do not wait for the event loop themselves."""
        return self.awaited - self.waiting_on_loop

    async def run(self, call: Callable[[], T], label: str) -> T:
        self.awaited += 1
        try:
            return await super().run(call, label)
        finally:
            self.awaited -= 1


class _ProcessOutbound:
    """The way out of one process."""

    def __init__(self, living: ProcessGuard, outbound: FakeOutbound) -> None:
        self._process = living
        self._outbound = outbound

    async def fetch(self, request: OutboundRequest) -> OutboundResponse:
        self._process.check_alive()
        return await self._outbound.fetch(request)

    async def close(self) -> None: ...
