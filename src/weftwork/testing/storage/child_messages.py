"""Checks of the messages between parent and child runs: results for the parent, and cancel requests for children."""

from functools import partial
from typing import Any

from msgspec.structs import replace

from weftwork.ports.storage.child_runs import PendingCancelRequest, PendingChildResult
from weftwork.ports.storage.event_log import SequenceConflict
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.ports.storage.retention import StillLive
from weftwork.protocol.run.batch import Batch, CancelRequest, CascadeCancel, ChildResult
from weftwork.protocol.run.header import RunKey, Status
from weftwork.testing.storage.child_runs import child, create_children
from weftwork.testing.storage.harness import ACME, NOW, OTHER, Store, batch, catch, make_run, record, state_of, walk


def result_batch(run: RunKey, expected: int, status: Status = "running", outcome: bytes = b"{}") -> Batch:
    """One event of a child with word of it for its parent."""
    told = ChildResult(run.run_id, "node-1", run.run_id, expected + 1, status, outcome)
    return replace(batch(run, expected, status=status), child_result=told)


async def report_result(
    store: Store, parent: RunKey, run: RunKey, expected: int, status: Status = "running"
) -> PendingChildResult:
    """Append that; what the parent is to hear."""
    given = result_batch(run, expected, status)
    assert await store.log.append(run, expected, given) is None
    assert given.child_result is not None
    return PendingChildResult(parent, given.child_result)


async def parent_with_children(
    store: Store, run_id: str = "run-a", partition: str = ACME, count: int = 3, **fields: Any
) -> Any:
    """A run that stands at 0, and its children."""
    parent = await make_run(store, run_id, partition)
    return parent, await create_children(
        store, parent, -1, *(child(parent, f"{run_id}-{at}", **fields) for at in range(count))
    )


async def a_child_result_is_kept_until_it_is_acknowledged(store: Store) -> None:
    """Word of a child is there as it was told, however often it is asked for, until somebody has heard it."""
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
    for heard in ((), (first,), (first, second), (second,)):
        await store.child_runs.acknowledge_results(heard)
    assert await store.child_runs.child_results(None, 10) == []


async def a_later_child_result_replaces_an_earlier_one(store: Store) -> None:
    """Of each child there is its last word alone, and who hears an earlier one does not miss it."""
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
    """News of all partitions by pages: what was told again keeps its place, and a page goes on behind news that was
    heard meanwhile, even if that child is deleted."""
    families = [await parent_with_children(store, "run-a"), await parent_with_children(store, "run-b", OTHER)]
    told: list[PendingChildResult] = []
    for parent, runs in families:
        told += [await report_result(store, parent, run, -1) for run in reversed(runs)][::-1]
    assert await store.child_runs.child_results(None, 0) == []
    for limit in (1, 2, 4, 10):
        assert await walk(partial(store.child_runs.child_results, limit=limit), limit) == told
    told[1] = await report_result(store, families[0][0], families[0][1][1], 0, "completed")
    assert await walk(partial(store.child_runs.child_results, limit=2), 2) == told
    await store.child_runs.acknowledge_results((told[1], told[2]))
    assert await store.child_runs.child_results(told[1], 10) == told[3:]
    assert await store.retention.delete(families[0][1][1], NOW) is True
    assert await store.child_runs.child_results(told[1], 10) == told[3:]
    unknown = PendingChildResult(RunKey(ACME, "run-a"), replace(told[0].result, child_run_id="unknown"))
    assert await store.child_runs.child_results(unknown, 10) == []


