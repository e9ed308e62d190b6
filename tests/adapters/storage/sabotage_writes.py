"""Stores in memory that write what they should not, or do not write what they should."""

import asyncio
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from weftwork.ports.storage.event_log import ScopeTaken, SequenceConflict
from weftwork.protocol.run.batch import Batch, IdempotencyRecord
from weftwork.protocol.run.header import RunHeader, RunKey

Wrap = Callable[[Any, Any], Any]


def overwrite(port: Any, real: Any) -> Any:
    async def create(header: RunHeader, *rest: Any, **named: Any) -> Any:
        port._table.runs.pop(header.key, None)
        return await real(header, *rest, **named)

    return create


def never_exclusive(port: Any, real: Any) -> Any:
    async def create(header: RunHeader, hidden: Any = (), record: Any = None, exclusive: bool = False) -> Any:
        return await real(header, hidden, record, False)

    return create


def two_commits(port: Any, real: Any) -> Any:
    async def create(header: RunHeader, *rest: Any, first: Batch | None = None) -> Any:
        answer = await real(header, *rest[:3])
        if first is not None:
            await port.append(header.key, -1, first)
        return answer

    return create


def without_first(port: Any, real: Any) -> Any:
    async def create(header: RunHeader, *rest: Any, first: Batch | None = None) -> Any:
        return await real(header, *rest)

    return create


def exclusive_with_scope_only(port: Any, real: Any) -> Any:
    async def create(header: RunHeader, hidden: Any = (), record: Any = None, exclusive: bool = False) -> Any:
        return await real(header, hidden, record, exclusive and header.scope_id is not None)

    return create


def look_wait_write(port: Any, real: Any) -> Any:
    async def create(header: RunHeader, hidden: Any = (), record: Any = None, exclusive: bool = False) -> Any:
        for run in port._table.live.values():
            if run.scope_id == header.scope_id:
                return ScopeTaken(run.key.run_id)
        await asyncio.sleep(0)
        return await real(header, hidden, record, False)

    return create


def stay_live(port: Any, real: Any) -> Any:
    async def append(run: RunKey, expected: int, batch: Batch) -> Any:
        answer = await real(run, expected, batch)
        port._table.live[run] = port._table.runs[run]
        return answer

    return append


def record_in_any_case(port: Any, real: Any) -> Any:
    async def append(run: RunKey, expected: int, batch: Batch) -> Any:
        try:
            return await real(run, expected, batch)
        except SequenceConflict:
            port._records.put(batch.record)
            raise

    return append


def swallow_conflicts(port: Any, real: Any) -> Any:
    async def append(run: RunKey, expected: int, batch: Batch) -> Any:
        try:
            return await real(run, expected, batch)
        except SequenceConflict:
            return None

    return append


def rise_again(port: Any, real: Any) -> Any:
    async def append(run: RunKey, expected: int, batch: Batch) -> Any:
        found = port._table.runs[run]
        found.projection = replace(found.projection, status="running", completed_at=None)
        port._table.live[run] = found
        return await real(run, expected, batch)

    return append


def record_later(port: Any, real: Any) -> Any:
    async def append(run: RunKey, expected: int, batch: Batch) -> Any:
        await real(run, expected, replace(batch, record=None))
        await asyncio.sleep(0)
        port._records.put(batch.record)

    return append


def lose_the_record(port: Any, real: Any) -> Any:
    async def create(header: RunHeader, hidden: Any = (), record: Any = None, exclusive: bool = False) -> Any:
        return await real(header, hidden, None, exclusive)

    return create


def create_all_the_same(port: Any, real: Any) -> Any:
    async def create(header: RunHeader, hidden: Any = (), record: Any = None, exclusive: bool = False) -> Any:
        known = port._records.find_taken(record)
        answer = await real(header, hidden, None if known else record, exclusive)
        return known or answer

    return create


def append_all_the_same(port: Any, real: Any) -> Any:
    async def append(run: RunKey, expected: int, batch: Batch) -> Any:
        known = port._records.find_taken(batch.record)
        answer = await real(run, expected, replace(batch, record=None) if known else batch)
        return known or answer

    return append


