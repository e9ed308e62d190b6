"""Reads one run: its header, projection, state rows, hidden values and events, and its number, the key of all these."""

from typing import Any, Final

import msgspec

from weftwork.adapters.sqlite.database.connection import SqliteConnection
from weftwork.adapters.sqlite.database.reader import snapshot
from weftwork.ports.storage.event_log import BEFORE_HEADER, RunOutline, WholeRun
from weftwork.protocol.run.batch import MAX_SEQUENCE, HiddenValue
from weftwork.protocol.run.events import DOCUMENT_OVERHEAD, Event
from weftwork.protocol.run.header import RunHeader, RunKey
from weftwork.protocol.run.projection import Projection, StateRow, StoredRun

SEQUENCE_BITS: Final = MAX_SEQUENCE.bit_length()
"""The id of an event is run_no * 2^26 + sequence; see the first migration."""

_PROJECTION_COLUMNS: Final = """
    r.status, r.last_sequence, r.started_at, r.completed_at, r.current_node, r.error, r.executions, {outputs},
    r.parked, r.wake_at
"""
_ALL_COLUMNS: Final = _PROJECTION_COLUMNS.format(outputs="r.outputs")
# Listings leave the outputs out, because these can be large.
_LISTED_COLUMNS: Final = _PROJECTION_COLUMNS.format(outputs="NULL")
_FIND_RUN = f"""
    SELECT r.run_no, h.header, {_ALL_COLUMNS} FROM runs r CROSS JOIN run_headers h ON h.run_no = r.run_no
    WHERE r.partition = ? AND r.run_id = ?
"""  # noqa: S608 - nothing but constants
_FIND_BY_NUMBER = f"""
    SELECT h.header, {_LISTED_COLUMNS} FROM runs r CROSS JOIN run_headers h ON h.run_no = r.run_no
    WHERE r.run_no = ? AND r.partition = ?
"""  # noqa: S608 - nothing but constants
_FIND_PROJECTION = f"SELECT {_LISTED_COLUMNS} FROM runs r WHERE r.partition = ? AND r.run_id = ?"  # noqa: S608
_READ_ROWS = "SELECT kind, name, value FROM run_state WHERE run_no = ? ORDER BY kind, name"
_READ_HIDDEN = """
    SELECT h.sequence, h.pointer, h.value FROM runs r CROSS JOIN hidden h ON h.run_no = r.run_no
    WHERE r.partition = ? AND r.run_id = ? AND h.sequence > ? AND h.sequence <= ? ORDER BY h.sequence, h.hidden_no
"""
_READ_EVENTS = f"""
    SELECT e.id & {(1 << SEQUENCE_BITS) - 1}, e.event_id, e.type, e.timestamp, e.payload, e.node_id,
           e.causation_id, e.schema_version, e.engine_version, e.interrupt_id, e.content_trust
    FROM runs r CROSS JOIN events e
         ON e.id > (r.run_no << {SEQUENCE_BITS}) + ? AND e.id < (r.run_no + 1) << {SEQUENCE_BITS}
    WHERE r.partition = ? AND r.run_id = ? ORDER BY e.id LIMIT ?
"""  # noqa: S608 - nothing but constants

# SQLite knows the length of a value without reading the pages that it overflows to.
_LOG_BYTES: Final = f"""ifnull((SELECT sum(length(e.payload) + {DOCUMENT_OVERHEAD}) FROM events e
            WHERE e.id >= r.run_no << {SEQUENCE_BITS} AND e.id < (r.run_no + 1) << {SEQUENCE_BITS}), 0)
    + ifnull((SELECT sum(length(h.value)) FROM hidden h WHERE h.run_no = r.run_no), 0)
"""  # noqa: S608 - nothing but constants
# The fence of an ended run is of no use, and stands behind the outputs, which may be large.
_OUTLINE_COLUMNS: Final = f"""h.header, {_LOG_BYTES},
    ifnull((SELECT sum(length(s.value)) FROM run_state s WHERE s.run_no = r.run_no), 0),
    iif(r.completed_at IS NULL, r.fence, 0), {_LISTED_COLUMNS}
"""  # noqa: S608 - nothing but constants
_FIND_OUTLINE = f"""
    SELECT {_OUTLINE_COLUMNS}
    FROM runs r CROSS JOIN run_headers h ON h.run_no = r.run_no WHERE r.partition = ? AND r.run_id = ?
"""  # noqa: S608 - nothing but constants
# The sizes are added up for a run with few events only.
_FIND_SHORT = f"""
    SELECT r.run_no, {_OUTLINE_COLUMNS}
    FROM runs r CROSS JOIN run_headers h ON h.run_no = r.run_no
    WHERE r.partition = ? AND r.run_id = ? AND r.completed_at IS NULL AND r.last_sequence < ?
"""  # noqa: S608 - nothing but constants
_PARTITION_BYTES = f"""
    SELECT ifnull(sum(length(h.header) + {_LOG_BYTES}), 0)
    FROM runs r CROSS JOIN run_headers h ON h.run_no = r.run_no WHERE r.partition = ?
"""  # noqa: S608 - nothing but constants

