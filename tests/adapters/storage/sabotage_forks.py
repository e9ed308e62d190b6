"""Stores in memory that copy too much or too little into a fork, or do not find forks."""

import asyncio
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from tests.adapters.storage.sabotage_records import forget_the_place
from tests.adapters.storage.sabotage_runs import asked
from weftwork.adapters.memory.run_table import MemoryRun
from weftwork.ports.storage.forks import SourceMissing
from weftwork.protocol.errors import HostFault
from weftwork.protocol.run.batch import Batch
from weftwork.protocol.run.header import RunHeader, RunKey

Wrap = Callable[..., Any]


def copied(change: Callable[[MemoryRun, MemoryRun], None]) -> Wrap:
    """The fork, and the run of the source, are changed after the copy."""

    async def create(port: Any, real: Any, header: RunHeader, first: Batch, record: Any = None) -> Any:
        answer = await real(header, first, record)
        source = port._table.runs.get(RunKey(header.partition, header.fork.run_id if header.fork else ""))
        if source is not None:
            change(port._table.runs[header.key], source)
        return answer

    return create


def stamp_again(fork: MemoryRun, source: MemoryRun) -> None:
    fork.events = [replace(event, timestamp=fork.number) for event in fork.events]


def rename_everywhere(fork: MemoryRun, source: MemoryRun) -> None:
    old, new = (b'"runId":"%b"' % run.key.run_id.encode() for run in (source, fork))
    fork.events = [replace(event, payload=event.payload.replace(old, new)) for event in fork.events]


def hide_all(fork: MemoryRun, source: MemoryRun) -> None:
    fork.hidden = [*source.hidden]


def copy_the_rows(fork: MemoryRun, source: MemoryRun) -> None:
    fork.rows = {**source.rows, **fork.rows}


def share_the_log(fork: MemoryRun, source: MemoryRun) -> None:
    source.events = fork.events


def hide_nothing(fork: MemoryRun, source: MemoryRun) -> None:
    fork.hidden = []


def copy_a_piece(fork: MemoryRun, source: MemoryRun) -> None:
    del fork.events[1000:]


async def look_at_no_scope(
    port: Any, real: Any, header: RunHeader, first: Batch, record: Any = None, exclusive: bool = False
) -> Any:
    return await real(header, first, record)


async def want_events(port: Any, real: Any, header: RunHeader, first: Batch, record: Any = None) -> Any:
    if not first.events:
        raise HostFault("no events")
    return await real(header, first, record)


async def record_in_any_case(port: Any, real: Any, header: RunHeader, first: Batch, record: Any = None) -> Any:
    try:
        return await real(header, first, record)
    except SourceMissing:
        port._records.put(record)
        raise


async def roll_back_all(port: Any, real: Any, header: RunHeader, first: Batch, record: Any = None) -> Any:
    try:
        return await real(header, first, record)
    except (HostFault, SourceMissing):
        for run in port._table.runs.values():
            run.events.clear()
        raise


async def look_at_the_slot_wait_write(port: Any, real: Any, header: RunHeader, first: Batch, record: Any) -> Any:
    known = port._records.find_taken(record)
    await asyncio.sleep(0)
    return known or await real(header, first)


async def replace_run(port: Any, real: Any, header: RunHeader, first: Batch, record: Any = None) -> Any:
    run = port._table.runs.get(header.key)
    if run is not None and header.fork is not None and header.fork.run_id != header.run_id:
        port._table.remove(run, 0)
    return await real(header, first, record)


async def list_by_id(port: Any, real: Any, run: RunKey, after: RunKey | None, limit: int) -> Any:
    found = sorted(await real(run, None, 1000), key=lambda each: each.header.run_id)
    return [each for each in found if after is None or each.header.run_id > after.run_id][:limit]


async def list_anybodys(port: Any, real: Any, run: RunKey, after: RunKey | None, limit: int) -> Any:
    return [each for key in [*port._table.runs] if key.run_id == run.run_id for each in await real(key, after, limit)]


async def need_the_source(port: Any, real: Any, run: RunKey, after: RunKey | None, limit: int) -> Any:
    return await real(run, after, limit) if run in port._table.runs else []


FORKS: dict[str, tuple[str, Wrap]] = {
    "a_fork_takes_a_free_scope": ("forks.create", look_at_no_scope),
    "a_fork_has_the_events_of_its_prefix": ("forks.create", copied(stamp_again)),
    "a_chunk_of_a_fork_names_the_fork": ("forks.create", copied(rename_everywhere)),
    "a_fork_has_the_hidden_values_of_its_prefix": ("forks.create", copied(hide_all)),
    "a_fork_has_its_own_rows": ("forks.create", copied(copy_the_rows)),
    "a_fork_may_begin_without_events_of_its_own": ("forks.create", want_events),
    "a_fork_goes_on_like_any_run": ("forks.create", copied(share_the_log)),
    "a_fork_counts_with_its_copy": ("forks.create", copied(hide_nothing)),
    "an_asset_lives_as_long_as_the_fork": ("assets.copy_references", lambda port, real: lambda source, run: None),
    "a_fork_needs_its_source": ("forks.create", record_in_any_case),
    "a_refused_fork_disturbs_no_other_write": ("forks.create", roll_back_all),
    "a_fork_is_stored_with_its_record": ("forks.create", asked(lambda port, header, first, *_: (header, first))),
    "one_of_many_forks_takes_a_slot": ("forks.create", look_at_the_slot_wait_write),
    "a_fork_needs_a_new_run_id": ("forks.create", replace_run),
    "an_inconsistent_fork_is_refused": (
        "forks.create",
        asked(lambda port, header, *rest: (replace(header, parent=None), *rest)),
    ),
    "a_fork_without_a_prefix_may_be_a_new_run": (
        "log.create",
        asked(lambda port, header, *rest: (replace(header, fork=None), *rest)),
    ),
    "forks_are_given_in_the_order_of_creation": ("forks.forks_of", list_by_id),
    "another_partition_has_other_forks": ("forks.forks_of", list_anybodys),
    "a_fork_outlives_its_source": ("forks.forks_of", need_the_source),
    "a_deleted_fork_leaves_its_source": ("retention.delete", forget_the_place),
    "a_long_run_is_copied_whole": ("forks.create", copied(copy_a_piece)),
    "a_fork_of_a_growing_run_is_one_view": ("forks.create", copied(hide_all)),
}
"""Check -> the port method that is replaced, and the replacement made from the port and its own method."""
