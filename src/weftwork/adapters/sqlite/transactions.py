"""The two transactions that change a run: creating it, and appending a batch to it.

Everything that belongs to a batch is written in one transaction: its events, the state rows and the projection that
are cached of them, hidden values, references to assets, child runs, messages between parent and child runs, and the
idempotency record. The writer may run several of these in one commit; a crash leaves each of them whole or not at all.

Before it appends, the writer must know the number of the run and how it stands. RunHeadCache holds that for live runs,
so that an append to a run that was written recently reads nothing.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any, Final, NamedTuple, TypeVar

from msgspec.structs import astuple

from weftwork.adapters.sqlite import child_runs, idempotency
from weftwork.adapters.sqlite.assets import add_references
from weftwork.adapters.sqlite.database.connection import SqliteConnection
from weftwork.adapters.sqlite.interrupts import set_open
from weftwork.adapters.sqlite.runs import SEQUENCE_BITS
from weftwork.ports.storage.event_log import RunCreated, ScopeTaken, SequenceConflict
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.protocol.errors import HostFault
from weftwork.protocol.run.batch import Batch, ChildCreate, HiddenValue, IdempotencyRecord
from weftwork.protocol.run.header import TERMINAL_STATUSES, RunHeader, RunKey
from weftwork.protocol.run.projection import Projection

T = TypeVar("T")


class RunHead(NamedTuple):
    """Where a run stands."""

    run_no: int
    last_sequence: int
    status: str
    parked: bool
    wake_at: int | None
    is_child: bool
    has_children: bool


def run_head(run_no: int, projection: Projection, is_child: bool, has_children: bool) -> RunHead:
    """The head of a run that stands like this."""
    now = projection
    return RunHead(run_no, now.last_sequence, now.status, now.parked, now.wake_at, is_child, has_children)


MAX_CACHED_HEADS: Final = 4096

_FIND_HEAD = """
    SELECT run_no, last_sequence, status, parked, wake_at, is_child, has_children FROM runs
    WHERE partition = ? AND run_id = ?
