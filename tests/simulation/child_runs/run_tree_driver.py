"""A village of runs over all the processes that it lives through."""

import asyncio
import random
from collections import Counter
from typing import Any, Self

from tests.harness.engine_harness import CALLER, EngineHarness, background_tasks, run_ready_tasks
from tests.simulation.child_runs.child_run_oracle import check_append, check_end, check_idle, check_quiescent
from tests.simulation.child_runs.child_run_store import UnreliableTreeLog
from tests.simulation.child_runs.child_run_workflows import ParentNodes
from tests.simulation.run_driver import retrieve_exception as heard
from weftwork.adapters.memory.store import MemoryStore
from weftwork.engine.decide.inputs import AnswerReceived, Input, ResumeRequested
from weftwork.ports import fault_points
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.ports.storage.run_queries import RunQuery
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.people.approvals import Answerer
from weftwork.protocol.run.batch import Batch
from weftwork.protocol.run.header import TERMINAL_STATUSES, RunKey
from weftwork.protocol.run.interrupts import InterruptState
from weftwork.protocol.run.projection import StoredRun

FAULT_RATES = {"down": 0.04, "lost": 0.08}
ACTION_WEIGHTS: dict[str, int] = {
    "answer": 25,
    "tick": 15,
    "wake": 25,
    "pause": 6,
    "resume": 8,
    "cancel": 3,
    "both": 2,
    "crash": 4,
    "kill": 15,
    "point": 12,
    "close": 2,
    "again": 4,
    "delete": 3,
    "rest": 3,
}
FAULT_POINTS = (
    *("kin.related", "kin.deliver", "kin.order", "append.published", "node.launch", "node.ended"),
    *("run.ended", "run.parked", "alarm.ring", "recover.run"),
)
ANSWERER = Answerer("key_somebody")


