"""Runs that wait for people while everything around them breaks, and people who say what they like."""

import asyncio
import random
from collections import Counter
from typing import Any

from tests.harness.engine_harness import EngineHarness, run_ready_tasks
from tests.simulation.interrupts.interrupt_oracle import SentAnswer, check_end, check_idle
from tests.simulation.interrupts.interrupt_store import UnreliableInterruptLog
from tests.simulation.interrupts.interrupt_workflows import ANSWERERS, SECRET, AskingNodes, random_answer, random_value
from tests.simulation.run_driver import RunDriver
from tests.simulation.run_driver import retrieve_exception as heard
from weftwork.adapters.nodes.builtin import BUILTIN_TYPES
from weftwork.engine.decide.inputs import AnswerReceived, CancelRequested, Input, PauseRequested, ResumeRequested
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.limits import Limits
from weftwork.protocol.people.approvals import Answerer
from weftwork.protocol.run.effects import effect_key
from weftwork.protocol.run.header import DRAIN_POLICIES, TERMINAL_STATUSES
from weftwork.protocol.run.interrupts import InterruptState

STORE_FAULT_RATES = {"down": 0.03, "conflict": 0.02, "lost": 0.04}
DAY = 86_400_000
ACTION_WEIGHTS: dict[str, int] = {
    "answer": 30,
    "wrong": 8,
    "repeat": 4,
    "together": 6,
    "tick": 6,
    "wake": 12,
    "days": 2,
    "back": 3,
    "crash": 4,
    "kill": 3,
    "close": 3,
    "pause": 4,
    "resume": 6,
    "hangup": 3,
    "cancel": 1,
}
MAX_ALARM_LOOKS = 40
"""Looks of the alarm between two quiet moments, in which no time passes."""


