"""Delivers messages between parent and child runs.

Messages are durable before this module sees them: a child's result and a parent's cancel request are written in the
same commit as the event that caused them, and stay in the store until they have been applied. Delivery here is
therefore an optimisation. A lost message is picked up from the store at the next start, and a message that is
delivered twice is ignored the second time.
"""

import asyncio
import logging
from collections import OrderedDict, defaultdict
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import msgspec

from weftwork.engine.decide.inputs import CancelRequested, ChildResultsReceived, Input
from weftwork.engine.host.admission import Admission
from weftwork.engine.run.live_run import LiveRun
from weftwork.ports.clock import Clock
from weftwork.ports.fault_points import fault_point
from weftwork.ports.node_outcome import NewChild
from weftwork.ports.storage.child_runs import ChildRuns, PendingCancelRequest, PendingChildResult
from weftwork.ports.storage.event_log import STORE_RETRY_MS, StoreUnavailable
from weftwork.protocol.run.batch import Batch, ChildResult
from weftwork.protocol.run.header import RunKey

log = logging.getLogger("weftwork.run")

BATCH_SIZE: Final = 256
"""Messages read from the store at a time."""
RESUME_GRACE_MS: Final = 250
"""How long to hold back the notification that a child is running again.

Most children suspend or finish within this time after an answer, and then one notification is enough."""
MAX_TRACKED_CHILDREN: Final = 10_000
"""Children whose newest result is remembered, so that an older one is not delivered after it."""
ACKNOWLEDGE_DELAY_MS: Final = 100
"""Results delivered within this time are acknowledged in one write."""
MAX_CONCURRENT_DELIVERIES: Final = 128

SendInput = Callable[[RunKey, Input], Awaitable[object]]


