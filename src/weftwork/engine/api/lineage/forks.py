"""Forks for callers: a new run from any event of another one, as a replay or as a branch.

The fork is durable before the caller is answered: its copied prefix, the events with which it begins to act, and the
state at the fork point, in one commit.
"""

import asyncio
from functools import partial
from typing import Any, Final

import msgspec
from msgspec import UNSET

from weftwork.engine.api.idempotency import IdempotencyClaim, idempotent
from weftwork.engine.api.keyring import Principal, require_run
from weftwork.engine.api.runs import check_capacity, reserve_quota
from weftwork.engine.host.catalog import WorkflowCatalog
from weftwork.engine.host.executor import Executor
from weftwork.engine.host.imported_runs import check_replayable
from weftwork.engine.host.run_loader import unloadable_error
from weftwork.engine.host.set_aside import check_size, most_state
from weftwork.engine.run.append import BatchBuilder, hide_inputs, make_redactor
from weftwork.engine.run.replay import RunTooLarge, load_state
from weftwork.engine.runtime import Runtime
from weftwork.ports.fault_points import fault_point
from weftwork.ports.storage.event_log import EventLog, RunCreated, ScopeTaken
from weftwork.ports.storage.forks import SourceMissing
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.protocol.errors import NO_SUCH_RUN, ClientFault, HostFault
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.limits import time_limit
from weftwork.protocol.media.asset_references import referenced_assets
from weftwork.protocol.models.selection import check_selection
from weftwork.protocol.privacy.redaction import Redactor, reveal
from weftwork.protocol.privacy.trust import is_untrusted_boundary
from weftwork.protocol.replay.fork_points import cut_outcome, log_entry, refuse_second_retry, retry_scope
from weftwork.protocol.replay.fork_request import (
    ForkOutcome,
    ForkRequest,
    check_approvals,
    check_fork_point,
    check_masks,
    fork_header,
    parse_fork,
)
from weftwork.protocol.run import payloads
from weftwork.protocol.run.batch import Batch
from weftwork.protocol.run.events import UNTRUSTED, Draft
from weftwork.protocol.run.header import RunHeader, RunKey
from weftwork.protocol.run.imports import check_forkable
from weftwork.protocol.run.projection import Projection, StoredRun
from weftwork.protocol.timestamps import iso
from weftwork.protocol.workflow import run_options
from weftwork.protocol.workflow.plan import Plan

CUT_PAGE_EVENTS: Final = 256
MAX_CONCURRENT_FOLDS: Final = 4
"""Forks whose state at the fork point is folded concurrently. Each state is in memory as a whole."""


class Retry(msgspec.Struct, frozen=True):
    """What makes a branch a retry."""

    node_id: str | None
    """The failed node that it runs again."""
    allows_concurrent: bool
    """retry-04: another retry of the run may be unfinished."""


