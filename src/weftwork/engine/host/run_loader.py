"""Brings runs into memory: at the start of a host, on request, and for a short while from what memory still has.

`RunLoader` folds a run from its log, or takes the state of a run that was parked a short while ago. A run that is
being loaded has one task, and all callers wait for it (`LoadsInProgress`). `RecentRuns` keeps small runs that have
just ended, because callers that waited for the end read the run right away.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final

import msgspec

from weftwork.engine.host.catalog import WorkflowCatalog
from weftwork.engine.run.live_run import LiveRun
from weftwork.engine.run.replay import load_state
from weftwork.engine.runtime import Runtime
from weftwork.ports.fault_points import fault_point
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.ports.storage.run_queries import RunQueries
from weftwork.protocol.errors import ClientFault, HostFault
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.privacy.redaction import Redactor
from weftwork.protocol.run.header import ENGINE_VERSION, TERMINAL_STATUSES, RunKey
from weftwork.protocol.run.projection import StoredRun

log = logging.getLogger("weftwork.run")

MAX_PARKED: Final = 64
"""Parked runs whose state is kept, so that a long conversation is not folded again for each of its turns."""
MAX_PARKED_PARENTS: Final = 1024
"""The same for runs that wait for children, which are usually wanted again sooner."""
MAX_PARKED_BYTES: Final = 16 * 2**20
"""Total size of their logs, which is about the size of the states."""
MAX_RECENT: Final = 256
"""Number of ended runs that are kept."""
MAX_RECENT_RUN_BYTES: Final = 16_384
"""Size of the largest ended run that is kept."""
RECOVERY_BATCH: Final = 100
"""Runs that are woken together when the host starts."""
UNLOADABLE_RETRY_S: Final = 60


class LoadedRun(msgspec.Struct, frozen=True):
    """A run as the store has it, and the fold of that."""

    state: RunState
    stored: StoredRun
    log_bytes: int
    """Size of its log."""
    redactor: Redactor | None = None
    """What it has learnt to hide, if that is known."""


class RunLoader(msgspec.Struct, eq=False):
    """Loads runs, and keeps the states of parked ones. A state that is taken from here has one owner until it is parked
    again."""

    _runtime: Runtime
    _catalog: WorkflowCatalog
    _parked: dict[bool, OrderedDict[RunKey, LoadedRun]] = msgspec.field(
        default_factory=lambda: {True: OrderedDict(), False: OrderedDict()}
    )
    """Those that wait for children apart from the others."""
    _parked_bytes: int = 0

    def park(self, loaded: LoadedRun) -> None:
        """Keep the state of a parked run."""
        parents = bool(loaded.state.awaiting_children)
        kept = self._parked[parents]
        most = MAX_PARKED_PARENTS if parents else MAX_PARKED
        kept[loaded.state.header.key] = loaded
        self._parked_bytes += loaded.log_bytes
        while kept and (len(kept) > most or self._parked_bytes > MAX_PARKED_BYTES):
            self._parked_bytes -= kept.popitem(last=False)[1].log_bytes

    def take(self, run: RunKey) -> LoadedRun | None:
        """The state of a parked run, which is not kept any more."""
        known = self._parked[True].pop(run, None) or self._parked[False].pop(run, None)
        if known is not None:
            self._parked_bytes -= known.log_bytes
        return known

    async def load(self, run: RunKey) -> LoadedRun | None:
        """The run, or None if it is over or not there, or cannot be moved by this host. Raises StoreUnavailable."""
        if (known := self.take(run)) is not None:
            return known
        stored = await self._runtime.log.read_run(run)
        if stored is None or stored.projection.status in TERMINAL_STATUSES:
            return None
        header = stored.header
        try:
            if header.engine_version > ENGINE_VERSION:
                raise HostFault(f"the run was written by engine version {header.engine_version}")
            plan = await self._catalog.pinned_plan(header.workflow_id, header.definition)
        except HostFault as fault:
            log.error("run left as it is: %s", fault, extra={"runId": run.run_id})
            return None
        sizes: list[int] = []
        state = await load_state(self._runtime.log, header, plan, sizes.append)
        return LoadedRun(state, stored, sum(sizes))


class LoadsInProgress(dict[RunKey, "asyncio.Task[LiveRun | None]"]):
    """The loading task of each run, while it lasts."""

    def start(self, run: RunKey, work: Coroutine[Any, Any, LiveRun | None]) -> "asyncio.Task[LiveRun | None]":
        """Begin loading; replaces a load of the same run that is under way."""
        task = self[run] = asyncio.create_task(work)

        def done(task: "asyncio.Task[LiveRun | None]") -> None:
            if self.get(run) is task:
                del self[run]

        task.add_done_callback(done)
        return task


class RecentRuns(msgspec.Struct, eq=False):
    """Runs that have just ended, as the store has them, if they are small."""

    _runs: OrderedDict[RunKey, StoredRun] = msgspec.field(default_factory=OrderedDict[RunKey, StoredRun])

    def get(self, run: RunKey) -> StoredRun | None:
        return self._runs.get(run)

    def add(self, run: RunKey, stored: StoredRun) -> None:
        # About how much memory it costs; inputs are counted as the variables they became.
        size = sum(len(row.value) for row in stored.rows) + len(stored.projection.outputs or b"")
        if stored.header.configurable:
            size += len(encode_stored(stored.header.configurable))
        if size <= MAX_RECENT_RUN_BYTES:
            self._runs[run] = stored
            if len(self._runs) > MAX_RECENT:
                self._runs.popitem(last=False)

    def forget(self, run: RunKey) -> None:
        self._runs.pop(run, None)


async def recover_runs(queries: RunQueries, wake: Callable[[RunKey], Awaitable[bool]]) -> int:
    """Go on with every run that is neither over nor parked. Returns how many went on. Raises StoreUnavailable."""
    count = 0
    after: RunKey | None = None
    while page := await queries.unfinished_runs(after, RECOVERY_BATCH):
        # Together: one after the other, each would wait for the store alone.
        count += sum(await asyncio.gather(*map(wake, page)))
        after = page[-1]
    return count


async def recover_run(wake: Callable[[RunKey], Awaitable[object]], run: RunKey) -> bool:
    """Whether the run goes on. One that cannot be understood must not keep all the others from starting."""
    try:
        fault_point("recover.run")
        return await wake(run) is not None
    except StoreUnavailable:
        raise
    except Exception:
        log.exception("run left as it is: its log cannot be folded", extra={"runId": run.run_id})
        return False


async def load_with_retry(runtime: Runtime, catalog: WorkflowCatalog, run: RunKey) -> RunState | None:
    """The state of a run that has not ended, however long the store takes to give it; None if there is no such run."""
    while True:
        try:
            stored = await runtime.log.read_run(run)
            if stored is None or stored.projection.status in TERMINAL_STATUSES:
                return None
            plan = await catalog.pinned_plan(stored.header.workflow_id, stored.header.definition)
            return await load_state(runtime.log, stored.header, plan)
        except StoreUnavailable:
            await runtime.wait_for_store()


async def unloadable_error(catalog: WorkflowCatalog, stored: StoredRun) -> Exception:
    """Why a run cannot be moved here: most likely it needs node types that the host was started without."""
    try:
        await catalog.pinned_plan(stored.header.workflow_id, stored.header.definition)
    except HostFault as fault:
        message = f"This host cannot go on with the run: {fault}. Start it with what the run needs."
        return ClientFault("service_unavailable", message, {"retryAfter": UNLOADABLE_RETRY_S})
    return HostFault(f"the run {stored.header.run_id} cannot be woken")
