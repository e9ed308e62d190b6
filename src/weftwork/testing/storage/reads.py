"""Checks of `read`, `stored` and `hidden`.

Checks of `list_runs`.

Checks of isolation: a run or record of another partition is not there.
"""

import asyncio
from collections.abc import Iterator
from itertools import product
from typing import Final

import msgspec
from msgspec.structs import replace

from weftwork.ports.storage.event_log import RunCreated, RunQuery, SequenceConflict
from weftwork.protocol.run.batch import Batch, HiddenValue
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.header import STATUSES, RunHeader, RunKey, Status
from weftwork.protocol.run.projection import Projection, StateRow, StoredRun
from weftwork.testing.storage.harness import (
    ACME,
    NOW,
    OTHER,
    Check,
    Store,
    batch,
    catch,
    event,
    header,
    make_run,
    record,
    state_of,
)


async def a_page_of_events_starts_after_its_cursor(store: Store) -> None:
    """`read` gives the events after the cursor, ascending, at most `limit`, for any cursor and limit."""
    runs = [await make_run(store, f"run-{number}") for number in range(3)]
    for run in runs:
        await store.log.append(run, -1, batch(run, -1, 12))
    for run in runs:
        for after in (-(2**70), -(2**31), -2, -1, 0, 5, 10, 11, 12, 2**31, 2**70):
            for limit in (0, 1, 5, 12, 100):
                found = await store.log.read(run, after, limit)
                wanted = [at for at in range(12) if at > after][:limit]
                assert [(item.run_id, item.sequence) for item in found] == [(run.run_id, at) for at in wanted]


async def a_page_of_events_ends_where_its_budget_is_reached(store: Store) -> None:
    """`read` with a budget gives nothing behind the event with which the weights reach it, and always one event;
    the next page goes on there."""
    run = await make_run(store)
    sizes = [2, 900_000, 2, 2, 5_000, 70_000, 2, 2, 2, 20_000, 2]
    small = batch(run, -1, len(sizes))
    events = tuple(event(run, at, payload=b"%*d" % (size, at)) for at, size in enumerate(sizes))
    await store.log.append(run, -1, replace(small, events=events))
    weights = [item.size for item in events]
    for budget in (-1, 0, 1, weights[0], weights[0] + 1, 6_000, 100_000, 2**40):
        for limit in (1, 3, 100):
            seen: list[int] = []
            while len(seen) < len(sizes):
                found = [item.sequence for item in await store.log.read(run, len(seen) - 1, limit, budget)]
                first = len(seen)
                seen += found
                assert 0 < len(found) <= limit
                assert len(found) == 1 or sum(weights[first : found[-1]]) < budget
                whole = len(found) == limit or seen[-1] == len(sizes) - 1
                assert whole or sum(weights[first : found[-1] + 1]) >= budget
            assert seen == list(range(len(sizes)))
    assert await store.log.read(run, -1, 0, 10) == []
    assert await store.log.read(run, len(sizes) - 1, 10, 10) == []


async def an_event_keeps_its_content_trust(store: Store) -> None:
    """`read` tells of each event whether what it carries came from outside, that it did not, or that nobody said."""
    run = await make_run(store)
    said = (None, "untrusted", "trusted", None, *(["untrusted"] * 20), None)
    first = batch(run, -1, len(said))
    events = tuple(replace(item, content_trust=trust) for item, trust in zip(first.events, said, strict=True))
    await store.log.append(run, -1, replace(first, events=events))
    assert [item.content_trust for item in await store.log.read(run, -1, 100)] == [*said]
    assert [item.content_trust for item in await store.log.read(run, 0, 2, 10_000)] == ["untrusted", "trusted"]
    await store.log.create(
        header("run-b"), first=replace(first, events=tuple(_for_run("run-b", item) for item in events))
    )
    assert [item.content_trust for item in await store.log.read(RunKey(run.partition, "run-b"), -1, 100)] == [*said]


def _for_run(run_id: str, item: Event) -> Event:
    return replace(item, run_id=run_id)


