"""The child runs port on PostgreSQL, and the functions that other transactions use.

The table `children` has the parent of each child run. `child_results` holds results of children that their parents have
not acknowledged, `cancel_requests` holds cancel requests to children that have not ended: at most one of each per
child, in the order in which the children were created. Messages are written in the same transaction as the event that
causes them.

The receiver of a message may end while the message is written. No lock prevents it: a result counts only while the
parent has not ended, and a request only while the child has not. The end of a run deletes the messages that it sees;
the deletion of a child deletes the others.
"""

from typing import Final

from weftwork.adapters.postgres.database.connection import PostgresConnection
from weftwork.adapters.postgres.database.port import PostgresPort, reads, reads_once, writes
from weftwork.adapters.postgres.runs import find_by_number, run_number
from weftwork.ports.storage.child_runs import PendingCancelRequest, PendingChildResult
from weftwork.protocol.run.batch import Batch, ChildResult
from weftwork.protocol.run.header import Parent, RunKey
from weftwork.protocol.run.projection import StoredRun

_INSERT_CHILD = (
    "INSERT INTO children (run_no, parent_no, partition, root, awaited, cascades) VALUES ($1, $2, $3, $4, $5, $6)"
)
_MARK_HAS_CHILDREN = "UPDATE runs SET has_children = true WHERE run_no = $1 AND NOT has_children"
_CHILDREN = """
    SELECT c.run_no FROM runs p JOIN children c ON c.parent_no = p.run_no AND c.run_no > $1
    WHERE p.partition = $2 AND p.run_id = $3 ORDER BY c.run_no LIMIT $4
"""
_COUNT_DESCENDANTS = "SELECT count(*) FROM children WHERE partition = $1 AND root = $2"


async def insert_child(
    connection: PostgresConnection, run_no: int, parent_no: int, partition: str, parent: Parent
) -> None:
    """Record the parent of a child run; the number 0 stands for a parent that does not exist."""
    values = (run_no, parent_no, partition, parent.root, parent.awaited, parent.cascade)
    await connection.execute(_INSERT_CHILD, *values)
    if parent_no:
        await connection.execute(_MARK_HAS_CHILDREN, parent_no)


async def list_children(connection: PostgresConnection, run: RunKey, after: str | None, limit: int) -> list[StoredRun]:
    """ChildRuns.children. The page after an unknown run is empty."""
    number = -1 if after is None else await run_number(connection, RunKey(run.partition, after))
    if number is None:
        return []
    rows = await connection.fetch(_CHILDREN, number, run.partition, run.run_id, max(limit, 0))
    return list(await find_by_number(connection, run.partition, [row[0] for row in rows]))


async def count_descendants(connection: PostgresConnection, run: RunKey) -> int:
    return await connection.fetchval(_COUNT_DESCENDANTS, run.partition, run.run_id)


_PUT_RESULT = """
    INSERT INTO child_results (run_no, parent_no, node_id, key, sequence, status, outcome)
    SELECT c.run_no, c.parent_no, $2, $3, $4, $5, $6
    FROM children c JOIN runs p ON p.run_no = c.parent_no AND p.completed_at IS NULL WHERE c.run_no = $1
    ON CONFLICT (run_no) DO UPDATE SET node_id = excluded.node_id, key = excluded.key, sequence = excluded.sequence,
      status = excluded.status, outcome = excluded.outcome
"""
_PUT_CANCEL_REQUEST = """
    INSERT INTO cancel_requests (run_no, parent, reason)
    SELECT r.run_no, $2, $3 FROM runs r JOIN children c ON c.run_no = r.run_no AND c.parent_no = $1
    WHERE r.partition = $4 AND r.run_id = $5 AND r.completed_at IS NULL ON CONFLICT (run_no) DO NOTHING
"""
_PUT_CASCADE = """
    INSERT INTO cancel_requests (run_no, parent, reason)
    SELECT r.run_no, $2, $3 FROM children c JOIN runs r ON r.run_no = c.run_no AND r.completed_at IS NULL
    WHERE c.parent_no = $1 AND CASE WHEN $4 THEN c.awaited ELSE c.cascades END ON CONFLICT (run_no) DO NOTHING
"""


