"""The run ownership port on PostgreSQL."""

from weftwork.adapters.postgres.database.connection import PostgresConnection
from weftwork.adapters.postgres.database.port import PostgresPort, reads, reads_once, writes
from weftwork.adapters.postgres.runs import NOT_ENDED, run_number
from weftwork.ports.storage.ownership import UntakenRun
from weftwork.protocol.run.header import RunKey

MAX_RUN_NO = 1 << 62

# One statement, which locks the run only. An election that happens meanwhile has a higher epoch, and its executor takes
# the run from this one.
_TAKE = f"""
    UPDATE runs SET fence = $3, retry_at = NULL
    WHERE run_id = $2 AND partition || '' = $1 AND fence <= $3 AND {NOT_ENDED}
    AND NOT EXISTS (SELECT FROM elections WHERE epoch > $3) RETURNING true
"""
_FENCE = "SELECT fence FROM runs WHERE run_id = $2 AND partition || '' = $1"
_UNTAKEN = """
    SELECT partition, run_id, is_child FROM runs
    WHERE completed_at IS NULL AND NOT parked AND fence < $1 AND run_no > $2 AND run_no <= $3
    AND ($4::text IS NULL OR partition = $4) ORDER BY run_no LIMIT $5
"""
_COUNT_UNTAKEN = """
    SELECT count(*) FROM runs WHERE completed_at IS NULL AND NOT parked AND fence < $1 AND run_no <= $2
"""
_NEWEST = "SELECT partition, run_id FROM runs ORDER BY run_no DESC LIMIT 1"
_RETRY_LATER = f"""
    UPDATE runs SET retry_at = $4
    WHERE run_id = $2 AND partition || '' = $1 AND fence = $3 AND {NOT_ENDED} RETURNING true
"""
_DUE_RETRIES = """
    SELECT partition, run_id FROM runs WHERE fence = $1 AND retry_at IS NOT NULL AND retry_at <= $2
    ORDER BY retry_at, run_no LIMIT $3
"""


async def _take(connection: PostgresConnection, run: RunKey, fence: int) -> bool:
    return bool(await connection.fetchval(_TAKE, run.partition, run.run_id, fence))


async def _fence_of(connection: PostgresConnection, run: RunKey) -> int | None:
    return await connection.fetchval(_FENCE, run.partition, run.run_id)


async def _untaken(
    connection: PostgresConnection,
    fence: int,
    after: RunKey | None,
    limit: int,
    until: RunKey | None = None,
    partition: str | None = None,
) -> list[UntakenRun]:
    first = -1 if after is None else await run_number(connection, after)
    last = MAX_RUN_NO if until is None else await run_number(connection, until)
    if first is None or last is None:
        return []
    rows = await connection.fetch(_UNTAKEN, fence, first, last, partition, max(limit, 0))
    return [UntakenRun(RunKey(partition, run_id), is_child) for partition, run_id, is_child in rows]


async def _count_untaken(connection: PostgresConnection, fence: int, until: RunKey) -> int:
    last = await run_number(connection, until)
    return await connection.fetchval(_COUNT_UNTAKEN, fence, -1 if last is None else last)


async def _newest_run(connection: PostgresConnection) -> RunKey | None:
    row = await connection.fetchrow(_NEWEST)
    return RunKey(*row) if row is not None else None


async def _retry_later(connection: PostgresConnection, run: RunKey, fence: int, at: int) -> bool:
    return bool(await connection.fetchval(_RETRY_LATER, run.partition, run.run_id, fence, at))


async def _due_retries(connection: PostgresConnection, fence: int, until: int, limit: int) -> list[RunKey]:
    return [RunKey(*row) for row in await connection.fetch(_DUE_RETRIES, fence, until, max(limit, 0))]


class PostgresRunOwnership(PostgresPort):
    """Implements ports.storage.ownership.RunOwnership."""

    take = writes(_take)
    fence_of = reads_once(_fence_of)
    untaken = reads(_untaken)
    count_untaken = reads(_count_untaken)
    newest_run = reads_once(_newest_run)
    retry_later = writes(_retry_later)
    due_retries = reads_once(_due_retries)