class RunTreeDriver:
    """One tree, over as many processes as it takes. `moves` says how often what happens."""

    def __init__(
        self, dice: random.Random, moves: dict[str, int] | None = None, troubled: bool = True, **bench: Any
    ) -> None:
        self.rng = dice
        self.action_weights = moves or ACTION_WEIGHTS
        self.faults_enabled = troubled
        self.max_delay_turns = dice.choice([0, 0, 3, 8]) if troubled else 0
        self.parent_nodes = ParentNodes(dice if troubled else random.Random(0))
        self.documents: list[dict[str, Any]] = []
        self.root_keys: list[RunKey] = []
        self.pending_requests: set[asyncio.Task[Any]] = set()
        self.action_counts: Counter[str] = Counter()
        self.deleted: set[RunKey] = set()
        self.started: dict[str, tuple[RunKey, str, str, bool]] = {}
        """Each child that any parent was durably said to have: parent, node, key, and whether it is waited for."""
        self.same_answer = False
        self.fault_rates = FAULT_RATES
        self._folded: dict[RunKey, RunState] = {}
        self.engine = EngineHarness(*self.parent_nodes.types(), wrap=UnreliableTreeLog, **bench)
        self.has_died = False
        self.has_store_threads = not isinstance(self.engine.store, MemoryStore)
        """The store has threads of its own, so that there is no telling by turns of the loop that it is idle."""
        self._install_checks()

    def _install_checks(self) -> None:
        log, mortal = self.engine.log, self.engine.process_log
        self.has_died = False

        def die() -> None:
            mortal.dead = self.has_died = True

        async def seen(key: RunKey, batch: Batch) -> None:
            await check_append(self, key, batch)

        log.fate, log.wait, log.seen, log.die = self._next_fault, self._delay_turns, seen, die

    def _next_fault(self) -> str | None:
        if not self.faults_enabled:
            return None
        return next((fate for fate, often in self.fault_rates.items() if self.rng.random() < often), None)

    def _delay_turns(self) -> int:
        return self.rng.randrange(self.max_delay_turns + 1) if self.max_delay_turns else 0

    async def start(self, documents: list[dict[str, Any]], trees: int = 1, **configurable: Any) -> Self:
        await self.engine.store.open()
        self.documents = documents
        await self._register()
        for _ in range(50):
            try:
                await self.engine.service.create_run(CALLER, {"workflowId": "top", "configurable": configurable})
            except StoreUnavailable:
                self.action_counts["lost"] += 1
            self.root_keys = [each.header.key for each in await self.runs() if each.header.parent is None]
            if len(self.root_keys) >= trees:
                return self
        raise AssertionError("no run was ever made")

    async def _register(self) -> None:
        """As a host does at its start, before runs go on."""
        for document in self.documents:
            wrong = await self.engine.catalog.register(document)
            assert wrong == [], wrong

    async def settle(self) -> None:
        """Until nothing happens without time, and look at it."""
        still = 0
        for _ in range(5_000):
            before = self.engine.log.calls
            await run_ready_tasks()
            if self.has_store_threads:
                await asyncio.sleep(0.001)
            if self.has_died:
                await self._crash()
            idle = self.engine.log.calls == before and not self.engine.log.busy and not _has_ready_tasks()
            still = still + 1 if idle else 0
            if still > 4 * self.has_store_threads:
                break
        else:
            raise AssertionError("it never comes to rest")
        await check_idle(self)

    async def finish(self) -> None:
        """Nothing more gets in the way, and whoever is asked answers: all runs end."""
        self._disarm_faults()
        self.faults_enabled = False
        left: list[StoredRun] = []
        for turn in range(3_000):
            await self.settle()
            left = await self.unfinished_runs()
            if not left:
                await self.await_quiescence()
                await self._await_responses()
                await check_end(self)
                return
            if turn % 40 == 39:
                await self.await_quiescence()
            clock = self.engine.clock
            paused = [each.header.key for each in left if each.projection.status == "paused"]
            waiting = await self._open_interrupts()
            if paused and (clock.next_wake is None or turn % 2):
                self._send(self.rng.choice(paused), ResumeRequested())
            elif waiting and (clock.next_wake is None or turn % 3):
                self._send_answer(*self.rng.choice(waiting))
            elif clock.next_wake is not None:
                await self._wake()
            else:
                await run_ready_tasks()
        lines = [f"{each.header.run_id} {each.header.workflow_id} {each.projection}" for each in left]
        raise AssertionError("runs do not end:\n" + "\n".join(lines))

    async def await_quiescence(self) -> None:
        """Some seconds in which nothing breaks: all word between runs has arrived."""
        troubled, self.faults_enabled = self.faults_enabled, False
        self._disarm_faults()
        for turn in range(200):
            await self.settle()
            if turn >= 60 and not self.engine.executor._child_messages._tasks:
                break
            self.engine.clock.advance(100)
        await check_quiescent(self)
        self.faults_enabled = troubled

    async def stop(self) -> None:
        """Nothing of it is left."""
        self._disarm_faults()
        await self._kill_process()

    async def _kill_process(self) -> None:
        """Everything in the process ends where it stands, even what does not heed it the first time."""
        self.engine.process_log.dead = True
        for live in list(self.engine.executor._live.values()):
            live._closing = True
            live._activity.close()
        for _ in range(100):
            for task in background_tasks():
                task.cancel()
            await run_ready_tasks()
            if not background_tasks():
                break
        await self.engine.crash()

    async def runs(self) -> list[StoredRun]:
        """All there are, oldest first."""
        found: list[StoredRun] = []
        query = RunQuery(limit=1_000)
        while True:
            page = await self.engine.store.queries.list_runs(CALLER.partition, query)
            found += page.runs
            if not page.more:
                return found[::-1]
            query = RunQuery(limit=1_000, before=page.last)

    async def folded(self, stored: StoredRun) -> RunState:
        """The fold of a log, kept until there is more of it."""
        key, last = stored.header.key, stored.projection.last_sequence
        known = self._folded.get(key)
        if known is None or known.last_sequence != last:
            known = self._folded[key] = await self.engine.state(key)
        return known

    async def unfinished_runs(self) -> list[StoredRun]:
        return [each for each in await self.runs() if each.projection.status not in TERMINAL_STATUSES]

    # What may happen.

    def _send(self, key: RunKey, given: Input) -> asyncio.Task[Any]:
        task = asyncio.create_task(self.engine.executor.request(key, given, None))
        task.add_done_callback(heard)
        self.pending_requests.add(task)
        return task

    def _send_answer(self, key: RunKey, workflow_id: str, asked: InterruptState) -> None:
        dice = random.Random(f"{workflow_id}{asked.node_id}") if self.same_answer else self.rng
        action = "accept" if dice.random() < 0.9 else "reject"
        value = {"action": action} if asked.kind == "approval" else {}
        given = AnswerReceived(asked.node_id, value, ANSWERER, self.engine.clock.now(), asked.interrupt_id)
        self._send(key, given)

    async def _await_responses(self) -> None:
        for _ in range(100):
            await run_ready_tasks()
            if all(task.done() for task in self.pending_requests):
                return
            await self._wake()
        raise AssertionError("somebody is never told")

    async def _open_interrupts(self) -> list[tuple[RunKey, str, InterruptState]]:
        found: list[tuple[RunKey, str, InterruptState]] = []
        for each in await self.unfinished_runs():
            if each.projection.status.startswith("waiting") or each.projection.status == "paused":
                state = await self.folded(each)
                opened = [asked for asked in state.interrupts.values() if asked.status == "open"]
                found += [(each.header.key, each.header.workflow_id, asked) for asked in opened]
        return found

    def _disarm_faults(self) -> None:
        fault_points._armed.clear()
        fault_points._pass_counts.clear()
        self.engine.log.kills = set()

    async def _wake(self) -> None:
        clock = self.engine.clock
        if clock.next_wake is not None:
            clock.advance(max(0, clock.next_wake - clock.now()))

    async def _crash(self) -> None:
        self.action_counts["crashes"] += 1
        await self._kill_process()
        await self._start_successor()

    async def _start_successor(self) -> None:
        self._disarm_faults()
        self.pending_requests.clear()
        # What the last process wrote is written before the next one reads.
        await self.engine.store.records.sweep(0)
        troubled = self.faults_enabled
        for attempt in range(20):
            self.engine = self.engine.successor(wrap=UnreliableTreeLog)
            self._install_checks()
            await self._register()
            # Many runs are loaded at a start: in the end the store is there for all of them.
            self.faults_enabled = troubled and attempt < 10
            try:
                await self.engine.executor.recover()
                self.faults_enabled = troubled
                return
            except StoreUnavailable:
                # As a host does that is started again.
                await self._kill_process()
        raise AssertionError("the host never started")


def _has_ready_tasks() -> bool:
    """Whether something is about to run, without time and without the store."""
    return bool(asyncio.get_running_loop()._ready)  # pyright: ignore[reportAttributeAccessIssue]
