"""Trees of runs while everything around them breaks."""

import asyncio
import random
from typing import Any

from tests.simulation.child_runs.child_run_oracle import check_end, check_quiescent, check_started
from tests.simulation.child_runs.child_run_workflows import ParentNodes
from tests.simulation.random_schedule import RandomSchedule, Weights
from tests.simulation.run_driver import retrieve_exception
from weftwork.engine.api.retention import Retention
from weftwork.engine.decide.inputs import AnswerReceived
from weftwork.ports import fault_points
from weftwork.protocol.people.approvals import Answerer
from weftwork.protocol.run.batch import Batch
from weftwork.protocol.run.header import TERMINAL_STATUSES, RunKey
from weftwork.protocol.run.interrupts import InterruptState
from weftwork.protocol.run.projection import StoredRun

ACTION_WEIGHTS: Weights = {
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


class ChildRunSchedule(RandomSchedule):
    fault_rates: Weights = {"down": 0.04, "lost": 0.08}  # noqa: RUF012
    checks_appends = True

    def __init__(self, rng: random.Random, weights: Weights | None = None, faults: bool = True, **harness: Any) -> None:
        nodes = ParentNodes(rng if faults else random.Random(0))
        super().__init__(rng, weights or ACTION_WEIGHTS, *nodes.types(), faults=faults, **harness)
        self.max_delay_turns = rng.choice([0, 0, 3, 8]) if faults else 0
        self.deleted: set[RunKey] = set()
        self.started: dict[str, tuple[RunKey, str, str, bool]] = {}
        """Each child that any parent was durably said to have: parent, node, key, and whether it is waited for."""
        self.same_answer = False

    async def finish(self) -> None:
        await self.await_quiescence()
        await super().finish()

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

    async def check_append(self, key: RunKey, batch: Batch) -> None:
        check_started(self, key, batch)
        await super().check_append(key, batch)

    async def check_end(self) -> None:
        await self.await_quiescence()
        await check_end(self)

    # What may happen.

    def _send_answer(self, stored: StoredRun, asked: InterruptState) -> None:
        dice = random.Random(f"{stored.header.workflow_id}{asked.node_id}") if self.same_answer else self.rng
        action = "accept" if dice.random() < 0.9 else "reject"
        value = {"action": action} if asked.kind == "approval" else {}
        now = self.engine.clock.now()
        self._send(stored.header.key, AnswerReceived(asked.node_id, value, ANSWERER, now, asked.interrupt_id))

    async def _both(self) -> None:
        """Two quick ones, of the same run or of two of a tree."""
        await self._cancel()
        await self._cancel()

    async def _point(self) -> None:
        """The process ends where it passes a place of that name."""
        self._disarm_faults()
        fault_points.arm({(self.rng.choice(FAULT_POINTS), self.rng.randint(1, 4)): lambda: self.engine.log.die()})

    async def _again(self) -> None:
        """Word between runs comes twice, or late."""
        self.engine.executor._child_messages.recover_soon()

    async def _delete(self) -> None:
        """Of some that have ended."""
        log = self.engine.process_log
        retention = Retention(log, log, log, self.engine.clock, self.engine.executor)
        ended = [each.header.key for each in await self.runs() if each.projection.status in TERMINAL_STATUSES]
        for key in self.rng.sample(ended, min(len(ended), 2)):
            self.deleted.add(key)
            task = asyncio.create_task(retention._delete_if_ended(key))
            task.add_done_callback(retrieve_exception)
            self.pending_requests.add(task)

    async def _rest(self) -> None:
        await self.await_quiescence()
