"""The two statements on which the speed of the store depends: creating runs, and appending to runs.

Each of them writes many runs at once. Its arguments are arrays, one per column: those of the runs, those of their
events, and so on. `n` is the position of a run in the first arrays, from 1; the rows of the others name their run by
it. A statement is one transaction, and has only the parts that its writes need. Its result is the positions of the
runs that it did not write.

Every row of `runs` is found by an index, and rows are locked in a fixed order: slots in the order of the arrays, which
the writer has sorted by slot, then runs by number. Two processes therefore never wait for each other.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from operator import attrgetter
from typing import Any, Final, NamedTuple

from msgspec.structs import astuple

from weftwork.protocol.run.batch import Batch, HiddenValue, IdempotencyRecord
from weftwork.protocol.run.header import RunHeader, RunKey
from weftwork.protocol.run.projection import Projection, StateRow

PENDING: Final = Projection("pending")


class NewRun(NamedTuple):
    """A run to create. `document` is its encoded header."""

    header: RunHeader
    document: bytes
    hidden: tuple[HiddenValue, ...] = ()
    record: IdempotencyRecord | None = None
    first: Batch | None = None
    fence: int = 0


class Append(NamedTuple):
    """A checked batch to append."""

    run: RunKey
    expected: int
    batch: Batch
    record: IdempotencyRecord | None
    fence: int | None


class Part(NamedTuple):
    """An array argument group: the columns of one `unnest`, with their types."""

    name: str
    columns: str
    types: str

    def unnest(self, first: int, ordinal: bool = False) -> str:
        types = self.types.split()
        arrays = ", ".join(f"${first + at}::{each}[]" for at, each in enumerate(types))
        numbered = " WITH ORDINALITY" if ordinal else ""
        return f"unnest({arrays}){numbered} AS {self.name} ({self.columns}{', n' if ordinal else ''})"

    @property
    def width(self) -> int:
        return len(self.types.split())


_PROJECTION = (
    "status, last_sequence, started_at, completed_at, current_node, error, executions, outputs, parked, wake_at"
)
_PROJECTION_TYPES = "text int bigint bigint text bytea bigint bytea bool bigint"
_NEW_RUNS = Part(
    "g",
    f"partition, run_id, workflow_id, scope_id, {_PROJECTION}, fence, header, is_child",
    f"text text text text {_PROJECTION_TYPES} bigint bytea bool",
)
_APPENDS = Part("g", f"partition, run_id, expected, fence, {_PROJECTION}", f"text text int bigint {_PROJECTION_TYPES}")
_RECORDS = Part(
    "r",
    "n, partition, slot, fingerprint, outcome, created_at, expired_before",
    "int text text text bytea bigint bigint",
)
_EVENTS = Part(
    "e",
    "n, sequence, event_id, type, timestamp, payload, node_id, causation_id, schema_version, engine_version, "
    "interrupt_id, content_trust",
    "int int text text bigint bytea text text int int text text",
)
_ROWS = Part("s", "n, kind, name, value", "int text text bytea")
_TAGS = Part("t", "n, tag", "int text")
_HIDDEN = Part("h", "n, sequence, pointer, value", "int int text bytea")
_ASSETS = Part("a", "n, sha256", "int text")
_OPENED = Part("i", "n, interrupt_id, kind, node_id, requested_at, due", "int text text text bigint bigint")
_CLOSED = Part("c", "n, interrupt_id", "int text")

_get_event = attrgetter(*[each for each in _EVENTS.columns.split(", ") if each != "n"])


class Needs(NamedTuple):
    """The optional parts of a statement."""

    records: bool
    events: bool
    rows: bool
    hidden: bool
    tags: bool
    assets: bool
    opened: bool
    closed: bool
    ends: bool


class _Arrays:
    """Collects the rows of the parts that follow the runs."""

    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []
        self.rows: list[tuple[Any, ...]] = []
        self.records: list[tuple[Any, ...]] = []
        self.hidden: list[tuple[Any, ...]] = []
        self.tags: list[tuple[Any, ...]] = []
        self.assets: list[tuple[Any, ...]] = []
        self.opened: list[tuple[Any, ...]] = []
        self.closed: list[tuple[Any, ...]] = []

    def add_batch(self, n: int, batch: Batch) -> None:
        for event in batch.events:
            self.events.append((n, *_get_event(event)))
        if batch.rows:
            self.add_rows(n, batch.rows)
        if batch.hidden:
            self.add_hidden(n, batch.hidden)
        if batch.assets:
            self.assets += [(n, sha256) for sha256 in dict.fromkeys(batch.assets)]

    def add_rows(self, n: int, rows: tuple[StateRow, ...]) -> None:
        # The last of several rows with the same name counts; a statement cannot change a row twice.
        for row in rows if len(rows) == 1 else {(row.kind, row.name): row for row in rows}.values():
            self.rows.append((n, row.kind, row.name, row.value))
            if row.kind == "interrupt":
                listing = row.listing
                if listing is None:
                    self.closed.append((n, row.name))
                else:
                    values = (listing.kind, listing.node_id, listing.requested_at, listing.due)
                    self.opened.append((n, row.name, *values))

    def add_hidden(self, n: int, hidden: Iterable[HiddenValue]) -> None:
        self.hidden += [(n, item.sequence, item.pointer, item.value) for item in hidden]

    def add_record(self, n: int, record: IdempotencyRecord) -> None:
        self.records.append((n, *astuple(record)))

    def needs(self, ends: bool) -> Needs:
        return Needs(
            bool(self.records),
            bool(self.events),
            bool(self.rows),
            bool(self.hidden),
            bool(self.tags),
            bool(self.assets),
            bool(self.opened),
            bool(self.closed),
            ends,
        )

    def arguments(self, runs: list[tuple[Any, ...]]) -> list[Sequence[Any]]:
        """The columns of all parts that are needed, in their order."""
        columns: list[Sequence[Any]] = [*zip(*runs, strict=True)]
        for part in (
            self.records,
            self.events,
            self.rows,
            self.hidden,
            self.tags,
            self.assets,
            self.opened,
            self.closed,
        ):
            if part:
                columns += zip(*part, strict=True)
        return columns


def create_statement(runs: Sequence[NewRun]) -> tuple[str, list[Sequence[Any]]]:
    """The statement that creates these runs. Its rows are the numbers of those whose slot is taken.

    A run id in use is an error (a violation of a unique index), and nothing is written.
    """
    arrays = _Arrays()
    rows: list[tuple[Any, ...]] = []
    for n, (header, document, hidden, record, first, fence) in enumerate(runs, 1):
        projection = PENDING if first is None else first.projection
        rows.append(
            (
                header.partition,
                header.run_id,
                header.workflow_id,
                header.scope_id,
                *astuple(projection),
                fence,
                document,
                header.parent is not None,
            )
        )
        if first is not None:
            arrays.add_batch(n, first)
        if record is not None:
            arrays.add_record(n, record)
        if hidden:
            arrays.add_hidden(n, hidden)
        if header.tags:
            arrays.tags += [(n, tag) for tag in dict.fromkeys(header.tags)]
        if header.assets:
            arrays.assets += [(n, sha256) for sha256 in header.assets]
    return _create_query(arrays.needs(False)), arrays.arguments(rows)


def append_statement(appends: Sequence[Append]) -> tuple[str, list[Sequence[Any]]]:
    """The statement that appends these batches, without their messages to other runs. Its rows are the numbers of
    those that were not written: the slot is taken, the run has another fence or last sequence, or has ended.

    It fails, with DIVISION_BY_ZERO, if another process changes one of the runs after its slot was filled.
    """
    arrays = _Arrays()
    rows: list[tuple[Any, ...]] = []
    ends = False
    for n, (run, expected, batch, record, fence) in enumerate(appends, 1):
        projection = batch.projection
        rows.append((run.partition, run.run_id, expected, fence, *astuple(projection)))
        arrays.add_batch(n, batch)
        if record is not None:
            arrays.add_record(n, record)
        if projection.completed_at is not None:
            ends = True
    return _append_query(arrays.needs(ends)), arrays.arguments(rows)


_CLAIM = """
    INSERT INTO idempotency AS old (partition, slot, fingerprint, outcome, created_at)
    SELECT partition, slot, fingerprint, outcome, created_at FROM given_records r WHERE {where}
    ON CONFLICT (partition, slot) DO UPDATE
    SET fingerprint = excluded.fingerprint, outcome = excluded.outcome, created_at = excluded.created_at
    WHERE old.created_at < (
      SELECT r.expired_before FROM given_records r WHERE r.slot = excluded.slot AND r.partition = excluded.partition
    )
    RETURNING partition, slot
