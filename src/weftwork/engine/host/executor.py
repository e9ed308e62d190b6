"""The executor: which runs are live, how they start, how they go on after a restart, how they end.

A run is live while it has something to do. One that only waits for people or children is parked: it leaves memory,
and is loaded again when a request, a message or its alarm wants it. Loading the same run twice at once gives the
same live run.

When the store fails during a create, the run may be stored all the same, and a retry under the same idempotency key
would be told that it was created. Such creates are looked up again until the store answers (`UnconfirmedCreates`),
and the run goes on if it is there.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

import msgspec

from weftwork.engine.decide.inputs import HostFailed, Input, Step
from weftwork.engine.host import run_loader
from weftwork.engine.host.admission import Admission
from weftwork.engine.host.alarm import Alarm
from weftwork.engine.host.catalog import WorkflowCatalog
from weftwork.engine.host.child_messages import ChildMessages
from weftwork.engine.host.child_start import ChildStarter
from weftwork.engine.run.live_run import LiveRun, RunCallbacks
from weftwork.engine.run.pending_commit import RecordMaker, RequestResult, RunNotLive
from weftwork.engine.runtime import Runtime
from weftwork.ports.clock import Clock
from weftwork.ports.fault_points import fault_point
from weftwork.ports.node_outcome import NewChild
from weftwork.ports.storage.event_log import RunCreated, ScopeTaken, StoreUnavailable
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.run.batch import Batch, HiddenValue, IdempotencyRecord
from weftwork.protocol.run.header import TERMINAL_STATUSES, RunHeader, RunKey
from weftwork.protocol.run.projection import Projection, StoredRun
from weftwork.protocol.workflow.plan import Plan

T = TypeVar("T")

log = logging.getLogger("weftwork.run")

MAX_UNCONFIRMED: Final = 10_000
"""Creates beyond this number are found at the next start."""
CONFIRM_INTERVAL_MS: Final = 1000


class Executor:
    """Executes runs. One per store, held by the host lock."""

    def __init__(self, runtime: Runtime, catalog: WorkflowCatalog) -> None:
        self._child_starter = ChildStarter(runtime.child_runs, runtime.clock, runtime.ids, runtime.limits, catalog)
        self._runtime = runtime = msgspec.structs.replace(runtime, child_starter=self._child_starter)
        self._catalog = catalog
        self._live: CountedRuns[LiveRun] = CountedRuns()
        self._creating = RunCounts()
        self._closed = False
        self._pending_requests: Counter[RunKey] = Counter()
        """Runs that somebody is about to ask something, so that they stay in memory until it is answered."""
        self._unconfirmed = UnconfirmedCreates(runtime.clock, self._wake)
        self._alarm = Alarm(runtime.queries, runtime.clock, self._wake_and_settle, self._live.__contains__)
        self._loads = run_loader.LoadsInProgress()
        self._admission = Admission(runtime.limits.max_live_children, runtime.clock, self._wake)
        self._recent_runs = run_loader.RecentRuns()
        self._loader = run_loader.RunLoader(runtime, catalog)
        self._child_messages = ChildMessages(
            runtime.child_runs,
            runtime.clock,
            self.request,
            self._start_child,
            self._unconfirmed.add,
            self._live.get,
            self._admission,
        )
        self._callbacks = RunCallbacks(
            on_completed=self._on_completed,
            on_failed=self._on_failed,
            on_parked=self._on_parked,
            has_pending_request=self._pending_requests.__contains__,
            on_family_committed=self._child_messages.on_family_committed,
            on_unconfirmed_children=self._child_messages.on_unconfirmed_children,
        )

    @property
    def live_count(self) -> int:
        """Runs that are executed, and those about to be."""
        return self._live.counts.total + self._creating.total

    def live_in(self, partition: str) -> int:
        """Those of one partition."""
        return self._live.counts.count(partition) + self._creating.count(partition)

    async def create(
        self,
        header: RunHeader,
        plan: Plan,
        inputs: dict[str, Any],
        hidden: tuple[HiddenValue, ...],
        record: IdempotencyRecord | None,
        exclusive: bool,
    ) -> RunCreated | SlotTaken | ScopeTaken:
        """Make a run durable in one commit with all that follows from its creation at once, and execute it."""
        live: LiveRun | None = None
        self._creating.add(header.partition)
        try:
            live, first = await self._prepare(header, plan, inputs, is_new=record is None and not exclusive)
            created = await self._runtime.log.create(header, hidden, record, exclusive, first)
            fault_point("create.durable")
        except (StoreUnavailable, asyncio.CancelledError):
            if live is not None:
                live.discard()
                self._unconfirmed.add(header.key)
            raise
        finally:
            self._creating.remove(header.partition)
        if not isinstance(created, RunCreated) or not self._start_live(live, first):
            live.discard()
        return created

    def _start_live(self, live: LiveRun, first: Batch | None) -> bool:
        """Execute a run that is durable now, unless somebody found it in the store and was faster."""
        if live.key in self._loads:
            self._unconfirmed.add(live.key)
            return False
        if live.key in self._live or self._closed:
            return False
        self._live[live.key] = live
        if first is not None:
            live.start(first)
        else:
            live.send(Step())
        return True

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
            # An error of ours. It will come again when the run is there, and end in its log.
            log.exception("run halted: bug in the host", extra={"runId": header.run_id})
            return self._make_live(RunState(plan, header, inputs)), None

    async def read_run(self, run: RunKey) -> StoredRun | None:
        """The committed view of a run, from memory where that is the same as from the store."""
        live = self._live.get(run)
        if live is not None:
            await live.settle(1.0)
            return live.committed_run()
        return self._recent_runs.get(run) or await self._runtime.log.read_run(run)

    async def projection(self, run: RunKey) -> Projection | None:
        """How a run stands: `read_run` without its rows, which may be large."""
        live = self._live.get(run)
        if live is not None:
            await live.settle(1.0)
            return live.committed_run().projection
        recent = self._recent_runs.get(run)
        return recent.projection if recent is not None else await self._runtime.log.projection(run)

    async def request(self, run: RunKey, given: Input, record: RecordMaker | None = None) -> RequestResult:
        """Ask something of a run: its status once the consequences are durable, the run itself if it has ended.

        None when there is no such run. Raises ClientFault if what is asked is refused.
        """
        woken = False
        self._pending_requests[run] += 1
        try:
            while True:
                live = self._live.get(run)
                if live is None and (live := await self._wake(run)) is None:
                    stored = await self._runtime.log.read_run(run)
                    if stored is None or stored.projection.status in TERMINAL_STATUSES:
                        return stored
                    if woken:
                        raise await run_loader.unloadable_error(self._catalog, stored)
                    woken = True
                if live is not None:
                    try:
                        return await live.request(given, record)
                    except RunNotLive:
                        continue
        finally:
            self._pending_requests[run] -= 1
            if not self._pending_requests[run]:
                # Nothing else needs the run in memory.
                del self._pending_requests[run]
                if (live := self._live.get(run)) is not None:
                    live.park_if_idle()

    def forget(self, run: RunKey) -> bool:
        """Keep nothing of an ended run, and end its readers; False, and nothing is done, for one that is executed."""
        if run in self._live or run in self._loads:
            return False
        self._recent_runs.forget(run)
        self._loader.take(run)
        self._runtime.feeds.end(run)
        return True

    async def recover(self) -> int:
        """Go on with every unfinished run that is not parked; returns how many went on. Raises StoreUnavailable."""
        count = await run_loader.recover_runs(self._runtime.queries, self._recover_run)
        await self._child_messages.recover()
        self._alarm.start()
        return count

    async def _recover_run(self, run: RunKey) -> bool:
        # Children may be more than there can be live runs.
        crowded = self._live.counts.total >= self._runtime.limits.max_live_runs
        if crowded and not self._admission.admit(run):
            return True
        if not (woken := await run_loader.recover_run(self._wake, run)):
            self._admission.free(run)
        return woken

    async def _wake_and_settle(self, run: RunKey) -> bool:
        """Wake a run; what it has to do now is done soon after, mostly before this returns."""
        woken = await run_loader.recover_run(self._wake, run)
        if (live := self._live.get(run)) is not None:
            await live.settle(1.0)
        return woken

    async def close(self) -> None:
        """Leave every run where its log says it is."""
        self._closed = True
        self._unconfirmed.close()
        self._child_messages.close()
        self._admission.close()
        self._alarm.close()
        await asyncio.gather(*(live.close() for live in self._live.values()))

    async def _wake(self, run: RunKey) -> LiveRun | None:
        """Load a run that is not in memory; loading twice at once gives the same live run."""
        if (live := self._live.get(run)) is not None:
            return live
        loading = self._loads.get(run)
        if loading is None:
            loading = self._loads.start(run, self._load(run))
        return await asyncio.shield(loading)

    async def _load(self, run: RunKey) -> LiveRun | None:
        found = await self._loader.load(run)
        if found is None:
            return None
        if self._closed:
            raise StoreUnavailable("the host is shutting down")
        live = self._live[run] = LiveRun(self._runtime, found.state, self._callbacks, found.redactor)
        live.log_bytes = found.log_bytes
        live.resume(found.stored)
        return live

    def _make_live(self, state: RunState) -> LiveRun:
        return LiveRun(self._runtime, state, self._callbacks)

    def _on_completed(self, live: LiveRun) -> None:
        fault_point("run.ended")
        if self._live.get(live.key) is live:
            del self._live[live.key]
        self._recent_runs.add(live.key, live.committed_run())
        self._admission.free(live.key)
        # One line for the host's operator.
        state, header = live.state, live.state.header
        code = state.error["code"] if state.error else None
        known = {"runId": header.run_id, "tenant": header.owner.tenant, "status": state.status, "errorCode": code}
        log.info("run ended", extra=known)

    def _on_failed(self, live: LiveRun) -> None:
        """An error of ours: the run ends as failed instead of hanging, if the log still lets us say so."""
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
        """The run waits for people, or somebody else moves it: it is found in the store when it is wanted."""
        if self._live.get(live.key) is live:
            self._live.discard(live.key)
        fault_point("run.parked")
        if live.parked:
            self._loader.park(run_loader.LoadedRun(live.state, live.committed_run(), live.log_bytes, live.redactor))
        self._alarm.schedule(live.committed_run().projection.wake_at)
        self._admission.free(live.key)

    def _start_child(self, new: NewChild) -> None:
        """Execute a child that is durable now, or as soon as there is room."""
        self._child_starter.on_started(new)
        if not self._admission.admit(new.header.key, new.input_bytes, new.root):
            return
        child = self._make_live(RunState(new.plan, new.header, new.inputs))
        if not self._start_live(child, None):
            child.discard()

    def _give_up(self, live: LiveRun) -> None:
        self._live.discard(live.key)
        self._admission.free(live.key)
        log.critical("run cannot even be failed; it is left as it is", extra={"runId": live.key.run_id})


class RunCounts(msgspec.Struct, eq=False):
    """How many runs there are, in all and by partition. A partition without runs takes no memory."""

    _counts: dict[str, int] = {}
    total: int = 0

    def add(self, partition: str) -> None:
        self.total += 1
        self._counts[partition] = self._counts.get(partition, 0) + 1

    def remove(self, partition: str) -> None:
        self.total -= 1
        left = self._counts[partition] - 1
        if left:
            self._counts[partition] = left
        else:
            del self._counts[partition]

    def count(self, partition: str) -> int:
        return self._counts.get(partition, 0)


class CountedRuns(dict[RunKey, T]):
    """Runs by key, with counts that always agree with them."""

    def __init__(self) -> None:
        super().__init__()
        self.counts = RunCounts()

    def __setitem__(self, run: RunKey, value: T) -> None:
        if run not in self:
            self.counts.add(run.partition)
        super().__setitem__(run, value)

    def __delitem__(self, run: RunKey) -> None:
        super().__delitem__(run)
        self.counts.remove(run.partition)

    def discard(self, run: RunKey) -> None:
        """Remove a run if it is there."""
        if run in self:
            del self[run]


class UnconfirmedCreates(msgspec.Struct, eq=False):
    """Creates whose outcome is unknown. One task looks them all up, and ends when none is left."""

    _clock: Clock
    _wake: Callable[[RunKey], Awaitable[object]]
    _runs: dict[RunKey, None] = {}
    _task: asyncio.Task[None] | None = None
    _closed: bool = False

    def add(self, run: RunKey) -> None:
        if self._closed:
            return
        if len(self._runs) < MAX_UNCONFIRMED:
            self._runs[run] = None
        if self._task is None:
            self._task = asyncio.create_task(self._confirm_all())

    def close(self) -> None:
        self._closed = True
        if self._task is not None:
            self._task.cancel()

    async def _confirm_all(self) -> None:
        while self._runs:
            await self._clock.sleep_until(self._clock.now() + CONFIRM_INTERVAL_MS)
            for run in list(self._runs):
                try:
                    await self._wake(run)
                except StoreUnavailable:
                    break
                except Exception:
                    log.exception("run left as it is: its log cannot be folded", extra={"runId": run.run_id})
                del self._runs[run]
        self._task = None
