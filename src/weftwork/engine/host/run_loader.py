"""Loads runs into memory, at the start of a host and on request.

`RunLoader` folds a run from its log, or returns the cached state of a run that was parked recently. A run that is being
loaded has one task, and all callers wait for it (`LoadsInProgress`). `RecentRuns` caches small runs that have just
ended, because callers that waited for the end usually read the run next.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final

import msgspec

from weftwork.engine.host.catalog import WorkflowCatalog
from weftwork.engine.host.set_aside import check_size, most_state, record_set_aside, refusal_of
from weftwork.engine.replay.replayer import replay_to_end
from weftwork.engine.run.live_run import LiveRun
from weftwork.engine.run.replay import RunTooLarge, fold_whole, load_state
from weftwork.engine.runtime import Runtime
from weftwork.ports.fault_points import fault_point
from weftwork.ports.storage.event_log import RunOutline, StoreUnavailable, WholeRun
from weftwork.protocol.errors import ClientFault, HostFault
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.privacy.redaction import Redactor
from weftwork.protocol.run.header import CANCELLING, ENGINE_VERSION, TERMINAL_STATUSES, RunKey
from weftwork.protocol.run.projection import StoredRun

log = logging.getLogger("weftwork.run")

MAX_PARKED: Final = 256
"""Parked runs whose state is cached, so that a long conversation is not folded again for each of its turns."""
MAX_PARKED_PARENTS: Final = 1024
"""The same for runs that wait for children, which are usually loaded again sooner."""
MAX_PARKED_BYTES: Final = 16 * 2**20
"""Total log size of the cached runs, which is about the size of their states."""
MAX_WHOLE_BYTES: Final = 256 * 2**10
"""Log and rows of a run that is read from the store at once. Of a larger run only the size is read first."""
MAX_RECENT: Final = 256
"""Number of ended runs that are cached."""
MAX_RECENT_RUN_BYTES: Final = 16_384
"""Size of the largest ended run that is cached."""
UNLOADABLE_RETRY_S: Final = 60


class LoadedRun(msgspec.Struct, frozen=True):
    """A stored run and its folded state."""

    state: RunState
    stored: StoredRun
    log_bytes: int
    """Size of its log."""
    redactor: Redactor | None = None
    """The redactor of a cached run, with the values that it has learnt; None after a load from the log."""
    executable: bool = True
    """False if this host cannot execute the run, so that the run can only be cancelled."""


class RunLoader(msgspec.Struct, eq=False):
    """Loads runs for execution, and caches the states of parked ones. `take_parked` and `load` remove a state from the
    cache, so it has one owner until the run is parked again. A run of another executor is taken before its log is read
    (`ports/storage/ownership.py`)."""

    _runtime: Runtime
    _catalog: WorkflowCatalog
    _parked: dict[bool, OrderedDict[RunKey, LoadedRun]] = msgspec.field(
        default_factory=lambda: {True: OrderedDict(), False: OrderedDict()}
    )
    """Runs that wait for children (True) and other runs (False), least recently parked first."""
    _parked_bytes: int = 0

    def park(self, loaded: LoadedRun) -> None:
        """Cache the state of a parked run."""
        parents = bool(loaded.state.awaiting_children)
        cache = self._parked[parents]
        limit = MAX_PARKED_PARENTS if parents else MAX_PARKED
        cache[loaded.state.header.key] = loaded
        self._parked_bytes += loaded.log_bytes
        while cache and (len(cache) > limit or self._parked_bytes > MAX_PARKED_BYTES):
            self._parked_bytes -= cache.popitem(last=False)[1].log_bytes

    def take_parked(self, run: RunKey) -> LoadedRun | None:
        """Remove the state of a parked run from the cache and return it; None if it is not cached."""
        cached = self._parked[True].pop(run, None) or self._parked[False].pop(run, None)
        if cached is not None:
            self._parked_bytes -= cached.log_bytes
        return cached

    async def load(self, run: RunKey, to_cancel: bool = False) -> LoadedRun | None:
        """The run, or None if it has ended, does not exist, is set aside because it is too large, or cannot be executed
        by this host. Raises StoreUnavailable.

        run-15 (host): with `to_cancel`, or if the run is already being cancelled, a run whose node types are missing is
        loaded nevertheless, as not executable.
        """
        if (cached := self.take_parked(run)) is not None:
            return cached
        found = await self._take_ownership(run)
        if found is None:
            return None
        outline, whole = found
        try:
            if outline.header.is_replay:
                await self._replay(outline)
                after = await self._runtime.log.outline(run)
                if after is None:
                    return None
                if after.projection.status in TERMINAL_STATUSES:
                    log.info("run ended", extra={**_log_fields(run, ""), "status": after.projection.status})
                    return None
                outline, whole = after, None
            return await self._load_within_limits(run, outline, whole, to_cancel)
        except RunTooLarge as reason:
            log.error("run set aside: %s", reason, extra=_log_fields(run, "show"))
            # A replay may have written events before it became too large.
            newest = await self._runtime.log.outline(run) if outline.header.is_replay else None
            await record_set_aside(self._runtime, newest or outline, reason)
            return None

    async def _take_ownership(self, run: RunKey) -> tuple[RunOutline, WholeRun | None] | None:
        """A run that this executor has taken, as `_read` returns it. Raises StoreUnavailable if another executor has
        it."""
        epoch = self._runtime.fence.epoch
        found = await self._read(run)
        if found is None or found[0].fence == epoch:
            return found
        is_taken = await self._runtime.ownership.take(run, epoch)
        # Once more: the last executor may have continued the run until now.
        found = await self._read(run)
        if found is not None and not is_taken:
            raise StoreUnavailable("another process executes this run")
        return found

    async def _read(self, run: RunKey) -> tuple[RunOutline, WholeRun | None] | None:
        """The outline of a run, and all of it if it is small; None if the run has ended or does not exist."""
        whole = await self._runtime.log.read_whole(run, MAX_WHOLE_BYTES)
        outline = whole.outline if whole is not None else await self._runtime.log.outline(run)
        if outline is None or outline.projection.status in TERMINAL_STATUSES:
            return None
        return outline, whole

    async def _replay(self, outline: RunOutline) -> None:
        """Execute a replay up to the end of its record. Does nothing if this host cannot execute the run."""
        try:
            plan = await self._catalog.pinned_plan(outline.header.workflow_id, outline.header.definition)
        except HostFault:
            return
        check_size(outline, self._runtime.limits)
        await replay_to_end(self._runtime, plan, outline.header, outline.projection, most_state(self._runtime.limits))

    async def _load_within_limits(
        self, run: RunKey, outline: RunOutline, whole: WholeRun | None, to_cancel: bool
    ) -> LoadedRun | None:
        """Raises RunTooLarge, before much of the run is in memory."""
        limits = self._runtime.limits
        check_size(outline, limits)
        stored = whole.stored if whole is not None else await self._runtime.log.read_run(run)
        if stored is None:
            return None
        header = stored.header
        executable = True
        hint = ""
        try:
            if header.engine_version > ENGINE_VERSION:
                raise HostFault(
                    f"the run was written by engine version {header.engine_version}, and this host has {ENGINE_VERSION}"
                )
            try:
                plan = await self._catalog.pinned_plan(header.workflow_id, header.definition)
            except HostFault:
                if not to_cancel and stored.projection.status != CANCELLING:
                    hint = "cancel"
                    raise
                plan, executable = await self._catalog.cancel_plan(header.workflow_id, header.definition), False
        except HostFault as fault:
            log.error("run skipped: %s", fault, extra=_log_fields(run, hint))
            return None
        if self._runtime.tenant_logs is not None:
            await self._runtime.tenant_logs.load(run.partition)
        most, share = most_state(limits), self._runtime.loop_share
        if whole is not None:
            state = await fold_whole(whole, plan, most, share)
        else:
            state = await load_state(self._runtime.log, header, plan, most, share)
        return LoadedRun(state, stored, outline.log_bytes, executable=executable)


def _log_fields(run: RunKey, command: str) -> dict[str, str]:
    """The fields of a log line about a run, with the command that helps, if there is one."""
    fields = run.log_fields
    return {**fields, "hint": f"weftwork runs {command} {run.run_id}"} if command else fields


class LoadsInProgress(dict[RunKey, "asyncio.Task[LiveRun | None]"]):
    """The tasks that are loading runs, by run. A task is removed when it ends."""

    def start(self, run: RunKey, work: Coroutine[Any, Any, LiveRun | None]) -> "asyncio.Task[LiveRun | None]":
        """Start a loading task, which replaces a load of the same run in progress."""
        task = self[run] = asyncio.create_task(work)

        def done(task: "asyncio.Task[LiveRun | None]") -> None:
            if self.get(run) is task:
                del self[run]
            if not task.cancelled():
                # Consumed here as well, because every caller that waits may have been cancelled.
                task.exception()

        task.add_done_callback(done)
        return task


class RecentRuns(msgspec.Struct, eq=False):
    """A cache of small runs that have just ended, as the store has them."""

    _runs: OrderedDict[RunKey, StoredRun] = msgspec.field(default_factory=OrderedDict[RunKey, StoredRun])

    def get(self, run: RunKey) -> StoredRun | None:
        return self._runs.get(run)

    def add(self, run: RunKey, stored: StoredRun) -> None:
        # The approximate memory of the run. Inputs count as the variables that they were copied to.
        size = len(stored.projection.outputs or b"")
        for row in stored.rows:
            size += len(row.value)
        if stored.header.configurable:
            size += len(encode_stored(stored.header.configurable))
        if size <= MAX_RECENT_RUN_BYTES:
            self._runs[run] = stored
            if len(self._runs) > MAX_RECENT:
                self._runs.popitem(last=False)

    def forget(self, run: RunKey) -> None:
        self._runs.pop(run, None)

    def clear(self) -> None:
        self._runs.clear()


async def recover_run(wake: Callable[[RunKey], Awaitable[object]], run: RunKey) -> bool:
    """Resume one run; returns whether that worked. An error in one log must not keep the other runs from starting, so
    it is logged. Raises only StoreUnavailable."""
    try:
        fault_point("recover.run")
        return await wake(run) is not None
    except StoreUnavailable:
        raise
    except Exception:
        log.exception("run skipped: its event log cannot be replayed", extra=run.log_fields)
        return False


async def load_with_retry(runtime: Runtime, catalog: WorkflowCatalog, run: RunKey) -> RunState | None:
    """The state of a run, retried until the store answers; None if the run has ended or does not exist."""
    while True:
        try:
            stored = await runtime.log.read_run(run)
            if stored is None or stored.projection.status in TERMINAL_STATUSES:
                return None
            plan = await catalog.pinned_plan(stored.header.workflow_id, stored.header.definition)
            return await load_state(runtime.log, stored.header, plan, share=runtime.loop_share)
        except StoreUnavailable:
            await runtime.wait_for_store()


async def unloadable_error(catalog: WorkflowCatalog, stored: StoredRun | RunOutline) -> Exception:
    """The error for a request to a run that this host cannot execute: it is set aside, or a node type is missing."""
    if (fault := refusal_of(stored.projection)) is not None:
        return fault
    try:
        await catalog.pinned_plan(stored.header.workflow_id, stored.header.definition)
    except HostFault as fault:
        message = (
            f"This host cannot execute the run: {fault}. Restart the host with the node types that the run needs, "
            "or cancel the run."
        )
        return unloadable_fault(message)
    return HostFault(f"the run {stored.header.run_id} cannot be loaded")


def unloadable_fault(message: str) -> ClientFault:
    """The error for a request that this host can serve only after a restart with other node types."""
    return ClientFault("service_unavailable", message, {"retryAfter": UNLOADABLE_RETRY_S})
