"""The open interrupts of all runs, in the order in which they were requested.

A list without filters, or of one workflow, is an index scan. The indexes also contain the columns of the other filters,
so SQLite checks these on the index entries. After MAX_CANDIDATES entries the page ends, even if it is short or empty,
with `more` set. The interrupts of one run are sorted instead, which is cheap enough: they are part of the state of the
run, and that is read completely whenever the run is loaded.

A cursor is a position in the order, so it stays valid after its interrupt was resolved. Runs that have ended or were
deleted are filtered out, because their rows in `open_interrupts` may still exist.
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
"""A page ends with the row that reaches this size."""

Position = tuple[Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)], str, str]
"""The position of an interrupt in the order: the time of its request, its run id, its own id."""

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
    """Selects the position of the last entry that a filtered page may look at, if there are that many entries."""
    return f"""
        SELECT {_POSITION} FROM open_interrupts o WHERE {where} AND ({_POSITION}) > (?, ?, ?)
        ORDER BY {_POSITION} LIMIT 1 OFFSET ?
    """  # noqa: S608 - nothing but constants


@cache
def page_query(where: str, filters: tuple[str, ...] = (), bounded: bool = False) -> str:
    """Selects a page after one position and, if `bounded`, up to another one."""
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
    """Insert, update or delete the entry of an interrupt, as its state row requires."""
    listing = row.listing
    if listing is None:
        connection.execute(_DELETE_OPEN, (row.name, run_no))
    else:
        values = (row.name, listing.kind, listing.node_id, listing.requested_at, listing.due, run_no)
        connection.execute(_INSERT_OPEN, values)


def list_interrupts(connection: SqliteConnection, partition: str, query: InterruptQuery) -> InterruptPage:
    after = _START_POSITION
    if query.after is not None:
        try:
            after = _decode_position(query.after)
        except ValueError:
            return _EMPTY_PAGE
    where, scope, filters, values = _plan_query(partition, query)
    with snapshot(connection):
        last: tuple[Any, ...] = ()
        if filters and where != IN_RUN:
            rows = connection.execute(last_candidate_query(where), (*scope, *after, MAX_CANDIDATES - 1)).fetchall()
            last = rows[0] if rows else ()
        statement = page_query(where, filters, bool(last))
        page, more = _read_page(connection, statement, (*scope, *after, *last, *values), max(query.limit, 1))
    if more:
        last = (page[-1].listed.requested_at, page[-1].run_id, page[-1].interrupt_id)
    return InterruptPage(tuple(page), _encode_position(last).decode() if last else None, bool(last))


def _plan_query(partition: str, query: InterruptQuery) -> tuple[str, tuple[str, ...], tuple[str, ...], list[Any]]:
    """The condition that selects the index to scan, with its values, and the filters, with their values."""
    where, scope = IN_PARTITION, (partition,)
    optional: list[tuple[str, Any]] = [("o.node_id = ?", query.node_id), ("o.due < ?", query.due_before)]
    if query.run_id is not None:
        where, scope = IN_RUN, (partition, query.run_id)
        optional.append(("o.workflow_id = ?", query.workflow_id))
    elif query.workflow_id is not None:
        where, scope = IN_WORKFLOW, (partition, query.workflow_id)
    kinds = tuple(dict.fromkeys(query.kinds))
    filters = (f"o.kind IN ({', '.join('?' * len(kinds))})",) if kinds else ()
    used = [(text, value) for text, value in optional if value is not None]
    return where, scope, (*filters, *(text for text, _ in used)), [*kinds, *(value for _, value in used)]


def _read_page(
    connection: SqliteConnection, statement: str, values: tuple[Any, ...], limit: int
) -> tuple[list[OpenInterrupt], bool]:
    """The interrupts of a page, and whether more of them match."""
    page: list[OpenInterrupt] = []
    size = 0
    rows: Any = connection.execute(statement, (*values, limit + 1))
    try:
        for requested_at, run_id, interrupt_id, workflow_id, kind, node_id, due, value in rows:
            if len(page) == limit or size >= MAX_PAGE_BYTES:
                return page, True
            listing = InterruptListing(kind, node_id, requested_at, due)
            page.append(OpenInterrupt(run_id, workflow_id, interrupt_id, listing, value))
            size += len(value)
    finally:
        rows.close()
    return page, False
