"""Every storage adapter passes the conformance suite that the package ships."""

from collections.abc import Callable
from pathlib import Path

import pytest

from weftwork.adapters.memory.store import MemoryStore
from weftwork.adapters.sqlite.store import SqliteStore
from weftwork.testing import storage

Make = Callable[[], storage.Store]


@pytest.fixture(params=["memory", "sqlite"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    """A factory of stores on the same data."""
    if request.param == "sqlite":
        return lambda: SqliteStore(tmp_path / "store.db")
    only = MemoryStore()
    return lambda: only


@pytest.mark.parametrize("check", storage.CHECKS, ids=lambda check: check.__name__)
def test_the_store_keeps_its_promise(make: Make, check: storage.Check) -> None:
    storage.prove(make(), check)


@pytest.mark.parametrize("check", storage.RESTART_CHECKS, ids=lambda check: check.__name__)
async def test_the_store_keeps_its_promise_across_a_restart(make: Make, check: storage.RestartCheck) -> None:
    await check(make)


@pytest.mark.parametrize("check", [*storage.CHECKS, *storage.RESTART_CHECKS], ids=lambda check: check.__name__)
def test_a_check_says_what_it_proves(check: storage.Check | storage.RestartCheck) -> None:
    assert check.__doc__
