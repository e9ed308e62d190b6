"""Stores in memory that show or write what they should not, or neither show nor write what they should."""

import asyncio
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from weftwork.ports.storage.event_log import ScopeTaken, SequenceConflict
from weftwork.ports.storage.run_queries import RunPage, RunQuery
from weftwork.protocol.run.batch import Batch, IdempotencyRecord
from weftwork.protocol.run.header import RunHeader, RunKey
from weftwork.protocol.run.projection import Projection, StoredRun

Wrap = Callable[..., Any]


def one_object_for_all(port: Any, real: Any) -> Any:
    seen: dict[RunKey, Any] = {}

    async def read_run(run: RunKey) -> Any:
        return seen.setdefault(run, await real(run))

    return read_run


async def recall_anybodys(port: Any, real: Any, partition: str, slot: str, not_before: int) -> Any:
    return next((record for (_, known), record in port._records.items() if known == slot), None)


async def read_one_more(port: Any, real: Any, run: RunKey, after: int, limit: int, budget: int) -> Any:
    found = await real(run, after, limit, budget)
    return await real(run, after, min(limit, len(found) + 1))


def read_yesterday(port: Any, real: Any) -> Any:
    last: list[Any] = []

    async def read(run: RunKey, *rest: int) -> Any:
        before, last[:] = last[:], await real(run, *rest)
        return before

    return read


async def look_twice(port: Any, real: Any, run: RunKey) -> Any:
    first = await real(run)
    for _ in range(3):
        await asyncio.sleep(0)
    return replace(first, rows=(await real(run)).rows)


def list_yesterday(port: Any, real: Any) -> Any:
    pages: dict[RunQuery, RunPage] = {}

    async def list_runs(partition: str, query: RunQuery) -> Any:
        return pages.setdefault(query, await real(partition, query))

    return list_runs


def count_instead_of_cursor(port: Any, real: Any) -> Any:
    given: list[StoredRun] = []

    async def list_runs(partition: str, query: RunQuery) -> Any:
        everything = (await real(partition, RunQuery(limit=1000))).runs
        runs = everything[len(given) : len(given) + query.limit]
        given.extend(runs)
        return RunPage(runs, runs[-1].header.run_id, len(given) < len(everything))

    return list_runs


async def start_over(port: Any, real: Any, partition: str, query: RunQuery) -> Any:
    known = RunKey(partition, query.before or "") in port._table.runs
    return await real(partition, query if known else replace(query, before=None))


async def need_a_live_cursor(port: Any, real: Any, after: RunKey | None, limit: int, *rest: Any) -> Any:
    return await real(after, limit, *rest) if after is None or after in port._table.live else []


async def list_everybodys(port: Any, real: Any, partition: str, query: RunQuery) -> Any:
    pages = [await real(name, query) for name in port._table.by_partition]
    return RunPage(tuple(run for page in pages for run in page.runs), None, False)


def asked(change: Callable[..., tuple[Any, ...]]) -> Wrap:
    """Only the arguments that the method gets are changed, by the port and what is asked."""

    async def method(port: Any, real: Any, *arguments: Any) -> Any:
        return await real(*change(port, *arguments))

    return method


def answered(answer: Callable[..., Any]) -> Wrap:
    """The method is not asked at all."""

    async def method(port: Any, real: Any, *arguments: Any) -> Any:
        return answer(port, *arguments)

    return method


def queried(change: Callable[[Any], dict[str, Any]]) -> Wrap:
    """Only members of the query are changed."""
    return asked(lambda port, partition, query: (partition, replace(query, **change(query))))


def of_anybody(port: Any, run: RunKey, *rest: Any) -> tuple[Any, ...]:
    """The run of that id in whichever partition comes first."""
    return next((key for key in port._table.runs if key.run_id == run.run_id), run), *rest


def created(change: Callable[[RunHeader], dict[str, Any]]) -> Wrap:
    """Only what comes with the header of a new run is changed."""

    async def create(port: Any, real: Any, header: RunHeader, *rest: Any, **named: Any) -> Any:
        given = dict(zip(("hidden", "record", "exclusive", "first", "fence"), rest, strict=False))
        return await real(header, **given | named | change(header))

    return create


def moved_to_the_end(kept: str, key: str) -> Wrap:
    """What is written again is listed as if it were new."""

    async def put(port: Any, real: Any, row: Any) -> None:
        getattr(port, kept).pop(getattr(row, key), None)
        await real(row)

    return put


def changed(change: Callable[[Any], Any]) -> Wrap:
    """Only what the method returns is changed."""

    async def method(port: Any, real: Any, *arguments: Any) -> Any:
        return change(await real(*arguments))

    return method


def of_stored(change: Callable[[StoredRun], StoredRun]) -> Wrap:
    return changed(lambda found: None if found is None else change(found))


def of_projection(**fields: Any) -> Wrap:
    return of_stored(lambda found: replace(found, projection=replace(found.projection, **fields)))


