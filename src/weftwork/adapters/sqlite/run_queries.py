"""The run queries port on one SQLite file.

The cost of a listing does not grow with the number of ended runs. An index has the runs of each status in order, so a
page is the merge of one short scan per status. Tags and the children of a run have their own indexes; the other filters
are then checked for each candidate. Such a scan stops after MAX_CANDIDATES, so a page can be short and still have
`more` set.
"""

import heapq
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from weftwork.adapters.sqlite.database.connection import SqliteConnection
from weftwork.adapters.sqlite.database.port import SqlitePort, reads
from weftwork.adapters.sqlite.database.reader import snapshot
from weftwork.adapters.sqlite.interrupts import list_interrupts
from weftwork.adapters.sqlite.runs import SEQUENCE_BITS, find_by_number, run_number
from weftwork.ports.storage.run_queries import RunPage, RunQuery, TimedRun
from weftwork.protocol.run.header import STATUSES, RunKey

MAX_CANDIDATES: Final = 2000

_MAX_RUN_NO = 1 << 62
_EMPTY_PAGE = RunPage((), None, False)

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


def list_runs(connection: SqliteConnection, partition: str, query: RunQuery) -> RunPage:
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
        rows = connection.execute(_FIND_RUN_ID, (last, partition)).fetchall()
        return RunPage(runs, rows[0][0], True)


def _merge_statuses(
    connection: SqliteConnection, partition: str, query: RunQuery, before: int
) -> tuple[list[int], int | None]:
    """The run numbers of a page, and the last of them if there are more."""
    limit = max(query.limit, 1)
    scans: list[Iterator[int]] = []
    for status in dict.fromkeys(query.statuses or STATUSES):
        if query.workflow_id is None:
            scan = connection.execute(BY_STATUS, (partition, status, before, limit + 1))
        else:
            scan = connection.execute(BY_WORKFLOW, (partition, query.workflow_id, status, before, limit + 1))
        rows: list[Any] = scan.fetchall()
        scans.append(row[0] for row in rows)
    numbers = list(islice(heapq.merge(*scans, reverse=True), limit + 1))
    page = numbers[:limit]
    return page, page[-1] if len(numbers) > limit else None


def _scan_candidates(
    connection: SqliteConnection, partition: str, query: RunQuery, before: int
) -> tuple[list[int], int | None]:
    """The run numbers of a page, and the last candidate that was checked if there may be more."""
    statuses = frozenset(query.statuses or STATUSES)
    numbers: list[int] = []
    number, checked = before, 0
    tags = [*dict.fromkeys(query.tags)]
    candidates: Any
    if query.parent is not None:
        candidates = connection.execute(BY_PARENT, (before, partition, query.parent, MAX_CANDIDATES))
    else:
        candidates = connection.execute(BY_TAG, (partition, tags.pop(0), before, MAX_CANDIDATES))
    try:
        for number, workflow_id, status in candidates:
            checked += 1
            if status not in statuses or query.workflow_id not in (None, workflow_id):
                continue
            if not all(connection.execute(HAS_TAG, (partition, tag, number)).fetchall() for tag in tags):
                continue
            if len(numbers) >= max(query.limit, 1):
                return numbers, numbers[-1]
            numbers.append(number)
    finally:
        candidates.close()
    return numbers, number if checked == MAX_CANDIDATES else None


NEXT_WAKE = "SELECT wake_at FROM runs WHERE parked = 1 AND wake_at IS NOT NULL AND wake_at > ? ORDER BY wake_at LIMIT 1"
DUE_RUNS = """
    SELECT partition, run_id FROM runs WHERE parked = 1 AND wake_at IS NOT NULL AND wake_at <= ?
    ORDER BY wake_at, run_no LIMIT ?
"""


def find_next_wake(connection: SqliteConnection, after: int = -1) -> int | None:
    rows = connection.execute(NEXT_WAKE, (after,)).fetchall()
    return rows[0][0] if rows else None


def list_due(connection: SqliteConnection, until: int, limit: int) -> list[RunKey]:
    return [RunKey(*row) for row in connection.execute(DUE_RUNS, (until, max(limit, 0))).fetchall()]


TIMED_RUNS = """
    SELECT r.partition, r.run_id, r.wake_at, IFNULL(e.timestamp, 0), r.run_no
    FROM runs r LEFT JOIN events e ON e.id = (r.run_no << ?) + r.last_sequence
    WHERE r.parked = 1 AND r.wake_at IS NOT NULL AND (r.wake_at, r.run_no) > (?, ?)
    ORDER BY r.wake_at, r.run_no LIMIT ?
"""


def list_timed(connection: SqliteConnection, after: TimedRun | None, limit: int) -> list[TimedRun]:
    position = (-1, -1) if after is None else (after.wake_at, after.number)
    rows = connection.execute(TIMED_RUNS, (SEQUENCE_BITS, *position, max(limit, 0))).fetchall()
    return [
        TimedRun(RunKey(partition, run_id), wake_at, last_event_at, number)
        for partition, run_id, wake_at, last_event_at, number in rows
    ]


class SqliteRunQueries(SqlitePort):
    """Implements ports.storage.run_queries.RunQueries."""

    list_runs = reads(list_runs)
    list_interrupts = reads(list_interrupts)
    next_wake = reads(find_next_wake)
    due_runs = reads(list_due)
    timed_runs = reads(list_timed)
