"""Checks of the forks port: a fork begins with a copy of its source, and from then on both are independent."""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec.structs import replace

from weftwork.ports.storage.annotations import Annotation
from weftwork.ports.storage.assets import AssetUsage
from weftwork.ports.storage.event_log import RunCreated, SequenceConflict
from weftwork.ports.storage.forks import SourceMissing
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.ports.storage.run_queries import InterruptQuery, RunQuery
from weftwork.protocol.errors import HostFault
from weftwork.protocol.run.batch import Batch, CancelRequest, ChildCreate, HiddenValue
from weftwork.protocol.run.header import Fork, Parent, RunHeader, RunKey
from weftwork.protocol.run.projection import Projection, StateRow, StoredRun
from weftwork.testing.storage.assets import FAR_FUTURE, NO_USAGE, add_assets, asset, digest, page_keys, reference_count
from weftwork.testing.storage.child_runs import child, result_batch
from weftwork.testing.storage.harness import Store, catch, fields_of, opened, purge, run_ids, state_of, stored_run, walk
from weftwork.testing.storage.run_queries import interrupt, list_all, open_interrupt
from weftwork.testing.storage.samples import ACME, NOW, OTHER, batch, event, header, make_run, record, unfinished

SOURCE_EVENTS = 6


def fork_header(source: RunKey, from_seq: int, run_id: str = "fork", **fields: Any) -> RunHeader:
    """The header of a fork in the partition of its source. `fields` overrides the defaults."""
    return header(run_id, source.partition, **({"fork": Fork(source.run_id, from_seq, "branch")} | fields))


def fork_batch(source: RunKey, from_seq: int, run_id: str = "fork", count: int = 1, **fields: Any) -> Batch:
    """The first batch of a fork: `count` events after its prefix. `fields` sets further fields of the batch."""
    return batch(RunKey(source.partition, run_id), from_seq - 1, count, **fields)


async def make_fork(
    store: Store, source: RunKey, from_seq: int = SOURCE_EVENTS, run_id: str = "fork", **fields: Any
) -> RunKey:
    """Create a fork with one event after its prefix. `fields` sets fields of its first batch."""
    given = fork_header(source, from_seq, run_id)
    assert await store.forks.create(given, fork_batch(source, from_seq, run_id, **fields)) == RunCreated()
    return given.key


async def make_source(store: Store, run_id: str = "run-a", partition: str = ACME, **fields: Any) -> RunKey:
    """Create a run with six events and four hidden values, one of which belongs to its inputs. `fields` sets fields of
    its batch."""
    given = header(run_id, partition, inputs={"a": "[REDACTED]"})
    run = given.key
    assert await store.log.create(given, (HiddenValue(-1, "/a", b'"input"'),)) == RunCreated()
    hidden = tuple(HiddenValue(sequence, "/line", b'"%d"' % sequence) for sequence in (0, 3, 5))
    appended = batch(run, -1, SOURCE_EVENTS, hidden=hidden, **fields)
    assert await store.log.append(run, -1, appended) is None
    return run


async def fork_ids(store: Store, run: RunKey, after: RunKey | None = None, limit: int = 100) -> list[str]:
    return [found.header.run_id for found in await store.forks.forks_of(run, after, limit)]


async def a_fork_has_the_events_of_its_prefix(store: Store) -> None:
    """The events of a fork below `from_seq` are those of the source, byte for byte, except for the run id. Its own
    events follow, and the source is unchanged."""
    source = await make_source(store)
    full = [
        event(source, 6, payload=b'{"runId":"run-a","text":"run-a"}', node_id="node-1", causation_id="e-1"),
        event(source, 7, payload='{"text":"Zoë \\u0000"}'.encode(), schema_version=3, engine_version=4),
        event(source, 8, payload=b'{"large":"' + b"x" * 300_000 + b'"}', timestamp=2**45, node_id=""),
        event(source, 9, interrupt_id="i-1", content_trust="untrusted"),
    ]
    await store.log.append(source, 5, Batch(tuple(full), Projection("completed", 9, completed_at=NOW)))
    before = await state_of(store, source)
    for from_seq in (0, 1, 6, 9, 10):
        given = fork_header(source, from_seq, f"fork-{from_seq}")
        first = fork_batch(source, from_seq, given.run_id)
        assert await store.forks.create(given, first) == RunCreated()
        copied = fields_of(await store.log.read(source, -1, from_seq))
        wanted = [fields | {"run_id": given.run_id} for fields in (*copied, *fields_of([*first.events]))]
        found = await store.log.read(given.key, -1, 100)
        assert fields_of(found) == wanted
        assert all(b'"runId":"%b"' % given.run_id.encode() in each.document for each in found)
        assert await stored_run(store, given.key) == StoredRun(given, first.projection)
    assert await state_of(store, source) == before