async def an_ended_run_gets_no_child_results(store: Store) -> None:
    """No news is kept for a parent that has ended or was deleted, or of a run without one; that of the children of a
    run goes with its end, and that of others stays."""
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
    """`delete` of a child whose news is unheard raises StillLive, it is as it was, and no search for what can be
    deleted finds it; once it was heard, or its parent has ended, it goes."""
    parent, (one, two, silent) = await parent_with_children(store)
    heard = await report_result(store, parent, one, -1, "completed")
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
    await store.child_runs.acknowledge_results((heard,))
    assert await store.retention.delete(one, NOW, record()) is True
    assert isinstance(await catch(store.retention.delete(two, NOW)), StillLive)
    await store.log.append(parent, 0, batch(parent, 0, status="cancelled"))
    assert await store.retention.delete(two, NOW) is True
    assert await store.child_runs.count_descendants(parent) == 0


async def a_cancel_request_stands_until_the_child_has_ended(store: Store) -> None:
    """Orders are kept for children of the run that have not ended, the first for each; they go with the child's end
    and outlive the run that gave them."""
    parent, (one, two, three) = await parent_with_children(store)
    stranger, (theirs, *_) = await parent_with_children(store, "run-b")
    await store.log.append(three, -1, batch(three, -1, status="completed"))
    names = (two.run_id, one.run_id, three.run_id, theirs.run_id, stranger.run_id, parent.run_id, "unknown")
    orders = tuple(CancelRequest(name, f"why {name}") for name in names)
    await store.log.append(parent, 0, replace(batch(parent, 0), cancel_requests=orders))
    wanted = [PendingCancelRequest(run, parent.run_id, f"why {run.run_id}") for run in (one, two)]
    assert await store.child_runs.cancel_requests(None, 10) == wanted
    again = replace(
        batch(parent, 1), cancel_requests=(CancelRequest(one.run_id, "another"),), child_creates=(child(parent, "new"),)
    )
    again = replace(again, cancel_requests=(*again.cancel_requests, CancelRequest("new", "at once")))
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
    """Before or with the end of a run, orders for those of its children that are cancelled with it, or for those it
    waits for, if they have not ended; an order that was given before stays, and nobody else gets one."""
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
        order = (CancelRequest(runs[4].run_id, "before"),)
        await store.log.append(parent, 1, replace(batch(parent, 1), cancel_requests=order))
        wanted = [
            PendingCancelRequest(RunKey(ACME, f"{name}-{at}"), name, "before" if at == 4 else "why") for at in reached
        ]
        stop = replace(batch(parent, 2, status="cancelling"), cascade_cancel=cascade)
        await store.log.append(parent, 2, stop)
        assert await store.child_runs.cancel_requests(None, 50) == wanted[:-1]
        last = replace(
            batch(parent, 3, status="cancelled"), cascade_cancel=cascade, child_creates=(child(parent, f"{name}-5"),)
        )
        await store.log.append(parent, 3, last)
        assert await store.child_runs.cancel_requests(None, 50) == wanted
        for each in await store.child_runs.cancel_requests(None, 50):
            found = await store.log.projection(each.child)
            assert found is not None
            at = found.last_sequence
            await store.log.append(each.child, at, batch(each.child, at, status="cancelled"))
        none = replace(batch(bystander, 0, status="failed"), cascade_cancel=CascadeCancel("why", awaited_only=True))
        await store.log.append(bystander, 0, none)
        assert len(await store.child_runs.cancel_requests(None, 50)) == 3
        for each in await store.child_runs.cancel_requests(None, 50):
            await store.log.append(each.child, -1, batch(each.child, -1, status="cancelled"))
        assert await store.child_runs.cancel_requests(None, 50) == []


