"""Checks of `RunQueries`: listings of runs and open interrupts."""

from collections.abc import Callable
from itertools import product
from typing import Any, Final

from msgspec.structs import replace

from weftwork.ports.storage.event_log import RunCreated, SequenceConflict
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.ports.storage.run_queries import InterruptPage, InterruptQuery, OpenInterrupt, RunQuery
from weftwork.protocol.run.batch import Batch
from weftwork.protocol.run.header import STATUSES, RunKey, Status
from weftwork.protocol.run.projection import InterruptListing, Projection, StateRow, StoredRun
from weftwork.testing.storage.harness import Store, catch, list_all_runs, opened, purge, stored_run, walk
from weftwork.testing.storage.samples import (
    ACME,
    NOW,
    OTHER,
    batch,
    event,
    header,
    make_parked_run,
    make_run,
    parked_batch,
    record,
    unfinished,
)

_WORKFLOWS = ("greet", "order", "report")


async def runs_are_listed_newest_first(store: Store) -> None:
    """Runs are listed newest first by order of creation, independent of their ids and times, and without rows."""
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
    """A status filter reflects every append that changes the status."""
    run = await make_run(store)
    for expected, status in enumerate[Status](("running", "waiting-input", "running", "cancelling", "cancelled"), -1):
        await store.log.append(run, expected, batch(run, expected, status=status))
        for filtered in STATUSES:
            page = await store.queries.list_runs(ACME, RunQuery(statuses=(filtered,)))
            assert len(page.runs) == (filtered == status)


async def filters_combine(store: Store) -> None:
    """A listing returns the runs with one of the statuses, the workflow and all tags. Walking the pages returns each of
    them once, in order, for any limit."""
    everything = await _fill(store)
    statuses = ((), ("running",), ("completed", "pending"), ("failed", "failed", "cancelled"), STATUSES)
    tags = ((), ("all",), ("even",), ("even", "third"), ("third", "third"), ("nobody",))
    for some, workflow, tagged in product(statuses, (None, "order", "unknown"), tags):
        query = RunQuery(some, workflow, tagged)
        wanted = [run for run in everything if _matches(run, query)]
        for limit in (1, 4, 100):
            assert await list_all_runs(store, replace(query, limit=limit)) == wanted


async def a_page_has_a_cursor_while_runs_are_left(store: Store) -> None:
    """A page has at most `limit` runs. Unless it is the last, it has `more` and a cursor."""
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
    """Runs that are created or changed during a walk neither repeat nor hide others."""
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
    """A cursor with a run id that the partition does not have gives an empty page."""
    await make_run(store)
    await make_run(store, "theirs", OTHER)
    await make_run(store, "run-b")
    for before in ("nobody", "theirs", ""):
        page = await store.queries.list_runs(ACME, RunQuery(before=before))
        assert (page.runs, page.more) == ((), False)


async def _fill(store: Store) -> list[StoredRun]:
    """Create runs of every status and workflow with various tags, alternating with runs of another tenant. Returns the
    stored runs, newest first."""
    created: list[StoredRun] = []
    for number in range(60):
        run_id, status = f"run-{number:02}", STATUSES[number % len(STATUSES)]
        marks = [("all", True), ("even", number % 2 == 0), ("third", number % 3 == 0)]
        fields: dict[str, Any] = {
            "workflow_id": _WORKFLOWS[number % 7 % 3],
            "tags": tuple(tag for tag, has in marks if has),
        }
        run = await make_run(store, run_id, status=status, **fields)
        await make_run(store, f"theirs-{run_id}", OTHER, tags=("all",))
        projection = Projection("pending") if status == "pending" else batch(run, -1, status=status).projection
        created.append(StoredRun(header(run_id, **fields), projection))
    return created[::-1]


def _matches(run: StoredRun, query: RunQuery) -> bool:
    return (
        (not query.statuses or run.projection.status in query.statuses)
        and query.workflow_id in (None, run.header.workflow_id)
        and set(query.tags) <= set(run.header.tags)
    )


ALL: Final = InterruptQuery()
NONE_OPEN: Final = InterruptPage((), None, False)