async def put_messages(connection: PostgresConnection, run: RunKey, run_no: int, batch: Batch) -> None:
    """Write the messages of a batch to the parent and the children of its run."""
    result = batch.child_result
    if result is not None:
        values = (result.node_id, result.key, result.sequence, result.status, result.outcome)
        await connection.execute(_PUT_RESULT, run_no, *values)
    for request in batch.cancel_requests:
        values = (run.run_id, request.reason, run.partition, request.child_run_id)
        await connection.execute(_PUT_CANCEL_REQUEST, run_no, *values)
    cascade = batch.cascade_cancel
    if cascade is not None:
        await connection.execute(_PUT_CASCADE, run_no, run.run_id, cascade.reason, cascade.awaited_only)


IS_PENDING: Final = """
    EXISTS (
      SELECT FROM child_results n JOIN runs p ON p.run_no = n.parent_no AND p.completed_at IS NULL
      WHERE n.run_no = {run_no}
    )
"""
"""Whether the parent of a child has not ended and has not acknowledged a result of this child yet."""
_HAS_RESULT = f"SELECT {IS_PENDING.format(run_no='$1')}"
_RESULTS_PAGE = """
    SELECT p.partition, p.run_id, c.run_id, n.node_id, n.key, n.sequence, n.status, n.outcome
    FROM child_results n JOIN runs c ON c.run_no = n.run_no
    JOIN runs p ON p.run_no = n.parent_no AND p.completed_at IS NULL
    WHERE n.run_no > $1 ORDER BY n.run_no LIMIT $2
"""
_ACKNOWLEDGE = """
    DELETE FROM child_results n USING unnest($1::text[], $2::text[], $3::int[]) AS known (partition, run_id, sequence)
    JOIN runs r USING (partition, run_id) WHERE n.run_no = r.run_no AND n.sequence <= known.sequence
"""


async def has_pending_result(connection: PostgresConnection, run_no: int) -> bool:
    return await connection.fetchval(_HAS_RESULT, run_no)


async def list_results(
    connection: PostgresConnection, after: PendingChildResult | None, limit: int
) -> list[PendingChildResult]:
    """ChildRuns.child_results. The page after an unknown child is empty."""
    child = RunKey(after.parent.partition, after.result.child_run_id) if after is not None else None
    number = -1 if child is None else await run_number(connection, child)
    if number is None:
        return []
    rows = await connection.fetch(_RESULTS_PAGE, number, max(limit, 0))
    return [PendingChildResult(RunKey(partition, parent), ChildResult(*result)) for partition, parent, *result in rows]


async def acknowledge_results(connection: PostgresConnection, results: tuple[PendingChildResult, ...]) -> None:
    partitions = [each.parent.partition for each in results]
    children = [each.result.child_run_id for each in results]
    await connection.execute(_ACKNOWLEDGE, partitions, children, [each.result.sequence for each in results])


_CANCEL_REQUESTS_PAGE = """
    SELECT c.partition, c.run_id, o.parent, o.reason FROM cancel_requests o
    JOIN runs c ON c.run_no = o.run_no AND c.completed_at IS NULL
    WHERE o.run_no > $1 ORDER BY o.run_no LIMIT $2
"""


async def list_cancel_requests(
    connection: PostgresConnection, after: RunKey | None, limit: int
) -> list[PendingCancelRequest]:
    """ChildRuns.cancel_requests. The page after an unknown child is empty."""
    number = -1 if after is None else await run_number(connection, after)
    if number is None:
        return []
    rows = await connection.fetch(_CANCEL_REQUESTS_PAGE, number, max(limit, 0))
    return [
        PendingCancelRequest(RunKey(partition, run_id), parent, reason) for partition, run_id, parent, reason in rows
    ]


class PostgresChildRuns(PostgresPort):
    """Implements ports.storage.child_runs.ChildRuns."""

    children = reads(list_children)
    count_descendants = reads_once(count_descendants)
    child_results = reads(list_results)
    acknowledge_results = writes(acknowledge_results)
    cancel_requests = reads(list_cancel_requests)
