"""The open interrupts of all runs, in the order in which they were requested.

A list without filters, or of one workflow, is a walk along an index. What other filters ask for stands in those
indexes, too, and is looked at entry by entry inside SQLite; after MOST_CANDIDATES the page ends, short or even empty,
and says `more`. The interrupts of one run are sorted instead: they are part of its state, which is read whole
whenever the run is loaded. A cursor is a place in the order, so it outlives the interrupt that stood there. A run that
has ended, or was deleted, has none, whatever stands here of it.
"""

from functools import cache
from typing import Annotated, Any, Final

import msgspec

from weftwork.adapters.sqlite.database.connection import SqliteConnection
from weftwork.adapters.sqlite.database.reader import snapshot
from weftwork.ports.storage.event_log import InterruptPage, InterruptQuery, OpenInterrupt
from weftwork.protocol.run.projection import InterruptListing, StateRow

MOST_CANDIDATES: Final = 10_000
MOST_BYTES: Final = 4_194_304
"""A page ends with the row that reaches it."""

Place = tuple[Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)], str, str]
"""Where an interrupt stands: when it was requested, its run, its id."""

_BEFORE_ALL: Final[Place] = (-(2**63), "", "")
_EMPTY = InterruptPage((), None, False)

_OPEN = """
    INSERT INTO open_interrupts
    (run_no, interrupt_id, partition, run_id, workflow_id, kind, node_id, requested_at, due)
    SELECT run_no, ?, partition, run_id, workflow_id, ?, ?, ?, ? FROM runs WHERE run_no = ?
    ON CONFLICT (run_no, interrupt_id) DO UPDATE SET
      kind = excluded.kind, node_id = excluded.node_id, requested_at = excluded.requested_at, due = excluded.due
"""
_CLOSE = "DELETE FROM open_interrupts WHERE interrupt_id = ? AND run_no = ?"

OF_ALL: Final = "o.partition = ?"
OF_WORKFLOW: Final = "o.partition = ? AND o.workflow_id = ?"
OF_RUN: Final = "o.run_no = (SELECT run_no FROM runs WHERE partition = ? AND run_id = ?)"
_PLACE: Final = "o.requested_at, o.run_id, o.interrupt_id"

_encode_place = msgspec.json.Encoder().encode
_decode_place = msgspec.json.Decoder(Place).decode


@cache
def edge(where: str) -> str:
    """Finds the place of the last entry that a filtered page looks at, if there are so many."""
    return f"""
        SELECT {_PLACE} FROM open_interrupts o WHERE {where} AND ({_PLACE}) > (?, ?, ?)
        ORDER BY {_PLACE} LIMIT 1 OFFSET ?
    """  # noqa: S608 - nothing but constants


@cache
def select(where: str, filters: tuple[str, ...] = (), bounded: bool = False) -> str:
    """Finds a page: after a place, and not beyond another one if it is bounded."""
    until = f"AND ({_PLACE}) <= (?, ?, ?)" if bounded else ""
    return f"""
        SELECT {_PLACE}, o.workflow_id, o.kind, o.node_id, o.due, s.value
        FROM open_interrupts o
        CROSS JOIN runs r ON r.run_no = o.run_no AND r.completed_at IS NULL
        CROSS JOIN run_state s ON s.run_no = o.run_no AND s.kind = 'interrupt' AND s.name = o.interrupt_id
        WHERE {where} AND ({_PLACE}) > (?, ?, ?) {until} {"".join(f" AND {each}" for each in filters)}
        ORDER BY {_PLACE} LIMIT ?
    """  # noqa: S608 - nothing but constants and question marks


def set_listed(connection: SqliteConnection, run_no: int, row: StateRow) -> None:
    """List an interrupt of a run as its row says, or no longer."""
    listed = row.listing
    if listed is None:
        connection.execute(_CLOSE, (row.name, run_no))
    else:
        values = (row.name, listed.kind, listed.node_id, listed.requested_at, listed.due, run_no)
        connection.execute(_OPEN, values)


def list_interrupts(partition: str, query: InterruptQuery, connection: SqliteConnection) -> InterruptPage:
    """EventLog.list_interrupts."""
    after = _BEFORE_ALL
    if query.after is not None:
        try:
            after = _decode_place(query.after)
        except ValueError:
            return _EMPTY
    where, named, filters, values = _choose(partition, query)
    with snapshot(connection):
        last: tuple[Any, ...] = ()
        if filters and where != OF_RUN:
            found = connection.execute(edge(where), (*named, *after, MOST_CANDIDATES - 1)).fetchall()
            last = found[0] if found else ()
        statement = select(where, filters, bool(last))
        taken, more = _take(connection, statement, (*named, *after, *last, *values), max(query.limit, 1))
    if more:
        last = (taken[-1].listed.requested_at, taken[-1].run_id, taken[-1].interrupt_id)
    return InterruptPage(tuple(taken), _encode_place(last).decode() if last else None, bool(last))


def _choose(partition: str, query: InterruptQuery) -> tuple[str, tuple[str, ...], tuple[str, ...], list[Any]]:
    """Along what to walk, with its values, and what to look at on the way, with its values."""
    filters: list[str] = []
    values: list[Any] = []
    kinds = tuple(dict.fromkeys(query.kinds))
    if kinds:
        filters.append(f"o.kind IN ({', '.join('?' * len(kinds))})")
        values += kinds
    if query.node_id is not None:
        filters.append("o.node_id = ?")
        values.append(query.node_id)
    if query.due_before is not None:
        filters.append("o.due < ?")
        values.append(query.due_before)
    if query.run_id is not None:
        if query.workflow_id is not None:
            filters.append("o.workflow_id = ?")
            values.append(query.workflow_id)
        return OF_RUN, (partition, query.run_id), tuple(filters), values
    if query.workflow_id is not None:
        return OF_WORKFLOW, (partition, query.workflow_id), tuple(filters), values
    return OF_ALL, (partition,), tuple(filters), values


def _take(
    connection: SqliteConnection, statement: str, values: tuple[Any, ...], limit: int
) -> tuple[list[OpenInterrupt], bool]:
    """The interrupts of a page, and whether more of those that were asked for are there."""
    taken: list[OpenInterrupt] = []
    weight = 0
    rows: Any = connection.execute(statement, (*values, limit + 1))
    try:
        for requested_at, run_id, interrupt_id, workflow_id, kind, node_id, due, row in rows:
            if len(taken) == limit or weight >= MOST_BYTES:
                return taken, True
            listed = InterruptListing(kind, node_id, requested_at, due)
            taken.append(OpenInterrupt(run_id, workflow_id, interrupt_id, listed, row))
            weight += len(row)
    finally:
        rows.close()
    return taken, False