class InterruptSchedule(RunDriver):
    """One run, over as many processes as it takes. `moves` says how often what happens."""

    def __init__(self, dice: random.Random, moves: dict[str, int] | None = None, fates: bool = True) -> None:
        super().__init__(frozenset(each.declaration.type_id for each in BUILTIN_TYPES))
        self.rng = dice
        self.asking_nodes = AskingNodes()
        self.action_weights = moves or ACTION_WEIGHTS
        self.faults_enabled = self.had_faults = fates
        self.visits: dict[str, int] = {}
        self.document: dict[str, Any] = {}
        self.at_once = True
        self.tag_prefix = "tag"
        self.has_exact_times = not fates and not any(
            self.action_weights.get(each) for each in ("tick", "days", "back", "close")
        )
        """Time passes only from one thing that is waited for to the next."""
        self.names_interrupts = False
        """Whoever answers says which question."""
        self.answer = random_answer
        self.sent_answers: list[SentAnswer] = []
        self.pending_requests: set[asyncio.Task[Any]] = set()
        self.action_counts: Counter[str] = Counter()
        self.clock_rollback_ms = 0
        limits = Limits(max_parallel_nodes=dice.choice([1, 2, 16]))
        self.engine = EngineHarness(*self.asking_nodes.types(), limits=limits, wrap=UnreliableInterruptLog)
        self._install_checks()

    def _install_checks(self) -> None:
        self.engine.log.fails = self._next_fault

    def _next_fault(self) -> str | None:
        if not self.faults_enabled:
            return None
        return next((fate for fate, often in STORE_FAULT_RATES.items() if self.rng.random() < often), None)

    async def start_run(self, document: dict[str, Any], **configurable: Any) -> "InterruptSchedule":
        self.document, self.at_once = document, self.rng.random() < 0.7
        for _ in range(50):
            try:
                await self.engine.start(
                    document,
                    at_once=self.at_once,
                    inputs={"hidden": SECRET},
                    configurable=configurable,
                )
            except StoreUnavailable:
                self.action_counts["lost"] += self.engine.log.made is not None
            if self.engine.log.made is not None:
                self.key = self.engine.log.made.key
                return self
        raise AssertionError("no run was ever made")

    async def run_random(self, turns: int) -> None:
        """Let anything happen, for so many turns or until the run has ended."""
        for _ in range(turns):
            await self.settle()
            if await self.engine.status(self.key) in TERMINAL_STATUSES:
                return
            (move,) = self.rng.choices(list(self.action_weights), list(self.action_weights.values()))
            self.action_counts[move] += 1
            await getattr(self, f"_{move}")()

    async def settle(self) -> None:
        """Until nothing happens without time, and look at it."""
        self.engine.log.looks = 0
        for _ in range(4):
            await run_ready_tasks()
            if self.engine.log.died:
                await self._crash()
        assert self.engine.log.looks <= MAX_ALARM_LOOKS, (
            f"the alarm looked {self.engine.log.looks} times while no time passed"
        )
        await check_idle(self)

    async def run_to_end(self) -> RunState:
        """Nothing more gets in the way, and whoever is asked answers: the run ends."""
        self.faults_enabled = False
        self.engine.log.kills = set()
        for turn in range(1_500):
            await self.settle()
            state = await self.folded()
            if state.is_terminal:
                await self._await_responses()
                return await check_end(self)
            clock = self.engine.clock
            waiting = await self._open_interrupts()
            if state.status == "paused" and (clock.next_wake is None or turn % 2):
                await self.send(ResumeRequested())
            elif waiting and (clock.next_wake is None or turn % 3):
                self._send_answer(self.rng.choice(waiting))
            elif clock.next_wake is not None:
                clock.advance(max(0, clock.next_wake - clock.now()))
            else:
                # Whoever asked may have been told that the store was away, just now.
                await run_ready_tasks()
        raise AssertionError(f"the run does not end: {await self.engine.event_types(self.key)}")

    # What may happen.

    def _send_answer(self, asked: InterruptState) -> None:
        tag = f"{self.tag_prefix}-{len(self.sent_answers)}."
        value, by = self.answer(self.rng, asked, tag, lambda step: self._has_happened(asked.node_id, step))
        self.send_answer(
            asked.node_id,
            value,
            by,
            tag,
            asked.interrupt_id if self.names_interrupts or self.rng.random() < 0.5 else "",
        )

    def send_answer(self, node_id: str, value: Any, by: Answerer, tag: str, interrupt_id: str = "") -> None:
        given = AnswerReceived(node_id, value, by, self.engine.clock.now(), interrupt_id)
        said = SentAnswer(given, tag)
        self.sent_answers.append(said)
        said.task = self._send(given)

    def _send(self, given: Input) -> asyncio.Task[Any]:
        task = asyncio.create_task(self.engine.executor.request(self.key, given, None))
        task.add_done_callback(heard)
        self.pending_requests.add(task)
        return task

    async def _await_responses(self) -> None:
        """Until everybody was told something: who asks while the store is away may have to wait for it."""
        for _ in range(100):
            await run_ready_tasks()
            if all(task.done() for task in self.pending_requests):
                return
            await self._wake()
        raise AssertionError("somebody is never told")

    async def send(self, given: Input) -> None:
        self._send(given)

    def _has_happened(self, node_id: str, step: str) -> bool:
        visit = self.visits.get(node_id, 0)
        return self.asking_nodes.effect_counts[effect_key("acme", self.key.run_id, node_id, visit, f"step:{step}")] > 0

    async def _open_interrupts(self) -> list[InterruptState]:
        state = await self.folded()
        self.visits = {node_id: node.visits for node_id, node in state.nodes.items()}
        return [each for each in state.interrupts.values() if each.status == "open"]

    async def _answer(self) -> None:
        if found := await self._open_interrupts():
            self._send_answer(self.rng.choice(found))

    async def _wrong(self) -> None:
        state = await self.folded()
        nodes = [*state.nodes, "nobody"]
        tag = f"{self.tag_prefix}-{len(self.sent_answers)}."
        name = self.rng.choice(["", "", "n0.1", "n0.2", "n1.1"])
        if not any(each.data.get("customKind") == "weftwork.effect-unknown" for each in await self._open_interrupts()):
            self.send_answer(self.rng.choice(nodes), random_value(self.rng, tag), self.rng.choice(ANSWERERS), tag, name)

    async def _repeat(self) -> None:
        """Word for word. One that was not taken, or does not name its question, may well be taken this time."""
        if self.sent_answers:
            before = self.rng.choice(self.sent_answers)
            given = before.given
            before.tag = before.tag if given.interrupt_id and before.result == "taken" else ""
            if not isinstance(given.value, dict) or "outcome" not in given.value:
                self.send_answer(given.node_id, given.value, given.by, "", given.interrupt_id)

    async def _together(self) -> None:
        moves = [each for each in ("answer", "wrong", "resume") if self.action_weights.get(each)]
        for _ in range(self.rng.randint(2, 5)):
            await getattr(self, f"_{self.rng.choice(moves)}")()

    async def _hangup(self) -> None:
        """Somebody does not wait for what became of it, or the connection broke."""
        await self.rng.choice([self._answer, self._resume])()
        for _ in range(self.rng.randrange(8)):
            await asyncio.sleep(0)
        for task in self.pending_requests:
            task.cancel()

    async def _tick(self) -> None:
        self.engine.clock.advance(self.rng.choice([1, 10, 100, 1000]))

    async def _wake(self) -> None:
        clock = self.engine.clock
        if clock.next_wake is not None:
            clock.advance(max(0, clock.next_wake - clock.now()))

    async def _days(self) -> None:
        self.engine.clock.advance(self.rng.choice([1, 40]) * DAY)

    async def _back(self) -> None:
        milliseconds = self.rng.choice([1, 500, 60_000])
        self.clock_rollback_ms += milliseconds
        self.engine.clock.advance(-milliseconds)

    async def _pause(self) -> None:
        await self.send(PauseRequested(self.rng.choice(DRAIN_POLICIES)))

    async def _resume(self) -> None:
        await self.send(ResumeRequested())

    async def _cancel(self) -> None:
        await self.send(CancelRequested())

    async def _kill(self) -> None:
        log = self.engine.log
        log.kills = {(log.appends + self.rng.randrange(3), self.rng.choice(["before", "after"]))}

    async def _crash(self) -> None:
        await self.engine.crash()
        await self._start_successor()

    async def _close(self) -> None:
        """The process ends in peace: the store is there."""
        troubled, self.faults_enabled = self.faults_enabled, False
        self.engine.log.kills = set()
        closing = asyncio.create_task(self.engine.close())
        for _ in range(20):
            await run_ready_tasks()
            clock = self.engine.clock
            if closing.done():
                break
            if clock.next_wake is not None:
                clock.advance(max(0, clock.next_wake - clock.now()))
        await closing
        await self.engine.crash()
        self.faults_enabled = troubled
        await self._start_successor()

    async def _start_successor(self) -> None:
        self.pending_requests.clear()
        for _ in range(50):
            kept = self.engine.log._log
            self.engine = self.engine.successor(wrap=UnreliableInterruptLog)
            self.engine.log._log.batches, self.engine.log._log.creation = kept.batches, kept.creation
            self._install_checks()
            try:
                await self.engine.executor.recover()
                return
            except StoreUnavailable:
                # As a host does that is started again.
                await self.engine.crash()
        raise AssertionError("the host never started")

    async def from_prefix(self, count: int) -> "InterruptSchedule":
        """The same run in another world, where the host died after so many commits."""
        other = InterruptSchedule(self.rng, fates=False)
        kept = self.engine.log._log
        log = other.engine.store.log
        await other.engine.store.open()
        await other.engine.catalog.register(self.document)
        at_once = bool(kept.batches) and kept.batches[0].events[0].sequence == 0 and self.at_once
        header, hidden = kept.creation
        batches = kept.batches[:count]
        await log.create(header, hidden, None, False, batches.pop(0) if at_once else None)
        for batch in batches:
            await log.append(header.key, batch.events[0].sequence - 1, batch)
        other.key, other.document, other.tag_prefix = header.key, self.document, "other"
        other.engine.log._log.creation, other.engine.log._log.batches = kept.creation, kept.batches[:count]
        other.engine.clock.advance(self.engine.clock.now() - other.engine.clock.now())
        await other.engine.executor.recover()
        return other
