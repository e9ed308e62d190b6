"""The engine under a test's thumb: built-in nodes that wait for the test, a log that kills, a driver of runs."""

import asyncio
import random
from collections.abc import Callable
from typing import Any

import msgspec

from tests.harness.definitions import NODE_TYPES
from tests.harness.engine_harness import EngineHarness, run_ready_tasks
from tests.simulation.fold_driver import Chooser, answer_to
from tests.simulation.random_workflows import FLAKY, INPUTS
from weftwork.adapters.nodes.builtin import BUILTIN_TYPES
from weftwork.engine.decide.inputs import AnswerReceived, Input, PauseRequested, ResumeRequested
from weftwork.engine.run.replay import fact_of_event
from weftwork.ports.node_outcome import NodeOutcome
from weftwork.ports.nodes import InstantNode, NodeCall, NodeContext, WaitingNode
from weftwork.ports.storage.event_log import SequenceConflict, StoreUnavailable
from weftwork.protocol.fold.fold import fold
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.limits import Limits
from weftwork.protocol.people.approvals import Answerer
from weftwork.protocol.privacy.redaction import reveal
from weftwork.protocol.run.events import Fact
from weftwork.protocol.run.header import DRAIN_POLICIES, TERMINAL_STATUSES, RunKey

ADVANCE_CLOCK = "the clock"
NOT_COMPARED = ("plan", "header", "changed_rows", "condition_budget", "hidden_values")
COMPARED_FIELDS = [name for name in RunState.__struct_fields__ if name not in NOT_COMPARED]


class CheckedLog:
    """A log that compares every append with the live run, and can kill the process before or after one of them."""

    def __init__(self, log: Any) -> None:
        self._log = log
        self.seen: Callable[[RunKey], Any] | None = None
        self.kills: set[tuple[int, str]] = set()
        self.fails: Callable[[], str | None] = lambda: None
        """Says of each append whether it is `down`, a `conflict`, or durable with its answer `lost`."""
        self.appends = 0
        self.died = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    async def append(self, key: RunKey, expected: int, batch: Any) -> Any:
        number, self.appends = self.appends, self.appends + 1
        await self._kill(number, "before")
        fate = self.fails()
        if fate == "down":
            raise StoreUnavailable("no disk")
        if fate == "conflict":
            raise SequenceConflict("somebody else")
        result = await self._log.append(key, expected, batch)
        if fate == "lost":
            raise StoreUnavailable("no answer")
        if self.seen is not None:
            await self.seen(key)
        await self._kill(number, "after")
        return result

    async def _kill(self, number: int, when: str) -> None:
        if (number, when) in self.kills:
            self.died = True
            await asyncio.get_running_loop().create_future()


