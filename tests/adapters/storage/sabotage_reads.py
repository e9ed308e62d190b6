"""Stores in memory that show what is not stored, or do not show what is."""

import asyncio
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from weftwork.ports.storage.run_queries import RunPage, RunQuery
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.run.projection import Projection, StoredRun

Wrap = Callable[[Any, Any], Any]


def one_object_for_all(port: Any, real: Any) -> Any:
    seen: dict[RunKey, Any] = {}

    async def read_run(run: RunKey) -> Any:
        return seen.setdefault(run, await real(run))

    return read_run


def one_log_for_all(port: Any, real: Any) -> Any:
    async def read(run: RunKey, *rest: int) -> Any:
        return await real(next(iter(port._table.runs)), *rest)

    return read


def recall_for_ever(port: Any, real: Any) -> Any:
    async def find_record(partition: str, slot: str, not_before: int) -> Any:
        return await real(partition, slot, 0)

    return find_record


def recall_anybodys(port: Any, real: Any) -> Any:
    async def find_record(partition: str, slot: str, not_before: int) -> Any:
        return next((record for (_, known), record in port._records.items() if known == slot), None)

    return find_record


def start_at_the_cursor(port: Any, real: Any) -> Any:
    async def read(run: RunKey, after: int, *rest: int) -> Any:
        return await real(run, after - 1, *rest)

    return read


def read_one_more(port: Any, real: Any) -> Any:
    async def read(run: RunKey, after: int, limit: int, budget: int) -> Any:
        found = await real(run, after, limit, budget)
        return await real(run, after, min(limit, len(found) + 1))

    return read


def read_yesterday(port: Any, real: Any) -> Any:
    last: list[Any] = []

    async def read(run: RunKey, *rest: int) -> Any:
        before, last[:] = last[:], await real(run, *rest)
        return before

    return read


def look_twice(port: Any, real: Any) -> Any:
    async def read_run(run: RunKey) -> Any:
        first = await real(run)
        for _ in range(3):
            await asyncio.sleep(0)
        return replace(first, rows=(await real(run)).rows)

    return read_run


def list_yesterday(port: Any, real: Any) -> Any:
    pages: dict[RunQuery, RunPage] = {}

    async def list_runs(partition: str, query: RunQuery) -> Any:
        return pages.setdefault(query, await real(partition, query))

    return list_runs


def any_tag(port: Any, real: Any) -> Any:
    async def list_runs(partition: str, query: RunQuery) -> Any:
        return await real(partition, replace(query, tags=query.tags[:1]))

    return list_runs


def count_instead_of_cursor(port: Any, real: Any) -> Any:
    given: list[StoredRun] = []

    async def list_runs(partition: str, query: RunQuery) -> Any:
        everything = (await real(partition, RunQuery(limit=1000))).runs
        runs = everything[len(given) : len(given) + query.limit]
        given.extend(runs)
        return RunPage(runs, runs[-1].header.run_id, len(given) < len(everything))

    return list_runs


def start_over(port: Any, real: Any) -> Any:
    async def list_runs(partition: str, query: RunQuery) -> Any:
        known = RunKey(partition, query.before or "") in port._table.runs
        return await real(partition, query if known else replace(query, before=None))

    return list_runs


def need_a_live_cursor(port: Any, real: Any) -> Any:
    async def unfinished_runs(after: RunKey | None, limit: int) -> Any:
        return await real(after, limit) if after is None or after in port._table.live else []

    return unfinished_runs


def find_by_id_only(port: Any, real: Any) -> Any:
    async def read_run(run: RunKey) -> Any:
        key = next((key for key in port._table.runs if key.run_id == run.run_id), run)
        return await real(key)

    return read_run


def list_everybodys(port: Any, real: Any) -> Any:
    async def list_runs(partition: str, query: RunQuery) -> Any:
        pages = [await real(name, query) for name in port._table.by_partition]
        return RunPage(tuple(run for page in pages for run in page.runs), None, False)

    return list_runs


def changed(change: Callable[[Any], Any]) -> Wrap:
    """Only what the method returns is changed."""

    def wrap(port: Any, real: Any) -> Any:
        async def method(*arguments: Any) -> Any:
            return change(await real(*arguments))

        return method

    return wrap


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


def by_id(runs: list[RunKey]) -> list[RunKey]:
    return sorted(runs, key=lambda run: run.run_id)


READS: dict[str, tuple[str, Wrap]] = {
    "a_new_run_is_pending_and_empty": ("log.read_run", of_projection(last_sequence=0)),
    "a_header_comes_back_whole": ("log.read_run", of_stored(sort_the_tags)),
    "a_projection_comes_back_as_it_was": ("log.read_run", of_projection(error=None)),
    "sequences_have_no_gaps": ("log.read", changed(lambda events: events[:2] + events[3:])),
    "events_come_back_as_they_were": ("log.read", changed(without_spaces)),
    "an_event_keeps_its_content_trust": ("log.read", changed(in_good_faith)),
    "hidden_values_come_back": ("log.hidden_values", changed(lambda values: values[::-1])),
    "runs_are_listed_newest_first": ("queries.list_runs", changed(by_time)),
    "a_page_has_a_cursor_while_runs_are_left": ("queries.list_runs", changed(lambda page: replace(page, more=False))),
    "unfinished_runs_are_found": ("queries.unfinished_runs", changed(by_id)),
    "a_definition_is_kept": ("definitions.get", changed(lambda document: document or b"")),
    "the_salt_is_made_once": ("keys.salt", changed(lambda salt: salt[:31])),
    "keys_are_listed_oldest_first": ("keys.all", changed(lambda rows: rows[::-1])),
    "a_header_is_not_shared_with_the_caller": ("log.read_run", one_object_for_all),
    "runs_do_not_disturb_each_other": ("log.read", one_log_for_all),
    "an_old_record_is_not_recalled": ("records.find_record", recall_for_ever),
    "equal_slots_are_different_records": ("records.find_record", recall_anybodys),
    "a_page_of_events_starts_after_its_cursor": ("log.read", start_at_the_cursor),
    "a_page_of_events_ends_where_its_budget_is_reached": ("log.read", read_one_more),
    "a_projection_is_that_of_the_stored_run": (
        "log.projection",
        changed(lambda found: found and Projection("running")),
    ),
    "an_acknowledged_write_is_seen": ("log.read", read_yesterday),
    "a_stored_run_is_one_view": ("log.read_run", look_twice),
    "a_listing_follows_the_status": ("queries.list_runs", list_yesterday),
    "filters_combine": ("queries.list_runs", any_tag),
    "new_runs_do_not_disturb_a_walk": ("queries.list_runs", count_instead_of_cursor),
    "an_unknown_cursor_ends_the_listing": ("queries.list_runs", start_over),
    "unfinished_runs_come_in_pages": ("queries.unfinished_runs", need_a_live_cursor),
    "another_partition_sees_nothing": ("log.read_run", find_by_id_only),
    "equal_ids_are_different_runs": ("queries.list_runs", list_everybodys),
}
"""Check -> the port method that is replaced, and the replacement made from the port and its own method."""