def sort_the_tags(found: StoredRun) -> StoredRun:
    return replace(found, header=replace(found.header, tags=tuple(sorted(found.header.tags))))


def by_time(page: RunPage) -> RunPage:
    return replace(page, runs=tuple(sorted(page.runs, key=lambda run: -run.header.created_at)))


def without_spaces(events: list[Any]) -> list[Any]:
    return [replace(event, payload=event.payload.replace(b" ", b"")) for event in events]


def in_good_faith(events: list[Any]) -> list[Any]:
    return [replace(event, content_trust=event.content_trust and "trusted") for event in events]


READS: dict[str, tuple[str, Wrap]] = {
    "a_new_run_is_pending_and_empty": ("log.read_run", of_projection(last_sequence=0)),
    "a_header_comes_back_whole": ("log.read_run", of_stored(sort_the_tags)),
    "a_projection_comes_back_as_it_was": ("log.read_run", of_projection(error=None)),
    "sequences_have_no_gaps": ("log.read", changed(lambda events: events[:2] + events[3:])),
    "events_come_back_as_they_were": ("log.read", changed(without_spaces)),
    "an_event_keeps_its_content_trust": ("log.read", changed(in_good_faith)),
    "an_outline_has_the_size_of_a_run": ("log.outline", of_stored(lambda found: replace(found, log_bytes=1))),
    "a_small_run_is_read_at_once": (
        "log.read_whole",
        changed(lambda found: None if found is None else replace(found, hidden=found.hidden[::-1])),
    ),
    "hidden_values_come_back": ("log.hidden_values", changed(lambda values: values[::-1])),
    "runs_are_listed_newest_first": ("queries.list_runs", changed(by_time)),
    "a_page_has_a_cursor_while_runs_are_left": ("queries.list_runs", changed(lambda page: replace(page, more=False))),
    "a_definition_is_kept": ("definitions.get", changed(lambda document: document or b"")),
    "the_salt_is_made_once": ("keys.salt", changed(lambda salt: salt[:31])),
    "keys_are_listed_oldest_first": ("keys.all", changed(lambda rows: rows[::-1])),
    "a_header_is_not_shared_with_the_caller": ("log.read_run", one_object_for_all),
    "runs_do_not_disturb_each_other": (
        "log.read",
        asked(lambda port, run, *rest: (next(iter(port._table.runs)), *rest)),
    ),
    "an_old_record_is_not_recalled": (
        "records.find_record",
        asked(lambda port, partition, slot, _: (partition, slot, 0)),
    ),
    "equal_slots_are_different_records": ("records.find_record", recall_anybodys),
    "a_page_of_events_starts_after_its_cursor": (
        "log.read",
        asked(lambda port, run, after, *rest: (run, after - 1, *rest)),
    ),
    "a_page_of_events_ends_where_its_budget_is_reached": ("log.read", read_one_more),
    "a_projection_is_that_of_the_stored_run": (
        "log.projection",
        changed(lambda found: found and Projection("running")),
    ),
    "an_acknowledged_write_is_seen": ("log.read", read_yesterday),
    "a_stored_run_is_one_view": ("log.read_run", look_twice),
    "a_listing_follows_the_status": ("queries.list_runs", list_yesterday),
    "filters_combine": ("queries.list_runs", queried(lambda query: {"tags": query.tags[:1]})),
    "new_runs_do_not_disturb_a_walk": ("queries.list_runs", count_instead_of_cursor),
    "an_unknown_cursor_ends_the_listing": ("queries.list_runs", start_over),
    "another_partition_sees_nothing": ("log.read_run", asked(of_anybody)),
    "equal_ids_are_different_runs": ("queries.list_runs", list_everybodys),
}
"""Check -> the port method that is replaced, and the replacement made from the port and its own method."""


async def replace_run(port: Any, real: Any, header: RunHeader, *rest: Any, **named: Any) -> Any:
    port._table.runs.pop(header.key, None)
    return await real(header, *rest, **named)


async def two_commits(port: Any, real: Any, header: RunHeader, *rest: Any, first: Batch | None = None) -> Any:
    answer = await real(header, *rest[:3])
    if first is not None:
        await port.append(header.key, -1, first)
    return answer


async def look_wait_write(port: Any, real: Any, header: RunHeader, **named: Any) -> Any:
    for run in port._table.live.values():
        if run.scope_id == header.scope_id:
            return ScopeTaken(run.key.run_id)
    await asyncio.sleep(0)
    return await real(header, **named | {"exclusive": False})


async def stay_live(port: Any, real: Any, run: RunKey, expected: int, batch: Batch) -> Any:
    answer = await real(run, expected, batch)
    port._table.live[run] = port._table.runs[run]
    return answer


