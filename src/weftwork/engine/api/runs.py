"""Runs for callers: create, read and list them. One method per operation.

Spans are projected from the log when they are asked for, and cached for ended runs (`SpanCache`).
"""

from collections import OrderedDict
from functools import partial
from typing import Any, Final

from weftwork.engine.api.idempotency import IdempotencyClaim, ReplayableOutcome, idempotent
from weftwork.engine.api.keyring import Principal, require_run
from weftwork.engine.host.catalog import WorkflowCatalog
from weftwork.engine.host.executor import Executor
from weftwork.engine.run.append import hide_inputs
from weftwork.engine.run.replay import REPLAY_PAGE_BYTES, REPLAY_PAGE_EVENTS
from weftwork.engine.runtime import Runtime
from weftwork.ports.fault_points import fault_point
from weftwork.ports.storage.event_log import EventLog, ScopeTaken
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.ports.storage.run_queries import RunQuery
from weftwork.protocol.errors import ClientFault, invalid
from weftwork.protocol.json import schema
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.media.asset_references import referenced_assets
from weftwork.protocol.models.selection import check_selection
from weftwork.protocol.review.spans import SPAN_EVENT_TYPES, RunSpans, span_fact
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.header import TERMINAL_STATUSES, RunHeader, RunKey
from weftwork.protocol.run.projection import (
    MAX_CHILDREN,
    Projection,
    StoredRun,
    has_children,
    run_snapshot,
    run_summary,
)
from weftwork.protocol.workflow import run_options
from weftwork.protocol.workflow.plan import Plan

MAX_CACHED_RUNS: Final = 256
MAX_EVENTS_READ: Final = 10_000
RETRY_AFTER_S: Final = 5
"""What callers are told to wait when a run of their scope is live or the host is full."""


class RunOutcome(ReplayableOutcome, frozen=True):
    """How a run stands after it was created."""

    run_id: str
    status: str


