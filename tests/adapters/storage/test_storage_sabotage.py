"""Every check of the storage suite can fail: each is run against a store that breaks the promise it proves."""

import asyncio
from collections.abc import Callable

import pytest

from tests.adapters.storage.sabotage_annotations import ANNOTATIONS
from tests.adapters.storage.sabotage_assets import ASSETS
from tests.adapters.storage.sabotage_child_runs import CHILD_RUNS
from tests.adapters.storage.sabotage_definitions import DEFINITIONS
from tests.adapters.storage.sabotage_deletes import DELETES
from tests.adapters.storage.sabotage_interrupts import INTERRUPTS
from tests.adapters.storage.sabotage_reads import READS
from tests.adapters.storage.sabotage_writes import WRITES
from weftwork.adapters.memory import run_ports
from weftwork.adapters.memory.store import MemoryStore
from weftwork.testing import storage

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
        monkeypatch.setattr(port, method, wrap(port, getattr(port, method)))
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
