"""A database whose old runs are deleted does not grow: deleted rows make room for new ones."""

from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pytest

from tests.crash.postgres.postgres_host import Database, PostgresHost, new_server
from tests.crash.restartable_host import stop
from tests.harness.definitions import FULL

RUNS: Final = 100_000
LIVE: Final = 10_000
"""How many of them are kept."""
CALLERS: Final = 16
STEP: Final = 500
MOST_GROWTH: Final = 1.5

_SIZE = (
    "SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class WHERE relkind = 'r' AND relnamespace = "
    "'weftwork'::regnamespace"
)


def grow(folder: Path, runs: int, live: int) -> tuple[int, int]:
    """The size of the database when so many runs were created and all but the newest were deleted, and the size of what
    is live in it: the runs that are kept, and the traces of the deleted ones, which are kept for a day."""
    with new_server() as server, PostgresHost(folder, (database := Database(server))) as ground:
        host, kept = ground.start(), deque[str]()
        with ThreadPoolExecutor(CALLERS) as pool:

            def create(_: int) -> str:
                return host.create("quick", inputs={"text": "x"})

            def delete(run_id: str) -> None:
                assert host.call("DELETE", f"/v1/runs/{run_id}").status == 204

            def create_and_wait(count: int) -> None:
                kept.extend(pool.map(create, range(count)))
                host.log(kept[-1])

            for _ in range(0, live, STEP):
                create_and_wait(STEP)
            for _ in range(live, runs, STEP):
                create_and_wait(STEP)
                list(pool.map(delete, [kept.popleft() for _ in range(STEP)]))
        found = size(database)
        assert len(host.pages("/v1/runs?limit=200", "runs")) == live
        stop(host)
        ground.check_image(folder / "image")
        for (table,) in database.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'weftwork'"):
            database.fetch(f"VACUUM FULL {table}")
        return found, size(database)


def size(database: Database) -> int:
    return database.fetch(_SIZE)[0][0]


@pytest.mark.skipif(not FULL, reason="the full proof")
def test_deleted_runs_make_room_for_new_ones(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    found, live = grow(tmp_path, RUNS, LIVE)
    record_property("bytes", found)
    record_property("live bytes", live)
    assert found <= MOST_GROWTH * live, f"{live} bytes take up {found}"
