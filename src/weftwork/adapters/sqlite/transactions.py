"""The two transactions that change a run: creating it, and appending a batch to it.

Everything in a batch is written in one transaction: its events, the state rows and the projection (the cached fold of
the events), hidden values, references to assets, child runs, messages between parent and child runs, and the
idempotency record. The writer may run several of these in one commit; a crash leaves all of a batch or none of it.

An append needs the number, last sequence and status of its run. RunHeadCache holds these for live runs, so that an
append to a run that was written recently reads nothing from the database.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any, Final, TypeVar

import msgspec
from msgspec.structs import astuple, replace

from weftwork.adapters.sqlite import child_runs, idempotency
from weftwork.adapters.sqlite.assets import add_references
from weftwork.adapters.sqlite.database.connection import SqliteConnection
from weftwork.adapters.sqlite.interrupts import set_open
from weftwork.adapters.sqlite.runs import SEQUENCE_BITS
from weftwork.ports.storage.event_log import FenceLost, RunCreated, ScopeTaken, SequenceConflict
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.protocol.errors import HostFault
from weftwork.protocol.run.batch import Batch, ChildCreate, HiddenValue, IdempotencyRecord
from weftwork.protocol.run.header import TERMINAL_STATUSES, RunHeader, RunKey
from weftwork.protocol.run.projection import Projection

T = TypeVar("T")


class RunHead(msgspec.Struct, frozen=True):
    """The columns of a run that an append needs."""

    run_no: int
    last_sequence: int
    status: str
    parked: bool
    wake_at: int | None
    is_child: bool
    has_children: bool
    fence: int


def run_head(run_no: int, projection: Projection, is_child: bool, has_children: bool, fence: int) -> RunHead:
    new = projection
    return RunHead(run_no, new.last_sequence, new.status, new.parked, new.wake_at, is_child, has_children, fence)


MAX_CACHED_HEADS: Final = 4096

_FIND_HEAD = """
    SELECT run_no, last_sequence, status, parked, wake_at, is_child, has_children, fence FROM runs
    WHERE partition = ? AND run_id = ?
"""


class RunHeadCache:
    """Caches the heads of live runs between appends.

    A cached head always equals the one in the database: only the writer changes runs, it updates the cache with every
    write, and it clears the cache when a transaction is rolled back.
    """

    def __init__(self) -> None:
        self._heads: dict[RunKey, RunHead] = {}
        self.unsaved_epoch = 0
        """The epoch of this process, if it was elected while the store could not write. It is written together with the
        first run that gets it as its fence."""

    def find(self, connection: SqliteConnection, run: RunKey) -> RunHead | None:
        cached = self._heads.get(run)
        if cached is not None:
            return cached
        rows = connection.execute(_FIND_HEAD, (run.partition, run.run_id)).fetchall()
        if not rows:
            return None
        run_no, last_sequence, status, parked, wake_at, is_child, has_children, fence = rows[0]
        return RunHead(run_no, last_sequence, status, bool(parked), wake_at, bool(is_child), bool(has_children), fence)

    def put(self, run: RunKey, head: RunHead) -> None:
        """Cache a head that was just written. Runs that ended or are parked are removed: no append is expected soon."""
        heads = self._heads
        if head.parked or head.status in TERMINAL_STATUSES:
            heads.pop(run, None)
            return
        if len(heads) >= MAX_CACHED_HEADS and run not in heads:
            del heads[next(iter(heads))]
        heads[run] = head

    def clear(self) -> None:
        self._heads.clear()


PENDING: Final = Projection("pending")

_CREATED_RESULT = RunCreated()

_LIVE_IN_SCOPE = """
    SELECT run_id FROM runs WHERE partition = ? AND scope_id IS ? AND completed_at IS NULL ORDER BY run_no LIMIT 1
