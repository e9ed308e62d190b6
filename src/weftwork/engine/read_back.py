"""Writes with an unknown outcome: what the store has is read before anything else is done.

When the connection to the store is lost after a commit was sent (`OutcomeUnknown`), the write may have happened. To
repeat it could do it twice, and to report it as failed could be wrong. Each write can be recognised in the store, by
ids that this process has made: the ids of events, runs, annotations and keys, or an idempotency slot. If it is there,
it has succeeded, and the caller gets its result. If it is not there, it never will be, and it counts as failed. If the
store does not answer in time, the caller gets 503, and asks again with the same key.
"""

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from weftwork.ports.clock import Clock
from weftwork.ports.storage.event_log import EventLog, OutcomeUnknown, RunCreated, StoreUnavailable
from weftwork.ports.storage.idempotency import IdempotencyRecords, SlotTaken
from weftwork.protocol.run.batch import Batch, IdempotencyRecord
from weftwork.protocol.run.header import RunKey

T = TypeVar("T")

DELAYS_MS: Final = (0, 100, 200, 400, 800, 1_600)
"""Delays before the attempts to read. A store that was restarted answers again within a second."""


async def read_back(clock: Clock, read: Callable[[], Awaitable[T]]) -> T:
    """The result of `read`, which is tried again while the store is unavailable. Raises StoreUnavailable."""
    failed = StoreUnavailable("the store is unavailable")
    for delay in DELAYS_MS:
        if delay:
            await clock.sleep(delay)
        try:
            return await read()
        except StoreUnavailable as error:
            failed = error
    raise failed


async def known_outcome(clock: Clock, write: Awaitable[T], find: Callable[[], Awaitable[T | None]]) -> T:
    """The result of a write. If its outcome is unknown, `find` returns the result that is in the store, or None if it
    is not there; then OutcomeUnknown is raised."""
    try:
        return await write
    except OutcomeUnknown:
        found = await read_back(clock, find)
        if found is None:
            raise
        return found


async def is_appended(log: EventLog, clock: Clock, run: RunKey, batch: Batch) -> bool:
    """Whether the store has a batch whose outcome is unknown. False for a batch without events, which cannot be
    recognised and can be written again. Raises StoreUnavailable."""
    if not batch.events:
        return False
    first = batch.events[0]
    found = await read_back(clock, lambda: log.read(run, first.sequence - 1, 1))
    return bool(found) and found[0].event_id == first.event_id


async def confirm_created(log: EventLog, clock: Clock, run: RunKey) -> RunCreated:
    """RunCreated if the store has a run, with an id of this process, whose creation has an unknown outcome. Raises
    StoreUnavailable if not."""
    if await read_back(clock, lambda: log.projection(run)) is None:
        raise StoreUnavailable("the connection to the store was lost, and the run was not stored")
    return RunCreated()


async def save_record(records: IdempotencyRecords, clock: Clock, record: IdempotencyRecord) -> SlotTaken | None:
    """`IdempotencyRecords.save_record` with a known outcome. Raises StoreUnavailable."""
    try:
        return await records.save_record(record)
    except OutcomeUnknown:
        slot = record.partition, record.slot, record.expired_before
        found = await read_back(clock, lambda: records.find_record(*slot))
        if found is None:
            raise
        is_ours = (found.outcome, found.created_at) == (record.outcome, record.created_at)
        return None if is_ours else SlotTaken(found)