def interrupt(name: str, at: int = 0, kind: str = "approval", node: str = "gate", due: int | None = None) -> StateRow:
    """The row of an open interrupt that was requested `at` milliseconds after NOW."""
    return StateRow("interrupt", name, b'{"status":"open"}', InterruptListing(kind, node, NOW + at, due))


def resolved_interrupt(name: str) -> StateRow:
    return StateRow("interrupt", name, b'{"status":"resolved"}')


def open_interrupt(run: RunKey, row: StateRow, workflow_id: str = "greet") -> OpenInterrupt:
    """The entry of an open interrupt in a list."""
    assert row.listing is not None
    return OpenInterrupt(run.run_id, workflow_id, row.name, row.listing, row.value)


async def append_rows(store: Store, run: RunKey, expected: int, *rows: StateRow) -> None:
    assert await store.log.append(run, expected, batch(run, expected, 1, "waiting-approval", rows)) is None


async def list_all(store: Store, query: InterruptQuery = ALL, partition: str = ACME) -> list[OpenInterrupt]:
    found: list[OpenInterrupt] = []
    while True:
        page = await store.queries.list_interrupts(partition, query)
        assert len(page.interrupts) <= query.limit
        assert page.more is (page.last is not None)
        found += page.interrupts
        if not page.more:
            return found
        assert page.last != query.after
        query = replace(query, after=page.last)


async def open_interrupts_are_listed_oldest_first(store: Store) -> None:
    """Open interrupts are listed by request time, independent of their run and commit order. Each has its run, its
    workflow and its row, byte for byte."""
    first = await make_run(store, "run-z", workflow_id="order")
    late, early, middle = interrupt("i1", 9), interrupt("i2", 1, "clarification", "ask", NOW + 7), interrupt("i3", 5)
    middle = replace(middle, value=b'{ "data" : "' + "é".encode() * 40_000 + b'"}')
    await append_rows(store, first, -1, late, early)
    second = header("run-a")
    with_first = batch(second.key, -1, 1, "waiting-input", (middle, StateRow("variable", "i9", b"1")))
    assert await store.log.create(second, (), None, False, with_first) == RunCreated()
    page = await store.queries.list_interrupts(ACME, InterruptQuery())
    wanted = (
        open_interrupt(first, early, "order"),
        open_interrupt(second.key, middle),
        open_interrupt(first, late, "order"),
    )
    assert page == InterruptPage(wanted, None, False)


async def an_interrupt_is_listed_while_it_is_open(store: Store) -> None:
    """A row with a `listing` lists its interrupt, a later row replaces the entry, and a row without a `listing` removes
    it, each together with its append. Other rows have no effect. `read_run` returns the rows without `listing`."""
    run = await make_run(store)
    other = await make_run(store, "run-b")
    theirs = interrupt("i1", 3)
    await append_rows(store, other, -1, theirs)
    assert await list_all(store) == [open_interrupt(other, theirs)]
    requested = interrupt("i1")
    voted = replace(interrupt("i1", 0, due=NOW + 100), value=b'{"status":"open","votes":[1]}')
    later = interrupt("i1", 10, "low-confidence", "other-gate")
    for expected, row in enumerate((requested, voted, later), -1):
        await append_rows(store, run, expected, row)
        assert await list_all(store) == sorted((open_interrupt(run, row), open_interrupt(other, theirs)), key=_sort_key)
    await append_rows(store, run, 2, StateRow("variable", "i1", b"1"), StateRow("node", "gate", b"{}"))
    assert await list_all(store) == [open_interrupt(other, theirs), open_interrupt(run, later)]
    await append_rows(store, run, 3, interrupt("i2"), resolved_interrupt("i1"))
    assert await list_all(store) == [open_interrupt(run, interrupt("i2")), open_interrupt(other, theirs)]
    found = await stored_run(store, run)
    kept = [row for row in found.rows if row.kind == "interrupt"]
    assert kept == [resolved_interrupt("i1"), replace(interrupt("i2"), listing=None)]
    await append_rows(store, run, 4, resolved_interrupt("i1"), resolved_interrupt("i2"), resolved_interrupt("i3"))
    assert await list_all(store) == [open_interrupt(other, theirs)]


