"""Reads one run: its header, projection, state rows, hidden values and events, and its number, the key of all these.

A statement that looks for one run compares its id with an index, and its partition with an expression that no index
has. Otherwise the planner of the server, which knows nothing of a table that was empty a minute ago, may choose an
index that begins with the partition, and read all runs of a tenant.
"""

from typing import Any, Final

import msgspec

from weftwork.adapters.postgres.database.connection import PostgresConnection
from weftwork.ports.storage.event_log import BEFORE_HEADER, RunOutline, WholeRun
from weftwork.protocol.run.batch import MAX_SEQUENCE, HiddenValue
from weftwork.protocol.run.events import DOCUMENT_OVERHEAD, Event
from weftwork.protocol.run.header import RunHeader, RunKey
from weftwork.protocol.run.projection import Projection, StateRow, StoredRun

NOT_ENDED: Final = "coalesce(completed_at, -1) = -1"
"""Like `completed_at IS NULL`, but does not select an index of all runs that have not ended."""

_PROJECTION: Final = """
    r.status, r.last_sequence, r.started_at, r.completed_at, r.current_node, r.error, r.executions, {outputs},
    r.parked, r.wake_at
"""
# Listings leave the outputs out, because these can be large.
_LISTED: Final = _PROJECTION.format(outputs="NULL::bytea")
# One row per state row; what may be large is only in the first. (Arrays of these columns would make asyncpg look up
# their types in every session.)
_FIRST: Final = "CASE WHEN s.position IS NULL OR s.position = 1 THEN {} END"
_FIND_RUN = f"""
    SELECT s.kind, s.name, s.value, {_FIRST.format("h.header")},
      {_PROJECTION.format(outputs=_FIRST.format("r.outputs"))}
    FROM runs r JOIN run_headers h USING (run_no) LEFT JOIN LATERAL (
      SELECT kind, name, value, row_number() OVER (ORDER BY kind, name) AS position
      FROM run_state WHERE run_no = r.run_no
    ) s ON true WHERE r.run_id = $2 AND r.partition || '' = $1 ORDER BY s.position
"""
_FIND_BY_NUMBER = f"""
    SELECT h.header, {_LISTED} FROM unnest($2::text::bigint[]) WITH ORDINALITY AS wanted (run_no, position)
    JOIN runs r USING (run_no) JOIN run_headers h USING (run_no) WHERE r.partition = $1 ORDER BY wanted.position
"""
_FIND_PROJECTION = f"SELECT {_LISTED} FROM runs r WHERE r.run_id = $2 AND r.partition || '' = $1"
_READ_HIDDEN = """
    SELECT h.sequence, h.pointer, h.value FROM runs r JOIN hidden h USING (run_no)
    WHERE r.run_id = $2 AND r.partition || '' = $1 AND h.sequence > $3 AND h.sequence <= $4
    ORDER BY h.sequence, h.hidden_no
"""
_EVENT_COLUMNS: Final = """
    e.sequence, e.event_id, e.type, e.timestamp, e.payload, e.node_id, e.causation_id, e.schema_version,
    e.engine_version, e.interrupt_id, e.content_trust
"""
_THE_EVENTS = """
    FROM events e WHERE e.run_no = (SELECT run_no FROM runs WHERE run_id = $2 AND partition || '' = $1)
    AND e.sequence > $3 ORDER BY e.sequence LIMIT $4
"""
_READ_EVENTS = f"SELECT {_EVENT_COLUMNS} {_THE_EVENTS}"
# The server adds up the sizes, so that no more than a page is sent.
_READ_PAGE = f"""
    SELECT {_EVENT_COLUMNS.replace("e.", "")} FROM (
      SELECT {_EVENT_COLUMNS}, sum(octet_length(e.payload) + {DOCUMENT_OVERHEAD}) OVER (ORDER BY e.sequence)
        - octet_length(e.payload) - {DOCUMENT_OVERHEAD} AS size_before
      {_THE_EVENTS}
    ) page WHERE size_before < $5 OR size_before = 0 ORDER BY sequence
"""

_LOG_BYTES: Final = f"""
    coalesce((SELECT sum(octet_length(e.payload) + {DOCUMENT_OVERHEAD}) FROM events e WHERE e.run_no = r.run_no), 0)
    + coalesce((SELECT sum(octet_length(h.value)) FROM hidden h WHERE h.run_no = r.run_no), 0)
"""
_FIND_OUTLINE = f"""
    SELECT h.header, ({_LOG_BYTES})::bigint,
      (SELECT coalesce(sum(octet_length(s.value)), 0) FROM run_state s WHERE s.run_no = r.run_no)::bigint,
      CASE WHEN r.completed_at IS NULL THEN r.fence ELSE 0 END, {_LISTED}
    FROM runs r JOIN run_headers h USING (run_no) WHERE r.run_id = $2 AND r.partition || '' = $1
"""
# The sizes are added up for a run with few events only.
_FIND_SHORT = f"{_FIND_OUTLINE} AND r.last_sequence < $3 AND {NOT_ENDED}"
_PARTITION_BYTES = f"""
    SELECT coalesce(sum(octet_length(h.header) + {_LOG_BYTES}), 0)::bigint
    FROM runs r JOIN run_headers h USING (run_no) WHERE r.partition = $1
"""

