"""Checks of child runs: creation with an append of the parent, queries by parent and root, and the messages between
parent and child: results for the parent, and cancel requests for children.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from msgspec.structs import replace

from weftwork.ports.storage.child_runs import PendingCancelRequest, PendingChildResult
from weftwork.ports.storage.event_log import RunCreated, SequenceConflict
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.ports.storage.retention import StillLive
from weftwork.ports.storage.run_queries import RunQuery
from weftwork.protocol.errors import HostFault
from weftwork.protocol.run.batch import Batch, CancelRequest, CascadeCancel, ChildCreate, ChildResult, HiddenValue
from weftwork.protocol.run.header import Parent, RunKey, Status
from weftwork.protocol.run.projection import Projection, StateRow, StoredRun
from weftwork.testing.storage.harness import Store, catch, list_all_runs, opened, run_ids, state_of, walk
from weftwork.testing.storage.samples import ACME, ANY_FENCE, NOW, OTHER, batch, header, make_run, record, unfinished


def child(parent: RunKey, run_id: str, root: str | None = None, **fields: Any) -> ChildCreate:
    """The creation of a child run. `fields` sets fields of its Parent."""
    plain: dict[str, Any] = {"node_id": "node-1", "key": run_id, "cause": "core.dispatch"}
    parent_link = Parent(run_id=parent.run_id, root=root or parent.run_id, **(plain | fields))
    return ChildCreate(header(run_id, parent.partition, parent=parent_link))


async def create_children(store: Store, parent: RunKey, expected: int, *spawns: ChildCreate) -> list[RunKey]:
    """Append one event to the parent that creates these children and parks the parent."""
    given = batch(parent, expected)
    given = replace(given, projection=replace(given.projection, parked=True), child_creates=spawns)
    assert await store.log.append(parent, expected, given) is None
    return [spawn.header.key for spawn in spawns]


async def children_come_with_the_append(store: Store) -> None:
    """A new child run is pending and empty, with its header, tags and hidden values, and accepts appends like any
    run."""
    parent = await make_run(store)
    plain = child(parent, "plain")
    full = child(parent, "full", awaited=False, cascade=False, depth=3, variables=("v",), outputs=True)
    full = replace(full, header=replace(full.header, tags=("t", "t")), hidden=(HiddenValue(-1, "/a", b"1"),))
    await create_children(store, parent, -1, plain, full)
    for spawn in (plain, full):
        pending = StoredRun(spawn.header, Projection("pending"))
        assert await state_of(store, spawn.header.key) == (pending, [], list(spawn.hidden))
    assert [item.sequence for item in await store.log.read(parent, -1, 10)] == [0]
    assert await unfinished(store, None, 10) == [plain.header.key, full.header.key]
    assert all(found.is_child for found in await store.ownership.untaken(ANY_FENCE, None, 10))
    page = await store.queries.list_runs(ACME, RunQuery(tags=("t",)))
    assert [found.header for found in page.runs] == [full.header]
    run = plain.header.key
    assert await store.log.append(run, -1, batch(run, -1, 3)) is None
    assert len((await state_of(store, run))[1]) == 3


async def a_refused_append_makes_no_children(store: Store) -> None:
    """A refused append stores neither its events nor any child: a run id in use, even by a sibling, a wrong sequence,
    an ended run, or a taken slot."""
    parent, ended = await make_run(store), await make_run(store, "ended", status="completed")
    await store.records.save_record(record())
    before = await state_of(store, parent), await state_of(store, ended)
    good = child(parent, "good")
    row = (StateRow("variable", "v", b"1"),)
    plain = batch(parent, -1, rows=row, record=record("slot-2"))
    for bad in ((good, child(parent, "ended")), (good, child(parent, "run-a")), (good, good)):
        refused = store.log.append(parent, -1, replace(plain, child_creates=bad))
        assert isinstance(await catch(refused), HostFault)
    given = batch(parent, 4, child_creates=(good,))
    assert isinstance(await catch(store.log.append(parent, 4, given)), SequenceConflict)
    given = batch(ended, 0, child_creates=(child(ended, "good"),))
    assert isinstance(await catch(store.log.append(ended, 0, given)), SequenceConflict)
    given = replace(plain, record=record(), child_creates=(good,))
    assert await store.log.append(parent, -1, given) == SlotTaken(record())
    assert (await state_of(store, parent), await state_of(store, ended)) == before
    assert await store.records.find_record(ACME, "slot-2", 0) is None
    assert await store.log.read_run(good.header.key) is None
    for run in (parent, ended):
        assert await store.child_runs.children(run, None, 10) == []
        assert await store.child_runs.count_descendants(run) == 0
    assert [found.run_id for found in await unfinished(store, None, 10)] == ["run-a"]
    assert [found.is_child for found in await store.ownership.untaken(ANY_FENCE, None, 10)] == [False]
    assert await create_children(store, parent, -1, good) == [good.header.key]


async def children_are_given_in_the_order_of_creation(store: Store) -> None:
    """`children` returns the children of one run in pages, with their current projection, without outputs and rows."""
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
    """`count_descendants` counts the existing runs whose root is this run, even if the root itself was deleted."""
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
    """A listing by parent returns only its children, newest first, and combines with other filters and pages."""
    parent, other = await make_run(store), await make_run(store, "run-b")
    spawns = [child(parent, f"c-{number}") for number in range(6)]
    spawns = [replace(each, header=replace(each.header, tags=("t",) * (at % 2))) for at, each in enumerate(spawns)]
    runs = await create_children(store, parent, -1, *spawns)
    await create_children(store, other, -1, child(other, "of-b"))
    for run in runs[:3]:
        await store.log.append(run, -1, batch(run, -1, status="completed"))

    async def listed(**filters: Any) -> list[str]:
        return [each.header.run_id for each in await list_all_runs(store, RunQuery(**filters))]

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
    """A run that is created with a parent in its header is a child of that run, even if the parent does not exist."""
    parent = await make_run(store)
    first = child(parent, "c-1").header
    orphan = child(RunKey(ACME, "unknown"), "orphan", "run-a").header
    for each in (first, orphan):
        assert await store.log.create(each) == RunCreated()
    assert [found.header for found in await store.child_runs.children(parent, None, 10)] == [first]
    assert await store.child_runs.count_descendants(parent) == 2
    await create_children(store, parent, -1, child(parent, "c-2"))
    assert await _walk(store, parent, 1) == ["c-1", "c-2"]
    await store.log.append(orphan.key, -1, batch(orphan.key, -1, status="completed"))
    assert await store.retention.delete(orphan.key, NOW) is True
    assert await store.child_runs.count_descendants(parent) == 2


async def another_partition_has_other_children(store: Store) -> None:
    """Parents with equal ids in two partitions each have their own children. A third partition sees none."""
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


def result_batch(run: RunKey, expected: int, status: Status = "running", outcome: bytes = b"{}") -> Batch:
    """One event of a child, with its result for the parent."""
    result = ChildResult(run.run_id, "node-1", run.run_id, expected + 1, status, outcome)
    return batch(run, expected, status=status, child_result=result)


async def report_result(
    store: Store, parent: RunKey, run: RunKey, expected: int, status: Status = "running"
) -> PendingChildResult:
    """Append an event of a child with its result, and return the message that the parent must receive."""
    given = result_batch(run, expected, status)
    assert await store.log.append(run, expected, given) is None
    assert given.child_result is not None
    return PendingChildResult(parent, given.child_result)


async def parent_with_children(
    store: Store, run_id: str = "run-a", partition: str = ACME, count: int = 3, **fields: Any
) -> Any:
    """A run whose last sequence is 0, and its children."""
    parent = await make_run(store, run_id, partition)
    spawns = [child(parent, f"{run_id}-{at}", **fields) for at in range(count)]
    return parent, await create_children(store, parent, -1, *spawns)


async def a_child_result_is_kept_until_it_is_acknowledged(store: Store) -> None:
    """A child's result is returned unchanged, any number of times, until it is acknowledged."""
    parent, (one, two, _) = await parent_with_children(store)
    assert await store.child_runs.child_results(None, 10) == []
    given = result_batch(one, -1, "failed", b'{"error":{"code":"x"}}')
    await store.log.append(one, -1, given)
    assert given.child_result is not None
    first = PendingChildResult(parent, given.child_result)
    second = await report_result(store, parent, two, -1, "waiting-approval")
    for _ in range(2):
        assert await store.child_runs.child_results(None, 10) == [first, second]
    await store.child_runs.acknowledge_results((first,))
    assert await store.child_runs.child_results(None, 10) == [second]
    for acknowledged in ((), (first,), (first, second), (second,)):
        await store.child_runs.acknowledge_results(acknowledged)
    assert await store.child_runs.child_results(None, 10) == []


