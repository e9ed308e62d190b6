"""The run retention port on one SQLite file.

Every read finds a run through its row in `runs`. A deletion replaces this row with a tombstone in `deleted_runs` in one
transaction, and then nothing of the run is visible. Its other tables may have millions of rows, and all writes share
one writer, so these rows are deleted in pieces of bounded size: the first piece in the same transaction, which is
enough for most runs, and the others by later calls of `purge`, also after a restart.

An index has the ended runs by partition and end, so a search over all partitions skips from one partition to the next.
"""

from typing import Any, Final, NamedTuple

import msgspec

from weftwork.adapters.sqlite import child_runs, idempotency
from weftwork.adapters.sqlite.database.connection import SqliteConnection
from weftwork.adapters.sqlite.database.port import SqlitePort, reads, writes
from weftwork.adapters.sqlite.runs import SEQUENCE_BITS
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.ports.storage.retention import StillLive
from weftwork.protocol.run.batch import IdempotencyRecord, check_record
from weftwork.protocol.run.header import TERMINAL_STATUSES, RunKey

PIECE_ROWS: Final = 500
PIECE_BYTES: Final = 1_048_576
"""A piece ends with the row that reaches one of these limits."""
MAX_FORGET: Final = 1000

_FIND_DELETABLE = """
    SELECT r.run_no, r.status, r.is_child, h.header FROM runs r CROSS JOIN run_headers h ON h.run_no = r.run_no
    WHERE r.partition = ? AND r.run_id = ?
"""
_DROP_RUN = "DELETE FROM runs WHERE run_no = ?"
_DROP_TAG = "DELETE FROM run_tags WHERE partition = ? AND tag = ? AND run_no = ?"
_INSERT_TOMBSTONE = "INSERT INTO deleted_runs (run_no, partition, run_id, deleted_at, purged) VALUES (?, ?, ?, ?, ?)"
_NEXT_UNPURGED = "SELECT run_no FROM deleted_runs WHERE purged = 0 ORDER BY run_no LIMIT 1"
_MARK_PURGED = "UPDATE deleted_runs SET purged = 1 WHERE run_no = ?"
_FORGET_TOMBSTONES = """
    DELETE FROM deleted_runs WHERE run_no IN
    (SELECT run_no FROM deleted_runs WHERE purged = 1 AND deleted_at < ? ORDER BY deleted_at LIMIT ?)
"""


class _TableQueries(NamedTuple):
    """A table with rows of runs: selects the first rows of a run, each with its key and size, and deletes one row."""

    find: str
    delete: str


def _queries(table: str, *keys: str, size: str = "0", of_run: str = "run_no = ?1") -> _TableQueries:
    key = " AND ".join(f"{each} = ?" for each in keys)
    find = f"SELECT {', '.join(keys)}, {size} FROM {table} WHERE {of_run} LIMIT ?2"  # noqa: S608 - constants
    return _TableQueries(find, f"DELETE FROM {table} WHERE {key}")  # noqa: S608 - constants


_EVENTS_OF_RUN: Final = f"id >= ?1 << {SEQUENCE_BITS} AND id < (?1 + 1) << {SEQUENCE_BITS} ORDER BY id"

RUN_TABLES: Final[dict[str, _TableQueries]] = {
    # Hidden values are secret, so they are deleted first.
    "hidden": _queries("hidden", "hidden_no", size="length(value)"),
    # Early, so that assets without other references can be deleted soon; for most runs this is in the first piece.
    "asset_refs": _queries("asset_refs", "run_no", "asset_no"),
    "forks": _queries("forks", "run_no"),
    "annotations": _queries("annotations", "annotation_no", size="length(document)"),
    "run_headers": _queries("run_headers", "run_no", size="length(header)"),
    "open_interrupts": _queries("open_interrupts", "run_no", "interrupt_id"),
    "run_state": _queries("run_state", "rowid", size="length(value)"),
    "events": _queries("events", "id", size="length(payload)", of_run=_EVENTS_OF_RUN),
}
"""The tables with rows of runs except `runs` and `run_tags`, in the order of deletion."""


class _HeaderTags(msgspec.Struct):
    """The part of a header that is needed to find the tags of a run."""

    tags: tuple[str, ...] = ()


_decode_tags = msgspec.json.Decoder(_HeaderTags).decode


def delete_run(
    connection: SqliteConnection, run: RunKey, now: int, record: IdempotencyRecord | None = None
) -> bool | SlotTaken:
    """RunRetention.delete. RunHeadCache has only live runs, so the deleted run is not in it."""
    check_record(run, record)
    taken = idempotency.find_recorded(connection, record) if record is not None else None
    if taken is not None:
        return taken
    rows = connection.execute(_FIND_DELETABLE, (run.partition, run.run_id)).fetchall()
    if not rows:
        return False
    run_no, status, is_child, header = rows[0]
    if status not in TERMINAL_STATUSES:
        raise StillLive(f"the run is {status}")
    if is_child:
        if child_runs.has_pending_result(connection, run_no):
            raise StillLive("the parent of the run has not received its result yet")
        connection.execute(child_runs.DELETE_CHILD, (run_no,))
    connection.execute(_DROP_RUN, (run_no,))
    tags = {(run.partition, tag, run_no) for tag in _decode_tags(header).tags}
    connection.executemany(_DROP_TAG, tags)
    has_more = _delete_piece(connection, run_no)
    connection.execute(_INSERT_TOMBSTONE, (run_no, run.partition, run.run_id, now, 0 if has_more else 1))
    if record is not None:
        idempotency.put_record(connection, record)
    return True