_FIND_EXISTING = "SELECT run_no FROM runs WHERE run_id = $2 AND partition || '' = $1"
_FIND_NUMBER = """
    SELECT coalesce(
      (SELECT run_no FROM runs WHERE run_id = $2 AND partition || '' = $1),
      (SELECT max(run_no) FROM deleted_runs WHERE partition = $1 AND run_id = $2)
    )
"""

_HEADERS = msgspec.json.Decoder(RunHeader)


def build_projection(*columns: Any) -> Projection:
    *others, parked, wake_at = columns
    return Projection(*others, parked=parked, wake_at=wake_at)


async def find_run(connection: PostgresConnection, run: RunKey) -> StoredRun | None:
    found = await connection.fetch(_FIND_RUN, run.partition, run.run_id)
    if not found:
        return None
    _, _, _, header, *projection = found[0]
    rows = tuple([StateRow(*row[:3]) for row in found if row[0] is not None])
    return StoredRun(_HEADERS.decode(header), build_projection(*projection), rows)


async def find_projection(connection: PostgresConnection, run: RunKey) -> Projection | None:
    row = await connection.fetchrow(_FIND_PROJECTION, run.partition, run.run_id)
    return build_projection(*row) if row is not None else None


async def find_outline(connection: PostgresConnection, run: RunKey) -> RunOutline | None:
    row = await connection.fetchrow(_FIND_OUTLINE, run.partition, run.run_id)
    if row is None:
        return None
    header, log_bytes, row_bytes, fence, *projection = row
    return RunOutline(_HEADERS.decode(header), build_projection(*projection), log_bytes, row_bytes, fence)


async def find_whole(connection: PostgresConnection, run: RunKey, most: int) -> WholeRun | None:
    row = await connection.fetchrow(
        _FIND_SHORT, run.partition, run.run_id, min(most // DOCUMENT_OVERHEAD, MAX_SEQUENCE + 1)
    )
    if row is None:
        return None
    header, log_bytes, row_bytes, fence, *projection = row
    if log_bytes + row_bytes > most:
        return None
    outline = RunOutline(_HEADERS.decode(header), build_projection(*projection), log_bytes, row_bytes, fence)
    stored = await find_run(connection, run)
    if stored is None:
        return None
    hidden = await read_hidden(connection, run)
    return WholeRun(outline, stored, hidden, await read_events(connection, run, -1, MAX_SEQUENCE))


async def find_partition_bytes(connection: PostgresConnection, partition: str) -> int:
    return await connection.fetchval(_PARTITION_BYTES, partition)


async def find_by_number(connection: PostgresConnection, partition: str, numbers: list[int]) -> tuple[StoredRun, ...]:
    """Headers and projections in the order of the numbers, without state rows."""
    if not numbers:
        return ()
    rows = await connection.fetch(_FIND_BY_NUMBER, partition, f"{{{','.join(map(str, numbers))}}}")
    return tuple(StoredRun(_HEADERS.decode(header), build_projection(*rest)) for header, *rest in rows)


async def read_events(
    connection: PostgresConnection, run: RunKey, after: int, limit: int, budget: int | None = None
) -> list[Event]:
    run_id = run.run_id
    values = (run.partition, run_id, max(-1, min(after, MAX_SEQUENCE)), max(limit, 0))
    if budget is None:
        rows = await connection.fetch(_READ_EVENTS, *values)
    else:
        rows = await connection.fetch(_READ_PAGE, *values, budget)
    return [Event(run_id, *row) for row in rows]


async def read_hidden(
    connection: PostgresConnection, run: RunKey, after: int = BEFORE_HEADER, until: int = MAX_SEQUENCE
) -> list[HiddenValue]:
    rows = await connection.fetch(_READ_HIDDEN, run.partition, run.run_id, after, until)
    return [HiddenValue(*row) for row in rows]


async def existing_run_number(connection: PostgresConnection, run: RunKey) -> int | None:
    """The number of a run, or None if there is no such run or it was deleted."""
    return await connection.fetchval(_FIND_EXISTING, run.partition, run.run_id)


async def run_number(connection: PostgresConnection, run: RunKey) -> int | None:
    """The number of a run that exists or was deleted. A page can continue after a cursor whose run was deleted."""
    return await connection.fetchval(_FIND_NUMBER, run.partition, run.run_id)