class RunDriver:
    """A bench on which every node, but for those of the types in `instant`, ends only when it is let go."""

    def __init__(self, instant: frozenset[str] = frozenset(), parallel: int = 16) -> None:
        self._waiting: dict[str, asyncio.Future[None]] = {}
        types = [
            self._gated_node(each)
            for each in (*BUILTIN_TYPES, FLAKY)
            if isinstance(each, InstantNode) and each.declaration.type_id not in instant
        ]
        self.engine = EngineHarness(*types, limits=Limits(max_parallel_nodes=parallel), wrap=CheckedLog)
        self.key = RunKey("", "")
        self.crashes = 0
        self.fails: Callable[[], str | None] = lambda: None
        self._install_checks()

    def _gated_node(self, node_type: InstantNode) -> WaitingNode:
        async def work(call: NodeCall, context: NodeContext) -> NodeOutcome:
            gate = self._waiting[call.node_id] = asyncio.get_running_loop().create_future()
            try:
                await gate
            finally:
                if self._waiting.get(call.node_id) is gate:
                    del self._waiting[call.node_id]
            if node_type is FLAKY:
                failures = self.live_state.nodes[call.node_id].failures
                call = msgspec.structs.replace(call, inputs={**call.inputs, "failures": failures})
            return node_type.run(call)

        return WaitingNode(msgspec.structs.replace(node_type.declaration, instant=False), work)

    @property
    def live_state(self) -> RunState:
        live = self.engine.executor._live.get(self.key)
        assert live is not None
        return live.state

    async def state(self) -> RunState:
        """The run as it stands: in memory, or parked."""
        live = self.engine.executor._live.get(self.key)
        return live.state if live is not None else await self.folded()

    async def start(self, document: dict[str, Any], at_once: bool = True) -> "RunDriver":
        self.key = await self.engine.start(document, at_once=at_once, inputs=INPUTS)
        return self

    def _install_checks(self) -> None:
        async def seen(key: RunKey) -> None:
            """fold-01: what the live run holds is the fold of what is durable, at every append."""
            live = self.engine.executor._live.get(key)
            if live is not None:
                folded = await self.folded()
                for name in COMPARED_FIELDS:
                    assert getattr(folded, name) == getattr(live.state, name), name

        self.engine.log.seen = seen
        self.engine.log.fails = lambda: self.fails()

    async def facts(self) -> list[Fact]:
        log = self.engine.store.log
        removed: dict[int, list[tuple[str, Any]]] = {}
        for each in await log.hidden_values(self.key):
            removed.setdefault(each.sequence, []).append((each.pointer, msgspec.json.decode(each.value)))
        return [fact_of_event(event, removed.get(event.sequence, ())) for event in await self.engine.events(self.key)]

    async def folded(self, count: int | None = None) -> RunState:
        """The fold of the log, or of its first events."""
        header = (await self.engine.stored_run(self.key)).header
        plan = await self.engine.catalog.pinned_plan(header.workflow_id, header.definition)
        hidden = [each for each in await self.engine.store.log.hidden_values(self.key) if each.sequence == -1]
        values = [(each.pointer, msgspec.json.decode(each.value)) for each in hidden]
        inputs = reveal(msgspec.json.decode(msgspec.json.encode(header.inputs)), values)
        return fold(plan, header, inputs, (await self.facts())[:count])

    async def crash(self) -> None:
        self.crashes += 1
        await self.engine.crash()
        self._waiting.clear()
        self.engine = self.engine.successor(wrap=CheckedLog)
        self._install_checks()
        await self.engine.executor.recover()

    async def available_actions(self) -> list[str]:
        """What the test can let happen now."""
        await run_ready_tasks()
        for _ in range(50):
            state = await self.state()
            suspended = sorted(state.suspended) if state.status != "paused" else []
            waiting = sorted(name for name, gate in self._waiting.items() if not gate.done())
            found = [*waiting, *suspended, *([ADVANCE_CLOCK] if self.engine.clock.next_wake is not None else [])]
            if found or self.engine.log.died or await self.engine.status(self.key) in (*TERMINAL_STATUSES, "paused"):
                return found
            await run_ready_tasks()
        raise AssertionError(f"the run stands still: {await self.engine.event_types(self.key)}")

    async def perform(self, what: str) -> None:
        if what == ADVANCE_CLOCK:
            wake = self.engine.clock.next_wake
            self.engine.clock.advance((wake or 0) - self.engine.clock.now())
        elif what in self._waiting:
            self._waiting[what].set_result(None)
        else:
            await self.send(AnswerReceived(what, answer_to(what), Answerer("somebody"), self.engine.clock.now()))

    async def send(self, given: Input) -> None:
        """Ask something of the run. Whatever the answer is, the log tells what came of it."""
        asked = asyncio.create_task(self.engine.executor.request(self.key, given, None))
        asked.add_done_callback(retrieve_exception)
        await run_ready_tasks()

    async def finish(self, choose: Chooser, together: Callable[[], bool] = lambda: False) -> RunState:
        """Let everything happen, one thing after the other or several `together`, until the run has ended."""
        for _ in range(2_000):
            found = await self.available_actions()
            if self.engine.log.died:
                await self.crash()
            elif await self.engine.status(self.key) in TERMINAL_STATUSES:
                return await self.folded()
            while found:
                await self.perform(found.pop(found.index(choose(found))))
                if not together():
                    break
        raise AssertionError("the run does not end")


def retrieve_exception(task: "asyncio.Task[Any]") -> None:
    if not task.cancelled():
        task.exception()


def random_instant_types(dice: random.Random) -> frozenset[str]:
    """Types to leave as they are, which end as soon as they start."""
    return frozenset(name for name in NODE_TYPES if dice.random() < 0.5) if dice.random() < 0.5 else frozenset()


async def run_with_faults(gated: RunDriver, dice: random.Random, crashes: bool, pauses: bool) -> RunState:
    """Let a run happen with crashes and pauses on the way; after a while nothing more gets in its way."""
    for turn in range(2_000):
        found = await gated.available_actions()
        status = await gated.engine.status(gated.key)
        if status in TERMINAL_STATUSES:
            return await gated.folded()
        fate = dice.random() if turn < 60 else 1.0
        if crashes and fate < 0.1:
            await gated.crash()
        elif pauses and fate < 0.25:
            await gated.send(PauseRequested(dice.choice(DRAIN_POLICIES)))
        elif status == "paused" and (not found or dice.random() < 0.5):
            await gated.send(ResumeRequested())
        elif found:
            await gated.perform(dice.choice(found))
    raise AssertionError("the run does not end")
