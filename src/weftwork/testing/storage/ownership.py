"""Checks of `RunOwnership` and `Election`, and of the fences that the other ports take."""

import asyncio
from functools import partial

from weftwork.ports.storage.event_log import FenceLost, RunCreated, SequenceConflict
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.protocol.run.batch import ChildCreate, HiddenValue
from weftwork.protocol.run.header import STATUSES, TERMINAL_STATUSES, Parent, RunKey
from weftwork.testing.storage.forks import fork_batch, fork_header
from weftwork.testing.storage.harness import Store, catch, state_of, walk
from weftwork.testing.storage.samples import (
    ACME,
    ANY_FENCE,
    NOW,
    OTHER,
    batch,
    header,
    make_parked_run,
    make_run,
    parked_batch,
    record,
    unfinished,
)


async def make_taken_run(store: Store, run_id: str, fence: int, partition: str = ACME) -> RunKey:
    given = header(run_id, partition)
    assert await store.log.create(given, fence=fence) == RunCreated()
    return given.key


async def untaken_keys(store: Store, fence: int) -> list[RunKey]:
    return [each.key for each in await store.ownership.untaken(fence, None, 100)]


async def untaken_runs_are_found(store: Store) -> None:
    """`untaken` returns the runs of all partitions that have not ended, oldest first."""
    live: list[RunKey] = []
    for number in range(20):
        status = STATUSES[number % len(STATUSES)]
        run = await make_run(store, f"run-{99 - number}", OTHER if number % 3 else ACME, status)
        if status not in TERMINAL_STATUSES:
            live.append(run)
    assert await unfinished(store, None, 100) == live
    await store.log.append(live[0], -1, batch(live[0], -1, status="cancelled"))
    assert await unfinished(store, None, 100) == live[1:]


async def untaken_runs_come_in_pages(store: Store) -> None:
    """Walking `untaken` by pages returns each run once, in the order of creation and not of their fences, even if
    the run of the cursor has ended."""
    live = [
        await make_taken_run(store, f"run-{number}", number * 7 % 4, OTHER if number % 2 else ACME)
        for number in range(11)
    ]
    for limit in (1, 3, 11, 50):
        assert await walk(partial(unfinished, store, limit=limit), limit) == live
    await store.log.append(live[4], -1, batch(live[4], -1, status="failed"))
    assert await unfinished(store, live[4], 3) == live[5:8]
    assert await unfinished(store, RunKey(ACME, "unknown"), 3) == []
    assert await unfinished(store, None, 0) == []


async def untaken_runs_end_at_a_bound(store: Store) -> None:
    """`newest_run` is a bound for `untaken` and `count_untaken`: later runs are left out, also when the run of the
    bound has ended or was deleted."""
    assert await store.ownership.newest_run() is None
    live = [await make_run(store, f"run-{9 - number}", OTHER if number % 2 else ACME) for number in range(8)]
    bound = live[-1]
    assert await store.ownership.newest_run() == bound
    await make_run(store, "later", OTHER)
    for limit in (1, 3, 50):
        assert await walk(partial(unfinished, store, limit=limit, until=bound), limit) == live
    assert await store.ownership.count_untaken(1, bound) == 8
    assert await store.ownership.count_untaken(1, live[2]) == 3
    await store.log.append(bound, -1, batch(bound, -1, status="failed"))
    assert await store.ownership.newest_run() == RunKey(OTHER, "later")
    assert await store.retention.delete(bound, NOW) is True
    assert await unfinished(store, live[5], 50, bound) == live[6:7]
    assert await store.ownership.count_untaken(1, bound) == 7
    assert await unfinished(store, None, 50, RunKey(ACME, "unknown")) == []
    assert await store.ownership.count_untaken(1, RunKey(ACME, "unknown")) == 0


async def untaken_runs_of_one_partition(store: Store) -> None:
    """`untaken` with a partition returns its runs only; the cursor may be a run of another partition."""
    live = [
        await make_taken_run(store, f"run-{number}", number % 2, OTHER if number % 3 else ACME) for number in range(9)
    ]
    assert await walk(partial(unfinished, store, limit=2, partition=ACME), 2) == live[::3]
    assert await unfinished(store, live[1], 10, live[5], ACME) == live[3:4]
    assert await unfinished(store, None, 10, None, "live:nobody") == []


