"""The shapes of a check, how one is run, and what checks read: all that shows of a run, and all pages of a list."""

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
    """Raises unless the open, empty store keeps the promise."""

    __name__: str

    async def __call__(self, store: Store, /) -> None: ...


class RestartCheck(Protocol):
    """Raises unless the promise holds across stores that are opened one after the other."""

    __name__: str

    async def __call__(self, make: Callable[[], Store], /) -> None: ...


S = TypeVar("S", bound=Store)


Item = TypeVar("Item")


@asynccontextmanager
async def opened(store: S) -> AsyncGenerator[S, None]:
    """The store, which is open within and closed afterwards."""
    await store.open()
    try:
        yield store
    finally:
        await store.close()


def prove(store: S, check: Callable[[S], Awaitable[None]], seconds: float = 30) -> None:
    """Open the store, run the check on it within that time, and close it again, on a loop of its own."""

    async def run() -> None:
        async with opened(store), asyncio.timeout(seconds):
            await check(store)

    asyncio.run(run())


async def catch(call: Awaitable[object]) -> Exception | None:
    """What the call raises, or None."""
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
    """All items by pages of at most `limit`, each asked for with the last item of the one before."""
    found: list[Item] = []
    while page := await page_after(found[-1] if found else None):
        assert len(page) <= limit
        found += page
        assert len(found) < 1000
    return found


async def purge(store: Store) -> int:
    """Purge to the end; how many pieces that took."""
    pieces = 0
    while await store.retention.purge():
        pieces += 1
    return pieces


def fields_of(events: list[Event]) -> list[dict[str, Any]]:
    """Events as dictionaries, without the encodings that an event caches in itself."""
    cached = {"shown", "_document"}
    return [{name: getattr(item, name) for name in item.__struct_fields__ if name not in cached} for item in events]


async def state_of(store: Store, run: RunKey) -> tuple[Any, ...]:
    """Everything a store shows of a run."""
    events = await store.log.read(run, -1, 100_000)
    return await store.log.read_run(run), fields_of(events), await store.log.hidden_values(run)
