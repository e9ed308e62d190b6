"""Listings whose cost does not grow with history.

Each status has its runs in order in an index, so a page is the merge of one short walk per status. Tags and the
children of a run have indexes of their own; other filters are then looked up candidate by candidate, and the walk
stops after MOST_CANDIDATES, when a page may be short and still say `more`.
"""

import heapq
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from weftwork.adapters.sqlite.driver import Connection
from weftwork.adapters.sqlite.reader import snapshot
from weftwork.adapters.sqlite.run import find_numbered
from weftwork.ports.eventlog import Page, RunQuery
from weftwork.protocol.run import STATUSES, RunKey

MOST_CANDIDATES: Final = 2000

_BEYOND_ALL = 1 << 62
_EMPTY = Page((), None, False)

_NUMBER = "SELECT run_no FROM runs WHERE partition = ? AND run_id = ?"
_DELETED = "SELECT max(run_no) FROM deleted_runs WHERE partition = ? AND run_id = ?"
_RUN_ID = "SELECT run_id FROM runs WHERE run_no = ? AND partition = ?"
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
UNFINISHED = """
    SELECT partition, run_id FROM runs WHERE completed_at IS NULL AND parked = 0 AND run_no > ? ORDER BY run_no LIMIT ?
"""


def list_runs(partition: str, query: RunQuery, connection: Connection) -> Page:
    """EventLog.list_runs."""
    with snapshot(connection):
        before = _BEYOND_ALL
        if query.before is not None:
            number = number_of(connection, RunKey(partition, query.before))
            if number is None:
                return _EMPTY
            before = number
        if query.tags or query.parent is not None:
            numbers, last = _looked_up(connection, partition, query, before)
        else:
            numbers, last = _merged(connection, partition, query, before)
        runs = find_numbered(connection, partition, numbers)
        if last is None:
            return Page(runs, None, False)
        found = connection.execute(_RUN_ID, (last, partition)).fetchall()
        return Page(runs, found[0][0], True)


def unfinished(after: RunKey | None, limit: int, connection: Connection) -> list[RunKey]:
    """EventLog.unfinished; after an unknown run there is nothing."""
    with snapshot(connection):
        number = -1 if after is None else number_of(connection, after)
        if number is None:
            return []
        found = connection.execute(UNFINISHED, (number, max(limit, 0))).fetchall()
    return [RunKey(*row) for row in found]


def number_of(connection: Connection, run: RunKey) -> int | None:
    """The number of a run that is there or was: a page goes on where it ended, even if that run was deleted."""
    found = connection.execute(_NUMBER, (run.partition, run.run_id)).fetchall()
    return (found or connection.execute(_DELETED, (run.partition, run.run_id)).fetchall())[0][0]


def _merged(connection: Connection, partition: str, query: RunQuery, before: int) -> tuple[list[int], int | None]:
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


def _looked_up(connection: Connection, partition: str, query: RunQuery, before: int) -> tuple[list[int], int | None]:
    """The page's run numbers, and the last candidate looked at if there may be more."""
    statuses = frozenset(query.statuses or STATUSES)
    numbers: list[int] = []
    number, looked_at = before, 0
    others = [*dict.fromkeys(query.tags)]
    candidates: Any
    if query.parent is not None:
        candidates = connection.execute(BY_PARENT, (before, partition, query.parent, MOST_CANDIDATES))
    else:
        candidates = connection.execute(BY_TAG, (partition, others.pop(0), before, MOST_CANDIDATES))
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
    return numbers, number if looked_at == MOST_CANDIDATES else None
