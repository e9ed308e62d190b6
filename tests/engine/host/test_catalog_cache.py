"""What the catalogue remembers is never older than what was registered, and bounded."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.engine.host.test_catalog import TYPES, nodes_of, register
from tests.harness.definitions import node, workflow
from tests.harness.engine_harness import run_ready_tasks, until
from weftwork.adapters.memory.store import MemoryStore
from weftwork.engine.host import catalog as catalog_module
from weftwork.engine.host.catalog import WorkflowCatalog
from weftwork.ports.storage.definitions import VersionRegistered
from weftwork.ports.storage.event_log import StoreUnavailable


class SlowDefinitions:
    """Definitions whose `find` and `register` come back when the test says so."""

    def __init__(self, real: Any) -> None:
        self._real = real
        self.gates: dict[str, list[asyncio.Future[None]]] = {"find": [], "register": []}
        self.slow: set[str] = set()
        self.reads = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    async def find(self, *arguments: Any) -> Any:
        self.reads += 1
        found = await self._real.find(*arguments)
        await self._wait("find")
        return found

    async def register(self, *arguments: Any) -> Any:
        async def write() -> Any:
            await self._wait("register")
            return await self._real.register(*arguments)

        # Whoever waits may be cancelled, the write is not.
        self.writing = asyncio.ensure_future(write())
        await asyncio.wait({self.writing})
        return self.writing.result()

    async def _wait(self, name: str) -> None:
        if name in self.slow:
            gate = asyncio.get_running_loop().create_future()
            self.gates[name].append(gate)
            await gate


async def slow_catalog() -> tuple[WorkflowCatalog, SlowDefinitions]:
    store = MemoryStore()
    await store.open()
    slow: Any = SlowDefinitions(store.definitions)
    return WorkflowCatalog(slow, TYPES), slow


async def read_while_registering() -> list[str] | None:
    """What a run gets after a registration that happened during an earlier look."""
    catalog, slow = await slow_catalog()
    await register(catalog, workflow([node("old")], version="1"))
    slow.slow = {"find"}
    early = asyncio.ensure_future(catalog.find_plan("acme", "sample"))
    await until(lambda: slow.gates["find"])
    await register(catalog, workflow([node("new")], version="2"))
    slow.gates["find"].pop().set_result(None)
    await early
    slow.slow = set()
    return await nodes_of(catalog)


async def caller_goes_away() -> list[str] | None:
    """What a run gets after a registration whose caller was cancelled before it was durable."""
    catalog, slow = await slow_catalog()
    slow.slow = {"register"}
    writing = asyncio.ensure_future(register(catalog, workflow([node("new")])))
    await until(lambda: slow.gates["register"])
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    assert await nodes_of(catalog) is None
    slow.gates["register"].pop().set_result(None)
    assert await slow.writing == VersionRegistered()
    await run_ready_tasks()
    return await nodes_of(catalog)


@pytest.mark.rule("wf-11")
@pytest.mark.parametrize("scenario", [read_while_registering, caller_goes_away])
async def test_what_is_remembered_is_never_older_than_what_was_registered(scenario: Callable[[], Any]) -> None:
    assert (await scenario()) == ["new"]


async def test_without_counting_writes_an_old_answer_would_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WorkflowCatalog, "_writes", property(lambda _: 0, lambda *_: None), raising=False)
    assert (await read_while_registering()) == ["old"]


async def test_without_a_shield_an_old_answer_would_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    async def bare(writing: Any) -> Any:
        return await writing

    monkeypatch.setattr(catalog_module.asyncio, "shield", bare)
    assert (await caller_goes_away()) is None


async def test_a_write_whose_end_is_unknown_is_looked_up() -> None:
    catalog, slow = await slow_catalog()
    assert await nodes_of(catalog) is None

    async def register_and_fail(*arguments: Any) -> Any:
        await slow._real.register(*arguments)
        raise StoreUnavailable("nobody knows")

    slow.register = register_and_fail
    with pytest.raises(StoreUnavailable):
        await register(catalog, workflow([node("new")]))
    assert await nodes_of(catalog) == ["new"]


async def test_the_store_is_asked_once_for_each_workflow_that_is_started() -> None:
    catalog, slow = await slow_catalog()
    assert await catalog.register(workflow([node("file")], id="file")) == []
    await register(catalog, workflow([node("own")], id="own"))
    for _ in range(5):
        assert await nodes_of(catalog, "acme", "file") == ["file"]
        assert await nodes_of(catalog, "acme", "own") == ["own"]
        assert await nodes_of(catalog, "acme", "none") is None
    assert slow.reads == 3


async def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog_module, "MAX_CACHED_DIGESTS", 3)
    catalog, slow = await slow_catalog()
    for name in ("a", "b", "a", "c", "a", "d", "a"):
        await catalog.find_plan("acme", name)
    assert list(catalog._digests) == [("acme", "c"), ("acme", "d"), ("acme", "a")]
    assert slow.reads == 4