async def a_chunk_of_a_fork_names_the_fork(store: Store) -> None:
    """The payload of `output.chunk` has the id of the fork as its `runId`. Nothing else in it changes: not the text,
    not a member of the same name in a tool call, and no number."""
    payloads = [
        '{"nodeId":"n","runId":"{id}","chunk":"run-a","isLast":false,"meta":{"runId":"run-a"}}',
        '{"nodeId":"n","runId":"{id}","chunk":"\\"runId\\":\\"run-a\\"","meta":{"calls":[{"a\\"runId":"run-a"}]}}',
        '{"runId":"{id}","meta":{"a":[1.0,1e3,-0.0,12345678901234567890,null,true,{}],"runId":"run-a"}}',
        '{"chunk":"Zoë \\u0000\\n\\ud83e\\uddf5 \U0001f9f5","":"\\/","runId":"{id}"}',
    ]
    run = await make_run(store)

    def chunks(run_id: str) -> list[bytes]:
        return [payload.replace("{id}", run_id, 1).encode() for payload in payloads]

    events = [event(run, at, type="output.chunk", payload=payload) for at, payload in enumerate(chunks("run-a"))]
    other = event(run, len(events), payload=b'{"nodeId":"n","runId":"run-a"}')
    await store.log.append(run, -1, Batch((*events, other), Projection("running", len(events))))
    fork = await make_fork(store, run, len(payloads) + 1)
    of_fork = await make_fork(store, fork, len(payloads) + 1, "fork-of-fork")
    for key in (fork, of_fork):
        found = [each.payload for each in await store.log.read(key, -1, len(payloads) + 1)]
        assert found == [*chunks(key.run_id), other.payload]
    assert [each.payload for each in await store.log.read(run, -1, 100)] == [*chunks("run-a"), other.payload]


async def a_fork_has_the_hidden_values_of_its_prefix(store: Store) -> None:
    """A fork has the hidden values of the inputs and of the events below `from_seq`, and those of its first batch."""
    source = await make_source(store)
    all_hidden = await store.log.hidden_values(source)
    assert [each.sequence for each in all_hidden] == [-1, 0, 3, 5]
    for from_seq, count in ((0, 1), (1, 2), (3, 2), (4, 3), (6, 4)):
        own = (HiddenValue(from_seq, "/b", b'"own"'),)
        fork = await make_fork(store, source, from_seq, f"fork-{from_seq}", hidden=own)
        assert await store.log.hidden_values(fork) == [*all_hidden[:count], *own]
    assert await store.log.hidden_values(source) == all_hidden


