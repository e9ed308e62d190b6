"""The forks port on one SQLite file.

The copy is made by the writer, in the transaction that creates the fork. SQLite collects all rows that an
INSERT ... SELECT of a table into itself selects, in memory, before it inserts the first. Events are therefore copied in
pieces of bounded size, and hidden values one by one.
"""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from weftwork.adapters.sqlite import idempotency
from weftwork.adapters.sqlite.assets import add_references, copy_references
from weftwork.adapters.sqlite.database.connection import SqliteConnection
from weftwork.adapters.sqlite.database.port import SqlitePort, reads
from weftwork.adapters.sqlite.database.reader import SqliteReaders, snapshot
from weftwork.adapters.sqlite.database.writer import SqliteWriter
from weftwork.adapters.sqlite.runs import SEQUENCE_BITS, find_by_number, run_number
from weftwork.adapters.sqlite.transactions import RunHeadCache, find_live_in_scope, insert_batch, insert_run
from weftwork.ports.fault_points import fault_point
from weftwork.ports.storage.event_log import RunCreated, ScopeTaken
from weftwork.ports.storage.forks import SourceMissing
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.protocol.run.batch import Batch, IdempotencyRecord, check_first_fork_batch
from weftwork.protocol.run.events import DOCUMENT_OVERHEAD, OUTPUT_CHUNK
from weftwork.protocol.run.header import Fork, RunHeader, RunKey
from weftwork.protocol.run.projection import StoredRun

PIECE_BYTES: Final = 4_194_304
"""A piece of the copied events ends with the event that reaches this size."""

_EVENT_SIZES = "SELECT id, length(payload) FROM events WHERE id >= ? AND id < ? ORDER BY id"
# The same rule as `protocol.run.events.copy_event`. A replacement of the text `"runId":"..."` would also change the
# tool calls in a chunk: no string has this text, because quotes in it are escaped, but a nested member has it, and the
# end of a name that contains a quote. `json_replace` leaves the other members as they were encoded.
COPY_EVENTS = f"""
    INSERT INTO events
    (id, event_id, type, timestamp, payload, node_id, causation_id, schema_version, engine_version, interrupt_id,
    content_trust)
    SELECT id + ?1, event_id, type, timestamp,
      CASE type
        WHEN '{OUTPUT_CHUNK}' THEN CAST(json_replace(CAST(payload AS TEXT), '$.runId', ?2) AS BLOB)
        ELSE payload
      END,
      node_id, causation_id, schema_version, engine_version, interrupt_id, content_trust
    FROM events WHERE id >= ?3 AND id < ?4 ORDER BY id
"""  # noqa: S608 - nothing but constants
_FIND_HIDDEN = "SELECT hidden_no FROM hidden WHERE run_no = ? AND sequence < ? ORDER BY sequence, hidden_no"
_COPY_HIDDEN = """
    INSERT INTO hidden (run_no, sequence, pointer, value)
    SELECT ?, sequence, pointer, value FROM hidden WHERE hidden_no = ?
"""
# The rows of a deleted fork may still exist.
FORKS_PAGE = """
    SELECT f.run_no FROM forks f CROSS JOIN runs r ON r.run_no = f.run_no
    WHERE f.partition = ? AND f.source = ? AND f.run_no > ? ORDER BY f.run_no LIMIT ?
"""

_CREATED_RESULT = RunCreated()
_encode_header = msgspec.json.Encoder().encode


def create_fork(
    connection: SqliteConnection,
    heads: RunHeadCache,
    header: RunHeader,
    document: bytes,
    fork: Fork,
    first: Batch,
    record: IdempotencyRecord | None,
    exclusive: bool = False,
    fence: int = 0,
) -> RunCreated | SlotTaken | ScopeTaken:
    """Forks.create of a checked batch. `document` is the encoded header."""
    taken = idempotency.find_recorded(connection, record) if record is not None else None
    if taken is not None:
        return taken
    if exclusive and (scope_taken := find_live_in_scope(connection, header)) is not None:
        return scope_taken
    source = heads.find(connection, RunKey(header.partition, fork.run_id))
    if source is None or source.last_sequence < fork.from_seq - 1:
        raise SourceMissing("the source of the fork does not exist, or has not as many events")
    run_no = insert_run(connection, heads, header, document, (), first.projection, fence)
    _copy_source(connection, source.run_no, run_no, header.run_id, fork.from_seq)
    fault_point("fork.copied")
    insert_batch(connection, run_no, first)
    if first.assets:
        add_references(connection, run_no, header.partition, first.assets)
    if record is not None:
        idempotency.put_record(connection, record)
    return _CREATED_RESULT


def _copy_source(connection: SqliteConnection, source_no: int, run_no: int, run_id: str, from_seq: int) -> None:
    distance = (run_no - source_no) << SEQUENCE_BITS
    for start, end in list(_pieces(connection, source_no << SEQUENCE_BITS, from_seq)):
        connection.execute(COPY_EVENTS, (distance, run_id, start, end))
    # Hidden values of the inputs have the sequence -1.
    hidden = connection.execute(_FIND_HIDDEN, (source_no, from_seq)).fetchall()
    connection.executemany(_COPY_HIDDEN, [(run_no, hidden_no) for (hidden_no,) in hidden])
    copy_references(connection, source_no, run_no)


def _pieces(connection: SqliteConnection, base: int, count: int) -> Iterator[tuple[int, int]]:
    """The ranges of ids, without their ends, that contain the first `count` events of a run."""
    start, end, size = base, base + count, 0
    # SQLite knows the length of a value without reading the pages that it overflows to.
    rows: Any = connection.execute(_EVENT_SIZES, (base, end))
    for event_id, payload_size in rows:
        size += payload_size + DOCUMENT_OVERHEAD
        if size >= PIECE_BYTES:
            yield start, event_id + 1
            start, size = event_id + 1, 0
    if start < end:
        yield start, end


def list_forks(connection: SqliteConnection, run: RunKey, after: RunKey | None, limit: int) -> list[StoredRun]:
    """Forks.forks_of. The page after an unknown run is empty."""
    with snapshot(connection):
        number = -1 if after is None else run_number(connection, after)
        if number is None or (after is not None and after.partition != run.partition):
            return []
        rows = connection.execute(FORKS_PAGE, (run.partition, run.run_id, number, max(limit, 0))).fetchall()
        return list(find_by_number(connection, run.partition, [row[0] for row in rows]))


class SqliteForks(SqlitePort):
    """Implements ports.storage.forks.Forks."""

    def __init__(self, writer: SqliteWriter, readers: SqliteReaders, heads: RunHeadCache) -> None:
        super().__init__(writer, readers)
        self._heads = heads

    async def create(
        self,
        header: RunHeader,
        first: Batch,
        record: IdempotencyRecord | None = None,
        exclusive: bool = False,
        fence: int = 0,
    ) -> RunCreated | SlotTaken | ScopeTaken:
        fork = check_first_fork_batch(header, record, first)
        document = _encode_header(header)
        return await self._write(create_fork, self._heads, header, document, fork, first, record, exclusive, fence)

    forks_of = reads(list_forks)
