"""Runs for callers: create, read, list and follow them, and read the tree of a run. One method per operation.

Spans are projected from the log on request, and cached for ended runs (`SpanCache`).
"""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import msgspec

from weftwork.engine.api.idempotency import IdempotencyClaim, idempotent
from weftwork.engine.api.keyring import Principal, require_run
from weftwork.engine.host.catalog import WorkflowCatalog
from weftwork.engine.host.executor import Executor
from weftwork.engine.run.append import hide_inputs
from weftwork.engine.run.replay import REPLAY_PAGE_BYTES, REPLAY_PAGE_EVENTS
from weftwork.engine.runtime import Runtime
from weftwork.engine.streams.feeds import Reader
from weftwork.engine.tenant_logs import TenantLogs
from weftwork.ports.fault_points import fault_point
from weftwork.ports.storage.event_log import EventLog, ScopeTaken
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.ports.storage.run_queries import RunQuery
from weftwork.protocol.errors import ClientFault, invalid
from weftwork.protocol.fair_share import FairLimit
from weftwork.protocol.json import schema
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.json.pieces import Piece, encode_pieces
from weftwork.protocol.limits import QUOTA_EXCEEDED, Limits
from weftwork.protocol.media.asset_references import referenced_assets
from weftwork.protocol.models.selection import check_selection
from weftwork.protocol.privacy.credential_patterns import may_hold_credential
from weftwork.protocol.privacy.credential_redaction import mask_options
from weftwork.protocol.review.spans import SPAN_EVENT_TYPES, RunSpans, span_fact
from weftwork.protocol.run.batch import HiddenValue, ReplayableOutcome
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.header import TERMINAL_STATUSES, RunHeader, RunKey
from weftwork.protocol.run.projection import (
    MAX_CHILDREN,
    WAITING_STATUSES,
    OpenInterrupt,
    Projection,
    StoredRun,
    child_members,
    has_children,
    is_large,
    large_snapshot,
    open_interrupt,
    run_snapshot,
    run_summary,
)
from weftwork.protocol.run.size_errors import limit_error
from weftwork.protocol.scopes import DEBUG
from weftwork.protocol.workflow import run_options
from weftwork.protocol.workflow.plan import Plan

MAX_CACHED_RUNS: Final = 256
MAX_EVENTS_READ: Final = 10_000
RETRY_AFTER_S: Final = 5
"""The retryAfter of a refusal because a run of the scope is live, or because a limit is reached."""