async def a_fork_has_its_own_rows(store: Store) -> None:
    """The state rows, tags and projection of a fork are those that it was created with, and its open interrupts are
    listed. It has nothing else of its source: no rows, tags, annotations, children, and no place in a run tree."""
    source = await make_source(store, rows=(StateRow("variable", "old", b"1"), interrupt("i-old")), child_creates=())
    await store.annotations.add(source, Annotation("said-1", b"{}"), 10)
    spawn = child(source, "child")
    await store.log.append(source, 5, replace(batch(source, 5), child_creates=(spawn,)))
    given = fork_header(source, 4, tags=("t", "t"), metadata={"a": 1})
    asked = interrupt("i-new")
    first = fork_batch(source, 4, count=2, status="waiting-approval", rows=(StateRow("variable", "new", b"2"), asked))
    first = replace(first, projection=replace(first.projection, parked=True, wake_at=NOW + 5, outputs=b"{}"))
    assert await store.forks.create(given, first) == RunCreated()
    found = await stored_run(store, given.key)
    assert (found.header, found.projection) == (given, first.projection)
    assert [(row.kind, row.name, row.value) for row in found.rows] == [
        ("interrupt", "i-new", asked.value),
        ("variable", "new", b"2"),
    ]
    assert await list_all(store, InterruptQuery(run_id="fork")) == [open_interrupt(given.key, asked)]
    assert await run_ids(store, RunQuery(tags=("t",))) == ["fork"]
    assert await run_ids(store) == ["fork", "child", "run-a"]
    assert await store.queries.due_runs(NOW + 5, 10) == [given.key]
    assert await store.ownership.newest_run() == given.key
    assert given.key not in await unfinished(store, None, 10)
    assert await store.annotations.find(given.key, "said-1") is None
    assert await store.child_runs.children(given.key, None, 10) == []
    assert await store.child_runs.count_descendants(source) == 1


async def a_fork_may_begin_without_events_of_its_own(store: Store) -> None:
    """The first batch may have no events, and may end the fork."""
    source = await make_source(store)
    paused = fork_batch(source, 4, "fork-1", 0, status="paused")
    assert await store.forks.create(fork_header(source, 4, "fork-1"), paused) == RunCreated()
    run = RunKey(ACME, "fork-1")
    assert (await stored_run(store, run)).projection == paused.projection
    assert [each.sequence for each in await store.log.read(run, -1, 10)] == [0, 1, 2, 3]
    ended = await make_fork(store, source, 6, "fork-2", count=0, status="completed")
    assert isinstance(await catch(store.log.append(ended, 5, batch(ended, 5))), SequenceConflict)
    assert await store.retention.delete(ended, NOW) is True
    assert await unfinished(store, None, 10) == [source, run]


async def a_fork_goes_on_like_any_run(store: Store) -> None:
    """A fork and its source accept appends independently of each other."""
    source = await make_source(store)
    fork = await make_fork(store, source, 3)
    assert isinstance(await catch(store.log.append(fork, 5, batch(fork, 5))), SequenceConflict)
    await asyncio.gather(store.log.append(fork, 3, batch(fork, 3, 2)), store.log.append(source, 5, batch(source, 5)))
    assert [each.run_id for each in await store.log.read(fork, -1, 100)] == ["fork"] * 6
    assert [each.run_id for each in await store.log.read(source, -1, 100)] == ["run-a"] * 7
    await store.log.append(fork, 5, batch(fork, 5, status="completed"))
    assert (await stored_run(store, source)).projection.status == "running"
    assert await unfinished(store, None, 10) == [source]


async def a_fork_counts_with_its_copy(store: Store) -> None:
    """`outline` and `partition_bytes` count the copied events and hidden values."""
    source = await make_source(store)
    before = await store.log.partition_bytes(ACME)
    fork = await make_fork(store, source, 6, count=0)
    outlines = [await store.log.outline(each) for each in (source, fork)]
    sizes = [each.log_bytes for each in outlines if each is not None]
    assert len(sizes) == 2
    assert sizes[0] == sizes[1]
    document = len(msgspec.json.encode(fork_header(source, 6)))
    assert await store.log.partition_bytes(ACME) == before + sizes[1] + document


