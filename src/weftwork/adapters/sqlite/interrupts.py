"""The open interrupts of all runs, in the order in which they were requested.

A list without filters, or of one workflow, is a walk along an index. What other filters ask for stands in those
indexes, too, and is looked at entry by entry inside SQLite; after MAX_CANDIDATES the page ends, short or even empty,
and says `more`. The interrupts of one run are sorted instead: they are part of its state, which is read whole
whenever the run is loaded. A cursor is a place in the order, so it outlives the interrupt that stood there. A run that
has ended, or was deleted, has none, whatever stands here of it.
"""

from functools import cache
from typing import Annotated, Any, Final

import msgspec

from weftwork.adapters.sqlite.database.connection import SqliteConnection
from weftwork.adapters.sqlite.database.reader import snapshot
from weftwork.ports.storage.run_queries import InterruptPage, InterruptQuery, OpenInterrupt
from weftwork.protocol.run.projection import InterruptListing, StateRow

MAX_CANDIDATES: Final = 10_000
MAX_PAGE_BYTES: Final = 4_194_304
"""A page ends with the row that reaches it."""

Position = tuple[Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)], str, str]
"""Where an interrupt stands: when it was requested, its run, its id."""

_START_POSITION: Final[Position] = (-(2**63), "", "")
_EMPTY_PAGE = InterruptPage((), None, False)

_INSERT_OPEN = """
    INSERT INTO open_interrupts
    (run_no, interrupt_id, partition, run_id, workflow_id, kind, node_id, requested_at, due)
    SELECT run_no, ?, partition, run_id, workflow_id, ?, ?, ?, ? FROM runs WHERE run_no = ?
    ON CONFLICT (run_no, interrupt_id) DO UPDATE SET
      kind = excluded.kind, node_id = excluded.node_id, requested_at = excluded.requested_at, due = excluded.due
"""
_DELETE_OPEN = "DELETE FROM open_interrupts WHERE interrupt_id = ? AND run_no = ?"

IN_PARTITION: Final = "o.partition = ?"
IN_WORKFLOW: Final = "o.partition = ? AND o.workflow_id = ?"
IN_RUN: Final = "o.run_no = (SELECT run_no FROM runs WHERE partition = ? AND run_id = ?)"
_POSITION: Final = "o.requested_at, o.run_id, o.interrupt_id"

_encode_position = msgspec.json.Encoder().encode
_decode_position = msgspec.json.Decoder(Position).decode


@cache
def last_candidate_query(where: str) -> str:
    """Finds the place of the last entry that a filtered page looks at, if there are so many."""
    return f"""
        SELECT {_POSITION} FROM open_interrupts o WHERE {where} AND ({_POSITION}) > (?, ?, ?)
        ORDER BY {_POSITION} LIMIT 1 OFFSET ?
    """  # noqa: S608 - nothing but constants


@cache
def page_query(where: str, filters: tuple[str, ...] = (), bounded: bool = False) -> str:
    """Finds a page: after a place, and not beyond another one if it is bounded."""
    until = f"AND ({_POSITION}) <= (?, ?, ?)" if bounded else ""
    return f"""
        SELECT {_POSITION}, o.workflow_id, o.kind, o.node_id, o.due, s.value
        FROM open_interrupts o
        CROSS JOIN runs r ON r.run_no = o.run_no AND r.completed_at IS NULL
        CROSS JOIN run_state s ON s.run_no = o.run_no AND s.kind = 'interrupt' AND s.name = o.interrupt_id
        WHERE {where} AND ({_POSITION}) > (?, ?, ?) {until} {"".join(f" AND {each}" for each in filters)}
        ORDER BY {_POSITION} LIMIT ?
    """  # noqa: S608 - nothing but constants and question marks


def set_open(connection: SqliteConnection, run_no: int, row: StateRow) -> None:
    """List an interrupt of a run as its row says, or no longer."""
    listed = row.listing
    if listed is None:
        connection.execute(_DELETE_OPEN, (row.name, run_no))
    else:
        values = (row.name, listed.kind, listed.node_id, listed.requested_at, listed.due, run_no)
        connection.execute(_INSERT_OPEN, values)


def list_interrupts(connection: SqliteConnection, partition: str, query: InterruptQuery) -> InterruptPage:
    after = _START_POSITION
    if query.after is not None:
        try:
            after = _decode_position(query.after)
        except ValueError:
            return _EMPTY_PAGE
    where, named, filters, values = _plan_query(partition, query)
    with snapshot(connection):
        last: tuple[Any, ...] = ()
        if filters and where != IN_RUN:
            found = connection.execute(last_candidate_query(where), (*named, *after, MAX_CANDIDATES - 1)).fetchall()
            last = found[0] if found else ()
        statement = page_query(where, filters, bool(last))
        taken, more = _read_page(connection, statement, (*named, *after, *last, *values), max(query.limit, 1))
    if more:
        last = (taken[-1].listed.requested_at, taken[-1].run_id, taken[-1].interrupt_id)
    return InterruptPage(tuple(taken), _encode_position(last).decode() if last else None, bool(last))


def _plan_query(partition: str, query: InterruptQuery) -> tuple[str, tuple[str, ...], tuple[str, ...], list[Any]]:
    """Along what to walk, with its values, and what to look at on the way, with its values."""
    where, named = IN_PARTITION, (partition,)
    wanted: list[tuple[str, Any]] = [("o.node_id = ?", query.node_id), ("o.due < ?", query.due_before)]
    if query.run_id is not None:
        where, named = IN_RUN, (partition, query.run_id)
        wanted.append(("o.workflow_id = ?", query.workflow_id))
    elif query.workflow_id is not None:
        where, named = IN_WORKFLOW, (partition, query.workflow_id)
    kinds = tuple(dict.fromkeys(query.kinds))
    filters = (f"o.kind IN ({', '.join('?' * len(kinds))})",) if kinds else ()
    given = [(text, value) for text, value in wanted if value is not None]
    return where, named, (*filters, *(text for text, _ in given)), [*kinds, *(value for _, value in given)]


def _read_page(
    connection: SqliteConnection, statement: str, values: tuple[Any, ...], limit: int
) -> tuple[list[OpenInterrupt], bool]:
    """The interrupts of a page, and whether more of those that were asked for are there."""
    taken: list[OpenInterrupt] = []
    weight = 0
    rows: Any = connection.execute(statement, (*values, limit + 1))
    try:
        for requested_at, run_id, interrupt_id, workflow_id, kind, node_id, due, row in rows:
            if len(taken) == limit or weight >= MAX_PAGE_BYTES:
                return taken, True
            listed = InterruptListing(kind, node_id, requested_at, due)
            taken.append(OpenInterrupt(run_id, workflow_id, interrupt_id, listed, row))
            weight += len(row)
    finally:
        rows.close()
    return taken, False