async def a_later_child_result_replaces_an_earlier_one(store: Store) -> None:
    """Only the latest result of each child is kept. Acknowledging an earlier result does not remove a later one."""
    parent, (one, two, _) = await parent_with_children(store)
    first = await report_result(store, parent, one, -1)
    other = await report_result(store, parent, two, -1)
    second = await report_result(store, parent, one, 0, "waiting-input")
    assert await store.child_runs.child_results(None, 10) == [second, other]
    await store.child_runs.acknowledge_results((first, other))
    assert await store.child_runs.child_results(None, 10) == [second]
    await store.log.append(one, 1, batch(one, 1))
    assert await store.child_runs.child_results(None, 10) == [second]
    last = await report_result(store, parent, one, 2, "completed")
    await store.child_runs.acknowledge_results((second,))
    assert await store.child_runs.child_results(None, 10) == [last]
    await store.child_runs.acknowledge_results((last,))
    assert await store.child_runs.child_results(None, 10) == []


async def child_results_keep_their_order(store: Store) -> None:
    """Results of all partitions are read in pages. A replaced result keeps its position, and a page may start after a
    result that was acknowledged, even if its child was deleted."""
    families = [await parent_with_children(store, "run-a"), await parent_with_children(store, "run-b", OTHER)]
    results: list[PendingChildResult] = []
    for parent, runs in families:
        results += [await report_result(store, parent, run, -1) for run in reversed(runs)][::-1]
    assert await store.child_runs.child_results(None, 0) == []
    for limit in (1, 2, 4, 10):
        assert await walk(partial(store.child_runs.child_results, limit=limit), limit) == results
    results[1] = await report_result(store, families[0][0], families[0][1][1], 0, "completed")
    assert await walk(partial(store.child_runs.child_results, limit=2), 2) == results
    await store.child_runs.acknowledge_results((results[1], results[2]))
    assert await store.child_runs.child_results(results[1], 10) == results[3:]
    assert await store.retention.delete(families[0][1][1], NOW) is True
    assert await store.child_runs.child_results(results[1], 10) == results[3:]
    unknown = PendingChildResult(RunKey(ACME, "run-a"), replace(results[0].result, child_run_id="unknown"))
    assert await store.child_runs.child_results(unknown, 10) == []