async def an_asset_lives_as_long_as_the_fork(store: Store) -> None:
    """A fork refers to every asset that its source refers to when it is created: each stays, also after the source was
    deleted, until the fork is deleted as well."""
    digests = await add_assets(store, *"abcde")
    given = header(assets=digests[:1])
    source = given.key
    await store.log.create(given, (), None, False, batch(source, -1, 2, assets=digests[1:2]))
    await store.annotations.add(source, Annotation("said-1", b"{}"), 10, None, digests[2:3])
    first = fork_batch(source, 1, assets=(*digests[:1], *digests[3:4]))
    assert await store.forks.create(fork_header(source, 1, assets=digests[1:2]), first) == RunCreated()
    fork = RunKey(ACME, "fork")
    await store.log.append(source, 1, batch(source, 1, status="completed", assets=digests[4:5]))
    assert await page_keys(store, run_id="fork") == [asset(name).key for name in "dcba"]
    assert [await reference_count(store, name) for name in "abcde"] == [2, 2, 2, 1, 1]
    assert await store.retention.delete(source, NOW) is True
    await purge(store)
    assert await store.assets.tombstone_unreferenced(FAR_FUTURE, 10) == AssetUsage(1, 10)
    assert await page_keys(store, run_id="fork") == [asset(name).key for name in "dcba"]
    assert [await reference_count(store, name) for name in "abcd"] == [1, 1, 1, 1]
    await store.log.append(fork, 1, batch(fork, 1, status="completed"))
    assert await store.assets.tombstone_unreferenced(FAR_FUTURE, 10) == NO_USAGE
    assert await store.retention.delete(fork, NOW) is True
    await purge(store)
    assert await store.assets.tombstone_unreferenced(FAR_FUTURE, 10) == AssetUsage(4, 40)


async def a_fork_needs_its_source(store: Store) -> None:
    """A source that is unknown, in another partition, deleted, or too short raises SourceMissing. Nothing is written:
    no run, no record, no reference."""
    source = await make_source(store, status="completed")
    deleted = await make_source(store, "run-b", status="completed")
    theirs = await make_source(store, "run-c", OTHER)
    await add_assets(store, "a")
    assert await store.retention.delete(deleted, NOW) is True
    for run_id, from_seq in (("run-a", 7), ("run-a", 100), ("run-b", 0), ("run-b", 3), ("run-c", 3), ("nobody", 0)):
        given = fork_header(RunKey(ACME, run_id), from_seq, assets=(digest("a"),))
        first = fork_batch(RunKey(ACME, run_id), from_seq)
        assert isinstance(await catch(store.forks.create(given, first, record())), SourceMissing)
        assert await state_of(store, given.key) == (None, [], [])
        assert await store.records.find_record(ACME, "slot-1", 0) is None
        assert await reference_count(store, "a") == 0
        assert await fork_ids(store, RunKey(ACME, run_id)) == []
    await make_fork(store, source, 6)
    await make_fork(store, theirs, 6)
    assert await run_ids(store) == ["fork", "run-a"]


async def a_refused_fork_disturbs_no_other_write(store: Store) -> None:
    """A fork that is refused leaves the writes that come at the same time as they are."""
    source = await make_source(store)
    other = await make_run(store, "run-b")
    for expected, run_id, from_seq, error in ((-1, "run-b", 3, HostFault), (0, "fork", 7, SourceMissing)):
        refused, _ = await asyncio.gather(
            catch(make_fork(store, source, from_seq, run_id)),
            store.log.append(other, expected, batch(other, expected)),
        )
        assert isinstance(refused, error)
    assert len(await store.log.read(other, -1, 10)) == 2


async def a_fork_is_stored_with_its_record(store: Store) -> None:
    """The record of the request is stored with the fork. If its slot is taken, which is checked first, nothing is
    written. An expired record is replaced."""
    source = await make_source(store)
    given = fork_header(source, 3)
    assert await store.forks.create(given, fork_batch(source, 3), record()) == RunCreated()
    assert await store.records.find_record(ACME, "slot-1", 0) == record()
    other = fork_header(source, 3, "fork-2")
    for taken in (given, other, fork_header(RunKey(ACME, "nobody"), 3, "fork-2")):
        again = fork_batch(source, 3, taken.run_id)
        assert await store.forks.create(taken, again, record(outcome=b"other")) == SlotTaken(record())
    assert await run_ids(store) == ["fork", "run-a"]
    late = record(created_at=NOW + 2, expired_before=NOW + 1)
    assert await store.forks.create(other, fork_batch(source, 3, "fork-2"), late) == RunCreated()
    assert await store.records.find_record(ACME, "slot-1", 0) == replace(late, expired_before=0)


