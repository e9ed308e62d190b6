"""What checks store: headers, events, batches and records, each with the fields that a check does not care about."""

from typing import Any

from weftwork.ports.storage.event_log import RunCreated
from weftwork.ports.storage.store import Store
from weftwork.protocol.run.batch import Batch, HiddenValue, IdempotencyRecord
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.header import TERMINAL_STATUSES, Owner, RunHeader, RunKey, Status
from weftwork.protocol.run.projection import Projection, StateRow

ACME = "live:acme"
OTHER = "live:other"
NOW = 1_700_000_000_000


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
    **fields: Any,
) -> Batch:
    """`count` events that follow `expected`, with a projection that fits them; `fields` are others of the batch."""
    events = tuple(event(run, sequence) for sequence in range(expected + 1, expected + 1 + count))
    ended = NOW + 9 if status in TERMINAL_STATUSES else None
    projection = Projection(status, expected + count, NOW, ended, "node-1", None, expected + count + 1)
    return Batch(events, projection, rows, hidden, record, **fields)


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
