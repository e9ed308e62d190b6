"""Runs that touch the world while everything around them breaks, and a person who looks before answering."""

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

from tests.engine.run.test_event_logs import check_caches
from tests.harness.engine_harness import EngineHarness, run_ready_tasks
from tests.simulation.effects.effect_workflows import (
    RECEIPT,
    SECRET,
    GatedExternalSystem,
    Identity,
    expected_effects,
    key_maker,
)
from tests.simulation.random_schedule import RandomSchedule, Weights
from weftwork.engine.decide.inputs import AnswerReceived
from weftwork.ports.storage.event_log import EventLog
from weftwork.protocol.limits import Limits
from weftwork.protocol.people.approvals import Answerer
from weftwork.protocol.run.effects import UNKNOWN_OUTCOME_KIND
from weftwork.protocol.run.events import EFFECT_CLAIMED, EFFECT_RECORDED, MAP_ITEM, Fact
from weftwork.protocol.run.header import TERMINAL_STATUSES, RunKey
from weftwork.protocol.run.interrupts import InterruptState
from weftwork.protocol.run.projection import StoredRun
from weftwork.protocol.workflow.node_types import Effect

ACTION_WEIGHTS: Weights = {
    "release": 55,
    "answer": 8,
    "wake": 12,
    "resume": 8,
    "crash": 7,
    "kill": 4,
    "close": 4,
    "pause": 8,
    "cancel": 0.4,
}
FAULTY_TURNS = 70
"""Turns after which nothing more gets in the way of a run."""
CUTTING_ERRORS = ("node_timeout", "map_item_failed")
"""Failures that cut off what is under way: of a node, or of others in a map."""

EffectPlace = tuple[str, str, str]
"""Node, item, step."""


@dataclass
class EffectHistory:
    """Claims are known by the ids of their events."""

    interrupts: list[tuple[EffectPlace, str]] = field(default_factory=list)
    """What somebody was asked about, with the claim."""
    cut_claims: set[str] = field(default_factory=set)
    """Claims that were cut off by a failure, and not by the end of a process."""
    cut_count: int = 0
    """How often something was cut off so, whether it was claimed or not."""


def effect_history(facts: list[Fact]) -> EffectHistory:
    """Reads the log without the fold, which is what is to be proved."""
    story = EffectHistory()
    claims: dict[EffectPlace, str] = {}
    for event in facts:
        payload, node_id = event.payload, event.node_id or ""
        where = (node_id, payload.get("item", ""), payload.get("step", ""))
        if event.type == EFFECT_CLAIMED:
            claims[where] = event.event_id
        elif event.type == EFFECT_RECORDED:
            claims.pop(where)
        elif event.type in ("node.completed", "node.failed", MAP_ITEM):
            item = str(payload["index"]) if event.type == MAP_ITEM else None
            claims = {
                each: claim for each, claim in claims.items() if each[0] != node_id or item not in (None, each[1])
            }
        elif event.type == "node.retried":
            # Whoever is tried again as a whole has said that it did not happen.
            claims.pop((node_id, "", ""), None)
            if payload["lastError"]["code"] in CUTTING_ERRORS:
                story.cut_count += 1
                story.cut_claims |= {claim for each, claim in claims.items() if each[0] == node_id}
        elif event.type == "interrupt.requested" and payload["data"].get("customKind") == UNKNOWN_OUTCOME_KIND:
            about = payload["data"]["payload"]
            where = (node_id, about.get("item", ""), about.get("step", ""))
            story.interrupts.append((where, claims[where]))
    return story


