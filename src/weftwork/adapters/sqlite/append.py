"""The transaction that adds events to a run, with everything that is cached of them."""

from weftwork.adapters.sqlite import idempotency, news, orders
from weftwork.adapters.sqlite.assets import refer
from weftwork.adapters.sqlite.driver import Connection
from weftwork.adapters.sqlite.entries import insert_batch
from weftwork.adapters.sqlite.head import Head, Heads, head_of
from weftwork.adapters.sqlite.spawn import Brood, check_free, spawn_all
from weftwork.ports.eventlog import Batch, Recorded, SequenceConflict
from weftwork.protocol.run import TERMINAL, RunKey

# SQLite rewrites the entry in every index that holds an assigned column, changed or not; so there are several.
_PROGRESS = """
    UPDATE runs SET last_sequence = ?, started_at = ?, current_node = ?, executions = ?, error = ?
    WHERE run_no = ?
"""
_MOVE = """
    UPDATE runs SET last_sequence = ?, started_at = ?, current_node = ?, executions = ?, error = ?, status = ?
    WHERE run_no = ?
"""
_PARK = "UPDATE runs SET parked = ?, wake_at = ? WHERE run_no = ?"
_END = """
    UPDATE runs SET last_sequence = ?, started_at = ?, current_node = ?, executions = ?, error = ?, status = ?,
    completed_at = ?, outputs = ? WHERE run_no = ?
"""


def append(
    heads: Heads, run: RunKey, expected: int, batch: Batch, brood: Brood, connection: Connection
) -> Recorded | None:
    """EventLog.append for a checked batch. The slot is looked at first: a retry expects what is long past."""
    record = batch.record
    known = idempotency.taken(connection, record) if record is not None else None
    if known is not None:
        return known
    head = heads.find(connection, run)
    if head is None or is_conflict(head, expected):
        raise SequenceConflict(f"the run does not stand at {expected}")
    if brood:
        check_free(connection, brood)
    insert_batch(connection, head.run_no, batch)
    _project(connection, head, batch)
    if batch.assets:
        refer(connection, head.run_no, run.partition, batch.assets)
    if brood:
        spawn_all(connection, heads, head, brood)
        head = head._replace(has_children=True)
    if head.is_child or head.has_children:
        _reach_kin(connection, run, head, batch)
    if record is not None:
        idempotency.insert(connection, record)
    heads.keep(run, head_of(head.run_no, batch.projection, head.is_child, head.has_children))
    return None


def is_conflict(head: Head, expected: int) -> bool:
    """Whether an append that expects this last sequence comes too late, or after the end."""
    return head.last_sequence != expected or head.status in TERMINAL


def _reach_kin(connection: Connection, run: RunKey, head: Head, batch: Batch) -> None:
    """What a run has to say to its parent and to its children; and nobody speaks to one that has ended."""
    if batch.orders:
        orders.order(connection, run, head.run_no, batch.orders)
    if batch.cascade is not None:
        orders.cascade(connection, run, head.run_no, batch.cascade)
    if batch.tells is not None:
        news.tell(connection, head.run_no, batch.tells)
    if batch.projection.completed_at is not None:
        if head.is_child:
            orders.drop(connection, head.run_no)
        if head.has_children:
            news.drop(connection, head.run_no)


def _project(connection: Connection, head: Head, batch: Batch) -> None:
    projection = batch.projection
    progress = (
        projection.last_sequence,
        projection.started_at,
        projection.current_node,
        projection.executions,
        projection.error,
    )
    if projection.parked != head.parked or projection.wake_at != head.wake_at:
        connection.execute(_PARK, (int(projection.parked), projection.wake_at, head.run_no))
    if projection.completed_at is not None:
        connection.execute(
            _END, (*progress, projection.status, projection.completed_at, projection.outputs, head.run_no)
        )
    elif projection.status != head.status:
        connection.execute(_MOVE, (*progress, projection.status, head.run_no))
    else:
        connection.execute(_PROGRESS, (*progress, head.run_no))
