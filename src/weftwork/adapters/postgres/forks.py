"""The forks port on PostgreSQL.

One statement of the server copies the prefix. The source is locked against deletion meanwhile; appends to it do not
wait, because its log only grows.
"""

from typing import Final

import msgspec

from weftwork.adapters.postgres.array_statements import NewRun
from weftwork.adapters.postgres.database.address import StoreAddress
from weftwork.adapters.postgres.database.connection import PostgresConnection
from weftwork.adapters.postgres.database.pool import SessionPool
from weftwork.adapters.postgres.database.port import PostgresPort, reads
from weftwork.adapters.postgres.idempotency import claim
from weftwork.adapters.postgres.runs import find_by_number, run_number
from weftwork.adapters.postgres.transactions import CREATED, claim_scope, insert_run
from weftwork.ports.fault_points import fault_point
from weftwork.ports.storage.event_log import RunCreated, ScopeTaken
from weftwork.ports.storage.forks import SourceMissing
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.protocol.run.batch import Batch, IdempotencyRecord, check_first_fork_batch
from weftwork.protocol.run.events import OUTPUT_CHUNK
from weftwork.protocol.run.header import RunHeader, RunKey
from weftwork.protocol.run.projection import StoredRun

_LOCK_SOURCE = """
    SELECT run_no, last_sequence FROM runs WHERE run_id = $2 AND partition || '' = $1 FOR KEY SHARE
"""
# The same rule as `protocol.run.events.copy_event`. The type json keeps the text of a value as it was encoded, unlike
# jsonb; a replacement of the text `"runId":"..."` would also change the tool calls in a chunk. But json_each refuses
# the escape \u0000, so it is hidden: a character of private use marks it, escaped backslashes, and that character.
_MARK: Final = "chr(63743)"
_HIDE: Final = rf"""
    replace(replace(replace(convert_from(payload, 'UTF8'), {_MARK}, {_MARK} || '0'), '\\', {_MARK} || '1'), '\u0000',
      {_MARK} || '2')
"""
_SHOW: Final = rf"""
    replace(replace(replace({{text}}, {_MARK} || '2', '\u0000'), {_MARK} || '1', '\\'), {_MARK} || '0', {_MARK})
"""
_MEMBERS: Final = """
    '{' || coalesce(string_agg(
      to_json(m.key)::text || ':' || CASE m.key WHEN 'runId' THEN to_json($3::text)::text ELSE m.value::text END,
      ',' ORDER BY m.position), '') || '}'
"""
_COPY_EVENTS: Final = f"""
    INSERT INTO events (run_no, sequence, event_id, type, timestamp, payload, node_id, causation_id, schema_version,
      engine_version, interrupt_id, content_trust)
    SELECT $2, sequence, event_id, type, timestamp,
      CASE WHEN type = '{OUTPUT_CHUNK}' THEN (
        SELECT convert_to({_SHOW.format(text=_MEMBERS)}, 'UTF8')
        FROM json_each({_HIDE}::json) WITH ORDINALITY AS m (key, value, position)
      ) ELSE payload END,
      node_id, causation_id, schema_version, engine_version, interrupt_id, content_trust
    FROM events WHERE run_no = $1 AND sequence < $4 ORDER BY sequence
"""
# Hidden values of the inputs have the sequence -1.
_COPY_HIDDEN = """
    INSERT INTO hidden (run_no, sequence, pointer, value)
    SELECT $2, sequence, pointer, value FROM hidden WHERE run_no = $1 AND sequence < $3 ORDER BY sequence, hidden_no
"""
_COPY_REFERENCES = """
    INSERT INTO asset_refs (run_no, asset_no) SELECT $2, asset_no FROM asset_refs WHERE run_no = $1 ORDER BY asset_no
    ON CONFLICT DO NOTHING
"""
# The rows of a deleted fork may still exist.
_FORKS_PAGE = """
    SELECT f.run_no FROM forks f JOIN runs r USING (run_no)
    WHERE f.partition = $1 AND f.source = $2 AND f.run_no > $3 ORDER BY f.run_no LIMIT $4
"""

_encode_header = msgspec.json.Encoder().encode


async def _create(connection: PostgresConnection, address: StoreAddress, run: NewRun, exclusive: bool) -> RunCreated:
    """Forks.create of a checked batch. Raises Refused with SlotTaken or ScopeTaken, SourceMissing, or HostFault."""
    await claim(connection, run.record)
    header, fork = run.header, run.header.fork
    assert fork is not None, "check_first_fork_batch refuses a header without a fork"
    if exclusive:
        await claim_scope(connection, address, header)
    source = await connection.fetchrow(_LOCK_SOURCE, header.partition, fork.run_id)
    if source is None or source[1] < fork.from_seq - 1:
        raise SourceMissing("the source of the fork does not exist, or has not as many events")
    run_no = await insert_run(connection, run._replace(record=None))
    await connection.execute(_COPY_EVENTS, source[0], run_no, header.run_id, fork.from_seq)
    await connection.execute(_COPY_HIDDEN, source[0], run_no, fork.from_seq)
    await connection.execute(_COPY_REFERENCES, source[0], run_no)
    fault_point("fork.copied")
    return CREATED


async def _forks_of(connection: PostgresConnection, run: RunKey, after: RunKey | None, limit: int) -> list[StoredRun]:
    """Forks.forks_of. The page after an unknown run is empty."""
    number = -1 if after is None else await run_number(connection, after)
    if number is None or (after is not None and after.partition != run.partition):
        return []
    rows = await connection.fetch(_FORKS_PAGE, run.partition, run.run_id, number, max(limit, 0))
    return list(await find_by_number(connection, run.partition, [row[0] for row in rows]))


class PostgresForks(PostgresPort):
    """Implements ports.storage.forks.Forks."""

    def __init__(self, pool: SessionPool, address: StoreAddress) -> None:
        super().__init__(pool)
        self._address = address

    async def create(
        self,
        header: RunHeader,
        first: Batch,
        record: IdempotencyRecord | None = None,
        exclusive: bool = False,
        fence: int = 0,
    ) -> RunCreated | SlotTaken | ScopeTaken:
        check_first_fork_batch(header, record, first)
        run = NewRun(header, _encode_header(header), (), record, first, fence)
        return await self._pool.transact(lambda connection: _create(connection, self._address, run, exclusive))

    forks_of = reads(_forks_of)
