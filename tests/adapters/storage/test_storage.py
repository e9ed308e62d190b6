"""The suite for stores: every store passes it, and each check fails on a store that breaks the promise it proves."""

import asyncio
import functools
import inspect
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.adapters.storage.sabotage_families import ASSETS, CHILD_RUNS, INTERRUPTS
from tests.adapters.storage.sabotage_records import ANNOTATIONS, DEFINITIONS, DELETES
from tests.adapters.storage.sabotage_runs import READS, WRITES
from weftwork.adapters.memory import run_ports
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


INCONSISTENT_BATCH = "an_inconsistent_batch_is_refused_whole"
"""The check of what all appends have in common; nothing of one port breaks its promise."""
SABOTAGE = READS | WRITES | DELETES | DEFINITIONS | ANNOTATIONS | ASSETS | INTERRUPTS | CHILD_RUNS


def fails(check: storage.Check, store: MemoryStore) -> bool:
    async def prove() -> bool:
        await store.open()
        try:
            async with asyncio.timeout(120):
                await check(store)
        except TimeoutError:
            raise
        except Exception:
            return True
        return False

    return asyncio.run(prove())


def test_the_suite_has_every_check_once_and_no_other_function() -> None:
    """Checks are found by their parameters; what is broken here on purpose tells which there must be."""
    assert sorted(check.__name__ for check in storage.CHECKS) == sorted([INCONSISTENT_BATCH, *SABOTAGE])


@pytest.mark.parametrize("check", storage.CHECKS, ids=lambda check: check.__name__)
def test_a_check_goes_red_when_its_promise_is_broken(check: storage.Check, monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    assert not fails(check, store)
    store = MemoryStore()
    if check.__name__ == INCONSISTENT_BATCH:
        monkeypatch.setattr(run_ports, "check_batch", lambda *_: None)
    else:
        path, wrap = SABOTAGE[check.__name__]
        port_name, method = path.split(".")
        port = getattr(store, port_name)
        make = functools.partial if inspect.iscoroutinefunction(wrap) else lambda wrap, *own: wrap(*own)
        monkeypatch.setattr(port, method, make(wrap, port, getattr(port, method)))
    assert fails(check, store)


@pytest.mark.parametrize("check", storage.RESTART_CHECKS, ids=lambda check: check.__name__)
async def test_a_restart_check_goes_red_when_its_promise_is_broken(
    check: storage.RestartCheck, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nothing(_: MemoryStore) -> None: ...

    make: Callable[[], storage.Store] = MemoryStore
    if check.__name__ == "a_closed_store_is_unavailable":
        monkeypatch.setattr(MemoryStore, "close", nothing)

    async def prove() -> None:
        async with asyncio.timeout(120):
            await check(make)

    with pytest.raises((AssertionError, AttributeError)):
        await prove()
