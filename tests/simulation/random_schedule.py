"""Runs over as many processes as it takes, while everything around them breaks; and what holds whenever they rest."""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable
from typing import Any, Self

import msgspec

from tests.harness.engine_harness import CALLER, EngineHarness, run_ready_tasks
from tests.simulation.run_driver import COMPARED_FIELDS as ALL_FIELDS
from tests.simulation.run_driver import retrieve_exception
from tests.simulation.simulated_log import CommitHistory, SimulatedLog
from weftwork.adapters.memory.store import MemoryStore
from weftwork.engine.decide.inputs import CancelRequested, Input, PauseRequested, ResumeRequested
from weftwork.engine.run.live_run import run_bounds
from weftwork.ports import fault_points
from weftwork.ports.nodes import NodeType
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.ports.storage.run_queries import RunQuery
from weftwork.protocol.fold.state import RunState, is_parked, may_unload, next_wake_at
from weftwork.protocol.json import schema
from weftwork.protocol.run.batch import Batch
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.header import DRAIN_POLICIES, TERMINAL_STATUSES, RunKey
from weftwork.protocol.run.interrupts import InterruptState
from weftwork.protocol.run.projection import StoredRun

COMPARED_FIELDS = [name for name in ALL_FIELDS if name != "pending_calls"]
Weights = dict[str, float]
READ_BACK_MS = 100
"""The first delay of `read_back`."""