class RunOutcome(ReplayableOutcome, frozen=True):
    """The id and the status of a run that was created."""

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
        """Start a run. Durable on return. With an idempotency key, the same key and body return the same run."""
        work = partial(self._create, principal, document, exclusive, traceparent)
        return await idempotent(self._runtime, principal, "createRun", key, document, RunOutcome, work)

    async def _create(
        self, principal: Principal, document: Any, exclusive: bool, traceparent: str | None, claim: IdempotencyClaim
    ) -> RunOutcome | SlotTaken:
        document = run_options.normalise_options(document)
        plan = await self._check_create(principal, document)
        inputs: dict[str, Any] = document.get("inputs", {})
        # The run refers to all assets that these members of the request name.
        members = ("inputs", "configurable", "metadata")
        values = [document[name] for name in members if document.get(name)] if len(document) > 1 else []
        encoded = encode_stored(values) if values else b""
        visible, hidden = inputs, ()
        if plan.taint.has_sensitive_data or (values and may_hold_credential(encoded)):
            visible, hidden = hide_inputs(plan, inputs)
        header = RunHeader(
            run_id=self._runtime.ids.run_id(claim.now),
            partition=principal.partition,
            owner=principal.owner,
            workflow_id=plan.workflow.id,
            definition=plan.workflow.digest,
            created_at=claim.now,
            inputs=visible,
            configurable=document.get("configurable", {}),
            tags=tuple(document.get("tags", ())),
            metadata=document.get("metadata", {}),
            scope_id=document.get("scopeId"),
            callback_url=document.get("callbackUrl"),
            traceparent=traceparent,
            assets=tuple(sorted(referenced_assets(encoded, principal.partition))) if values else (),
            expression_limits=self._runtime.limits.expressions,
        )
        if (logs := self._runtime.tenant_logs) is not None:
            await reserve_quota(logs, header, hidden)
        outcome = RunOutcome(header.run_id, "pending")
        record = claim.make_record(outcome)
        fault_point("create.checked")
        created = await self._executor.create(header, plan, inputs, hidden, record, exclusive)
        if isinstance(created, SlotTaken):
            return created
        if isinstance(created, ScopeTaken):
            details = {"activeRunId": created.run_id, "activeHost": "cloud", "retryAfter": RETRY_AFTER_S}
            message = f"The run {created.run_id} of this scope has not ended. Wait for it or cancel it."
            raise ClientFault("run_already_active", message, details)
        fault_point("create.started")
        return outcome

    async def get_run(self, principal: Principal, run_id: str) -> dict[str, Any] | None:
        """The snapshot of a run; None if the run is large, so that its snapshot must be made by `snapshot_pieces`."""
        stored = require_run(await self._executor.read_run(principal.run(run_id)))
        return None if is_large(stored) else await self.make_snapshot(stored)

    async def make_snapshot(self, run: StoredRun, children: Sequence[StoredRun] | None = None) -> dict[str, Any]:
        """The snapshot of a stored run, with these children, or else its children with their current status."""
        if children is None:
            # A run without children costs no read.
            children = await self.children(run.header.key) if has_children(run) else []
        snapshot = run_snapshot(run, children)
        return mask_options(snapshot) if _may_show_credential(run.header) else snapshot

    async def child_members(self, principal: Principal, run_id: str) -> dict[str, Any]:
        """The members of a snapshot that show the child runs. They can change without an event of the run."""
        return child_members(await self.children(principal.run(run_id)))

    async def snapshot_pieces(self, run: StoredRun, children: dict[str, Any]) -> tuple[Piece, ...]:
        """The snapshot of a stored run as `make_snapshot` returns it, encoded in pieces. The tokens of each open
        interrupt have a Placeholder.

        Yields to the event loop after each slice of work, because the state may have many megabytes.
        """
        slices = Slices()
        snapshot = await sliced_snapshot(run, children, slices)
        pieces: list[Piece] = []
        for piece in encode_pieces(snapshot):
            pieces.append(piece)
            # A piece that refers to a value was not encoded now.
            await slices.spend(len(piece) if isinstance(piece, bytes) else 0)
        return tuple(pieces)

    async def children(self, run: RunKey) -> list[StoredRun]:
        """The first child runs, in the order of their start, as a snapshot needs them."""
        # One child more than a snapshot lists, to know whether there are more.
        return await self._runtime.child_runs.children(run, None, MAX_CHILDREN + 1)

    async def list_runs(self, principal: Principal, query: RunQuery) -> dict[str, Any]:
        """A page of the tenant's runs, newest first."""
        page = await self._runtime.queries.list_runs(principal.partition, query)
        document: dict[str, Any] = {
            "runs": [mask_options(run_summary(run)) if run.header.tags else run_summary(run) for run in page.runs]
        }
        if page.more and page.last is not None:
            document["nextCursor"] = page.last
        return document

    async def get_event(self, principal: Principal, run_id: str, sequence: int) -> Event:
        """One event of a run."""
        events = principal.visible_events(await self._runtime.log.read(principal.run(run_id), sequence - 1, 1))
        if not events or events[0].sequence != sequence:
            raise ClientFault("not_found", "There is no such event.")
        return events[0]

    async def projection(self, principal: Principal, run_id: str) -> Projection:
        """The projection of a run, without parts that may be large."""
        return require_run(await self._executor.projection(principal.run(run_id)))

    async def read_run(self, principal: Principal, run_id: str) -> StoredRun:
        """The stored run, for callers that build their own document from it."""
        return require_run(await self._executor.read_run(principal.run(run_id)))

    async def definition(self, header: RunHeader) -> dict[str, str]:
        """The digest and the version of the definition of a run, for its bundle."""
        if (imported := header.imported) is not None:
            version = imported.definition_version
        else:
            version = await self._catalog.definition_version(header.workflow_id, header.definition)
        return {"digest": header.definition, "version": version}

    async def run_spans(self, principal: Principal, run_id: str) -> list[dict[str, Any]]:
        """The spans of a run, projected from its log; empty if there is no such run."""
        stored = await self._executor.read_run(principal.run(run_id))
        if stored is None:
            return []
        return await self._spans.spans(stored)

    async def check_ready(self) -> None:
        """Return if the store accepts writes; raises StoreUnavailable if not."""
        await self._runtime.log.check_ready()

    async def _check_create(self, principal: Principal, document: Any) -> Plan:
        """run-07 (OpenWOP rest-endpoints): the checks of a new run, in this order, after the idempotency key."""
        schema.require("create-run", document)
        if document.get("mode") == "eval":
            raise ClientFault("capability_not_provided", "This host does not run evaluation suites.")
        configurable: dict[str, Any] = document.get("configurable", {})
        run_options.check_mock_provider(configurable, principal.mode)
        if document.get("tenantId", principal.tenant) != principal.tenant:
            raise ClientFault("forbidden", "tenantId is not the tenant of this key; leave it out.")
        workflow_id: str = document["workflowId"]
        plan = await self._catalog.find_plan(principal.tenant, workflow_id)
        if plan is None:
            hint = await self._catalog.similar_workflow(principal.tenant, workflow_id)
            raise invalid(f"There is no workflow with this id{hint or '.'}", "/workflowId")
        run_options.check_configurable(plan.workflow.configurable_schema, configurable)
        metadata: dict[str, Any] = document.get("metadata", {})
        if configurable or metadata:
            run_options.check_options(configurable, metadata)
            check_selection(configurable, () if self._runtime.models is None else self._runtime.models.names)
        run_options.check_callback_url(document.get("callbackUrl"))
        run_options.check_inputs(plan.workflow.variables, document.get("inputs", {}), plan.workflow.channels)
        check_capacity(self._executor, self._runtime.limits, principal.partition)
        return plan


