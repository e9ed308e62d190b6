"""Forks in SQLite: what is copied, what it costs, and what is left of a fork that was deleted."""

import asyncio
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.adapters.sqlite.instruction_counts import instructions_of
from tests.adapters.sqlite.test_child_runs import Listening, lonely_life, write_old_store
from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import for_all
from weftwork.adapters.sqlite import forks, retention, transactions
from weftwork.adapters.sqlite.database.connection import open_reader, open_writer
from weftwork.adapters.sqlite.store import SqliteStore
from weftwork.adapters.sqlite.transactions import RunHeadCache
from weftwork.protocol.run.events import Event, copy_event
from weftwork.protocol.run.header import Fork, RunKey
from weftwork.protocol.run.model_payloads import OutputChunk
from weftwork.testing.storage.forks import fork_batch, fork_header, fork_ids, make_fork, make_source
from weftwork.testing.storage.harness import ACME, opened, prove
from weftwork.testing.storage.samples import NOW, batch

FEW, MANY = 30, 600
SOURCE, OTHERS = RunKey(ACME, "run-a"), RunKey(ACME, "run-b")


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Any]:
    connection = open_writer(tmp_path / "store.db", None)
    yield connection
    connection.close(True)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.just("runId"), inner, max_size=3),
    max_leaves=8,
)
CHUNKS = st.builds(
    OutputChunk, st.text(), st.just("run-a"), st.text(), st.booleans(), st.dictionaries(st.text(), JSON, max_size=3)
)


def test_a_chunk_is_copied_as_the_rule_says(connection: Any) -> None:
    """The statement and `copy_event` change the same member, and neither changes how another one is encoded."""

    def check(chunk: OutputChunk) -> None:
        payload = msgspec.json.encode(chunk)
        event = Event("run-a", 0, "event-0", "output.chunk", NOW, payload)
        connection.execute("BEGIN")
        transactions.insert_batch(connection, 1, replace(batch(SOURCE, -1), events=(event,)))
        connection.execute(forks.COPY_EVENTS, (1 << 26, 'é"\\', 1 << 26, (1 << 26) + 1))
        ((copied,),) = connection.execute("SELECT payload FROM events WHERE id = 2 << 26").fetchall()
        connection.execute("ROLLBACK")
        assert copied == copy_event(event, 'é"\\').payload == msgspec.json.encode(replace(chunk, run_id='é"\\'))

    for_all(100, CHUNKS, full=5000)(check)()


def test_every_column_of_an_event_is_copied(connection: Any) -> None:
    columns = [row[1] for row in connection.execute("PRAGMA table_info(events)").fetchall()]
    listed = forks.COPY_EVENTS.partition("(")[2].partition(")")[0]
    assert sorted(listed.replace(",", " ").split()) == sorted(columns)


@pytest.fixture
def listening(connection: Any) -> Any:
    return Listening(connection)


def fill(connection: Any, sizes: list[int]) -> None:
    """The source, with payloads of these sizes."""
    heads = RunHeadCache()
    transactions.create_run(
        connection, heads, replace(fork_header(SOURCE, 0, "run-a"), fork=None), b"{}", (), None, False, None
    )
    given = batch(SOURCE, -1, len(sizes))
    events = tuple(replace(each, payload=b"x" * size) for each, size in zip(given.events, sizes, strict=True))
    transactions.append_batch(connection, heads, SOURCE, -1, replace(given, events=events), ())


def create(connection: Any, from_seq: int, heads: RunHeadCache | None = None, run_id: str = "fork") -> None:
    header, first = fork_header(SOURCE, from_seq, run_id), fork_batch(SOURCE, from_seq, run_id)
    forks.create_fork(
        connection, heads or RunHeadCache(), header, b"{}", Fork("run-a", from_seq, "branch"), first, None
    )


@fails_without(forks, "_pieces", lambda _, base, count: [(base, base + count)])
def test_a_copy_is_made_in_pieces_of_bounded_size() -> None:
    """SQLite holds all rows that one statement copies in memory."""
    sizes = [100, 4000, 10, 10, 9000, 0, 0, 3000, 2000]
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(forks, "PIECE_BYTES", 5000)
        listening: Any = Listening(open_writer(Path(folder, "store.db"), None))
        fill(listening, sizes)
        pieces = list(forks._pieces(listening, 1 << 26, len(sizes)))
        create(listening, len(sizes))
        copied = listening.execute("SELECT length(payload) FROM events WHERE id >> 26 = 2 ORDER BY id").fetchall()
        listening.close(True)
    numbers = [(start - (1 << 26), end - (1 << 26)) for start, end in pieces]
    assert numbers == [(0, 4), (4, 5), (5, 9)]
    assert listening.heard.count(forks.COPY_EVENTS) == 3
    assert [size for (size,) in copied[:-1]] == sizes


def test_a_run_that_is_no_fork_is_not_linked(listening: Any) -> None:
    lonely_life(listening)
    assert len(listening.heard) == 12
    assert [each for each in listening.heard if "forks" in each] == []


