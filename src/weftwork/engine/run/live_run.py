"""A live run: its folded state in memory, and the loop that executes it.

Theory. Everything that can happen to a run arrives as an input in its inbox. One task, `_drive`, takes inputs, decides,
folds, and runs instant nodes inline. Pure nodes need no commit before they start, so the quick ones share the next
commit (`collect_commit`). When the run cannot continue without waiting, one append commits everything;
only then are requests answered, streams notified, and the other nodes launched. An idle run has no task.

The state is ahead of the log until the append is durable. If the append fails, the state is discarded and folded again
from the log, and the same inputs are processed again.

A live run holds the tasks of its nodes, and they report to it through a weak reference: a run that has ended is freed
as soon as the executor drops it.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from weftwork.engine.decide.decision import RunBounds
from weftwork.engine.decide.inputs import Input, Step
from weftwork.engine.decide.run_control import may_interrupt, nodes_with_open_effects
from weftwork.engine.nodes.run_clock import RunClock
from weftwork.engine.read_back import is_appended
from weftwork.engine.run.activity import Activity, weak_reporter
from weftwork.engine.run.append import make_redactor
from weftwork.engine.run.budget import RunBudget
from weftwork.engine.run.loop_share import MIN_REST_S
from weftwork.engine.run.next_commit import MAX_BATCH_UNITS, collect_commit
from weftwork.engine.run.pending_commit import Inbox, PendingCommit, RecordMaker, RunNotLive, RunRequest, notify_waiters
from weftwork.engine.run.replay import reload_run
from weftwork.engine.runtime import Runtime
from weftwork.ports.fault_points import fault_point
from weftwork.ports.node_outcome import NewChild
from weftwork.ports.storage.event_log import FenceLost, OutcomeUnknown, SequenceConflict, StoreUnavailable
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.protocol.envelopes.partial_surface import may_show_surface
from weftwork.protocol.errors import HostFault
from weftwork.protocol.fold.state import RunState, is_parked, may_unload, next_wake_at
from weftwork.protocol.limits import LOOP_SLICE_UNITS, execution_limit, iteration_limit, time_limit
from weftwork.protocol.privacy.redaction import Redactor
from weftwork.protocol.run.batch import Batch
from weftwork.protocol.run.header import RunHeader, RunKey, Status
from weftwork.protocol.run.projection import Projection, StateRow, StoredRun
from weftwork.protocol.surfaces.surface import parse_surface

log = logging.getLogger("weftwork.run")

REQUEST_LOOP_TURNS: Final = 6
"""Iterations of the event loop within which the caller that caused a run to be loaded puts its request in the inbox."""
FREE_BATCHES: Final = 8
"""Batches of a run before it waits for turns on the event loop."""
IDLE_REST_NS: Final = int(MIN_REST_S * 1e9)
"""A run that had nothing to do for so long needs no turn for its next batch: it has left the loop to others."""
RESTED_BATCH_UNITS: Final = LOOP_SLICE_UNITS // 32
"""What such a batch counts in its iteration of the loop. Many runs may wake up in the same one."""
POLL_INTERVAL_S: Final = 0.02


class RunCallbacks(msgspec.Struct, frozen=True):
    """Callbacks of a live run to the executor that holds it. Never called while the run is being changed."""

    on_completed: "Callable[[LiveRun], None]"
    """Called once, after the terminal event is durable and all requests are answered. The run is halted."""
    on_failed: "Callable[[LiveRun], None]"
    """Called after a bug of the host. The run is halted, and its state may be ahead of the log."""
    on_parked: "Callable[[LiveRun], None]"
    """Called when the run can be unloaded, because it only waits or is paused, and the store has it as parked. The run
    is halted."""
    on_released: "Callable[[LiveRun], None]"
    """Called when another executor has taken the run. The run is halted."""
    has_pending_request: Callable[[RunKey], bool]
    """Called before parking and when a run is resumed: returns whether a request for the run is about to arrive."""
    on_family_committed: "Callable[[LiveRun, Batch, Sequence[NewChild]], None]"
    """Called after a batch with messages for the parent or the children is durable, with the children it created."""
    on_unconfirmed_children: "Callable[[LiveRun, Sequence[NewChild]], None]"
    """Called after an append whose outcome is unknown, once the state is folded again: these children may exist."""


class LiveRun:
    """One run being executed."""

    def __init__(
        self,
        runtime: Runtime,
        state: RunState,
        callbacks: RunCallbacks,
        redactor: Redactor | None = None,
        origin: int | None = None,
    ) -> None:
        """Hold the run; the caller starts or resumes it. `origin` is that of `RunClock.begin`."""
        self.state = state
        self.clock = RunClock.begin(runtime.clock, state.last_event_at, origin)
        self.key: RunKey = state.header.key
        self._runtime = runtime
        self._callbacks = callbacks
        self._bounds = run_bounds(runtime, state)
        redactor = redactor or make_redactor(state)
        self._activity = Activity(runtime, self.clock, self._bounds.duration, weak_reporter(self), redactor)
        self._inbox = Inbox(runtime.limits.max_run_state_bytes)
        self._driver: asyncio.Task[None] | None = None
        self._closing = False
        """No new input is processed: the run is halted, or the host is shutting down."""
        self._over = False
        """Halted: requests are refused with RunNotLive, and the store answers them."""
        self._is_ahead_of_log = False
        """The state is ahead of the log, because the host closed before the log could be read again."""
        self._first_commit: PendingCommit | None = None
        """Built by `prepare`, committed by the caller, applied by `start`."""
        self._is_uncreated = False
        """Between `prepare` and `start`: the store may not have the run yet, so nothing else is committed."""
        self._store_away = False
        self._batches = 0
        self._needs_turn = state.header.parent is not None  # no request waits for a batch of a child run
        self._idle_since: int | None = None
        """When the last batch left nothing to do, in nanoseconds on the monotonic clock."""
        self.executable = True
        """False if this host lacks node types of the run. Then nothing is launched, and the run can only be
        cancelled. Set before `resume`."""
        self.budget = RunBudget(runtime.limits, runtime.tenant_logs, self.key.partition)
        self._has_unsaved_parking = False
        """The run is parked, and its stored projection does not say so yet."""
        self._committed_view = CommittedView(state.header)

    def send(self, input_: Input | RunRequest) -> None:
        """Put an input into the inbox, and start the driver task if it does not run and the store has the run."""
        self._inbox.put(input_)
        if self._driver is None and not self._closing and not self._is_uncreated:
            # asyncio.create_task takes two calls more, to give the task a name.
            self._driver = asyncio.get_running_loop().create_task(self._drive())

    async def request(self, input_: Input, record: RecordMaker | None) -> Status | SlotTaken:
        """Like `send`, but returns the status once the consequences are durable.

        Raises StoreUnavailable, or RunNotLive for a run that is no longer live.
        """
        if self._over:
            raise RunNotLive
        if self._closing:
            raise StoreUnavailable("the host is shutting down")
        request = RunRequest(input_, asyncio.get_running_loop().create_future(), record)
        self.send(request)
        return await request.done

    @property
    def redactor(self) -> Redactor | None:
        return self._activity.runner.redactor

    async def settle(self, timeout: float) -> None:
        """Wait at most `timeout` seconds for a commit in progress, so that a caller reads its own writes."""
        if self._driver is not None and not self._store_away:
            await asyncio.wait((self._driver,), timeout=timeout)

    def committed_run(self) -> StoredRun:
        """The run as the store has it, without a query."""
        return self._committed_view.as_run()

    async def prepare(self, is_new: bool) -> Batch:
        """Execute a new run up to its first commit, and return the batch for its creation. `is_new` is true if only
        the store can refuse the creation."""
        self._is_uncreated = True
        self._first_commit = await self._collect(threads=is_new)
        return self._first_commit.builder.build(self._runtime.ids, None)

    def start(self, first: Batch) -> None:
        """Continue after the batch of `prepare` has become durable."""
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
        """Drop a run that was prepared and not created."""
        self._halt(RunNotLive())

    def resume(self, stored: StoredRun) -> None:
        """Continue a run that was loaded from the store: call the nodes that are running according to its log."""
        claims = {each.claim for node in self.state.running.values() for each in node.effects.values()}
        parallel = self._bounds.parallel if self.executable else 0
        self._bounds = msgspec.structs.replace(self._bounds, orphans=frozenset(claims), parallel=parallel)
        try:
            self._take_up(stored, cold=True)
        except Exception:
            self._abandon()
        else:
            # The projection may come from an older host that parked no runs, or from one with another time limit.
            differs = stored.projection.wake_at != next_wake_at(self.state, self._bounds.duration)
            self._has_unsaved_parking = is_parked(self.state) and (differs or not stored.projection.parked)
            if self.executable or self.state.stop is not None:
                self._step_after(REQUEST_LOOP_TURNS if self._callbacks.has_pending_request(self.key) else 0)

    def _step_after(self, turns: int) -> None:
        """Take a step after `turns` iterations of the event loop. A request that arrives first is processed first, so
        that a run that is about to be cancelled starts no node."""
        if turns and not self._inbox and self._driver is None:
            asyncio.get_running_loop().call_soon(self._step_after, turns - 1)
        else:
            self.send(Step())

    async def close(self) -> None:
        """Stop without writing to the log: the next host resumes the run from there.

        No node starts any more. Effects in progress get `shutdown_grace_seconds` to be recorded.
        """
        self._bounds = msgspec.structs.replace(self._bounds, parallel=0)
        if not may_interrupt(self.state, self._bounds, "immediate"):
            await poll_until(self._has_no_open_effect, self._runtime.limits.shutdown_grace_seconds)
        self._closing = True
        ending = self._activity.close()
        if self._driver is not None:
            ending.append(self._driver)
        if ending:
            await asyncio.wait(ending, timeout=5)
        self._inbox.refuse_requests(StoreUnavailable("the host is shutting down"))

    async def _drive(self) -> None:
        try:
            while not self.state.is_terminal and not self._closing:
                if self._needs_turn and not self._is_rested() and not self._inbox.has_request:
                    await self._runtime.loop_share.turn(self.key.partition, run=self.key.run_id)
                    self._needs_turn = False
                    continue
                units = self.state.condition_units
                work = await self._collect()
                if (units := self.state.condition_units - units) > 0:
                    self._runtime.loop_share.charge(self.key.partition, units)
                if not work.builder.size and not self._has_unsaved_parking:
                    await self._answer_unchanged(work)
                    if self._inbox or self._has_unsaved_parking:
                        continue
                    return
                is_committed = await self._commit(work)
                if is_committed:
                    self._notify_waiters(work)
                    self._activity.apply_commit(self.state, work)
                self._batches += 1
                is_costly = work.is_partial or units > MAX_BATCH_UNITS
                self._needs_turn = is_costly or self._batches >= FREE_BATCHES
                if is_committed and not (work.is_partial or self._inbox or self.state.is_terminal):
                    # A step would find nothing. It is left out, because a streamed answer has a batch per chunk. Not
                    # after a failed commit: what its own steps had decided is in no inbox, so they are taken again.
                    self._idle_since = self.clock.monotonic_ns()
                    return
            if self.state.is_terminal and not self._is_ahead_of_log:
                self._finish()
        except asyncio.CancelledError:
            self._closing = True
            raise
        except FenceLost:
            self.release()
        except Exception:
            self._abandon()
        finally:
            self._driver = None
            if self._inbox and not self._closing and not self.state.is_terminal:
                self._driver = asyncio.create_task(self._drive())
            else:
                self.park_if_idle()

    def _is_rested(self) -> bool:
        """Whether the next batch needs no turn, because the run was idle before it. Counts it in this iteration."""
        since, self._idle_since = self._idle_since, None
        if since is None or self.clock.monotonic_ns() - since < IDLE_REST_NS:
            return False
        return self._runtime.loop_share.take(self.key.partition, RESTED_BATCH_UNITS)

    def park_if_idle(self) -> None:
        """Unload the run if it is parked (park-01), nothing of it is due, and no request is about to arrive.

        The tasks of nodes in a long wait end here. They are launched again when the run is loaded, as after a crash."""
        if self._closing or self._has_unsaved_parking or self._driver is not None or self._inbox:
            return
        unloadable = may_unload(self.state, self._bounds.duration, self.clock.now)
        busy = unloadable and self._activity.is_calling_any(self.state.awaiting_children)
        if unloadable and not busy and not self._callbacks.has_pending_request(self.key):
            self._halt(RunNotLive())
            self._callbacks.on_parked(self)

    async def _commit(self, work: PendingCommit) -> bool:
        request = work.request
        record = request.make_record(self.state.status, work.started_at) if request is not None else None
        batch = work.builder.build(self._runtime.ids, record)
        try:
            taken = await self._runtime.log.append(self.key, work.builder.expected, batch, self._runtime.fence.epoch)
        except (StoreUnavailable, SequenceConflict) as error:
            if not await self._is_appended(batch, error):
                if request is not None:
                    request.refuse(StoreUnavailable(str(error)))
                await self._reload(work, pause=isinstance(error, StoreUnavailable))
                return False
            taken = None
        if taken is not None and request is not None:
            request.answer(taken)
            await self._reload(work, pause=False)
            return False
        self._on_committed(batch, work)
        if request is not None:
            request.answer(self.state.status)
        return True

    async def _is_appended(self, batch: Batch, error: Exception) -> bool:
        """Whether the store has a batch although the append raised this error."""
        if not isinstance(error, OutcomeUnknown):
            return False
        self._store_away = True
        try:
            return await is_appended(self._runtime.log, self._runtime.clock, self.key, batch)
        except StoreUnavailable:
            return False
        finally:
            self._store_away = False

    def _on_committed(self, batch: Batch, work: PendingCommit) -> None:
        self._has_unsaved_parking = False
        self._committed_view.apply_batch(batch)
        self.budget.log_bytes += work.builder.size
        self._runtime.feeds.publish(self.key, batch.events, self._visible_surface)
        fault_point("append.published")
        if batch.has_family_messages:
            self._callbacks.on_family_committed(self, batch, work.builder.children)

    def _visible_surface(self, node_id: str, payload: dict[str, Any]) -> dict[str, Any] | None:
        """surf-51: a partial surface with the sensitive values cut out that are cut out of the recorded one. None if no
        surface is left, or if the node accepts no surfaces, so that they are stored and not shown."""
        node = self.state.plan.nodes[node_id].node
        if not may_show_surface(node.contract.accepts, node.config):
            return None
        redactor = self.redactor
        if redactor is None:
            return payload
        visible = redactor.visible_surface(node_id, payload)
        return visible if parse_surface(visible) is not None else None

    @property
    def is_rechecking(self) -> bool:
        """Whether the run may still be processing results of its children."""
        return self._driver is not None or self._activity.is_calling_any(self.state.awaiting_children)

    async def _answer_unchanged(self, work: PendingCommit) -> None:
        """Finish work that has no events to append."""
        if work.request is not None:
            runtime = self._runtime
            await work.request.answer_unchanged(runtime.records, runtime.clock, self.state.status, work.started_at)
        self._notify_waiters(work)
        if work.launches or work.stop:
            self._activity.apply_commit(self.state, work)
        # A node that rechecked its children found no change, so the run is parked again; the store may not say so yet.
        self._has_unsaved_parking = self._has_unsaved_parking or (
            is_parked(self.state) and not self.committed_run().projection.parked
        )

    async def _reload(self, work: PendingCommit, pause: bool) -> None:
        """Discard the state, which is ahead of the log; fold the log again once the store answers, and put the inputs
        back into the inbox."""
        self._inbox.put_back(work.inputs)
        reloaded = await reload_run(self._runtime, self.state, pause, self._on_store_away, lambda: self._closing)
        self._store_away = False
        if reloaded is None:
            self._is_ahead_of_log = True
            return
        stored, self.state = reloaded
        self._inbox.drop_stale(self.state)
        self._runtime.feeds.invalidate(self.key)
        if pause:
            self._callbacks.on_unconfirmed_children(self, work.builder.children)
        if stored is not None:
            self._take_up(stored, cold=False)

    def _on_store_away(self) -> None:
        self._store_away = True
        self._inbox.refuse_requests(StoreUnavailable("the store is unavailable"))

    def _take_up(self, stored: StoredRun, cold: bool) -> None:
        """Synchronize with the stored run: launch every node that is running in the log and not in this process.
        `cold` means that the process that started them has died."""
        self._committed_view.replace(stored)
        self.state.changed_rows.clear()
        reported = self._inbox.reported_nodes(self.state)
        if self.executable and not self._activity.take_up(self.state, reported, cold, self._bounds.orphans):
            raise FenceLost("another process has claimed an effect of the run")

    async def _collect(self, threads: bool = True) -> PendingCommit:
        return await collect_commit(
            self.state,
            self._bounds,
            self._inbox,
            self._activity,
            self.clock,
            self.budget,
            self._runtime.loop_share.is_shared,
            claims=not self._is_uncreated,
            threads=threads,
        )

    def _notify_waiters(self, work: PendingCommit) -> None:
        if not notify_waiters(self.state, work.inputs):
            raise FenceLost("another process has claimed an effect of the run")

    def nodes_with_open_effects(self) -> list[str]:
        """The nodes whose effects must not be interrupted: all running nodes while the store does not answer."""
        is_doubtful = self._store_away or self._is_ahead_of_log
        return list(self.state.running) if is_doubtful else nodes_with_open_effects(self.state, self._bounds)

    def _has_no_open_effect(self) -> bool:
        """Whether all effects that must not happen twice have ended and are committed, or waiting is pointless."""
        idle = self._driver is None and may_interrupt(self.state, self._bounds, "immediate")
        return idle or self._over or self._store_away

    def _finish(self) -> None:
        self._halt(RunNotLive())
        self._callbacks.on_completed(self)

    def _abandon(self) -> None:
        """Halt the run after an unexpected exception, and fail its open requests. Called from an except block."""
        log.exception("run halted: bug in the host", extra=self.key.log_fields)
        self._halt(HostFault("this run was halted by a bug in the host"))
        self._runtime.feeds.release(self.key)
        self._callbacks.on_failed(self)

    def release(self) -> None:
        """Stop at once, because another process executes the run: nothing is written any more, no node starts, and what
        running nodes do is not recorded. Requests fail with StoreUnavailable, and readers continue with the store."""
        if not self._over:
            log.warning("run released: another process executes it", extra=self.key.log_fields)
            self._halt(StoreUnavailable("another process executes this run"))
            self._runtime.feeds.release(self.key)
            self._callbacks.on_released(self)

    def _halt(self, reason: Exception) -> None:
        self._over = True
        self._closing = True
        self._activity.close()
        self._inbox.refuse_requests(reason)


class CommittedView(msgspec.Struct, eq=False):
    """The stored form of a live run, so that readers need no query. The state of the run may be ahead of it."""

    _header: RunHeader
    _projection: Projection = msgspec.field(default_factory=lambda: Projection("pending"))
    _rows: dict[tuple[str, str], StateRow] = {}

    def apply_batch(self, batch: Batch) -> None:
        """Apply a committed batch."""
        self._projection = batch.projection
        for row in batch.rows:
            self._rows[row.kind, row.name] = row

    def replace(self, stored: StoredRun) -> None:
        """Replace the view with a run that was read from the store."""
        self._projection = stored.projection
        self._rows = {(row.kind, row.name): row for row in stored.rows}

    def as_run(self) -> StoredRun:
        return StoredRun(self._header, self._projection, tuple(self._rows.values()))


def run_bounds(runtime: Runtime, state: RunState) -> RunBounds:
    """The limits of one run, from the host, the workflow and the run's options."""
    limits, options = runtime.limits, state.header.configurable
    executions = execution_limit(limits, options)
    duration = time_limit(limits, state.plan.workflow.timeout_ms, options)
    iterations = iteration_limit(limits, options)
    return RunBounds(
        # A replay that goes its own way does so in one order, so that two of them are equal.
        1 if state.header.fork is not None and state.header.is_replay else limits.max_parallel_nodes,
        executions,
        runtime.provided,
        duration,
        iterations=iterations,
        models=runtime.model_catalogue,
    )


async def poll_until(condition: Callable[[], bool], seconds: float) -> None:
    """Return when the condition holds, or after that many seconds."""
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    while not condition() and loop.time() < until:
        await asyncio.sleep(POLL_INTERVAL_S)
