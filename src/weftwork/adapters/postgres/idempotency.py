"""The idempotency records port on PostgreSQL, and the functions that other transactions use.

A slot is claimed by its insertion: a second transaction with the same slot waits until the first one ends, and then
finds the record. Transactions claim their slot before they lock anything else.
"""

from typing import Final

from weftwork.adapters.postgres.database.connection import PostgresConnection
from weftwork.adapters.postgres.database.pool import Refused
from weftwork.adapters.postgres.database.port import PostgresPort, reads_once, writes
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.protocol.run.batch import IdempotencyRecord

MAX_SWEEP: Final = 1000

_FIND = "SELECT partition, slot, fingerprint, outcome, created_at FROM idempotency WHERE partition = $1 AND slot = $2"
_CLAIM = """
    INSERT INTO idempotency AS old (partition, slot, fingerprint, outcome, created_at) VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (partition, slot) DO UPDATE
    SET fingerprint = excluded.fingerprint, outcome = excluded.outcome, created_at = excluded.created_at
    WHERE old.created_at < $6 RETURNING true
"""
_SWEEP = """
    DELETE FROM idempotency WHERE (partition, slot) IN
    (SELECT partition, slot FROM idempotency WHERE created_at < $1 ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED)
    RETURNING 1
"""


async def claim(connection: PostgresConnection, record: IdempotencyRecord | None) -> None:
    """Write the record to its slot. Raises Refused with SlotTaken if another record is there, unless it has expired.

    After that the slot belongs to this transaction: other processes wait for its end.
    """
    if record is None:
        return
    values = (record.partition, record.slot, record.fingerprint, record.outcome, record.created_at)
    while not await connection.fetchval(_CLAIM, *values, record.expired_before):
        taken = await find_recorded(connection, record)
        if taken is not None:  # it may have been swept in between
            raise Refused(taken)


async def find_recorded(connection: PostgresConnection, record: IdempotencyRecord) -> SlotTaken | None:
    """The record in the slot of this record, unless it has expired; None if the slot is free."""
    existing = await find_record(connection, record.partition, record.slot, record.expired_before)
    return SlotTaken(existing) if existing is not None else None


async def save_record(connection: PostgresConnection, record: IdempotencyRecord) -> SlotTaken | None:
    await claim(connection, record)
    return None


async def find_record(
    connection: PostgresConnection, partition: str, slot: str, not_before: int
) -> IdempotencyRecord | None:
    """The record of a slot, if it was not created before `not_before`."""
    row = await connection.fetchrow(_FIND, partition, slot)
    record = IdempotencyRecord(*row) if row is not None else None
    return record if record is not None and record.created_at >= not_before else None


async def _sweep(connection: PostgresConnection, created_before: int) -> int:
    return len(await connection.fetch(_SWEEP, created_before, MAX_SWEEP))


class PostgresIdempotencyRecords(PostgresPort):
    """Implements ports.storage.idempotency.IdempotencyRecords."""

    save_record = writes(save_record)
    find_record = reads_once(find_record)

    async def sweep(self, created_before: int) -> int:
        """Deletes up to MAX_SWEEP of the oldest records; none while another process does it."""
        return await self._pool.chore("records", 0, lambda connection: _sweep(connection, created_before))
