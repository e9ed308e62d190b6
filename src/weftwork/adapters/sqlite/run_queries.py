"""Reads runs: one of them whole, pages of them, and the ones that the host has to go on with.

Theory of listings. Their cost does not grow with history. Each status has its runs in order in an index, so a page is
the merge of one short walk per status. Tags and the children of a run have indexes of their own; other filters are then
looked up candidate by candidate, and the walk stops after MAX_CANDIDATES, when a page may be short and still say
`more`.
"""

import heapq
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

import msgspec

from weftwork.adapters.sqlite.database.connection import SqliteConnection
from weftwork.adapters.sqlite.database.reader import snapshot
from weftwork.ports.storage.event_log import RunPage, RunQuery
from weftwork.protocol.run.batch import MAX_SEQUENCE, HiddenValue
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.header import STATUSES, RunHeader, RunKey
from weftwork.protocol.run.projection import Projection, StateRow, StoredRun

SEQUENCE_BITS: Final = MAX_SEQUENCE.bit_length()
"""An event's id is run_no * 2^26 + sequence, as the first migration says."""

_PROJECTION_COLUMNS: Final = """
    r.status, r.last_sequence, r.started_at, r.completed_at, r.current_node, r.error, r.executions, {outputs},
    r.parked, r.wake_at
"""
_ALL_COLUMNS: Final = _PROJECTION_COLUMNS.format(outputs="r.outputs")
# Listings leave the outputs out: they are as large as the caller likes.
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
    WHERE r.partition = ? AND r.run_id = ? ORDER BY h.sequence, h.hidden_no
"""
_READ_EVENTS = f"""
    SELECT e.id & {(1 << SEQUENCE_BITS) - 1}, e.event_id, e.type, e.timestamp, e.payload, e.node_id,
           e.causation_id, e.schema_version, e.engine_version, e.interrupt_id, e.content_trust
    FROM runs r CROSS JOIN events e
         ON e.id > (r.run_no << {SEQUENCE_BITS}) + ? AND e.id < (r.run_no + 1) << {SEQUENCE_BITS}
    WHERE r.partition = ? AND r.run_id = ? ORDER BY e.id LIMIT ?
"""  # noqa: S608 - nothing but constants

_decode_header = msgspec.json.Decoder(RunHeader).decode


def find_run(run: RunKey, connection: SqliteConnection) -> StoredRun | None:
    """EventLog.read_run."""
    with snapshot(connection):
        found = connection.execute(_FIND_RUN, (run.partition, run.run_id)).fetchall()
        if not found:
            return None
        run_no, header, *projection = found[0]
        rows = connection.execute(_READ_ROWS, (run_no,)).fetchall()
    return StoredRun(_decode_header(header), _build_projection(*projection), tuple(StateRow(*row) for row in rows))


def find_projection(run: RunKey, connection: SqliteConnection) -> Projection | None:
    """EventLog.projection."""
    found = connection.execute(_FIND_PROJECTION, (run.partition, run.run_id)).fetchall()
    return _build_projection(*found[0]) if found else None


def find_by_number(connection: SqliteConnection, partition: str, numbers: list[int]) -> tuple[StoredRun, ...]:
    """Headers and projections in the order of the numbers, without state rows."""
    wanted = [(number, partition) for number in numbers]
    found = connection.executemany(_FIND_BY_NUMBER, wanted).fetchall()
    return tuple(StoredRun(_decode_header(header), _build_projection(*rest)) for header, *rest in found)


def _build_projection(*columns: Any) -> Projection:
    *others, parked, wake_at = columns
    return Projection(*others, parked=bool(parked), wake_at=wake_at)


def read_events(
    run: RunKey, after: int, limit: int, connection: SqliteConnection, budget: int | None = None
) -> list[Event]:
    """EventLog.read."""
    run_id = run.run_id
    # A cursor below -1 would reach into the ids of the run before.
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


def read_hidden(run: RunKey, connection: SqliteConnection) -> list[HiddenValue]:
    """EventLog.hidden_values."""
    found = connection.execute(_READ_HIDDEN, (run.partition, run.run_id)).fetchall()
    return [HiddenValue(*row) for row in found]


MAX_CANDIDATES: Final = 2000

_MAX_RUN_NO = 1 << 62
_EMPTY_PAGE = RunPage((), None, False)

_FIND_NUMBER = "SELECT run_no FROM runs WHERE partition = ? AND run_id = ?"
_FIND_DELETED_NUMBER = "SELECT max(run_no) FROM deleted_runs WHERE partition = ? AND run_id = ?"
_FIND_RUN_ID = "SELECT run_id FROM runs WHERE run_no = ? AND partition = ?"
BY_STATUS = """
    SELECT run_no FROM runs WHERE partition = ? AND status = ? AND run_no < ? ORDER BY run_no DESC LIMIT ?
"""
BY_WORKFLOW = """
    SELECT run_no FROM runs WHERE partition = ? AND workflow_id = ? AND status = ? AND run_no < ?
    ORDER BY run_no DESC LIMIT ?
"""
BY_TAG = """
    SELECT t.run_no, r.workflow_id, r.status FROM run_tags t CROSS JOIN runs r ON r.run_no = t.run_no
    WHERE t.partition = ? AND t.tag = ? AND t.run_no < ? ORDER BY t.run_no DESC LIMIT ?