def sequence_first(port: Any, real: Any) -> Any:
    async def append(run: RunKey, expected: int, batch: Batch) -> Any:
        if port._table.runs[run].projection.last_sequence != expected:
            raise SequenceConflict
        return await real(run, expected, batch)

    return append


def look_at_the_slot_wait_write(port: Any, real: Any) -> Any:
    async def create(header: RunHeader, hidden: Any = (), record: Any = None, exclusive: bool = False) -> Any:
        known = port._records.find_taken(record)
        await asyncio.sleep(0)
        return known or await real(header, hidden, None, exclusive)

    return create


def remember_the_last(port: Any, real: Any) -> Any:
    async def save_record(record: IdempotencyRecord) -> Any:
        known = port.find_taken(record)
        port.put(record)
        return known

    return save_record


def sweep_one_too_many(port: Any, real: Any) -> Any:
    async def sweep(created_before: int) -> Any:
        return await real(created_before + 1)

    return sweep


def keep_the_first_row(port: Any, real: Any) -> Any:
    async def append(run: RunKey, expected: int, batch: Batch) -> Any:
        known = port._table.runs[run].rows
        rows = tuple(row for row in batch.rows if (row.kind, row.name) not in known)
        return await real(run, expected, replace(batch, rows=rows))

    return append


def expire_nothing(port: Any, real: Any) -> Any:
    async def create(header: RunHeader, hidden: Any = (), record: Any = None, exclusive: bool = False) -> Any:
        return await real(header, hidden, replace(record, expired_before=0), exclusive)

    return create


def put_the_last(port: Any, real: Any) -> Any:
    async def put(digest: str, document: bytes) -> None:
        port._documents[digest] = document

    return put


def move_to_the_end(port: Any, real: Any) -> Any:
    async def put(row: Any) -> None:
        port._rows.pop(row.key_id, None)
        await real(row)

    return put


WRITES: dict[str, tuple[str, Wrap]] = {
    "a_run_comes_with_its_first_batch": ("log.create", without_first),
    "a_refused_run_leaves_nothing_of_its_first_batch": ("log.create", two_commits),
    "a_run_id_is_used_once": ("log.create", overwrite),
    "a_live_run_keeps_its_scope": ("log.create", never_exclusive),
    "no_scope_is_a_scope": ("log.create", exclusive_with_scope_only),
    "one_of_many_takes_a_scope": ("log.create", look_wait_write),
    "a_scope_is_free_again_after_the_end": ("log.append", stay_live),
    "a_conflict_writes_nothing": ("log.append", record_in_any_case),
    "an_unknown_run_is_a_conflict": ("log.append", swallow_conflicts),
    "one_of_many_appenders_wins": ("log.append", swallow_conflicts),
    "nothing_follows_the_end": ("log.append", rise_again),
    "a_cancelled_caller_leaves_all_or_nothing": ("log.append", record_later),
    "a_record_is_stored_with_its_run": ("log.create", lose_the_record),
    "a_record_stays_in_the_partition_of_its_run": ("log.create", lose_the_record),
    "a_taken_slot_makes_no_run": ("log.create", create_all_the_same),
    "a_taken_slot_adds_no_events": ("log.append", append_all_the_same),
    "the_slot_is_looked_at_first": ("log.append", sequence_first),
    "one_of_many_takes_a_slot": ("log.create", look_at_the_slot_wait_write),
    "a_record_can_stand_alone": ("records.save_record", remember_the_last),
    "an_expired_record_is_replaced": ("log.create", expire_nothing),
    "old_records_are_swept": ("records.sweep", sweep_one_too_many),
    "a_row_is_the_last_one_written": ("log.append", keep_the_first_row),
    "a_definition_never_changes": ("definitions.put", put_the_last),
    "a_key_is_replaced_by_its_id": ("keys.put", move_to_the_end),
}
"""Check -> the port method that is replaced, and the replacement made from the port and its own method."""
