"""The run retention port on PostgreSQL.

Every read finds a run through its row in `runs`. A deletion replaces this row with a tombstone in `deleted_runs` in one
transaction, and then nothing of the run is visible. Its other tables may have millions of rows, so these are deleted in
pieces: the first piece in the same transaction, which is enough for most runs, and the others by later calls of
`purge`, also by another process. One process at a time purges.

An index has the ended runs by partition and end, so a search over all partitions skips from one partition to the next.
"""

from typing import Any, Final

import msgspec

from weftwork.adapters.postgres.child_runs import IS_PENDING, has_pending_result
from weftwork.adapters.postgres.database.connection import PostgresConnection
from weftwork.adapters.postgres.database.pool import Refused
from weftwork.adapters.postgres.database.port import PostgresPort, reads_once, writes
from weftwork.adapters.postgres.idempotency import claim
from weftwork.ports.storage.retention import StillLive
from weftwork.protocol.run.batch import IdempotencyRecord, check_record
from weftwork.protocol.run.header import TERMINAL_STATUSES, RunKey

PIECE_ROWS: Final = 500
"""A piece has at most this many rows of each table."""
MAX_FORGET: Final = 1000

_LOCK_DELETABLE = """
    SELECT r.run_no, r.status, r.is_child, h.header FROM runs r JOIN run_headers h USING (run_no)
    WHERE r.run_id = $2 AND r.partition || '' = $1 FOR UPDATE OF r
"""
_DELETE_RUN = """
    WITH gone AS (DELETE FROM runs WHERE run_no = $1 RETURNING partition, run_id),
      untagged AS (DELETE FROM run_tags WHERE partition = $2 AND tag = ANY ($3::text[]) AND run_no = $1),
      orphaned AS (DELETE FROM children WHERE run_no = $1),
      unheard AS (DELETE FROM child_results WHERE run_no = $1),
      unanswered AS (DELETE FROM cancel_requests WHERE run_no = $1)
    INSERT INTO deleted_runs (run_no, partition, run_id, deleted_at, purged)
    SELECT $1, partition, run_id, $4, $5 FROM gone
"""
_NEXT_UNPURGED = "SELECT run_no FROM deleted_runs WHERE NOT purged ORDER BY run_no LIMIT 1"
_MARK_PURGED = "UPDATE deleted_runs SET purged = true WHERE run_no = $1"
_FORGET = """
    DELETE FROM deleted_runs WHERE run_no IN
    (SELECT run_no FROM deleted_runs WHERE purged AND deleted_at < $1 ORDER BY deleted_at LIMIT $2) RETURNING 1
"""

RUN_TABLES: Final = (
    "hidden",
    "asset_refs",
    "forks",
    "annotations",
    "run_headers",
    "open_interrupts",
    "run_state",
    "events",
)
"""The tables with rows of runs by number, except `runs` and `run_tags`."""


def _piece_statement() -> str:
    """Deletes a piece of the rows of run $1 in every table, and selects whether one of the tables may have more."""
    parts = [
        f"in_{table} AS (DELETE FROM {table} WHERE ctid = ANY (ARRAY("
        f"SELECT ctid FROM {table} WHERE run_no = $1 LIMIT {PIECE_ROWS})) RETURNING 1)"
        for table in RUN_TABLES
    ]
    counts = " OR ".join(f"(SELECT count(*) FROM in_{table}) >= {PIECE_ROWS}" for table in RUN_TABLES)
    return f"WITH {', '.join(parts)} SELECT {counts}"


_DELETE_PIECE: Final = _piece_statement()


class _HeaderTags(msgspec.Struct):
    """The part of a header that is needed to find the tags of a run."""

    tags: tuple[str, ...] = ()


_decode_tags = msgspec.json.Decoder(_HeaderTags).decode