async def an_ended_run_gets_no_child_results(store: Store) -> None:
    """No results are kept for a parent that has ended or was deleted, nor from a run without a parent. The end of a run
    removes the results of its children, and no others."""
    parent, (one, two, three) = await parent_with_children(store)
    other, (theirs, *_) = await parent_with_children(store, "run-b", OTHER)
    (grandchild,) = await create_children(store, two, -1, child(two, "grandchild", parent.run_id))
    for run in (one, three):
        await report_result(store, parent, run, -1)
    kept = [await report_result(store, other, theirs, -1), await report_result(store, two, grandchild, -1)]
    await store.log.append(parent, 0, batch(parent, 0, status="completed"))
    assert sorted(await store.child_runs.child_results(None, 10), key=repr) == sorted(kept, key=repr)
    await store.log.append(one, 0, result_batch(one, 0))
    assert sorted(await store.child_runs.child_results(None, 10), key=repr) == sorted(kept, key=repr)
    assert await store.retention.delete(parent, NOW) is True
    await store.log.append(three, 0, result_batch(three, 0, "completed"))
    alone = await make_run(store, "alone")
    await store.log.append(alone, -1, result_batch(alone, -1))
    assert sorted(await store.child_runs.child_results(None, 10), key=repr) == sorted(kept, key=repr)
    assert await store.retention.delete(three, NOW) is True