async def one_of_many_forks_takes_a_slot(store: Store) -> None:
    """Of several concurrent forks with the same slot, one is created, and the others get its record."""
    source = await make_source(store)
    names = [f"fork-{number}" for number in range(8)]
    calls = [
        store.forks.create(fork_header(source, 3, name), fork_batch(source, 3, name), record(outcome=name.encode()))
        for name in names
    ]
    outcomes = await asyncio.gather(*calls)
    (created,) = [name for name, outcome in zip(names, outcomes, strict=True) if outcome == RunCreated()]
    assert outcomes.count(SlotTaken(record(outcome=created.encode()))) == len(names) - 1
    assert await fork_ids(store, source) == [created]


async def a_fork_needs_a_new_run_id(store: Store) -> None:
    """A run id in use, even that of the source, raises HostFault, and nothing is written."""
    source = await make_source(store)
    other = await make_run(store, "run-b", status="running")
    before = [await state_of(store, run) for run in (source, other)]
    for run in (source, other):
        given = store.forks.create(fork_header(source, 3, run.run_id), fork_batch(source, 3, run.run_id), record())
        assert isinstance(await catch(given), HostFault)
        assert await store.records.find_record(ACME, "slot-1", 0) is None
    assert [await state_of(store, run) for run in (source, other)] == before
    assert await fork_ids(store, source) == []


async def an_inconsistent_fork_is_refused(store: Store) -> None:
    """HostFault, and nothing is written: a header without a fork or with a parent, a batch that does not continue the
    prefix, a record in it or of another partition, and messages to other runs. `EventLog.create` refuses a prefix."""
    source = await make_source(store)
    good, first = fork_header(source, 3), fork_batch(source, 3)
    parent = Parent("run-a", "node-1", "key", "core.dispatch", "run-a")
    child_of_fork = ChildCreate(header("child", parent=replace(parent, run_id="fork")))
    bad: list[tuple[RunHeader, Batch, Any]] = [
        (header("fork"), first, None),
        (header("fork"), fork_batch(source, 0), None),
        (fork_header(source, -1), batch(good.key, -2), None),
        (replace(good, parent=parent), first, None),
        (good, fork_batch(source, 2), None),
        (good, fork_batch(source, 4), None),
        (good, fork_batch(source, 3, "run-a"), None),
        (good, replace(first, projection=replace(first.projection, last_sequence=2)), None),
        (good, replace(first, record=record()), None),
        (good, first, record(partition=OTHER)),
        (good, replace(first, child_creates=(child_of_fork,)), None),
        (good, replace(first, child_result=result_batch(good.key, 3).child_result), None),
        (good, replace(first, cancel_requests=(CancelRequest("run-a", "why"),)), None),
    ]
    for given, begin, slot in bad:
        assert isinstance(await catch(store.forks.create(given, begin, slot)), HostFault)
    assert isinstance(await catch(store.log.create(good)), HostFault)
    assert isinstance(await catch(store.log.create(good, (), None, False, first)), HostFault)
    assert await run_ids(store) == ["run-a"]
    assert await fork_ids(store, source) == []
    assert await store.forks.create(good, first) == RunCreated()


async def a_fork_without_a_prefix_may_be_a_new_run(store: Store) -> None:
    """`EventLog.create` takes a header with a fork from 0. It copies nothing of the source, and `forks_of` finds it."""
    source = await make_source(store)
    given = fork_header(source, 0, inputs={"b": 1})
    assert await store.log.create(given) == RunCreated()
    assert await state_of(store, given.key) == (StoredRun(given, Projection("pending")), [], [])
    await make_fork(store, source, 0, "fork-2")
    assert await fork_ids(store, source) == ["fork", "fork-2"]


