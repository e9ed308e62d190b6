"""Types of checks, the function that runs one, and helpers that read runs and walk pages."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Protocol, TypeVar

from msgspec.structs import replace

from weftwork.ports.storage.run_queries import RunQuery
from weftwork.ports.storage.store import Store
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.run.projection import StoredRun
from weftwork.testing.storage.samples import ACME


class Check(Protocol):
    """Raises an exception if the open, empty store breaks the guarantee."""

    __name__: str

    async def __call__(self, store: Store, /) -> None: ...


class RestartCheck(Protocol):
    """Raises an exception if stores that are opened one after the other on the same data break the guarantee."""

    __name__: str

    async def __call__(self, make: Callable[[], Store], /) -> None: ...


class PairCheck(Protocol):
    """Raises an exception if two stores that are open on the same data, empty at first, break the guarantee."""

    __name__: str

    async def __call__(self, pair: tuple[Store, Store], /) -> None: ...


S = TypeVar("S", bound=Store)


Item = TypeVar("Item")


@asynccontextmanager
async def opened(store: S) -> AsyncGenerator[S, None]:
    """Open the store for the duration of the context."""
    await store.open()
    try:
        yield store
    finally:
        await store.close()


def prove(store: S, check: Callable[[S], Awaitable[None]], seconds: float = 30) -> None:
    """Open the store, run the check with a timeout of `seconds`, and close the store, all in a new event loop."""

    async def run() -> None:
        async with opened(store), asyncio.timeout(seconds):
            await check(store)

    asyncio.run(run())


async def catch(call: Awaitable[object]) -> Exception | None:
    """The exception that the call raises, or None."""
    try:
        await call
    except Exception as error:
        return error
    return None


ALL_RUNS = RunQuery()


async def stored_run(store: Store, run: RunKey) -> StoredRun:
    found = await store.log.read_run(run)
    assert found is not None
    return found


async def run_ids(store: Store, query: RunQuery = ALL_RUNS) -> list[str]:
    return [found.header.run_id for found in (await store.queries.list_runs(ACME, query)).runs]


async def list_all_runs(store: Store, query: RunQuery) -> list[StoredRun]:
    found: list[StoredRun] = []
    while True:
        page = await store.queries.list_runs(ACME, query)
        assert len(page.runs) <= query.limit
        found += page.runs
        if not page.more:
            return found
        assert page.last is not None
        assert page.last != query.before
        query = replace(query, before=page.last)


async def walk(page_after: Callable[[Item | None], Awaitable[list[Item]]], limit: int) -> list[Item]:
    """All items, read in pages of at most `limit`. The cursor of each page is the last item of the previous one."""
    items: list[Item] = []
    while page := await page_after(items[-1] if items else None):
        assert len(page) <= limit
        items += page
        assert len(items) < 1000
    return items


async def purge(store: Store) -> int:
    """Purge until nothing is left to purge, and return the number of calls that did work."""
    calls = 0
    while await store.retention.purge():
        calls += 1
    return calls


def fields_of(events: list[Event]) -> list[dict[str, Any]]:
    """Events as dictionaries, without the cached encodings."""
    cached = {"shown", "_document"}
    return [{name: getattr(item, name) for name in item.__struct_fields__ if name not in cached} for item in events]


async def state_of(store: Store, run: RunKey) -> tuple[Any, ...]:
    """Everything that a store returns about a run: the stored run, its events and its hidden values."""
    events = await store.log.read(run, -1, 100_000)
    return await store.log.read_run(run), fields_of(events), await store.log.hidden_values(run)
