"""An engine on the bench: memory store, manual clock, and nodes that end when the test says so."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine
from copy import deepcopy
from itertools import count
from typing import Any, Self, TypeVar

import msgspec
import pytest

from tests.harness.definitions import NODE_TYPES
from weftwork.adapters.memory.store import MemoryStore
from weftwork.engine.api.keyring import Principal
from weftwork.engine.api.run_control import RunControl
from weftwork.engine.api.runs import EventStreams, Runs
from weftwork.engine.api.workflows import Workflows
from weftwork.engine.decide.inputs import AnswerReceived, CancelRequested
from weftwork.engine.fence import ExecutorFence
from weftwork.engine.host.catalog import WorkflowCatalog
from weftwork.engine.host.executor import Executor
from weftwork.engine.media.assets import Assets
from weftwork.engine.run.live_run import LiveRun
from weftwork.engine.run.loop_share import LoopShare
from weftwork.engine.run.replay import fact_of_event, load_state
from weftwork.engine.runtime import Runtime
from weftwork.engine.signer import Signer
from weftwork.engine.streams.feeds import Feeds
from weftwork.engine.tenant_logs import tenant_logs_of
from weftwork.ports.expression_workers import ExpressionWorkers
from weftwork.ports.models import ModelProviders
from weftwork.ports.node_outcome import Completed, NodeOutcome
from weftwork.ports.nodes import NodeCall, NodeContext, NodeType, WaitingNode
from weftwork.ports.storage.blobs import Blobs
from weftwork.ports.storage.store import Store
from weftwork.protocol.envelopes.kinds import BUILTIN_KINDS as KINDS
from weftwork.protocol.envelopes.kinds import MEDIA_KINDS
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.fold.fold import fold
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.limits import Limits
from weftwork.protocol.models.capability_gate import NO_MODELS, ModelCatalogue
from weftwork.protocol.people.approvals import Answerer
from weftwork.protocol.privacy.redaction import reveal
from weftwork.protocol.run.events import Event, Fact
from weftwork.protocol.run.header import TERMINAL_STATUSES, RunHeader, RunKey
from weftwork.protocol.run.projection import StoredRun
from weftwork.protocol.wire.v1.assets import ASSET_PREFIXES
from weftwork.protocol.wire.v1.routes import SCOPES
from weftwork.protocol.workflow.node_types import NodeDeclaration
from weftwork.protocol.workflow.plan import Plan
from weftwork.testing.deterministic import ManualClock, SequentialIds


class RunPorts:
    """Has the methods of all ports about runs, so that one test double can stand in front of all of them."""

    def __init__(self, store: Store) -> None:
        self._ports = (
            store.log,
            store.ownership,
            store.queries,
            store.child_runs,
            store.records,
            store.retention,
            store.forks,
        )
        self.create_fork = store.forks.create
        self.elect = store.election.take

    def __getattr__(self, name: str) -> Any:
        for port in self._ports:
            if hasattr(port, name):
                return getattr(port, name)
        raise AttributeError(name)


class ForkPort:
    """The port for forks in front of a double of all ports, whose own `create` is that of the event log."""

    def __init__(self, log: Any) -> None:
        self._log = log

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, "create_fork" if name == "create" else name)


class WrappedLog:
    """A log that passes every call on. A subclass does something else in some of them."""

    def __init__(self, log: Any) -> None:
        self._log = log

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)


MAX_LOOP_TURNS = 2_000
_EPOCHS = count(1)
CALLER = Principal.of("key_1", "acme", "live", frozenset(SCOPES))
ANSWERER = Answerer("key_1", may_delegate=True)


T = TypeVar("T")


def run(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a test's coroutine in a loop of its own, and end what it left running."""

    async def ended() -> T:
        try:
            return await work()
        finally:
            await _cancel_remaining_tasks()

    return asyncio.run(ended())


def background_tasks() -> set["asyncio.Task[Any]"]:
    """All tasks but that of the test, and that in which anyio's runner waits for it."""
    found = asyncio.all_tasks() - {asyncio.current_task()}
    return {task for task in found if "TestRunner." not in repr(task.get_coro())}