async def forks_are_given_in_the_order_of_creation(store: Store) -> None:
    """`forks_of` returns the forks of one run in pages, with their current projection, without outputs and rows. Forks
    of forks are not among them."""
    sources = [await make_source(store, name) for name in ("run-a", "run-b")]
    names: dict[RunKey, list[str]] = {source: [] for source in sources}
    for number in range(7):
        for source in sources:
            names[source].append(f"{9 - number}-of-{source.run_id}")
            await make_fork(store, source, number % 7, names[source][-1])
        await make_run(store, f"between-{number}")
    one = RunKey(ACME, names[sources[0]][3])
    await make_fork(store, one, 4, "fork-of-a-fork")
    ended = batch(one, 3, status="completed", rows=(StateRow("variable", "v", b"1"),))
    await store.log.append(one, 3, replace(ended, projection=replace(ended.projection, outputs=b"{}")))
    for source in sources:
        for limit in (1, 2, 7, 100):

            async def page_after(
                last: StoredRun | None, source: RunKey = source, limit: int = limit
            ) -> list[StoredRun]:
                return await store.forks.forks_of(source, last and last.header.key, limit)

            assert [found.header.run_id for found in await walk(page_after, limit)] == names[source]
    assert await fork_ids(store, one) == ["fork-of-a-fork"]
    assert await fork_ids(store, RunKey(ACME, "fork-of-a-fork")) == []
    (shown,) = await store.forks.forks_of(sources[0], RunKey(ACME, names[sources[0]][2]), 1)
    assert (shown.header, shown.projection, shown.rows) == (
        fork_header(sources[0], 3, one.run_id),
        ended.projection,
        (),
    )
    assert await fork_ids(store, sources[0], limit=0) == []
    assert await fork_ids(store, sources[0], limit=-1) == []
    assert await fork_ids(store, sources[0], RunKey(ACME, names[sources[0]][-1])) == []
    assert await fork_ids(store, sources[0], RunKey(ACME, "unknown")) == []
    assert await fork_ids(store, RunKey(ACME, "unknown")) == []
    # Any run of the partition has a position, also one that is no fork of this run.
    assert await fork_ids(store, sources[0], RunKey(ACME, "between-4")) == names[sources[0]][5:]


async def another_partition_has_other_forks(store: Store) -> None:
    """Runs with the same id in two partitions have different forks. The page after a run of another partition is
    empty."""
    ours, theirs = await make_source(store), await make_source(store, partition=OTHER)
    for source, names in ((ours, ("fork-1", "fork-2")), (theirs, ("fork-1", "fork-3"))):
        for name in names:
            await make_fork(store, source, 3, name)
    assert await fork_ids(store, ours) == ["fork-1", "fork-2"]
    assert await fork_ids(store, theirs) == ["fork-1", "fork-3"]
    assert await fork_ids(store, theirs, limit=1) == ["fork-1"]
    assert await fork_ids(store, ours, RunKey(OTHER, "fork-1")) == []
    assert await fork_ids(store, RunKey("test:acme", "run-a")) == []


async def a_fork_outlives_its_source(store: Store) -> None:
    """A fork is unchanged after its source was deleted and purged, and is still found by the id of the source, also
    if that id is used again."""
    source = RunKey(ACME, "run-a")
    forks: list[RunKey] = []
    before: list[Any] = []
    for number in range(2):
        assert await make_source(store, status="completed") == source
        new = [await make_fork(store, source, from_seq, f"fork-{number}-{from_seq}") for from_seq in (0, 4, 6)]
        forks += new
        before += [await state_of(store, fork) for fork in new]
        assert await store.retention.delete(source, NOW) is True
        assert await fork_ids(store, source) == [fork.run_id for fork in forks]
        assert [await state_of(store, fork) for fork in forks] == before
        assert isinstance(await catch(make_fork(store, source, 0, "late")), SourceMissing)
    await purge(store)
    await store.retention.forget_deleted(NOW + 1)
    assert [await state_of(store, fork) for fork in forks] == before
    assert await fork_ids(store, source, forks[2]) == [fork.run_id for fork in forks[3:]]
    assert await store.log.append(forks[1], 4, batch(forks[1], 4)) is None