"""
_INSERT_RUN = f"""
    INSERT INTO runs (run_no, partition, run_id, workflow_id, scope_id, {_PROJECTION}, fence, is_child)
    SELECT run_no, partition, run_id, workflow_id, scope_id, {_PROJECTION}, fence, is_child FROM written
"""
_RUN_OF: Final = "(SELECT numbers FROM numbered)[{name}.n]"
"""The number of the run to which a row belongs; 0 if the run is not written. One look into an array per row."""


@cache
def _create_query(needs: Needs) -> str:
    parts: list[str] = [f"given AS MATERIALIZED (SELECT * FROM {_NEW_RUNS.unnest(1, True)})"]
    at = 1 + _NEW_RUNS.width
    number = "nextval('run_numbers')"
    if needs.records:
        parts.append(f"given_records AS MATERIALIZED (SELECT * FROM {_RECORDS.unnest(at)})")
        parts.append(f"claimed AS ({_CLAIM.format(where='true')})")
        parts.append(
            "refused AS MATERIALIZED (SELECT n FROM given_records r WHERE NOT EXISTS "
            "(SELECT FROM claimed c WHERE c.slot = r.slot AND c.partition = r.partition))"
        )
        number = f"CASE WHEN n = ANY (ARRAY(SELECT n FROM refused)) THEN 0 ELSE {number} END"
        at += _RECORDS.width
    parts.append(f"numbering AS MATERIALIZED (SELECT *, {number} AS run_no FROM given)")
    parts.append("written AS (SELECT * FROM numbering WHERE run_no > 0)")
    parts.append("numbered AS MATERIALIZED (SELECT array_agg(run_no ORDER BY n) AS numbers FROM numbering)")
    parts.append(f"new_runs AS ({_INSERT_RUN})")
    parts.append("new_headers AS (INSERT INTO run_headers SELECT run_no, header FROM written)")
    parts += _batch_parts(needs, at, new=True)
    return f"WITH {', '.join(parts)} SELECT n FROM numbering WHERE run_no = 0"


_FREE: Final = (
    "r.last_sequence = {g}.expected AND coalesce(r.completed_at, -1) = -1 "
    "AND ({g}.fence IS NULL OR r.fence = {g}.fence)"
)
_LOCATE = f"""
    SELECT g.*, found.run_no, found.place FROM given g LEFT JOIN LATERAL (
      SELECT r.run_no, r.ctid AS place FROM runs r
      WHERE r.run_id = g.run_id AND r.partition || '' = g.partition AND {_FREE.format(g="g")} LIMIT 1
    ) found ON true
