"""Transactions that change runs and are rarer than the array statements: a run in an exclusive scope, a child or a fork
on its own, and an append with messages to other runs.

They use the same statements, within a transaction of several steps. The order of locks is that of all writers: the
idempotency slot, then runs by number.
"""

from typing import Any

from weftwork.adapters.postgres.array_statements import Append, NewRun, append_statement, create_statement
from weftwork.adapters.postgres.child_runs import insert_child, put_messages
from weftwork.adapters.postgres.database.address import StoreAddress
from weftwork.adapters.postgres.database.connection import UNIQUE_VIOLATION, PostgresConnection
from weftwork.adapters.postgres.database.pool import Refused
from weftwork.adapters.postgres.idempotency import claim, find_recorded
from weftwork.adapters.postgres.runs import existing_run_number
from weftwork.ports.storage.event_log import FenceLost, RunCreated, ScopeTaken, SequenceConflict
from weftwork.protocol.errors import HostFault
from weftwork.protocol.run.header import RunHeader, RunKey

CREATED = RunCreated()

_LIVE_IN_SCOPE = """
    SELECT run_id FROM runs WHERE partition = $1 AND scope_id IS NOT DISTINCT FROM $2 AND completed_at IS NULL
    ORDER BY run_no LIMIT 1
"""
_LOCK_SCOPE = "SELECT pg_advisory_xact_lock($1)"
_INSERT_FORK = "INSERT INTO forks (run_no, partition, source) VALUES ($1, $2, $3)"
_LOCK_PARENT = "SELECT run_no FROM runs WHERE run_id = $2 AND partition || '' = $1 FOR NO KEY UPDATE"
_FIND_HEAD = (
    "SELECT fence, last_sequence, completed_at IS NOT NULL FROM runs WHERE run_id = $2 AND partition || '' = $1"
)


def run_id_in_use(header: RunHeader) -> HostFault:
    return HostFault(f"the run id {header.run_id} is in use")


async def create_run(connection: PostgresConnection, address: StoreAddress, run: NewRun, exclusive: bool) -> RunCreated:
    """EventLog.create of a run that is exclusive in its scope, a child, or a fork. Raises Refused with SlotTaken or
    ScopeTaken, or HostFault for a run id in use."""
    await claim(connection, run.record)
    header = run.header
    if exclusive:
        await claim_scope(connection, address, header)
    parent_no = 0
    if header.parent is not None:
        # The header of a run that is created on its own may name a parent, and that parent may have been deleted.
        parent_no = await connection.fetchval(_LOCK_PARENT, header.partition, header.parent.run_id) or 0
    await insert_run(connection, run._replace(record=None), parent_no)
    return CREATED


async def claim_scope(connection: PostgresConnection, address: StoreAddress, header: RunHeader) -> None:
    """Raise Refused with ScopeTaken if a run in the scope of a new one has not ended."""
    # Two exclusive creates of one scope wait for each other here; the second one then sees the run of the first.
    key = address.lock_key("scope", header.partition, header.scope_id is None, header.scope_id)
    await connection.execute(_LOCK_SCOPE, key)
    live = await connection.fetchval(_LIVE_IN_SCOPE, header.partition, header.scope_id)
    if live is not None:
        raise Refused(ScopeTaken(live))


async def insert_run(connection: PostgresConnection, run: NewRun, parent_no: int = 0) -> int:
    """Insert a run, with its link to a locked parent and to the source of a fork. Returns its number."""
    header = run.header
    query, arguments = create_statement([run])
    try:
        await connection.fetch(query, *arguments)
    except UNIQUE_VIOLATION:
        raise run_id_in_use(header) from None
    run_no = await existing_run_number(connection, header.key)
    assert run_no is not None, "the statement has created the run"
    if header.parent is not None:
        await insert_child(connection, run_no, parent_no, header.partition, header.parent)
    if header.fork is not None:
        await connection.execute(_INSERT_FORK, run_no, header.partition, header.fork.run_id)
    return run_no


async def append_batch(connection: PostgresConnection, append: Append, children: tuple[NewRun, ...]) -> None:
    """EventLog.append of a checked batch with messages to other runs. Raises Refused with SlotTaken, FenceLost,
    SequenceConflict, or HostFault for a run id in use."""
    await claim(connection, append.record)
    run, batch = append.run, append.batch
    unrecorded = append._replace(record=None)
    query, arguments = append_statement([unrecorded])
    if await connection.fetch(query, *arguments):
        raise await why_not(connection, unrecorded) or SequenceConflict("the run was changed meanwhile")
    run_no = await existing_run_number(connection, run)
    assert run_no is not None, "the statement has found the run"
    for child in children:
        await insert_run(connection, child, run_no)
    await put_messages(connection, run, run_no, batch)


async def why_not(connection: PostgresConnection, append: Append) -> Any:
    """Why a batch was not appended: SlotTaken, an exception to raise, or None if nothing speaks against it now."""
    if append.record is not None:
        taken = await find_recorded(connection, append.record)
        if taken is not None:
            return taken
    head = await connection.fetchrow(_FIND_HEAD, append.run.partition, append.run.run_id)
    if head is not None:
        fence, last_sequence, ended = head
        if append.fence is not None and fence != append.fence:
            return FenceLost("another executor has taken the run")
        if last_sequence == append.expected and not ended:
            return None
    return SequenceConflict(f"the last sequence of the run is not {append.expected}, or the run has ended")


def check_new_ids(run: RunKey, children: tuple[NewRun, ...]) -> None:
    """Raise HostFault if a run id occurs twice."""
    ids = {child.header.run_id for child in children}
    if len(ids) != len(children) or run.run_id in ids:
        raise HostFault(f"a run id of the new children of {run.run_id} is in use")
