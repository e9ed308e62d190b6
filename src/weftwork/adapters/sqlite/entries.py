"""What a batch adds to a run's log, with the rows that are cached of it."""

from typing import Final

from weftwork.adapters.sqlite.driver import Connection
from weftwork.ports.eventlog import Batch, Hidden
from weftwork.protocol.batch import MAX_SEQUENCE

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
_INSERT_HIDDEN = "INSERT INTO hidden (run_no, sequence, pointer, value) VALUES (?, ?, ?, ?)"


def insert_batch(connection: Connection, run_no: int, batch: Batch) -> None:
    """Events, rows and hidden values of a checked batch; the projection is the caller's."""
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
        insert_hidden(connection, run_no, batch.hidden)


def insert_hidden(connection: Connection, run_no: int, hidden: tuple[Hidden, ...]) -> None:
    connection.executemany(_INSERT_HIDDEN, [(run_no, item.sequence, item.pointer, item.value) for item in hidden])
