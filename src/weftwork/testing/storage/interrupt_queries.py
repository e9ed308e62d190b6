"""Checks of `RunQueries.list_interrupts`: which interrupts of a partition are open."""

from itertools import product
from typing import Any, Final

from msgspec.structs import replace

from weftwork.ports.storage.event_log import RunCreated, SequenceConflict
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.ports.storage.run_queries import InterruptPage, InterruptQuery, OpenInterrupt
from weftwork.protocol.run.batch import Batch
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.run.projection import InterruptListing, StateRow
from weftwork.testing.storage.harness import (
    ACME,
    NOW,
    OTHER,
    Store,
    batch,
    catch,
    event,
    header,
    make_run,
    purge,
    record,
    stored_run,
)

ALL: Final = InterruptQuery()
NONE_OPEN: Final = InterruptPage((), None, False)


def interrupt(name: str, at: int = 0, kind: str = "approval", node: str = "gate", due: int | None = None) -> StateRow:
    """The row of an open interrupt that was requested so many milliseconds after NOW."""
    return StateRow("interrupt", name, b'{"status":"open"}', InterruptListing(kind, node, NOW + at, due))


def resolved_interrupt(name: str) -> StateRow:
    """The row of an interrupt that is not open any more."""
    return StateRow("interrupt", name, b'{"status":"resolved"}')


def open_interrupt(run: RunKey, row: StateRow, workflow_id: str = "greet") -> OpenInterrupt:
    """How a list shows an open interrupt."""
    assert row.listing is not None
    return OpenInterrupt(run.run_id, workflow_id, row.name, row.listing, row.value)


async def append_rows(store: Store, run: RunKey, expected: int, *rows: StateRow) -> None:
    """Append one event with these rows."""
    assert await store.log.append(run, expected, batch(run, expected, 1, "waiting-approval", rows)) is None


async def list_all(store: Store, query: InterruptQuery = ALL, partition: str = ACME) -> list[OpenInterrupt]:
    """All pages of a list."""
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
    """The interrupt requested first comes first, of whichever run and in whatever order they were committed; each
    comes with its run, its workflow and its row, byte for byte."""
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
    """A row with `listed` lists its interrupt, a later one replaces that, and one without ends it, each with its
    append; other rows do not matter. `read_run` gives the rows without `listed`."""
    run = await make_run(store)
    other = await make_run(store, "run-b")
    theirs = interrupt("i1", 3)
    await append_rows(store, other, -1, theirs)
    assert await list_all(store) == [open_interrupt(other, theirs)]
    asked = interrupt("i1")
    voted = replace(interrupt("i1", 0, due=NOW + 100), value=b'{"status":"open","votes":[1]}')
    later = interrupt("i1", 10, "low-confidence", "other-gate")
    for expected, row in enumerate((asked, voted, later), -1):
        await append_rows(store, run, expected, row)
        assert await list_all(store) == sorted((open_interrupt(run, row), open_interrupt(other, theirs)), key=_place)
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
    """A list holds what has one of the kinds, the workflow, the run, the node and a deadline before the instant;
    walking the cursor gives each of them once, in order, whatever the limit."""
    everything = await _fill_interrupts(store)
    kinds = ((), ("approval",), ("custom", "clarification", "custom"), ("nothing",))
    whole = product(kinds, (None, "order"), (None, "run-3", "nobody"), (None, "node-1"), (None, NOW, NOW + 60))
    for some, workflow, run, node, due in whole:
        query = InterruptQuery(some, workflow, run, node, due)
        wanted = [each for each in everything if _matches_interrupt(each, query)]
        for limit in (1, 7, 100):
            assert await list_all(store, replace(query, limit=limit)) == wanted


async def resolved_interrupts_do_not_disturb_a_walk(store: Store) -> None:
    """Interrupts that are answered or asked while a list is walked neither repeat nor hide the others, not even when
    the one that the page ended with is gone."""
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
    """After something that is no cursor there is nothing, and no error."""
    run = await make_run(store)
    await append_rows(store, run, -1, interrupt("i1"))
    for after in ("", "nobody", "run-a", "{}", "[]", '[null,"run-a","i1"]', "\x00", "\ud800", "9" * 5000):
        assert await store.queries.list_interrupts(ACME, InterruptQuery(after=after)) == NONE_OPEN


async def another_partition_sees_no_interrupts(store: Store) -> None:
    """With another partition interrupts are not listed, whatever is asked for; equal ids are different interrupts."""
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
    """A conflict, a taken slot and an inconsistent batch neither list an interrupt nor end one."""
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
    """What a run has left open is not listed after its end, nor after it was deleted, nor in a new run of its id."""
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


def _place(each: OpenInterrupt) -> tuple[Any, ...]:
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
    """Interrupts of every sort in six runs, some of them answered, and as many of somebody else."""
    made: list[OpenInterrupt] = []
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
        made += [open_interrupt(run, row, workflow) for row in rows if row.name != "i4"]
    return sorted(made, key=_place)
