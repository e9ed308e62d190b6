"""Runs that touch the world while everything around them breaks, and a person who looks before answering."""

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

from tests.harness.engine_harness import EngineHarness, run_ready_tasks
from tests.simulation.effects.effect_history import CUTTING_ERRORS, EffectPlace, effect_history
from tests.simulation.effects.effect_workflows import (
    RECEIPT,
    SECRET,
    GatedExternalSystem,
    Identity,
    expected_effects,
    key_maker,
)
from tests.simulation.run_driver import ADVANCE_CLOCK, COMPARED_FIELDS, CheckedLog, RunDriver
from weftwork.adapters.nodes.builtin import BUILTIN_TYPES
from weftwork.engine.decide.inputs import AnswerReceived, CancelRequested, PauseRequested, ResumeRequested
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.limits import Limits
from weftwork.protocol.people.approvals import Answerer
from weftwork.protocol.run.effects import UNKNOWN_OUTCOME_KIND
from weftwork.protocol.run.header import DRAIN_POLICIES, TERMINAL_STATUSES, RunHeader, RunKey

STORE_FAULT_RATES = {"down": 0.04, "conflict": 0.04, "lost": 0.08}
FAULT_RATES = {
    "crash": 0.07,
    "kill": 0.04,
    "close": 0.04,
    "immediate": 0.05,
    "drain-current-node": 0.03,
    "cancel": 0.004,
}
FAULTY_TURNS = 70
"""Turns after which nothing more gets in the way of a run."""


class UnreliableLog(CheckedLog):
    """Also the creation of a run may fail, durable or not, and so may reading it again."""

    made: RunKey | None = None

    async def create(self, header: RunHeader, *more: Any) -> Any:
        fate = self.fails()
        if fate == "down":
            raise StoreUnavailable("no disk")
        result = await self._log.create(header, *more)
        self.made = header.key
        if fate == "lost":
            raise StoreUnavailable("no answer")
        return result

    async def read(self, *arguments: Any) -> Any:
        if self.fails() == "down":
            raise StoreUnavailable("no disk")
        return await self._log.read(*arguments)


