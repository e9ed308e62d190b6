"""Checks of child runs: they come with an append of their parent, and are found by it and by the root of their tree."""

from typing import Any

from msgspec.structs import replace

from weftwork.ports.storage.event_log import RunCreated, SequenceConflict
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.ports.storage.run_queries import RunQuery
from weftwork.protocol.errors import HostFault
from weftwork.protocol.run.batch import ChildCreate, HiddenValue
from weftwork.protocol.run.header import Parent, RunKey
from weftwork.protocol.run.projection import Projection, StateRow, StoredRun
from weftwork.testing.storage.harness import (
    ACME,
    NOW,
    OTHER,
    Store,
    batch,
    catch,
    header,
    make_run,
    record,
    run_ids,
    state_of,
    walk,
)


def child(parent: RunKey, run_id: str, root: str | None = None, **fields: Any) -> ChildCreate:
    """A child to be; `fields` are of what it knows of its parent."""
    plain: dict[str, Any] = {"node_id": "node-1", "key": run_id, "cause": "core.dispatch"}
    kinship = Parent(run_id=parent.run_id, root=root or parent.run_id, **(plain | fields))
    return ChildCreate(header(run_id, parent.partition, parent=kinship))


async def create_children(store: Store, parent: RunKey, expected: int, *spawns: ChildCreate) -> list[RunKey]:
    """Append one event to the parent, with these children, for which it waits."""
    given = batch(parent, expected)
    given = replace(given, projection=replace(given.projection, parked=True), child_creates=spawns)
    assert await store.log.append(parent, expected, given) is None
    return [spawn.header.key for spawn in spawns]


async def children_come_with_the_append(store: Store) -> None:
    """A spawned run is pending and empty, with its header, tags and hidden values, and takes appends as every run."""
    parent = await make_run(store)
    plain = child(parent, "plain")
    full = child(parent, "full", awaited=False, cascade=False, depth=3, variables=("v",), outputs=True)
    full = replace(full, header=replace(full.header, tags=("t", "t")), hidden=(HiddenValue(-1, "/a", b"1"),))
    await create_children(store, parent, -1, plain, full)
    for spawn in (plain, full):
        pending = StoredRun(spawn.header, Projection("pending"))
        assert await state_of(store, spawn.header.key) == (pending, [], list(spawn.hidden))
    assert [item.sequence for item in await store.log.read(parent, -1, 10)] == [0]
    assert await store.queries.unfinished_runs(None, 10) == [plain.header.key, full.header.key]
    page = await store.queries.list_runs(ACME, RunQuery(tags=("t",)))
    assert [found.header for found in page.runs] == [full.header]
    run = plain.header.key
    assert await store.log.append(run, -1, batch(run, -1, 3)) is None
    assert len((await state_of(store, run))[1]) == 3


async def a_refused_append_makes_no_children(store: Store) -> None:
    """With a run id in use, even by a sibling, at the wrong sequence, after the end, or with a slot that is taken,
    neither the events nor any of the children are there."""
    parent, ended = await make_run(store), await make_run(store, "ended", status="completed")
    await store.records.save_record(record())
    before = await state_of(store, parent), await state_of(store, ended)
    good = child(parent, "good")
    row = (StateRow("variable", "v", b"1"),)
    plain = batch(parent, -1, rows=row, record=record("slot-2"))
    for bad in ((good, child(parent, "ended")), (good, child(parent, "run-a")), (good, good)):
        refused = store.log.append(parent, -1, replace(plain, child_creates=bad))
        assert isinstance(await catch(refused), HostFault)
    given = replace(batch(parent, 4), child_creates=(good,))
    assert isinstance(await catch(store.log.append(parent, 4, given)), SequenceConflict)
    given = replace(batch(ended, 0), child_creates=(child(ended, "good"),))
    assert isinstance(await catch(store.log.append(ended, 0, given)), SequenceConflict)
    given = replace(plain, record=record(), child_creates=(good,))
    assert await store.log.append(parent, -1, given) == SlotTaken(record())
    assert (await state_of(store, parent), await state_of(store, ended)) == before
    assert await store.records.find_record(ACME, "slot-2", 0) is None
    assert await store.log.read_run(good.header.key) is None
    for run in (parent, ended):
        assert await store.child_runs.children(run, None, 10) == []
        assert await store.child_runs.count_descendants(run) == 0
    assert [found.run_id for found in await store.queries.unfinished_runs(None, 10)] == ["run-a"]
    assert await create_children(store, parent, -1, good) == [good.header.key]