async def a_child_stays_until_its_result_is_acknowledged(store: Store) -> None:
    """A child with an unacknowledged result cannot be deleted: `delete` raises StillLive and changes nothing, and the
    child is not listed as deletable. It can be deleted once the result is acknowledged or the parent has ended."""
    parent, (one, two, silent) = await parent_with_children(store)
    acknowledged = await report_result(store, parent, one, -1, "completed")
    await report_result(store, parent, two, -1, "failed")
    await store.log.append(silent, -1, batch(silent, -1, status="completed"))
    before = await state_of(store, one)
    assert await store.retention.runs_ended_before(10**15, 10) == [silent]
    assert await store.retention.runs_ended_before(10**15, 10, ACME) == [silent]
    assert [await store.retention.count_ended(10**15, partition) for partition in (None, ACME)] == [1, 1]
    assert isinstance(await catch(store.retention.delete(one, NOW, record())), StillLive)
    assert await store.records.find_record(ACME, "slot-1", 0) is None
    assert await state_of(store, one) == before
    assert [found.header.key for found in await store.child_runs.children(parent, None, 10)] == [one, two, silent]
    assert await store.retention.delete(silent, NOW) is True
    await store.child_runs.acknowledge_results((acknowledged,))
    assert await store.retention.delete(one, NOW, record()) is True
    assert isinstance(await catch(store.retention.delete(two, NOW)), StillLive)
    await store.log.append(parent, 0, batch(parent, 0, status="cancelled"))
    assert await store.retention.delete(two, NOW) is True
    assert await store.child_runs.count_descendants(parent) == 0


async def a_cancel_request_stands_until_the_child_has_ended(store: Store) -> None:
    """A cancel request is kept for each child of the run that has not ended; the first one for a child wins. It is
    removed when the child ends, and survives the end and deletion of the parent."""
    parent, (one, two, three) = await parent_with_children(store)
    stranger, (theirs, *_) = await parent_with_children(store, "run-b")
    await store.log.append(three, -1, batch(three, -1, status="completed"))
    names = (two.run_id, one.run_id, three.run_id, theirs.run_id, stranger.run_id, parent.run_id, "unknown")
    requests = tuple(CancelRequest(name, f"why {name}") for name in names)
    await store.log.append(parent, 0, batch(parent, 0, cancel_requests=requests))
    wanted = [PendingCancelRequest(run, parent.run_id, f"why {run.run_id}") for run in (one, two)]
    assert await store.child_runs.cancel_requests(None, 10) == wanted
    requests = (CancelRequest(one.run_id, "another"), CancelRequest("new", "at once"))
    again = batch(parent, 1, cancel_requests=requests, child_creates=(child(parent, "new"),))
    await store.log.append(parent, 1, again)
    new = RunKey(ACME, "new")
    added = PendingCancelRequest(new, parent.run_id, "at once")
    assert await store.child_runs.cancel_requests(None, 10) == [*wanted, added]
    await store.log.append(one, -1, batch(one, -1, status="cancelling"))
    assert await store.child_runs.cancel_requests(None, 1) == wanted[:1]
    for run, expected in ((one, 0), (new, -1)):
        await store.log.append(run, expected, batch(run, expected, status="cancelled"))
    assert await store.child_runs.cancel_requests(None, 10) == wanted[1:]
    await store.log.append(parent, 2, batch(parent, 2, status="completed"))
    assert await store.retention.delete(parent, NOW) is True
    assert await store.child_runs.cancel_requests(None, 10) == wanted[1:]
    await store.log.append(two, -1, result_batch(two, -1, "completed"))
    assert await store.child_runs.cancel_requests(None, 10) == []