class Runs:
    """Runs for callers. Raises ClientFault, StoreUnavailable or HostFault."""

    def __init__(self, runtime: Runtime, catalog: WorkflowCatalog, executor: Executor) -> None:
        self._runtime = runtime
        self._catalog = catalog
        self._executor = executor
        self._spans = SpanCache(runtime.log)

    async def create_run(
        self,
        principal: Principal,
        document: Any,
        key: str | None = None,
        exclusive: bool = False,
        traceparent: str | None = None,
    ) -> RunOutcome:
        """Start a run. Durable before it returns; with a key, the same key and body give the same run again."""
        work = partial(self._create, principal, document, exclusive, traceparent)
        return await idempotent(self._runtime, principal, "createRun", key, document, RunOutcome, work)

    async def _create(
        self, principal: Principal, document: Any, exclusive: bool, traceparent: str | None, claim: IdempotencyClaim
    ) -> RunOutcome | SlotTaken:
        document = run_options.normalise_options(document)
        plan = await self._check_create(principal, document)
        inputs: dict[str, Any] = document.get("inputs", {})
        shown, hidden = hide_inputs(plan, inputs)
        header = RunHeader(
            run_id=self._runtime.ids.run_id(claim.now),
            partition=principal.partition,
            owner=principal.owner,
            workflow_id=plan.workflow.id,
            definition=plan.workflow.digest,
            created_at=claim.now,
            inputs=shown,
            configurable=document.get("configurable", {}),
            tags=tuple(document.get("tags", ())),
            metadata=document.get("metadata", {}),
            scope_id=document.get("scopeId"),
            callback_url=document.get("callbackUrl"),
            traceparent=traceparent,
            assets=_assets_in_request(document, principal.partition) if len(document) > 1 else (),
        )
        outcome = RunOutcome(header.run_id, "pending")
        record = claim.make_record(outcome)
        fault_point("create.checked")
        created = await self._executor.create(header, plan, inputs, hidden, record, exclusive)
        if isinstance(created, SlotTaken):
            return created
        if isinstance(created, ScopeTaken):
            details = {"activeRunId": created.run_id, "activeHost": "cloud", "retryAfter": RETRY_AFTER_S}
            raise ClientFault("run_already_active", "A run of this scope is still live.", details)
        fault_point("create.started")
        return outcome

    async def get_run(self, principal: Principal, run_id: str) -> dict[str, Any]:
        """The snapshot."""
        return await self.make_snapshot(require_run(await self._executor.read_run(principal.run(run_id))))

    async def make_snapshot(self, run: StoredRun) -> dict[str, Any]:
        """The snapshot of a run that was read, with its children as they stand now."""
        # Those that a snapshot names, and one more if there are more. A run that never had one costs no read.
        child_runs, key = self._runtime.child_runs, run.header.key
        return run_snapshot(run, await child_runs.children(key, None, MAX_CHILDREN + 1) if has_children(run) else [])

    async def list_runs(self, principal: Principal, query: RunQuery) -> dict[str, Any]:
        """A page of the tenant's runs, newest first."""
        page = await self._runtime.queries.list_runs(principal.partition, query)
        document: dict[str, Any] = {"runs": [run_summary(run) for run in page.runs]}
        if page.more and page.last is not None:
            document["nextCursor"] = page.last
        return document

    async def get_event(self, principal: Principal, run_id: str, sequence: int) -> Event:
        """One event of a run."""
        found = await self._runtime.log.read(principal.run(run_id), sequence - 1, 1)
        if not found or found[0].sequence != sequence:
            raise ClientFault("not_found", "There is no such event.")
        return found[0]

    async def projection(self, principal: Principal, run_id: str) -> Projection:
        """How the run stands, without what may be large."""
        return require_run(await self._executor.projection(principal.run(run_id)))

    async def read_run(self, principal: Principal, run_id: str) -> StoredRun:
        """The run as committed, for readers that make their own document of it."""
        return require_run(await self._executor.read_run(principal.run(run_id)))

    async def run_spans(self, principal: Principal, run_id: str) -> list[dict[str, Any]]:
        """The run's spans, projected from its log; none for a run that is not there."""
        stored = await self._executor.read_run(principal.run(run_id))
        if stored is None:
            return []
        return await self._spans.spans(stored)

    async def check_ready(self) -> None:
        """Return if the store takes writes; raises StoreUnavailable."""
        await self._runtime.log.check_ready()

    async def _check_create(self, principal: Principal, document: Any) -> Plan:
        """run-07 (OpenWOP rest-endpoints): the order of checks after the idempotency key."""
        schema.require("create-run", document)
        if document.get("mode") == "eval":
            raise ClientFault("capability_not_provided", "This host does not run evaluation suites.")
        configurable: dict[str, Any] = document.get("configurable", {})
        run_options.check_mock_provider(configurable, principal.mode)
        if document.get("tenantId", principal.tenant) != principal.tenant:
            raise ClientFault("forbidden", "tenantId is not the tenant of this key; leave it out.")
        plan = await self._catalog.find_plan(principal.tenant, document["workflowId"])
        if plan is None:
            raise invalid("There is no workflow with this id.", "/workflowId")
        run_options.check_configurable(plan.workflow.configurable_schema, configurable)
        metadata: dict[str, Any] = document.get("metadata", {})
        if configurable or metadata:
            run_options.check_options(configurable, metadata)
            check_selection(configurable, () if self._runtime.models is None else self._runtime.models.names)
        run_options.check_callback_url(document.get("callbackUrl"))
        run_options.check_inputs(plan.workflow.variables, document.get("inputs", {}), plan.workflow.channels)
        self._check_capacity(principal.partition)
        return plan

    def _check_capacity(self, partition: str) -> None:
        """lim-07 (OpenWOP production-profile): refuse a run too many; those that are being created count."""
        limits = self._runtime.limits
        if self._executor.live_count >= limits.max_live_runs:
            details = {"retryAfter": RETRY_AFTER_S}
            raise ClientFault("service_unavailable", "The host runs as many runs as it may.", details)
        most = limits.max_live_runs_per_tenant
        if most and self._executor.live_in(partition) >= most:
            raise rate_limited("This tenant has as many unfinished runs as it may.", "tenant")


class SpanCache:
    """Spans of runs: at most MAX_CACHED_RUNS ended runs in memory, and about MAX_EVENTS_READ events read for one run.

    Nothing is recorded while a run goes on, so tracing costs a run nothing; what falls out of memory is
    projected again from the log, and comes out equal.
    """

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._cache: OrderedDict[RunKey, list[dict[str, Any]]] = OrderedDict()

    async def spans(self, run: StoredRun) -> list[dict[str, Any]]:
        """The run's spans so far."""
        key = run.header.key
        kept = self._cache.get(key)
        if kept is not None:
            self._cache.move_to_end(key)
            return kept
        found, last = RunSpans(run.header), -1
        while last + 1 < MAX_EVENTS_READ and (
            page := await self._log.read(key, last, REPLAY_PAGE_EVENTS, REPLAY_PAGE_BYTES)
        ):
            for event in page:
                if event.type in SPAN_EVENT_TYPES:
                    found.add(span_fact(event))
            last = page[-1].sequence
        if run.projection.status in TERMINAL_STATUSES:
            self._cache[key] = found.spans
            if len(self._cache) > MAX_CACHED_RUNS:
                self._cache.popitem(last=False)
        return found.spans


def rate_limited(message: str, scope: str) -> ClientFault:
    """One more than a limit of the scope allows; the caller is told when to try again."""
    details = {"retryAfter": RETRY_AFTER_S, "retryAfterMs": RETRY_AFTER_S * 1000, "scope": scope}
    return ClientFault("rate_limited", message, details)


def _assets_in_request(document: dict[str, Any], partition: str) -> tuple[str, ...]:
    """The assets that a request for a run names, anywhere in it."""
    given = [document[name] for name in ("inputs", "configurable", "metadata") if document.get(name)]
    return tuple(sorted(referenced_assets(encode_stored(given), partition))) if given else ()
