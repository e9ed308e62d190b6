"""The child runs port on one SQLite file, and the functions that other transactions use.

The table `kinship` has the parent of each child run. `news` holds results of children that their parents have not
acknowledged, `orders` holds cancel requests to children that have not ended: at most one of each per child, in the
order in which the children were created. Messages are written in the same transaction as the event that causes them.
"""

from typing import Final

from weftwork.adapters.sqlite.database.connection import SqliteConnection
from weftwork.adapters.sqlite.database.port import SqlitePort, reads, writes
from weftwork.adapters.sqlite.database.reader import snapshot
from weftwork.adapters.sqlite.runs import find_by_number, run_number
from weftwork.ports.storage.child_runs import PendingCancelRequest, PendingChildResult
from weftwork.protocol.run.batch import CancelRequest, CascadeCancel, ChildResult
from weftwork.protocol.run.header import Parent, RunKey
from weftwork.protocol.run.projection import StoredRun

_INSERT_CHILD = "INSERT INTO kinship (run_no, parent_no, partition, root, awaited, cascades) VALUES (?, ?, ?, ?, ?, ?)"
MARK_HAS_CHILDREN = "UPDATE runs SET has_children = 1 WHERE run_no = ?"
DELETE_CHILD = "DELETE FROM kinship WHERE run_no = ?"
CHILDREN = """
    SELECT k.run_no FROM runs p CROSS JOIN kinship k ON k.parent_no = p.run_no AND k.run_no > ?
    WHERE p.partition = ? AND p.run_id = ? ORDER BY k.run_no LIMIT ?
"""
COUNT_DESCENDANTS = "SELECT count(*) FROM kinship WHERE partition = ? AND root = ?"


def insert_child(connection: SqliteConnection, run_no: int, parent_no: int, partition: str, parent: Parent) -> None:
    values = (run_no, parent_no, partition, parent.root, int(parent.awaited), int(parent.cascade))
    connection.execute(_INSERT_CHILD, values)


def list_children(connection: SqliteConnection, run: RunKey, after: str | None, limit: int) -> list[StoredRun]:
    """ChildRuns.children. The page after an unknown run is empty."""
    with snapshot(connection):
        number = -1 if after is None else run_number(connection, RunKey(run.partition, after))
        if number is None:
            return []
        rows = connection.execute(CHILDREN, (number, run.partition, run.run_id, max(limit, 0))).fetchall()
        return list(find_by_number(connection, run.partition, [row[0] for row in rows]))


def count_descendants(connection: SqliteConnection, run: RunKey) -> int:
    return connection.execute(COUNT_DESCENDANTS, (run.partition, run.run_id)).fetchall()[0][0]


_PUT_RESULT = """
    INSERT INTO news (run_no, parent_no, node_id, key, sequence, status, outcome)
    SELECT k.run_no, k.parent_no, ?, ?, ?, ?, ?
    FROM kinship k CROSS JOIN runs p ON p.run_no = k.parent_no AND p.completed_at IS NULL WHERE k.run_no = ?
    ON CONFLICT (run_no) DO UPDATE SET node_id = excluded.node_id, key = excluded.key, sequence = excluded.sequence,
      status = excluded.status, outcome = excluded.outcome
"""
_HAS_RESULT = "SELECT 1 FROM news WHERE run_no = ?"
_ACKNOWLEDGE_RESULT = """
    DELETE FROM news WHERE run_no = (SELECT run_no FROM runs WHERE partition = ? AND run_id = ?) AND sequence <= ?
"""
DELETE_RESULTS = "DELETE FROM news WHERE parent_no = ?"
RESULTS_PAGE = """
    SELECT p.partition, p.run_id, c.run_id, n.node_id, n.key, n.sequence, n.status, n.outcome
    FROM news n CROSS JOIN runs c ON c.run_no = n.run_no CROSS JOIN runs p ON p.run_no = n.parent_no
    WHERE n.run_no > ? ORDER BY n.run_no LIMIT ?
"""


def put_result(connection: SqliteConnection, run_no: int, result: ChildResult) -> None:
    """Replace the pending result of a child. Does nothing if its parent was deleted or has ended."""
    values = (result.node_id, result.key, result.sequence, result.status, result.outcome, run_no)
    connection.execute(_PUT_RESULT, values)