_FIND_NUMBER = "SELECT run_no FROM runs WHERE partition = ? AND run_id = ?"
_FIND_DELETED_NUMBER = "SELECT max(run_no) FROM deleted_runs WHERE partition = ? AND run_id = ?"

_HEADERS = msgspec.json.Decoder(RunHeader)


def _decode_header(encoded: bytes) -> RunHeader:
    try:
        return _HEADERS.decode(encoded)
    except TypeError:
        raise msgspec.DecodeError("a run has no header") from None


def find_run(connection: SqliteConnection, run: RunKey) -> StoredRun | None:
    with snapshot(connection):
        rows = connection.execute(_FIND_RUN, (run.partition, run.run_id)).fetchall()
        if not rows:
            return None
        run_no, header, *projection = rows[0]
        state = connection.execute(_READ_ROWS, (run_no,)).fetchall()
    return StoredRun(_decode_header(header), _build_projection(*projection), tuple(StateRow(*row) for row in state))


def find_projection(connection: SqliteConnection, run: RunKey) -> Projection | None:
    rows = connection.execute(_FIND_PROJECTION, (run.partition, run.run_id)).fetchall()
    return _build_projection(*rows[0]) if rows else None


def find_outline(connection: SqliteConnection, run: RunKey) -> RunOutline | None:
    rows = connection.execute(_FIND_OUTLINE, (run.partition, run.run_id)).fetchall()
    if not rows:
        return None
    header, log_bytes, row_bytes, fence, *projection = rows[0]
    return RunOutline(_decode_header(header), _build_projection(*projection), log_bytes, row_bytes, fence)


def find_whole(connection: SqliteConnection, run: RunKey, most: int) -> WholeRun | None:
    with snapshot(connection):
        rows = connection.execute(_FIND_SHORT, (run.partition, run.run_id, most // DOCUMENT_OVERHEAD)).fetchall()
        if not rows:
            return None
        run_no, encoded, log_bytes, row_bytes, fence, *columns = rows[0]
        if log_bytes + row_bytes > most:
            return None
        state = connection.execute(_READ_ROWS, (run_no,)).fetchall()
        hidden = read_hidden(connection, run)
        events = read_events(connection, run, -1, MAX_SEQUENCE)
    header, projection = _decode_header(encoded), _build_projection(*columns)
    outline = RunOutline(header, projection, log_bytes, row_bytes, fence)
    stored = StoredRun(header, projection, tuple([StateRow(*row) for row in state]))
    return WholeRun(outline, stored, hidden, events)


def find_partition_bytes(connection: SqliteConnection, partition: str) -> int:
    return connection.execute(_PARTITION_BYTES, (partition,)).fetchall()[0][0]


def find_by_number(connection: SqliteConnection, partition: str, numbers: list[int]) -> tuple[StoredRun, ...]:
    """Headers and projections in the order of the numbers, without state rows."""
    rows = connection.executemany(_FIND_BY_NUMBER, [(number, partition) for number in numbers]).fetchall()
    return tuple(StoredRun(_decode_header(header), _build_projection(*rest)) for header, *rest in rows)


def _build_projection(*columns: Any) -> Projection:
    *others, parked, wake_at = columns
    return Projection(*others, parked=bool(parked), wake_at=wake_at)


def read_events(
    connection: SqliteConnection, run: RunKey, after: int, limit: int, budget: int | None = None
) -> list[Event]:
    run_id = run.run_id
    # A cursor below -1 would include ids of the previous run.
    after = max(-1, min(after, 1 << SEQUENCE_BITS))
    rows = connection.execute(_READ_EVENTS, (after, run.partition, run_id, max(limit, 0)))
    if budget is None:
        return [Event(run_id, *row) for row in rows.fetchall()]
    events: list[Event] = []
    try:
        for row in rows:
            event = Event(run_id, *row)
            events.append(event)
            budget -= event.size
            if budget <= 0:
                break
    finally:
        rows.close()
    return events


def read_hidden(
    connection: SqliteConnection, run: RunKey, after: int = BEFORE_HEADER, until: int = MAX_SEQUENCE
) -> list[HiddenValue]:
    rows = connection.execute(_READ_HIDDEN, (run.partition, run.run_id, after, until)).fetchall()
    return [HiddenValue(*row) for row in rows]


def existing_run_number(connection: SqliteConnection, run: RunKey) -> int | None:
    """The number of a run, or None if there is no such run or it was deleted."""
    rows = connection.execute(_FIND_NUMBER, (run.partition, run.run_id)).fetchall()
    return rows[0][0] if rows else None


def run_number(connection: SqliteConnection, run: RunKey) -> int | None:
    """The number of a run that exists or was deleted. A page can continue after a cursor whose run was deleted."""
    rows = connection.execute(_FIND_NUMBER, (run.partition, run.run_id)).fetchall()
    return (rows or connection.execute(_FIND_DELETED_NUMBER, (run.partition, run.run_id)).fetchall())[0][0]