async def record_in_any_case(port: Any, real: Any, run: RunKey, expected: int, batch: Batch) -> Any:
    try:
        return await real(run, expected, batch)
    except SequenceConflict:
        port._records.put(batch.record)
        raise


async def swallow_conflicts(port: Any, real: Any, run: RunKey, expected: int, batch: Batch) -> Any:
    try:
        return await real(run, expected, batch)
    except SequenceConflict:
        return None


async def rise_again(port: Any, real: Any, run: RunKey, expected: int, batch: Batch) -> Any:
    found = port._table.runs[run]
    found.projection = replace(found.projection, status="running", completed_at=None)
    port._table.live[run] = found
    return await real(run, expected, batch)


async def record_later(port: Any, real: Any, run: RunKey, expected: int, batch: Batch) -> Any:
    await real(run, expected, replace(batch, record=None))
    await asyncio.sleep(0)
    port._records.put(batch.record)


async def create_all_the_same(
    port: Any, real: Any, header: RunHeader, hidden: Any = (), record: Any = None, exclusive: bool = False
) -> Any:
    known = port._records.find_taken(record)
    answer = await real(header, hidden, None if known else record, exclusive)
    return known or answer


async def append_all_the_same(port: Any, real: Any, run: RunKey, expected: int, batch: Batch) -> Any:
    known = port._records.find_taken(batch.record)
    answer = await real(run, expected, replace(batch, record=None) if known else batch)
    return known or answer


async def sequence_first(port: Any, real: Any, run: RunKey, expected: int, batch: Batch) -> Any:
    if port._table.runs[run].projection.last_sequence != expected:
        raise SequenceConflict
    return await real(run, expected, batch)


async def look_at_the_slot_wait_write(
    port: Any, real: Any, header: RunHeader, hidden: Any = (), record: Any = None, exclusive: bool = False
) -> Any:
    known = port._records.find_taken(record)
    await asyncio.sleep(0)
    return known or await real(header, hidden, None, exclusive)


async def remember_the_last(port: Any, real: Any, record: IdempotencyRecord) -> Any:
    known = port.find_taken(record)
    port.put(record)
    return known


async def keep_the_first_row(port: Any, real: Any, run: RunKey, expected: int, batch: Batch) -> Any:
    known = port._table.runs[run].rows
    rows = tuple(row for row in batch.rows if (row.kind, row.name) not in known)
    return await real(run, expected, replace(batch, rows=rows))


async def expire_nothing(
    port: Any, real: Any, header: RunHeader, hidden: Any = (), record: Any = None, exclusive: bool = False
) -> Any:
    return await real(header, hidden, replace(record, expired_before=0), exclusive)


async def put_the_last(port: Any, real: Any, digest: str, document: bytes) -> None:
    port._documents[digest] = document


WRITES: dict[str, tuple[str, Wrap]] = {
    "a_run_comes_with_its_first_batch": ("log.create", created(lambda header: {"first": None})),
    "a_refused_run_leaves_nothing_of_its_first_batch": ("log.create", two_commits),
    "a_run_id_is_used_once": ("log.create", replace_run),
    "a_live_run_keeps_its_scope": ("log.create", created(lambda header: {"exclusive": False})),
    "no_scope_is_a_scope": ("log.create", created(lambda header: {} if header.scope_id else {"exclusive": False})),
    "one_of_many_takes_a_scope": ("log.create", look_wait_write),
    "a_scope_is_free_again_after_the_end": ("log.append", stay_live),
    "a_conflict_writes_nothing": ("log.append", record_in_any_case),
    "an_unknown_run_is_a_conflict": ("log.append", swallow_conflicts),
    "one_of_many_appenders_wins": ("log.append", swallow_conflicts),
    "nothing_follows_the_end": ("log.append", rise_again),
    "a_cancelled_caller_leaves_all_or_nothing": ("log.append", record_later),
    "a_record_is_stored_with_its_run": ("log.create", created(lambda header: {"record": None})),
    "a_record_stays_in_the_partition_of_its_run": ("log.create", created(lambda header: {"record": None})),
    "a_taken_slot_makes_no_run": ("log.create", create_all_the_same),
    "a_taken_slot_adds_no_events": ("log.append", append_all_the_same),
    "the_slot_is_looked_at_first": ("log.append", sequence_first),
    "one_of_many_takes_a_slot": ("log.create", look_at_the_slot_wait_write),
    "a_record_can_stand_alone": ("records.save_record", remember_the_last),
    "an_expired_record_is_replaced": ("log.create", expire_nothing),
    "old_records_are_swept": ("records.sweep", asked(lambda port, created_before: (created_before + 1,))),
    "a_row_is_the_last_one_written": ("log.append", keep_the_first_row),
    "a_definition_never_changes": ("definitions.put", put_the_last),
    "a_key_is_replaced_by_its_id": ("keys.put", moved_to_the_end("_rows", "key_id")),
}
"""Check -> the port method that is replaced, and the replacement made from the port and its own method."""