async def cancel_requests_keep_their_order(store: Store) -> None:
    """Orders of all partitions by pages, and a page goes on behind one that was followed, even if its child is gone."""
    families = [await parent_with_children(store, "run-a"), await parent_with_children(store, "run-b", OTHER)]
    wanted: list[PendingCancelRequest] = []
    for parent, runs in families:
        orders = tuple(CancelRequest(run.run_id, "why") for run in reversed(runs))
        await store.log.append(parent, 0, replace(batch(parent, 0), cancel_requests=orders))
        wanted += [PendingCancelRequest(run, parent.run_id, "why") for run in runs]
    assert await store.child_runs.cancel_requests(None, 0) == []
    for limit in (1, 2, 4, 10):
        assert await _walk_requests(store, limit) == wanted
    followed = wanted[1].child
    await store.log.append(followed, -1, batch(followed, -1, status="cancelled"))
    assert await store.child_runs.cancel_requests(followed, 10) == wanted[2:]
    assert await store.retention.delete(followed, NOW) is True
    assert await store.child_runs.cancel_requests(followed, 10) == wanted[2:]
    assert await store.child_runs.cancel_requests(RunKey(ACME, "unknown"), 10) == []
    assert await store.child_runs.cancel_requests(RunKey("test:acme", "run-a-1"), 10) == []


async def child_messages_stay_in_their_partition(store: Store) -> None:
    """Equal ids in two partitions: news and orders are of the own family alone."""
    (ours, our_runs), (theirs, their_runs) = [
        await parent_with_children(store, "run-a", name) for name in (ACME, OTHER)
    ]
    our_news = await report_result(store, ours, our_runs[0], -1)
    their_news = await report_result(store, theirs, their_runs[0], -1)
    assert await store.child_runs.child_results(None, 10) == [our_news, their_news]
    await store.child_runs.acknowledge_results((their_news,))
    assert await store.child_runs.child_results(None, 10) == [our_news]
    await store.child_runs.acknowledge_results((PendingChildResult(RunKey("test:acme", "run-a"), our_news.result),))
    assert await store.child_runs.child_results(None, 10) == [our_news]
    await store.log.append(
        theirs, 0, replace(batch(theirs, 0), cancel_requests=(CancelRequest(their_runs[1].run_id, "why"),))
    )
    assert await store.child_runs.cancel_requests(None, 10) == [PendingCancelRequest(their_runs[1], "run-a", "why")]
    await store.log.append(
        theirs, 1, replace(batch(theirs, 1, status="cancelled"), cascade_cancel=CascadeCancel("why"))
    )
    assert {each.child.partition for each in await store.child_runs.cancel_requests(None, 10)} == {OTHER}
    assert await store.child_runs.child_results(None, 10) == [our_news]


async def a_refused_append_sends_no_child_messages(store: Store) -> None:
    """At the wrong sequence, or with a slot that is taken, there are no news and no orders, and none go."""
    parent, (one, two, three) = await parent_with_children(store)
    kept = await report_result(store, parent, one, -1)
    await store.log.append(parent, 0, replace(batch(parent, 0), cancel_requests=(CancelRequest(two.run_id, "why"),)))
    ordered = [PendingCancelRequest(two, parent.run_id, "why")]
    await store.records.save_record(record())
    full = {"cancel_requests": (CancelRequest(three.run_id, "why"),), "cascade_cancel": CascadeCancel("why")}
    for run, expected, given in (
        (one, 0, result_batch(one, 0, "completed")),
        (two, -1, result_batch(two, -1, "completed")),
        (parent, 1, replace(batch(parent, 1, status="cancelled"), **full)),
    ):
        late = batch(run, expected + 3, status="cancelled")
        late = replace(
            late,
            child_result=given.child_result,
            cancel_requests=given.cancel_requests,
            cascade_cancel=given.cascade_cancel,
        )
        assert isinstance(await catch(store.log.append(run, expected + 3, late)), SequenceConflict)
        assert await store.log.append(run, expected, replace(given, record=record())) == SlotTaken(record())
        assert await store.child_runs.child_results(None, 10) == [kept]
        assert await store.child_runs.cancel_requests(None, 10) == ordered


async def _walk_requests(store: Store, limit: int) -> list[PendingCancelRequest]:
    async def page_after(last: PendingCancelRequest | None) -> list[PendingCancelRequest]:
        return await store.child_runs.cancel_requests(last and last.child, limit)

    return await walk(page_after, limit)
