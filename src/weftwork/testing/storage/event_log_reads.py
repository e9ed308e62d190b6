"""Checks of the reading methods of `EventLog`, and of tenancy: runs and records of other partitions are invisible."""

import asyncio

import msgspec
from msgspec.structs import replace

from weftwork.ports.storage.event_log import RunCreated, SequenceConflict
from weftwork.ports.storage.run_queries import RunQuery
from weftwork.protocol.run.batch import Batch, HiddenValue
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.run.projection import Projection, StateRow
from weftwork.testing.storage.harness import Store, catch, state_of, stored_run
from weftwork.testing.storage.samples import ACME, NOW, OTHER, batch, event, header, make_run, record


async def a_page_of_events_starts_after_its_cursor(store: Store) -> None:
    """`read` returns at most `limit` events after the cursor, in ascending order, for any cursor and limit."""
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
    """With a budget, a page ends with the event whose size reaches the budget, and has at least one event. The next
    page continues behind it."""
    run = await make_run(store)
    sizes = [2, 900_000, 2, 2, 5_000, 70_000, 2, 2, 2, 20_000, 2]
    small = batch(run, -1, len(sizes))
    events = tuple(event(run, at, payload=b"%*d" % (size, at)) for at, size in enumerate(sizes))
    await store.log.append(run, -1, replace(small, events=events))
    event_sizes = [item.size for item in events]
    for budget in (-1, 0, 1, event_sizes[0], event_sizes[0] + 1, 6_000, 100_000, 2**40):
        for limit in (1, 3, 100):
            seen: list[int] = []
            while len(seen) < len(sizes):
                found = [item.sequence for item in await store.log.read(run, len(seen) - 1, limit, budget)]
                first = len(seen)
                seen += found
                assert 0 < len(found) <= limit
                assert len(found) == 1 or sum(event_sizes[first : found[-1]]) < budget
                is_full = len(found) == limit or seen[-1] == len(sizes) - 1
                assert is_full or sum(event_sizes[first : found[-1] + 1]) >= budget
            assert seen == list(range(len(sizes)))
    assert await store.log.read(run, -1, 0, 10) == []
    assert await store.log.read(run, len(sizes) - 1, 10, 10) == []


async def an_outline_has_the_size_of_a_run(store: Store) -> None:
    """`outline` returns the header, the projection without outputs, and the sizes of the events with their hidden
    values and of the rows. `partition_bytes` adds up the runs of one partition with their headers, without deleted
    ones."""
    small, large = await make_run(store), await make_run(store, "run-b")
    theirs = await make_run(store, "run-c", partition=OTHER)
    assert await store.log.outline(RunKey(small.partition, "no-run")) is None
    payloads = [b'"%s"' % (b"x" * size) for size in (0, 10, 70_000)]
    events = tuple(event(large, at, payload=payload) for at, payload in enumerate(payloads))
    rows = (StateRow("variable", "v", b"1" * 5000),)
    hidden = (HiddenValue(1, "/next", b"12345"), HiddenValue(-1, "/inputs", b"1"))
    await store.log.append(large, -1, replace(batch(large, -1, 3, rows=rows), events=events, hidden=hidden))
    await store.log.append(theirs, -1, batch(theirs, -1, 1))
    sizes: list[int] = []
    for run, row_bytes in ((small, 0), (large, 5000)):
        found = await store.log.outline(run)
        assert found is not None
        assert found.header.run_id == run.run_id
        assert found.projection == await store.log.projection(run)
        log_bytes = sum([item.size for item in await store.log.read(run, -1, 10)])
        log_bytes += sum([len(each.value) for each in await store.log.hidden_values(run)])
        assert (found.log_bytes, found.row_bytes) == (log_bytes, row_bytes)
        sizes.append(log_bytes + len(msgspec.json.encode(found.header)))
    assert sizes[1] > 70_000
    assert await store.log.partition_bytes(small.partition) == sum(sizes)
    assert await store.log.partition_bytes("live:nobody") == 0


async def a_small_run_is_read_at_once(store: Store) -> None:
    """`read_whole` returns what the other methods return one by one, up to a size; None for a larger run, one that has
    ended, and one that does not exist."""
    run, other = await make_run(store), await make_run(store, "run-b")
    theirs = await make_run(store, partition=OTHER)
    rows = (StateRow("variable", "v", b"1" * 500), StateRow("node", "a", b"{}"))
    hidden = (HiddenValue(1, "/b", b"2"), HiddenValue(-1, "/inputs", b"1"), HiddenValue(1, "/a", b"3"))
    for key, more in ((run, hidden), (other, ()), (theirs, ())):
        await store.log.append(key, -1, replace(batch(key, -1, 3, rows=rows), hidden=more))
    for key in (run, other, theirs):
        outline = await store.log.outline(key)
        assert outline is not None
        size = outline.log_bytes + outline.row_bytes
        found = await store.log.read_whole(key, size)
        assert found is not None
        assert (found.outline, found.stored) == (outline, await store.log.read_run(key))
        assert found.hidden == await store.log.hidden_values(key)
        assert found.events == await store.log.read(key, -1, 10)
        assert await store.log.read_whole(key, size - 1) is None
        assert await store.log.read_whole(key, 0) is None
    pending = await make_run(store, "run-c")
    found = await store.log.read_whole(pending, 0)
    assert found is not None
    assert (found.stored.projection, found.events) == (Projection("pending"), [])
    assert await store.log.read_whole(RunKey(run.partition, "no-run"), 2**40) is None
    assert await store.log.read_whole(RunKey("test:acme", run.run_id), 2**40) is None
    ended = Projection("completed", 3, NOW, NOW + 1, outputs=b"{}")
    await store.log.append(run, 2, Batch((event(run, 3),), ended))
    assert await store.log.read_whole(run, 2**40) is None