"""


def create_run(
    connection: SqliteConnection,
    heads: RunHeadCache,
    header: RunHeader,
    document: bytes,
    hidden: tuple[HiddenValue, ...],
    record: IdempotencyRecord | None,
    exclusive: bool,
    first: Batch | None,
    fence: int = 0,
) -> RunCreated | SlotTaken | ScopeTaken:
    """EventLog.create. `first` has been checked; `document` is the encoded header."""
    taken = idempotency.find_recorded(connection, record) if record is not None else None
    if taken is not None:
        return taken
    partition = header.partition
    if exclusive and (scope_taken := find_live_in_scope(connection, header)) is not None:
        return scope_taken
    projection = first.projection if first is not None else PENDING
    run_no = insert_run(connection, heads, header, document, hidden, projection, fence)
    if header.parent is not None:
        # The header of a run that is created on its own may name a parent, and that parent may have been deleted.
        key = RunKey(partition, header.parent.run_id)
        head = heads.find(connection, key)
        child_runs.insert_child(connection, run_no, 0 if head is None else head.run_no, partition, header.parent)
        if head is not None and not head.has_children:
            connection.execute(child_runs.MARK_HAS_CHILDREN, (head.run_no,))
            heads.put(key, replace(head, has_children=True))
    if first is not None:
        insert_batch(connection, run_no, first)
        if first.assets:
            add_references(connection, run_no, partition, first.assets)
    if record is not None:
        idempotency.put_record(connection, record)
    return _CREATED_RESULT


def find_live_in_scope(connection: SqliteConnection, header: RunHeader) -> ScopeTaken | None:
    """The oldest run in the scope of a new one that has not ended."""
    live = connection.execute(_LIVE_IN_SCOPE, (header.partition, header.scope_id)).fetchall()
    return ScopeTaken(live[0][0]) if live else None


# The number of a deleted run is not reused while rows of that run may remain or a cursor may refer to it. The newest
# run can be deleted as well, so the maximum is taken over `runs` and `deleted_runs`.
_INSERT_RUN = """
    INSERT INTO runs (run_no, partition, run_id, workflow_id, scope_id, is_child, status, last_sequence, started_at,
    completed_at, current_node, error, executions, outputs, parked, wake_at, fence)
    VALUES (max((SELECT ifnull(max(run_no), 0) FROM runs), (SELECT ifnull(max(run_no), 0) FROM deleted_runs)) + 1,
    ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (partition, run_id) DO NOTHING
"""
SAVE_EPOCH = """
    INSERT INTO meta (name, value) VALUES ('epoch', ?)
    ON CONFLICT (name) DO UPDATE SET value = max(value, excluded.value)
"""
_INSERT_HEADER = "INSERT INTO run_headers (run_no, header) VALUES (?, ?)"
_INSERT_TAG = "INSERT INTO run_tags (partition, tag, run_no) VALUES (?, ?, ?)"
_INSERT_FORK = "INSERT INTO forks (run_no, partition, source) VALUES (?, ?, ?)"


def insert_run(
    connection: SqliteConnection,
    heads: RunHeadCache,
    header: RunHeader,
    document: bytes,
    hidden: tuple[HiddenValue, ...],
    projection: Projection,
    fence: int,
) -> int:
    """Insert a run with its header, tags, hidden values, asset references, and link to the source of a fork. Returns
    its number.

    Raises HostFault if the run id is in use.
    """
    partition, is_child = header.partition, header.parent is not None
    # The ten columns before the last are the fields of a projection, in their order.
    header_columns = (partition, header.run_id, header.workflow_id, header.scope_id, is_child)
    connection.execute(_INSERT_RUN, (*header_columns, *astuple(projection), fence))
    if not connection.changes():
        raise HostFault(f"the run id {header.run_id} is in use")
    run_no = connection.last_insert_rowid()
    if heads.unsaved_epoch:
        connection.execute(SAVE_EPOCH, (heads.unsaved_epoch,))
    connection.execute(_INSERT_HEADER, (run_no, document))
    if header.tags:
        connection.executemany(_INSERT_TAG, [(partition, tag, run_no) for tag in set(header.tags)])
    if hidden:
        insert_hidden(connection, run_no, hidden)
    if header.assets:
        add_references(connection, run_no, partition, header.assets)
    if header.fork is not None:
        connection.execute(_INSERT_FORK, (run_no, partition, header.fork.run_id))
    heads.put(header.key, run_head(run_no, projection, is_child, False, fence))
    return run_no


NewChildren = tuple[tuple[ChildCreate, bytes], ...]
"""Child runs to create, each with its encoded header."""


def append_batch(
    connection: SqliteConnection,
    heads: RunHeadCache,
    run: RunKey,
    expected: int,
    batch: Batch,
    children: NewChildren,
    fence: int | None = None,
) -> SlotTaken | None:
    """EventLog.append of a checked batch.

    The idempotency slot is checked before the sequence, because a retried request expects an outdated sequence. So is
    the fence, because an executor that has lost the run must not load it again.
    """
    record = batch.record
    taken = idempotency.find_recorded(connection, record) if record is not None else None
    if taken is not None:
        return taken
    head = heads.find(connection, run)
    # The comparison saves a call for each append of the executor that has the run.
    if head is not None and head.fence != fence and is_fence_lost(head, fence):
        raise FenceLost("another executor has taken the run")
    if head is None or is_sequence_conflict(head, expected):
        raise SequenceConflict(f"the last sequence of the run is not {expected}, or the run has ended")
    if children:
        check_run_ids_free(connection, children)
    insert_batch(connection, head.run_no, batch)
    _update_run(connection, head, batch)
    if batch.assets:
        add_references(connection, head.run_no, run.partition, batch.assets)
    if children:
        insert_children(connection, heads, head, children, fence or 0)
        head = replace(head, has_children=True)
    if head.is_child or head.has_children:
        _write_child_messages(connection, run, head, batch)
    if record is not None:
        idempotency.put_record(connection, record)
    heads.put(run, run_head(head.run_no, batch.projection, head.is_child, head.has_children, head.fence))
    return None


def is_fence_lost(head: RunHead, fence: int | None) -> bool:
    """Whether the run belongs to another executor than the one with this fence; None is not an executor."""
    return fence is not None and head.fence != fence


def is_sequence_conflict(head: RunHead, expected: int) -> bool:
    """Whether `expected` is not the last sequence of the run, or the run has ended."""
    return head.last_sequence != expected or head.status in TERMINAL_STATUSES


# There are several updates because SQLite rewrites the entry in every index with an assigned column, changed or not.
_UPDATE_PROGRESS = """
    UPDATE runs SET last_sequence = ?, started_at = ?, current_node = ?, executions = ?, error = ?
    WHERE run_no = ?
"""
_UPDATE_STATUS = """
    UPDATE runs SET last_sequence = ?, started_at = ?, current_node = ?, executions = ?, error = ?, status = ?
    WHERE run_no = ?
"""
_UPDATE_PARKED = "UPDATE runs SET parked = ?, wake_at = ? WHERE run_no = ?"
_UPDATE_ENDED = """
    UPDATE runs SET last_sequence = ?, started_at = ?, current_node = ?, executions = ?, error = ?, status = ?,
    completed_at = ?, outputs = ? WHERE run_no = ?
"""


def _update_run(connection: SqliteConnection, head: RunHead, batch: Batch) -> None:
    new = batch.projection
    progress = (new.last_sequence, new.started_at, new.current_node, new.executions, new.error)
    if new.parked != head.parked or new.wake_at != head.wake_at:
        connection.execute(_UPDATE_PARKED, (new.parked, new.wake_at, head.run_no))
    if new.completed_at is not None:
        connection.execute(_UPDATE_ENDED, (*progress, new.status, new.completed_at, new.outputs, head.run_no))
    elif new.status != head.status:
        connection.execute(_UPDATE_STATUS, (*progress, new.status, head.run_no))
    else:
        connection.execute(_UPDATE_PROGRESS, (*progress, head.run_no))


_RUN_ID_IN_USE = "SELECT 1 FROM runs WHERE partition = ? AND run_id = ?"


def check_run_ids_free(connection: SqliteConnection, children: NewChildren) -> None:
    """Raise HostFault, before anything is written, if a run id is in use or occurs twice."""
    seen: set[RunKey] = set()
    for child, _ in children:
        run = child.header.key
        if run in seen or connection.execute(_RUN_ID_IN_USE, (run.partition, run.run_id)).fetchall():
            raise HostFault(f"the run id {run.run_id} is in use")
        seen.add(run)


def insert_children(
    connection: SqliteConnection, heads: RunHeadCache, parent: RunHead, children: NewChildren, fence: int
) -> None:
    for child, document in children:
        header = child.header
        run_no = insert_run(connection, heads, header, document, child.hidden, PENDING, fence)
        assert header.parent is not None, "check_batch refuses children without a parent"
        child_runs.insert_child(connection, run_no, parent.run_no, header.partition, header.parent)
    if not parent.has_children:
        connection.execute(child_runs.MARK_HAS_CHILDREN, (parent.run_no,))


def _write_child_messages(connection: SqliteConnection, run: RunKey, head: RunHead, batch: Batch) -> None:
    """Write the messages of a batch to the parent and the children. When a run ends, messages to it are deleted."""
    if batch.cancel_requests:
        child_runs.put_cancel_requests(connection, run, head.run_no, batch.cancel_requests)
    if batch.cascade_cancel is not None:
        child_runs.put_cascade(connection, run, head.run_no, batch.cascade_cancel)
    if batch.child_result is not None:
        child_runs.put_result(connection, head.run_no, batch.child_result)
    if batch.projection.completed_at is not None:
        if head.is_child:
            child_runs.delete_cancel_request(connection, head.run_no)
        if head.has_children:
            connection.execute(child_runs.DELETE_RESULTS, (head.run_no,))


MAX_ROWS_PER_INSERT: Final = 8
"""Rows inserted by one statement. Each step of a statement releases the GIL and must acquire it again."""

_INSERT_HIDDEN = "INSERT INTO hidden (run_no, sequence, pointer, value) VALUES (?, ?, ?, ?)"


def insert_batch(connection: SqliteConnection, run_no: int, batch: Batch) -> None:
    """Insert the events, state rows and hidden values of a checked batch. The caller writes the projection."""
    base = run_no << SEQUENCE_BITS
    for events in _chunks(batch.events):
        values: list[Any] = []
        for event in events:
            values += (
                base + event.sequence,
                event.event_id,
                event.type,
                event.timestamp,
                event.payload,
                event.node_id,
                event.causation_id,
                event.schema_version,
                event.engine_version,
                event.interrupt_id,
                event.content_trust,
            )
        connection.execute(_insert_events(len(events)), values)
    for rows in _chunks(batch.rows):
        values = []
        for row in rows:
            values += (run_no, row.kind, row.name, row.value)
            if row.kind == "interrupt":
                set_open(connection, run_no, row)
        connection.execute(_upsert_rows(len(rows)), values)
    if batch.hidden:
        insert_hidden(connection, run_no, batch.hidden)


def insert_hidden(connection: SqliteConnection, run_no: int, hidden: tuple[HiddenValue, ...]) -> None:
    connection.executemany(_INSERT_HIDDEN, [(run_no, item.sequence, item.pointer, item.value) for item in hidden])


def _chunks(items: tuple[T, ...]) -> Iterator[tuple[T, ...]]:
    for at in range(0, len(items), MAX_ROWS_PER_INSERT):
        yield items[at : at + MAX_ROWS_PER_INSERT]


@cache
def _insert_events(count: int) -> str:
    into = """
        INSERT INTO events
        (id, event_id, type, timestamp, payload, node_id, causation_id, schema_version, engine_version, interrupt_id,
        content_trust)
        VALUES
    """
    return into + ", ".join(["(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"] * count)


@cache
def _upsert_rows(count: int) -> str:
    into = "INSERT INTO run_state (run_no, kind, name, value) VALUES "
    update = " ON CONFLICT (run_no, kind, name) DO UPDATE SET value = excluded.value"
    return into + ", ".join(["(?, ?, ?, ?)"] * count) + update