async def a_row_is_the_last_one_written(store: Store) -> None:
    """`stored` has each row once, as written last; kinds with the same names do not mix; rows of other runs
    stay out."""
    run = await make_run(store)
    other = await make_run(store, "run-b")
    first = (StateRow("variable", "a", b"1"), StateRow("node", "a", b"2"), StateRow("channel", "a", b"[3]"))
    second = (StateRow("variable", "a", b'"new"'), StateRow("variable", "b", b"4" * 5000))
    await store.log.append(run, -1, batch(run, -1, rows=first))
    await store.log.append(other, -1, batch(other, -1, rows=(StateRow("variable", "c", b"5"),)))
    await store.log.append(run, 0, batch(run, 0, rows=second))
    found = await store.log.read_run(run)
    assert found is not None
    assert len(found.rows) == 4
    assert set(found.rows) == {second[0], second[1], first[1], first[2]}


async def a_projection_is_that_of_the_stored_run(store: Store) -> None:
    """`projection` gives what `stored` gives without the outputs, and nothing for a run that is not there."""
    run = await make_run(store)
    await make_run(store, partition=OTHER, status="running")
    assert await store.log.projection(run) == Projection("pending")
    for given in (
        Projection("running", 0, NOW, None, "node-1", b"{}", 3),
        Projection("failed", 1, NOW, NOW + 1, "node-2", b'{"code":"node_failed"}', 17, b'{"a":{}}'),
    ):
        await store.log.append(run, given.last_sequence - 1, Batch((event(run, given.last_sequence),), given))
        assert await store.log.projection(run) == replace(given, outputs=None)
    assert await store.log.projection(RunKey("test:acme", run.run_id)) is None
    assert await store.log.projection(RunKey(run.partition, "run-x")) is None


async def hidden_values_come_back(store: Store) -> None:
    """`hidden` gives the values of the header and of every event, in order of their sequence, of that run
    only; nothing else shows them."""
    of_header = (HiddenValue(-1, "/token", b'"s3cret"'), HiddenValue(-1, "/deep/0", b'{"s3cret":1}'))
    assert await store.log.create(header(), of_header) == RunCreated()
    run = header().key
    other = await make_run(store, "run-b")
    await store.log.append(other, -1, batch(other, -1, hidden=(HiddenValue(0, "/x", b"0"),)))
    later: list[HiddenValue] = []
    for sequence in range(3):
        values = (HiddenValue(sequence, "/a", b'"s3cret"'), HiddenValue(sequence, "", b"\x00"))
        later += values
        await store.log.append(run, sequence - 1, batch(run, sequence - 1, hidden=values))
    assert await store.log.hidden_values(run) == [*of_header, *later]
    shown = repr((await store.log.read_run(run), await store.log.read(run, -1, 10)))
    assert "s3cret" not in shown


async def an_acknowledged_write_is_seen(store: Store) -> None:
    """A read that starts after a write returned sees it, on whichever connection it runs."""
    run = await make_run(store)
    for expected in range(-1, 40):
        await store.log.append(run, expected, batch(run, expected))
        found = await store.log.read_run(run)
        assert found is not None
        assert found.projection.last_sequence == expected + 1
        pages = await asyncio.gather(*(store.log.read(run, expected, 10) for _ in range(4)))
        assert [[item.sequence for item in page] for page in pages] == [[expected + 1]] * 4


async def a_stored_run_is_one_view(store: Store) -> None:
    """The projection and the rows that `stored` gives belong to the same append, even while others commit."""
    run = await make_run(store)

    async def fill() -> None:
        for expected in range(-1, 80):
            row = StateRow("variable", "last", b"%d" % (expected + 1))
            await store.log.append(run, expected, batch(run, expected, rows=(row,)))
            await asyncio.sleep(0)

    filling = asyncio.ensure_future(fill())
    while not filling.done():
        for found in await asyncio.gather(*(store.log.read_run(run) for _ in range(4))):
            assert found is not None
            wanted = [b"%d" % found.projection.last_sequence] if found.projection.last_sequence >= 0 else []
            assert [row.value for row in found.rows] == wanted
    await filling


READ_CHECKS: Final[tuple[Check, ...]] = (
    a_page_of_events_starts_after_its_cursor,
    a_page_of_events_ends_where_its_budget_is_reached,
    an_event_keeps_its_content_trust,
    a_row_is_the_last_one_written,
    a_projection_is_that_of_the_stored_run,
    hidden_values_come_back,
    an_acknowledged_write_is_seen,
    a_stored_run_is_one_view,
)


_WORKFLOWS = ("greet", "order", "report")