"""


class RunHeadCache:
    """Heads of live runs, kept between appends. The writer is the only one who changes runs, and it forgets
    all of them when a transaction is rolled back, so a head that is kept is the one in the store."""

    def __init__(self) -> None:
        self._heads: dict[RunKey, RunHead] = {}

    def find(self, connection: SqliteConnection, run: RunKey) -> RunHead | None:
        kept = self._heads.get(run)
        if kept is not None:
            return kept
        found = connection.execute(_FIND_HEAD, (run.partition, run.run_id)).fetchall()
        if not found:
            return None
        run_no, last_sequence, status, parked, wake_at, is_child, has_children = found[0]
        return RunHead(run_no, last_sequence, status, bool(parked), wake_at, bool(is_child), bool(has_children))

    def put(self, run: RunKey, head: RunHead) -> None:
        """Remember a head that was just written; an ended run takes no more appends and is dropped,
        and so is a parked one, which takes none for long."""
        kept = self._heads
        if head.parked or head.status in TERMINAL_STATUSES:
            kept.pop(run, None)
            return
        if len(kept) >= MAX_CACHED_HEADS and run not in kept:
            del kept[next(iter(kept))]
        kept[run] = head

    def clear(self) -> None:
        """Drop everything: what was written since the last commit did not happen."""
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
) -> RunCreated | SlotTaken | ScopeTaken:
    """EventLog.create of a checked first batch; `document` is the encoded header."""
    known = idempotency.find_recorded(connection, record) if record is not None else None
    if known is not None:
        return known
    partition = header.partition
    if exclusive:
        live = connection.execute(_LIVE_IN_SCOPE, (partition, header.scope_id)).fetchall()
        if live:
            return ScopeTaken(live[0][0])
    now = first.projection if first is not None else PENDING
    run_no = insert_run(connection, heads, header, document, hidden, now)
    if header.parent is not None:
        # A run that was created by itself is the child that it says it is; its parent may be gone.
        key = RunKey(partition, header.parent.run_id)
        head = heads.find(connection, key)
        child_runs.insert_child(connection, run_no, 0 if head is None else head.run_no, partition, header.parent)
        if head is not None and not head.has_children:
            connection.execute(child_runs.MARK_HAS_CHILDREN, (head.run_no,))
            heads.put(key, head._replace(has_children=True))
    if first is not None:
        insert_batch(connection, run_no, first)
        if first.assets:
            add_references(connection, run_no, partition, first.assets)
    if record is not None:
        idempotency.put_record(connection, record)
    return _CREATED_RESULT


# The number of a deleted run is not given out again while anything of that run may be there, or while it marks
# a place in listings; the newest run may be deleted, too.
_INSERT_RUN = """
    INSERT INTO runs (run_no, partition, run_id, workflow_id, scope_id, is_child, status, last_sequence, started_at,
    completed_at, current_node, error, executions, outputs, parked, wake_at)
    VALUES (max((SELECT ifnull(max(run_no), 0) FROM runs), (SELECT ifnull(max(run_no), 0) FROM deleted_runs)) + 1,
    ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (partition, run_id) DO NOTHING
"""
_INSERT_HEADER = "INSERT INTO run_headers (run_no, header) VALUES (?, ?)"
_INSERT_TAG = "INSERT INTO run_tags (partition, tag, run_no) VALUES (?, ?, ?)"


def insert_run(
    connection: SqliteConnection,
    heads: RunHeadCache,
    header: RunHeader,
    document: bytes,
    hidden: tuple[HiddenValue, ...],
    now: Projection,
) -> int:
    """A run that stands like this, with what belongs to its header; its number. Raises HostFault for an id in use."""
    partition, is_child = header.partition, header.parent is not None
    # The last ten columns are the fields of a projection, in their order.
    of_header = (partition, header.run_id, header.workflow_id, header.scope_id, is_child)
    connection.execute(_INSERT_RUN, (*of_header, *astuple(now)))
    if not connection.changes():
        raise HostFault(f"the run id {header.run_id} is in use")
    run_no = connection.last_insert_rowid()
    connection.execute(_INSERT_HEADER, (run_no, document))
    if header.tags:
        connection.executemany(_INSERT_TAG, [(partition, tag, run_no) for tag in set(header.tags)])
    if hidden:
        insert_hidden(connection, run_no, hidden)
    if header.assets:
        add_references(connection, run_no, partition, header.assets)
    heads.put(header.key, run_head(run_no, now, is_child, False))
    return run_no


NewChildren = tuple[tuple[ChildCreate, bytes], ...]
"""Children to make, each with its encoded header."""


def append_batch(
    connection: SqliteConnection, heads: RunHeadCache, run: RunKey, expected: int, batch: Batch, brood: NewChildren
) -> SlotTaken | None:
    """EventLog.append for a checked batch. The slot is looked at first: a retry expects what is long past."""
    record = batch.record
    known = idempotency.find_recorded(connection, record) if record is not None else None
    if known is not None:
        return known
    head = heads.find(connection, run)
    if head is None or is_sequence_conflict(head, expected):
        raise SequenceConflict(f"the run does not stand at {expected}")
    if brood:
        check_run_ids_free(connection, brood)
    insert_batch(connection, head.run_no, batch)
    _update_run(connection, head, batch)
    if batch.assets:
        add_references(connection, head.run_no, run.partition, batch.assets)
    if brood:
        insert_children(connection, heads, head, brood)
        head = head._replace(has_children=True)
    if head.is_child or head.has_children:
        _write_child_messages(connection, run, head, batch)
    if record is not None:
        idempotency.put_record(connection, record)
    heads.put(run, run_head(head.run_no, batch.projection, head.is_child, head.has_children))
    return None


def is_sequence_conflict(head: RunHead, expected: int) -> bool:
    """Whether an append that expects this last sequence comes too late, or after the end."""
    return head.last_sequence != expected or head.status in TERMINAL_STATUSES


# SQLite rewrites the entry in every index that holds an assigned column, changed or not; so there are several.
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
    now = batch.projection
    progress = (now.last_sequence, now.started_at, now.current_node, now.executions, now.error)
    if now.parked != head.parked or now.wake_at != head.wake_at:
        connection.execute(_UPDATE_PARKED, (now.parked, now.wake_at, head.run_no))
    if now.completed_at is not None:
        connection.execute(_UPDATE_ENDED, (*progress, now.status, now.completed_at, now.outputs, head.run_no))
    elif now.status != head.status:
        connection.execute(_UPDATE_STATUS, (*progress, now.status, head.run_no))
    else:
        connection.execute(_UPDATE_PROGRESS, (*progress, head.run_no))


_RUN_ID_IN_USE = "SELECT 1 FROM runs WHERE partition = ? AND run_id = ?"


def check_run_ids_free(connection: SqliteConnection, brood: NewChildren) -> None:
    """Raises HostFault, before anything is written, if a run id is in use."""
    asked: set[RunKey] = set()
    for spawn, _ in brood:
        run = spawn.header.key
        if run in asked or connection.execute(_RUN_ID_IN_USE, (run.partition, run.run_id)).fetchall():
            raise HostFault(f"the run id {run.run_id} is in use")
        asked.add(run)


def insert_children(connection: SqliteConnection, heads: RunHeadCache, parent: RunHead, brood: NewChildren) -> None:
    for spawn, document in brood:
        header = spawn.header
        run_no = insert_run(connection, heads, header, document, spawn.hidden, PENDING)
        assert header.parent is not None, "the batch was checked"
        child_runs.insert_child(connection, run_no, parent.run_no, header.partition, header.parent)
    if not parent.has_children:
        connection.execute(child_runs.MARK_HAS_CHILDREN, (parent.run_no,))


def _write_child_messages(connection: SqliteConnection, run: RunKey, head: RunHead, batch: Batch) -> None:
    """Write what a batch says to the parent and to the children; a run that has ended gets no messages."""
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
"""Rows that one statement inserts. Every step of a statement gives up the interpreter and has to get it back."""

_INSERT_HIDDEN = "INSERT INTO hidden (run_no, sequence, pointer, value) VALUES (?, ?, ?, ?)"


def insert_batch(connection: SqliteConnection, run_no: int, batch: Batch) -> None:
    """Events, rows and hidden values of a checked batch; the projection is the caller's."""
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
