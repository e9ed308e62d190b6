"""The assets port on the SQLite file, and the references from runs to assets."""

from typing import Any

from msgspec.structs import astuple, replace

from weftwork.adapters.sqlite.database.connection import SqliteConnection
from weftwork.adapters.sqlite.database.port import SqlitePort, reads, writes
from weftwork.adapters.sqlite.database.reader import snapshot
from weftwork.adapters.sqlite.runs import existing_run_number
from weftwork.ports.storage.assets import AssetCursor, AssetEntry, AssetQuery, AssetUsage, QuotaReached, StoredAsset
from weftwork.protocol.ids import partitions_of_tenant, tenant_of
from weftwork.protocol.run.header import RunKey

FIND_ASSET = """
    SELECT asset_no, min(refs, 1), partition, sha256, key, size, media_type, created_at, held_until FROM assets
    WHERE partition = ? AND sha256 = ?
"""
_INSERT = """
    INSERT INTO assets (partition, sha256, key, size, media_type, created_at, held_until) VALUES (?, ?, ?, ?, ?, ?, ?)
"""
_HOLD = "UPDATE assets SET held_until = ? WHERE asset_no = ?"
_REKEY = "UPDATE assets SET key = ? WHERE asset_no = ?"
_USAGE = "SELECT count, size FROM asset_usage WHERE partition = ?"
ASSETS_PAGE = """
    SELECT asset_no, refs, partition, sha256, key, size, media_type, created_at, held_until FROM assets
    WHERE partition = ? AND asset_no < ? ORDER BY asset_no DESC LIMIT ?
"""
# Both columns of ORDER BY are in the index, so only one row is read.
NEWEST_NOT_AFTER = """
    SELECT asset_no FROM assets WHERE partition = ? AND created_at <= ? ORDER BY created_at DESC, asset_no DESC LIMIT 1
"""
RUN_ASSETS_PAGE = """
    SELECT a.asset_no, a.refs, a.partition, a.sha256, a.key, a.size, a.media_type, a.created_at, a.held_until
    FROM asset_refs r CROSS JOIN assets a ON a.asset_no = r.asset_no
    WHERE r.run_no = ? AND r.asset_no < ? ORDER BY r.asset_no DESC LIMIT ?
"""
UNREFERENCED_USAGE = "SELECT count(*), ifnull(sum(size), 0) FROM assets WHERE refs = 0 AND held_until <= ?"
UNREFERENCED = "SELECT asset_no, key, size FROM assets WHERE refs = 0 AND held_until <= ? ORDER BY held_until LIMIT ?"
_DELETE_ASSET = "DELETE FROM assets WHERE asset_no = ?"
_INSERT_TOMBSTONE = "INSERT INTO doomed_blobs (key) VALUES (?)"
# `doom_no > 0` matches all rows. They are read in the order of the primary key, so the oldest comes first.
TOMBSTONES = "SELECT key FROM doomed_blobs WHERE doom_no > 0 ORDER BY doom_no LIMIT ?"
_DELETE_TOMBSTONE = "DELETE FROM doomed_blobs WHERE key = ?"
IS_KNOWN_KEY = "SELECT 1 FROM assets WHERE key = ? UNION ALL SELECT 1 FROM doomed_blobs WHERE key = ?"
ADD_REFERENCE = """
    INSERT INTO asset_refs (run_no, asset_no) SELECT ?, asset_no FROM assets WHERE partition = ? AND sha256 = ?
    ON CONFLICT (run_no, asset_no) DO NOTHING
"""
_COPY_REFERENCES = """
    INSERT INTO asset_refs (run_no, asset_no) SELECT ?, asset_no FROM asset_refs WHERE run_no = ?
    ON CONFLICT (run_no, asset_no) DO NOTHING
"""

_MAX_ASSET_NO = 2**63 - 1


def add_references(connection: SqliteConnection, run_no: int, partition: str, digests: tuple[str, ...]) -> None:
    """media-20 (RFC 0055 C): add a reference from the run to each of these assets that its partition has.

    Called in the commit that mentions the assets. A second reference to the same asset has no effect.
    """
    connection.executemany(ADD_REFERENCE, [(run_no, partition, sha256) for sha256 in digests])


def copy_references(connection: SqliteConnection, source_no: int, run_no: int) -> None:
    """Let a run refer to all assets that its source refers to, so that they live as long as both."""
    connection.execute(_COPY_REFERENCES, (run_no, source_no))


def _add(connection: SqliteConnection, asset: StoredAsset, quota: int) -> StoredAsset | QuotaReached:
    existing = _hold(connection, asset.partition, asset.sha256, asset.held_until)
    if existing is not None:
        return existing
    if quota:
        used = sum([_usage(connection, each).size for each in partitions_of_tenant(tenant_of(asset.partition))])
        if used + asset.size > quota:
            return QuotaReached(used, quota)
    connection.execute(_INSERT, astuple(asset))
    return asset


def _hold(connection: SqliteConnection, partition: str, sha256: str, until: int) -> StoredAsset | None:
    rows = connection.execute(FIND_ASSET, (partition, sha256)).fetchall()
    if not rows:
        return None
    asset = _asset_entry(rows[0]).asset
    if until <= asset.held_until:
        return asset
    connection.execute(_HOLD, (until, rows[0][0]))
    return replace(asset, held_until=until)


