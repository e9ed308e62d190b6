"""The executor: holds the live runs of a host, and starts, resumes, parks and ends them.

A run is live while it has something to do. A run is parked while it is paused, or only waits for people, children or a
time: it is unloaded from memory, and loaded again for a request, a message or its alarm. Concurrent loads of the same
run share one live run.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final

import msgspec

from weftwork.engine.decide.inputs import CancelRequested, HostFailed, Input, Step
from weftwork.engine.host import run_loader
from weftwork.engine.host.admission import Admission, LiveRuns
from weftwork.engine.host.alarm import Alarm
from weftwork.engine.host.catalog import WorkflowCatalog
from weftwork.engine.host.child_messages import ChildMessages
from weftwork.engine.host.child_rate import ChildRate
from weftwork.engine.host.child_start import ChildStarter
from weftwork.engine.host.load_retries import LoadRetries
from weftwork.engine.host.parked_clocks import ParkedClocks
from weftwork.engine.host.recovery import Outcome, Recovery, RecoveryProgress
from weftwork.engine.host.set_aside import cancel_set_aside
from weftwork.engine.host.shutdown import AwaitedEffects, ClosedEffect, OpenEffect
from weftwork.engine.read_back import confirm_created
from weftwork.engine.run.live_run import LiveRun, RunCallbacks
from weftwork.engine.run.pending_commit import RecordMaker, RequestResult, RunNotLive
from weftwork.engine.runtime import Runtime
from weftwork.ports.fault_points import fault_point
from weftwork.ports.node_outcome import NewChild
from weftwork.ports.storage.event_log import (
    FenceLost,
    OutcomeUnknown,
    RunCreated,
    RunOutline,
    ScopeTaken,
    SequenceConflict,
    StoreUnavailable,
)
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.protocol.fair_share import FairLimit
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.run.batch import Batch, HiddenValue, IdempotencyRecord
from weftwork.protocol.run.header import TERMINAL_STATUSES, RunHeader, RunKey
from weftwork.protocol.run.projection import Projection, StoredRun
from weftwork.protocol.run.size_errors import find_set_aside_error
from weftwork.protocol.workflow.plan import Plan

log = logging.getLogger("weftwork.run")

MAX_CONCURRENT_STATE_READS: Final = 2
"""States of runs that are read from the store at the same time for callers, as each may have many megabytes. The store
has as many threads."""


class Executor:
    """Executes runs. The election (`ports/storage/election.py`) admits one executor per store, and each write has its
    fence, so that one which was replaced without noticing cannot continue."""

    def __init__(self, runtime: Runtime, catalog: WorkflowCatalog) -> None:
        rate = ChildRate(runtime.clock, runtime.limits.max_children_per_second)
        self._child_starter = ChildStarter(
            runtime.child_runs, runtime.clock, runtime.ids, runtime.limits, catalog, rate, runtime.tenant_logs
        )
        self._runtime = runtime = msgspec.structs.replace(runtime, child_starter=self._child_starter)
        self._catalog = catalog
        limits = runtime.limits
        self.run_slots = FairLimit(limits.max_live_runs, limits.reserved_share_percent)
        """The runs of each partition that are executed or being created."""
        self._live: LiveRuns[LiveRun] = LiveRuns(self.run_slots)
        self._closed = False
        self._awaited_effects = AwaitedEffects()
        self._pending_requests: Counter[RunKey] = Counter()
        """Runs with requests that are about to arrive. They stay in memory until the requests are answered."""
        self._retries = LoadRetries(runtime.ownership, runtime.fence, runtime.clock, self._wake, self._recover_run)
        self._parked_clocks = ParkedClocks(runtime.clock, runtime.queries, self._live.__contains__)
        self._alarm = Alarm(
            runtime.queries,
            runtime.clock,
            self._parked_clocks,
            self._wake_and_settle,
            self._live.__contains__,
            self.run_slots,
        )
        self._loads = run_loader.LoadsInProgress()
        self._admission = Admission(limits.max_live_children, runtime.clock, self._wake, self.run_slots)
        self._recent_runs = run_loader.RecentRuns()
        self._state_reads = asyncio.Semaphore(MAX_CONCURRENT_STATE_READS)
        self._loader = run_loader.RunLoader(runtime, catalog)
        self._child_messages = ChildMessages(
            runtime.child_runs,
            runtime.clock,
            self.request,
            self._start_child,
            self._retries.add,
            self._live.get,
            self._admission,
        )
        runtime.fence.on_lost = self._release_run
        self.recovery = Recovery(runtime.ownership, runtime.fence, self._admission, runtime.clock, self._recover_run)
        self._callbacks = RunCallbacks(
            on_completed=self._on_completed,
            on_failed=self._on_failed,
            on_parked=self._on_parked,
            on_released=self._on_released,
            has_pending_request=self._pending_requests.__contains__,
            on_family_committed=self._child_messages.on_family_committed,
            on_unconfirmed_children=self._child_messages.on_unconfirmed_children,
        )

    @property
    def live_count(self) -> int:
        """The number of runs that are executed or being created."""
        return self.run_slots.total

    async def create(
        self,
        header: RunHeader,
        plan: Plan,
        inputs: dict[str, Any],
        hidden: tuple[HiddenValue, ...],
        record: IdempotencyRecord | None,
        exclusive: bool,
    ) -> RunCreated | SlotTaken | ScopeTaken:
        """Store a run, in one commit with the events of its first steps, and execute it.

        If the outcome is not RunCreated, nothing is executed. The caller has checked `run_slots`. Raises
        StoreUnavailable; the run may exist then, and is executed once it is found in the store.
        """
        live: LiveRun | None = None
        self.run_slots.force(header.partition)
        is_live = False
        try:
            live, first = await self._prepare(header, plan, inputs, is_new=record is None and not exclusive)
            try:
                created = await self._runtime.log.create(
                    header, hidden, record, exclusive, first, self._runtime.fence.epoch
                )
            except OutcomeUnknown:
                created = await confirm_created(self._runtime.log, self._runtime.clock, header.key)
            fault_point("create.durable")
            if isinstance(created, RunCreated) and self._may_start(live):
                is_live = True
                self._live.add_created(live.key, live)
            else:
                live.discard()
        except (StoreUnavailable, asyncio.CancelledError):
            if live is not None:
                live.discard()
                self._retries.add(header.key)
            raise
        finally:
            if not is_live:
                self.run_slots.free(header.partition)
                self._admission.on_room()
        if is_live:
            if first is not None:
                live.start(first)
            else:
                live.send(Step())
        return created

    async def create_fork(
        self, header: RunHeader, first: Batch, record: IdempotencyRecord | None, exclusive: bool
    ) -> RunCreated | SlotTaken | ScopeTaken:
        """Store a fork, which begins with a copy of its source, and execute it like a run that is loaded after a
        restart. Raises SourceMissing, or StoreUnavailable; the fork may exist then, and is executed once it is found in
        the store."""
        try:
            try:
                created = await self._runtime.forks.create(header, first, record, exclusive, self._runtime.fence.epoch)
            except OutcomeUnknown:
                created = await confirm_created(self._runtime.log, self._runtime.clock, header.key)
            fault_point("fork.durable")
        except (StoreUnavailable, asyncio.CancelledError):
            self._retries.add(header.key)
            raise
        if isinstance(created, RunCreated) and not self._closed and header.key not in self._loads:
            self._loads.start(header.key, self._load(header.key))
        return created

    def _may_start(self, live: LiveRun) -> bool:
        """Whether to execute a run that has become durable; False if it was loaded from the store in the meantime."""
        if live.key in self._loads:
            self._retries.add(live.key)
            return False
        return live.key not in self._live and not self._closed

    async def _prepare(
        self, header: RunHeader, plan: Plan, inputs: dict[str, Any], is_new: bool
    ) -> tuple[LiveRun, Batch | None]:
        live = self._make_live(RunState(plan, header, inputs))
        try:
            return live, await live.prepare(is_new)
        except asyncio.CancelledError:
            live.discard()
            raise
        except Exception:
            live.discard()
            # A bug of the host. The run is created anyway: it fails again when it is executed, and its log says so.
            log.exception("run halted: bug in the host", extra=header.key.log_fields)
            return self._make_live(RunState(plan, header, inputs)), None

    async def read_run(self, run: RunKey) -> StoredRun | None:
        """The stored run, from memory if the run is live or has just ended."""
        live = self._live.get(run)
        if live is not None:
            await live.settle(1.0)
            return live.committed_run()
        return self._recent_runs.get(run) or await self._read_stored(run)

    async def _read_stored(self, run: RunKey) -> StoredRun | None:
        async with self._state_reads:
            return await self._runtime.log.read_run(run)

    async def projection(self, run: RunKey) -> Projection | None:
        """The projection of a run: `read_run` without the state rows, which may be large."""
        live = self._live.get(run)
        if live is not None:
            await live.settle(1.0)
            return live.committed_run().projection
        recent = self._recent_runs.get(run)
        return recent.projection if recent is not None else await self._runtime.log.projection(run)

    async def settle(self, run: RunKey) -> None:
        """Wait at most a second for a load of the run in progress, and as long for a commit."""
        if (loading := self._loads.get(run)) is not None:
            await asyncio.wait((loading,), timeout=1.0)
        if (live := self._live.get(run)) is not None:
            await live.settle(1.0)

    async def request(self, run: RunKey, input_: Input, record: RecordMaker | None = None) -> RequestResult:
        """Send an input to a run. Returns its status once the consequences are durable, or the stored run if it had
        already ended, or None if there is no such run.

        Raises ClientFault if the run refuses the request, and StoreUnavailable.
        """
        woken = False
        to_cancel = isinstance(input_, CancelRequested)
        with self._keeping(run):
            while True:
                live = self._live.get(run)
                if live is None and (live := await self._wake(run, to_cancel)) is None:
                    stored = await self._runtime.log.outline(run)
                    if stored is None or stored.projection.status in TERMINAL_STATUSES:
                        return await self._runtime.log.read_run(run)
                    if isinstance(input_, CancelRequested) and find_set_aside_error(stored.projection) is not None:
                        return await self._cancel_set_aside(stored, input_, record)
                    if woken:
                        raise await run_loader.unloadable_error(self._catalog, stored)
                    woken = True
                if live is not None:
                    if not live.executable and not to_cancel:
                        raise await run_loader.unloadable_error(self._catalog, live.committed_run())
                    try:
                        return await live.request(input_, record)
                    except RunNotLive:
                        continue

    @asynccontextmanager
    async def loaded(self, run: RunKey) -> AsyncGenerator[StoredRun | None, None]:
        """`read_run` for a caller that will send a request to the run within the block: the run is loaded into memory
        if it can be, and stays there, so that it is read from the store once."""
        with self._keeping(run):
            if run not in self._live and self._recent_runs.get(run) is None:
                await self._wake(run)
            yield await self.read_run(run)

    @contextmanager
    def _keeping(self, run: RunKey) -> Generator[None, None, None]:
        """Do not unload a run, because a request to it is pending."""
        self._pending_requests[run] += 1
        try:
            yield
        finally:
            self._pending_requests[run] -= 1
            if not self._pending_requests[run]:
                # This was the last pending request, so the run may be unloaded.
                del self._pending_requests[run]
                if (live := self._live.get(run)) is not None:
                    if live.executable or live.state.stop is not None or live.state.is_terminal:
                        live.park_if_idle()
                    else:
                        # Its cancellation was not stored, and nothing else can be done with it.
                        self._live.discard(run)
                        live.discard()
                        self._admission.free(run)

    async def _cancel_set_aside(
        self, outline: RunOutline, input_: CancelRequested, record: RecordMaker | None
    ) -> RequestResult:
        header = outline.header
        plan = await self._catalog.cancel_plan(header.workflow_id, header.definition)
        try:
            result = await cancel_set_aside(self._runtime, outline, plan, input_, record)
        except (FenceLost, SequenceConflict) as error:
            raise StoreUnavailable(str(error)) from error
        self._child_messages.recover_soon()
        return result

    def forget(self, run: RunKey) -> bool:
        """Drop an ended run from all caches and end its streams; False, without effect, if the run is live or being
        loaded."""
        if run in self._live or run in self._loads:
            return False
        self._recent_runs.forget(run)
        self._loader.take_parked(run)
        self._runtime.feeds.end(run)
        return True

    def forget_ended_runs(self) -> None:
        """Drop all ended runs from the cache, because another process has deleted some."""
        self._recent_runs.clear()

    async def recover(self) -> int:
        """Resume every run that was unfinished at the start and is not parked; returns how many, once they all are.
        Raises StoreUnavailable."""
        self._recover_messages()
        return (await self.recovery.run()).resumed

    def start_recovery(self) -> asyncio.Task[RecoveryProgress]:
        """Like `recover`, in the background, and retried until the store is available. Later calls return the same
        task."""
        self._recover_messages()
        return self.recovery.start()

    async def find_work(self) -> None:
        """After the recovery, look for runs, messages and timers that this process does not know of. A process that has
        not noticed yet that it was replaced creates runs, parks them, and ends children of runs that this process has
        taken. Raises StoreUnavailable."""
        if not self._closed and self.recovery.is_done:
            self._child_messages.recover_soon()
            self._alarm.look()
            await self.recovery.repeat()

    def _recover_messages(self) -> None:
        self._child_messages.recover_soon()
        self._alarm.start()

    async def _recover_run(self, run: RunKey) -> Outcome:
        if await run_loader.recover_run(self._wake, run):
            return "live"
        projection = await self.projection(run)
        if projection is None or projection.status in TERMINAL_STATUSES:
            return "ended"
        await self._retries.postpone(run)
        return "skipped"

    async def _wake_and_settle(self, run: RunKey) -> bool:
        """Load a run, and wait up to a second for the work that is due."""
        woken = await run_loader.recover_run(self._wake, run)
        if (live := self._live.get(run)) is not None:
            await live.settle(1.0)
        return woken

    def release_runs(self) -> None:
        """Stop all runs at once, because another process executes them now. Nothing is executed any more."""
        self._closed = True
        self._close_tasks()
        for live in list(self._live.values()):
            live.release()

    async def close(self, on_waiting: Callable[[Sequence[OpenEffect]], None] | None = None) -> list[ClosedEffect]:
        """Stop all runs. The next start resumes them from their logs.

        Waits for effects in progress that must not happen twice, at most `shutdown_grace_seconds`. If there are any,
        `on_waiting` is called with them before the wait. Returns what became of them.
        """
        self._closed = True
        effects = self._awaited_effects.collect(self._live.values())
        if effects and on_waiting is not None:
            on_waiting(effects)
        self._close_tasks()
        await asyncio.gather(*(live.close() for live in self._live.values()))
        return self.report_effects()

    def _close_tasks(self) -> None:
        self._retries.close()
        self.recovery.close()
        self._child_messages.close()
        self._admission.close()
        self._alarm.close()

    def report_effects(self) -> list[ClosedEffect]:
        """Log and return what has become of the effects that `close` waits for, each of them once. A process that exits
        without the end of the wait calls this."""
        return self._awaited_effects.report()

    async def _wake(self, run: RunKey, to_cancel: bool = False) -> LiveRun | None:
        """The live run, loaded if it is not in memory. Concurrent calls share one load."""
        if (live := self._live.get(run)) is not None:
            return live
        loading = self._loads.get(run)
        if loading is None:
            loading = self._loads.start(run, self._load(run, to_cancel))
        return await asyncio.shield(loading)

    async def _load(self, run: RunKey, to_cancel: bool = False) -> LiveRun | None:
        try:
            loaded = await self._loader.load(run, to_cancel)
        except StoreUnavailable:
            self._retries.add(run)
            raise
        if loaded is None:
            return None
        if self._closed:
            raise StoreUnavailable("the host is shutting down")
        origin = self._parked_clocks.on_loaded(run)
        live = self._live[run] = LiveRun(self._runtime, loaded.state, self._callbacks, loaded.redactor, origin)
        live.budget.log_bytes = loaded.log_bytes
        live.executable = loaded.executable
        live.resume(loaded.stored)
        return live

    def _make_live(self, state: RunState) -> LiveRun:
        return LiveRun(self._runtime, state, self._callbacks)

    def _on_completed(self, live: LiveRun) -> None:
        fault_point("run.ended")
        if self._live.get(live.key) is live:
            del self._live[live.key]
        self._recent_runs.add(live.key, live.committed_run())
        self._admission.free(live.key)
        state, header = live.state, live.state.header
        code = state.error["code"] if state.error else None
        fields = {"runId": header.run_id, "tenant": header.owner.tenant, "status": state.status, "errorCode": code}
        log.info("run ended", extra=fields)

    def _on_failed(self, live: LiveRun) -> None:
        """After a bug of the host, fold the log again and fail the run, so that it does not hang."""
        self._live.discard(live.key)
        self._loads.start(live.key, self._fail_run(live.key))

    async def _fail_run(self, run: RunKey) -> LiveRun | None:
        state = await run_loader.load_with_retry(self._runtime, self._catalog, run)
        if state is None:
            return None
        callbacks = msgspec.structs.replace(self._callbacks, on_failed=self._give_up)
        live = self._live[run] = LiveRun(self._runtime, state, callbacks)
        live.send(HostFailed())
        return live

    def _on_parked(self, live: LiveRun) -> None:
        """Unload a run that only waits. It is loaded again on demand."""
        if self._live.get(live.key) is live:
            self._live.discard(live.key)
        fault_point("run.parked")
        if live.executable:
            self._loader.park(
                run_loader.LoadedRun(live.state, live.committed_run(), live.budget.log_bytes, live.redactor)
            )
        self._alarm.schedule(live.key, live.clock.origin, live.committed_run().projection.wake_at)
        self._admission.free(live.key)

    def _release_run(self, run: RunKey) -> None:
        if (live := self._live.get(run)) is not None:
            live.release()

    def _on_released(self, live: LiveRun) -> None:
        """Drop a run that another process executes."""
        if self._live.get(live.key) is live:
            self._live.discard(live.key)
        self._admission.free(live.key)

    def _start_child(self, new: NewChild) -> None:
        """Execute a child that has become durable, now or as soon as it gets a slot."""
        self._child_starter.on_started(new)
        if not self._admission.admit(new.header.key, new.input_bytes, new.root):
            return
        child = self._make_live(RunState(new.plan, new.header, new.inputs))
        if self._may_start(child):
            self._live[child.key] = child
            child.send(Step())
        else:
            child.discard()

    def _give_up(self, live: LiveRun) -> None:
        self._live.discard(live.key)
        self._admission.free(live.key)
        log.critical("run skipped: it could not be marked as failed", extra=live.key.log_fields)
