"""Sample headers, events, batches and records, with defaults for the fields that do not matter to a check."""

from typing import Any

from msgspec.structs import replace

from weftwork.ports.storage.event_log import RunCreated
from weftwork.ports.storage.store import Store
from weftwork.protocol.run.batch import Batch, HiddenValue, IdempotencyRecord
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.header import TERMINAL_STATUSES, Owner, RunHeader, RunKey, Status
from weftwork.protocol.run.projection import Projection, StateRow

ACME = "live:acme"
OTHER = "live:other"
NOW = 1_700_000_000_000
ANY_FENCE = 2**62
"""A fence above those of all runs."""


def header(run_id: str = "run-a", partition: str = ACME, **fields: Any) -> RunHeader:
    """A small header. `fields` overrides the defaults."""
    plain: dict[str, Any] = {
        "owner": Owner(partition, "key-1"),
        "workflow_id": "greet",
        "definition": "0" * 64,
        "created_at": NOW,
    }
    return RunHeader(run_id=run_id, partition=partition, **(plain | fields))


def event(run: RunKey, sequence: int, **fields: Any) -> Event:
    """An event. `fields` overrides the defaults."""
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
    **fields: Any,
) -> Batch:
    """`count` events after the sequence `expected`, with a matching projection. `fields` sets further fields of the
    batch."""
    events = tuple(event(run, sequence) for sequence in range(expected + 1, expected + 1 + count))
    completed_at = NOW + 9 if status in TERMINAL_STATUSES else None
    projection = Projection(status, expected + count, NOW, completed_at, "node-1", None, expected + count + 1)
    return Batch(events, projection, rows, hidden, record, **fields)


def record(slot: str = "slot-1", partition: str = ACME, **fields: Any) -> IdempotencyRecord:
    """An idempotency record. `fields` overrides the defaults."""
    plain: dict[str, Any] = {"fingerprint": "f" * 64, "outcome": b'{"runId":"run-a"}', "created_at": NOW}
    return IdempotencyRecord(partition=partition, slot=slot, **(plain | fields))


async def make_run(
    store: Store, run_id: str = "run-a", partition: str = ACME, status: Status = "pending", **fields: Any
) -> RunKey:
    """Create a run with the status. A run that is not pending has one event."""
    run_header = header(run_id, partition, **fields)
    run = run_header.key
    assert await store.log.create(run_header) == RunCreated()
    if status != "pending":
        assert await store.log.append(run, -1, batch(run, -1, status=status)) is None
    return run


def parked_batch(run: RunKey, expected: int, wake_at: int | None = None, parked: bool = True) -> Batch:
    """A batch of one event whose projection is parked or not."""
    plain = batch(run, expected, 1, "waiting-approval")
    return replace(plain, projection=replace(plain.projection, parked=parked, wake_at=wake_at))


async def make_parked_run(store: Store, run_id: str, wake_at: int | None = None, partition: str = ACME) -> RunKey:
    run = await make_run(store, run_id, partition)
    assert await store.log.append(run, -1, parked_batch(run, -1, wake_at)) is None
    return run


async def unfinished(
    store: Store, after: RunKey | None, limit: int, until: RunKey | None = None, partition: str | None = None
) -> list[RunKey]:
    """The keys of a page of the runs that have neither ended nor parked: an executor could take all of them."""
    return [each.key for each in await store.ownership.untaken(ANY_FENCE, after, limit, until, partition)]