def check_capacity(executor: Executor, limits: Limits, partition: str) -> None:
    """lim-07 (OpenWOP production-profile): refuse a run beyond the limits. Runs that are being created count."""
    slots = executor.run_slots
    # Not a call: while the reserved part is free, every tenant has room.
    if slots.total >= slots.unreserved and not slots.has_room(partition):
        message = full_message(slots, partition, "live runs", "max_live_runs")
        raise ClientFault("service_unavailable", message, {"retryAfter": RETRY_AFTER_S})
    limit = limits.max_live_runs_per_tenant
    if limit and slots.held_by(partition) >= limit:
        message = f"This tenant is at its limit of {limit:,} live runs (`max_live_runs_per_tenant`)."
        raise rate_limited(f"{message} Retry in {RETRY_AFTER_S} s.", "tenant")


async def reserve_quota(
    logs: TenantLogs, header: RunHeader, hidden: tuple[HiddenValue, ...], copied_bytes: int = 0
) -> None:
    """size-03 (host): refuse a run for which the quota of its tenant has no room. Raises StoreUnavailable.

    `copied_bytes`: what a fork copies of its source."""
    partition = header.partition
    await logs.load(partition)
    if logs.reserve_run(header, hidden, copied_bytes):
        return
    # Counts again, because runs may have been deleted.
    await logs.load(partition)
    if not logs.reserve_run(header, hidden, copied_bytes):
        error = limit_error(QUOTA_EXCEEDED, logs.quota, logs.used(partition))
        raise ClientFault(error.code, error.message, msgspec.to_builtins(error.details))


SLICE_BYTES: Final = 131_072
"""Bytes that are encoded, or searched for their members, between two yields to the event loop. If they are small arrays
and objects, each of which is encoded alone, they take about 15 ms."""


class Slices(msgspec.Struct, eq=False):
    """Yields to the event loop whenever the work since the last yield has reached SLICE_BYTES."""

    _done: int = 0

    async def spend(self, size: int) -> None:
        self._done += size
        if self._done >= SLICE_BYTES:
            self._done = 0
            await asyncio.sleep(0)


async def sliced_snapshot(run: StoredRun, children: dict[str, Any], slices: Slices) -> dict[str, Any]:
    """The snapshot of a stored run as `make_snapshot` returns it, with its open interrupts encoded."""
    opened: list[OpenInterrupt] = []
    if run.projection.status in WAITING_STATUSES:
        for row in run.rows:
            if row.kind == "interrupt":
                await slices.spend(len(row.value))
                interrupt = open_interrupt(row)
                if interrupt is not None:
                    opened.append(interrupt)
    snapshot = large_snapshot(run, children, opened)
    if _may_show_credential(run.header):
        mask_options(snapshot)
    return snapshot


def _may_show_credential(header: RunHeader) -> bool:
    """Whether the options of a request or the names of its inputs may contain a credential."""
    # Inputs with a credential in a name are hidden whole, in a member `redacted`.
    return "redacted" in header.inputs or not not (header.tags or header.metadata or header.configurable)  # noqa: SIM208


