"""Idempotency records: one per partition and slot."""

from typing import Final

from weftwork.adapters.sqlite.database.connection import SqliteConnection
from weftwork.ports.storage.event_log import SlotTaken
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
    """What is recorded in the slot, if it is taken and still counts."""
    known = find_record(record.partition, record.slot, record.expired_before, connection)
    return SlotTaken(known) if known is not None else None


def put_record(connection: SqliteConnection, record: IdempotencyRecord) -> None:
    """Fill a slot that is known to be free, or to hold a record that no longer counts."""
    row = (record.partition, record.slot, record.fingerprint, record.outcome, record.created_at)
    connection.execute(_INSERT, row)


def save_record(record: IdempotencyRecord, connection: SqliteConnection) -> SlotTaken | None:
    """Fill the slot, unless it is taken."""
    known = find_recorded(connection, record)
    if known is None:
        put_record(connection, record)
    return known


def find_record(partition: str, slot: str, not_before: int, connection: SqliteConnection) -> IdempotencyRecord | None:
    """The record of a slot, if it is not too old."""
    found = connection.execute(_FIND, (partition, slot)).fetchall()
    record = IdempotencyRecord(*found[0]) if found else None
    return record if record is not None and record.created_at >= not_before else None


def sweep_records(created_before: int, connection: SqliteConnection) -> int:
    """Delete the oldest records, MAX_SWEEP at a time."""
    connection.execute(_SWEEP, (created_before, MAX_SWEEP))
    return connection.changes()
