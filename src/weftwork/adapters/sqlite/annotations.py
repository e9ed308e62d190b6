"""The annotations port on the SQLite file."""

from typing import Any

from weftwork.adapters.sqlite import idempotency
from weftwork.adapters.sqlite.assets import add_references
from weftwork.adapters.sqlite.database.connection import SqliteConnection
from weftwork.adapters.sqlite.database.port import SqlitePort, reads, writes
from weftwork.adapters.sqlite.database.reader import snapshot
from weftwork.adapters.sqlite.runs import SEQUENCE_BITS, existing_run_number
from weftwork.ports.storage.annotations import AddResult, Annotation, AnnotationPage
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.protocol.errors import HostFault
from weftwork.protocol.run.batch import IdempotencyRecord, check_record
from weftwork.protocol.run.header import RunKey

COUNT_ANNOTATIONS = "SELECT count(*) FROM annotations WHERE run_no = ?"
_INSERT = """
    INSERT INTO annotations (run_no, annotation_id, document) VALUES (?, ?, ?)
    ON CONFLICT (run_no, annotation_id) DO NOTHING
"""
FIND_ANNOTATION = (
    "SELECT annotation_no, annotation_id, document FROM annotations WHERE run_no = ? AND annotation_id = ?"
)
ANNOTATIONS_PAGE = """
    SELECT annotation_id, document FROM annotations WHERE run_no = ? AND annotation_no > ?
    ORDER BY annotation_no LIMIT ?
"""
LOCATE_EVENT = f"""
    SELECT id & {(1 << SEQUENCE_BITS) - 1} FROM events WHERE id >= ? AND id < ? AND event_id = ? LIMIT 1
"""  # noqa: S608 - nothing but constants


def _add(
    connection: SqliteConnection,
    run: RunKey,
    annotation: Annotation,
    most: int,
    record: IdempotencyRecord | None = None,
    assets: tuple[str, ...] = (),
) -> AddResult | SlotTaken:
    check_record(run, record)
    taken = idempotency.find_recorded(connection, record) if record is not None else None
    if taken is not None:
        return taken
    run_no = existing_run_number(connection, run)
    if run_no is None:
        return "absent"
    if connection.execute(COUNT_ANNOTATIONS, (run_no,)).fetchall()[0][0] >= most:
        return "full"
    connection.execute(_INSERT, (run_no, annotation.annotation_id, annotation.document))
    if not connection.changes():
        raise HostFault(f"the annotation id {annotation.annotation_id} is in use")
    if assets:
        add_references(connection, run_no, run.partition, assets)
    if record is not None:
        idempotency.put_record(connection, record)
    return "added"


def _find(connection: SqliteConnection, run: RunKey, annotation_id: str) -> Annotation | None:
    with snapshot(connection):
        run_no = existing_run_number(connection, run)
        rows = connection.execute(FIND_ANNOTATION, (run_no, annotation_id)).fetchall()
    return Annotation(*rows[0][1:]) if rows else None


def _page(
    connection: SqliteConnection, run: RunKey, after: str | None, limit: int, budget: int
) -> AnnotationPage | None:
    with snapshot(connection):
        run_no = existing_run_number(connection, run)
        if run_no is None:
            return None
        start = 0
        if after is not None:
            cursor = connection.execute(FIND_ANNOTATION, (run_no, after)).fetchall()
            if not cursor:
                return AnnotationPage((), False)
            start = cursor[0][0]
        limit = max(limit, 1)
        page: list[Annotation] = []
        more = False
        rows: Any = connection.execute(ANNOTATIONS_PAGE, (run_no, start, limit + 1))
        try:
            for row in rows:
                if len(page) == limit or (page and budget <= 0):
                    more = True
                    break
                page.append(Annotation(*row))
                budget -= len(row[1])
        finally:
            rows.close()
    return AnnotationPage(tuple(page), more)


def _locate(connection: SqliteConnection, run: RunKey, event_id: str, within: int) -> int | None:
    with snapshot(connection):
        run_no = existing_run_number(connection, run)
        if run_no is None:
            return None
        first = run_no << SEQUENCE_BITS
        within = min(max(within, 0), 1 << SEQUENCE_BITS)
        rows = connection.execute(LOCATE_EVENT, (first, first + within, event_id)).fetchall()
    return rows[0][0] if rows else None


class SqliteAnnotations(SqlitePort):
    """Implements ports.storage.annotations.AnnotationStore."""

    add = writes(_add)
    find = reads(_find)
    page = reads(_page)
    locate = reads(_locate)