class SpanCache(msgspec.Struct, eq=False):
    """Projects spans of runs. Caches at most MAX_CACHED_RUNS ended runs, and reads about MAX_EVENTS_READ events of a
    run.

    Nothing is recorded while a run executes, so tracing costs a run nothing. Spans that were evicted from the cache are
    projected from the log again, with the same result.
    """

    _log: EventLog
    _cache: OrderedDict[RunKey, list[dict[str, Any]]] = msgspec.field(
        default_factory=OrderedDict[RunKey, list[dict[str, Any]]]
    )

    async def spans(self, run: StoredRun) -> list[dict[str, Any]]:
        """The spans of the run so far."""
        key = run.header.key
        cached = self._cache.get(key)
        if cached is not None:
            self._cache.move_to_end(key)
            return cached
        projected, last = RunSpans(run.header), -1
        while last + 1 < MAX_EVENTS_READ and (
            page := await self._log.read(key, last, REPLAY_PAGE_EVENTS, REPLAY_PAGE_BYTES)
        ):
            for event in page:
                if event.type in SPAN_EVENT_TYPES:
                    projected.add(span_fact(event))
            last = page[-1].sequence
        if run.projection.status in TERMINAL_STATUSES:
            self._cache[key] = projected.spans
            if len(self._cache) > MAX_CACHED_RUNS:
                self._cache.popitem(last=False)
        return projected.spans


def full_message(slots: FairLimit, partition: str, units: str, setting: str) -> str:
    """The message for a request that may not take a unit of a shared limit."""
    if slots.is_full:
        return f"The host is at its limit of {slots.limit:,} {units} (`{setting}`). Retry in {RETRY_AFTER_S} s."
    return (
        f"This tenant has {slots.held_by(partition):,} {units}, and its share of the host's limit of {slots.limit:,} "
        f"(`{setting}`) is {slots.share(partition):,}. What is free is reserved for tenants below their share "
        f"(`reserved_share_percent`). Retry in {RETRY_AFTER_S} s."
    )


def rate_limited(message: str, scope: str) -> ClientFault:
    """The error for a request beyond a limit of the scope, with the time after which to retry."""
    details = {"retryAfter": RETRY_AFTER_S, "retryAfterMs": RETRY_AFTER_S * 1000, "scope": scope}
    return ClientFault("rate_limited", message, details)


PAGE_BYTES: Final = 4 * 2**20
"""A page ends with the event that reaches this size; the reader continues with the next one."""


class EventStreams(msgspec.Struct, eq=False):
    """Event streams for callers. Raises ClientFault or StoreUnavailable."""

    _runtime: Runtime
    _executor: Executor

    async def join(
        self, principal: Principal, run_id: str, after: int, waits: bool = True
    ) -> tuple[Reader, Projection]:
        """A reader that starts after that sequence, or after the last event if the log is shorter, and the projection
        of the run.

        The caller must call `leave`. A reader that `waits` for events is refused if it may not take a slot of
        `max_streams`.
        """
        if waits:
            self._check_capacity(principal.partition)
        run = principal.run(run_id)
        reader = self._runtime.feeds.join(run, after)
        reader.hides_answers = DEBUG not in principal.scopes
        try:
            projection = require_run(await self._executor.projection(run))
        except BaseException:
            self._runtime.feeds.leave(run)
            raise
        has_ended = projection.status in TERMINAL_STATUSES
        if has_ended:
            reader.final_sequence = projection.last_sequence
        if after >= projection.last_sequence:
            reader.sequence = projection.last_sequence
            reader.ended = has_ended
        return reader, projection

    def leave(self, principal: Principal, run_id: str) -> None:
        self._runtime.feeds.leave(principal.run(run_id))

    async def read_page(
        self, principal: Principal, run_id: str, after: int, limit: int, timeout: float = 0
    ) -> tuple[list[Event], Projection]:
        """The events after that sequence, up to `limit` and PAGE_BYTES, and the projection of the run before they were
        read.

        With a timeout, waits that many seconds for such an event of a live run, or for its end.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + timeout
        reader, projection = await self.join(principal, run_id, after, waits=timeout > 0)
        try:
            events = [] if reader.ended else await reader.next(timeout, limit, PAGE_BYTES)
            while events and events[-1].sequence <= after:
                # poll-01: the caller has asked for events that the log does not have yet.
                left = max(until - loop.time(), 0)
                events = [] if reader.ended else await reader.next(left, limit, PAGE_BYTES)
                projection = require_run(await self._executor.projection(principal.run(run_id)))
            if events and events[0].sequence <= after:
                events = [event for event in events if event.sequence > after]
            size = sum([event.size for event in events])
            while events and not reader.ended and len(events) < limit and size < PAGE_BYTES:
                more = await reader.next(0, limit - len(events), PAGE_BYTES - size)
                if not more:
                    break
                events += more
                size += sum([event.size for event in more])
        finally:
            self.leave(principal, run_id)
        return events, projection

    def _check_capacity(self, partition: str) -> None:
        """lim-08 (OpenWOP stream-modes): refuse a waiting reader beyond the limit, before anything is opened for it."""
        slots = self._runtime.feeds.slots
        if not slots.has_room(partition):
            scope = "global" if slots.is_full else "tenant"
            raise rate_limited(full_message(slots, partition, "open streams", "max_streams"), scope)
