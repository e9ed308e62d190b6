"""What a batch adds to a run's log, with the rows that are cached of it."""

from collections.abc import Iterator
from functools import cache
from typing import Any, Final, TypeVar

from weftwork.adapters.sqlite.driver import Connection
from weftwork.adapters.sqlite.interrupts import set_listed
from weftwork.ports.eventlog import Batch, Hidden
from weftwork.protocol.batch import MAX_SEQUENCE

T = TypeVar("T")

SEQUENCE_BITS: Final = MAX_SEQUENCE.bit_length()
"""An event's id is run_no * 2^26 + sequence, as the first migration says."""

MOST_AT_ONCE: Final = 8
"""Rows that one statement inserts. Every step of a statement gives up the interpreter and has to get it back."""


@cache
def _insert_events(count: int) -> str:
    into = """
        INSERT INTO events
        (id, event_id, type, timestamp, payload, node_id, causation_id, schema_version, engine_version, interrupt_id,
        content_trust)
        VALUES
    """
    return into + ", ".join(["(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"] * count)


@cache
def _set_rows(count: int) -> str:
    into = "INSERT INTO run_state (run_no, kind, name, value) VALUES "
    update = " ON CONFLICT (run_no, kind, name) DO UPDATE SET value = excluded.value"
    return into + ", ".join(["(?, ?, ?, ?)"] * count) + update


_INSERT_HIDDEN = "INSERT INTO hidden (run_no, sequence, pointer, value) VALUES (?, ?, ?, ?)"


def insert_batch(connection: Connection, run_no: int, batch: Batch) -> None:
    """Events, rows and hidden values of a checked batch; the projection is the caller's."""
    base = run_no << SEQUENCE_BITS
    for events in _pieces(batch.events):
        values: list[Any] = []
        for event in events:
            values += (
                base + event.sequence,
                event.event_id,
                event.type,
                event.timestamp,
                event.payload,
                event.node_id,
                event.causation_id,
                event.schema_version,
                event.engine_version,
                event.interrupt_id,
                event.content_trust,
            )
        connection.execute(_insert_events(len(events)), values)
    for rows in _pieces(batch.rows):
        values = []
        for row in rows:
            values += (run_no, row.kind, row.name, row.value)
            if row.kind == "interrupt":
                set_listed(connection, run_no, row)
        connection.execute(_set_rows(len(rows)), values)
    if batch.hidden:
        insert_hidden(connection, run_no, batch.hidden)


def insert_hidden(connection: Connection, run_no: int, hidden: tuple[Hidden, ...]) -> None:
    connection.executemany(_INSERT_HIDDEN, [(run_no, item.sequence, item.pointer, item.value) for item in hidden])


def _pieces(items: tuple[T, ...]) -> Iterator[tuple[T, ...]]:
    for at in range(0, len(items), MOST_AT_ONCE):
        yield items[at : at + MOST_AT_ONCE]