def has_pending_result(connection: SqliteConnection, run_no: int) -> bool:
    """Whether the parent has not acknowledged a result of this child yet."""
    return bool(connection.execute(_HAS_RESULT, (run_no,)).fetchall())


def list_results(
    connection: SqliteConnection, after: PendingChildResult | None, limit: int
) -> list[PendingChildResult]:
    """ChildRuns.child_results. The page after an unknown child is empty."""
    with snapshot(connection):
        child = RunKey(after.parent.partition, after.result.child_run_id) if after is not None else None
        number = -1 if child is None else run_number(connection, child)
        if number is None:
            return []
        rows = connection.execute(RESULTS_PAGE, (number, max(limit, 0))).fetchall()
    return [PendingChildResult(RunKey(partition, parent), ChildResult(*result)) for partition, parent, *result in rows]


def acknowledge_results(connection: SqliteConnection, results: tuple[PendingChildResult, ...]) -> None:
    values = [(each.parent.partition, each.result.child_run_id, each.result.sequence) for each in results]
    connection.executemany(_ACKNOWLEDGE_RESULT, values)


_PUT_CANCEL_REQUEST = """
    INSERT INTO orders (run_no, parent, reason)
    SELECT c.run_no, ?, ? FROM runs c CROSS JOIN kinship k ON k.run_no = c.run_no AND k.parent_no = ?
    WHERE c.partition = ? AND c.run_id = ? AND c.completed_at IS NULL ON CONFLICT (run_no) DO NOTHING
"""
_PUT_CASCADE: Final = """
    INSERT INTO orders (run_no, parent, reason)
    SELECT c.run_no, ?, ? FROM kinship k CROSS JOIN runs c ON c.run_no = k.run_no AND c.completed_at IS NULL
    WHERE k.parent_no = ? AND k.{which} = 1 ON CONFLICT (run_no) DO NOTHING
"""
CASCADE_TO_CHILDREN = _PUT_CASCADE.format(which="cascades")
CASCADE_TO_AWAITED = _PUT_CASCADE.format(which="awaited")
_DELETE_CANCEL_REQUEST = "DELETE FROM orders WHERE run_no = ?"
CANCEL_REQUESTS_PAGE = """
    SELECT c.partition, c.run_id, o.parent, o.reason FROM orders o CROSS JOIN runs c ON c.run_no = o.run_no
    WHERE o.run_no > ? ORDER BY o.run_no LIMIT ?
"""


def put_cancel_requests(
    connection: SqliteConnection, run: RunKey, run_no: int, requests: tuple[CancelRequest, ...]
) -> None:
    """Write cancel requests to these children of a run, except those that have ended."""
    values = [(run.run_id, each.reason, run_no, run.partition, each.child_run_id) for each in requests]
    connection.executemany(_PUT_CANCEL_REQUEST, values)


def put_cascade(connection: SqliteConnection, run: RunKey, run_no: int, cascade: CascadeCancel) -> None:
    """Write a cancel request to every child of a run that the cascade covers."""
    statement = CASCADE_TO_AWAITED if cascade.awaited_only else CASCADE_TO_CHILDREN
    connection.execute(statement, (run.run_id, cascade.reason, run_no))


def delete_cancel_request(connection: SqliteConnection, run_no: int) -> None:
    connection.execute(_DELETE_CANCEL_REQUEST, (run_no,))


def list_cancel_requests(connection: SqliteConnection, after: RunKey | None, limit: int) -> list[PendingCancelRequest]:
    """ChildRuns.cancel_requests. The page after an unknown child is empty."""
    with snapshot(connection):
        number = -1 if after is None else run_number(connection, after)
        if number is None:
            return []
        rows = connection.execute(CANCEL_REQUESTS_PAGE, (number, max(limit, 0))).fetchall()
    return [
        PendingCancelRequest(RunKey(partition, run_id), parent, reason) for partition, run_id, parent, reason in rows
    ]


class SqliteChildRuns(SqlitePort):
    """Implements ports.storage.child_runs.ChildRuns."""

    children = reads(list_children)
    count_descendants = reads(count_descendants)
    child_results = reads(list_results)
    acknowledge_results = writes(acknowledge_results)
    cancel_requests = reads(list_cancel_requests)