def test_the_first_append_to_a_fork_reads_nothing(listening: Any) -> None:
    heads = RunHeadCache()
    fill(listening, [10] * 3)
    create(listening, 3, heads)
    listening.heard.clear()
    fork = RunKey(ACME, "fork")
    transactions.append_batch(listening, heads, fork, 3, batch(fork, 3), ())
    assert [each for each in listening.heard if "SELECT" in each] == []


def undone(connection: Any) -> Any:
    """Creates a fork in a transaction that is rolled back."""
    connection.execute("BEGIN IMMEDIATE")
    create(connection, 5)
    changed = connection.total_changes()
    connection.execute("ROLLBACK")
    return changed


READS: dict[str, Callable[[Any], Any]] = {
    "create": undone,
    "forks": lambda connection: forks.list_forks(connection, SOURCE, None, 100),
    "forks behind": lambda connection: forks.list_forks(connection, SOURCE, RunKey(ACME, "fork-0"), 2),
    "none": lambda connection: forks.list_forks(connection, RunKey(ACME, "nobody"), None, 100),
}


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A run with three forks, beside few or many forks of another one, whose log is longer."""
    folder = tmp_path_factory.mktemp("forks")
    for count in (FEW, MANY):

        async def write(store: SqliteStore, count: int = count) -> None:
            source = await make_source(store)
            others = await make_source(store, "run-b")
            await store.log.append(others, 5, batch(others, 5, count))
            await asyncio.gather(*(make_fork(store, others, 2, f"other-{number}") for number in range(count)))
            for number in range(3):
                await make_fork(store, source, 4, f"fork-{number}")
            await asyncio.gather(*(make_fork(store, others, 2, f"late-{number}") for number in range(count)))

        prove(SqliteStore(folder / f"{count}.db"), write, 60)
    return folder / f"{FEW}.db", folder / f"{MANY}.db"


def steps(path: Path, name: str) -> int:
    return instructions_of(path, READS[name], open_writer if name == "create" else open_reader)


@each_case("name", *READS)
def test_the_work_does_not_grow_with_other_forks(stores: tuple[Path, Path], name: str) -> None:
    few, many = (steps(path, name) for path in stores)
    assert few > 5
    assert many <= few * 1.1


@each_case(
    "statement, plain, read",
    ("FORKS_PAGE", "f.source", "none"),
    ("COPY_EVENTS", "id >= ?3 AND id", "create"),
    ("_EVENT_SIZES", "id >= ? AND id", "create"),
    ("_FIND_HIDDEN", "run_no", "create"),
)
def test_a_search_without_its_index_is_seen(stores: tuple[Path, Path], statement: str, plain: str, read: str) -> None:
    """The sabotage of the test above: a unary plus keeps SQLite from using the column in an index."""
    text: str = getattr(forks, statement)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forks, statement, text.replace(f" {plain}", f" +{plain.replace(' AND ', ' AND +')}"))
        assert getattr(forks, statement) != text
        few, many = (steps(path, read) for path in stores)
        assert many > few * 3


@fails_without(forks, "FORKS_PAGE", forks.FORKS_PAGE.replace("CROSS JOIN runs r ON r.run_no = f.run_no", ""))
@fails_without(retention, "RUN_TABLES", {name: each for name, each in retention.RUN_TABLES.items() if name != "forks"})
def test_a_deleted_fork_takes_no_room_in_a_page() -> None:
    """Its row stays until it is purged; a page is as long as it was asked for."""

    async def check(store: SqliteStore) -> None:
        source = await make_source(store)
        made = [await make_fork(store, source, 6, f"fork-{number}", status="completed") for number in range(4)]
        for fork in made[1:3]:
            assert await store.retention.delete(fork, NOW) is True
        assert await store._readers.submit(linked) == 4
        assert await fork_ids(store, source, made[0], limit=1) == ["fork-3"]
        while await store.retention.purge():
            pass
        assert await store._readers.submit(linked) == 2
        assert await fork_ids(store, source) == ["fork-0", "fork-3"]

    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(retention, "PIECE_ROWS", 1)
        prove(SqliteStore(Path(folder, "store.db")), check)


def linked(connection: Any) -> int:
    return connection.execute("SELECT count(*) FROM forks").fetchall()[0][0]


async def test_a_store_of_the_release_before_takes_forks(tmp_path: Path) -> None:
    """Its runs have no forks; they may be forked, and everything else goes on."""
    path = tmp_path / "store.db"
    write_old_store(path, 11, -1, ("running", 0, None), ("completed", 0, NOW))
    async with opened(SqliteStore(path)) as store:
        going, ended = RunKey(ACME, "run-1"), RunKey(ACME, "run-2")
        assert await fork_ids(store, going) == []
        assert await store.log.append(going, -1, batch(going, -1, 3)) is None
        fork = await make_fork(store, going, 2)
        assert await fork_ids(store, going) == ["fork"]
        assert len(await store.log.read(fork, -1, 10)) == 3
        await make_fork(store, ended, 0, "fork-2")
        assert await store.retention.delete(ended, NOW) is True
        assert await fork_ids(store, ended) == ["fork-2"]
