"""Checks of `list_runs`."""

from collections.abc import Iterator
from itertools import product
from typing import Final

import msgspec

from weftwork.ports.eventlog import Projection, RunQuery, StateRow, Stored
from weftwork.protocol.run import STATUSES, RunHeader, Status
from weftwork.testing.storage.sample import ACME, OTHER, batch, header, make_run
from weftwork.testing.storage.store import Check, Store

_WORKFLOWS = ("greet", "order", "report")


async def runs_are_listed_newest_first(store: Store) -> None:
    """The run created last comes first, whatever its id and time say; rows are left out."""
    for run_id, created_at in (("run-b", 3), ("run-c", 1), ("run-a", 2)):
        run = await make_run(store, run_id, created_at=created_at, inputs={"of": run_id})
        await store.log.append(run, -1, batch(run, -1, rows=(StateRow("variable", "v", b"1"),)))
    page = await store.log.list_runs(ACME, RunQuery())
    projection = batch(header().key, -1).projection
    assert page.runs == tuple(
        Stored(header(run_id, created_at=created_at, inputs={"of": run_id}), projection)
        for run_id, created_at in (("run-a", 2), ("run-c", 1), ("run-b", 3))
    )


async def a_listing_follows_the_status(store: Store) -> None:
    """A run moves from one status filter to the other with the append that changes it."""
    run = await make_run(store)
    for expected, status in enumerate[Status](("running", "waiting-input", "running", "cancelling", "cancelled"), -1):
        await store.log.append(run, expected, batch(run, expected, status=status))
        for asked in STATUSES:
            page = await store.log.list_runs(ACME, RunQuery(statuses=(asked,)))
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
            assert await _walk(store, msgspec.structs.replace(query, limit=limit)) == wanted


async def a_page_has_a_cursor_while_runs_are_left(store: Store) -> None:
    """A page never holds more than `limit` runs, and says `more` with a cursor unless it is the last."""
    for number in range(6):
        await make_run(store, f"run-{number}", tags=("t",))
    for tags in ((), ("t",)):
        page = await store.log.list_runs(ACME, RunQuery(tags=tags, limit=4))
        assert len(page.runs) <= 4
        assert page.more
        assert page.last is not None
        rest = await store.log.list_runs(ACME, RunQuery(tags=tags, before="run-1"))
        assert [found.header.run_id for found in rest.runs] == ["run-0"]
        assert not rest.more


async def new_runs_do_not_disturb_a_walk(store: Store) -> None:
    """Runs that are created, or change, while a listing is walked neither repeat nor hide the others."""
    for number in range(10):
        await make_run(store, f"run-{number}")
    seen: list[str] = []
    query = RunQuery(limit=3)
    while True:
        page = await store.log.list_runs(ACME, query)
        seen += [found.header.run_id for found in page.runs]
        if not page.more:
            break
        query = msgspec.structs.replace(query, before=page.last)
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
        page = await store.log.list_runs(ACME, RunQuery(before=before))
        assert (page.runs, page.more) == ((), False)


def _variety() -> Iterator[tuple[RunHeader, Status]]:
    """Runs of every status and workflow and several tags, oldest first."""
    for number in range(60):
        marks = [("all", True), ("even", number % 2 == 0), ("third", number % 3 == 0)]
        tags = tuple(tag for tag, has in marks if has)
        workflow_id = _WORKFLOWS[number % 7 % 3]
        yield header(f"run-{number:02}", workflow_id=workflow_id, tags=tags), STATUSES[number % len(STATUSES)]


async def _fill(store: Store) -> list[Stored]:
    """Store the variety, with another tenant's runs between; returns it as stored, newest first."""
    made: list[Stored] = []
    for given, status in _variety():
        run = await make_run(store, given.run_id, status=status, workflow_id=given.workflow_id, tags=given.tags)
        await make_run(store, f"theirs-{given.run_id}", OTHER, tags=("all",))
        projection = Projection("pending") if status == "pending" else batch(run, -1, status=status).projection
        made.append(Stored(given, projection))
    return made[::-1]


def _matches(run: Stored, query: RunQuery) -> bool:
    return (
        (not query.statuses or run.projection.status in query.statuses)
        and query.workflow_id in (None, run.header.workflow_id)
        and set(query.tags) <= set(run.header.tags)
    )


async def _walk(store: Store, query: RunQuery) -> list[Stored]:
    found: list[Stored] = []
    while True:
        page = await store.log.list_runs(ACME, query)
        assert len(page.runs) <= query.limit
        found += page.runs
        if not page.more:
            return found
        assert page.last is not None
        assert page.last != query.before
        query = msgspec.structs.replace(query, before=page.last)


CHECKS: Final[tuple[Check, ...]] = (
    runs_are_listed_newest_first,
    a_listing_follows_the_status,
    filters_combine,
    a_page_has_a_cursor_while_runs_are_left,
    new_runs_do_not_disturb_a_walk,
    an_unknown_cursor_ends_the_listing,
)