async def a_cascade_cancels_the_selected_children(store: Store) -> None:
    """A cascade, before or with the end of a run, requests the cancellation of its live children that cascade, or with
    `awaited_only` of those that it waits for. Earlier requests are kept, and no other run gets one."""
    kinds = [(awaited, cascade) for awaited in (True, False) for cascade in (True, False)]
    for name, cascade, reached in (
        ("all", CascadeCancel("why"), (0, 2, 4, 5)),
        ("awaited", CascadeCancel("why", awaited_only=True), (0, 1, 4, 5)),
    ):
        parent = await make_run(store, name)
        spawns = [child(parent, f"{name}-{at}", awaited=kind[0], cascade=kind[1]) for at, kind in enumerate(kinds)]
        runs = await create_children(store, parent, -1, *spawns)
        runs += await create_children(store, parent, 0, *(child(parent, f"{name}-{at}") for at in (4, 6)))
        bystander, _ = await parent_with_children(store, f"beside-{name}")
        await create_children(store, runs[0], -1, child(runs[0], f"{name}-grandchild", name))
        await store.log.append(runs[5], -1, batch(runs[5], -1, status="completed"))
        request = (CancelRequest(runs[4].run_id, "before"),)
        await store.log.append(parent, 1, batch(parent, 1, cancel_requests=request))
        reasons = [(RunKey(ACME, f"{name}-{at}"), "before" if at == 4 else "why") for at in reached]
        wanted = [PendingCancelRequest(run, name, reason) for run, reason in reasons]
        stop = batch(parent, 2, status="cancelling", cascade_cancel=cascade)
        await store.log.append(parent, 2, stop)
        assert await store.child_runs.cancel_requests(None, 50) == wanted[:-1]
        born = (child(parent, f"{name}-5"),)
        last = batch(parent, 3, status="cancelled", cascade_cancel=cascade, child_creates=born)
        await store.log.append(parent, 3, last)
        assert await store.child_runs.cancel_requests(None, 50) == wanted
        for each in await store.child_runs.cancel_requests(None, 50):
            found = await store.log.projection(each.child)
            assert found is not None
            at = found.last_sequence
            await store.log.append(each.child, at, batch(each.child, at, status="cancelled"))
        none = batch(bystander, 0, status="failed", cascade_cancel=CascadeCancel("why", awaited_only=True))
        await store.log.append(bystander, 0, none)
        assert len(await store.child_runs.cancel_requests(None, 50)) == 3
        for each in await store.child_runs.cancel_requests(None, 50):
            await store.log.append(each.child, -1, batch(each.child, -1, status="cancelled"))
        assert await store.child_runs.cancel_requests(None, 50) == []


async def cancel_requests_keep_their_order(store: Store) -> None:
    """A page of cancel requests covers all partitions. It may start after an applied request whose child is gone."""
    families = [await parent_with_children(store, "run-a"), await parent_with_children(store, "run-b", OTHER)]
    wanted: list[PendingCancelRequest] = []
    for parent, runs in families:
        requests = tuple(CancelRequest(run.run_id, "why") for run in reversed(runs))
        await store.log.append(parent, 0, batch(parent, 0, cancel_requests=requests))
        wanted += [PendingCancelRequest(run, parent.run_id, "why") for run in runs]
    assert await store.child_runs.cancel_requests(None, 0) == []

    async def page_after(last: PendingCancelRequest | None) -> list[PendingCancelRequest]:
        return await store.child_runs.cancel_requests(last and last.child, limit)

    for limit in (1, 2, 4, 10):
        assert await walk(page_after, limit) == wanted
    followed = wanted[1].child
    await store.log.append(followed, -1, batch(followed, -1, status="cancelled"))
    assert await store.child_runs.cancel_requests(followed, 10) == wanted[2:]
    assert await store.retention.delete(followed, NOW) is True
    assert await store.child_runs.cancel_requests(followed, 10) == wanted[2:]
    assert await store.child_runs.cancel_requests(RunKey(ACME, "unknown"), 10) == []
    assert await store.child_runs.cancel_requests(RunKey("test:acme", "run-a-1"), 10) == []