class ChildMessages(msgspec.Struct, eq=False):
    """Delivers child results to parents and cancel requests to children. One instance per host.

    _send_input: wakes a run and gives it an input; returns when the consequences are durable.
    _start: executes a child that is stored.
    _confirm_create: finds out whether a child is stored, and executes it if so.
    _find_live: returns a run that is in memory.
    """

    _child_runs: ChildRuns
    _clock: Clock
    _send_input: SendInput
    _start: Callable[[NewChild], None]
    _confirm_create: Callable[[RunKey], None]
    _find_live: Callable[[RunKey], LiveRun | None]
    _admission: Admission
    _queued: dict[RunKey, dict[str, ChildResult]] = {}
    """Parent -> the newest result of each of its children."""
    _newest: OrderedDict[str, int] = msgspec.field(default_factory=OrderedDict[str, int])
    """The sequence of the newest result of each child."""
    _delivered: list[PendingChildResult] = []
    _tasks: dict[tuple[str, RunKey | None], asyncio.Task[None]] = {}
    _delivery_slots: asyncio.Semaphore = msgspec.field(
        default_factory=lambda: asyncio.Semaphore(MAX_CONCURRENT_DELIVERIES)
    )
    _must_recover: bool = False
    """The store may have messages that a recovery in progress has already passed."""
    _has_cancels: bool = False
    _cancel_sent: set[RunKey] = set()
    """Children that were sent their cancel request, or cannot be executed here. Cleared when no request is left."""
    _closed: bool = False

    def on_family_committed(self, live: LiveRun, batch: Batch, children: Sequence[NewChild]) -> None:
        """A batch is durable: start its new children, and deliver its messages to the parent and the other children."""
        fault_point("kin.related")
        for new in children:
            self._start(new)
        parent = live.state.header.parent
        if parent is not None and batch.child_result is not None:
            self.queue_result(PendingChildResult(RunKey(live.key.partition, parent.run_id), batch.child_result))
        if batch.cancel_requests or batch.cascade_cancel is not None:
            self._admission.hold_tree(parent.root if parent is not None else live.key.run_id)
            self.queue_cancels()

    def on_unconfirmed_children(self, live: LiveRun, children: Sequence[NewChild]) -> None:
        """An append had an unknown outcome: look in the store for these children and for messages."""
        for new in children:
            self._confirm_create(new.header.key)
        self.recover_soon()

    def queue_result(self, pending: PendingChildResult) -> None:
        """Deliver a child's result to its parent, unless a newer one is known."""
        if self._newest.get(pending.result.child_run_id, -1) >= pending.result.sequence:
            # This result was read from the store, and a newer one was queued in the meantime.
            return
        self._newest[pending.result.child_run_id] = pending.result.sequence
        self._newest.move_to_end(pending.result.child_run_id)
        if len(self._newest) > MAX_TRACKED_CHILDREN:
            self._newest.popitem(last=False)
        self._queued.setdefault(pending.parent, {})[pending.result.child_run_id] = pending.result
        if pending.result.status == "running":
            self._start_task("later", self._deliver_later, pending.parent)
        else:
            self._start_task("now", self._deliver, pending.parent)

    def queue_cancels(self) -> None:
        """Deliver the cancel requests that are in the store."""
        self._has_cancels = True
        self._start_task("orders", self._deliver_cancels)

    async def recover(self) -> None:
        """Deliver all messages of the store, page by page, after a restart or an outage of the store. Returns when the
        results are delivered. Raises StoreUnavailable."""
        self.queue_cancels()
        after: PendingChildResult | None = None
        while (page := await self._child_runs.child_results(after, BATCH_SIZE)) and not self._closed:
            for each in page:
                self.queue_result(each)
            for parent in dict.fromkeys(each.parent for each in page):
                await self._wait_until_delivered(parent)
            after = page[-1]

    async def _wait_until_delivered(self, parent: RunKey) -> None:
        """Wait for the tasks that deliver the queued results of a parent."""
        while not self._closed:
            tasks = [task for what in ("later", "now") if (task := self._tasks.get((what, parent))) is not None]
            if not tasks:
                return
            await asyncio.wait(tasks)

    def recover_soon(self) -> None:
        """Like `recover`, in the background, and retried until the store is available."""
        self._must_recover = True
        self._start_task("recover", self._recover)

    def close(self) -> None:
        self._closed = True
        for task in list(self._tasks.values()):
            task.cancel()

    def _start_task(self, what: str, work: Callable[..., Awaitable[None]], run: RunKey | None = None) -> None:
        if (what, run) not in self._tasks and not self._closed:
            self._tasks[what, run] = asyncio.create_task(self._run_task(what, work, run))

    async def _run_task(self, what: str, work: Callable[..., Awaitable[None]], run: RunKey | None) -> None:
        try:
            await (work() if run is None else work(run))
        except Exception:
            about = {"runId": run.run_id if run is not None else None}
            log.exception("parent or child run not notified yet; retrying at the next start", extra=about)
        finally:
            # Without an await after the work's last check of its queue: a message that comes later starts a new task.
            self._tasks.pop((what, run), None)

    async def _recover(self) -> None:
        while self._must_recover and not self._closed:
            self._must_recover = False
            try:
                await self.recover()
            except StoreUnavailable:
                self._must_recover = True
                await self._sleep(STORE_RETRY_MS)

    async def _deliver_later(self, parent: RunKey) -> None:
        await self._sleep(RESUME_GRACE_MS)
        if parent in self._queued:
            self._start_task("now", self._deliver, parent)

    async def _deliver(self, parent: RunKey) -> None:
        while parent in self._queued and not self._closed:
            async with self._delivery_slots:
                results = self._queued.pop(parent)
                by_node: defaultdict[str, list[ChildResult]] = defaultdict(list)
                for result in results.values():
                    by_node[result.node_id].append(result)
                try:
                    fault_point("kin.deliver")
                    for node_id, of_node in by_node.items():
                        await self._send_input(parent, ChildResultsReceived(node_id, tuple(of_node)))
                except StoreUnavailable:
                    # What was queued in the meantime is newer.
                    self._queued[parent] = results | self._queued.get(parent, {})
                else:
                    self._delivered += [PendingChildResult(parent, result) for result in results.values()]
                    self._start_task("forget", self._acknowledge)
                    continue
            await self._sleep(STORE_RETRY_MS)

    async def _acknowledge(self) -> None:
        while self._delivered and not self._closed:
            await self._sleep(ACKNOWLEDGE_DELAY_MS)
            # A parent that is still rechecking may have more to do about a result than is stored.
            parents = {each.parent: self._find_live(each.parent) for each in self._delivered}
            rechecking = {run for run, live in parents.items() if live is not None and live.is_rechecking}
            applied = tuple(each for each in self._delivered if each.parent not in rechecking)
            self._delivered = [each for each in self._delivered if each.parent in rechecking]
            try:
                if applied:
                    await self._child_runs.acknowledge_results(applied)
            except StoreUnavailable:
                self._delivered += applied
                await self._sleep(STORE_RETRY_MS)

    async def _deliver_cancels(self) -> None:
        try:
            while self._has_cancels and not self._closed:
                self._has_cancels = False
                if not await self._deliver_stored_cancels():
                    self._cancel_sent.clear()
        finally:
            self._admission.release_held()

    async def _deliver_stored_cancels(self) -> bool:
        """Deliver the stored cancel requests; returns whether there were any."""
        after: RunKey | None = None
        has_requests = False
        try:
            while page := await self._child_runs.cancel_requests(after, BATCH_SIZE):
                fault_point("kin.order")
                has_requests = True
                await asyncio.gather(*(self._cancel(each) for each in page if each.child not in self._cancel_sent))
                after = page[-1].child
        except StoreUnavailable:
            self._has_cancels = True
            await self._sleep(STORE_RETRY_MS)
        return has_requests

    async def _cancel(self, request: PendingCancelRequest) -> None:
        self._cancel_sent.add(request.child)
        try:
            await self._send_input(request.child, CancelRequested(request.reason, request.parent))
        except StoreUnavailable:
            self._cancel_sent.discard(request.child)
            raise
        except Exception:
            # A child that this host cannot execute must not keep the others from being cancelled.
            log.exception("child run not cancelled; retrying at the next start", extra=request.child.log_fields)

    async def _sleep(self, ms: int) -> None:
        await self._clock.sleep(ms)
