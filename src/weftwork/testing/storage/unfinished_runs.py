"""Checks of `RunQueries`: unfinished runs, and parked runs with their timers."""

from functools import partial

from msgspec.structs import replace

from weftwork.ports.storage.event_log import RunCreated
from weftwork.ports.storage.run_queries import RunQuery
from weftwork.protocol.run.batch import Batch
from weftwork.protocol.run.header import STATUSES, TERMINAL_STATUSES, RunKey, Status
from weftwork.testing.storage.harness import Store, stored_run, walk
from weftwork.testing.storage.samples import ACME, NOW, OTHER, batch, header, make_run, unfinished


def parked_batch(run: RunKey, expected: int, wake_at: int | None = None, parked: bool = True) -> Batch:
    """A batch of one event whose projection is parked or not."""
    plain = batch(run, expected, 1, "waiting-approval")
    return replace(plain, projection=replace(plain.projection, parked=parked, wake_at=wake_at))


async def make_parked_run(store: Store, run_id: str, wake_at: int | None = None, partition: str = ACME) -> RunKey:
    run = await make_run(store, run_id, partition)
    assert await store.log.append(run, -1, parked_batch(run, -1, wake_at)) is None
    return run


async def that_a_run_is_parked_comes_back(store: Store) -> None:
    """Every method that returns a projection returns the last `parked` and `wake_at`, also those of a first batch."""
    run = header().key
    assert await store.log.create(header(), (), None, False, parked_batch(run, -1, NOW)) == RunCreated()
    given = parked_batch(run, -1, NOW)
    for expected, following in enumerate(
        (
            parked_batch(run, 0, NOW + 1),
            parked_batch(run, 1),
            parked_batch(run, 2, NOW + 2, parked=False),
            parked_batch(run, 3, NOW + 3),
            batch(run, 4),
            parked_batch(run, 5, NOW + 4),
            batch(run, 6, 1, "completed"),
        )
    ):
        found = await stored_run(store, run)
        (listed,) = (await store.queries.list_runs(ACME, RunQuery())).runs
        for seen in (found.projection, listed.projection, await store.log.projection(run)):
            assert seen is not None
            assert seen == given.projection
            assert isinstance(seen.parked, bool)
        await store.log.append(run, expected, following)
        given = following


async def parked_runs_are_not_recovered(store: Store) -> None:
    """`unfinished_runs` omits parked runs, and accepts one as its cursor."""
    runs = [await make_parked_run(store, f"run-{number}", None, OTHER if number % 2 else ACME) for number in range(6)]
    awake = await make_run(store, "awake", status="running")
    born = header("born")
    await store.log.create(born, (), None, False, parked_batch(born.key, -1, NOW))
    assert await unfinished(store, None, 10) == [awake]
    assert await unfinished(store, runs[2], 10) == [awake]
    for number, status in enumerate[Status](("running", "waiting-input", "cancelled", "running"), 1):
        await store.log.append(runs[number], 0, batch(runs[number], 0, 1, status))
    assert await unfinished(store, None, 10) == [runs[1], runs[2], runs[4], awake]
    assert await unfinished(store, runs[0], 1) == [runs[1]]
    assert await unfinished(store, runs[3], 10) == [runs[4], awake]
    await store.log.append(awake, 0, parked_batch(awake, 0))
    assert await unfinished(store, None, 10) == [runs[1], runs[2], runs[4]]


async def the_next_wake_is_the_earliest(store: Store) -> None:
    """`next_wake` is the earliest `wake_at` of a parked run after the given time; None if there is no such run."""
    assert await store.queries.next_wake() is None
    await make_parked_run(store, "no-wake-time")
    awake = await make_run(store, "awake")
    await store.log.append(awake, -1, parked_batch(awake, -1, NOW - 9, parked=False))
    assert await store.queries.next_wake() is None
    late, early = await make_parked_run(store, "late", NOW + 9), await make_parked_run(store, "early", NOW + 3, OTHER)
    assert await store.queries.next_wake() == NOW + 3
    await store.log.append(late, 0, parked_batch(late, 0, NOW + 1))
    assert await store.queries.next_wake() == NOW + 1
    for after, coming in ((NOW, NOW + 1), (NOW + 1, NOW + 3), (NOW + 2, NOW + 3), (NOW + 3, None)):
        assert await store.queries.next_wake(after) == coming
    await store.log.append(late, 1, batch(late, 1, 1, "running"))
    assert await store.queries.next_wake() == NOW + 3
    await store.log.append(early, 0, batch(early, 0, 1, "failed"))
    assert await store.queries.next_wake() is None


async def due_runs_come_earliest_first(store: Store) -> None:
    """`due_runs` returns at most `limit` parked runs of all partitions whose `wake_at` is not after the given time,
    ordered by `wake_at` and then by age."""
    runs: dict[str, RunKey] = {}
    for number, (name, wake) in enumerate((("a", 5), ("b", 1), ("c", 5), ("d", 9), ("e", 1))):
        runs[name] = await make_parked_run(store, f"run-{9 - number}", NOW + wake, OTHER if number % 2 else ACME)
    await make_parked_run(store, "no-wake-time")
    awake = await make_run(store, "awake")
    await store.log.append(awake, -1, parked_batch(awake, -1, NOW, parked=False))
    for until, names in ((0, ""), (1, "be"), (4, "be"), (5, "beac"), (8, "beac"), (2**40, "beacd")):
        for limit in (0, 1, 3, 10):
            assert await store.queries.due_runs(NOW + until, limit) == [runs[name] for name in names[:limit]]
    await store.log.append(runs["b"], 0, parked_batch(runs["b"], 0, NOW + 7))
    await store.log.append(runs["e"], 0, batch(runs["e"], 0, 1, "cancelled"))
    await store.log.append(runs["a"], 0, batch(runs["a"], 0, 1, "running"))
    assert await store.queries.due_runs(NOW + 10, 10) == [runs["c"], runs["b"], runs["d"]]


