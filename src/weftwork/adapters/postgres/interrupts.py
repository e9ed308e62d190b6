"""The open interrupts of all runs, in the order in which they were requested.

A list without filters, or of one workflow, is an index scan. The indexes also contain the columns of the other filters.
After MAX_CANDIDATES entries the page ends, even if it is short or empty, with `more` set. The interrupts of one run are
sorted instead, which is cheap enough: they are part of the state of the run, and that is read completely whenever the
run is loaded.

A cursor is a position in the order, so it stays valid after its interrupt was resolved. Runs that have ended or were
deleted are filtered out, because their rows in `open_interrupts` may still exist.
"""

from functools import cache
from typing import Annotated, Any, Final

import msgspec

from weftwork.adapters.postgres.database.connection import PostgresConnection
from weftwork.ports.storage.run_queries import InterruptPage, InterruptQuery, OpenInterrupt
from weftwork.protocol.run.projection import InterruptListing

MAX_CANDIDATES: Final = 10_000
MAX_PAGE_BYTES: Final = 4_194_304
"""A page ends with the row that reaches this size."""

Position = tuple[Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)], str, str]
"""The position of an interrupt in the order: the time of its request, its run id, its own id."""

_START_POSITION: Final[Position] = (-(2**63), "", "")
_EMPTY_PAGE = InterruptPage((), None, False)
_POSITION: Final = "o.requested_at, o.run_id, o.interrupt_id"

_encode_position = msgspec.json.Encoder().encode
_decode_position = msgspec.json.Decoder(Position).decode

_NO_END: Final[Position] = (2**63 - 1, "\U0010ffff", "")

_SCOPES: Final = {
    "partition": "o.partition = $1 AND $2::text IS NULL",
    "workflow": "o.partition = $1 AND o.workflow_id = $2",
    "run": "o.run_no = (SELECT run_no FROM runs WHERE run_id = $2 AND partition || '' = $1)",
}
_FILTERS: Final = """
    AND ($10::text[] IS NULL OR o.kind = ANY ($10)) AND ($11::text IS NULL OR o.node_id = $11)
    AND ($12::bigint IS NULL OR o.due < $12) AND ($13::text IS NULL OR o.workflow_id = $13)
"""


@cache
def last_candidate_query(scope: str) -> str:
    """Selects the position of the last entry that a filtered page may look at, if there are that many entries."""
    return f"""
        SELECT {_POSITION} FROM open_interrupts o WHERE {_SCOPES[scope]} AND ({_POSITION}) > ($3, $4, $5)
        ORDER BY {_POSITION} LIMIT 1 OFFSET {MAX_CANDIDATES - 1}
    """


@cache
def page_query(scope: str) -> str:
    """Selects a page between two positions. The server adds up the sizes: rows behind the end of the page have no
    value."""
    return f"""
        SELECT requested_at, run_id, interrupt_id, workflow_id, kind, node_id, due,
          CASE WHEN size_before < {MAX_PAGE_BYTES} THEN value END
        FROM (
          SELECT {_POSITION}, o.workflow_id, o.kind, o.node_id, o.due, s.value,
            sum(octet_length(s.value)) OVER (ORDER BY {_POSITION}) - octet_length(s.value) AS size_before
          FROM open_interrupts o
          JOIN runs r ON r.run_no = o.run_no AND r.completed_at IS NULL
          JOIN run_state s ON s.run_no = o.run_no AND s.kind = 'interrupt' AND s.name = o.interrupt_id
          WHERE {_SCOPES[scope]} AND ({_POSITION}) > ($3, $4, $5) AND ({_POSITION}) <= ($6, $7, $8) {_FILTERS}
          ORDER BY {_POSITION} LIMIT $9
        ) page ORDER BY requested_at, run_id, interrupt_id
    """


async def list_interrupts(connection: PostgresConnection, partition: str, query: InterruptQuery) -> InterruptPage:
    after = _START_POSITION
    if query.after is not None:
        try:
            after = _decode_position(query.after)
        except ValueError:
            return _EMPTY_PAGE
    scope, name = _scope(query)
    workflow = query.workflow_id if scope == "run" else None
    filters = ([*query.kinds] or None, query.node_id, query.due_before, workflow)
    limit = max(query.limit, 1)
    last: tuple[Any, ...] = ()
    if scope != "run" and any(each is not None for each in filters):
        row = await connection.fetchrow(last_candidate_query(scope), partition, name, *after)
        last = tuple(row) if row is not None else ()
    rows = await connection.fetch(page_query(scope), partition, name, *after, *(last or _NO_END), limit + 1, *filters)
    page, more = _build_page(rows, limit)
    if more:
        last = (page[-1].listed.requested_at, page[-1].run_id, page[-1].interrupt_id)
    return InterruptPage(tuple(page), _encode_position(last).decode() if last else None, bool(last))


def _scope(query: InterruptQuery) -> tuple[str, str | None]:
    """The condition that selects the index to scan, and its value."""
    if query.run_id is not None:
        return "run", query.run_id
    if query.workflow_id is not None:
        return "workflow", query.workflow_id
    return "partition", None


def _build_page(rows: list[Any], limit: int) -> tuple[list[OpenInterrupt], bool]:
    """The interrupts of a page, and whether more of them match."""
    page: list[OpenInterrupt] = []
    for requested_at, run_id, interrupt_id, workflow_id, kind, node_id, due, value in rows:
        if len(page) == limit or value is None:
            return page, True
        listing = InterruptListing(kind, node_id, requested_at, due)
        page.append(OpenInterrupt(run_id, workflow_id, interrupt_id, listing, value))
    return page, False