async def an_event_keeps_its_content_trust(store: Store) -> None:
    """`read` returns the content trust of each event: untrusted, trusted, or None."""
    run = await make_run(store)
    trusts = (None, "untrusted", "trusted", None, *(["untrusted"] * 20), None)
    first = batch(run, -1, len(trusts))
    events = tuple(replace(item, content_trust=trust) for item, trust in zip(first.events, trusts, strict=True))
    await store.log.append(run, -1, replace(first, events=events))
    assert [item.content_trust for item in await store.log.read(run, -1, 100)] == [*trusts]
    assert [item.content_trust for item in await store.log.read(run, 0, 2, 10_000)] == ["untrusted", "trusted"]
    theirs = tuple(replace(item, run_id="run-b") for item in events)
    await store.log.create(header("run-b"), first=replace(first, events=theirs))
    assert [item.content_trust for item in await store.log.read(RunKey(run.partition, "run-b"), -1, 100)] == [*trusts]


async def a_row_is_the_last_one_written(store: Store) -> None:
    """`read_run` returns each row once, with its last value. Rows of different kinds with equal names, and rows of
    different runs, are separate."""
    run = await make_run(store)
    other = await make_run(store, "run-b")
    first = (StateRow("variable", "a", b"1"), StateRow("node", "a", b"2"), StateRow("channel", "a", b"[3]"))
    second = (StateRow("variable", "a", b'"new"'), StateRow("variable", "b", b"4" * 5000))
    await store.log.append(run, -1, batch(run, -1, rows=first))
    await store.log.append(other, -1, batch(other, -1, rows=(StateRow("variable", "c", b"5"),)))
    await store.log.append(run, 0, batch(run, 0, rows=second))
    found = await stored_run(store, run)
    assert len(found.rows) == 4
    assert set(found.rows) == {second[0], second[1], first[1], first[2]}


async def a_projection_is_that_of_the_stored_run(store: Store) -> None:
    """`projection` returns the projection of `read_run` without the outputs, and None for an unknown run."""
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
    """`hidden_values` returns the hidden values of the header and of every event of the run, ordered by sequence, or
    those between two bounds. No other method returns them."""
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
    assert await store.log.hidden_values(run, -2, -1) == [*of_header]
    assert await store.log.hidden_values(run, -1, 1) == later[:4]
    assert await store.log.hidden_values(run, 1) == later[4:]
    assert await store.log.hidden_values(run, 2, 9) == []
    shown = repr((await store.log.read_run(run), await store.log.read(run, -1, 10)))
    assert "s3cret" not in shown


async def an_acknowledged_write_is_seen(store: Store) -> None:
    """A read that starts after a write has returned sees the write, on every connection."""
    run = await make_run(store)
    for expected in range(-1, 40):
        await store.log.append(run, expected, batch(run, expected))
        assert (await stored_run(store, run)).projection.last_sequence == expected + 1
        pages = await asyncio.gather(*(store.log.read(run, expected, 10) for _ in range(4)))
        assert [[item.sequence for item in page] for page in pages] == [[expected + 1]] * 4


async def a_stored_run_is_one_view(store: Store) -> None:
    """The projection and the rows that `read_run` returns belong to the same append, even during concurrent commits."""
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


async def another_partition_sees_nothing(store: Store) -> None:
    """A run cannot be read, listed or changed from another partition, including the other mode of the same tenant."""
    run = await _full_run(store)
    before = await state_of(store, run)
    for partition in (OTHER, "test:acme", "live:acm", "LIVE:ACME", ""):
        stranger = RunKey(partition, run.run_id)
        assert await state_of(store, stranger) == (None, [], [])
        for query in (RunQuery(), RunQuery(statuses=("running",), workflow_id="greet"), RunQuery(tags=("t",))):
            page = await store.queries.list_runs(partition, query)
            assert (page.runs, page.more) == ((), False)
        assert isinstance(await catch(store.log.append(stranger, 0, batch(stranger, 0))), SequenceConflict)
        assert await store.records.find_record(partition, "slot-1", 0) is None
    assert await state_of(store, run) == before


async def equal_ids_are_different_runs(store: Store) -> None:
    """Two partitions may use the same run id. Each has its own run, events, rows and hidden values."""
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
            page = await store.queries.list_runs(partition, query)
            assert [found.header.partition for found in page.runs] == [partition]


async def equal_slots_are_different_records(store: Store) -> None:
    """A slot that is taken in one partition is free in every other one."""
    await store.records.save_record(record())
    theirs = record(partition=OTHER, outcome=b"theirs")
    assert await store.log.create(header(partition=OTHER), (), theirs) == RunCreated()
    assert await store.records.find_record(ACME, "slot-1", 0) == record()
    assert await store.records.find_record(OTHER, "slot-1", 0) == theirs


async def a_record_stays_in_the_partition_of_its_run(store: Store) -> None:
    """`create` raises an exception for a record of another partition, and writes nothing."""
    assert await catch(store.log.create(header(), (), record(partition=OTHER))) is not None
    assert await store.log.read_run(header().key) is None
    assert await store.records.find_record(OTHER, "slot-1", 0) is None


async def _full_run(store: Store) -> RunKey:
    given = header(tags=("t",), inputs={"of": "acme"})
    await store.log.create(given, (HiddenValue(-1, "/of", b'"acme"'),), record())
    rows = (StateRow("variable", "v", b'"acme"'),)
    await store.log.append(given.key, -1, batch(given.key, -1, rows=rows, hidden=(HiddenValue(0, "/a", b"1"),)))
    return given.key
