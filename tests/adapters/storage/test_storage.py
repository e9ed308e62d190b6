"""The suite for stores: every store passes it, and each check fails on a store that breaks the promise it proves."""

import asyncio
import functools
import inspect
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.adapters.storage.sabotage_families import ASSETS, CHILD_RUNS, INTERRUPTS
from tests.adapters.storage.sabotage_forks import FORKS
from tests.adapters.storage.sabotage_ownership import OWNERSHIP
from tests.adapters.storage.sabotage_records import ANNOTATIONS, DEFINITIONS, DELETES
from tests.adapters.storage.sabotage_runs import READS, WRITES
from tests.harness.cases import each_case
from tests.harness.postgres_server import all_versions, new_schema, shared_server
from weftwork.adapters.memory import run_ports
from weftwork.adapters.memory.store import MemoryStore
from weftwork.adapters.postgres.store import PostgresStore
from weftwork.adapters.sqlite.store import SqliteStore
from weftwork.testing import storage

Make = Callable[[], storage.Store]


def factory(kind: str, path: Path) -> Make:
    """Makes stores on the same data."""
    if kind == "sqlite":
        return lambda: SqliteStore(path)
    if kind.startswith("postgres"):
        url, schema = shared_server(kind.partition("-")[2]).socket_url(), new_schema(path.name)
        return lambda: PostgresStore(url, schema, may_migrate=True)
    only = MemoryStore()
    return lambda: only


POSTGRES = [pytest.param(f"postgres-{version}", marks=pytest.mark.slow) for version in all_versions()]


@pytest.fixture(params=["memory", "sqlite", *POSTGRES])
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@each_case("check", *storage.CHECKS, ids=lambda check: check.__name__)
def test_the_store_keeps_its_promise(kind: str, tmp_path: Path, check: storage.Check) -> None:
    storage.prove(factory(kind, tmp_path / check.__name__)(), check)


@each_case("check", *storage.RESTART_CHECKS, ids=lambda check: check.__name__)
async def test_the_store_keeps_its_promise_across_a_restart(
    kind: str, tmp_path: Path, check: storage.RestartCheck
) -> None:
    await check(factory(kind, tmp_path / check.__name__))


def test_a_check_says_what_it_proves() -> None:
    assert [check.__name__ for check in (*storage.CHECKS, *storage.RESTART_CHECKS) if not check.__doc__] == []


INCONSISTENT_BATCH = "an_inconsistent_batch_is_refused_whole"
"""The check of what all appends have in common; nothing of one port breaks its promise."""
SABOTAGE = READS | WRITES | DELETES | DEFINITIONS | ANNOTATIONS | ASSETS | INTERRUPTS | CHILD_RUNS | FORKS | OWNERSHIP


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


@each_case("check", *storage.CHECKS, ids=lambda check: check.__name__)
def test_a_check_goes_red_when_its_promise_is_broken(check: storage.Check) -> None:
    assert not fails(check, MemoryStore())
    store = MemoryStore()
    with pytest.MonkeyPatch.context() as patch:
        if check.__name__ == INCONSISTENT_BATCH:
            patch.setattr(run_ports, "check_batch", lambda *_: None)
        else:
            path, wrap = SABOTAGE[check.__name__]
            port_name, method = path.split(".")
            port = getattr(store, port_name)
            make = functools.partial if inspect.iscoroutinefunction(wrap) else lambda wrap, *own: wrap(*own)
            patch.setattr(port, method, make(wrap, port, getattr(port, method)))
        assert fails(check, store)


@each_case("check", *storage.RESTART_CHECKS, ids=lambda check: check.__name__)
async def test_a_restart_check_goes_red_when_its_promise_is_broken(check: storage.RestartCheck) -> None:
    async def nothing(_: MemoryStore) -> None: ...

    with pytest.MonkeyPatch.context() as patch:
        if check.__name__ == "a_closed_store_is_unavailable":
            patch.setattr(MemoryStore, "close", nothing)
        with pytest.raises((AssertionError, AttributeError)):
            async with asyncio.timeout(120):
                await check(MemoryStore)
