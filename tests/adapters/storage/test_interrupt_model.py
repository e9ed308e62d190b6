"""Whatever is asked and answered, the list of open interrupts is what a plain dictionary says."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.harness.definitions import example_count
from weftwork.adapters.memory import run_table as in_memory
from weftwork.adapters.memory.store import MemoryStore
from weftwork.adapters.sqlite import interrupts as in_sqlite
from weftwork.adapters.sqlite.store import SqliteStore
from weftwork.ports.storage.run_queries import InterruptPage, InterruptQuery, OpenInterrupt
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.run.projection import InterruptListing, StateRow
from weftwork.testing.storage.harness import Store, prove
from weftwork.testing.storage.run_queries import append_rows, interrupt, open_interrupt, resolved_interrupt
from weftwork.testing.storage.samples import ACME, NOW, OTHER, make_run

RUNS = [RunKey(partition, f"run-{number}") for partition in (ACME, OTHER) for number in range(3)]
WORKFLOWS = ("greet", "order")
KINDS = st.sampled_from(["approval", "clarification", "custom"])
NODES = st.sampled_from(["gate", "ask"])
TIMES = st.integers(NOW, NOW + 3)
ROW = st.builds(
    StateRow,
    st.just("interrupt"),
    st.sampled_from(["i1", "i2", "i3", "é", "\U0001f9f5", ""]),
    st.binary(max_size=3),
    st.none() | st.builds(InterruptListing, KINDS, NODES, TIMES, st.none() | TIMES),
)
APPENDS = st.tuples(st.sampled_from(RUNS), st.lists(ROW, min_size=1, max_size=5))
QUERY = st.builds(
    InterruptQuery,
    kinds=st.lists(KINDS, max_size=2).map(tuple),
    workflow_id=st.none() | st.sampled_from(WORKFLOWS),
    run_id=st.none() | st.sampled_from(["run-0", "run-1", "nobody"]),
    node_id=st.none() | NODES,
    due_before=st.none() | TIMES,
    limit=st.integers(1, 4),
)
Appends = list[tuple[RunKey, list[StateRow]]]
Model = dict[tuple[RunKey, str], OpenInterrupt]


class Asking:
    """A store and what should be open in it."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.open: Model = {}
        self.last = dict.fromkeys(RUNS, -1)

    async def begin(self) -> None:
        for run in RUNS:
            await make_run(self.store, run.run_id, run.partition, workflow_id=_workflow(run))

    async def append(self, run: RunKey, rows: list[StateRow]) -> None:
        await append_rows(self.store, run, self.last[run], *rows)
        self.last[run] += 1
        for row in rows:
            self.open.pop((run, row.name), None)
            if row.listing is not None:
                self.open[run, row.name] = open_interrupt(run, row, _workflow(run))

    def wanted(self, query: InterruptQuery) -> list[OpenInterrupt]:
        own = [each for (run, _), each in self.open.items() if run.partition == ACME and _matches(each, query)]
        return sorted(own, key=_place)

    async def check_walk(self, query: InterruptQuery, meanwhile: Appends) -> None:
        """Walk the pages; between two of them something is appended. What stays as it is is seen once, in order."""
        before = self.wanted(query)
        seen: list[OpenInterrupt] = []
        moved: set[tuple[str, str]] = set()
        waiting = list(meanwhile)
        pages, more = 0, True
        while more:
            page = await self.store.queries.list_interrupts(ACME, query)
            assert len(page.interrupts) <= query.limit
            assert list(page.interrupts) == [each for each in self.wanted(query) if each in page.interrupts]
            seen += page.interrupts
            query = replace(query, after=page.last)
            more = page.more
            if waiting:
                run, rows = waiting.pop()
                await self.append(run, rows)
                moved |= {(run.run_id, row.name) for row in rows if run.partition == ACME}
            pages += 1
            assert pages < 200
        places = [_place(each) for each in seen]
        assert places == sorted(set(places))
        untouched = [each for each in seen if (each.run_id, each.interrupt_id) not in moved]
        assert untouched == [each for each in before if (each.run_id, each.interrupt_id) not in moved]


def _workflow(run: RunKey) -> str:
    return WORKFLOWS[int(run.run_id[-1]) % 2]


def _place(each: OpenInterrupt) -> tuple[Any, ...]:
    return each.listed.requested_at, each.run_id, each.interrupt_id


def _matches(each: OpenInterrupt, query: InterruptQuery) -> bool:
    listed = each.listed
    wanted = (query.workflow_id, query.run_id, query.node_id)
    same = zip(wanted, (each.workflow_id, each.run_id, listed.node_id), strict=True)
    if query.due_before is not None and (listed.due is None or listed.due >= query.due_before):
        return False
    return all(asked in (None, has) for asked, has in same) and (not query.kinds or listed.kind in query.kinds)


def compare(store: Store, appends: Appends, queries: list[InterruptQuery], later: Appends) -> None:
    async def check(store: Store) -> None:
        asking = Asking(store)
        await asking.begin()
        for run, rows in appends:
            await asking.append(run, rows)
        for query in [InterruptQuery(limit=2), *queries]:
            await asking.check_walk(query, later)

    prove(store, check)


@pytest.fixture(autouse=True)
def short_walks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even a short list is looked at in several pieces."""
    for module in (in_memory, in_sqlite):
        monkeypatch.setattr(module, "MAX_CANDIDATES", 4)


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
@settings(
    max_examples=example_count(30, full=2_000),
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(appends=st.lists(APPENDS, max_size=12), queries=st.lists(QUERY, max_size=4), later=st.lists(APPENDS, max_size=6))
def test_the_list_is_the_fold_of_what_was_appended(
    kind: str, appends: Appends, queries: list[InterruptQuery], later: Appends
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        compare(MemoryStore() if kind == "memory" else SqliteStore(Path(folder) / "store.db"), appends, queries, later)


ASKED: Appends = [(RUNS[0], [interrupt(f"i{number}", number) for number in range(6)])]
ANSWERED: Appends = [(RUNS[0], [resolved_interrupt("i0"), resolved_interrupt("i5")])]


def test_a_list_that_keeps_what_is_answered_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sabotage."""
    compare(SqliteStore(tmp_path / "store.db"), ASKED, [], ANSWERED)
    monkeypatch.setattr(in_sqlite, "_DELETE_OPEN", "SELECT ?, ?")
    with pytest.raises(AssertionError):
        compare(SqliteStore(tmp_path / "other.db"), ASKED, [], ANSWERED)


def test_a_cursor_that_is_a_count_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sabotage: what is answered on the way moves the others."""
    store = MemoryStore()
    honest = store.queries.list_interrupts

    async def list_interrupts(partition: str, query: InterruptQuery) -> InterruptPage:
        start = int(query.after or 0)
        found = (await honest(partition, replace(query, after=None, limit=1000))).interrupts
        more = len(found) > start + query.limit
        return InterruptPage(found[start : start + query.limit], str(start + query.limit) if more else None, more)

    monkeypatch.setattr(in_memory, "MAX_CANDIDATES", 1000)
    monkeypatch.setattr(store.queries, "list_interrupts", list_interrupts)
    with pytest.raises(AssertionError):
        compare(store, ASKED, [], ANSWERED)