class EffectSchedule(RandomSchedule):
    fault_rates: Weights = {"down": 0.04, "conflict": 0.04, "lost": 0.08}  # noqa: RUF012
    checks_appends = True

    def __init__(self, external_system: GatedExternalSystem, rng: random.Random) -> None:
        limits = Limits(max_parallel_nodes=rng.choice([1, 2, 16]), max_nodes_per_tenant=rng.choice([0, 0, 1, 2]))
        super().__init__(rng, ACTION_WEIGHTS, *external_system.types(rng.choice([0, 0, 1])), limits=limits)
        self.external_system = external_system
        self.gates = external_system.gates
        self.expected: dict[Identity, Effect] = {}
        self.has_person = True
        self._unknown: set[str] = set()
        """Claims that were open when a process died."""

    async def start(self, *documents: dict[str, Any], **more: Any) -> Self:
        self.expected = expected_effects(documents[-1])
        return await super().start(*documents, at_once=self.rng.random() < 0.5, inputs={"hidden": SECRET}, **more)

    async def take_over(self, engine: EngineHarness, key: RunKey, document: dict[str, Any]) -> None:
        """Go on with a run whose processes are dead."""
        self.key, self.expected, self.documents = key, expected_effects(document), [document]
        self.engine, self.faults_enabled = engine, False
        await self._start_successor()

    async def on_death(self) -> None:
        self._unknown |= {claim for _, claim in await self.open_claims()}

    async def _close_engine(self) -> None:
        """The world answers what it was asked."""
        while (live := self.engine.executor._live.get(self.key)) is not None and live._store_away:
            await self._wake()
            await run_ready_tasks()
        await super()._close_engine()
        known = self._unknown | effect_history(await self.engine.facts(self.key)).cut_claims
        left = [where for where, claim in await self.open_claims() if claim not in known]
        assert not left, f"a host went away and left {left} open"

    @property
    def may_wait_for_ever(self) -> bool:
        return not self.has_person

    async def open_interrupts(self) -> list[tuple[StoredRun, InterruptState]]:
        found = await super().open_interrupts()
        return [each for each in found if self.has_person or each[1].data["customKind"] != UNKNOWN_OUTCOME_KIND]

    def _send_answer(self, stored: StoredRun, asked: InterruptState) -> None:
        visit = self._folded[self.key].nodes[asked.node_id].visits
        value = self._truthful_answer(asked.node_id, asked.data, visit)
        self._send(self.key, AnswerReceived(asked.node_id, value, Answerer("somebody"), self.engine.clock.now()))

    def _truthful_answer(self, node_id: str, data: dict[str, Any], visit: int) -> Any:
        """A truthful answer: whoever is asked what became of an effect looks whether the world has seen it."""
        if data.get("customKind") != UNKNOWN_OUTCOME_KIND:
            return "yes"
        about = data["payload"]
        place = f"{node_id}[{about['item']}]" if "item" in about else node_id
        if self._key((place, visit, about.get("step", ""))) not in self.external_system.received_keys:
            return {"outcome": "again"}
        return {"outcome": "done", "output": RECEIPT if "step" in about else {"round": visit}}

    @property
    def _key(self) -> Callable[[Identity], str]:
        return key_maker("acme", self.key.run_id)

    async def check_idle(self) -> None:
        await super().check_idle()
        assert not self.external_system.violations, self.external_system.violations
        check_once(self.external_system, self.key, self.expected)

    async def check_end(self) -> None:
        """What holds however the run has ended."""
        state = await self.folded()
        keys = {self._key(each): each for each in self.expected}
        counts = Counter(self.external_system.received_keys)
        assert set(counts) <= set(keys), "something happened that nobody wanted"
        if state.status == "completed":
            missing = [each for key, each in keys.items() if not counts[key]]
            assert not missing, f"{missing} never happened"
        else:
            assert state.status in ("failed", "cancelled") or not self.has_person
            assert state.status != "failed" or (state.error or {})["code"] in CUTTING_ERRORS, state.error
        events = await self.engine.events(self.key)
        assert not any(SECRET.encode() in event.payload for event in events), "what is hidden can be read"
        story = effect_history(await self.engine.facts(self.key))
        repeats = {keys[key]: count - 1 for key, count in counts.items() if count > 1}
        interruptions = story.cut_count + sum(self.action_counts[name] for name in ("crashes", "close", "pause"))
        assert all(count <= interruptions for count in repeats.values()), f"{repeats} for no reason"
        needless = [where for where, claim in story.interrupts if claim not in self._unknown | story.cut_claims]
        assert not needless, f"nobody had to be asked about {needless}"
        if state.status in ("completed", "failed"):
            await check_caches(self.engine, self.key)

    async def open_claims(self) -> list[tuple[EffectPlace, str]]:
        """Each effect of which the log does not know the outcome, with the claim."""
        state = await self.folded()
        return [
            ((node_id, place.item, place.step), known.claim)
            for node_id, each in state.nodes.items()
            if each.status in ("running", "retrying", "suspended", "pending")
            for place, known in each.effects.items()
            if known.status == "open"
        ]