async def runs_are_listed_newest_first(store: Store) -> None:
    """The run created last comes first, whatever its id and time say; rows are left out."""
    for run_id, created_at in (("run-b", 3), ("run-c", 1), ("run-a", 2)):
        run = await make_run(store, run_id, created_at=created_at, inputs={"of": run_id})
        await store.log.append(run, -1, batch(run, -1, rows=(StateRow("variable", "v", b"1"),)))
    page = await store.log.list_runs(ACME, RunQuery())
    projection = batch(header().key, -1).projection
    assert page.runs == tuple(
        StoredRun(header(run_id, created_at=created_at, inputs={"of": run_id}), projection)
        for run_id, created_at in (("run-a", 2), ("run-c", 1), ("run-b", 3))
    )


async def a_listing_follows_the_status(store: Store) -> None:
    """A run moves from one status filter to the other with the append that changes it."""
    run = await make_run(store)
    for expected, status in enumerate[Status](("running", "waiting-input", "running", "cancelling", "cancelled"), -1):
        await store.log.append(run, expected, batch(run, expected, status=status))
        for asked in STATUSES:
            page = await store.log.list_runs(ACME, RunQuery(statuses=(asked,)))
            assert len(page.runs) == (asked == status)


async def filters_combine(store: Store) -> None:
    """A page holds the runs that have one of the statuses, the workflow and all of the tags; walking the
    cursor gives each of them once, in order, whatever the limit."""
    everything = await _fill(store)
    statuses = ((), ("running",), ("completed", "pending"), ("failed", "failed", "cancelled"), STATUSES)
    tags = ((), ("all",), ("even",), ("even", "third"), ("third", "third"), ("nobody",))
    for some, workflow, tagged in product(statuses, (None, "order", "unknown"), tags):
        query = RunQuery(some, workflow, tagged)
        wanted = [run for run in everything if _matches(run, query)]
        for limit in (1, 4, 100):
            assert await _walk(store, msgspec.structs.replace(query, limit=limit)) == wanted


async def a_page_has_a_cursor_while_runs_are_left(store: Store) -> None:
    """A page never holds more than `limit` runs, and says `more` with a cursor unless it is the last."""
    for number in range(6):
        await make_run(store, f"run-{number}", tags=("t",))
    for tags in ((), ("t",)):
        page = await store.log.list_runs(ACME, RunQuery(tags=tags, limit=4))
        assert len(page.runs) <= 4
        assert page.more
        assert page.last is not None
        rest = await store.log.list_runs(ACME, RunQuery(tags=tags, before="run-1"))
        assert [found.header.run_id for found in rest.runs] == ["run-0"]
        assert not rest.more


async def new_runs_do_not_disturb_a_walk(store: Store) -> None:
    """Runs that are created, or change, while a listing is walked neither repeat nor hide the others."""
    for number in range(10):
        await make_run(store, f"run-{number}")
    seen: list[str] = []
    query = RunQuery(limit=3)
    while True:
        page = await store.log.list_runs(ACME, query)
        seen += [found.header.run_id for found in page.runs]
        if not page.more:
            break
        query = msgspec.structs.replace(query, before=page.last)
        await make_run(store, f"late-{len(seen)}")
        changed = page.runs[0].header.key
        await store.log.append(changed, -1, batch(changed, -1, status="completed"))
    assert seen == [f"run-{number}" for number in reversed(range(10))]


async def an_unknown_cursor_ends_the_listing(store: Store) -> None:
    """After a run id that the partition does not have there is nothing."""
    await make_run(store)
    await make_run(store, "theirs", OTHER)
    await make_run(store, "run-b")
    for before in ("nobody", "theirs", ""):
        page = await store.log.list_runs(ACME, RunQuery(before=before))
        assert (page.runs, page.more) == ((), False)


def _variety() -> Iterator[tuple[RunHeader, Status]]:
    """Runs of every status and workflow and several tags, oldest first."""
    for number in range(60):
        marks = [("all", True), ("even", number % 2 == 0), ("third", number % 3 == 0)]
        tags = tuple(tag for tag, has in marks if has)
        workflow_id = _WORKFLOWS[number % 7 % 3]
        yield header(f"run-{number:02}", workflow_id=workflow_id, tags=tags), STATUSES[number % len(STATUSES)]


async def _fill(store: Store) -> list[StoredRun]:
    """Store the variety, with another tenant's runs between; returns it as stored, newest first."""
    made: list[StoredRun] = []
    for given, status in _variety():
        run = await make_run(store, given.run_id, status=status, workflow_id=given.workflow_id, tags=given.tags)
        await make_run(store, f"theirs-{given.run_id}", OTHER, tags=("all",))
        projection = Projection("pending") if status == "pending" else batch(run, -1, status=status).projection
        made.append(StoredRun(given, projection))
    return made[::-1]