async def children_are_given_in_the_order_of_creation(store: Store) -> None:
    """`children` gives those of one run and no others, by pages, as they stand, without outputs and state rows."""
    parents = [await make_run(store, name) for name in ("p-1", "p-2")]
    names: dict[RunKey, list[str]] = {parent: [] for parent in parents}
    for expected in range(-1, 5):
        for parent in parents:
            spawns = [child(parent, f"{9 - expected}-{at}-of-{parent.run_id}") for at in range(2)]
            names[parent] += [run.run_id for run in await create_children(store, parent, expected, *spawns)]
        await make_run(store, f"between-{expected}")
    one = RunKey(ACME, names[parents[0]][3])
    ended = batch(one, -1, status="completed", rows=(StateRow("variable", "v", b"1"),))
    await store.log.append(one, -1, replace(ended, projection=replace(ended.projection, outputs=b"{}")))
    for parent in parents:
        for limit in (1, 5, 100):
            assert await _walk(store, parent, limit) == names[parent]
    assert await store.child_runs.children(parents[0], None, 0) == []
    shown = (await store.child_runs.children(parents[0], names[parents[0]][2], 1))[0]
    assert (shown.projection, shown.rows) == (ended.projection, ())
    assert shown.header == child(parents[0], one.run_id).header
    assert await store.retention.delete(one, NOW) is True
    behind = [found.header.run_id for found in await store.child_runs.children(parents[0], one.run_id, 100)]
    assert behind == names[parents[0]][4:]
    assert one.run_id not in await _walk(store, parents[0], 100)
    assert await store.child_runs.children(parents[0], "unknown", 10) == []
    assert await store.child_runs.children(RunKey(ACME, "unknown"), None, 10) == []
    assert await store.child_runs.children(one, None, 10) == []


async def a_tree_is_counted_by_its_root(store: Store) -> None:
    """`descendants` counts the runs that are there and name this one as the root, whether it is there or not."""
    root, other = await make_run(store), await make_run(store, "run-b")
    first, second = await create_children(store, root, -1, child(root, "c-1"), child(root, "c-2"))
    await create_children(store, other, -1, child(other, "of-b"))
    (grandchild,) = await create_children(store, first, -1, child(first, "g-1", root.run_id, depth=2))
    await create_children(store, grandchild, -1, child(grandchild, "gg-1", root.run_id, depth=3))
    assert [await store.child_runs.count_descendants(run) for run in (root, other, first, grandchild)] == [4, 1, 0, 0]
    await store.log.append(second, -1, batch(second, -1, status="completed"))
    assert await store.child_runs.count_descendants(root) == 4
    assert await store.retention.delete(second, NOW) is True
    assert await store.child_runs.count_descendants(root) == 3
    await store.log.append(root, 0, batch(root, 0, status="completed"))
    assert await store.retention.delete(root, NOW) is True
    assert [await store.child_runs.count_descendants(run) for run in (root, other)] == [3, 1]
    assert await store.child_runs.children(root, None, 10) == []


