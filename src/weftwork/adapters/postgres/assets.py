"""The assets port on PostgreSQL, and the references from runs to assets.

References are not counted: a counter would be a row that every run with the asset changes. An asset without references
is found by their absence. The deletion of an asset locks its row first; the foreign key of a new reference waits for
that lock, and fails if the asset is deleted. Then the writer of the reference repeats its transaction without it.
"""

from typing import Any, Final

from msgspec.structs import astuple

from weftwork.adapters.postgres.database.address import StoreAddress
from weftwork.adapters.postgres.database.connection import PostgresConnection, Row
from weftwork.adapters.postgres.database.pool import SessionPool
from weftwork.adapters.postgres.database.port import PostgresPort, reads, reads_once, writes
from weftwork.adapters.postgres.runs import existing_run_number
from weftwork.ports.storage.assets import AssetCursor, AssetEntry, AssetQuery, AssetUsage, QuotaReached, StoredAsset
from weftwork.protocol.ids import partitions_of_tenant, tenant_of
from weftwork.protocol.run.header import RunKey

_COLUMNS: Final = "a.partition, a.sha256, a.key, a.size, a.media_type, a.created_at, a.held_until"
_FIND = f"""
    SELECT a.asset_no, EXISTS (SELECT FROM asset_refs r WHERE r.asset_no = a.asset_no)::integer, {_COLUMNS}
    FROM assets a WHERE a.sha256 = $2 AND a.partition || '' = $1
"""
_LOCK_TENANT = "SELECT pg_advisory_xact_lock($1)"
_INSERT = """
    INSERT INTO assets (partition, sha256, key, size, media_type, created_at, held_until)
    VALUES ($1, $2, $3, $4, $5, $6, $7)
"""
_HOLD = f"""
    UPDATE assets a SET held_until = greatest(held_until, $3) WHERE sha256 = $2 AND partition || '' = $1
    RETURNING {_COLUMNS}
"""
_REKEY = f"UPDATE assets a SET key = $3 WHERE sha256 = $2 AND partition || '' = $1 RETURNING {_COLUMNS}"
_ADD_USAGE = """
    INSERT INTO asset_usage AS u (partition, count, size) VALUES ($1, 1, $2)
    ON CONFLICT (partition) DO UPDATE SET count = u.count + 1, size = u.size + excluded.size
"""
_USAGE = "SELECT count, size FROM asset_usage WHERE partition = $1"
_USED = "SELECT coalesce(sum(size), 0)::bigint FROM asset_usage WHERE partition = ANY ($1::text[])"
_COUNTED = f"SELECT a.asset_no, (SELECT count(*) FROM asset_refs r WHERE r.asset_no = a.asset_no), {_COLUMNS}"
_PAGE = f"{_COUNTED} FROM assets a WHERE a.partition = $1 AND a.asset_no < $2 ORDER BY a.asset_no DESC LIMIT $3"
_NEWEST_NOT_AFTER = """
    SELECT asset_no FROM assets WHERE partition = $1 AND created_at <= $2
    ORDER BY created_at DESC, asset_no DESC LIMIT 1
"""
_RUN_PAGE = f"""
    {_COUNTED} FROM asset_refs o JOIN assets a USING (asset_no)
    WHERE o.run_no = $1 AND o.asset_no < $2 ORDER BY o.asset_no DESC LIMIT $3
"""
_UNREFERENCED: Final = "held_until <= $1 AND NOT EXISTS (SELECT FROM asset_refs r WHERE r.asset_no = a.asset_no)"
_UNREFERENCED_USAGE = f"SELECT count(*), coalesce(sum(size), 0)::bigint FROM assets a WHERE {_UNREFERENCED}"
_LOCK_UNREFERENCED = f"""
    SELECT asset_no FROM assets a WHERE {_UNREFERENCED} ORDER BY held_until, asset_no LIMIT $2 FOR UPDATE SKIP LOCKED
"""
# A statement of its own after the lock: it sees the references that were committed before the lock was granted.
_TOMBSTONE = f"""
    WITH gone AS (
      DELETE FROM assets a WHERE asset_no = ANY ($2::bigint[]) AND {_UNREFERENCED}
      RETURNING partition, key, size, held_until, asset_no
    ), tombstones AS (
      INSERT INTO deleted_blobs (key) SELECT key FROM gone ORDER BY held_until, asset_no ON CONFLICT DO NOTHING
    ), used AS (
      SELECT partition, count(*) AS count, sum(size) AS size FROM gone GROUP BY partition
    ), freed AS (
      UPDATE asset_usage u SET count = u.count - used.count, size = u.size - used.size FROM used
      WHERE u.partition = used.partition
    )
    SELECT count(*), coalesce(sum(size), 0)::bigint FROM gone
"""
_TOMBSTONES = "SELECT key FROM deleted_blobs ORDER BY blob_no LIMIT $1"
_CLEAR = "DELETE FROM deleted_blobs WHERE key = ANY ($1::text[])"
_KNOWN = """
    SELECT key FROM assets WHERE key = ANY ($1::text[]) UNION SELECT key FROM deleted_blobs WHERE key = ANY ($1::text[])
"""
_ADD_REFERENCES = """
    INSERT INTO asset_refs (run_no, asset_no)
    SELECT $1, asset_no FROM assets WHERE sha256 = ANY ($3::text[]) AND partition || '' = $2 ORDER BY asset_no
    ON CONFLICT DO NOTHING
"""

