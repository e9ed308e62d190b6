"""Checks of `RunQueries` on runs: listings, and what a host finds to execute at its start or when time has passed."""

from collections.abc import Iterator
from functools import partial
from itertools import product

from msgspec.structs import replace

from weftwork.ports.storage.event_log import RunCreated
from weftwork.ports.storage.run_queries import RunQuery
from weftwork.protocol.run.batch import Batch
from weftwork.protocol.run.header import STATUSES, TERMINAL_STATUSES, RunHeader, RunKey, Status
from weftwork.protocol.run.projection import Projection, StateRow, StoredRun
from weftwork.testing.storage.harness import ACME, NOW, OTHER, Store, batch, header, make_run, stored_run, walk

_WORKFLOWS = ("greet", "order", "report")


async def runs_are_listed_newest_first(store: Store) -> None:
    """The run created last comes first, whatever its id and time say; rows are left out."""
    for run_id, created_at in (("run-b", 3), ("run-c", 1), ("run-a", 2)):
        run = await make_run(store, run_id, created_at=created_at, inputs={"of": run_id})
        await store.log.append(run, -1, batch(run, -1, rows=(StateRow("variable", "v", b"1"),)))
    page = await store.queries.list_runs(ACME, RunQuery())
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
            page = await store.queries.list_runs(ACME, RunQuery(statuses=(asked,)))
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
            assert await _walk(store, replace(query, limit=limit)) == wanted


async def a_page_has_a_cursor_while_runs_are_left(store: Store) -> None:
    """A page never holds more than `limit` runs, and says `more` with a cursor unless it is the last."""
    for number in range(6):
        await make_run(store, f"run-{number}", tags=("t",))
    for tags in ((), ("t",)):
        page = await store.queries.list_runs(ACME, RunQuery(tags=tags, limit=4))
        assert len(page.runs) <= 4
        assert page.more
        assert page.last is not None
        rest = await store.queries.list_runs(ACME, RunQuery(tags=tags, before="run-1"))
        assert [found.header.run_id for found in rest.runs] == ["run-0"]
        assert not rest.more


async def new_runs_do_not_disturb_a_walk(store: Store) -> None:
    """Runs that are created, or change, while a listing is walked neither repeat nor hide the others."""
    for number in range(10):
        await make_run(store, f"run-{number}")
    seen: list[str] = []
    query = RunQuery(limit=3)
    while True:
        page = await store.queries.list_runs(ACME, query)
        seen += [found.header.run_id for found in page.runs]
        if not page.more:
            break
        query = replace(query, before=page.last)
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
        page = await store.queries.list_runs(ACME, RunQuery(before=before))
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
        page = await store.queries.list_runs(ACME, query)
        assert len(page.runs) <= query.limit
        found += page.runs
        if not page.more:
            return found
        assert page.last is not None
        assert page.last != query.before
        query = replace(query, before=page.last)


def parked_batch(run: RunKey, expected: int, wake_at: int | None = None, parked: bool = True) -> Batch:
    """One event after which the run is parked, or not."""
    made = batch(run, expected, 1, "waiting-approval")
    return replace(made, projection=replace(made.projection, parked=parked, wake_at=wake_at))


async def make_parked_run(store: Store, run_id: str, wake_at: int | None = None, partition: str = ACME) -> RunKey:
    """A new run that is parked."""
    run = await make_run(store, run_id, partition)
    assert await store.log.append(run, -1, parked_batch(run, -1, wake_at)) is None
    return run


async def that_a_run_is_parked_comes_back(store: Store) -> None:
    """`parked` and `wake_at` are as given last, with the first batch too, in all that shows a projection."""
    made = header()
    run = made.key
    assert await store.log.create(made, (), None, False, parked_batch(run, -1, NOW)) == RunCreated()
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
    """`unfinished_runs` leaves parked runs out while they are parked, and goes on after one."""
    runs = [await make_parked_run(store, f"run-{number}", None, OTHER if number % 2 else ACME) for number in range(6)]
    awake = await make_run(store, "awake", status="running")
    born = header("born")
    await store.log.create(born, (), None, False, parked_batch(born.key, -1, NOW))
    assert await store.queries.unfinished_runs(None, 10) == [awake]
    assert await store.queries.unfinished_runs(runs[2], 10) == [awake]
    for number, status in enumerate[Status](("running", "waiting-input", "cancelled", "running"), 1):
        await store.log.append(runs[number], 0, batch(runs[number], 0, 1, status))
    assert await store.queries.unfinished_runs(None, 10) == [runs[1], runs[2], runs[4], awake]
    assert await store.queries.unfinished_runs(runs[0], 1) == [runs[1]]
    assert await store.queries.unfinished_runs(runs[3], 10) == [runs[4], awake]
    await store.log.append(awake, 0, parked_batch(awake, 0))
    assert await store.queries.unfinished_runs(None, 10) == [runs[1], runs[2], runs[4]]


async def the_next_wake_is_the_earliest(store: Store) -> None:
    """`next_wake` is the least `wake_at` after an instant of the runs that are parked now, None when there is none."""
    assert await store.queries.next_wake() is None
    await make_parked_run(store, "for-ever")
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
    """`due` gives the parked runs of all partitions whose instant has come, that very one included, at most `limit`,
    the earliest first and of equal ones the older run."""
    runs: dict[str, RunKey] = {}
    for number, (name, wake) in enumerate((("a", 5), ("b", 1), ("c", 5), ("d", 9), ("e", 1))):
        runs[name] = await make_parked_run(store, f"run-{9 - number}", NOW + wake, OTHER if number % 2 else ACME)
    await make_parked_run(store, "for-ever")
    awake = await make_run(store, "awake")
    await store.log.append(awake, -1, parked_batch(awake, -1, NOW, parked=False))
    for until, names in ((0, ""), (1, "be"), (4, "be"), (5, "beac"), (8, "beac"), (2**40, "beacd")):
        for limit in (0, 1, 3, 10):
            assert await store.queries.due_runs(NOW + until, limit) == [runs[name] for name in names[:limit]]
    await store.log.append(runs["b"], 0, parked_batch(runs["b"], 0, NOW + 7))
    await store.log.append(runs["e"], 0, batch(runs["e"], 0, 1, "cancelled"))
    await store.log.append(runs["a"], 0, batch(runs["a"], 0, 1, "running"))
    assert await store.queries.due_runs(NOW + 10, 10) == [runs["c"], runs["b"], runs["d"]]


async def unfinished_runs_are_found(store: Store) -> None:
    """`unfinished_runs` gives the runs of all partitions that have not ended, oldest first."""
    live: list[RunKey] = []
    for number in range(20):
        status = STATUSES[number % len(STATUSES)]
        run = await make_run(store, f"run-{99 - number}", OTHER if number % 3 else ACME, status)
        if status not in TERMINAL_STATUSES:
            live.append(run)
    assert await store.queries.unfinished_runs(None, 100) == live
    await store.log.append(live[0], -1, batch(live[0], -1, status="cancelled"))
    assert await store.queries.unfinished_runs(None, 100) == live[1:]


async def unfinished_runs_come_in_pages(store: Store) -> None:
    """Asking on after the last run of a page gives each live run once, even if that one has ended since."""
    live = [await make_run(store, f"run-{number}", OTHER if number % 2 else ACME) for number in range(11)]
    for limit in (1, 3, 11, 50):
        assert await walk(partial(store.queries.unfinished_runs, limit=limit), limit) == live
    await store.log.append(live[4], -1, batch(live[4], -1, status="failed"))
    assert await store.queries.unfinished_runs(live[4], 3) == live[5:8]