def _rekey(connection: SqliteConnection, partition: str, sha256: str, key: str) -> StoredAsset | None:
    rows = connection.execute(FIND_ASSET, (partition, sha256)).fetchall()
    if not rows:
        return None
    connection.execute(_REKEY, (key, rows[0][0]))
    return replace(_asset_entry(rows[0]).asset, key=key)


def _find(connection: SqliteConnection, partition: str, sha256: str) -> AssetEntry | None:
    rows = connection.execute(FIND_ASSET, (partition, sha256)).fetchall()
    return _asset_entry(rows[0]) if rows else None


def _page(connection: SqliteConnection, partition: str, query: AssetQuery) -> list[AssetEntry]:
    with snapshot(connection):
        before = _page_start(connection, partition, query.after) if query.after is not None else _MAX_ASSET_NO
        limit = max(query.limit, 0)
        if query.run_id is None:
            rows = connection.execute(ASSETS_PAGE, (partition, before, limit)).fetchall()
        else:
            run_no = existing_run_number(connection, RunKey(partition, query.run_id))
            if run_no is None:
                return []
            rows = connection.execute(RUN_ASSETS_PAGE, (run_no, before, limit)).fetchall()
    return [_asset_entry(row) for row in rows]


def _page_start(connection: SqliteConnection, partition: str, after: AssetCursor) -> int:
    """The asset number below which all assets after the cursor are, even if the asset of the cursor was deleted."""
    rows = connection.execute(FIND_ASSET, (partition, after.sha256)).fetchall()
    # The same bytes may have been deleted and stored again; then the new asset is at another position.
    if rows and _asset_entry(rows[0]).asset.cursor == after:
        return rows[0][0]
    rows = connection.execute(NEWEST_NOT_AFTER, (partition, after.created_at)).fetchall()
    return rows[0][0] + 1 if rows else 0


def _usage(connection: SqliteConnection, partition: str) -> AssetUsage:
    rows = connection.execute(_USAGE, (partition,)).fetchall()
    return AssetUsage(*rows[0]) if rows else AssetUsage(0, 0)


def _unreferenced_usage(connection: SqliteConnection, now: int) -> AssetUsage:
    return AssetUsage(*connection.execute(UNREFERENCED_USAGE, (now,)).fetchall()[0])


def _unreferenced(connection: SqliteConnection, now: int, limit: int) -> list[tuple[int, str, int]]:
    return connection.execute(UNREFERENCED, (now, max(limit, 0))).fetchall()


def _tombstone_unreferenced(connection: SqliteConnection, now: int, limit: int) -> AssetUsage:
    unreferenced = _unreferenced(connection, now, limit)
    connection.executemany(_INSERT_TOMBSTONE, [(key,) for _, key, _ in unreferenced])
    connection.executemany(_DELETE_ASSET, [(asset_no,) for asset_no, _, _ in unreferenced])
    return AssetUsage(len(unreferenced), sum(size for _, _, size in unreferenced))


def _tombstones(connection: SqliteConnection, limit: int) -> list[str]:
    return [key for (key,) in connection.execute(TOMBSTONES, (max(limit, 0),)).fetchall()]


def _clear_tombstones(connection: SqliteConnection, keys: tuple[str, ...]) -> None:
    connection.executemany(_DELETE_TOMBSTONE, [(key,) for key in keys])


def _known_keys(connection: SqliteConnection, keys: tuple[str, ...]) -> set[str]:
    # A key moves from `assets` to `doomed_blobs` in one commit, so both must be read from the same commit.
    with snapshot(connection):
        return {key for key in keys if connection.execute(IS_KNOWN_KEY, (key, key)).fetchall()}


def _asset_entry(row: Any) -> AssetEntry:
    _, runs, *fields = row
    return AssetEntry(StoredAsset(*fields), runs)


class SqliteAssets(SqlitePort):
    """Implements ports.storage.assets.AssetIndex."""

    async def add(self, asset: StoredAsset, quota: int = 0) -> StoredAsset:
        result = await self._write(_add, asset, quota)
        if isinstance(result, QuotaReached):
            # The job returns it: the writer would treat an exception as a failed write and roll the batch back.
            raise result
        return result

    hold = writes(_hold)
    rekey = writes(_rekey)
    find = reads(_find)
    page = reads(_page)
    usage = reads(_usage)
    unreferenced_usage = reads(_unreferenced_usage)
    tombstones = reads(_tombstones)

    async def tombstone_unreferenced(self, now: int, limit: int) -> AssetUsage:
        # Most of the time there is nothing to do, and then the call does not wait for the writer.
        unreferenced = await self._read(_unreferenced, now, 1)
        return await self._write(_tombstone_unreferenced, now, limit) if unreferenced else AssetUsage(0, 0)

    async def clear_tombstones(self, keys: list[str]) -> None:
        await self._write(_clear_tombstones, tuple(keys))

    async def known_keys(self, keys: list[str]) -> set[str]:
        return await self._read(_known_keys, tuple(keys))
