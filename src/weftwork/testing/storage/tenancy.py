"""Checks of isolation: a run or record of another partition is not there."""

from typing import Final

from weftwork.ports.eventlog import Created, Hidden, RunQuery, SequenceConflict, StateRow
from weftwork.protocol.run import RunKey
from weftwork.testing.storage.sample import ACME, OTHER, batch, header, record, state_of
from weftwork.testing.storage.store import Check, Store, raised


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
        assert isinstance(await raised(store.log.append(stranger, 0, batch(stranger, 0))), SequenceConflict)
        assert await store.log.recall(partition, "slot-1", 0) is None
    assert await state_of(store, run) == before


async def equal_ids_are_different_runs(store: Store) -> None:
    """Two partitions may use the same run id; each has its own run, events, rows and hidden values."""
    run = await _full_run(store)
    before = await state_of(store, run)
    theirs = header(partition=OTHER, tags=("t",), inputs={"of": "other"})
    assert await store.log.create(theirs) == Created()
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
    await store.log.remember(record())
    theirs = record(partition=OTHER, outcome=b"theirs")
    assert await store.log.create(header(partition=OTHER), (), theirs) == Created()
    assert await store.log.recall(ACME, "slot-1", 0) == record()
    assert await store.log.recall(OTHER, "slot-1", 0) == theirs


async def a_record_stays_in_the_partition_of_its_run(store: Store) -> None:
    """`create` refuses another partition's record with an exception, and writes nothing."""
    assert await raised(store.log.create(header(), (), record(partition=OTHER))) is not None
    assert await store.log.stored(header().key) is None
    assert await store.log.recall(OTHER, "slot-1", 0) is None


async def _full_run(store: Store) -> RunKey:
    given = header(tags=("t",), inputs={"of": "acme"})
    await store.log.create(given, (Hidden(-1, "/of", b'"acme"'),), record())
    rows = (StateRow("variable", "v", b'"acme"'),)
    await store.log.append(given.key, -1, batch(given.key, -1, rows=rows, hidden=(Hidden(0, "/a", b"1"),)))
    return given.key


CHECKS: Final[tuple[Check, ...]] = (
    another_partition_sees_nothing,
    equal_ids_are_different_runs,
    equal_slots_are_different_records,
    a_record_stays_in_the_partition_of_its_run,
)