"""
# The row is found again by its place, without an index. The conditions are checked once more on a row that another
# process has just changed: not all minor releases of PostgreSQL compare the place of such a row again.
_UPDATE_RUN = f"""
    UPDATE runs r SET ({_PROJECTION}) = ROW({", ".join(f"w.{each}" for each in _PROJECTION.split(", "))}),
      retry_at = CASE WHEN w.completed_at IS NULL THEN r.retry_at END
    FROM (SELECT * FROM ready ORDER BY run_no) w
    WHERE r.ctid = w.place AND {_FREE.format(g="w")}
    RETURNING w.n, r.run_no, r.partition, r.run_id, r.workflow_id, r.is_child, r.has_children,
      r.completed_at IS NOT NULL AS ended
"""


@cache
def _append_query(needs: Needs) -> str:
    parts: list[str] = [
        f"given AS MATERIALIZED (SELECT * FROM {_APPENDS.unnest(1, True)})",
        f"located AS MATERIALIZED ({_LOCATE})",
    ]
    at = 1 + _APPENDS.width
    ready = "SELECT * FROM located WHERE run_no IS NOT NULL"
    result = "n"
    if needs.records:
        # Only slots of runs that can be written: nothing may remain of a write that is refused.
        where = "r.n = ANY (ARRAY(SELECT n FROM located WHERE run_no IS NOT NULL))"
        parts.append(f"given_records AS MATERIALIZED (SELECT * FROM {_RECORDS.unnest(at)})")
        parts.append(f"claimed AS ({_CLAIM.format(where=where)})")
        parts.append(
            "filled AS MATERIALIZED (SELECT n, EXISTS "
            "(SELECT FROM claimed c WHERE c.slot = r.slot AND c.partition = r.partition) AS mine FROM given_records r)"
        )
        ready += " AND n <> ALL (ARRAY(SELECT n FROM filled WHERE NOT mine))"
        result = "n, 1 / (n = ANY (ARRAY(SELECT n FROM filled WHERE mine)) IS FALSE)::integer"
        at += _RECORDS.width
    parts.append(f"ready AS MATERIALIZED ({ready})")
    parts.append(f"written AS ({_UPDATE_RUN})")
    parts.append(
        "numbered AS MATERIALIZED (SELECT array_agg(coalesce(w.run_no, 0) ORDER BY g.n) AS numbers "
        "FROM given g LEFT JOIN written w USING (n))"
    )
    parts += _batch_parts(needs, at, new=False)
    if needs.ends:
        parts.append(
            "answered AS (DELETE FROM cancel_requests WHERE run_no = ANY "
            "(ARRAY(SELECT run_no FROM written WHERE ended AND is_child)))"
        )
        parts.append(
            "heard AS (DELETE FROM child_results WHERE parent_no = ANY "
            "(ARRAY(SELECT run_no FROM written WHERE ended AND has_children)))"
        )
    return f"WITH {', '.join(parts)} SELECT {result} FROM given WHERE (SELECT numbers FROM numbered)[n] = 0"


def _batch_parts(needs: Needs, at: int, new: bool) -> list[str]:
    """The parts that insert what belongs to the runs, from the argument number `at` on."""
    parts: list[str] = []

    def insert(part: Part, name: str, into: str, select: str, then: str = "") -> None:
        nonlocal at
        run_no = _RUN_OF.format(name=part.name)
        source = f"SELECT {run_no} AS run_no, {part.name}.* FROM {part.unnest(at)}"
        parts.append(f"{name} AS (INSERT INTO {into} {select} FROM ({source}) x WHERE x.run_no > 0 {then})")
        at += part.width

    if needs.events:
        columns = _EVENTS.columns.removeprefix("n, ")
        insert(_EVENTS, "new_events", f"events (run_no, {columns})", f"SELECT run_no, {columns}")
    if needs.rows:
        update = "ON CONFLICT (run_no, kind, name) DO UPDATE SET value = excluded.value"
        columns = "run_no, kind, name, value"
        insert(_ROWS, "new_rows", f"run_state ({columns})", f"SELECT {columns}", "" if new else update)
    if needs.hidden:
        columns = "run_no, sequence, pointer, value"
        insert(_HIDDEN, "new_hidden", f"hidden ({columns})", f"SELECT {columns}")
    if needs.tags:
        join = "run_tags (partition, tag, run_no) SELECT w.partition, t.tag, w.run_no"
        parts.append(f"new_tags AS (INSERT INTO {join} FROM {_TAGS.unnest(at)} JOIN written w USING (n))")
        at += _TAGS.width
    if needs.assets:
        parts.append(
            "new_references AS (INSERT INTO asset_refs SELECT DISTINCT w.run_no, f.asset_no "
            f"FROM {_ASSETS.unnest(at)} JOIN written w USING (n) "
            "JOIN assets f ON f.sha256 = a.sha256 AND f.partition || '' = w.partition "
            "ORDER BY f.asset_no ON CONFLICT DO NOTHING)"
        )
        at += _ASSETS.width
    if needs.opened:
        values = "kind, node_id, requested_at, due"
        update = ", ".join(f"{each} = excluded.{each}" for each in values.split(", "))
        parts.append(
            f"new_interrupts AS (INSERT INTO open_interrupts (run_no, interrupt_id, partition, run_id, workflow_id, "
            f"{values}) SELECT w.run_no, i.interrupt_id, w.partition, w.run_id, w.workflow_id, i.kind, i.node_id, "
            f"i.requested_at, i.due FROM {_OPENED.unnest(at)} JOIN written w USING (n) "
            f"ON CONFLICT (run_no, interrupt_id) DO UPDATE SET {update})"
        )
        at += _OPENED.width
    if needs.closed:
        parts.append(
            f"old_interrupts AS (DELETE FROM open_interrupts o USING {_CLOSED.unnest(at)} JOIN written w USING (n) "
            "WHERE o.run_no = w.run_no AND o.interrupt_id = c.interrupt_id)"
        )
        at += _CLOSED.width
    return parts