async def a_taken_run_is_left_to_its_executor(store: Store) -> None:
    """`untaken` and `count_untaken` omit runs with the fence of the executor or a higher one."""
    runs = [await make_taken_run(store, f"run-{number}", number) for number in range(4)]
    for fence in range(5):
        assert await untaken_keys(store, fence) == runs[:fence]
        assert await store.ownership.count_untaken(fence, runs[-1]) == min(fence, 4)
    assert await store.ownership.take(runs[1], 3) is True
    assert await untaken_keys(store, 3) == [runs[0], runs[2]]
    assert await untaken_keys(store, 4) == runs
    # Taking a run changes nothing else of it, and what follows does not change its fence.
    await store.log.append(runs[1], -1, batch(runs[1], -1, 2), 3)
    await store.log.append(runs[1], 1, parked_batch(runs[1], 1, NOW), 3)
    assert await untaken_keys(store, 4) == [runs[0], *runs[2:]]
    await store.log.append(runs[1], 2, batch(runs[1], 2), 3)
    assert await store.ownership.fence_of(runs[1]) == 3
    assert await untaken_keys(store, 4) == runs


async def a_run_is_taken_forward_only(store: Store) -> None:
    """`take` accepts a fence that is not lower than that of the run, also of a parked run, and may be repeated."""
    run, parked = await make_run(store, status="running"), await make_parked_run(store, "parked", NOW)
    for each in (run, parked):
        assert await store.ownership.fence_of(each) == 0
        for fence, is_taken, now in ((5, True, 5), (5, True, 5), (4, False, 5), (0, False, 5), (7, True, 7)):
            assert await store.ownership.take(each, fence) is is_taken
            assert await store.ownership.fence_of(each) == now
            outline = await store.log.outline(each)
            assert outline is not None
            assert outline.fence == now


async def only_a_live_run_can_be_taken(store: Store) -> None:
    """`take` and `retry_later` refuse a run that has ended or does not exist."""
    ended = await make_run(store, "ended", status="completed")
    unknown = RunKey(OTHER, "ended")
    for run in (ended, unknown):
        assert await store.ownership.take(run, 1) is False
        assert await store.ownership.retry_later(run, 0, NOW) is False
    assert await store.ownership.fence_of(ended) == 0
    assert await store.ownership.fence_of(unknown) is None
    assert await store.ownership.due_retries(0, NOW, 10) == []


async def one_of_many_executors_keeps_a_run(store: Store) -> None:
    """Of concurrent calls of `take`, none gives a run to a lower fence than another one that got it before."""
    run = await make_run(store, status="running")
    fences = [number * 13 % 20 + 1 for number in range(20)]
    await asyncio.gather(*(store.ownership.take(run, fence) for fence in fences))
    assert await store.ownership.fence_of(run) == max(fences)


async def an_executor_that_was_replaced_takes_no_runs(store: Store) -> None:
    """Each election has a higher epoch, and `take` refuses a fence below the highest one."""
    first = await store.election.take()
    assert first > 0
    run, other = await make_run(store), await make_taken_run(store, "other", first)
    assert await store.ownership.take(run, first) is True
    second = await store.election.take()
    assert second > first
    assert await store.ownership.take(run, first) is False
    assert await store.ownership.take(other, first) is False
    assert await store.ownership.fence_of(run) == first
    assert await untaken_keys(store, second) == [run, other]
    assert await store.ownership.take(run, second) is True
    await store.election.release()
    await store.election.release()
    assert await store.election.take() > second


async def a_lost_fence_writes_nothing(store: Store) -> None:
    """An append with another fence than that of the run raises FenceLost and writes nothing. Without a fence, it is
    written."""
    run = await make_taken_run(store, "run-a", 2)
    await store.log.append(run, -1, batch(run, -1), 2)
    before = await state_of(store, run)
    hidden = (HiddenValue(1, "/a", b"1"),)
    child = ChildCreate(header("child", parent=Parent("run-a", "node-1", "k", "dispatch", "run-a")))
    for fence in (0, 1, 3, ANY_FENCE):
        given = batch(run, 0, hidden=hidden, record=record(), child_creates=(child,))
        assert isinstance(await catch(store.log.append(run, 0, given, fence)), FenceLost)
    assert await state_of(store, run) == before
    assert await store.records.find_record(ACME, "slot-1", 0) is None
    assert await store.log.read_run(child.header.key) is None
    assert await store.ownership.take(run, 3) is True
    assert isinstance(await catch(store.log.append(run, 0, batch(run, 0), 2)), FenceLost)
    assert await store.log.append(run, 0, batch(run, 0), 3) is None
    assert await store.log.append(run, 1, batch(run, 1)) is None
    assert await store.log.append(run, 2, batch(run, 2, status="completed"), 3) is None
    assert isinstance(await catch(store.log.append(run, 3, batch(run, 3), 2)), FenceLost)


