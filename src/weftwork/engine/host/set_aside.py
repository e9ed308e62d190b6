"""Runs that are set aside: runs that are too large for this host to load.

Such a run comes from an older host, or from a time with higher limits. It is recognised by its stored size before its
log is read, or while its log is folded, as soon as its state exceeds the limit. The host then records why, as an event
and as the error of the unfinished run in lists and snapshots, and does not execute the run. A start or a request
compares the record with the limits and loads nothing. Everything that reads the store still works: events, bundle,
listings. The run can be cancelled, which needs no state, and then deleted. A host with higher limits takes it up at its
start.
"""

from typing import Final

import msgspec
from msgspec.structs import replace

from weftwork.engine.decide.inputs import CancelRequested
from weftwork.engine.read_back import is_appended
from weftwork.engine.run.append import BatchBuilder
from weftwork.engine.run.budget import reserve_of
from weftwork.engine.run.pending_commit import RecordMaker
from weftwork.engine.run.replay import RunTooLarge
from weftwork.engine.runtime import Runtime
from weftwork.ports.storage.event_log import OutcomeUnknown, RunOutline
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.ports.storage.run_queries import InterruptQuery
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.json.canonical import encode_recorded
from weftwork.protocol.limits import LOG_TOO_LARGE, STATE_TOO_LARGE, Limits
from weftwork.protocol.run import payloads
from weftwork.protocol.run.batch import Batch
from weftwork.protocol.run.events import Draft, Event
from weftwork.protocol.run.header import ENGINE_VERSION, Status
from weftwork.protocol.run.projection import Projection, StateRow
from weftwork.protocol.run.run_time import run_time
from weftwork.protocol.run.size_errors import (
    cancelled_interrupt,
    find_set_aside_error,
    refusal,
    set_aside_error,
)
from weftwork.protocol.workflow.plan import Plan

INTERRUPTS_PER_PAGE: Final = 50


def check_size(outline: RunOutline, limits: Limits) -> None:
    """size-04 (host): raises RunTooLarge for a run that must not be loaded, according to its stored size or to an
    earlier attempt.

    The rows are copies of parts of the state, so they show that it is too large before it is folded.
    """
    if outline.log_bytes > limits.max_run_log_bytes:
        raise RunTooLarge(LOG_TOO_LARGE, outline.log_bytes)
    if outline.row_bytes > 2 * limits.max_run_state_bytes:
        raise RunTooLarge(STATE_TOO_LARGE, outline.row_bytes)
    recorded = find_set_aside_error(outline.projection)
    if recorded is not None and recorded.code == STATE_TOO_LARGE and recorded.details.observed > most_state(limits):
        raise RunTooLarge(STATE_TOO_LARGE, recorded.details.observed)


def most_state(limits: Limits) -> int:
    """The size of the largest state that is loaded: answers of people may have used the reserve."""
    return limits.max_run_state_bytes + reserve_of(limits.max_run_state_bytes)


async def record_set_aside(runtime: Runtime, outline: RunOutline, reason: RunTooLarge) -> None:
    """Record that a run is set aside, unless that is recorded for the same limit. Raises StoreUnavailable,
    SequenceConflict or FenceLost."""
    recorded, projection, header = find_set_aside_error(outline.projection), outline.projection, outline.header
    error = set_aside_error(reason.code, runtime.limits, reason.observed)
    if recorded is not None and (recorded.code, recorded.details.limit) == (error.code, error.details.limit):
        return
    sequence = projection.last_sequence + 1
    draft = Draft.of(payloads.SetAside(error.document))
    (event_id,) = runtime.ids.event_ids(1)
    now, payload = await _time_of(runtime, outline), encode_recorded(draft.payload)
    event = Event(header.run_id, sequence, event_id, draft.type, now, payload, engine_version=ENGINE_VERSION)
    # Not parked, so that the next start compares it with its limits; no alarm.
    changed = replace(projection, last_sequence=sequence, error=encode_recorded(error), parked=False, wake_at=None)
    await runtime.log.append(header.key, projection.last_sequence, Batch((event,), changed), runtime.fence.epoch)
    runtime.feeds.publish(header.key, (event,))


async def cancel_set_aside(
    runtime: Runtime, outline: RunOutline, plan: Plan, input_: CancelRequested, record: RecordMaker | None
) -> Status | SlotTaken:
    """size-05 (host): end a run that is set aside, without its state. Its open interrupts are closed, its children are
    cancelled, and its parent gets the result. Raises StoreUnavailable, SequenceConflict or FenceLost."""
    header, projection = outline.header, outline.projection
    state = RunState(plan, header, header.inputs)
    state.status, state.last_sequence = projection.status, projection.last_sequence
    state.started_at, state.executions = projection.started_at, projection.executions
    # The store ignores a cascade to no children.
    state.children_started = 1
    now = await _time_of(runtime, outline)
    builder = BatchBuilder(state, None, now)
    builder.add((Draft.of(payloads.RunCancelled(input_.reason or msgspec.UNSET, input_.parent or msgspec.UNSET)),))
    batch = builder.build(runtime.ids, record(state.status, now) if record is not None else None)
    batch = replace(batch, rows=await _closed_interrupts(runtime, outline))
    try:
        taken = await runtime.log.append(header.key, builder.expected, batch, runtime.fence.epoch)
    except OutcomeUnknown:
        if not await is_appended(runtime.log, runtime.clock, header.key, batch):
            raise
        taken = None
    if taken is not None:
        return taken
    runtime.feeds.publish(header.key, batch.events)
    return state.status


async def _time_of(runtime: Runtime, outline: RunOutline) -> int:
    """The time of the run for its next event."""
    events = await runtime.log.read(outline.header.key, outline.projection.last_sequence - 1, 1)
    return run_time(runtime.clock.now(), events[-1].timestamp if events else 0, 0)


async def _closed_interrupts(runtime: Runtime, outline: RunOutline) -> tuple[StateRow, ...]:
    rows: list[StateRow] = []
    query: InterruptQuery | None = InterruptQuery(run_id=outline.header.run_id, limit=INTERRUPTS_PER_PAGE)
    while query is not None:
        page = await runtime.queries.list_interrupts(outline.header.partition, query)
        rows += [cancelled_interrupt(each.interrupt_id, each.row) for each in page.interrupts]
        query = replace(query, after=page.last) if page.more else None
    return tuple(rows)


def refusal_of(projection: Projection) -> ClientFault | None:
    """The error for a request to a run that is set aside; None for another run."""
    error = find_set_aside_error(projection)
    return refusal(projection.status, error) if error is not None else None
