"""A live run: its folded state in memory, and the loop that moves it forward.

Theory. Everything that can happen to a run arrives as an input in its inbox. One task at a time, `_drive`, takes
inputs, decides, folds, and runs instant nodes at once (`collect_inputs`). Pure nodes need no commit before they
start, so those that end quickly share the next one (`collect_commit`). When nothing more can be done without
waiting, one append commits all of it; only then are requests answered, readers notified, and the other nodes
launched. A run with nothing to do has no task.

The state runs ahead of the log until the append is durable. If the append fails, the state is thrown away and
folded again from the log, and the inputs are taken again.

A live run holds its nodes' tasks, and they report to it through a weak reference: a run that has ended is freed as
soon as the executor lets go of it.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final
from weakref import WeakMethod

import msgspec

from weftwork.engine.decide.decision import NOTHING, RunBounds
from weftwork.engine.decide.inputs import CancelRequested, Input, NodeAwaitsChildren, Step
from weftwork.engine.decide.run_control import may_interrupt
from weftwork.engine.decide.transitions import decide
from weftwork.engine.run.activity import Activity
from weftwork.engine.run.append import BatchBuilder, make_redactor
from weftwork.engine.run.pending_commit import Inbox, PendingCommit, RecordMaker, RunNotLive, RunRequest, notify_waiters
from weftwork.engine.run.replay import reload_run
from weftwork.engine.runtime import Runtime
from weftwork.ports.clock import Clock
from weftwork.ports.fault_points import fault_point
from weftwork.ports.node_outcome import NewChild
from weftwork.ports.storage.event_log import SequenceConflict, StoreUnavailable
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.protocol.errors import HostFault
from weftwork.protocol.fold.state import RunState, is_parked, may_unload, next_wake_at
from weftwork.protocol.limits import execution_limit, iteration_limit, time_limit
from weftwork.protocol.privacy.redaction import Redactor
from weftwork.protocol.run.batch import Batch
from weftwork.protocol.run.header import RunHeader, RunKey, Status
from weftwork.protocol.run.projection import Projection, StateRow, StoredRun

log = logging.getLogger("weftwork.run")

MAX_BATCH_MS: Final = 10
"""Milliseconds after which a batch is closed, so that others get a turn."""
MAX_BATCH_EVENTS: Final = 256
"""Events per append: a long chain of pure nodes commits and yields now and then."""
EARLY_LOOP_TURNS: Final = 6
"""Turns of the event loop in which a node that waits for nothing has run, in tasks of its own, and has reported."""
THREAD_WAIT_S: Final = 0.002
"""How long a commit waits for pure nodes that hold threads: most are quicker, and save a commit of their own."""
REQUEST_LOOP_TURNS: Final = 6
"""Turns of the event loop in which whoever has just woken a run asks it something."""
COMMITS_PER_YIELD: Final = 16
"""Commits after which a run lets others have a turn, whether its store made it wait or not."""
SHUTDOWN_EFFECT_GRACE_S: Final = 5.0
"""How long a host that goes away waits for what must not happen twice to end."""
POLL_INTERVAL_S: Final = 0.02


class RunCallbacks(msgspec.Struct, frozen=True):
    """What a live run calls on the executor that holds it. Never called while the run is being changed."""

    on_completed: "Callable[[LiveRun], None]"
    """Called once, after the terminal event is durable and all requests are answered. The run is halted."""
    on_failed: "Callable[[LiveRun], None]"
    """Called after an error of the host itself. The run is halted, and its state may be ahead of the log."""
    on_parked: "Callable[[LiveRun], None]"
    """Called when the run can be left to the store: it waits only for people and children, and the store says so;
    or another executor turned out to move it. The run is halted; `LiveRun.parked` tells the two cases apart."""
    has_pending_request: Callable[[RunKey], bool]
    """Asked before parking, and when a run is resumed: whether a request for the run is about to arrive."""
    on_family_committed: "Callable[[LiveRun, Batch, Sequence[NewChild]], None]"
    """Called after a batch with messages for the parent or the children is durable, with the children it created."""
    on_unconfirmed_children: "Callable[[LiveRun, Sequence[NewChild]], None]"
    """Called after an append whose outcome is unknown, once the state is folded again: these children may exist."""


class _MovedElsewhere(Exception):
    """Another executor moves this run."""


class LiveRun:
    """One run being executed."""

    def __init__(
        self, runtime: Runtime, state: RunState, callbacks: RunCallbacks, redactor: Redactor | None = None
    ) -> None:
        self.state = state
        self.key: RunKey = state.header.key
        self._runtime = runtime
        self._callbacks = callbacks
        self.redactor = redactor or make_redactor(state)
        self._bounds = run_bounds(runtime, state)
        self._activity = Activity(runtime, self._bounds.duration, weak_reporter(self.send), self.redactor)
        self._inbox = Inbox()
        self._driver: asyncio.Task[None] | None = None
        self._closing = False
        """Nothing new is taken up: the run is over, or the host is shutting down."""
        self._over = False
        """Halted: requests are refused with RunNotLive, and the store answers them."""
        self._is_ahead_of_log = False
        """The state is ahead of a log that could not be read again before the host went away."""
        self._first_commit: PendingCommit | None = None
        """Made by `prepare`, waiting for `start`."""
        self._is_uncreated = False
        """Between `prepare` and `start`: the store may not have the run yet, so nothing else is committed."""
        self._store_away = False
        self.parked = False
        self.log_bytes = 0
        self._has_unsaved_parking = False
        """The store does not say yet that the run is parked."""
        self._committed_view = CommittedView(state.header)

    def send(self, given: Input | RunRequest) -> None:
        """Put an input into the inbox and see to it that somebody looks, unless there is no run in the store yet."""
        self._inbox.put(given)
        if self._driver is None and not self._closing and not self._is_uncreated:
            self._driver = asyncio.create_task(self._drive())

    async def request(self, given: Input, record: RecordMaker | None) -> Status | SlotTaken:
        """Like `send`, but returns the status once the consequences are durable.

        Raises StoreUnavailable, or RunNotLive for a run that is no longer live.
        """
        if self._over:
            raise RunNotLive
        if self._closing:
            raise StoreUnavailable("the host is shutting down")
        request = RunRequest(given, asyncio.get_running_loop().create_future(), record)
        self.send(request)
        return await request.done

    async def settle(self, timeout: float) -> None:
        """Wait, not long, for a commit that is under way: a reader who just wrote sees what followed."""
        if self._driver is not None and not self._store_away:
            await asyncio.wait((self._driver,), timeout=timeout)

    def committed_run(self) -> StoredRun:
        """What the store holds of this run, without asking it."""
        return self._committed_view.as_run()

    async def prepare(self, is_new: bool) -> Batch:
        """Follow the creation as far as it leads without a commit. `is_new`: nothing but the store can refuse it."""
        self._is_uncreated = True
        self._first_commit = await self._collect(threads=is_new)
        return self._first_commit.builder.build(self._runtime.ids, None)

    def start(self, first: Batch) -> None:
        """Go on from the batch that `prepare` made, which is durable now."""
        work, self._first_commit, self._is_uncreated = self._first_commit, None, False
        assert work is not None, "prepare comes first"
        try:
            self._on_committed(first, work)
            self._notify_waiters(work)
            self._activity.apply_commit(self.state, work)
        except Exception:
            self._abandon()
            return
        if self.state.is_terminal:
            self._finish()
        elif self._inbox or work.is_partial:
            self.send(Step())
        else:
            self.park_if_idle()

    def discard(self) -> None:
        """Let go of a run that was never begun."""
        self._halt(RunNotLive())

    def resume(self, stored: StoredRun) -> None:
        """Go on with a run that was loaded from the store: enter the nodes that the log says are running."""
        claims = {each.claim for node in self.state.running.values() for each in node.effects.values()}
        self._bounds = msgspec.structs.replace(self._bounds, orphans=frozenset(claims))
        try:
            self._take_up(stored, cold=True)
        except Exception:
            self._abandon()
        else:
            # By a host that parked none, or that had another limit of time.
            differs = stored.projection.wake_at != next_wake_at(self.state, self._bounds.duration)
            self._has_unsaved_parking = is_parked(self.state) and (differs or not stored.projection.parked)
            self._step_after(REQUEST_LOOP_TURNS if self._callbacks.has_pending_request(self.key) else 0)

    def _step_after(self, turns: int) -> None:
        """Go on; but whoever woke the run asks first, since one that is to be cancelled need not start."""
        if turns and not self._inbox and self._driver is None:
            asyncio.get_running_loop().call_soon(self._step_after, turns - 1)
        else:
            self.send(Step())

    async def close(self) -> None:
        """Stop without a word in the log: the run goes on from there when a host starts again.

        Effects that are under way get some time to be recorded; nothing new starts.
        """
        self._bounds = msgspec.structs.replace(self._bounds, parallel=0)
        if not may_interrupt(self.state, self._bounds, "immediate"):
            await poll_until(self._has_no_open_effect, SHUTDOWN_EFFECT_GRACE_S)
        self._closing = True
        ending = self._activity.close()
        if self._driver is not None:
            ending.append(self._driver)
        if ending:
            await asyncio.wait(ending, timeout=5)
        self._inbox.refuse_requests(StoreUnavailable("the host is shutting down"))

    async def _drive(self) -> None:
        commits = 0
        try:
            while not self.state.is_terminal and not self._closing:
                work = await self._collect()
                if not len(work.builder) and not self._has_unsaved_parking:
                    await self._answer_unchanged(work)
                    if self._inbox or self._has_unsaved_parking:
                        continue
                    return
                if await self._commit(work):
                    self._notify_waiters(work)
                    self._activity.apply_commit(self.state, work)
                commits += 1
                if commits % COMMITS_PER_YIELD == 0:
                    # A store may answer without a wait, and others want a turn too.
                    await asyncio.sleep(0)
            if self.state.is_terminal and not self._is_ahead_of_log:
                self._finish()
        except asyncio.CancelledError:
            self._closing = True
            raise
        except _MovedElsewhere:
            log.warning("another executor moves this run; it is left to it", extra={"runId": self.key.run_id})
            self._halt(StoreUnavailable("another executor moves this run"))
            self._callbacks.on_parked(self)
        except Exception:
            self._abandon()
        finally:
            self._driver = None
            if self._inbox and not self._closing and not self.state.is_terminal:
                self._driver = asyncio.create_task(self._drive())
            else:
                self.park_if_idle()

    def park_if_idle(self) -> None:
        """Leave the run to the store if it only waits for people, nothing of it is due, and nobody wants it here."""
        busy = self._closing or self._has_unsaved_parking or self._driver is not None or bool(self._inbox)
        rests = may_unload(self.state, self._bounds.duration, self._runtime.clock.now())
        busy = busy or self._activity.is_calling_any(self.state.awaiting_children)
        if rests and not busy and not self._callbacks.has_pending_request(self.key):
            self.parked = True
            self._halt(RunNotLive())
            self._callbacks.on_parked(self)

    async def _commit(self, work: PendingCommit) -> bool:
        request = work.request
        record = request.make_record(self.state.status) if request is not None else None
        batch = work.builder.build(self._runtime.ids, record)
        try:
            taken = await self._runtime.log.append(self.key, work.builder.expected, batch)
        except (StoreUnavailable, SequenceConflict) as error:
            if request is not None:
                request.refuse(StoreUnavailable(str(error)))
            await self._reload(work, pause=isinstance(error, StoreUnavailable))
            return False
        if taken is not None and request is not None:
            request.answer(taken)
            await self._reload(work, pause=False)
            return False
        self._on_committed(batch, work)
        if request is not None:
            request.answer(self.state.status)
        return True

    def _on_committed(self, batch: Batch, work: PendingCommit) -> None:
        self._has_unsaved_parking = False
        self._committed_view.apply_batch(batch)
        self.log_bytes += sum([event.size for event in batch.events])
        self._runtime.feeds.publish(self.key, batch.events)
        fault_point("append.published")
        if batch.has_family_messages:
            self._callbacks.on_family_committed(self, batch, work.builder.children)

    @property
    def is_rechecking(self) -> bool:
        """Whether it may still have to do with what it heard of its children."""
        return self._driver is not None or self._activity.is_calling_any(self.state.awaiting_children)

    async def _answer_unchanged(self, work: PendingCommit) -> None:
        """Nothing to append."""
        if work.request is not None:
            await work.request.answer_unchanged(self._runtime.records, self.state.status)
        self._notify_waiters(work)
        if work.launches or work.stop:
            self._activity.apply_commit(self.state, work)
        # A look that found nothing: the store may not know yet that nothing is left to do.
        self._has_unsaved_parking = self._has_unsaved_parking or (
            is_parked(self.state) and not self.committed_run().projection.parked
        )

    async def _reload(self, work: PendingCommit, pause: bool) -> None:
        """The state ran ahead of the log: fold it again, however long the store takes, and take the inputs again."""
        self._inbox.put_back(work.inputs)
        found = await reload_run(self._runtime, self.state, pause, self._on_store_away, lambda: self._closing)
        self._store_away = False
        if found is None:
            self._is_ahead_of_log = True
            return
        stored, self.state = found
        self._inbox.drop_stale(self.state)
        self._runtime.feeds.invalidate(self.key)
        if pause:
            self._callbacks.on_unconfirmed_children(self, work.builder.children)
        if stored is not None:
            self._take_up(stored, cold=False)

    def _on_store_away(self) -> None:
        self._store_away = True
        self._inbox.refuse_requests(StoreUnavailable("the store is away"))

    def _take_up(self, stored: StoredRun, cold: bool) -> None:
        """Take up the run where the store has it, with every node that runs there and not here yet."""
        self._committed_view.replace(stored)
        self.state.changed_rows.clear()
        if not self._activity.take_up(self.state, self._inbox.reported_nodes(self.state), cold, self._bounds.orphans):
            raise _MovedElsewhere

    async def _collect(self, threads: bool = True) -> PendingCommit:
        return await collect_commit(
            self.state,
            self._bounds,
            self._inbox,
            self._activity,
            self._runtime.clock,
            self.redactor,
            claims=not self._is_uncreated,
            threads=threads,
        )

    def _notify_waiters(self, work: PendingCommit) -> None:
        if not notify_waiters(self.state, work.inputs):
            raise _MovedElsewhere

    def _has_no_open_effect(self) -> bool:
        """Whether what must not happen twice has ended and is committed, or cannot be waited for."""
        idle = self._driver is None and may_interrupt(self.state, self._bounds, "immediate")
        return idle or self._over or self._store_away

    def _finish(self) -> None:
        self._halt(RunNotLive())
        self._callbacks.on_completed(self)

    def _abandon(self) -> None:
        """After an error of ours, which is being handled, this object is of no more use; whoever waits is told."""
        log.exception("the host failed a run", extra={"runId": self.key.run_id})
        self._halt(HostFault("the host failed this run"))
        self._callbacks.on_failed(self)

    def _halt(self, reason: Exception) -> None:
        self._over = True
        self._closing = True
        self._activity.close()
        self._inbox.refuse_requests(reason)


async def collect_commit(
    state: RunState,
    bounds: RunBounds,
    inbox: Inbox,
    activity: Activity,
    clock: Clock,
    redactor: Redactor | None,
    claims: bool,
    threads: bool,
) -> PendingCommit:
    """All that can be done before the next commit. Pure nodes need none before they run, so quick ones share it.

    Without `claims` none is made: it may stay unknown for a while whether the run is there. Without `threads` it may
    well be refused, and none is taken, since none could be taken back.
    """
    now = clock.now()
    work = PendingCommit(BatchBuilder(state, redactor, now, bounds.duration), now)
    collect_inputs(work, state, bounds, inbox, activity, clock)
    while not work.is_partial and (held := activity.launch_pure(state, work, threads)) is not None:
        if held:
            await inbox.wait_filled(THREAD_WAIT_S)
        for _ in range(EARLY_LOOP_TURNS):
            if inbox:
                break
            await asyncio.sleep(0)
        if not inbox or (inbox.has_claims and not claims):
            break
        collect_inputs(work, state, bounds, inbox, activity, clock)
    return work


def collect_inputs(
    work: PendingCommit, state: RunState, bounds: RunBounds, inbox: Inbox, activity: Activity, clock: Clock
) -> None:
    """Take inputs, decide, fold, and run instant nodes on the spot, until nothing is left or the batch is full."""
    outcomes: deque[Input] = deque()
    work.is_partial = True
    append = work.builder
    while len(append) < MAX_BATCH_EVENTS and state.completed_at is None:
        given = outcomes.popleft() if outcomes else inbox.take(work)
        decision = decide(state, bounds, given)
        if state.pending_calls and isinstance(given, NodeAwaitsChildren) and decision is NOTHING:
            # It was called, and had nothing to do.
            state.pending_calls.discard(given.node_id)
        for draft in decision.events:
            append.add(draft)
        if decision.start is not None:
            outcome = activity.run_instant(state, decision.start)
            if outcome is None:
                work.launches.append(decision.start)
            else:
                outcomes.append(outcome)
        if decision.rechecks:
            work.launches += decision.rechecks
        if decision.stop or decision.interrupt or decision.refusal is not None:
            work.apply_decision(given, decision)
        if (decision.stop or decision is NOTHING) and isinstance(given, Step):
            work.is_partial = False
            break
        if len(append) and clock.now() - work.started_at > MAX_BATCH_MS:
            break
    inbox.put_back(outcomes)
    stop = state.stop
    if work.has_request(CancelRequested) and stop is not None and stop.error is not None:
        # A limit is ending the run already: how it ends is the answer.
        work.request = None


class CommittedView(msgspec.Struct, eq=False):
    """What the store holds of a live run, so that readers need no query. The state of the run may be ahead of it."""

    _header: RunHeader
    _projection: Projection = msgspec.field(default_factory=lambda: Projection("pending"))
    _rows: dict[tuple[str, str], StateRow] = {}

    def apply_batch(self, batch: Batch) -> None:
        """Follow a batch that was committed."""
        self._projection = batch.projection
        for row in batch.rows:
            self._rows[row.kind, row.name] = row

    def replace(self, stored: StoredRun) -> None:
        """Start over from what was read from the store."""
        self._projection = stored.projection
        self._rows = {(row.kind, row.name): row for row in stored.rows}

    def as_run(self) -> StoredRun:
        return StoredRun(self._header, self._projection, tuple(self._rows.values()))


def run_bounds(runtime: Runtime, state: RunState) -> RunBounds:
    """The limits of one run: those of the host, the workflow and the run's options together."""
    limits, options = runtime.limits, state.header.configurable
    executions = execution_limit(limits, options)
    duration = time_limit(limits, state.plan.workflow.timeout_ms, options)
    iterations = iteration_limit(limits, options)
    return RunBounds(limits.max_parallel_nodes, executions, runtime.provided, duration, iterations=iterations)


def weak_reporter(send: Callable[[Input], None]) -> Callable[[Input], None]:
    """A callback to this bound method that does not keep its object alive, and does nothing once it is gone."""
    method = WeakMethod(send)

    def report(given: Input) -> None:
        found = method()
        if found is not None:
            found(given)

    return report


async def poll_until(condition: Callable[[], bool], seconds: float) -> None:
    """Return when the condition holds, or after so many seconds."""
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    while not condition() and loop.time() < until:
        await asyncio.sleep(POLL_INTERVAL_S)
