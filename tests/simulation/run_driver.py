"""The engine under a test's thumb: built-in nodes that wait for the test, a log that kills, a driver of runs."""

import asyncio
import random
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from tests.harness.definitions import NODE_TYPES
from tests.harness.engine_harness import EngineHarness, run_ready_tasks
from tests.simulation.fold_driver import Chooser, answer_to
from tests.simulation.random_workflows import FLAKY, INPUTS
from tests.simulation.simulated_log import SimulatedLog
from weftwork.adapters.nodes.builtin import BUILTIN_TYPES
from weftwork.engine.decide.inputs import AnswerReceived, Input, PauseRequested, ResumeRequested
from weftwork.ports.node_outcome import NodeOutcome
from weftwork.ports.nodes import InstantNode, NodeCall, NodeContext, WaitingNode
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.limits import Limits
from weftwork.protocol.people.approvals import Answerer
from weftwork.protocol.run.batch import Batch
from weftwork.protocol.run.events import Fact
from weftwork.protocol.run.header import DRAIN_POLICIES, TERMINAL_STATUSES, RunKey

ADVANCE_CLOCK = "the clock"
FILLED_BY_LOADING = ("hidden_values", "hidden_variables", "hidden_credentials")
NOT_COMPARED = ("plan", "header", "changed_rows", "condition_budget", *FILLED_BY_LOADING)
APPENDS_FAIL = partial(SimulatedLog, faulty=("append",))
COMPARED_FIELDS = [name for name in RunState.__struct_fields__ if name not in NOT_COMPARED]


class RunDriver:
    """A bench on which every node, but for those of the types in `instant`, ends only when it is let go."""

    def __init__(self, instant: frozenset[str] = frozenset(), parallel: int = 16) -> None:
        self._waiting: dict[str, asyncio.Future[None]] = {}
        types = [
            self._gated_node(each)
            for each in (*BUILTIN_TYPES, FLAKY)
            if isinstance(each, InstantNode) and each.declaration.type_id not in instant
        ]
        self.engine = EngineHarness(*types, limits=Limits(max_parallel_nodes=parallel), wrap=APPENDS_FAIL)
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
        async def seen(key: RunKey, batch: Batch) -> None:
            """fold-01: what the live run holds is the fold of what is durable, at every append."""
            live = self.engine.executor._live.get(key)
            if live is not None:
                folded = await self.folded()
                for name in COMPARED_FIELDS:
                    assert getattr(folded, name) == getattr(live.state, name), name

        self.engine.log.seen = seen
        self.engine.log.fails = lambda: self.fails()

    async def facts(self) -> list[Fact]:
        return await self.engine.facts(self.key)

    async def folded(self, count: int | None = None) -> RunState:
        """The fold of the log, or of its first events."""
        return await self.engine.state(self.key, count)

    async def crash(self) -> None:
        self.crashes += 1
        await self.engine.crash()
        self._waiting.clear()
        self.engine = self.engine.successor(wrap=APPENDS_FAIL)
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
