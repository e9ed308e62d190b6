"""The annotations port on PostgreSQL.

Annotations of one run are added one after the other, because their number is limited. The lock is an advisory one: a
lock on the row of the run would make its executor wait.
"""

from typing import Any

from weftwork.adapters.postgres.assets import add_references
from weftwork.adapters.postgres.database.address import StoreAddress
from weftwork.adapters.postgres.database.connection import UNIQUE_VIOLATION, PostgresConnection
from weftwork.adapters.postgres.database.pool import Refused, SessionPool
from weftwork.adapters.postgres.database.port import PostgresPort, reads, reads_once
from weftwork.adapters.postgres.idempotency import claim
from weftwork.adapters.postgres.runs import existing_run_number
from weftwork.ports.storage.annotations import AddResult, Annotation, AnnotationPage
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.protocol.errors import HostFault
from weftwork.protocol.run.batch import IdempotencyRecord, check_record
from weftwork.protocol.run.header import RunKey

# Against a deletion of the run, which locks its row FOR UPDATE. Appends do not wait for this lock.
_LOCK_RUN = "SELECT run_no FROM runs WHERE run_id = $2 AND partition || '' = $1 FOR KEY SHARE"
_LOCK_ANNOTATIONS = "SELECT pg_advisory_xact_lock($1)"
_COUNT = "SELECT count(*) FROM annotations WHERE run_no = $1"
_INSERT = "INSERT INTO annotations (run_no, annotation_id, document) VALUES ($1, $2, $3)"
_FIND = "SELECT annotation_no, annotation_id, document FROM annotations WHERE run_no = $1 AND annotation_id = $2"
_PAGE = """
    SELECT annotation_id, CASE WHEN size_before < $3 OR size_before = 0 THEN document END FROM (
      SELECT annotation_no, annotation_id, document,
        sum(octet_length(document)) OVER (ORDER BY annotation_no) - octet_length(document) AS size_before
      FROM annotations WHERE run_no = $1 AND annotation_no > $2 ORDER BY annotation_no LIMIT $4
    ) page ORDER BY annotation_no
"""
_LOCATE = """
    SELECT min(sequence) FROM events
    WHERE run_no = (SELECT run_no FROM runs WHERE run_id = $2 AND partition || '' = $1)
    AND sequence < $3 AND event_id = $4
"""


async def _find(connection: PostgresConnection, run: RunKey, annotation_id: str) -> Annotation | None:
    row = await connection.fetchrow(_FIND, await existing_run_number(connection, run), annotation_id)
    return Annotation(*row[1:]) if row is not None else None


async def _page(
    connection: PostgresConnection, run: RunKey, after: str | None, limit: int, budget: int
) -> AnnotationPage | None:
    run_no = await existing_run_number(connection, run)
    if run_no is None:
        return None
    start = 0
    if after is not None:
        cursor = await connection.fetchrow(_FIND, run_no, after)
        if cursor is None:
            return AnnotationPage((), False)
        start = cursor[0]
    limit = max(limit, 1)
    page: list[Annotation] = []
    for annotation_id, document in await connection.fetch(_PAGE, run_no, start, budget, limit + 1):
        if len(page) == limit or document is None:
            return AnnotationPage(tuple(page), True)
        page.append(Annotation(annotation_id, document))
    return AnnotationPage(tuple(page), False)


async def _locate(connection: PostgresConnection, run: RunKey, event_id: str, within: int) -> int | None:
    return await connection.fetchval(_LOCATE, run.partition, run.run_id, max(min(within, 2**31 - 1), 0), event_id)


class PostgresAnnotations(PostgresPort):
    """Implements ports.storage.annotations.AnnotationStore."""

    def __init__(self, pool: SessionPool, address: StoreAddress) -> None:
        super().__init__(pool)
        self._address = address

    find = reads(_find)
    page = reads(_page)
    locate = reads_once(_locate)

    async def add(
        self,
        run: RunKey,
        annotation: Annotation,
        most: int,
        record: IdempotencyRecord | None = None,
        assets: tuple[str, ...] = (),
    ) -> AddResult | SlotTaken:
        check_record(run, record)

        async def add(connection: PostgresConnection) -> Any:
            await claim(connection, record)
            run_no = await connection.fetchval(_LOCK_RUN, run.partition, run.run_id)
            if run_no is None:
                raise Refused("absent")
            await connection.execute(_LOCK_ANNOTATIONS, self._address.lock_key("annotations", run_no))
            if await connection.fetchval(_COUNT, run_no) >= most:
                raise Refused("full")
            try:
                await connection.execute(_INSERT, run_no, annotation.annotation_id, annotation.document)
            except UNIQUE_VIOLATION:
                raise HostFault(f"the annotation id {annotation.annotation_id} is in use") from None
            await add_references(connection, run_no, run.partition, assets)
            return "added"

        return await self._pool.transact(add)
