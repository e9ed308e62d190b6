"""Checks of parked runs: who starts a host does not meet them, and they are found when their time comes."""

from typing import Final

from msgspec.structs import replace

from weftwork.ports.eventlog import Batch, Created, RunQuery
from weftwork.protocol.run import RunKey, Status
from weftwork.testing.storage.sample import ACME, NOW, OTHER, batch, header, make_run
from weftwork.testing.storage.store import Check, Store


def waiting(run: RunKey, expected: int, wake_at: int | None = None, parked: bool = True) -> Batch:
    """One event after which the run is parked, or not."""
    made = batch(run, expected, 1, "waiting-approval")
    return replace(made, projection=replace(made.projection, parked=parked, wake_at=wake_at))


async def park(store: Store, run_id: str, wake_at: int | None = None, partition: str = ACME) -> RunKey:
    """A new run that is parked."""
    run = await make_run(store, run_id, partition)
    assert await store.log.append(run, -1, waiting(run, -1, wake_at)) is None
    return run


async def that_a_run_is_parked_comes_back(store: Store) -> None:
    """`parked` and `wake_at` are as given last, with the first batch too, in all that shows a projection."""
    made = header()
    run = made.key
    assert await store.log.create(made, (), None, False, waiting(run, -1, NOW)) == Created()
    given = waiting(run, -1, NOW)
    for expected, following in enumerate(
        (
            waiting(run, 0, NOW + 1),
            waiting(run, 1),
            waiting(run, 2, NOW + 2, parked=False),
            waiting(run, 3, NOW + 3),
            batch(run, 4),
            waiting(run, 5, NOW + 4),
            batch(run, 6, 1, "completed"),
        )
    ):
        found = await store.log.stored(run)
        assert found is not None
        (listed,) = (await store.log.list_runs(ACME, RunQuery())).runs
        for seen in (found.projection, listed.projection, await store.log.projection(run)):
            assert seen is not None
            assert seen == given.projection
            assert isinstance(seen.parked, bool)
        await store.log.append(run, expected, following)
        given = following


async def parked_runs_are_not_recovered(store: Store) -> None:
    """`unfinished` leaves parked runs out while they are parked, and goes on after one."""
    runs = [await park(store, f"run-{number}", None, OTHER if number % 2 else ACME) for number in range(6)]
    awake = await make_run(store, "awake", status="running")
    born = header("born")
    await store.log.create(born, (), None, False, waiting(born.key, -1, NOW))
    assert await store.log.unfinished(None, 10) == [awake]
    assert await store.log.unfinished(runs[2], 10) == [awake]
    for number, status in enumerate[Status](("running", "waiting-input", "cancelled", "running"), 1):
        await store.log.append(runs[number], 0, batch(runs[number], 0, 1, status))
    assert await store.log.unfinished(None, 10) == [runs[1], runs[2], runs[4], awake]
    assert await store.log.unfinished(runs[0], 1) == [runs[1]]
    assert await store.log.unfinished(runs[3], 10) == [runs[4], awake]
    await store.log.append(awake, 0, waiting(awake, 0))
    assert await store.log.unfinished(None, 10) == [runs[1], runs[2], runs[4]]


async def the_next_wake_is_the_earliest(store: Store) -> None:
    """`next_wake` is the least `wake_at` after an instant of the runs that are parked now, None when there is none."""
    assert await store.log.next_wake() is None
    await park(store, "for-ever")
    awake = await make_run(store, "awake")
    await store.log.append(awake, -1, waiting(awake, -1, NOW - 9, parked=False))
    assert await store.log.next_wake() is None
    late, early = await park(store, "late", NOW + 9), await park(store, "early", NOW + 3, OTHER)
    assert await store.log.next_wake() == NOW + 3
    await store.log.append(late, 0, waiting(late, 0, NOW + 1))
    assert await store.log.next_wake() == NOW + 1
    for after, coming in ((NOW, NOW + 1), (NOW + 1, NOW + 3), (NOW + 2, NOW + 3), (NOW + 3, None)):
        assert await store.log.next_wake(after) == coming
    await store.log.append(late, 1, batch(late, 1, 1, "running"))
    assert await store.log.next_wake() == NOW + 3
    await store.log.append(early, 0, batch(early, 0, 1, "failed"))
    assert await store.log.next_wake() is None


async def due_runs_come_earliest_first(store: Store) -> None:
    """`due` gives the parked runs of all partitions whose instant has come, that very one included, at most `limit`,
    the earliest first and of equal ones the older run."""
    runs: dict[str, RunKey] = {}
    for number, (name, wake) in enumerate((("a", 5), ("b", 1), ("c", 5), ("d", 9), ("e", 1))):
        runs[name] = await park(store, f"run-{9 - number}", NOW + wake, OTHER if number % 2 else ACME)
    await park(store, "for-ever")
    awake = await make_run(store, "awake")
    await store.log.append(awake, -1, waiting(awake, -1, NOW, parked=False))
    for until, names in ((0, ""), (1, "be"), (4, "be"), (5, "beac"), (8, "beac"), (2**40, "beacd")):
        for limit in (0, 1, 3, 10):
            assert await store.log.due(NOW + until, limit) == [runs[name] for name in names[:limit]]
    await store.log.append(runs["b"], 0, waiting(runs["b"], 0, NOW + 7))
    await store.log.append(runs["e"], 0, batch(runs["e"], 0, 1, "cancelled"))
    await store.log.append(runs["a"], 0, batch(runs["a"], 0, 1, "running"))
    assert await store.log.due(NOW + 10, 10) == [runs["c"], runs["b"], runs["d"]]


CHECKS: Final[tuple[Check, ...]] = (
    that_a_run_is_parked_comes_back,
    parked_runs_are_not_recovered,
    the_next_wake_is_the_earliest,
    due_runs_come_earliest_first,
)