"""
BY_PARENT = """
    SELECT k.run_no, r.workflow_id, r.status
    FROM runs p CROSS JOIN kinship k ON k.parent_no = p.run_no AND k.run_no < ? CROSS JOIN runs r ON r.run_no = k.run_no
    WHERE p.partition = ? AND p.run_id = ? ORDER BY k.run_no DESC LIMIT ?
"""
HAS_TAG = "SELECT 1 FROM run_tags WHERE partition = ? AND tag = ? AND run_no = ?"


def list_runs(partition: str, query: RunQuery, connection: SqliteConnection) -> RunPage:
    """EventLog.list_runs."""
    with snapshot(connection):
        before = _MAX_RUN_NO
        if query.before is not None:
            number = run_number(connection, RunKey(partition, query.before))
            if number is None:
                return _EMPTY_PAGE
            before = number
        if query.tags or query.parent is not None:
            numbers, last = _scan_candidates(connection, partition, query, before)
        else:
            numbers, last = _merge_statuses(connection, partition, query, before)
        runs = find_by_number(connection, partition, numbers)
        if last is None:
            return RunPage(runs, None, False)
        found = connection.execute(_FIND_RUN_ID, (last, partition)).fetchall()
        return RunPage(runs, found[0][0], True)


def existing_run_number(connection: SqliteConnection, run: RunKey) -> int | None:
    """The number of a run, or None if there is no such run or it was deleted."""
    found = connection.execute(_FIND_NUMBER, (run.partition, run.run_id)).fetchall()
    return found[0][0] if found else None


def run_number(connection: SqliteConnection, run: RunKey) -> int | None:
    """The number of a run that exists or was deleted: a page continues after its cursor, even if that run is gone."""
    found = connection.execute(_FIND_NUMBER, (run.partition, run.run_id)).fetchall()
    return (found or connection.execute(_FIND_DELETED_NUMBER, (run.partition, run.run_id)).fetchall())[0][0]


def _merge_statuses(
    connection: SqliteConnection, partition: str, query: RunQuery, before: int
) -> tuple[list[int], int | None]:
    """The page's run numbers, and the last of them if there are more."""
    limit = max(query.limit, 1)
    walks: list[Iterator[int]] = []
    for status in dict.fromkeys(query.statuses or STATUSES):
        if query.workflow_id is None:
            walk = connection.execute(BY_STATUS, (partition, status, before, limit + 1))
        else:
            walk = connection.execute(BY_WORKFLOW, (partition, query.workflow_id, status, before, limit + 1))
        found: list[Any] = walk.fetchall()
        walks.append(row[0] for row in found)
    numbers = list(islice(heapq.merge(*walks, reverse=True), limit + 1))
    page = numbers[:limit]
    return page, page[-1] if len(numbers) > limit else None


def _scan_candidates(
    connection: SqliteConnection, partition: str, query: RunQuery, before: int
) -> tuple[list[int], int | None]:
    """The page's run numbers, and the last candidate looked at if there may be more."""
    statuses = frozenset(query.statuses or STATUSES)
    numbers: list[int] = []
    number, looked_at = before, 0
    others = [*dict.fromkeys(query.tags)]
    candidates: Any
    if query.parent is not None:
        candidates = connection.execute(BY_PARENT, (before, partition, query.parent, MAX_CANDIDATES))
    else:
        candidates = connection.execute(BY_TAG, (partition, others.pop(0), before, MAX_CANDIDATES))
    try:
        for number, workflow_id, status in candidates:
            looked_at += 1
            if status not in statuses or query.workflow_id not in (None, workflow_id):
                continue
            if not all(connection.execute(HAS_TAG, (partition, tag, number)).fetchall() for tag in others):
                continue
            if len(numbers) >= max(query.limit, 1):
                return numbers, numbers[-1]
            numbers.append(number)
    finally:
        candidates.close()
    return numbers, number if looked_at == MAX_CANDIDATES else None


UNFINISHED = """
    SELECT partition, run_id FROM runs WHERE completed_at IS NULL AND parked = 0 AND run_no > ? ORDER BY run_no LIMIT ?
"""


def list_unfinished(after: RunKey | None, limit: int, connection: SqliteConnection) -> list[RunKey]:
    """EventLog.unfinished_runs; after an unknown run there is nothing."""
    with snapshot(connection):
        number = -1 if after is None else run_number(connection, after)
        if number is None:
            return []
        found = connection.execute(UNFINISHED, (number, max(limit, 0))).fetchall()
    return [RunKey(*row) for row in found]


NEXT_WAKE = "SELECT wake_at FROM runs WHERE parked = 1 AND wake_at IS NOT NULL AND wake_at > ? ORDER BY wake_at LIMIT 1"
DUE_RUNS = """
    SELECT partition, run_id FROM runs WHERE parked = 1 AND wake_at IS NOT NULL AND wake_at <= ?
    ORDER BY wake_at, run_no LIMIT ?
"""


def find_next_wake(after: int, connection: SqliteConnection) -> int | None:
    """EventLog.next_wake."""
    found = connection.execute(NEXT_WAKE, (after,)).fetchall()
    return found[0][0] if found else None


def list_due(until: int, limit: int, connection: SqliteConnection) -> list[RunKey]:
    """EventLog.due_runs."""
    return [RunKey(*row) for row in connection.execute(DUE_RUNS, (until, max(limit, 0))).fetchall()]