def has_unpurged(connection: SqliteConnection) -> bool:
    return bool(connection.execute(_NEXT_UNPURGED).fetchall())


def purge_piece(connection: SqliteConnection) -> bool:
    """RunRetention.purge: delete a piece of the unpurged run with the lowest number."""
    rows = connection.execute(_NEXT_UNPURGED).fetchall()
    if not rows:
        return False
    run_no = rows[0][0]
    if not _delete_piece(connection, run_no):
        connection.execute(_MARK_PURGED, (run_no,))
    return True


def forget_tombstones(connection: SqliteConnection, deleted_before: int) -> int:
    """RunRetention.forget_deleted: delete up to MAX_FORGET tombstones of purged runs. Returns their number."""
    connection.execute(_FORGET_TOMBSTONES, (deleted_before, MAX_FORGET))
    return connection.changes()


def _delete_piece(connection: SqliteConnection, run_no: int) -> bool:
    """Delete one piece of the rows with this run number. Returns whether there may be more."""
    count, total_size = 0, 0
    for table in RUN_TABLES.values():
        keys: list[list[Any]] = []
        rows: Any = connection.execute(table.find, (run_no, PIECE_ROWS - count))
        for *key, size in rows:
            keys.append(key)
            count += 1
            total_size += size
            if total_size >= PIECE_BYTES:
                rows.close()
                break
        connection.executemany(table.delete, keys)
        if count >= PIECE_ROWS or total_size >= PIECE_BYTES:
            return True
    return False


# A child run cannot be deleted before its parent has acknowledged the result.
_RESULT_ACKNOWLEDGED = "NOT EXISTS (SELECT 1 FROM news n WHERE n.run_no = r.run_no)"
ENDED_IN_PARTITION = f"""
    SELECT partition, run_id FROM runs r WHERE partition = ? AND completed_at < ? AND {_RESULT_ACKNOWLEDGED}
    ORDER BY completed_at LIMIT ?
"""  # noqa: S608 - nothing but constants
COUNT_ENDED_IN_PARTITION = (
    f"SELECT count(*) FROM runs r WHERE partition = ? AND completed_at < ? AND {_RESULT_ACKNOWLEDGED}"  # noqa: S608
)

_PARTITIONS = """
    WITH RECURSIVE partitions (name) AS (
      SELECT min(partition) FROM runs
      UNION ALL
      SELECT (SELECT min(partition) FROM runs WHERE partition > name) FROM partitions WHERE name IS NOT NULL
    )
"""
ENDED_IN_ALL = f"""
    {_PARTITIONS} SELECT r.partition, r.run_id FROM partitions CROSS JOIN runs r
    ON r.partition = name AND r.completed_at < ? AND {_RESULT_ACKNOWLEDGED} LIMIT ?
"""  # noqa: S608 - nothing but constants
COUNT_ENDED_IN_ALL = f"""
    {_PARTITIONS} SELECT count(*) FROM partitions CROSS JOIN runs r
    ON r.partition = name AND r.completed_at < ? AND {_RESULT_ACKNOWLEDGED}
"""  # noqa: S608 - nothing but constants


def list_ended(
    connection: SqliteConnection, completed_before: int, limit: int, partition: str | None = None
) -> list[RunKey]:
    limit = max(limit, 0)
    if partition is None:
        rows = connection.execute(ENDED_IN_ALL, (completed_before, limit))
    else:
        rows = connection.execute(ENDED_IN_PARTITION, (partition, completed_before, limit))
    return [RunKey(*row) for row in rows.fetchall()]


def count_ended(connection: SqliteConnection, completed_before: int, partition: str | None = None) -> int:
    if partition is None:
        rows = connection.execute(COUNT_ENDED_IN_ALL, (completed_before,))
    else:
        rows = connection.execute(COUNT_ENDED_IN_PARTITION, (partition, completed_before))
    return rows.fetchall()[0][0]


class SqliteRunRetention(SqlitePort):
    """Implements ports.storage.retention.RunRetention."""

    delete = writes(delete_run)
    forget_deleted = writes(forget_tombstones)
    runs_ended_before = reads(list_ended)
    count_ended = reads(count_ended)

    async def purge(self) -> bool:
        # Most of the time there is nothing to purge, and then the call does not wait for the writer.
        return await self._read(has_unpurged) and await self._write(purge_piece)
