"""Runs that wait for people while everything around them breaks, and people who say what they like."""

import asyncio
import random
from typing import Any, Self

from tests.simulation.interrupts.interrupt_oracle import (
    SentAnswer,
    check_end,
    check_index,
    check_unloaded,
)
from tests.simulation.interrupts.interrupt_workflows import ANSWERERS, SECRET, AskingNodes, random_answer, random_value
from tests.simulation.random_schedule import RandomSchedule, Weights
from weftwork.engine.decide.inputs import AnswerReceived
from weftwork.ports.nodes import NodeType
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.limits import Limits
from weftwork.protocol.people.approvals import Answerer
from weftwork.protocol.run.effects import effect_key
from weftwork.protocol.run.interrupts import InterruptState
from weftwork.protocol.run.projection import StoredRun

DAY = 86_400_000
ACTION_WEIGHTS: Weights = {
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


class InterruptSchedule(RandomSchedule):
    fault_rates: Weights = {"down": 0.03, "conflict": 0.02, "lost": 0.04}  # noqa: RUF012

    def __init__(
        self,
        rng: random.Random,
        weights: Weights | None = None,
        faults: bool = True,
        types: tuple[NodeType, ...] = (),
        **harness: Any,
    ) -> None:
        self.asking_nodes = AskingNodes()
        limits = Limits(max_parallel_nodes=rng.choice([1, 2, 16]))
        super().__init__(
            rng, weights or ACTION_WEIGHTS, *self.asking_nodes.types(), *types, faults=faults, limits=limits, **harness
        )
        self.visits: dict[str, int] = {}
        self.at_once = True
        self.tag_prefix = "tag"
        self.has_exact_times = not faults and not any(
            self.action_weights.get(each) for each in ("tick", "days", "back", "close")
        )
        """Time passes only from one thing that is waited for to the next."""
        self.names_interrupts = False
        """Whoever answers says which question."""
        self.answer = random_answer
        self.sent_answers: list[SentAnswer] = []

    async def start(self, *documents: dict[str, Any], **more: Any) -> Self:
        self.at_once = self.rng.random() < 0.7
        return await super().start(*documents, at_once=self.at_once, inputs={"hidden": SECRET}, **more)

    async def settle(self) -> None:
        self.engine.log.calls["due_runs"] = 0
        await super().settle()
        looks = self.engine.log.calls["due_runs"]
        assert looks <= MAX_ALARM_LOOKS, f"the alarm looked {looks} times while no time passed"

    async def check_idle(self) -> None:
        await super().check_idle()
        assert not self.asking_nodes.violations, self.asking_nodes.violations
        await check_index(self, await self.folded())

    def check_unloaded(self, state: RunState, due: int | None) -> None:
        check_unloaded(self, state, due)

    async def check_end(self) -> None:
        await check_end(self)

    async def open_interrupts(self) -> list[tuple[StoredRun, InterruptState]]:
        self.visits = {node_id: node.visits for node_id, node in (await self.folded()).nodes.items()}
        return await super().open_interrupts()

    # What may happen.

    def _send_answer(self, stored: StoredRun, asked: InterruptState) -> None:
        tag = self._next_tag()
        value, by = self.answer(self.rng, asked, tag, lambda step: self._has_happened(asked.node_id, step))
        named = self.names_interrupts or self.rng.random() < 0.5
        self.send_answer(asked.node_id, value, by, tag, asked.interrupt_id if named else "")

    def _next_tag(self) -> str:
        return f"{self.tag_prefix}-{len(self.sent_answers)}."

    def send_answer(self, node_id: str, value: Any, by: Answerer, tag: str, interrupt_id: str = "") -> None:
        given = AnswerReceived(node_id, value, by, self.engine.clock.now(), interrupt_id)
        self.sent_answers.append(SentAnswer(given, tag, self._send(self.key, given)))

    def _has_happened(self, node_id: str, step: str) -> bool:
        visit = self.visits.get(node_id, 0)
        return self.asking_nodes.effect_counts[effect_key("acme", self.key.run_id, node_id, visit, f"step:{step}")] > 0

    async def _wrong(self) -> None:
        nodes = [*(await self.folded()).nodes, "nobody"]
        tag = self._next_tag()
        name = self.rng.choice(["", "", "n0.1", "n0.2", "n1.1"])
        open_kinds = [asked.data.get("customKind") for _, asked in await self.open_interrupts()]
        if "weftwork.effect-unknown" not in open_kinds:
            self.send_answer(self.rng.choice(nodes), random_value(self.rng, tag), self.rng.choice(ANSWERERS), tag, name)

    async def _repeat(self) -> None:
        """Send an answer again, word for word."""
        if self.sent_answers:
            before = self.rng.choice(self.sent_answers)
            given = before.given
            if self._may_count_again(before):
                for each in self.sent_answers:
                    each.tag = each.tag if each.given.value != given.value else ""
            if not isinstance(given.value, dict) or "outcome" not in given.value:
                self.send_answer(given.node_id, given.value, given.by, "", given.interrupt_id)

    def _may_count_again(self, before: SentAnswer) -> bool:
        """Whether the host may take an answer a second time: the first was not taken, or names no interrupt, or
        was a vote that the voter may have changed since then."""
        given = before.given
        if not given.interrupt_id or before.result != "taken":
            return True
        later = self.sent_answers[self.sent_answers.index(before) + 1 :]
        return any(
            each.result != "refused"
            and each.given.node_id == given.node_id
            and each.given.value != given.value
            and _voter_names(each.given) & _voter_names(given)
            for each in later
        )

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

    async def _days(self) -> None:
        self.engine.clock.advance(self.rng.choice([1, 40]) * DAY)

    async def _back(self) -> None:
        milliseconds = self.rng.choice([1, 500, 60_000])
        self.clock_rollback_ms += milliseconds
        self.engine.clock.advance(-milliseconds)

    async def from_prefix(self, count: int) -> "InterruptSchedule":
        """The same run in another world, where the host died after so many commits."""
        other = InterruptSchedule(self.rng, faults=False)
        await other.engine.store.open()
        other.documents = self.documents
        await other._register()
        kept = self.history
        batches = kept.batches[:count]
        at_once = bool(batches) and batches[0].events[0].sequence == 0 and self.at_once
        header, hidden = kept.creation[:2]
        log = other.engine.store.log
        await log.create(header, hidden, None, False, batches[0] if at_once else None)
        for batch in batches[at_once:]:
            await log.append(header.key, batch.events[0].sequence - 1, batch)
        other.key, other.tag_prefix = header.key, "other"
        other.history.creation, other.history.batches = kept.creation, batches
        other.engine.clock.advance(self.engine.clock.now() - other.engine.clock.now())
        await other.engine.executor.recover()
        return other


def _voter_names(given: AnswerReceived) -> set[str]:
    """The names of whoever may have voted with an answer."""
    names = {given.by.principal, *given.by.aliases}
    if isinstance(given.value, dict) and isinstance(voter := given.value.get("voter"), str):
        names.add(voter)
    return names