async def _delete(
    connection: PostgresConnection, run: RunKey, now: int, record: IdempotencyRecord | None = None
) -> Any:
    """RunRetention.delete. Raises Refused with SlotTaken."""
    check_record(run, record)
    await claim(connection, record)
    found = await connection.fetchrow(_LOCK_DELETABLE, run.partition, run.run_id)
    if found is None:
        raise Refused(False)
    run_no, status, is_child, header = found
    if status not in TERMINAL_STATUSES:
        raise StillLive(f"the run is {status}")
    if is_child and await has_pending_result(connection, run_no):
        raise StillLive("the parent of the run has not received its result yet")
    has_more = await connection.fetchval(_DELETE_PIECE, run_no)
    tags = [*_decode_tags(header).tags]
    await connection.execute(_DELETE_RUN, run_no, run.partition, tags, now, not has_more)
    return True


async def _has_unpurged(connection: PostgresConnection) -> bool:
    return await connection.fetchval(_NEXT_UNPURGED) is not None


async def _purge_piece(connection: PostgresConnection) -> bool:
    """RunRetention.purge: delete a piece of the unpurged run with the lowest number."""
    run_no = await connection.fetchval(_NEXT_UNPURGED)
    if run_no is None:
        return False
    if not await connection.fetchval(_DELETE_PIECE, run_no):
        await connection.execute(_MARK_PURGED, run_no)
    return True


async def _forget(connection: PostgresConnection, deleted_before: int) -> int:
    return len(await connection.fetch(_FORGET, deleted_before, MAX_FORGET))


# A child run cannot be deleted before its parent has acknowledged the result.
_RESULT_ACKNOWLEDGED: Final = f"NOT {IS_PENDING.format(run_no='r.run_no')}"
_IN_PARTITION: Final = f"FROM runs r WHERE partition = $1 AND completed_at < $2 AND {_RESULT_ACKNOWLEDGED}"
_PARTITIONS: Final = """
    WITH RECURSIVE partitions (name) AS (
      SELECT min(partition) FROM runs
      UNION ALL
      SELECT (SELECT min(partition) FROM runs WHERE partition > name) FROM partitions WHERE name IS NOT NULL
    )
"""
_IN_ALL: Final = f"""
    FROM partitions CROSS JOIN LATERAL (
      SELECT partition, run_id FROM runs r
      WHERE r.partition = name AND r.completed_at < $1 AND {_RESULT_ACKNOWLEDGED} ORDER BY r.completed_at {{limit}}
    ) ended
"""
ENDED_IN_PARTITION: Final = f"SELECT partition, run_id {_IN_PARTITION} ORDER BY completed_at, run_no LIMIT $3"
COUNT_IN_PARTITION: Final = f"SELECT count(*) {_IN_PARTITION}"
ENDED_IN_ALL: Final = f"{_PARTITIONS} SELECT partition, run_id {_IN_ALL.format(limit='LIMIT $2')} LIMIT $2"
COUNT_IN_ALL: Final = f"{_PARTITIONS} SELECT count(*) {_IN_ALL.format(limit='')}"


async def _list_ended(
    connection: PostgresConnection, completed_before: int, limit: int, partition: str | None = None
) -> list[RunKey]:
    limit = max(limit, 0)
    if partition is None:
        rows = await connection.fetch(ENDED_IN_ALL, completed_before, limit)
    else:
        rows = await connection.fetch(ENDED_IN_PARTITION, partition, completed_before, limit)
    return [RunKey(*row) for row in rows]


async def _count_ended(connection: PostgresConnection, completed_before: int, partition: str | None = None) -> int:
    if partition is None:
        return await connection.fetchval(COUNT_IN_ALL, completed_before)
    return await connection.fetchval(COUNT_IN_PARTITION, partition, completed_before)


class PostgresRunRetention(PostgresPort):
    """Implements ports.storage.retention.RunRetention."""

    delete = writes(_delete)
    runs_ended_before = reads_once(_list_ended)
    count_ended = reads_once(_count_ended)

    async def purge(self) -> bool:
        # Most of the time there is nothing to purge, and then the call takes no lock.
        return await self._pool.single(_has_unpurged) and await self._pool.chore("purge", False, _purge_piece)

    async def forget_deleted(self, deleted_before: int) -> int:
        return await self._pool.chore("forget", 0, lambda connection: _forget(connection, deleted_before))