async def filters_of_interrupts_combine(store: Store) -> None:
    """A list has the interrupts with one of the kinds, the workflow, the run, the node and a deadline before the given
    time. Walking the pages returns each of them once, in order, for any limit."""
    everything = await _fill_interrupts(store)
    kinds = ((), ("approval",), ("custom", "clarification", "custom"), ("nothing",))
    whole = product(kinds, (None, "order"), (None, "run-3", "nobody"), (None, "node-1"), (None, NOW, NOW + 60))
    for some, workflow, run, node, due in whole:
        query = InterruptQuery(some, workflow, run, node, due)
        wanted = [each for each in everything if _matches_interrupt(each, query)]
        for limit in (1, 7, 100):
            assert await list_all(store, replace(query, limit=limit)) == wanted


async def resolved_interrupts_do_not_disturb_a_walk(store: Store) -> None:
    """Interrupts that are requested or resolved during a walk neither repeat nor hide others, even if the interrupt of
    the cursor is resolved."""
    run = await make_run(store)
    rows = [interrupt(f"i{number}", number // 2) for number in range(12)]
    await append_rows(store, run, -1, *rows)
    seen: list[str] = []
    query = InterruptQuery(limit=3)
    expected = 0
    more = True
    while more:
        page = await store.queries.list_interrupts(ACME, query)
        names = [each.interrupt_id for each in page.interrupts]
        seen += names
        more = page.more
        query = replace(query, after=page.last)
        await append_rows(store, run, expected, *map(resolved_interrupt, names), interrupt(f"late-{expected}", -5))
        expected += 1
    assert seen == sorted((row.name for row in rows), key=lambda name: (int(name[1:]) // 2, name))


async def an_unknown_place_ends_the_list(store: Store) -> None:
    """An invalid cursor gives an empty page and no error."""
    run = await make_run(store)
    await append_rows(store, run, -1, interrupt("i1"))
    for after in ("", "nobody", "run-a", "{}", "[]", '[null,"run-a","i1"]', "\x00", "\ud800", "9" * 5000):
        assert await store.queries.list_interrupts(ACME, InterruptQuery(after=after)) == NONE_OPEN


async def another_partition_sees_no_interrupts(store: Store) -> None:
    """Interrupts of another partition are never listed. Equal ids in two partitions are different interrupts."""
    run = await make_run(store)
    mine = interrupt("i1")
    await append_rows(store, run, -1, mine)
    queries = (InterruptQuery(), InterruptQuery(run_id=run.run_id), InterruptQuery(workflow_id="greet"))
    for partition, query in product((OTHER, "test:acme", "LIVE:ACME", ""), queries):
        assert await store.queries.list_interrupts(partition, query) == NONE_OPEN
    stranger = await make_run(store, run.run_id, OTHER)
    theirs = interrupt("i1", 5, "custom")
    await append_rows(store, stranger, -1, theirs)
    for query in queries:
        assert await list_all(store, query) == [open_interrupt(run, mine)]
        assert await list_all(store, query, OTHER) == [open_interrupt(stranger, theirs)]
    await append_rows(store, stranger, 0, resolved_interrupt("i1"))
    assert await list_all(store) == [open_interrupt(run, mine)]


async def a_refused_append_lists_nothing(store: Store) -> None:
    """A refused append (a conflict, a taken slot, an inconsistent batch) neither adds nor removes an open interrupt."""
    run = await make_run(store)
    await append_rows(store, run, -1, interrupt("i1"))
    await store.records.save_record(record())
    rows = (resolved_interrupt("i1"), interrupt("i2"))
    for expected in (-1, 7):
        refused = store.log.append(run, expected, batch(run, expected, 1, "running", rows))
        assert isinstance(await catch(refused), SequenceConflict)
    taken = batch(run, 0, 1, "running", rows, record=record())
    assert await store.log.append(run, 0, taken) == SlotTaken(record())
    broken = Batch((event(run, 5),), batch(run, 0).projection, rows)
    assert await catch(store.log.append(run, 0, broken)) is not None
    nobody = RunKey(ACME, "nobody")
    assert await catch(store.log.append(nobody, -1, batch(nobody, -1, 1, "running", rows))) is not None
    assert await list_all(store) == [open_interrupt(run, interrupt("i1"))]


async def an_ended_run_has_no_open_interrupts(store: Store) -> None:
    """The open interrupts of a run are not listed after its end, after its deletion, or for a new run with its id."""
    run = await make_run(store)
    kept = await make_run(store, "kept")
    await append_rows(store, kept, -1, interrupt("i1"))
    left = tuple(interrupt(f"i{number}") for number in range(40))
    await append_rows(store, run, -1, *left)
    assert len(await list_all(store)) == 41
    for query in (InterruptQuery(), InterruptQuery(run_id="run-a"), InterruptQuery(workflow_id="greet")):
        assert len(await list_all(store, query)) >= 40
    await store.log.append(run, 0, batch(run, 0, 1, "cancelled"))
    assert await list_all(store) == [open_interrupt(kept, interrupt("i1"))]
    assert await list_all(store, InterruptQuery(run_id="run-a")) == []
    assert await store.retention.delete(run, NOW) is True
    for _ in range(2):
        assert await list_all(store) == [open_interrupt(kept, interrupt("i1"))]
        await purge(store)
    assert await make_run(store) == run
    assert await list_all(store) == [open_interrupt(kept, interrupt("i1"))]


def _sort_key(each: OpenInterrupt) -> tuple[Any, ...]:
    return each.listed.requested_at, each.run_id, each.interrupt_id


def _matches_interrupt(each: OpenInterrupt, query: InterruptQuery) -> bool:
    due = each.listed.due
    return (
        (not query.kinds or each.listed.kind in query.kinds)
        and query.workflow_id in (None, each.workflow_id)
        and query.run_id in (None, each.run_id)
        and query.node_id in (None, each.listed.node_id)
        and (query.due_before is None or (due is not None and due < query.due_before))
    )


async def _fill_interrupts(store: Store) -> list[OpenInterrupt]:
    """Create interrupts of various kinds in six runs, some of them resolved, and the same in another partition. Returns
    the open ones in order."""
    created: list[OpenInterrupt] = []
    for number in range(6):
        workflow = ("greet", "order")[number % 2]
        run = await make_run(store, f"run-{number}", workflow_id=workflow)
        rows: list[StateRow] = []
        for each in range(9):
            kind = ("approval", "clarification", "custom")[each % 3]
            due = NOW + 10 * each if each % 2 else None
            rows.append(interrupt(f"i{each}", (each * 7 + number) % 5, kind, f"node-{each % 4}", due))
        await append_rows(store, run, -1, *rows)
        await append_rows(store, run, 0, resolved_interrupt("i4"))
        theirs = await make_run(store, f"run-{number}", OTHER, workflow_id=workflow)
        await append_rows(store, theirs, -1, *rows)
        created += [open_interrupt(run, row, workflow) for row in rows if row.name != "i4"]
    return sorted(created, key=_sort_key)


async def waiting_runs_are_found_after_a_restart(make: Callable[[], Store]) -> None:
    """Open interrupts, parked runs and their `wake_at` survive a restart, and cursors stay valid."""
    async with opened(make()) as store:
        parked = await make_parked_run(store, "parked", NOW + 5)
        awake = await make_run(store, "awake")
        rows = [interrupt(f"i{number}", number) for number in range(4)]
        await append_rows(store, awake, -1, *rows)
        await append_rows(store, awake, 0, resolved_interrupt("i2"))
        cursor = (await store.queries.list_interrupts(ACME, InterruptQuery(limit=1))).last
    async with opened(make()) as store:
        assert await unfinished(store, None, 10) == [awake]
        assert (await store.queries.next_wake(), await store.queries.due_runs(NOW + 5, 10)) == (NOW + 5, [parked])
        assert await list_all(store) == [open_interrupt(awake, rows[number]) for number in (0, 1, 3)]
        await append_rows(store, awake, 1, resolved_interrupt("i0"))
        assert await list_all(store, InterruptQuery(after=cursor)) == [
            open_interrupt(awake, rows[number]) for number in (1, 3)
        ]
        await store.log.append(parked, 0, parked_batch(parked, 0, NOW + 9))
        assert (await store.queries.next_wake(), await store.queries.due_runs(NOW + 8, 10)) == (NOW + 9, [])


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
    """`RunOwnership.untaken` omits parked runs, and accepts one as its cursor."""
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