async def a_deleted_fork_leaves_its_source(store: Store) -> None:
    """After a fork was deleted and purged, its source and its other forks are unchanged. `forks_of` does not return it
    any more, and continues behind it until its position is removed."""
    source = await make_source(store)
    forks = [await make_fork(store, source, 6, f"fork-{number}", status="completed") for number in range(4)]
    kept = [source, forks[0], *forks[2:]]
    before = [await state_of(store, run) for run in kept]
    assert await store.retention.delete(forks[1], NOW) is True
    assert await state_of(store, forks[1]) == (None, [], [])
    for _ in range(2):
        assert await fork_ids(store, source) == ["fork-0", "fork-2", "fork-3"]
        assert await fork_ids(store, source, limit=2) == ["fork-0", "fork-2"]
        assert await fork_ids(store, source, forks[1]) == ["fork-2", "fork-3"]
        assert [await state_of(store, run) for run in kept] == before
        await purge(store)
    await store.retention.forget_deleted(NOW + 1)
    assert await fork_ids(store, source, forks[1]) == []
    again = await make_fork(store, source, 2, "fork-1")
    assert len(await store.log.read(again, -1, 100)) == 3
    assert await fork_ids(store, source) == ["fork-0", "fork-2", "fork-3", "fork-1"]


async def a_long_run_is_copied_whole(store: Store) -> None:
    """A prefix of any size is copied without a gap, also one whose events are large."""
    run = await make_run(store)
    expected = -1
    for size in (10, 40_000, 1_500_000, 0):
        given = batch(run, expected, 3000 if size == 10 else 40 if size == 40_000 else 5)
        events = tuple(replace(each, payload=b'{"x":"' + b"x" * size + b'"}') for each in given.events)
        await store.log.append(run, expected, replace(given, events=events))
        expected = given.projection.last_sequence
    for from_seq in (expected + 1, expected - 2, 3000, 3001):
        fork = await make_fork(store, run, from_seq, f"fork-{from_seq}", count=0)
        copied, originals = [await store.log.read(each, -1, from_seq) for each in (fork, run)]
        assert len(copied) == from_seq
        assert [(each.sequence, each.payload) for each in copied] == [
            (each.sequence, each.payload) for each in originals
        ]
        assert len(await store.log.read(fork, -1, 10_000)) == from_seq


async def a_fork_of_a_growing_run_is_one_view(store: Store) -> None:
    """While the source gets more events, a fork has exactly those below `from_seq`, with their hidden values."""
    source = await make_source(store)

    async def grow() -> None:
        for expected in range(5, 25):
            hidden = (HiddenValue(expected + 1, "/line", b"1"),)
            await store.log.append(source, expected, batch(source, expected, hidden=hidden))

    async def fork(number: int) -> None:
        while isinstance(await catch(make_fork(store, source, 7 + number, f"fork-{number}", count=0)), SourceMissing):
            await asyncio.sleep(0)

    await asyncio.gather(grow(), *map(fork, range(12)))
    for number in range(12):
        run = RunKey(ACME, f"fork-{number}")
        assert [each.sequence for each in await store.log.read(run, -1, 100)] == list(range(7 + number))
        assert [each.sequence for each in await store.log.hidden_values(run)][4:] == list(range(6, 7 + number))


async def forks_survive_a_restart(make: Callable[[], Store]) -> None:
    """A fork, its link to its source, and its references survive a restart, also when the source is deleted."""
    async with opened(make()) as store:
        digests = await add_assets(store, "a")
        source = await make_source(store, status="completed", assets=digests)
        fork = await make_fork(store, source, 4)
        ended = await make_fork(store, source, 6, "fork-2", status="completed")
        before = [await state_of(store, each) for each in (fork, ended)]
    async with opened(make()) as store:
        assert [await state_of(store, each) for each in (fork, ended)] == before
        assert await fork_ids(store, source) == ["fork", "fork-2"]
        assert await reference_count(store, "a") == 3
        assert await store.retention.delete(source, NOW) is True
    async with opened(make()) as store:
        await purge(store)
        assert [await state_of(store, each) for each in (fork, ended)] == before
        assert await fork_ids(store, source, fork) == ["fork-2"]
        assert await store.assets.tombstone_unreferenced(FAR_FUTURE, 10) == NO_USAGE
        assert await store.retention.delete(ended, NOW) is True
        assert await store.log.append(fork, 4, batch(fork, 4)) is None
    async with opened(make()) as store:
        assert await fork_ids(store, source) == ["fork"]
        assert await reference_count(store, "a") == 1
        assert isinstance(await catch(make_fork(store, source, 4, "late")), SourceMissing)