_MAX_ASSET_NO: Final = 2**63 - 1


async def add_references(connection: PostgresConnection, run_no: int, partition: str, digests: tuple[str, ...]) -> None:
    """media-20 (RFC 0055 C): add a reference from the run to each of these assets that its partition has.

    Called in the commit that mentions the assets. A second reference to the same asset has no effect.
    """
    if digests:
        await connection.execute(_ADD_REFERENCES, run_no, partition, [*digests])


async def _hold(connection: PostgresConnection, partition: str, sha256: str, until: int) -> StoredAsset | None:
    row = await connection.fetchrow(_HOLD, partition, sha256, until)
    return StoredAsset(*row) if row is not None else None


async def _rekey(connection: PostgresConnection, partition: str, sha256: str, key: str) -> StoredAsset | None:
    row = await connection.fetchrow(_REKEY, partition, sha256, key)
    return StoredAsset(*row) if row is not None else None


async def _find(connection: PostgresConnection, partition: str, sha256: str) -> AssetEntry | None:
    row = await connection.fetchrow(_FIND, partition, sha256)
    return _asset_entry(row) if row is not None else None


async def _page(connection: PostgresConnection, partition: str, query: AssetQuery) -> list[AssetEntry]:
    before = await _page_start(connection, partition, query.after) if query.after is not None else _MAX_ASSET_NO
    limit = max(query.limit, 0)
    if query.run_id is None:
        rows = await connection.fetch(_PAGE, partition, before, limit)
    else:
        run_no = await existing_run_number(connection, RunKey(partition, query.run_id))
        rows = [] if run_no is None else await connection.fetch(_RUN_PAGE, run_no, before, limit)
    return [_asset_entry(row) for row in rows]


async def _page_start(connection: PostgresConnection, partition: str, after: AssetCursor) -> int:
    """The asset number below which all assets after the cursor are, even if the asset of the cursor was deleted."""
    row = await connection.fetchrow(_FIND, partition, after.sha256)
    # The same bytes may have been deleted and stored again; then the new asset is at another position.
    if row is not None and _asset_entry(row).asset.cursor == after:
        return row[0]
    newest = await connection.fetchval(_NEWEST_NOT_AFTER, partition, after.created_at)
    return 0 if newest is None else newest + 1


async def _usage(connection: PostgresConnection, partition: str) -> AssetUsage:
    row = await connection.fetchrow(_USAGE, partition)
    return AssetUsage(*row) if row is not None else AssetUsage(0, 0)


async def _unreferenced_usage(connection: PostgresConnection, now: int) -> AssetUsage:
    row = await connection.fetchrow(_UNREFERENCED_USAGE, now)
    return AssetUsage(*row) if row is not None else AssetUsage(0, 0)


async def _tombstone(connection: PostgresConnection, now: int, limit: int) -> AssetUsage:
    numbers = [row[0] for row in await connection.fetch(_LOCK_UNREFERENCED, now, max(limit, 0))]
    if not numbers:
        return AssetUsage(0, 0)
    row = await connection.fetchrow(_TOMBSTONE, now, numbers)
    return AssetUsage(*row) if row is not None else AssetUsage(0, 0)


async def _tombstones(connection: PostgresConnection, limit: int) -> list[str]:
    return [row[0] for row in await connection.fetch(_TOMBSTONES, max(limit, 0))]


async def _clear_tombstones(connection: PostgresConnection, keys: list[str]) -> None:
    await connection.execute(_CLEAR, [*keys])


async def _known_keys(connection: PostgresConnection, keys: list[str]) -> set[str]:
    return {row[0] for row in await connection.fetch(_KNOWN, [*keys])}


def _asset_entry(row: Row) -> AssetEntry:
    _, runs, *fields = row
    return AssetEntry(StoredAsset(*fields), runs)


class PostgresAssets(PostgresPort):
    """Implements ports.storage.assets.AssetIndex. The additions of a tenant go one after the other, because its quota
    is a sum over its partitions."""

    def __init__(self, pool: SessionPool, address: StoreAddress) -> None:
        super().__init__(pool)
        self._address = address

    hold = writes(_hold)
    rekey = writes(_rekey)
    find = reads_once(_find)
    page = reads(_page)
    usage = reads_once(_usage)
    unreferenced_usage = reads_once(_unreferenced_usage)
    tombstones = reads_once(_tombstones)
    clear_tombstones = writes(_clear_tombstones)
    known_keys = reads_once(_known_keys)

    async def add(self, asset: StoredAsset, quota: int = 0) -> StoredAsset:
        tenant = tenant_of(asset.partition)

        async def add(connection: PostgresConnection) -> Any:
            await connection.execute(_LOCK_TENANT, self._address.lock_key("assets", tenant))
            existing = await _hold(connection, asset.partition, asset.sha256, asset.held_until)
            if existing is not None:
                return existing
            if quota:
                used = await connection.fetchval(_USED, [*partitions_of_tenant(tenant)])
                if used + asset.size > quota:
                    return QuotaReached(used, quota)
            await connection.execute(_INSERT, *astuple(asset))
            await connection.execute(_ADD_USAGE, asset.partition, asset.size)
            return asset

        result = await self._pool.transact(add)
        if isinstance(result, QuotaReached):
            raise result
        return result

    async def tombstone_unreferenced(self, now: int, limit: int) -> AssetUsage:
        nothing = AssetUsage(0, 0)
        return await self._pool.chore("assets", nothing, lambda connection: _tombstone(connection, now, limit))
