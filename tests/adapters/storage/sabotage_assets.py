"""Stores in memory that keep assets wrongly, or not for those who refer to them."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from msgspec.structs import replace

from weftwork.adapters.memory.assets import MemoryAssets
from weftwork.ports.storage.assets import AssetQuery, StoredAsset
from weftwork.protocol.run.header import RunKey

Wrap = Callable[[Any, Any], Any]


def lose_the_type(port: MemoryAssets, real: Any) -> Any:
    async def add(asset: StoredAsset, quota: int = 0) -> Any:
        return await real(replace(asset, media_type="application/octet-stream"), quota)

    return add


def the_last_one_stays(port: MemoryAssets, real: Any) -> Any:
    async def add(asset: StoredAsset, quota: int = 0) -> Any:
        kept = await real(asset, quota)
        port._partitions[asset.partition][asset.sha256].asset = asset
        return kept

    return add


def hold_shorter(port: MemoryAssets, real: Any) -> Any:
    async def hold(partition: str, sha256: str, until: int) -> Any:
        held = await real(partition, sha256, until)
        if held is not None:
            port._partitions[partition][sha256].asset = replace(held, held_until=until)
        return held

    return hold


def without_a_quota(port: MemoryAssets, real: Any) -> Any:
    async def add(asset: StoredAsset, quota: int = 0) -> Any:
        return await real(asset)

    return add


def measure_wait_write(port: MemoryAssets, real: Any) -> Any:
    async def add(asset: StoredAsset, quota: int = 0) -> Any:
        used = (await port.usage(asset.partition)).size
        await asyncio.sleep(0)
        return await real(asset, quota if used + asset.size > quota else 0)

    return add


def find_anybodys(port: MemoryAssets, real: Any) -> Any:
    async def find(partition: str, sha256: str) -> Any:
        owner = next((name for name, own in port._partitions.items() if sha256 in own), partition)
        return await real(owner, sha256)

    return find


def oldest_first(port: MemoryAssets, real: Any) -> Any:
    async def page(partition: str, query: AssetQuery) -> Any:
        return (await real(partition, query))[::-1]

    return page


def end_with_the_cursor(port: MemoryAssets, real: Any) -> Any:
    async def page(partition: str, query: AssetQuery) -> Any:
        after = query.after
        gone = after is not None and after.sha256 not in port._partitions.get(partition, {})
        return [] if gone else await real(partition, query)

    return page


def leave_the_key(port: MemoryAssets, real: Any) -> Any:
    async def rekey(partition: str, sha256: str, key: str) -> Any:
        kept = await port.find(partition, sha256)
        return replace(kept.asset, key=key) if kept is not None else None

    return rekey


def doom_them_all(port: MemoryAssets, real: Any) -> Any:
    async def tombstone_unreferenced(now: int, limit: int) -> Any:
        return await real(now, 2**40)

    return tombstone_unreferenced


def know_no_doomed_ones(port: MemoryAssets, real: Any) -> Any:
    async def known_keys(keys: list[str]) -> Any:
        return {key for key in await real(keys) if key not in port._tombstones}

    return known_keys


def pardon_the_key(port: MemoryAssets, real: Any) -> Any:
    async def add(asset: StoredAsset, quota: int = 0) -> Any:
        kept = await real(asset, quota)
        for key in [key for key in port._tombstones if asset.sha256 in key]:
            del port._tombstones[key]
        return kept

    return add


def refer_to_nothing(port: MemoryAssets, real: Any) -> Any:
    def add_references(run: RunKey, digests: Iterable[str]) -> None: ...

    return add_references


def let_go_for_all(port: MemoryAssets, real: Any) -> Any:
    def release_references(run: RunKey) -> None:
        for sha256 in port._references.pop(run, ()):
            port._partitions[run.partition][sha256].runs.clear()

    return release_references


def end_the_hold(port: MemoryAssets, real: Any) -> Any:
    def release_references(run: RunKey) -> None:
        for sha256 in port._references.get(run, ()):
            kept = port._partitions[run.partition][sha256]
            kept.asset = replace(kept.asset, held_until=0)
        real(run)

    return release_references


def refer_everywhere(port: MemoryAssets, real: Any) -> Any:
    def add_references(run: RunKey, digests: Iterable[str]) -> None:
        for partition in list(port._partitions):
            real(RunKey(partition, run.run_id), digests)

    return add_references


def refer_first(port: Any, real: Any) -> Any:
    async def append(run: RunKey, expected: int, batch: Any) -> Any:
        port._table.assets.add_references(run, batch.assets)
        return await real(run, expected, batch)

    return append


def release_a_piece(port: MemoryAssets, real: Any) -> Any:
    def release_references(run: RunKey) -> None:
        for sha256 in list(port._references.pop(run, ()))[:500]:
            port._partitions[run.partition][sha256].runs.discard(run.run_id)

    return release_references


def look_wait_doom(port: MemoryAssets, real: Any) -> Any:
    async def tombstone_unreferenced(now: int, limit: int) -> Any:
        loose = port._unreferenced(now)[:limit]
        await asyncio.sleep(0)
        for asset in loose:
            port._partitions[asset.partition].pop(asset.sha256, None)
            port._tombstones[asset.key] = None

    return tombstone_unreferenced


ASSETS: dict[str, tuple[str, Wrap]] = {
    "an_asset_is_kept": ("assets.add", lose_the_type),
    "equal_bytes_are_kept_once": ("assets.add", the_last_one_stays),
    "an_existing_asset_can_be_held": ("assets.hold", hold_shorter),
    "a_full_partition_takes_no_more": ("assets.add", without_a_quota),
    "many_at_once_do_not_exceed_the_quota": ("assets.add", measure_wait_write),
    "another_partition_sees_no_assets": ("assets.find", find_anybodys),
    "assets_are_paged_newest_first": ("assets.page", oldest_first),
    "a_page_goes_on_though_its_cursor_is_gone": ("assets.page", end_with_the_cursor),
    "bytes_that_were_lost_get_another_key": ("assets.rekey", leave_the_key),
    "unreferenced_assets_are_tombstoned": ("assets.tombstone_unreferenced", doom_them_all),
    "a_tombstone_is_known_until_it_is_cleared": ("assets.known_keys", know_no_doomed_ones),
    "tombstoned_bytes_may_be_added_again": ("assets.add", pardon_the_key),
    "an_asset_that_a_run_names_stays": ("assets.add_references", refer_to_nothing),
    "an_asset_stays_until_the_last_run_is_gone": ("assets.release_references", let_go_for_all),
    "dropping_a_reference_does_not_end_a_hold": ("assets.release_references", end_the_hold),
    "a_run_refers_to_assets_of_its_partition": ("assets.add_references", refer_everywhere),
    "a_refused_commit_refers_to_nothing": ("log.append", refer_first),
    "assets_of_a_run_are_paged_newest_first": ("assets.page", oldest_first),
    "many_references_go_in_pieces": ("assets.release_references", release_a_piece),
    "a_reference_racing_a_tombstone_gets_all_or_nothing": ("assets.tombstone_unreferenced", look_wait_doom),
}
"""Check -> the port method that is replaced, and the replacement made from the port and its own method."""