async def lists_may_be_of_children(store: Store) -> None:
    """A listing with a parent shows its children alone, newest first, and the other filters and pages hold."""
    parent, other = await make_run(store), await make_run(store, "run-b")
    spawns = [child(parent, f"c-{number}") for number in range(6)]
    spawns = [replace(each, header=replace(each.header, tags=("t",) * (at % 2))) for at, each in enumerate(spawns)]
    runs = await create_children(store, parent, -1, *spawns)
    await create_children(store, other, -1, child(other, "of-b"))
    for run in runs[:3]:
        await store.log.append(run, -1, batch(run, -1, status="completed"))

    async def listed(**filters: Any) -> list[str]:
        found: list[str] = []
        before: str | None = None
        for _ in range(20):
            page = await store.queries.list_runs(ACME, RunQuery(**filters, before=before))
            found += [each.header.run_id for each in page.runs]
            if not page.more:
                return found
            before = page.last
        raise AssertionError("the list has no end")

    newest = [run.run_id for run in reversed(runs)]
    for limit in (1, 2, 6, 50):
        assert await listed(parent="run-a", limit=limit) == newest
        assert await listed(parent="run-a", limit=limit, tags=("t",)) == ["c-5", "c-3", "c-1"]
    assert await listed(parent="run-a", statuses=("pending",), limit=2) == newest[:3]
    assert await listed(parent="run-a", statuses=("completed",), tags=("t",)) == ["c-1"]
    assert await listed(parent="run-a", workflow_id="greet") == newest
    for nothing in ({"workflow_id": "order"}, {"tags": ("t", "u")}, {"statuses": ("failed",)}):
        assert await listed(parent="run-a", **nothing) == []
    assert [await listed(parent=name) for name in ("run-b", "c-0", "unknown")] == [["of-b"], [], []]
    await store.retention.delete(runs[1], NOW)
    assert await run_ids(store, RunQuery(parent="run-a", before="c-1")) == ["c-0"]


async def a_run_may_be_created_as_a_child(store: Store) -> None:
    """A run that is created with a parent in its header is a child of it, and without one a run of its own."""
    parent = await make_run(store)
    made = child(parent, "c-1").header
    orphan = child(RunKey(ACME, "unknown"), "orphan", "run-a").header
    for each in (made, orphan):
        assert await store.log.create(each) == RunCreated()
    assert [found.header for found in await store.child_runs.children(parent, None, 10)] == [made]
    assert await store.child_runs.count_descendants(parent) == 2
    await create_children(store, parent, -1, child(parent, "c-2"))
    assert await _walk(store, parent, 1) == ["c-1", "c-2"]
    await store.log.append(orphan.key, -1, batch(orphan.key, -1, status="completed"))
    assert await store.retention.delete(orphan.key, NOW) is True
    assert await store.child_runs.count_descendants(parent) == 2


async def another_partition_has_other_children(store: Store) -> None:
    """Equal ids in two partitions: each parent has its own children, and a third partition sees none."""
    ours, theirs = await make_run(store), await make_run(store, partition=OTHER)
    await create_children(store, ours, -1, child(ours, "c-1"), child(ours, "c-2"))
    await create_children(store, theirs, -1, child(theirs, "c-1"))
    for parent, names in ((ours, ["c-1", "c-2"]), (theirs, ["c-1"]), (RunKey("test:acme", "run-a"), [])):
        found = await store.child_runs.children(parent, None, 10)
        assert [each.header.key for each in found] == [RunKey(parent.partition, name) for name in names]
        assert await store.child_runs.count_descendants(parent) == len(names)
        page = await store.queries.list_runs(parent.partition, RunQuery(parent="run-a"))
        assert sorted(each.header.run_id for each in page.runs) == names
        assert {each.header.partition for each in page.runs} <= {parent.partition}


async def _walk(store: Store, parent: RunKey, limit: int) -> list[str]:
    async def page_after(last: StoredRun | None) -> list[StoredRun]:
        return await store.child_runs.children(parent, last and last.header.run_id, limit)

    return [each.header.run_id for each in await walk(page_after, limit)]
