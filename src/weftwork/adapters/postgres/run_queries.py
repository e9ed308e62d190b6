"""The run queries port on PostgreSQL.

The cost of a listing does not grow with the number of ended runs. An index has the runs of each status in order, so a
page is the merge of one short scan per status. Tags and the children of a run have their own indexes; the other filters
are then checked for each candidate. Such a scan stops after MAX_CANDIDATES, so a page can be short and still have
`more` set.
"""

from typing import Any, Final

from weftwork.adapters.postgres.database.connection import PostgresConnection
from weftwork.adapters.postgres.database.port import PostgresPort, reads, reads_once
from weftwork.adapters.postgres.interrupts import list_interrupts
from weftwork.adapters.postgres.ownership import MAX_RUN_NO
from weftwork.adapters.postgres.runs import find_by_number, run_number
from weftwork.ports.storage.run_queries import RunPage, RunQuery, TimedRun
from weftwork.protocol.run.header import STATUSES, RunKey

MAX_CANDIDATES: Final = 2000

_EMPTY_PAGE = RunPage((), None, False)

_FIND_RUN_ID = "SELECT run_id FROM runs WHERE run_no = $1 AND partition = $2"
_PER_STATUS = """
    SELECT each.run_no FROM unnest($2::text[]) AS wanted (status) CROSS JOIN LATERAL (
      SELECT run_no FROM runs r WHERE r.partition = $1 AND r.status = wanted.status {workflow} AND r.run_no < $3
      ORDER BY r.run_no DESC LIMIT $4
    ) each ORDER BY each.run_no DESC LIMIT $4
"""
BY_STATUS: Final = _PER_STATUS.format(workflow="")
BY_WORKFLOW: Final = _PER_STATUS.format(workflow="AND r.workflow_id = $5")
_CHECKED = """
    SELECT c.run_no, r.status = ANY ($4::text[]) AND ($5::text IS NULL OR r.workflow_id = $5)
      AND NOT EXISTS (
        SELECT FROM unnest($6::text[]) AS wanted (tag)
        WHERE NOT EXISTS (SELECT FROM run_tags t WHERE t.partition = $1 AND t.tag = wanted.tag AND t.run_no = c.run_no)
      )
    FROM ({candidates}) c JOIN runs r USING (run_no) ORDER BY c.run_no DESC
"""
_TAGGED: Final = """
    SELECT run_no FROM run_tags t WHERE t.partition = $1 AND t.tag = $2 AND t.run_no < $3
    AND EXISTS (SELECT FROM runs x WHERE x.run_no = t.run_no) ORDER BY t.run_no DESC LIMIT $7
"""
_CHILDREN: Final = """
    SELECT k.run_no FROM children k
    WHERE k.parent_no = (SELECT run_no FROM runs WHERE run_id = $2 AND partition || '' = $1) AND k.run_no < $3
    AND EXISTS (SELECT FROM runs x WHERE x.run_no = k.run_no) ORDER BY k.run_no DESC LIMIT $7
"""
BY_TAG: Final = _CHECKED.format(candidates=_TAGGED)
BY_PARENT: Final = _CHECKED.format(candidates=_CHILDREN)


async def list_runs(connection: PostgresConnection, partition: str, query: RunQuery) -> RunPage:
    before = MAX_RUN_NO
    if query.before is not None:
        number = await run_number(connection, RunKey(partition, query.before))
        if number is None:
            return _EMPTY_PAGE
        before = number
    if query.tags or query.parent is not None:
        numbers, last = await _check_candidates(connection, partition, query, before)
    else:
        numbers, last = await _merge_statuses(connection, partition, query, before)
    runs = await find_by_number(connection, partition, numbers)
    if last is None:
        return RunPage(runs, None, False)
    return RunPage(runs, await connection.fetchval(_FIND_RUN_ID, last, partition), True)


async def _merge_statuses(
    connection: PostgresConnection, partition: str, query: RunQuery, before: int
) -> tuple[list[int], int | None]:
    """The run numbers of a page, and the last of them if there are more."""
    limit = max(query.limit, 1)
    values: list[Any] = [partition, [*dict.fromkeys(query.statuses or STATUSES)], before, limit + 1]
    if query.workflow_id is None:
        rows = await connection.fetch(BY_STATUS, *values)
    else:
        rows = await connection.fetch(BY_WORKFLOW, *values, query.workflow_id)
    numbers = [row[0] for row in rows]
    page = numbers[:limit]
    return page, page[-1] if len(numbers) > limit else None


async def _check_candidates(
    connection: PostgresConnection, partition: str, query: RunQuery, before: int
) -> tuple[list[int], int | None]:
    """The run numbers of a page, and the last candidate that was checked if there may be more."""
    tags = [*dict.fromkeys(query.tags)]
    by = query.parent if query.parent is not None else tags.pop(0)
    statement = BY_TAG if query.parent is None else BY_PARENT
    statuses = [*(query.statuses or STATUSES)]
    rows = await connection.fetch(statement, partition, by, before, statuses, query.workflow_id, tags, MAX_CANDIDATES)
    numbers: list[int] = []
    for number, matches in rows:
        if not matches:
            continue
        if len(numbers) >= max(query.limit, 1):
            return numbers, numbers[-1]
        numbers.append(number)
    return numbers, rows[-1][0] if len(rows) == MAX_CANDIDATES else None


_NEXT_WAKE = "SELECT wake_at FROM runs WHERE parked AND wake_at IS NOT NULL AND wake_at > $1 ORDER BY wake_at LIMIT 1"
_DUE_RUNS = """
    SELECT partition, run_id FROM runs WHERE parked AND wake_at IS NOT NULL AND wake_at <= $1
    ORDER BY wake_at, run_no LIMIT $2
"""
_TIMED_RUNS = """
    SELECT r.partition, r.run_id, r.wake_at, coalesce(e.timestamp, 0), r.run_no
    FROM runs r LEFT JOIN events e ON e.run_no = r.run_no AND e.sequence = r.last_sequence
    WHERE r.parked AND r.wake_at IS NOT NULL AND (r.wake_at, r.run_no) > ($1, $2)
    ORDER BY r.wake_at, r.run_no LIMIT $3
"""


async def _next_wake(connection: PostgresConnection, after: int = -1) -> int | None:
    return await connection.fetchval(_NEXT_WAKE, after)


async def _due_runs(connection: PostgresConnection, until: int, limit: int) -> list[RunKey]:
    return [RunKey(*row) for row in await connection.fetch(_DUE_RUNS, until, max(limit, 0))]


async def _timed_runs(connection: PostgresConnection, after: TimedRun | None, limit: int) -> list[TimedRun]:
    position = (-1, -1) if after is None else (after.wake_at, after.number)
    rows = await connection.fetch(_TIMED_RUNS, *position, max(limit, 0))
    return [
        TimedRun(RunKey(partition, run_id), wake_at, last_event_at, number)
        for partition, run_id, wake_at, last_event_at, number in rows
    ]


class PostgresRunQueries(PostgresPort):
    """Implements ports.storage.run_queries.RunQueries."""

    list_runs = reads(list_runs)
    list_interrupts = reads(list_interrupts)
    next_wake = reads_once(_next_wake)
    due_runs = reads_once(_due_runs)
    timed_runs = reads_once(_timed_runs)