class RandomSchedule:
    """One workflow and its runs. Each action is a method `_NAME`; `action_weights` says how often it happens."""

    fault_rates: Weights
    """How often a call of the store has which fault."""
    reads_back = False
    """Whether the store says that it does not know what it has done, in place of saying that it did nothing."""
    checks_appends = False
    """Whether each live run is compared with the fold of its log at every append."""

    def __init__(
        self, rng: random.Random, weights: Weights, *types: NodeType, faults: bool = True, **harness: Any
    ) -> None:
        self.rng = rng
        self.action_weights = weights
        self.faults_enabled = self.had_faults = faults
        self.max_delay_turns = 0
        self.clock_rollback_ms = 0
        self.documents: list[dict[str, Any]] = []
        self.key = RunKey("", "")
        """The first run."""
        self.gates: dict[str, asyncio.Future[None]] = {}
        """What waits for the schedule to let it go on."""
        self.pending_requests: set[asyncio.Task[Any]] = set()
        self.action_counts: Counter[str] = Counter()
        self.history = CommitHistory()
        self._differences: list[str] = []
        self._folded: dict[RunKey, RunState] = {}
        self.engine = EngineHarness(*types, wrap=SimulatedLog, **harness)
        self.has_store_threads = not isinstance(self.engine.store, MemoryStore)
        """The store has threads of its own, so that there is no telling by turns of the loop that it is idle."""
        self._connect_log()

    def _connect_log(self) -> None:
        log: SimulatedLog = self.engine.log
        log.fails, log.delay, log.history = self._next_fault, self._delay_turns, self.history
        if self.checks_appends:
            log.seen = self.check_append

    def _next_fault(self) -> str | None:
        if not self.faults_enabled:
            return None
        fault = next((fault for fault, often in self.fault_rates.items() if self.rng.random() < often), None)
        return "unknown" if fault == "lost" and self.reads_back else fault

    def _delay_turns(self) -> int:
        return self.rng.randrange(self.max_delay_turns + 1) if self.max_delay_turns else 0

    async def start(
        self, *documents: dict[str, Any], count: int = 1, at_once: bool = True, inputs: Any = None, **configurable: Any
    ) -> Self:
        """Register the definitions, and create so many runs of the last one, whatever the store says."""
        await self.engine.open()
        self.documents = [*documents]
        await self._register()
        if not at_once:
            self.engine.start_unprepared()
        request = {"workflowId": documents[-1]["id"], "inputs": inputs or {}, "configurable": configurable}
        for _ in range(50):
            try:
                await self._in_time(self.engine.service.create_run(CALLER, request))
            except StoreUnavailable:
                self.action_counts["lost"] += 1
            roots = [each.header.key for each in await self.runs() if each.header.parent is None]
            if len(roots) >= count:
                self.key = roots[0]
                return self
        raise AssertionError("no run was ever made")

    async def _in_time(self, call: Awaitable[Any]) -> None:
        """Wait for a call which may wait for the clock."""
        task = asyncio.ensure_future(call)
        while not task.done():
            await run_ready_tasks()
            if self.reads_back and not task.done():
                self.engine.clock.advance(READ_BACK_MS)
            elif not self.reads_back:
                break
        await task

    async def _register(self) -> None:
        """As a host does at its start, before runs go on."""
        for document in self.documents:
            assert await self.engine.catalog.register(document) == []

    async def play(self, *documents: dict[str, Any], turns: int = 60, **more: Any) -> Self:
        """From the creation of the runs to their end; `more` goes to `start`."""
        try:
            await self.start(*documents, **more)
            await self.run_random(turns)
            await self.finish()
            await self.check_end()
        finally:
            await self.stop()
        return self

    async def run_random(self, turns: int) -> None:
        """Let anything happen, for so many turns or until all runs have ended."""
        for _ in range(turns):
            await self.settle()
            if not await self.unfinished_runs():
                return
            (action,) = self.rng.choices(list(self.action_weights), list(self.action_weights.values()))
            self.action_counts[action] += 1
            await getattr(self, f"_{action}")()

    async def settle(self) -> None:
        """Until nothing happens without time, and look at it."""
        still = 0
        for _ in range(5_000):
            before = self.engine.log.calls.total()
            await run_ready_tasks()
            if self.has_store_threads:
                await asyncio.sleep(0.001)
            if self.engine.log.died:
                await self._crash()
            loop: Any = asyncio.get_running_loop()
            idle = self.engine.log.calls.total() == before and not self.engine.log.busy and not loop._ready
            still = still + 1 if idle else 0
            if still > 4 * self.has_store_threads:
                break
        else:
            raise AssertionError("it never comes to rest")
        await self.check_idle()

    async def finish(self) -> None:
        """Nothing more gets in the way, and whoever is asked answers: all runs end."""
        self._disarm_faults()
        self.faults_enabled = False
        left: list[StoredRun] = []
        for turn in range(3_000):
            await self.settle()
            left = await self.unfinished_runs()
            if not left:
                await self._await_responses()
                return
            paused = [each.header.key for each in left if each.projection.status == "paused"]
            waiting = await self.open_interrupts()
            has_other = self.engine.clock.next_wake is not None or self.open_gates
            if paused and (not has_other or turn % 2):
                self._send(self.rng.choice(paused), ResumeRequested())
            elif waiting and (not has_other or turn % 3):
                self._send_answer(*self.rng.choice(waiting))
            elif self.open_gates:
                await self._release()
            elif has_other:
                await self._wake()
            elif self.may_wait_for_ever:
                return
            else:
                # Whoever asked may have been told that the store was away, just now.
                await run_ready_tasks()
        lines = [f"{each.header.run_id} {each.header.workflow_id} {each.projection}" for each in left]
        raise AssertionError("the run does not end:\n" + "\n".join(lines))

    may_wait_for_ever = False

    # What is there.

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

    async def unfinished_runs(self) -> list[StoredRun]:
        return [each for each in await self.runs() if each.projection.status not in TERMINAL_STATUSES]

    async def folded(self, stored: StoredRun | None = None) -> RunState:
        """The fold of a log, of the first run's if none is named; kept until there is more of it."""
        stored = stored or await self.engine.stored_run(self.key)
        key, last = stored.header.key, stored.projection.last_sequence
        known = self._folded.get(key)
        if known is None or known.last_sequence != last:
            known = self._folded[key] = await self.engine.state(key)
        return known

    async def open_interrupts(self) -> list[tuple[StoredRun, InterruptState]]:
        return [
            (each, asked)
            for each in await self.unfinished_runs()
            for asked in (await self.folded(each)).interrupts.values()
            if asked.status == "open"
        ]

    @property
    def open_gates(self) -> list[str]:
        return sorted(name for name, gate in self.gates.items() if not gate.done())

    # What may happen.

    def _send(self, key: RunKey, given: Input) -> "asyncio.Task[Any]":
        task = asyncio.create_task(self.engine.executor.request(key, given, None))
        task.add_done_callback(retrieve_exception)
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

    def _send_answer(self, stored: StoredRun, asked: InterruptState) -> None:
        raise NotImplementedError

    async def _answer(self) -> None:
        if found := await self.open_interrupts():
            self._send_answer(*self.rng.choice(found))

    async def _random_run(self, status: str = "") -> RunKey:
        """One that has not ended, and has this status if any has."""
        left = await self.unfinished_runs()
        return self.rng.choice([each for each in left if each.projection.status == status] or left).header.key

    async def _pause(self) -> None:
        self._send(await self._random_run("running"), PauseRequested(self.rng.choice(DRAIN_POLICIES)))

    async def _resume(self) -> None:
        self._send(await self._random_run("paused"), ResumeRequested())

    async def _cancel(self) -> None:
        self._send(await self._random_run(), CancelRequested("enough"))

    async def _release(self) -> None:
        if gates := self.open_gates:
            self.gates[self.rng.choice(gates)].set_result(None)

    async def _tick(self) -> None:
        self.engine.clock.advance(self.rng.choice([1, 10, 100, 250, 1_000]))

    async def _wake(self) -> None:
        clock = self.engine.clock
        if clock.next_wake is not None:
            clock.advance(max(0, clock.next_wake - clock.now()))

    async def _kill(self) -> None:
        log = self.engine.log
        log.kills = {(log.calls["append"] + self.rng.randrange(4), self.rng.choice(["before", "after"]))}

    async def _crash(self) -> None:
        self.action_counts["crashes"] += 1
        await self.engine.crash()
        await self.on_death()
        await self._start_successor()

    async def on_death(self) -> None:
        """The process has died, and the next one has not started."""

    async def _close(self) -> None:
        """The process ends in peace: the store is there."""
        troubled, self.faults_enabled = self.faults_enabled, False
        self._disarm_faults()
        await self._close_engine()
        await self.engine.crash()
        self.faults_enabled = troubled
        await self._start_successor()

    async def _close_engine(self) -> None:
        closing = asyncio.create_task(self.engine.close())
        for turn in range(200):
            for name in self.open_gates:
                self.gates[name].set_result(None)
            await run_ready_tasks()
            if closing.done():
                break
            # A host does not wait for ever for what is under way: time passes only when nothing else does.
            if turn >= 20:
                await self._wake()
        await closing

    def _disarm_faults(self) -> None:
        fault_points._armed.clear()
        fault_points._pass_counts.clear()
        self.engine.log.kills = set()

    async def _start_successor(self) -> None:
        self._disarm_faults()
        self.pending_requests.clear()
        self.gates.clear()
        # What the last process wrote is written before the next one reads.
        await self.engine.store.records.sweep(0)
        troubled = self.faults_enabled
        for attempt in range(20):
            self.engine = self.engine.successor(wrap=SimulatedLog)
            self._connect_log()
            await self._register()
            # Many runs are loaded at a start: in the end the store is there for all of them.
            self.faults_enabled = troubled and attempt < 10
            try:
                await self.engine.executor.recover()
                self.faults_enabled = troubled
                return
            except StoreUnavailable:
                # As a host does that is started again. Runs that it had loaded by then may have begun something.
                await self.engine.crash()
                await self.on_death()
        raise AssertionError("the host never started")

    async def stop(self) -> None:
        """Nothing of it is left."""
        self._disarm_faults()
        await self.engine.crash()

    # What holds.

    async def check_append(self, key: RunKey, batch: Batch) -> None:
        """fold-01: what a live run holds is the fold of what is durable. What is raised here is the host's failure."""
        live = self.engine.executor._live.get(key)
        if live is not None and not self.engine.log.died:
            folded = await self.engine.state(key)
            self._differences += _differences(folded, live.state)

    async def check_idle(self) -> None:
        """Nothing can happen now without time, a person or the store."""
        assert not self._differences, f"the live run is not the fold of its log: {self._differences}"
        executor = self.engine.executor
        for each in await self.runs():
            state = await self.folded(each)
            if self.has_store_threads and await self._has_moved(each, state):
                continue
            projection = each.projection
            parked = projection.parked
            limit = run_bounds(self.engine.runtime, state).duration
            assert projection.status == state.status, "the cache is not the fold"
            assert is_parked(state) == parked or (parked and is_parked_after_wakeups(state)), (
                "the cache is not the fold"
            )
            assert projection.wake_at == (next_wake_at(state, limit) if parked else None), (
                "it is known when a parked run wakes"
            )
            live = executor._live.get(each.header.key)
            if live is not None:
                self._check_live(live, state)
            elif not state.is_terminal:
                self.check_unloaded(state, projection.wake_at)
        asking = [task for task in self.pending_requests if not task.done()]
        assert asking or executor._child_messages._tasks or not executor._pending_requests, "somebody is still wanted"

    async def _has_moved(self, before: StoredRun, state: RunState) -> bool:
        """Whether a run went on between two looks at it, which a store with threads of its own lets happen."""
        now, then = (await self.engine.stored_run(before.header.key)).projection, before.projection
        same = (now.last_sequence, now.parked) == (then.last_sequence, then.parked)
        return not same or state.last_sequence != then.last_sequence

    def _check_live(self, live: Any, state: RunState) -> None:
        if live._driver is None and not live._inbox and not state.is_terminal:
            wrong = _differences(state, live.state)
            assert not wrong, f"the live run is not the fold of its log: {wrong}"
            now = self.engine.clock.now()
            wanted = live.key in self.engine.executor._pending_requests or live.is_rechecking
            idle = may_unload(live.state, live._bounds.duration, lambda: now)
            assert wanted or not idle, "a run stays in memory for nobody"
            due = next_wake_at(state, live._bounds.duration) if is_parked(state) else None
            assert due is None or due > now or self.clock_rollback_ms, "a run in memory does not see that it is due"

    def check_unloaded(self, state: RunState, due: int | None) -> None:
        """A run that nobody has in memory."""

    async def check_end(self) -> None:
        """All runs have ended."""


def _differences(one: RunState, other: RunState) -> list[str]:
    return [name for name in COMPARED_FIELDS if getattr(one, name) != getattr(other, name)]


def is_parked_after_wakeups(state: RunState) -> bool:
    """Whether it is parked once nodes that are owed a look have had it: a look that changes nothing is in no log."""
    owed, state.pending_calls = state.pending_calls, set()
    try:
        return is_parked(state)
    finally:
        state.pending_calls = owed


def check_log(events: list[Event]) -> None:
    """Of a run that has ended: every event fits its schema, and there is one end, and nothing after it."""
    assert [event.type for event in events if event.is_terminal] == [events[-1].type], "one end, and nothing after it"
    for event in events:
        document = msgspec.json.decode(event.document)
        assert schema.check("run-event", document) == [], document
        assert schema.check_payload(event.type, document["payload"]) == [], document
