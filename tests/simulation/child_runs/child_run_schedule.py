"""Trees of runs while everything around them breaks."""

import asyncio

from tests.harness.engine_harness import run_ready_tasks
from tests.simulation.child_runs.run_tree_driver import FAULT_POINTS, RunTreeDriver
from tests.simulation.run_driver import retrieve_exception as heard
from weftwork.engine.api.retention import Retention
from weftwork.engine.decide.inputs import CancelRequested, PauseRequested, ResumeRequested
from weftwork.ports import fault_points
from weftwork.protocol.run.header import DRAIN_POLICIES, TERMINAL_STATUSES, RunKey


class ChildRunSchedule(RunTreeDriver):
    """One tree, over as many processes as it takes. `moves` says how often what happens."""

    async def run_random(self, turns: int) -> None:
        """Let anything happen, for so many turns or until all runs have ended."""
        for _ in range(turns):
            await self.settle()
            if not await self.unfinished_runs():
                return
            (move,) = self.rng.choices(list(self.action_weights), list(self.action_weights.values()))
            self.action_counts[move] += 1
            await getattr(self, f"_{move}")()

    async def _random_key(self) -> RunKey | None:
        found = [each.header.key for each in await self.unfinished_runs()]
        return self.rng.choice(found) if found else None

    async def _answer(self) -> None:
        if found := await self._open_interrupts():
            self._send_answer(*self.rng.choice(found))

    async def _tick(self) -> None:
        self.engine.clock.advance(self.rng.choice([1, 20, 100, 250, 1_000]))

    async def _pause(self) -> None:
        found = [each.header.key for each in await self.unfinished_runs() if each.projection.status == "running"]
        if found:
            self._send(self.rng.choice(found), PauseRequested(self.rng.choice(DRAIN_POLICIES)))

    async def _resume(self) -> None:
        paused = [each.header.key for each in await self.unfinished_runs() if each.projection.status == "paused"]
        if paused:
            self._send(self.rng.choice(paused), ResumeRequested())

    async def _cancel(self) -> None:
        if (key := await self._random_key()) is not None:
            self._send(key, CancelRequested("enough"))

    async def _both(self) -> None:
        """Two quick ones, of the same run or of two of a tree."""
        await self._cancel()
        await self._cancel()

    async def _kill(self) -> None:
        log = self.engine.log
        log.kills = {(log.writes + self.rng.randrange(4), self.rng.choice(["before", "after"]))}

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
            task.add_done_callback(heard)
            self.pending_requests.add(task)

    async def _rest(self) -> None:
        await self.await_quiescence()

    async def _close(self) -> None:
        """The process ends in peace: the store is there."""
        troubled, self.faults_enabled = self.faults_enabled, False
        self._disarm_faults()
        closing = asyncio.create_task(self.engine.close())
        for _ in range(200):
            await run_ready_tasks()
            if closing.done():
                break
            await self._wake()
        await closing
        await self._kill_process()
        self.faults_enabled = troubled
        await self._start_successor()
