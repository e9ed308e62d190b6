"""The executor: which runs are live, how they start, how they go on after a restart, how they end."""

import asyncio
import logging
from collections import OrderedDict
from typing import Any, Final

from weftwork.engine.catalog import Catalog
from weftwork.engine.decide import CancelAsked, HostBroke, Step
from weftwork.engine.live import LiveRun
from weftwork.engine.recover import load_state
from weftwork.engine.request import MakeRecord, RunOver
from weftwork.engine.runtime import Runtime
from weftwork.ports.eventlog import Active, Batch, Created, Hidden, Record, Recorded, Stored, StoreUnavailable
from weftwork.protocol.canonical import encode_stored
from weftwork.protocol.errors import HostFault
from weftwork.protocol.fold import RunState
from weftwork.protocol.graph import Plan
from weftwork.protocol.run import ENGINE_VERSION, TERMINAL, RunHeader, RunKey, Status

log = logging.getLogger("weftwork.run")

RECENT: Final = 256
"""Ended runs whose projection is kept, because whoever waited for them asks right away."""
RECENT_BYTES: Final = 16_384
RECOVERY_PAGE: Final = 500


class Executor:
    """Runs runs. One per store, by right of the seat."""

    def __init__(self, runtime: Runtime, catalog: Catalog) -> None:
        self._runtime = runtime
        self._catalog = catalog
        self._live: dict[RunKey, LiveRun] = {}
        self._loading: dict[RunKey, asyncio.Task[LiveRun | None]] = {}
        self._creating = 0
        self._recent: OrderedDict[RunKey, Stored] = OrderedDict()

    @property
    def live_count(self) -> int:
        """Runs that are executed, and those about to be."""
        return len(self._live) + self._creating

    async def create(
        self,
        header: RunHeader,
        plan: Plan,
        inputs: dict[str, Any],
        hidden: tuple[Hidden, ...],
        record: Record | None,
        exclusive: bool,
    ) -> Created | Recorded | Active:
        """Make a run durable in one commit with all that follows from its creation at once, and execute it."""
        live, first = self._prepare(header, plan, inputs)
        self._creating += 1
        try:
            created = await self._runtime.log.create(header, hidden, record, exclusive, first)
        finally:
            self._creating -= 1
        if isinstance(created, Created) and header.key not in self._live and header.key not in self._loading:
            self._live[header.key] = live
            if first is not None:
                live.begin(first)
            else:
                live.send(Step())
        return created

    def _prepare(self, header: RunHeader, plan: Plan, inputs: dict[str, Any]) -> tuple[LiveRun, Batch | None]:
        live = self._make(RunState(plan, header, inputs))
        try:
            return live, live.prepare()
        except Exception:
            # An error of ours. It will come again when the run is there, and end in its log.
            log.exception("the host failed a run", extra={"runId": header.run_id})
            return self._make(RunState(plan, header, inputs)), None

    async def stored(self, run: RunKey) -> Stored | None:
        """The committed view of a run, from memory where that is the same as from the store."""
        live = self._live.get(run)
        if live is not None:
            await live.settle(1.0)
            return live.stored()
        return self._recent.get(run) or await self._runtime.log.stored(run)

    async def cancel(self, run: RunKey, reason: str | None, record: MakeRecord | None) -> Status | Recorded | None:
        """Cancel a run; None when there is no such run. Ended runs answer with how they ended."""
        woken = False
        while True:
            live = self._live.get(run)
            if live is None:
                stored = await self._runtime.log.stored(run)
                if stored is None:
                    return None
                status = stored.projection.status
                if status in TERMINAL:
                    taken = await self._runtime.log.remember(record(status)) if record else None
                    return taken or status
                live = await self._wake(run)
                if live is None and woken:
                    raise HostFault(f"the run {run.run_id} cannot be woken")
                woken = True
            if live is not None:
                try:
                    return await live.ask(CancelAsked(reason), record)
                except RunOver:
                    continue

    async def recover(self) -> int:
        """Go on with every unfinished run, from its log. Returns how many. Raises StoreUnavailable."""
        count = 0
        after: RunKey | None = None
        while page := await self._runtime.log.unfinished(after, RECOVERY_PAGE):
            for run in page:
                count += await self._recovered(run)
            after = page[-1]
        return count

    async def _recovered(self, run: RunKey) -> bool:
        """Whether the run goes on. One that cannot be understood must not keep all the others from starting."""
        try:
            return await self._wake(run) is not None
        except StoreUnavailable:
            raise
        except Exception:
            log.exception("run left as it is: its log cannot be folded", extra={"runId": run.run_id})
            return False

    async def close(self) -> None:
        """Leave every run where its log says it is."""
        await asyncio.gather(*(live.close() for live in self._live.values()))

    async def _wake(self, run: RunKey) -> LiveRun | None:
        """Load a run that is not in memory; loading twice at once gives the same live run."""
        loading = self._loading.get(run)
        if loading is None:
            loading = self._loading[run] = asyncio.create_task(self._load(run))
            loading.add_done_callback(lambda _: self._loading.pop(run, None))
        return await asyncio.shield(loading)

    async def _load(self, run: RunKey) -> LiveRun | None:
        stored = await self._runtime.log.stored(run)
        if stored is None or stored.projection.status in TERMINAL:
            return None
        header = stored.header
        try:
            if header.engine_version > ENGINE_VERSION:
                raise HostFault(f"the run was written by engine version {header.engine_version}")
            plan = await self._catalog.pinned(header.workflow_id, header.definition)
        except HostFault as fault:
            log.error("run left as it is: %s", fault, extra={"runId": run.run_id})
            return None
        state = await load_state(self._runtime.log, header, plan)
        live = self._live[run] = self._make(state)
        live.resume(stored)
        return live

    def _make(self, state: RunState) -> LiveRun:
        return LiveRun(self._runtime, state, self._ended, self._broken)

    def _ended(self, live: LiveRun) -> None:
        del self._live[live.key]
        stored = live.stored()
        if _size(stored) <= RECENT_BYTES:
            self._recent[live.key] = stored
            if len(self._recent) > RECENT:
                self._recent.popitem(last=False)
        state = live.state
        log.info(
            "run ended",
            extra={
                "runId": live.key.run_id,
                "tenant": state.header.owner.tenant,
                "status": state.status,
                "errorCode": state.error["code"] if state.error else None,
            },
        )

    def _broken(self, live: LiveRun) -> None:
        """An error of ours: the run ends as failed instead of hanging, if the log still lets us say so."""
        self._live.pop(live.key, None)
        task = asyncio.create_task(self._fail(live.key))
        self._loading[live.key] = task
        task.add_done_callback(lambda _: self._loading.pop(live.key, None))

    async def _fail(self, run: RunKey) -> LiveRun | None:
        clock = self._runtime.clock
        while True:
            try:
                stored = await self._runtime.log.stored(run)
                if stored is None or stored.projection.status in TERMINAL:
                    return None
                plan = await self._catalog.pinned(stored.header.workflow_id, stored.header.definition)
                state = await load_state(self._runtime.log, stored.header, plan)
                break
            except StoreUnavailable:
                await clock.sleep_until(clock.now() + 1000)
        live = self._live[run] = LiveRun(self._runtime, state, self._ended, self._give_up)
        live.send(HostBroke())
        return live

    def _give_up(self, live: LiveRun) -> None:
        self._live.pop(live.key, None)
        log.critical("run cannot even be failed; it is left as it is", extra={"runId": live.key.run_id})


def _size(run: Stored) -> int:
    """About how much memory a kept run costs; inputs are counted as the variables they became."""
    options = run.header.configurable
    size = sum(len(row.value) for row in run.rows) + len(run.projection.outputs or b"")
    return size + (len(encode_stored(options)) if options else 0)