async def a_lost_fence_is_told_before_a_conflict(store: Store) -> None:
    """An append with another fence raises FenceLost, not SequenceConflict; an unknown run is a conflict."""
    run = await make_taken_run(store, "run-a", 2)
    for expected in (-1, 0, 7):
        assert isinstance(await catch(store.log.append(run, expected, batch(run, expected), 1)), FenceLost)
    assert isinstance(await catch(store.log.append(run, 7, batch(run, 7), 2)), SequenceConflict)
    unknown = RunKey(ACME, "unknown")
    assert isinstance(await catch(store.log.append(unknown, -1, batch(unknown, -1), 2)), SequenceConflict)


async def a_taken_slot_is_told_before_a_lost_fence(store: Store) -> None:
    """An append with a slot that is taken returns it, also with another fence than that of the run."""
    run = await make_taken_run(store, "run-a", 2)
    await store.records.save_record(record())
    again = batch(run, -1, record=record(outcome=b"other"))
    assert await store.log.append(run, -1, again, 1) == SlotTaken(record())


async def new_runs_have_the_fence_of_their_executor(store: Store) -> None:
    """A created run, a fork and a child run have the fence that was given, and 0 without one."""
    given = header("run-a")
    await store.log.create(given, (), None, False, batch(given.key, -1), 2)
    for child, fence, expected in (("child-1", 2, 0), ("child-2", None, 1)):
        create = ChildCreate(header(child, parent=Parent("run-a", "node-1", child, "dispatch", "run-a")))
        await store.log.append(given.key, expected, batch(given.key, expected, child_creates=(create,)), fence)
    fork = fork_header(given.key, 1, "fork")
    await store.forks.create(fork, fork_batch(given.key, 1), fence=3)
    unowned = fork_header(given.key, 1, "unowned")
    await store.forks.create(unowned, fork_batch(given.key, 1, "unowned"))
    await make_run(store, "new")
    fences = {"run-a": 2, "child-1": 2, "child-2": 0, "fork": 3, "unowned": 0, "new": 0}
    for run_id, fence in fences.items():
        run = RunKey(ACME, run_id)
        assert await store.ownership.fence_of(run) == fence, run_id
        taken = await catch(store.log.append(run, -1, batch(run, -1), fence + 1))
        assert isinstance(taken, FenceLost)
    assert [run.run_id for run in await untaken_keys(store, 2)] == ["child-2", "unowned", "new"]


async def a_run_is_tried_again_at_its_time(store: Store) -> None:
    """`due_retries` returns at most `limit` runs with this fence whose retry time has come, earliest first. The run
    stays taken."""
    runs = [await make_taken_run(store, f"run-{number}", 2, OTHER if number % 2 else ACME) for number in range(4)]
    later = await make_taken_run(store, "later", 3)
    for run, wait in zip((*runs[:3], later), (5, 1, 3, 1), strict=True):
        assert await store.ownership.retry_later(run, 1, NOW) is False
        fence = 3 if run is later else 2
        assert await store.ownership.retry_later(run, fence, NOW + wait) is True
        assert await store.ownership.fence_of(run) == fence
    for until, numbers in ((0, ()), (1, (1,)), (3, (1, 2)), (9, (1, 2, 0))):
        assert await store.ownership.due_retries(2, NOW + until, 10) == [runs[number] for number in numbers]
    assert await store.ownership.due_retries(2, NOW + 9, 2) == [runs[1], runs[2]]
    assert await store.ownership.due_retries(3, NOW + 9, 10) == [later]
    assert await store.ownership.retry_later(runs[1], 2, NOW + 9) is True
    assert await store.ownership.due_retries(2, NOW + 8, 10) == [runs[2], runs[0]]
    assert await untaken_keys(store, 2) == []


async def a_run_that_was_taken_again_is_not_retried(store: Store) -> None:
    """`take` forgets the retry time of a run, and an ended run is not retried."""
    taken, moved, ended = [await make_taken_run(store, f"run-{number}", 2) for number in range(3)]
    for run in (taken, moved, ended):
        assert await store.ownership.retry_later(run, 2, NOW) is True
    assert await store.ownership.take(taken, 2) is True
    assert await store.ownership.take(moved, 3) is True
    await store.log.append(ended, -1, batch(ended, -1, status="cancelled"))
    for fence in (2, 3):
        assert await store.ownership.due_retries(fence, NOW, 10) == []