async def timed_runs_are_listed_in_pages(store: Store) -> None:
    """`timed_runs` returns at most `limit` parked runs of all partitions that have a `wake_at`, ordered by `wake_at`
    and then by age, with the time of their last event. A run that has ended is still a position in that order."""
    runs: dict[str, RunKey] = {}
    for number, (name, wake) in enumerate((("a", 5), ("b", 1), ("c", 5), ("d", 9), ("e", 1))):
        run = runs[name] = await make_run(store, f"run-{9 - number}", OTHER if number % 2 else ACME)
        await store.log.append(run, -1, _at(parked_batch(run, -1, NOW + wake), NOW + number))
    await make_parked_run(store, "no-wake-time")
    awake = await make_run(store, "awake")
    await store.log.append(awake, -1, parked_batch(awake, -1, NOW, parked=False))
    listed = await store.queries.timed_runs(None, 10)
    assert [each.run for each in listed] == [runs[name] for name in "beacd"]
    times = [(each.wake_at - NOW, each.last_event_at - NOW) for each in listed]
    assert times == [(1, 1), (1, 4), (5, 0), (5, 2), (9, 3)]
    for limit in (1, 2, 3, 10):
        assert await walk(lambda after, limit=limit: store.queries.timed_runs(after, limit), limit) == listed
    assert await store.queries.timed_runs(None, 0) == []
    await store.log.append(runs["e"], 0, batch(runs["e"], 0, 1, "cancelled"))
    await store.log.append(runs["b"], 0, _at(parked_batch(runs["b"], 0, NOW + 7), NOW + 6))
    rest = [(each.run, each.last_event_at - NOW) for each in await store.queries.timed_runs(listed[1], 10)]
    assert rest == [(runs["a"], 0), (runs["c"], 2), (runs["b"], 6), (runs["d"], 3)]


def _at(given: Batch, timestamp: int) -> Batch:
    return replace(given, events=tuple(replace(each, timestamp=timestamp) for each in given.events))


async def unfinished_runs_are_found(store: Store) -> None:
    """`unfinished_runs` returns the runs of all partitions that have not ended, oldest first."""
    live: list[RunKey] = []
    for number in range(20):
        status = STATUSES[number % len(STATUSES)]
        run = await make_run(store, f"run-{99 - number}", OTHER if number % 3 else ACME, status)
        if status not in TERMINAL_STATUSES:
            live.append(run)
    assert await unfinished(store, None, 100) == live
    await store.log.append(live[0], -1, batch(live[0], -1, status="cancelled"))
    assert await unfinished(store, None, 100) == live[1:]


async def unfinished_runs_come_in_pages(store: Store) -> None:
    """Walking `unfinished_runs` by pages returns each live run once, even if the run of the cursor has ended."""
    live = [await make_run(store, f"run-{number}", OTHER if number % 2 else ACME) for number in range(11)]
    for limit in (1, 3, 11, 50):
        assert await walk(partial(unfinished, store, limit=limit), limit) == live
    await store.log.append(live[4], -1, batch(live[4], -1, status="failed"))
    assert await unfinished(store, live[4], 3) == live[5:8]


async def unfinished_runs_end_at_a_bound(store: Store) -> None:
    """`newest_run` is a bound for `unfinished_runs` and `count_unfinished`: later runs are left out, also when the run
    of the bound has ended or was deleted."""
    assert await store.queries.newest_run() is None
    live = [await make_run(store, f"run-{9 - number}", OTHER if number % 2 else ACME) for number in range(8)]
    bound = live[-1]
    assert await store.queries.newest_run() == bound
    await make_run(store, "later", OTHER)
    for limit in (1, 3, 50):
        assert await walk(partial(unfinished, store, limit=limit, until=bound), limit) == live
    assert await store.queries.count_unfinished(bound) == 8
    assert await store.queries.count_unfinished(live[2]) == 3
    await store.log.append(bound, -1, batch(bound, -1, status="failed"))
    assert await store.queries.newest_run() == RunKey(OTHER, "later")
    assert await store.retention.delete(bound, NOW) is True
    assert await unfinished(store, live[5], 50, bound) == live[6:7]
    assert await store.queries.count_unfinished(bound) == 7
    assert await unfinished(store, None, 50, RunKey(ACME, "unknown")) == []


async def unfinished_runs_of_one_partition(store: Store) -> None:
    """`unfinished_runs` with a partition returns its runs only; the cursor may be a run of another partition."""
    live = [await make_run(store, f"run-{number}", OTHER if number % 3 else ACME) for number in range(9)]
    assert await walk(partial(unfinished, store, limit=2, partition=ACME), 2) == live[::3]
    assert await unfinished(store, live[1], 10, live[5], ACME) == live[3:4]
    assert await unfinished(store, None, 10, None, "live:nobody") == []