class Forks(msgspec.Struct, eq=False):
    """Forks for callers. Raises ClientFault, StoreUnavailable or HostFault."""

    _runtime: Runtime
    _catalog: WorkflowCatalog
    _executor: Executor
    _folds: asyncio.Semaphore = msgspec.field(default_factory=lambda: asyncio.Semaphore(MAX_CONCURRENT_FOLDS))

    async def fork_run(
        self, principal: Principal, run_id: str, document: Any, key: str | None = None, traceparent: str | None = None
    ) -> ForkOutcome:
        """Fork a run. Durable on return. With an idempotency key, the same key and body return the same fork."""
        work = partial(self._fork, principal, run_id, document, traceparent)
        return await idempotent(self._runtime, principal, f"forkRun/{run_id}", key, document, ForkOutcome, work)

    async def _fork(
        self, principal: Principal, run_id: str, document: Any, traceparent: str | None, claim: IdempotencyClaim
    ) -> ForkOutcome | SlotTaken:
        request = parse_fork(document)
        source = require_run(await self._executor.read_run(principal.run(run_id)))
        check_fork_point(request.from_seq, source.projection.last_sequence)
        return await self.create(principal, source, request, claim, traceparent)

    async def create(
        self,
        principal: Principal,
        source: StoredRun,
        request: ForkRequest,
        claim: IdempotencyClaim,
        traceparent: str | None = None,
        retry: Retry | None = None,
    ) -> ForkOutcome | SlotTaken:
        """Create a fork of a stored run at a legal fork point."""
        check_forkable(source.header, request.mode)
        async with self._folds:
            await check_replayable(self._runtime, self._catalog, source.header, source.projection.last_sequence)
        plan = await self._plan_of(source)
        new_id = self._runtime.ids.run_id(claim.now)
        last = source.projection.last_sequence
        unapplied = await self._cut_outcome(source, request) if not request.is_replay else ()
        node_id, scope_id = (retry.node_id, retry_scope(source.header.run_id)) if retry is not None else (None, None)
        header = fork_header(source.header, request, new_id, claim.now, last, traceparent, node_id, unapplied, scope_id)
        exclusive = retry is not None and not retry.allows_concurrent
        await self._check_options(principal, plan, source, header, request)
        check_capacity(self._executor, self._runtime.limits, principal.partition)
        outcome = ForkOutcome(
            new_id, source.header.run_id, request.from_seq, request.mode, "pending" if request.from_seq == 0 else ""
        )
        if not request.is_replay and request.from_seq == 0:
            return await self._start_over(source, plan, header, request, outcome, claim, exclusive)
        if self._runtime.tenant_logs is not None:
            await reserve_quota(self._runtime.tenant_logs, header, (), await self._copied_bytes(source, request))
        if request.overlay:
            header = msgspec.structs.replace(header, assets=self._assets_of(header, request.inputs))
        async with self._folds:
            header, first = await self._first_batch(source, plan, header, request, claim.now)
        outcome = msgspec.structs.replace(outcome, status=first.projection.status)
        return await self._store(header, first, outcome, claim, exclusive)

    async def _plan_of(self, source: StoredRun) -> Plan:
        try:
            return await self._catalog.pinned_plan(source.header.workflow_id, source.header.definition)
        except HostFault:
            raise await unloadable_error(self._catalog, source) from None

    async def _check_options(
        self, principal: Principal, plan: Plan, source: StoredRun, header: RunHeader, request: ForkRequest
    ) -> None:
        """fork-03: the checks of a new run, for the merged options."""
        if not request.overlay:
            return
        run_options.check_mock_provider(header.configurable, principal.mode)
        run_options.check_configurable(plan.workflow.configurable_schema, header.configurable)
        run_options.check_options(header.configurable, header.metadata)
        check_selection(header.configurable, () if self._runtime.models is None else self._runtime.models.names)
        if request.inputs:
            # With hidden values, because their masks need not have the declared types.
            inputs = {**await self._inputs_of(source, plan), **request.inputs}
            run_options.check_inputs(plan.workflow.variables, inputs, plan.workflow.channels)

    async def _copied_bytes(self, source: StoredRun, request: ForkRequest) -> int:
        """An upper bound of what the fork copies now and, as a replay, writes again. The whole log, because its events
        differ in size: most of its bytes can be below any fork point."""
        if not request.is_replay and request.from_seq == 0:
            return 0
        return require_run(await self._runtime.log.outline(source.header.key)).log_bytes

    async def _start_over(
        self,
        source: StoredRun,
        plan: Plan,
        header: RunHeader,
        request: ForkRequest,
        outcome: ForkOutcome,
        claim: IdempotencyClaim,
        exclusive: bool,
    ) -> ForkOutcome | SlotTaken:
        """A branch without a prefix: a new run with the merged options."""
        inputs = {**await self._inputs_of(source, plan), **request.inputs}
        visible, hidden = hide_inputs(plan, inputs)
        check_masks(source.header.inputs, inputs, visible, request)
        assets = self._assets_of(header, inputs)
        header = msgspec.structs.replace(header, inputs=visible, assets=assets)
        if self._runtime.tenant_logs is not None:
            await reserve_quota(self._runtime.tenant_logs, header, hidden)
        record = claim.make_record(outcome)
        created = await self._executor.create(header, plan, inputs, hidden, record, exclusive)
        return _outcome_of(created, outcome)

    async def _inputs_of(self, source: StoredRun, plan: Plan) -> dict[str, Any]:
        """The inputs of the source, with hidden values."""
        if source.header.first_inputs is not source.header.inputs:
            # Branches have replaced some of them.
            async with self._folds:
                return (await self._state_at(source.header, plan, source.projection.last_sequence + 1)).inputs
        hidden = await self._runtime.log.hidden_values(source.header.key)
        # A run that is deleted has no hidden values any more, and its masks are no inputs.
        await check_exists(self._runtime.log, source.header.key)
        removed = [(each.pointer, msgspec.json.decode(each.value)) for each in hidden if each.sequence == -1]
        # A copy, because the header is shown to readers and must keep its masks.
        inputs: dict[str, Any] = reveal(msgspec.json.decode(msgspec.json.encode(source.header.inputs)), removed)
        return inputs

    def _assets_of(self, header: RunHeader, inputs: dict[str, Any]) -> tuple[str, ...]:
        encoded = encode_stored([inputs, header.configurable, header.metadata])
        return tuple(sorted({*header.assets, *referenced_assets(encoded, header.partition)}))

    async def _first_batch(
        self, source: StoredRun, plan: Plan, header: RunHeader, request: ForkRequest, now: int
    ) -> tuple[RunHeader, Batch]:
        """The header with the masked inputs of the overlay; and the state at the fork point, and in a branch the event
        with which it begins to act."""
        if request.from_seq == 0:
            return header, Batch((), Projection("pending"))
        state = await self._state_at(msgspec.structs.replace(source.header, fork=header.fork), plan, request.from_seq)
        past_ended_at = state.last_event_at
        state.header = header
        redactor = make_redactor(state)
        if request.changes_approved:
            check_approvals(state)
        if request.inputs:
            redactor = learn_overlay(redactor, state, request.inputs)
            inputs = {**header.inputs, **redactor.hide_inputs(request.inputs)[0]}
            state.header = header = msgspec.structs.replace(header, inputs=inputs)
        builder = BatchBuilder(state, redactor, now, self._time_limit(plan, header))
        if not request.is_replay:
            forked = payloads.RunForked(
                source.header.run_id,
                request.from_seq,
                iso(past_ended_at),
                request.inputs or UNSET,
                header.fork.retry or UNSET if header.fork is not None else UNSET,
                (source.header.fork.acts_as if source.header.fork is not None else "") or UNSET,
            )
            untrusted = bool(request.inputs) and is_untrusted_boundary(header.configurable)
            builder.add((Draft.of(forked, content_trust=UNTRUSTED if untrusted else None),))
        batch = builder.build(self._runtime.ids, None)
        if request.is_replay:
            # A replay is executed now, also if the run waited at the fork point.
            running = msgspec.structs.replace(batch.projection, parked=False, wake_at=None)
            batch = msgspec.structs.replace(batch, projection=running)
        return header, batch

    async def _cut_outcome(self, source: StoredRun, request: ForkRequest) -> tuple[int, ...]:
        """fork-07: the events of the prefix that belong to an outcome which ends after the fork point."""
        key, log = source.header.key, self._runtime.log
        found: list[int] = []
        end = request.from_seq
        is_complete = end == 0
        while not is_complete:
            start = max(0, end - CUT_PAGE_EVENTS)
            entries = [log_entry(each) for each in await log.read(key, start - 1, end - start + 1)]
            if len(entries) != end - start + 1:
                raise ClientFault("not_found", NO_SUCH_RUN)
            part, is_complete = cut_outcome(reversed(entries[:-1]), entries[-1])
            found += part
            end = start
            is_complete = is_complete or start == 0
        return tuple(reversed(found))

    async def _state_at(self, source: RunHeader, plan: Plan, from_seq: int) -> RunState:
        """The state after the events below `from_seq`. `source` has the header of the source and the fork of the
        branch."""
        limits, log = self._runtime.limits, self._runtime.log
        outline = require_run(await log.outline(source.key))
        try:
            check_size(outline, limits)
            share = self._runtime.loop_share
            state = await load_state(log, source, plan, most_state(limits), share, until=from_seq - 1)
        except RunTooLarge as reason:
            message = f"The run is too large to be forked on this host ({reason})."
            raise ClientFault("service_unavailable", message) from None
        check_read(state.last_sequence, from_seq - 1)
        return state

    def _time_limit(self, plan: Plan, header: RunHeader) -> int | None:
        return time_limit(self._runtime.limits, plan.workflow.timeout_ms, header.configurable)

    async def _store(
        self, header: RunHeader, first: Batch, outcome: ForkOutcome, claim: IdempotencyClaim, exclusive: bool
    ) -> ForkOutcome | SlotTaken:
        fault_point("fork.checked")
        try:
            created = await self._executor.create_fork(header, first, claim.make_record(outcome), exclusive)
        except SourceMissing:
            raise ClientFault("not_found", NO_SUCH_RUN) from None
        return _outcome_of(created, outcome)


def _outcome_of(created: RunCreated | SlotTaken | ScopeTaken, outcome: ForkOutcome) -> ForkOutcome | SlotTaken:
    """The outcome, or the one on record. Raises the refusal of a second retry."""
    if isinstance(created, ScopeTaken):
        raise refuse_second_retry(outcome.source_run_id, created.run_id)
    return created if isinstance(created, SlotTaken) else outcome


def learn_overlay(redactor: Redactor | None, state: RunState, inputs: dict[str, Any]) -> Redactor:
    """hide-01 (readings, What the log may hide): a redactor that also knows the inputs of an overlay. One of them may
    hold a copy of another one, or of a value that the source hides."""
    redactor = redactor or Redactor(state.plan)
    redactor.learn_inputs({**state.inputs, **inputs})
    return redactor


def check_read(last: int, wanted: int) -> None:
    """fork-02 (OpenWOP replay): raises a 404 if a log ends too early, because its run has been deleted meanwhile."""
    if last < wanted:
        raise ClientFault("not_found", NO_SUCH_RUN)


async def check_exists(log: EventLog, key: RunKey) -> None:
    """fork-02 (OpenWOP replay): raises a 404 if a run has been deleted meanwhile."""
    require_run(await log.outline(key))
