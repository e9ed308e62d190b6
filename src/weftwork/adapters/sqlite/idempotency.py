"""The idempotency records port on one SQLite file, and the part of it that other transactions include."""

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
    """What is recorded in the slot, if it is taken and still counts."""
    known = find_record(connection, record.partition, record.slot, record.expired_before)
    return SlotTaken(known) if known is not None else None


def put_record(connection: SqliteConnection, record: IdempotencyRecord) -> None:
    """Fill a slot that is known to be free, or to hold a record that no longer counts."""
    row = (record.partition, record.slot, record.fingerprint, record.outcome, record.created_at)
    connection.execute(_INSERT, row)


def save_record(connection: SqliteConnection, record: IdempotencyRecord) -> SlotTaken | None:
    """Fill the slot, unless it is taken."""
    known = find_recorded(connection, record)
    if known is None:
        put_record(connection, record)
    return known


def find_record(connection: SqliteConnection, partition: str, slot: str, not_before: int) -> IdempotencyRecord | None:
    """The record of a slot, if it is not too old."""
    found = connection.execute(_FIND, (partition, slot)).fetchall()
    record = IdempotencyRecord(*found[0]) if found else None
    return record if record is not None and record.created_at >= not_before else None


def sweep_records(connection: SqliteConnection, created_before: int) -> int:
    """Delete the oldest records, MAX_SWEEP at a time."""
    connection.execute(_SWEEP, (created_before, MAX_SWEEP))
    return connection.changes()


class SqliteIdempotencyRecords(SqlitePort):
    """Implements ports.storage.idempotency.IdempotencyRecords."""

    save_record = writes(save_record)
    find_record = reads(find_record)
    sweep = writes(sweep_records)
