"""The transaction that adds events to a run, with everything that is cached of them."""

from typing import Final

from weftwork.adapters.sqlite import idempotency
from weftwork.adapters.sqlite.create import INSERT_HIDDEN
from weftwork.adapters.sqlite.driver import Connection
from weftwork.adapters.sqlite.head import Head, Heads
from weftwork.ports.eventlog import Batch, Recorded, SequenceConflict
from weftwork.protocol.batch import MAX_SEQUENCE
from weftwork.protocol.run import TERMINAL, RunKey

SEQUENCE_BITS: Final = MAX_SEQUENCE.bit_length()
"""An event's id is run_no * 2^26 + sequence, as the first migration says."""

_INSERT_EVENT = """
    INSERT INTO events
    (id, event_id, type, timestamp, payload, node_id, causation_id, schema_version, engine_version)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_SET_ROW = """
    INSERT INTO run_state (run_no, kind, name, value) VALUES (?, ?, ?, ?)
    ON CONFLICT (run_no, kind, name) DO UPDATE SET value = excluded.value
"""
# SQLite rewrites the entry in every index that holds an assigned column, changed or not; so there are three.
_PROGRESS = """
    UPDATE runs SET last_sequence = ?, started_at = ?, current_node = ?, executions = ?, error = ?
    WHERE run_no = ?
"""
_MOVE = """
    UPDATE runs SET last_sequence = ?, started_at = ?, current_node = ?, executions = ?, error = ?, status = ?
    WHERE run_no = ?
"""
_END = """
    UPDATE runs SET last_sequence = ?, started_at = ?, current_node = ?, executions = ?, error = ?, status = ?,
    completed_at = ?, outputs = ? WHERE run_no = ?
"""


def append(heads: Heads, run: RunKey, expected: int, batch: Batch, connection: Connection) -> Recorded | None:
    """EventLog.append for a checked batch. The slot is looked at first: a retry expects what is long past."""
    record = batch.record
    known = idempotency.taken(connection, record) if record is not None else None
    if known is not None:
        return known
    head = heads.find(connection, run)
    if head is None or is_conflict(head, expected):
        raise SequenceConflict(f"the run does not stand at {expected}")
    run_no = head.run_no
    base = run_no << SEQUENCE_BITS
    connection.executemany(
        _INSERT_EVENT,
        [
            (
                base + event.sequence,
                event.event_id,
                event.type,
                event.timestamp,
                event.payload,
                event.node_id,
                event.causation_id,
                event.schema_version,
                event.engine_version,
            )
            for event in batch.events
        ],
    )
    if batch.rows:
        connection.executemany(_SET_ROW, [(run_no, row.kind, row.name, row.value) for row in batch.rows])
    if batch.hidden:
        connection.executemany(
            INSERT_HIDDEN, [(run_no, item.sequence, item.pointer, item.value) for item in batch.hidden]
        )
    _project(connection, head, batch)
    if record is not None:
        idempotency.insert(connection, record)
    heads.keep(run, Head(run_no, batch.projection.last_sequence, batch.projection.status))
    return None


def is_conflict(head: Head, expected: int) -> bool:
    """Whether an append that expects this last sequence comes too late, or after the end."""
    return head.last_sequence != expected or head.status in TERMINAL


def _project(connection: Connection, head: Head, batch: Batch) -> None:
    projection = batch.projection
    progress = (
        projection.last_sequence,
        projection.started_at,
        projection.current_node,
        projection.executions,
        projection.error,
    )
    if projection.completed_at is not None:
        connection.execute(
            _END, (*progress, projection.status, projection.completed_at, projection.outputs, head.run_no)
        )
    elif projection.status != head.status:
        connection.execute(_MOVE, (*progress, projection.status, head.run_no))
    else:
        connection.execute(_PROGRESS, (*progress, head.run_no))
