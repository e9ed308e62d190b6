"""Reading one run: its header, projection, state rows, events and hidden values."""

from typing import Any, Final

import msgspec

from weftwork.adapters.sqlite.driver import Connection
from weftwork.adapters.sqlite.entries import SEQUENCE_BITS
from weftwork.adapters.sqlite.reader import snapshot
from weftwork.ports.eventlog import Hidden, Projection, StateRow, Stored
from weftwork.protocol.events import Event
from weftwork.protocol.run import RunHeader, RunKey

_PROJECTION_COLUMNS: Final = """
    r.status, r.last_sequence, r.started_at, r.completed_at, r.current_node, r.error, r.executions, {outputs},
    r.parked, r.wake_at
"""
_ALL_COLUMNS: Final = _PROJECTION_COLUMNS.format(outputs="r.outputs")
# Listings leave the outputs out: they are as large as the caller likes.
_LISTED_COLUMNS: Final = _PROJECTION_COLUMNS.format(outputs="NULL")
_RUN = f"""
    SELECT r.run_no, h.header, {_ALL_COLUMNS} FROM runs r CROSS JOIN run_headers h ON h.run_no = r.run_no
    WHERE r.partition = ? AND r.run_id = ?
"""  # noqa: S608 - nothing but constants
_RUN_BY_NUMBER = f"""
    SELECT h.header, {_LISTED_COLUMNS} FROM runs r CROSS JOIN run_headers h ON h.run_no = r.run_no
    WHERE r.run_no = ? AND r.partition = ?
"""  # noqa: S608 - nothing but constants
_PROJECTION = f"SELECT {_LISTED_COLUMNS} FROM runs r WHERE r.partition = ? AND r.run_id = ?"  # noqa: S608
_ROWS = "SELECT kind, name, value FROM run_state WHERE run_no = ? ORDER BY kind, name"
_HIDDEN = """
    SELECT h.sequence, h.pointer, h.value FROM runs r CROSS JOIN hidden h ON h.run_no = r.run_no
    WHERE r.partition = ? AND r.run_id = ? ORDER BY h.sequence, h.hidden_no
"""
_EVENTS = f"""
    SELECT e.id & {(1 << SEQUENCE_BITS) - 1}, e.event_id, e.type, e.timestamp, e.payload, e.node_id,
           e.causation_id, e.schema_version, e.engine_version, e.interrupt_id, e.content_trust
    FROM runs r CROSS JOIN events e
         ON e.id > (r.run_no << {SEQUENCE_BITS}) + ? AND e.id < (r.run_no + 1) << {SEQUENCE_BITS}
    WHERE r.partition = ? AND r.run_id = ? ORDER BY e.id LIMIT ?
"""  # noqa: S608 - nothing but constants

_decode_header = msgspec.json.Decoder(RunHeader).decode


def find_run(run: RunKey, connection: Connection) -> Stored | None:
    """EventLog.stored."""
    with snapshot(connection):
        found = connection.execute(_RUN, (run.partition, run.run_id)).fetchall()
        if not found:
            return None
        run_no, header, *projection = found[0]
        rows = connection.execute(_ROWS, (run_no,)).fetchall()
    return Stored(_decode_header(header), _projection(*projection), tuple(StateRow(*row) for row in rows))


def find_projection(run: RunKey, connection: Connection) -> Projection | None:
    """EventLog.projection."""
    found = connection.execute(_PROJECTION, (run.partition, run.run_id)).fetchall()
    return _projection(*found[0]) if found else None


def find_numbered(connection: Connection, partition: str, numbers: list[int]) -> tuple[Stored, ...]:
    """Headers and projections in the order of the numbers, without state rows."""
    wanted = [(number, partition) for number in numbers]
    found = connection.executemany(_RUN_BY_NUMBER, wanted).fetchall()
    return tuple(Stored(_decode_header(header), _projection(*rest)) for header, *rest in found)


def _projection(*columns: Any) -> Projection:
    *others, parked, wake_at = columns
    return Projection(*others, parked=bool(parked), wake_at=wake_at)


def read_events(run: RunKey, after: int, limit: int, connection: Connection, budget: int | None = None) -> list[Event]:
    """EventLog.read."""
    run_id = run.run_id
    # A cursor below -1 would reach into the ids of the run before.
    after = max(-1, min(after, 1 << SEQUENCE_BITS))
    rows = connection.execute(_EVENTS, (after, run.partition, run_id, max(limit, 0)))
    if budget is None:
        return [Event(run_id, *row) for row in rows.fetchall()]
    events: list[Event] = []
    try:
        for row in rows:
            event = Event(run_id, *row)
            events.append(event)
            budget -= event.weight
            if budget <= 0:
                break
    finally:
        rows.close()
    return events


def read_hidden(run: RunKey, connection: Connection) -> list[Hidden]:
    """EventLog.hidden."""
    found = connection.execute(_HIDDEN, (run.partition, run.run_id)).fetchall()
    return [Hidden(*row) for row in found]
