"""The idempotency records port on one SQLite file, and the functions that other transactions use."""

from typing import Final

from weftwork.adapters.sqlite.database.connection import SqliteConnection
from weftwork.adapters.sqlite.database.port import SqlitePort, reads, writes
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.protocol.run.batch import IdempotencyRecord

MAX_SWEEP: Final = 1000

_FIND = """
    SELECT partition, slot, fingerprint, outcome, created_at FROM idempotency WHERE partition = ? AND slot = ?
"""
_INSERT = (
    "INSERT OR REPLACE INTO idempotency (partition, slot, fingerprint, outcome, created_at) VALUES (?, ?, ?, ?, ?)"
)
_SWEEP = """
    DELETE FROM idempotency WHERE record_no IN
    (SELECT record_no FROM idempotency WHERE created_at < ? ORDER BY created_at LIMIT ?)
"""


def find_recorded(connection: SqliteConnection, record: IdempotencyRecord) -> SlotTaken | None:
    """The record in the slot of this record, unless it has expired; None if the slot is free."""
    existing = find_record(connection, record.partition, record.slot, record.expired_before)
    return SlotTaken(existing) if existing is not None else None


def put_record(connection: SqliteConnection, record: IdempotencyRecord) -> None:
    """Write a record to a slot that is free or has an expired record. The caller has checked this."""
    row = (record.partition, record.slot, record.fingerprint, record.outcome, record.created_at)
    connection.execute(_INSERT, row)


def save_record(connection: SqliteConnection, record: IdempotencyRecord) -> SlotTaken | None:
    """Write a record, or return SlotTaken if the slot is taken."""
    taken = find_recorded(connection, record)
    if taken is None:
        put_record(connection, record)
    return taken


def find_record(connection: SqliteConnection, partition: str, slot: str, not_before: int) -> IdempotencyRecord | None:
    """The record of a slot, if it was not created before `not_before`."""
    rows = connection.execute(_FIND, (partition, slot)).fetchall()
    record = IdempotencyRecord(*rows[0]) if rows else None
    return record if record is not None and record.created_at >= not_before else None


def sweep_records(connection: SqliteConnection, created_before: int) -> int:
    """Delete up to MAX_SWEEP of the oldest records. Returns their number."""
    connection.execute(_SWEEP, (created_before, MAX_SWEEP))
    return connection.changes()


class SqliteIdempotencyRecords(SqlitePort):
    """Implements ports.storage.idempotency.IdempotencyRecords."""

    save_record = writes(save_record)
    find_record = reads(find_record)
    sweep = writes(sweep_records)
