"""The assets port on the SQLite file, and the references that runs have to assets."""

from typing import Any

from msgspec.structs import astuple, replace

from weftwork.adapters.sqlite.database.connection import SqliteConnection
from weftwork.adapters.sqlite.database.port import SqlitePort, reads, writes
from weftwork.adapters.sqlite.database.reader import snapshot
from weftwork.adapters.sqlite.runs import existing_run_number
from weftwork.ports.storage.assets import AssetCursor, AssetEntry, AssetQuery, AssetUsage, QuotaReached, StoredAsset
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
# Both columns of the order are of the index, so that one row is read.
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
# `doom_no > 0` is all of them, the oldest first.
TOMBSTONES = "SELECT key FROM doomed_blobs WHERE doom_no > 0 ORDER BY doom_no LIMIT ?"
_DELETE_TOMBSTONE = "DELETE FROM doomed_blobs WHERE key = ?"
IS_KNOWN_KEY = "SELECT 1 FROM assets WHERE key = ? UNION ALL SELECT 1 FROM doomed_blobs WHERE key = ?"
ADD_REFERENCE = """
    INSERT INTO asset_refs (run_no, asset_no) SELECT ?, asset_no FROM assets WHERE partition = ? AND sha256 = ?
    ON CONFLICT (run_no, asset_no) DO NOTHING
"""

_MAX_ASSET_NO = 2**63 - 1


def add_references(connection: SqliteConnection, run_no: int, partition: str, digests: tuple[str, ...]) -> None:
    """media-20 (RFC 0055 C): in the commit that names them, the run refers to those of these assets that its partition
    has, once to each."""
    connection.executemany(ADD_REFERENCE, [(run_no, partition, sha256) for sha256 in digests])


def _add(connection: SqliteConnection, asset: StoredAsset, quota: int) -> StoredAsset | QuotaReached:
    known = _hold(connection, asset.partition, asset.sha256, asset.held_until)
    if known is not None:
        return known
    if quota:
        used = _usage(connection, asset.partition).size
        if used + asset.size > quota:
            return QuotaReached(used, quota)
    connection.execute(_INSERT, astuple(asset))
    return asset


def _hold(connection: SqliteConnection, partition: str, sha256: str, until: int) -> StoredAsset | None:
    known = connection.execute(FIND_ASSET, (partition, sha256)).fetchall()
    if not known:
        return None
    asset = _found_asset(known[0]).asset
    if until <= asset.held_until:
        return asset
    connection.execute(_HOLD, (until, known[0][0]))
    return replace(asset, held_until=until)


def _rekey(connection: SqliteConnection, partition: str, sha256: str, key: str) -> StoredAsset | None:
    known = connection.execute(FIND_ASSET, (partition, sha256)).fetchall()
    if not known:
        return None
    connection.execute(_REKEY, (key, known[0][0]))
    return replace(_found_asset(known[0]).asset, key=key)


def _find(connection: SqliteConnection, partition: str, sha256: str) -> AssetEntry | None:
    found = connection.execute(FIND_ASSET, (partition, sha256)).fetchall()
    return _found_asset(found[0]) if found else None


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
    return [_found_asset(row) for row in rows]


def _page_start(connection: SqliteConnection, partition: str, after: AssetCursor) -> int:
    """All that comes after that place has a smaller number than this."""
    last = connection.execute(FIND_ASSET, (partition, after.sha256)).fetchall()
    # The same bytes may have gone and come again, which is another place.
    if last and _found_asset(last[0]).asset.cursor == after:
        return last[0][0]
    left = connection.execute(NEWEST_NOT_AFTER, (partition, after.created_at)).fetchall()
    return left[0][0] + 1 if left else 0


def _usage(connection: SqliteConnection, partition: str) -> AssetUsage:
    found = connection.execute(_USAGE, (partition,)).fetchall()
    return AssetUsage(*found[0]) if found else AssetUsage(0, 0)


def _unreferenced_usage(connection: SqliteConnection, now: int) -> AssetUsage:
    return AssetUsage(*connection.execute(UNREFERENCED_USAGE, (now,)).fetchall()[0])


def _unreferenced(connection: SqliteConnection, now: int, limit: int) -> list[tuple[int, str, int]]:
    return connection.execute(UNREFERENCED, (now, max(limit, 0))).fetchall()


def _tombstone_unreferenced(connection: SqliteConnection, now: int, limit: int) -> AssetUsage:
    loose = _unreferenced(connection, now, limit)
    connection.executemany(_INSERT_TOMBSTONE, [(key,) for _, key, _ in loose])
    connection.executemany(_DELETE_ASSET, [(asset_no,) for asset_no, _, _ in loose])
    return AssetUsage(len(loose), sum(size for _, _, size in loose))


def _tombstones(connection: SqliteConnection, limit: int) -> list[str]:
    return [key for (key,) in connection.execute(TOMBSTONES, (max(limit, 0),)).fetchall()]


def _clear_tombstones(connection: SqliteConnection, keys: tuple[str, ...]) -> None:
    connection.executemany(_DELETE_TOMBSTONE, [(key,) for key in keys])


def _known_keys(connection: SqliteConnection, keys: tuple[str, ...]) -> set[str]:
    # One view: a key goes from the one table to the other in one commit.
    with snapshot(connection):
        return {key for key in keys if connection.execute(IS_KNOWN_KEY, (key, key)).fetchall()}


def _found_asset(row: Any) -> AssetEntry:
    _, runs, *fields = row
    return AssetEntry(StoredAsset(*fields), runs)


class SqliteAssets(SqlitePort):
    """Implements ports.storage.assets.AssetIndex."""

    async def add(self, asset: StoredAsset, quota: int = 0) -> StoredAsset:
        kept = await self._write(_add, asset, quota)
        if isinstance(kept, QuotaReached):
            raise kept
        return kept

    hold = writes(_hold)
    rekey = writes(_rekey)
    find = reads(_find)
    page = reads(_page)
    usage = reads(_usage)
    unreferenced_usage = reads(_unreferenced_usage)
    tombstones = reads(_tombstones)

    async def tombstone_unreferenced(self, now: int, limit: int) -> AssetUsage:
        # Usually there is nothing to do, and then the writer is not needed.
        loose = await self._read(_unreferenced, now, 1)
        return await self._write(_tombstone_unreferenced, now, limit) if loose else AssetUsage(0, 0)

    async def clear_tombstones(self, keys: list[str]) -> None:
        await self._write(_clear_tombstones, tuple(keys))

    async def known_keys(self, keys: list[str]) -> set[str]:
        return await self._read(_known_keys, tuple(keys))