class EffectSchedule(RunDriver):
    """One run, over as many processes as it takes."""

    def __init__(self, world: GatedExternalSystem, dice: random.Random) -> None:
        super().__init__(frozenset(each.declaration.type_id for each in BUILTIN_TYPES))
        self.external_system = world
        self.rng = dice
        self._waiting = world.gates
        limits = Limits(max_parallel_nodes=dice.choice([1, 2, 16]), max_nodes_per_tenant=dice.choice([0, 0, 1, 2]))
        self.engine = EngineHarness(*world.types(dice.choice([0, 0, 1])), limits=limits, wrap=UnreliableLog)
        self.has_person = True
        self.effect_interrupts = 0
        self.fault_counts: Counter[str] = Counter()
        """What went wrong, how often."""
        self._unknown: set[str] = set()
        """Claims that were open when a process died."""
        self._differences: list[str] = []
        self._install_checks()

    def _install_checks(self) -> None:
        async def seen(key: RunKey) -> None:
            """fold-01: what the live run holds is the fold of what is durable, at every append."""
            live = self.engine.executor._live.get(key)
            if live is not None and key == self.key:
                folded = await self.folded()
                # Kept, because what is raised here is the host's own failure.
                self._differences += [
                    name for name in COMPARED_FIELDS if getattr(folded, name) != getattr(live.state, name)
                ]

        self.engine.log.seen = seen
        self.engine.log.fails = lambda: self.fails()

    async def crash(self) -> None:
        """The process dies, and the next one takes over."""
        self.fault_counts["crash"] += 1
        await self.engine.crash()
        self._unknown |= {claim for _, claim in await self.open_claims()}
        await self._start_successor()

    async def _start_successor(self) -> None:
        self.external_system.gates.clear()
        self.engine = self.engine.successor(wrap=UnreliableLog)
        await self.engine.executor.recover()
        self._install_checks()

    async def close(self) -> None:
        """The process ends in peace: the store is there, and the world answers what it was asked."""
        self.fault_counts["close"] += 1
        fails, self.fails = self.fails, lambda: None
        self.engine.log.kills = set()
        while (live := self.engine.executor._live.get(self.key)) is not None and live._store_away:
            await self.perform(ADVANCE_CLOCK)
            await run_ready_tasks()
        closing = asyncio.create_task(self.engine.close())
        while not closing.done():
            for gate in list(self.external_system.gates.values()):
                if not gate.done():
                    gate.set_result(None)
            await asyncio.sleep(0)
        await closing
        known = self._unknown | effect_history(await self.facts()).cut_claims
        left = [where for where, claim in await self.open_claims() if claim not in known]
        assert not left, f"a host went away and left {left} open"
        await self.engine.crash()
        await self._start_successor()
        self.fails = fails

    async def perform(self, what: str) -> None:
        if what == ADVANCE_CLOCK or what in self.external_system.gates:
            await super().perform(what)
            return
        state = await self.state()
        mine = [each for each in state.interrupts.values() if each.node_id == what and each.status == "open"]
        if mine:
            found = self._truthful_answer(what, mine[0].data, state.nodes[what].visits)
            await self.send(AnswerReceived(what, found, Answerer("somebody"), self.engine.clock.now()))

    def _truthful_answer(self, node_id: str, data: dict[str, Any], visit: int) -> Any:
        """A truthful answer: whoever is asked what became of an effect looks whether the world has seen it."""
        if data.get("customKind") != UNKNOWN_OUTCOME_KIND:
            return "yes"
        self.effect_interrupts += 1
        about = data["payload"]
        place = f"{node_id}[{about['item']}]" if "item" in about else node_id
        if self._key((place, visit, about.get("step", ""))) not in self.external_system.received_keys:
            return {"outcome": "again"}
        return {"outcome": "done", "output": RECEIPT if "step" in about else {"round": visit}}

    @property
    def _key(self) -> Callable[[Identity], str]:
        return key_maker("acme", self.key.run_id)

    async def available_actions(self) -> list[str]:
        found = await super().available_actions()
        suspended = await self._suspended_nodes()
        return [each for each in found if self.has_person or each not in suspended]

    async def _suspended_nodes(self) -> set[str]:
        asked = (await self.state()).interrupts.values()
        return {
            each.node_id for each in asked if each.status == "open" and each.data["customKind"] == UNKNOWN_OUTCOME_KIND
        }

    async def run_with_faults(self) -> None:
        """Let the run happen in bad weather, until it has ended or, without a person, waits for one."""
        for turn in range(2_000):
            found = await self.available_actions()
            status = await self.engine.status(self.key)
            if self.engine.log.died:
                await self.crash()
                continue
            if status in TERMINAL_STATUSES:
                return
            what = self._random_fault() if turn < FAULTY_TURNS else None
            if what is not None:
                await self._apply_fault(what)
            elif status == "paused" and (not found or self.rng.random() < 0.5):
                await self.send(ResumeRequested())
            elif found:
                await self.perform(self.rng.choice(found))
            elif not self.has_person and await self._suspended_nodes():
                return
            if turn == FAULTY_TURNS:
                self.fails = lambda: None
            self._check_once()
        raise AssertionError(f"the run does not end: {await self.engine.event_types(self.key)}")

    def _random_fault(self) -> str | None:
        chance = self.rng.random()
        for what, often in FAULT_RATES.items():
            chance -= often
            if chance < 0:
                return what
        return None

    async def _apply_fault(self, what: str) -> None:
        if what == "crash":
            await self.crash()
        elif what == "close":
            await self.close()
        elif what == "kill":
            log = self.engine.log
            log.kills = {(log.appends + self.rng.randrange(3), self.rng.choice(["before", "after"]))}
        elif what == "cancel":
            self.fault_counts["cancel"] += 1
            await self.send(CancelRequested())
        else:
            assert what in DRAIN_POLICIES
            self.fault_counts["pause"] += 1
            await self.send(PauseRequested(what))

    def _check_once(self) -> None:
        assert not self._differences, f"the live run is not the fold of its log: {self._differences}"
        assert not self.external_system.violations, self.external_system.violations
        once = {self._key(each): each for each, effect in self.expected.items() if effect == "once"}
        for key, count in Counter(self.external_system.received_keys).items():
            assert count == 1 or key not in once, f"{once[key]} happened {count} times"

    async def start(self, document: dict[str, Any], at_once: bool = True) -> "EffectSchedule":
        self.expected = expected_effects(document)
        for _ in range(20):
            try:
                self.key = await self.engine.start(document, at_once=at_once, inputs={"hidden": SECRET})
            except StoreUnavailable:
                self.fault_counts["lost"] += self.engine.log.made is not None
                self.key = self.engine.log.made or self.key
            if self.engine.log.made is not None:
                return self
        raise AssertionError("no run was ever made")

    async def take_over(self, bench: EngineHarness, key: RunKey, document: dict[str, Any]) -> None:
        """Go on with a run whose processes are dead."""
        self.key, self.expected = key, expected_effects(document)
        self.engine = bench
        await self._start_successor()

    async def check(self) -> RunState:
        """What holds however a run has ended."""
        self._check_once()
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
        story = effect_history(await self.facts())
        repeats = {keys[key]: count - 1 for key, count in counts.items() if count > 1}
        interruptions = (
            self.fault_counts["crash"] + self.fault_counts["close"] + self.fault_counts["pause"] + story.cut_count
        )
        assert all(count <= interruptions for count in repeats.values()), f"{repeats} for no reason"
        needless = [where for where, claim in story.interrupts if claim not in self._unknown | story.cut_claims]
        assert not needless, f"nobody had to be asked about {needless}"
        return state

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