def _matches(run: StoredRun, query: RunQuery) -> bool:
    return (
        (not query.statuses or run.projection.status in query.statuses)
        and query.workflow_id in (None, run.header.workflow_id)
        and set(query.tags) <= set(run.header.tags)
    )


async def _walk(store: Store, query: RunQuery) -> list[StoredRun]:
    found: list[StoredRun] = []
    while True:
        page = await store.log.list_runs(ACME, query)
        assert len(page.runs) <= query.limit
        found += page.runs
        if not page.more:
            return found
        assert page.last is not None
        assert page.last != query.before
        query = msgspec.structs.replace(query, before=page.last)


LISTING_CHECKS: Final[tuple[Check, ...]] = (
    runs_are_listed_newest_first,
    a_listing_follows_the_status,
    filters_combine,
    a_page_has_a_cursor_while_runs_are_left,
    new_runs_do_not_disturb_a_walk,
    an_unknown_cursor_ends_the_listing,
)


async def another_partition_sees_nothing(store: Store) -> None:
    """With another partition, or the other mode of the same tenant, a run cannot be read, listed or changed."""
    run = await _full_run(store)
    before = await state_of(store, run)
    for partition in (OTHER, "test:acme", "live:acm", "LIVE:ACME", ""):
        stranger = RunKey(partition, run.run_id)
        assert await state_of(store, stranger) == (None, [], [])
        for query in (RunQuery(), RunQuery(statuses=("running",), workflow_id="greet"), RunQuery(tags=("t",))):
            page = await store.log.list_runs(partition, query)
            assert (page.runs, page.more) == ((), False)
        assert isinstance(await catch(store.log.append(stranger, 0, batch(stranger, 0))), SequenceConflict)
        assert await store.log.find_record(partition, "slot-1", 0) is None
    assert await state_of(store, run) == before


async def equal_ids_are_different_runs(store: Store) -> None:
    """Two partitions may use the same run id; each has its own run, events, rows and hidden values."""
    run = await _full_run(store)
    before = await state_of(store, run)
    theirs = header(partition=OTHER, tags=("t",), inputs={"of": "other"})
    assert await store.log.create(theirs) == RunCreated()
    assert await store.log.append(theirs.key, -1, batch(theirs.key, -1, 4, "completed")) is None
    assert await state_of(store, run) == before
    stored, events, hidden = await state_of(store, theirs.key)
    assert (stored.header, stored.rows, len(events), hidden) == (theirs, (), 4, [])
    for partition in (ACME, OTHER):
        for query in (RunQuery(), RunQuery(tags=("t",)), RunQuery(workflow_id="greet")):
            page = await store.log.list_runs(partition, query)
            assert [found.header.partition for found in page.runs] == [partition]


async def equal_slots_are_different_records(store: Store) -> None:
    """A slot that is taken in one partition is free in every other, and stays what it is."""
    await store.log.save_record(record())
    theirs = record(partition=OTHER, outcome=b"theirs")
    assert await store.log.create(header(partition=OTHER), (), theirs) == RunCreated()
    assert await store.log.find_record(ACME, "slot-1", 0) == record()
    assert await store.log.find_record(OTHER, "slot-1", 0) == theirs


async def a_record_stays_in_the_partition_of_its_run(store: Store) -> None:
    """`create` refuses another partition's record with an exception, and writes nothing."""
    assert await catch(store.log.create(header(), (), record(partition=OTHER))) is not None
    assert await store.log.read_run(header().key) is None
    assert await store.log.find_record(OTHER, "slot-1", 0) is None


async def _full_run(store: Store) -> RunKey:
    given = header(tags=("t",), inputs={"of": "acme"})
    await store.log.create(given, (HiddenValue(-1, "/of", b'"acme"'),), record())
    rows = (StateRow("variable", "v", b'"acme"'),)
    await store.log.append(given.key, -1, batch(given.key, -1, rows=rows, hidden=(HiddenValue(0, "/a", b"1"),)))
    return given.key


TENANCY_CHECKS: Final[tuple[Check, ...]] = (
    another_partition_sees_nothing,
    equal_ids_are_different_runs,
    equal_slots_are_different_records,
    a_record_stays_in_the_partition_of_its_run,
)
