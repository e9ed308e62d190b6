"""The transaction that makes a run."""

from typing import Final

from weftwork.adapters.sqlite import idempotency, kinship
from weftwork.adapters.sqlite.assets import refer
from weftwork.adapters.sqlite.driver import Connection
from weftwork.adapters.sqlite.entries import insert_batch, insert_hidden
from weftwork.adapters.sqlite.head import Heads, head_of
from weftwork.ports.eventlog import Active, Batch, Created, Hidden, Projection, Record, Recorded
from weftwork.protocol.errors import HostFault
from weftwork.protocol.run import RunHeader

_LIVE_IN_SCOPE = """
    SELECT run_id FROM runs WHERE partition = ? AND scope_id IS ? AND completed_at IS NULL ORDER BY run_no LIMIT 1
"""
# The number of a deleted run is not given out again while anything of that run may be there, or while it marks
# a place in listings; the newest run may be deleted, too.
_INSERT_RUN = """
    INSERT INTO runs (run_no, partition, run_id, workflow_id, scope_id, status, last_sequence, started_at,
    completed_at, current_node, executions, error, outputs, parked, wake_at, is_child)
    VALUES (max((SELECT ifnull(max(run_no), 0) FROM runs), (SELECT ifnull(max(run_no), 0) FROM deleted_runs)) + 1,
    ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (partition, run_id) DO NOTHING
"""
_INSERT_HEADER = "INSERT INTO run_headers (run_no, header) VALUES (?, ?)"
_INSERT_TAG = "INSERT INTO run_tags (partition, tag, run_no) VALUES (?, ?, ?)"

PENDING: Final = Projection("pending")

_CREATED = Created()


def create(
    heads: Heads,
    header: RunHeader,
    document: bytes,
    hidden: tuple[Hidden, ...],
    record: Record | None,
    exclusive: bool,
    first: Batch | None,
    connection: Connection,
) -> Created | Recorded | Active:
    """EventLog.create of a checked first batch; `document` is the encoded header."""
    known = idempotency.taken(connection, record) if record is not None else None
    if known is not None:
        return known
    partition = header.partition
    if exclusive:
        live = connection.execute(_LIVE_IN_SCOPE, (partition, header.scope_id)).fetchall()
        if live:
            return Active(live[0][0])
    now = first.projection if first is not None else PENDING
    run_no = insert_run(connection, heads, header, document, hidden, now)
    if header.parent is not None:
        kinship.join(connection, heads, run_no, partition, header.parent)
    if first is not None:
        insert_batch(connection, run_no, first)
        if first.assets:
            refer(connection, run_no, partition, first.assets)
    if record is not None:
        idempotency.insert(connection, record)
    return _CREATED


def insert_run(
    connection: Connection,
    heads: Heads,
    header: RunHeader,
    document: bytes,
    hidden: tuple[Hidden, ...],
    now: Projection,
) -> int:
    """A run that stands like this, with what belongs to its header; its number. Raises HostFault for an id in use."""
    partition, is_child = header.partition, header.parent is not None
    connection.execute(
        _INSERT_RUN,
        (
            partition,
            header.run_id,
            header.workflow_id,
            header.scope_id,
            now.status,
            now.last_sequence,
            now.started_at,
            now.completed_at,
            now.current_node,
            now.executions,
            now.error,
            now.outputs,
            int(now.parked),
            now.wake_at,
            int(is_child),
        ),
    )
    if not connection.changes():
        raise HostFault(f"the run id {header.run_id} is in use")
    run_no = connection.last_insert_rowid()
    connection.execute(_INSERT_HEADER, (run_no, document))
    if header.tags:
        connection.executemany(_INSERT_TAG, [(partition, tag, run_no) for tag in set(header.tags)])
    if hidden:
        insert_hidden(connection, run_no, hidden)
    if header.assets:
        refer(connection, run_no, partition, header.assets)
    heads.keep(header.key, head_of(run_no, now, is_child, False))
    return run_no