def check_once(external_system: GatedExternalSystem, key: RunKey, expected: dict[Identity, Effect]) -> None:
    make = key_maker("acme", key.run_id)
    once = {make(each): each for each, effect in expected.items() if effect == "once"}
    for name, count in Counter(external_system.received_keys).items():
        assert count == 1 or name not in once, f"{once[name]} happened {count} times"


class GatedLog:
    """A log as one executor sees it: an append is sent, committed and answered, each when the test lets it."""

    def __init__(self, log: EventLog, world: GatedExternalSystem, name: str) -> None:
        self._log = log
        self._world = world
        self._name = name
        self._appends = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    async def append(self, *arguments: Any) -> Any:
        self._appends += 1
        await self._world.wait(f"{self._name} commits {self._appends}")
        try:
            return await self._log.append(*arguments)
        finally:
            await self._world.wait(f"{self._name} hears of {self._appends}")


class RivalExecutors:
    """The one that began the run, and one that takes it up from its log while the first is at work."""

    def __init__(self, dice: random.Random, document: dict[str, Any], *, fenced: bool) -> None:
        """Without `fenced` both have the same fence, so that only claims keep them apart."""
        self.rng = dice
        self.fenced = fenced
        self.external_system = GatedExternalSystem()
        self.document = document
        self.key = RunKey("", "")
        self.first = EngineHarness(
            *self.external_system.types(), wrap=lambda log: GatedLog(log, self.external_system, "first")
        )
        self.second = self.first.successor(wrap=lambda log: GatedLog(log, self.external_system, "second"))

    async def run_both(self, joins: int, choose: Callable[[list[str]], str]) -> None:
        """Both at work, the second one after so many turns, until nothing is left that could happen.

        Nobody answers a question yet.
        """
        self.key = await self.first.start(self.document, at_once=self.rng.random() < 0.5, inputs={"hidden": SECRET})
        joining: asyncio.Task[Any] | None = None
        for turn in range(3_000):
            await run_ready_tasks()
            if turn == joins:
                joining = asyncio.create_task(self._join())
                continue
            gates = sorted(name for name, gate in self.external_system.gates.items() if not gate.done())
            clock = self.first.clock
            if gates:
                self.external_system.gates[choose(gates)].set_result(None)
            elif clock.next_wake is not None:
                clock.advance(clock.next_wake - clock.now())
            elif turn > joins:
                break
            check_once(self.external_system, self.key, expected_effects(self.document))
        else:
            raise AssertionError("they do not come to an end")
        if joining is not None:
            await joining

    async def _join(self) -> None:
        if self.fenced:
            await self.second.executor.recover()
        else:
            self.second.runtime.fence.epoch = self.first.runtime.fence.epoch
            await self.second.executor._wake(self.key)

    async def finish(self) -> None:
        """Both die; the next one, and somebody who looks, bring the run to its end."""
        if await self.first.status(self.key) not in TERMINAL_STATUSES:
            storm = EffectSchedule(self.external_system, self.rng)
            await self.first.crash()
            await self.second.crash()
            await storm.take_over(self.first, self.key, self.document)
            await storm.finish()
        assert await self.first.status(self.key) == "completed"
        check_once(self.external_system, self.key, expected_effects(self.document))
        make = key_maker("acme", self.key.run_id)
        assert {make(each) for each in expected_effects(self.document)} == set(self.external_system.received_keys)
