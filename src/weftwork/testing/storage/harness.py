"""The shapes of a check, and what checks share.

Headers, batches and records to store, and the whole visible state of a run to compare.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Protocol, TypeVar

from msgspec.structs import replace

from weftwork.ports.storage.event_log import RunCreated
from weftwork.ports.storage.run_queries import RunQuery
from weftwork.ports.storage.store import Store
from weftwork.protocol.run.batch import Batch, HiddenValue, IdempotencyRecord
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.header import TERMINAL_STATUSES, Owner, RunHeader, RunKey, Status
from weftwork.protocol.run.projection import Projection, StateRow, StoredRun


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


ACME = "live:acme"
OTHER = "live:other"
NOW = 1_700_000_000_000
ALL_RUNS = RunQuery()


def header(run_id: str = "run-a", partition: str = ACME, **fields: Any) -> RunHeader:
    """A small header; `fields` replace its own."""
    plain: dict[str, Any] = {
        "owner": Owner(partition, "key-1"),
        "workflow_id": "greet",
        "definition": "0" * 64,
        "created_at": NOW,
    }
    return RunHeader(run_id=run_id, partition=partition, **(plain | fields))


def event(run: RunKey, sequence: int, **fields: Any) -> Event:
    """An event; `fields` replace its own."""
    plain: dict[str, Any] = {
        "event_id": f"event-{sequence}",
        "type": "log.appended",
        "timestamp": NOW + sequence,
        "payload": b'{"line":"%d"}' % sequence,
    }
    return Event(run_id=run.run_id, sequence=sequence, **(plain | fields))


def batch(
    run: RunKey,
    expected: int,
    count: int = 1,
    status: Status = "running",
    rows: tuple[StateRow, ...] = (),
    hidden: tuple[HiddenValue, ...] = (),
    record: IdempotencyRecord | None = None,
) -> Batch:
    """`count` events that follow `expected`, with a projection that fits them."""
    events = tuple(event(run, sequence) for sequence in range(expected + 1, expected + 1 + count))
    ended = NOW + 9 if status in TERMINAL_STATUSES else None
    projection = Projection(status, expected + count, NOW, ended, "node-1", None, expected + count + 1)
    return Batch(events, projection, rows, hidden, record)


def record(slot: str = "slot-1", partition: str = ACME, **fields: Any) -> IdempotencyRecord:
    """An idempotency record; `fields` replace its own."""
    plain: dict[str, Any] = {"fingerprint": "f" * 64, "outcome": b'{"runId":"run-a"}', "created_at": NOW}
    return IdempotencyRecord(partition=partition, slot=slot, **(plain | fields))


async def make_run(
    store: Store, run_id: str = "run-a", partition: str = ACME, status: Status = "pending", **fields: Any
) -> RunKey:
    """Create a run and bring it to the status with one event, or none for a pending one."""
    made = header(run_id, partition, **fields)
    assert await store.log.create(made) == RunCreated()
    if status != "pending":
        assert await store.log.append(made.key, -1, batch(made.key, -1, status=status)) is None
    return made.key


async def stored_run(store: Store, run: RunKey) -> StoredRun:
    """A run that must be there."""
    found = await store.log.read_run(run)
    assert found is not None
    return found


async def run_ids(store: Store, query: RunQuery = ALL_RUNS) -> list[str]:
    """The ids of the runs on a page."""
    return [found.header.run_id for found in (await store.queries.list_runs(ACME, query)).runs]


async def list_all_runs(store: Store, query: RunQuery) -> list[StoredRun]:
    """The runs of all pages."""
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