async def _cancel_remaining_tasks() -> None:
    """End what is left; the end of one may begin another, which nobody would wait for once the loop is closed."""
    for _ in range(5):
        left = background_tasks()
        if not left:
            return
        for task in left:
            task.cancel()
        await asyncio.wait(left, timeout=0.1)


async def until(condition: Callable[[], Any]) -> None:
    """Let the loop turn until the condition holds. Nothing here needs real time to pass."""
    for _ in range(MAX_LOOP_TURNS):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("it never came so far")


async def run_ready_tasks() -> None:
    """Let everything that can go on without time go on."""
    for _ in range(30):
        await asyncio.sleep(0)


async def settle() -> None:
    """Let runs that wait for each other go on as far as they get without time."""
    for _ in range(10):
        await run_ready_tasks()


async def fault_of(call: Awaitable[object]) -> ClientFault:
    """How a caller is refused."""
    with pytest.raises(ClientFault) as caught:
        await call
    return caught.value


class GateNode:
    """The node type `test.gate`: each call waits until the test lets it go."""

    def __init__(self) -> None:
        self.calls: list[NodeCall] = []
        self.waiting: dict[str, asyncio.Future[NodeOutcome]] = {}
        self.cancelled: list[str] = []
        self.max_waiting = 0
        self.type = WaitingNode(NodeDeclaration("test.gate", "Waits for the test.", instant=False), self._run)

    async def _run(self, call: NodeCall, context: NodeContext) -> NodeOutcome:
        self.calls.append(call)
        gate = self.waiting[call.node_id] = asyncio.get_running_loop().create_future()
        self.max_waiting = max(self.max_waiting, len(self.waiting))
        try:
            return await gate
        except asyncio.CancelledError:
            self.cancelled.append(call.node_id)
            raise
        finally:
            self.waiting.pop(call.node_id, None)

    def release(self, node_id: str, outcome: NodeOutcome | None = None) -> None:
        self.waiting[node_id].set_result(outcome or Completed({}))


class CrashableLog:
    """The ports as one process sees them: once that is dead, no call of them comes back or does anything."""

    def __init__(self, log: Any) -> None:
        self._log = log
        self.dead = False

    def __getattr__(self, name: str) -> Any:
        async def call(*arguments: Any) -> Any:
            if self.dead:
                await asyncio.get_running_loop().create_future()
            return await getattr(self._log, name)(*arguments)

        return call