async def child_messages_stay_in_their_partition(store: Store) -> None:
    """With equal ids in two partitions, results and cancel requests stay in their partition."""
    ours, our_runs = await parent_with_children(store)
    theirs, their_runs = await parent_with_children(store, partition=OTHER)
    our_result = await report_result(store, ours, our_runs[0], -1)
    their_result = await report_result(store, theirs, their_runs[0], -1)
    assert await store.child_runs.child_results(None, 10) == [our_result, their_result]
    await store.child_runs.acknowledge_results((their_result,))
    assert await store.child_runs.child_results(None, 10) == [our_result]
    await store.child_runs.acknowledge_results((PendingChildResult(RunKey("test:acme", "run-a"), our_result.result),))
    assert await store.child_runs.child_results(None, 10) == [our_result]
    request = (CancelRequest(their_runs[1].run_id, "why"),)
    await store.log.append(theirs, 0, batch(theirs, 0, cancel_requests=request))
    assert await store.child_runs.cancel_requests(None, 10) == [PendingCancelRequest(their_runs[1], "run-a", "why")]
    last = batch(theirs, 1, status="cancelled", cascade_cancel=CascadeCancel("why"))
    await store.log.append(theirs, 1, last)
    assert {each.child.partition for each in await store.child_runs.cancel_requests(None, 10)} == {OTHER}
    assert await store.child_runs.child_results(None, 10) == [our_result]


async def a_refused_append_sends_no_child_messages(store: Store) -> None:
    """An append at a wrong sequence or with a taken slot neither adds nor removes results and cancel requests."""
    parent, (one, two, three) = await parent_with_children(store)
    kept = await report_result(store, parent, one, -1)
    await store.log.append(parent, 0, batch(parent, 0, cancel_requests=(CancelRequest(two.run_id, "why"),)))
    requested = [PendingCancelRequest(two, parent.run_id, "why")]
    await store.records.save_record(record())
    full = {"cancel_requests": (CancelRequest(three.run_id, "why"),), "cascade_cancel": CascadeCancel("why")}
    for run, expected, given in (
        (one, 0, result_batch(one, 0, "completed")),
        (two, -1, result_batch(two, -1, "completed")),
        (parent, 1, replace(batch(parent, 1, status="cancelled"), **full)),
    ):
        later = batch(run, expected + 3, status="cancelled")
        late = replace(given, events=later.events, projection=later.projection)
        assert isinstance(await catch(store.log.append(run, expected + 3, late)), SequenceConflict)
        assert await store.log.append(run, expected, replace(given, record=record())) == SlotTaken(record())
        assert await store.child_runs.child_results(None, 10) == [kept]
        assert await store.child_runs.cancel_requests(None, 10) == requested


async def child_messages_survive_a_restart(make: Callable[[], Store]) -> None:
    """Children, results and cancel requests survive a restart. The end of a run still removes its messages."""
    async with opened(make()) as store:
        parent, (one, two, three) = await parent_with_children(store)
        kept = [await report_result(store, parent, run, -1) for run in (one, two)]
        await store.log.append(parent, 0, batch(parent, 0, cancel_requests=(CancelRequest(three.run_id, "why"),)))
    async with opened(make()) as store:
        assert [found.header.key for found in await store.child_runs.children(parent, None, 10)] == [one, two, three]
        assert await store.child_runs.count_descendants(parent) == 3
        assert await store.child_runs.child_results(None, 10) == kept
        assert await store.child_runs.cancel_requests(None, 10) == [PendingCancelRequest(three, parent.run_id, "why")]
        kept[0] = await report_result(store, parent, one, 0, "completed")
        await store.child_runs.acknowledge_results((kept[1],))
        assert await store.child_runs.child_results(None, 10) == kept[:1]
        assert isinstance(await catch(store.retention.delete(one, NOW)), StillLive)
        await store.log.append(three, -1, result_batch(three, -1, "cancelled"))
        assert await store.child_runs.cancel_requests(None, 10) == []
        await create_children(store, parent, 1, child(parent, "new"))
        await store.log.append(parent, 2, batch(parent, 2, status="completed"))
        assert await store.child_runs.child_results(None, 10) == []
        assert await store.retention.delete(one, NOW) is True
        assert [found.header.run_id for found in await store.child_runs.children(parent, two.run_id, 10)][-1] == "new"
