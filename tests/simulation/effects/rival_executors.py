"""Two executors of one run over one store, both alive, with every append and every touch in the hands of the test."""

import asyncio
import random
from collections import Counter
from typing import Any

from tests.harness.engine_harness import EngineHarness, run_ready_tasks
from tests.simulation.effects.effect_schedule import EffectSchedule
from tests.simulation.effects.effect_workflows import SECRET, GatedExternalSystem, expected_effects, key_maker
from tests.simulation.fold_driver import Chooser
from weftwork.ports.storage.event_log import EventLog
from weftwork.protocol.run.header import TERMINAL_STATUSES, RunKey


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

    def __init__(self, dice: random.Random, document: dict[str, Any]) -> None:
        self.rng = dice
        self.external_system = GatedExternalSystem()
        self.document = document
        self.key = RunKey("", "")
        self.first = EngineHarness(
            *self.external_system.types(), wrap=lambda log: GatedLog(log, self.external_system, "first")
        )
        self.second = self.first.successor(wrap=lambda log: GatedLog(log, self.external_system, "second"))

    async def run_both(self, joins: int, choose: Chooser) -> None:
        """Both at work, the second one after so many turns, until nothing is left that could happen.

        Nobody answers a question yet.
        """
        self.key = await self.first.start(self.document, at_once=self.rng.random() < 0.5, inputs={"hidden": SECRET})
        joining: asyncio.Task[int] | None = None
        for turn in range(3_000):
            await run_ready_tasks()
            if turn == joins:
                joining = asyncio.create_task(self.second.executor.recover())
                continue
            gates = sorted(name for name, gate in self.external_system.gates.items() if not gate.done())
            clock = self.first.clock
            if gates:
                self.external_system.gates[choose(gates)].set_result(None)
            elif clock.next_wake is not None:
                clock.advance(clock.next_wake - clock.now())
            elif turn > joins:
                break
            self._check()
        else:
            raise AssertionError("they do not come to an end")
        if joining is not None:
            await joining

    def _check(self) -> None:
        make = key_maker("acme", self.key.run_id)
        once = {make(each): each for each, effect in expected_effects(self.document).items() if effect == "once"}
        for key, count in Counter(self.external_system.received_keys).items():
            assert count == 1 or key not in once, f"{once[key]} happened {count} times"

    async def finish(self) -> None:
        """Both die; the next one, and somebody who looks, bring the run to its end."""
        if await self.first.status(self.key) not in TERMINAL_STATUSES:
            storm = EffectSchedule(self.external_system, self.rng)
            await self.first.crash()
            await self.second.crash()
            await storm.take_over(self.first, self.key, self.document)
            await storm.finish(self.rng.choice)
        assert await self.first.status(self.key) == "completed"
        self._check()
        make = key_maker("acme", self.key.run_id)
        assert {make(each) for each in expected_effects(self.document)} == set(self.external_system.received_keys)