class EngineHarness:
    """A host without edges. `again` makes the next one over the same store, as after a restart."""

    def __init__(
        self,
        *types: NodeType,
        limits: Limits | None = None,
        store: MemoryStore | None = None,
        wrap: Callable[[Any], Any] = lambda log: log,
        provided: frozenset[str] = frozenset(),
        clock: ManualClock | None = None,
        ids: SequentialIds | None = None,
        models: ModelProviders | None = None,
        catalogue: ModelCatalogue = NO_MODELS,
        blobs: Blobs | None = None,
        expression_workers: ExpressionWorkers | None = None,
    ) -> None:
        self.gate_node = GateNode()
        self.clock = clock or ManualClock()
        self.ids = ids or SequentialIds()
        self.store = store or MemoryStore()
        self.log: Any = wrap(RunPorts(self.store))
        self.process_log: Any = CrashableLog(self.log)
        self.feeds = Feeds(self.process_log, limits or Limits())
        more = (self.gate_node.type, *types)
        self.types = {**NODE_TYPES, **{node.declaration.type_id: node for node in more}}
        self._options = {"limits": limits, "provided": provided, "types": types, "models": models, "blobs": blobs}
        self._options |= {"expression_workers": expression_workers, "catalogue": catalogue}
        limits = limits or Limits()
        self.signer = Signer(self.store.signing, self.clock, self.ids)
        self.blobs = blobs
        self.assets: Any = None
        kinds = KINDS
        if blobs is not None:
            base = "https://flows.example"
            self.assets = Assets(
                self.store.assets, blobs, self.signer, self.clock, limits, base, prefixes=ASSET_PREFIXES
            )
            kinds = KINDS.with_displayed(MEDIA_KINDS)
        share = LoopShare(lambda: self.clock.now() / 1000)
        more = {
            "models": models,
            "model_catalogue": catalogue,
            "assets": self.assets,
            "kinds": kinds,
            "loop_share": share,
        }
        more["expression_workers"] = expression_workers
        log = self.process_log
        ports = {"log": log, "ownership": log, "queries": log, "child_runs": log, "records": log, "feeds": self.feeds}
        ports["forks"] = ForkPort(log)
        more["fence"] = ExecutorFence(next(_EPOCHS))
        more["tenant_logs"] = tenant_logs_of(limits, log, self.clock)
        self.runtime = Runtime(
            **ports, clock=self.clock, ids=self.ids, types=self.types, limits=limits, provided=provided, **more
        )
        declarations = {type_id: node.declaration for type_id, node in self.types.items()}
        self.catalog = WorkflowCatalog(self.store.definitions, declarations)
        self.executor = Executor(self.runtime, self.catalog)
        self.service = Runs(self.runtime, self.catalog, self.executor)
        self.streams = EventStreams(self.runtime, self.executor)
        self.control = RunControl(self.runtime, self.executor)
        self.workflows = Workflows(self.runtime, self.catalog)

    def successor(self, **changes: Any) -> "EngineHarness":
        made = {**self._options, "store": self.store, "clock": self.clock, "ids": self.ids, **changes}
        return EngineHarness(*made.pop("types"), **made)

    async def restart(self, **changes: Any) -> "EngineHarness":
        """The next host over the same store, after this one has died."""
        await self.crash()
        return await self.take_over(**changes)

    async def take_over(self, **changes: Any) -> "EngineHarness":
        """The next host over the same store, which goes on with its runs."""
        after = self.successor(**changes)
        await after.executor.recover()
        return after

    async def open(self) -> Self:
        await self.store.open()
        await self.signer.load()
        if self.blobs is not None:
            await self.blobs.open()
        return self

    async def start(self, document: dict[str, Any], *, at_once: bool = True, **request: Any) -> RunKey:
        """A new run. With `at_once` its first steps are a part of its creation, else it is left to its own loop."""
        await self.open()
        assert await self.catalog.register(document) == []
        if not at_once:
            self.start_unprepared()
        outcome = await self.service.create_run(CALLER, {"workflowId": document["id"], **request})
        return CALLER.run(outcome.run_id)

    async def with_run(self, document: dict[str, Any], **request: Any) -> tuple[Self, RunKey]:
        return self, await self.start(document, **request)

    async def with_settled_run(self, document: dict[str, Any], **request: Any) -> tuple[Self, RunKey]:
        """The host and a run that is as far as it gets without time."""
        key = await self.start(document, **request)
        await run_ready_tasks()
        return self, key

    async def with_gated_run(self, document: dict[str, Any], **request: Any) -> tuple[Self, RunKey]:
        """The host and a run with a node that waits at the gate."""
        key = await self.start(document, **request)
        await until(lambda: self.gate_node.waiting)
        return self, key

    async def with_ended_run(self, document: dict[str, Any], **request: Any) -> tuple[Self, RunKey]:
        return self, await self.execute(document, **request)

    async def execute(self, document: dict[str, Any], **request: Any) -> RunKey:
        key = await self.start(document, **request)
        await self.run_to_end(key)
        return key

    def start_unprepared(self) -> None:
        """From now on new runs are left to their own loop."""

        async def create(header: RunHeader, plan: Plan, inputs: dict[str, Any], is_new: bool) -> tuple[LiveRun, None]:
            return self.executor._make_live(RunState(plan, header, inputs)), None

        self.executor._prepare = create

    async def events(self, key: RunKey) -> list[Event]:
        return await self.store.log.read(key, -1, 100_000)

    async def event_types(self, key: RunKey) -> list[str]:
        return [event.type for event in await self.events(key)]

    async def payloads(self, key: RunKey, kind: str) -> list[dict[str, Any]]:
        return [msgspec.json.decode(event.payload) for event in await self.events(key) if event.type == kind]

    async def payload(self, key: RunKey, kind: str) -> dict[str, Any]:
        """That of the only event of this type."""
        (found,) = await self.payloads(key, kind)
        return found

    async def stored_run(self, key: RunKey) -> StoredRun:
        stored = await self.store.log.read_run(key)
        assert stored is not None
        return stored

    async def facts(self, key: RunKey) -> list[Fact]:
        """The log as the fold sees it, with hidden values put back."""
        removed = await self._hidden_values(key)
        return [fact_of_event(event, removed[event.sequence]) for event in await self.events(key)]

    async def _hidden_values(self, key: RunKey) -> defaultdict[int, list[tuple[str, Any]]]:
        removed: defaultdict[int, list[tuple[str, Any]]] = defaultdict(list)
        for each in await self.store.log.hidden_values(key):
            removed[each.sequence].append((each.pointer, msgspec.json.decode(each.value)))
        return removed

    async def state(self, key: RunKey, count: int | None = None) -> RunState:
        """The fold of what is stored, or of the first events of it."""
        header = (await self.stored_run(key)).header
        plan = await self.catalog.pinned_plan(header.workflow_id, header.definition)
        if count is None:
            return await load_state(self.store.log, header, plan)
        inputs = reveal(deepcopy(header.inputs), (await self._hidden_values(key))[-1])
        return fold(plan, header, inputs, (await self.facts(key))[:count])

    async def status(self, key: RunKey) -> str:
        return (await self.stored_run(key)).projection.status

    async def settled_status(self, key: RunKey) -> str:
        """The status of a run that is as far as it gets without time."""
        await settle()
        return await self.status(key)

    async def advance(self, milliseconds: int) -> None:
        """Let the clock strike once, and everything that can go on go on."""
        self.clock.advance(milliseconds)
        await run_ready_tasks()

    async def release(self, node_id: str, outcome: NodeOutcome | None = None) -> None:
        """Let a node go that waits at the gate, and everything go on as far as it gets without time."""
        self.gate_node.release(node_id, outcome)
        await settle()

    async def run_to_end(self, key: RunKey, release: str | None = None) -> list[Event]:
        """Release the node at the gate, and go on, with as much time as it takes, until the run has ended; its log."""
        if release is not None:
            self.gate_node.release(release)
        for _ in range(MAX_LOOP_TURNS):
            if await self.status(key) in TERMINAL_STATUSES:
                return await self.events(key)
            await run_ready_tasks()
            if self.clock.next_wake is not None:
                self.clock.advance(self.clock.next_wake - self.clock.now())
        raise AssertionError(f"the run does not end: {await self.event_types(key)}")

    async def answer(
        self, key: RunKey, value: Any, node_id: str = "ask", by: Answerer = ANSWERER, interrupt_id: str = ""
    ) -> Any:
        """How the run stands once somebody has answered; the run itself if it is over."""
        given = AnswerReceived(node_id, value, by, self.clock.now(), interrupt_id)
        return await self.executor.request(key, given, None)

    async def cancel(self, key: RunKey, reason: str | None = None) -> Any:
        """How the run stands then, or how it ended; None if there is none."""
        answer = await self.executor.request(key, CancelRequested(reason))
        return answer.projection.status if isinstance(answer, StoredRun) else answer

    async def close(self) -> None:
        await self.executor.close()

    async def crash(self) -> None:
        """Everything in the process ends where it stands; only the store is left."""
        self.process_log.dead = True
        self.executor._child_messages.close()
        for live in list(self.executor._live.values()):
            # Nothing of it is heard any more, not even that it was cancelled.
            live._closing = True
            live._activity.close()
        for _ in range(100):
            # The end of one may begin another, or take some turns.
            if not (tasks := background_tasks()):
                return
            for task in tasks:
                task.cancel()
            await run_ready_tasks()
        await asyncio.gather(*background_tasks(), return_exceptions=True)


def waiting_node_type(type_id: str, work: Callable[[NodeCall, NodeContext], Awaitable[NodeOutcome]]) -> WaitingNode:
    return WaitingNode(NodeDeclaration(type_id, "For one test.", instant=False), work)
