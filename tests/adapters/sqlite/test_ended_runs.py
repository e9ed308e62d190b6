"""The search for runs that ended long ago does not look at others."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.adapters.sqlite.instruction_counts import instructions_of
from weftwork.adapters.sqlite import retention
from weftwork.adapters.sqlite.store import SqliteStore
from weftwork.testing.storage.harness import prove
from weftwork.testing.storage.samples import ACME, NOW, OTHER, batch, make_run

FEW, MANY = 200, 2000
SEARCHES: dict[str, Callable[[Any], Any]] = {
    "of one partition": lambda connection: retention.list_ended(connection, NOW, 20, ACME),
    "of all": lambda connection: retention.list_ended(connection, NOW, 20, None),
    "none of one": lambda connection: retention.list_ended(connection, 0, 20, ACME),
    "count of all": lambda connection: retention.count_ended(connection, NOW, None),
}


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Thirty runs that ended before NOW, and few or many that ended later or not at all."""
    folder = tmp_path_factory.mktemp("ended")

    async def one(store: SqliteStore, number: int) -> None:
        run = await make_run(store, f"run-{number}", OTHER if number % 3 == 0 else ACME)
        if number % 5 == 4:
            return
        last = batch(run, -1, status="completed")
        completed = NOW - number if number < 30 else NOW + number
        await store.log.append(run, -1, replace(last, projection=replace(last.projection, completed_at=completed)))

    for count in (FEW, MANY):

        async def fill(store: SqliteStore, count: int = count) -> None:
            await asyncio.gather(*(one(store, number) for number in range(count)))

        prove(SqliteStore(folder / f"{count}.db"), fill)
    return folder / f"{FEW}.db", folder / f"{MANY}.db"


@pytest.mark.parametrize("name", SEARCHES)
def test_the_search_for_old_runs_does_not_look_at_others(stores: tuple[Path, Path], name: str) -> None:
    few, many = (instructions_of(path, SEARCHES[name]) for path in stores)
    assert few > 10
    assert many <= few * 1.1


def test_a_search_without_its_index_is_seen(stores: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """The sabotage of the test above."""
    monkeypatch.setattr(
        retention, "ENDED_IN_PARTITION", retention.ENDED_IN_PARTITION.replace("completed_at < ?", "+completed_at < ?")
    )
    few, many = (instructions_of(path, SEARCHES["of one partition"]) for path in stores)
    assert many > few * 5
