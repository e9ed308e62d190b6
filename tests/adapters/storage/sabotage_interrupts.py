"""Stores in memory that lose track of who waits: of open interrupts, parked runs and signing keys."""

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from tests.adapters.storage.sabotage_reads import changed, of_projection
from weftwork.ports.storage.run_queries import InterruptPage, InterruptQuery
from weftwork.protocol.run.batch import Batch
from weftwork.protocol.run.header import RunKey

Wrap = Callable[[Any, Any], Any]


def by_id(page: InterruptPage) -> InterruptPage:
    return replace(page, interrupts=tuple(sorted(page.interrupts, key=lambda each: each.interrupt_id)))


def never_close(port: Any, real: Any) -> Any:
    async def append(run: RunKey, expected: int, batch: Batch) -> Any:
        rows = tuple(row for row in batch.rows if row.kind != "interrupt" or row.listing is not None)
        return await real(run, expected, replace(batch, rows=rows))

    return append


def whenever_due(port: Any, real: Any) -> Any:
    async def list_interrupts(partition: str, query: InterruptQuery) -> Any:
        return await real(partition, replace(query, due_before=None))

    return list_interrupts


def count_instead_of_cursor(port: Any, real: Any) -> Any:
    given = 0

    async def list_interrupts(partition: str, query: InterruptQuery) -> Any:
        nonlocal given
        everything = (await real(partition, InterruptQuery(limit=1000))).interrupts
        page = everything[given : given + query.limit]
        given += len(page)
        return InterruptPage(page, str(given), given < len(everything))

    return list_interrupts


def start_over(port: Any, real: Any) -> Any:
    async def list_interrupts(partition: str, query: InterruptQuery) -> Any:
        page = await real(partition, query)
        return page if page.interrupts else await real(partition, replace(query, after=None))

    return list_interrupts


def list_everybodys(port: Any, real: Any) -> Any:
    async def list_interrupts(partition: str, query: InterruptQuery) -> Any:
        pages = [await real(name, query) for name in port._table.interrupts]
        return InterruptPage(tuple(each for page in pages for each in page.interrupts), None, False)

    return list_interrupts


def list_in_any_case(port: Any, real: Any) -> Any:
    async def append(run: RunKey, expected: int, batch: Batch) -> Any:
        found = port._table.runs.get(run)
        if found is not None:
            for row in batch.rows:
                found.rows[row.kind, row.name] = row
                port._table.interrupts[run.partition].set_open(found, row)
        return await real(run, expected, batch)

    return append


def outlive_the_run(port: Any, real: Any) -> Any:
    async def list_interrupts(partition: str, query: InterruptQuery) -> Any:
        known = port._table.interrupts[partition]
        return InterruptPage(tuple(known._open_interrupt(place)[1] for place in known._positions), None, False)

    return list_interrupts


def recover_all(port: Any, real: Any) -> Any:
    async def unfinished_runs(after: RunKey | None, limit: int) -> Any:
        return list(port._table.live)[:limit]

    return unfinished_runs


def parked_or_not(port: Any, real: Any) -> Any:
    async def next_wake(after: int = -1) -> Any:
        return min(
            (at for run in port._table.live.values() if (at := run.projection.wake_at) is not None), default=None
        )

    return next_wake


def before_it_is_due(port: Any, real: Any) -> Any:
    async def due_runs(until: int, limit: int) -> Any:
        return await real(until + 1, limit)

    return due_runs


def move_to_the_end(port: Any, real: Any) -> Any:
    async def put(key: Any) -> None:
        port._keys.pop(key.kid, None)
        await real(key)

    return put


def keep_it(port: Any, real: Any) -> Any:
    async def drop(kid: str) -> bool:
        return kid in port._keys

    return drop


INTERRUPTS: dict[str, tuple[str, Wrap]] = {
    "open_interrupts_are_listed_oldest_first": ("queries.list_interrupts", changed(by_id)),
    "an_interrupt_is_listed_while_it_is_open": ("log.append", never_close),
    "filters_of_interrupts_combine": ("queries.list_interrupts", whenever_due),
    "resolved_interrupts_do_not_disturb_a_walk": ("queries.list_interrupts", count_instead_of_cursor),
    "an_unknown_place_ends_the_list": ("queries.list_interrupts", start_over),
    "another_partition_sees_no_interrupts": ("queries.list_interrupts", list_everybodys),
    "a_refused_append_lists_nothing": ("log.append", list_in_any_case),
    "an_ended_run_has_no_open_interrupts": ("queries.list_interrupts", outlive_the_run),
    "that_a_run_is_parked_comes_back": ("log.read_run", of_projection(parked=False)),
    "parked_runs_are_not_recovered": ("queries.unfinished_runs", recover_all),
    "the_next_wake_is_the_earliest": ("queries.next_wake", parked_or_not),
    "due_runs_come_earliest_first": ("queries.due_runs", before_it_is_due),
    "signing_keys_are_listed_oldest_first": ("signing.all", changed(lambda keys: keys[::-1])),
    "a_signing_key_is_replaced_by_its_kid": ("signing.put", move_to_the_end),
    "a_dropped_signing_key_is_gone": ("signing.drop", keep_it),
}
"""Check -> the port method that is replaced, and the replacement made from the port and its own method."""
