"""A simulated host without HTTP, and the scenario of one run on it.

The host is the real engine with an in-memory store that survives simulated crashes. A scenario covers one run from its
creation to its end, across as many processes as the faults require.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, TypeVar

import msgspec

from weftwork.adapters.blobs.memory import MemoryBlobs
from weftwork.adapters.memory.store import MemoryStore
from weftwork.adapters.python.declaration.decorator import NodeFunction
from weftwork.adapters.python.node_runner import PythonNodes
from weftwork.adapters.python.node_tasks import guard_tasks
from weftwork.adapters.python.threads import ThreadPool
from weftwork.engine.api.interrupts import InterruptLinks, Interrupts
from weftwork.engine.api.keyring import Principal
from weftwork.engine.api.runs import Runs
from weftwork.engine.host.catalog import WorkflowCatalog
from weftwork.engine.host.executor import Executor
from weftwork.engine.media.assets import DAY_MS, Assets
from weftwork.engine.run.loop_share import LoopShare
from weftwork.engine.runtime import Runtime
from weftwork.engine.signer import Signer
from weftwork.engine.streams.feeds import Feeds
from weftwork.engine.tenant_logs import tenant_logs_of
from weftwork.ports.outbound import OutboundRequest, OutboundResponse, OutboundStream, StreamTimeouts
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.protocol.envelopes.kinds import BUILTIN_KINDS, DISPLAY_KINDS, KindDefinition
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.limits import Limits
from weftwork.protocol.media.asset_references import media_ref
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.header import TERMINAL_STATUSES, RunKey
from weftwork.protocol.run.projection import StoredRun
from weftwork.protocol.wire.v1.assets import ASSET_PREFIXES
from weftwork.protocol.wire.v1.routes import SCOPES
from weftwork.testing.call_recorder import PerformedCalls, ProcessGuard, record_calls
from weftwork.testing.deterministic import ManualClock, ManualTimeLoop, SequentialIds
from weftwork.testing.errors import Refused, Unending
from weftwork.testing.fake_model import FakeModel, FakeModels
from weftwork.testing.fake_outbound import FakeOutbound
from weftwork.testing.faults import FaultPlan, FaultyLog, ProcessPort
from weftwork.testing.media import MEDIA_BASE, Asset
from weftwork.testing.question import TIMEOUT, Question, answer_to, has_answer, open_questions
from weftwork.testing.storage.samples import ANY_FENCE
from weftwork.wiring.node_types import builtin_node_types

T = TypeVar("T")

THREAD_POLL_SECONDS: Final = 0.002
"""Real seconds between two checks of busy threads."""
SETTLE_SLICES: Final = 16
"""Iterations of the event loop after which an async function that does not wait has finished."""


class SimulatedHost:
    """The parts that survive a process: the store, the clock, the fakes and the recorded calls."""

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
        self.kinds = BUILTIN_KINDS.with_kinds(kinds).with_displayed(DISPLAY_KINDS)


class HostProcess:
    """One simulated process of the host."""

    def __init__(self, host: SimulatedHost) -> None:
        host.calls.process_number += 1
        guard_tasks(asyncio.get_running_loop())
        self._exempt_tasks: set[asyncio.Task[Any]] = set()
        self.guard = ProcessGuard(host.calls)
        self.threads = CountedThreads()
        outbound = _ProcessOutbound(self.guard, host.outbound)
        library = PythonNodes(host.nodes, self.threads, outbound)
        types = {**builtin_node_types(outbound), **library.types}
        types = {name: record_calls(node, self.guard, host.first_attempt) for name, node in types.items()}
        log = FaultyLog.wrap(host.store.log, self.guard, host.faults, self.settle, self.kill)
        # A separate id source, so that signing does not change the ids of the run.
        self.signer = Signer(host.store.signing, host.clock, SequentialIds())
        self.assets = Assets(
            host.store.assets, host.blobs, self.signer, host.clock, host.limits, MEDIA_BASE, prefixes=ASSET_PREFIXES
        )
        self.runtime = runtime = Runtime(
            log,
            ProcessPort.wrap(host.store.ownership, self.guard),
            ProcessPort.wrap(host.store.queries, self.guard),
            ProcessPort.wrap(host.store.child_runs, self.guard),
            ProcessPort.wrap(host.store.forks, self.guard),
            ProcessPort.wrap(host.store.records, self.guard),
            Feeds(log, host.limits),
            host.clock,
            host.ids,
            types,
            host.limits,
            tenant_logs=tenant_logs_of(host.limits, log, host.clock),
            loop_share=LoopShare(lambda: host.clock.now() / 1000),
            models=host.models,
            model_catalogue=host.models.catalogue,
            kinds=host.kinds,
            assets=self.assets,
            outbound=outbound,
        )
        self.catalog = WorkflowCatalog(host.store.definitions, {name: node.declaration for name, node in types.items()})
        self.executor = Executor(runtime, self.catalog)
        self.service = Runs(runtime, self.catalog, self.executor)
        links = InterruptLinks(self.signer, host.clock, host.ids, "")
        self.interrupts = Interrupts(runtime, self.executor, links)

    def exempt(self, task: "asyncio.Task[Any] | None") -> None:
        """Exclude a task of the test kit from `kill`."""
        if task is not None:
            self._exempt_tasks.add(task)

    async def settle(self) -> None:
        """Wait until every running function has finished or waits. Otherwise, how far a function gets before a crash
        would depend on thread timing."""
        slices = 0
        while slices < SETTLE_SLICES:
            if self.threads.busy > 0:
                await asyncio.to_thread(time.sleep, THREAD_POLL_SECONDS)
                # The end of one function may start another.
                slices = 0
            else:
                await asyncio.sleep(0)
                slices += 1

    def kill(self) -> None:
        """Kill the process: cancel all its tasks, and let no call of it have an effect any more."""
        self.guard.is_dead = True
        for task in asyncio.all_tasks() - self._exempt_tasks:
            task.cancel()


class CountedThreads(ThreadPool):
    """A thread pool that counts the functions whose result is awaited."""

    def __init__(self) -> None:
        super().__init__(32, 32)
        self.awaited = 0

    @property
    def busy(self) -> int:
        """The number of awaited functions that are not blocked on the event loop."""
        return self.awaited - self.waiting_on_loop

    async def run(self, call: Callable[[], T], label: str) -> T:
        self.awaited += 1
        try:
            return await super().run(call, label)
        finally:
            self.awaited -= 1


class _ProcessOutbound:
    """The outbound client of one process."""

    def __init__(self, process: ProcessGuard, outbound: FakeOutbound) -> None:
        self._process = process
        self._outbound = outbound

    async def fetch(self, request: OutboundRequest) -> OutboundResponse:
        self._process.check_alive()
        return await self._outbound.fetch(request)

    def stream(self, request: OutboundRequest, timeouts: StreamTimeouts) -> AbstractAsyncContextManager[OutboundStream]:
        self._process.check_alive()
        return self._outbound.stream(request, timeouts)

    async def close(self) -> None: ...


CALLER: Final = Principal.of("key_test", "test", "live", frozenset(SCOPES))
MAX_CLOCK_MOVES: Final = 100_000
RETRY_MS: Final = 1_000
"""Delay before the simulated caller retries a request that failed with StoreUnavailable."""
_MAX_KILL_ROUNDS: Final = 5


class Scenario:
    """Runs the host, and plays its callers and the people who answer interrupts."""

    def __init__(
        self,
        host: SimulatedHost,
        document: dict[str, Any],
        request: dict[str, Any],
        answers: Mapping[str, Any],
        assets: Iterable[Asset] = (),
    ) -> None:
        self.host = host
        self._assets = [*assets]
        """Assets that are uploaded before the run starts."""
        self._document = document
        self._request = {"workflowId": document.get("id"), **request}
        self._answers = answers
        self._current_process: HostProcess | None = None
        self._run: RunKey | None = None
        self._request_task: asyncio.Task[Any] | None = None
        self._answer_counts: Counter[str] = Counter()
        """Number of answers sent to each interrupt, by key."""
        self._unanswered_keys: set[str] = set()
        """Keys of interrupts that are left to time out."""
        self.questions: list[Question] = []
        """The open interrupts."""

    @property
    def busy(self) -> int:
        """The number of threads that are working."""
        return self._current_process.threads.busy if self._current_process is not None else 0

    def close(self) -> None:
        """Let idle threads end."""
        if self._current_process is not None:
            self._current_process.threads.close()

    async def play(self, loop: ManualTimeLoop) -> None:
        """Continue until the run has ended, or waits for an answer that the test does not have. Raises Unending if
        nothing can happen any more, and Refused if the host refuses the workflow or a request."""
        await self.host.store.open()
        await self.host.blobs.open()
        await self._start()
        for _ in range(MAX_CLOCK_MOVES):
            await loop.idle()
            process = self._process()
            if process.guard.is_dead:
                await self._await_death(loop, process)
                await self._start()
            elif self._request_task is not None and self._request_task.done():
                await self._finish_request(self._request_task)
            elif self._request_task is None and await self._is_settled():
                return
            elif self._request_task is None and self._answer_next():
                continue
            elif not loop.advance_to_next():
                raise Unending("nothing is left to run, and no timer is set")
        raise Unending(f"the clock was advanced {MAX_CLOCK_MOVES:,} times")

    async def _start(self) -> None:
        process = self._current_process = HostProcess(self.host)
        process.exempt(asyncio.current_task())
        await process.runtime.fence.take(self.host.store.election)
        await process.signer.load()
        for each in self._assets:
            await process.assets.put(CALLER.partition, each.data, self.host.limits.upload_days * DAY_MS)
        violations = await process.catalog.register(self._document)
        if violations:
            lines = "\n".join(f"  {each.pointer or '/'}: {each.message}" for each in violations)
            raise Refused(f"the workflow cannot be registered:\n{lines}")
        self._request_task = asyncio.create_task(self._recover(process))

    async def _recover(self, process: HostProcess) -> None:
        await process.executor.recover()
        if self._run is None:
            # A caller without a response repeats the request with the same idempotency key.
            outcome = await process.service.create_run(CALLER, self._request, "start")
            self._run = CALLER.run(outcome.run_id)

    async def _finish_request(self, done: "asyncio.Task[Any]") -> None:
        self._request_task = None
        try:
            done.result()
        except StoreUnavailable:
            self._request_task = asyncio.create_task(self._retry_later())
        except ClientFault as fault:
            where = (fault.details or {}).get("pointer", "")
            raise Refused(f"the host refuses: {fault.code}: {fault.message} {where}".rstrip()) from None

    async def _retry_later(self) -> None:
        clock = self.host.clock
        await clock.sleep(RETRY_MS)
        if self._run is None:
            await self._recover(self._process())

    async def _is_settled(self) -> bool:
        """Whether the run has ended, or waits for an answer that the test does not have."""
        stored = await self.stored()
        if stored is None or self._run is None:
            return False
        self.questions = open_questions(stored.rows, self.host.calls, stored.header)
        if stored.projection.status in TERMINAL_STATUSES:
            return True
        states = [msgspec.json.decode(row.value)["status"] for row in stored.rows if row.kind == "node"]
        unanswered = self.questions and not any(self._has_answer(each) for each in self.questions)
        return bool(unanswered) and not {"running", "retrying"} & {*states}

    def _has_answer(self, question: Question) -> bool:
        return has_answer(question, self._answers, self._answer_counts[question.key])

    def _answer_next(self) -> bool:
        """Start to answer one of the open interrupts. Returns False if the test has no answer for any of them."""
        for question in self.questions:
            if question.key in self._unanswered_keys or not self._has_answer(question):
                continue
            answer = answer_to(question, self._answers, self._answer_counts[question.key])
            if answer is not TIMEOUT:
                self._request_task = asyncio.create_task(self._resolve(question, answer))
                return True
            self._unanswered_keys.add(question.key)
        return False

    async def _resolve(self, question: Question, value: Any) -> None:
        assert self._run is not None
        document = {"resumeValue": value}
        # A caller without a response repeats the request with the same idempotency key.
        key = f"answer:{question.key}:{self._answer_counts[question.key]}"
        interrupts = self._process().interrupts
        await interrupts.resolve(CALLER, self._run.run_id, question.node_id, document, key, question.interrupt_id)
        self._answer_counts[question.key] += 1

    async def _await_death(self, loop: ManualTimeLoop, process: HostProcess) -> None:
        """Wait until all tasks and threads of the dead process have ended."""
        self._request_task = None
        for _ in range(_MAX_KILL_ROUNDS):
            await loop.idle()
            if len(asyncio.all_tasks()) == 1:
                break
            process.kill()
        else:
            running = [repr(task.get_coro()) for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            raise Unending(f"tasks keep running after their process was killed; they swallow CancelledError: {running}")
        while process.threads.abandoned:
            await asyncio.to_thread(time.sleep, THREAD_POLL_SECONDS)
        process.threads.close()

    def _process(self) -> HostProcess:
        assert self._current_process is not None
        return self._current_process

    async def stored(self) -> StoredRun | None:
        return await self.host.store.log.read_run(self._run) if self._run is not None else None

    async def read(self, sha256: str) -> bytes | None:
        """The bytes of an asset of the run's tenant; None if there is no such asset."""
        assets = self._process().assets
        asset = await assets.find(CALLER.partition, media_ref(sha256))
        return await assets.read(asset) if asset is not None else None

    async def events(self) -> list[Event]:
        if self._run is None:
            # The run may have been created although its caller received no response.
            runs = await self.host.store.ownership.untaken(ANY_FENCE, None, 1)
            return await self.host.store.log.read(runs[0].key, -1, 10**6) if runs else []
        return await self.host.store.log.read(self._run, -1, 10**6)
