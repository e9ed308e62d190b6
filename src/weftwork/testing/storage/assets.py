"""Checks of the assets port: storage, tenancy, and lifetime.

An asset is kept while a run refers to it. A run refers to an asset from the commit that names it.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Final

from msgspec.structs import replace

from weftwork.ports.storage.assets import AssetCursor, AssetEntry, AssetQuery, AssetUsage, QuotaReached, StoredAsset
from weftwork.ports.storage.event_log import RunCreated, SequenceConflict
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.protocol.errors import HostFault
from weftwork.protocol.run.header import RunKey, Status
from weftwork.testing.storage.child_runs import child, create_children
from weftwork.testing.storage.harness import Store, catch, opened, purge, walk
from weftwork.testing.storage.samples import ACME, NOW, OTHER, batch, header, make_run, record

TESTS: Final = "test:acme"
"""The other partition of the tenant of ACME."""
HOLD_MS: Final = 1000
FAR_FUTURE: Final = NOW + 10**9
"""A time at which every hold has expired."""
NO_USAGE: Final = AssetUsage(0, 0)


def digest(name: str) -> str:
    return name.encode().hex().rjust(64, "0")


def asset(name: str = "a", partition: str = ACME, **fields: Any) -> StoredAsset:
    """An asset of ten bytes. `fields` overrides the defaults."""
    plain: dict[str, Any] = {
        "key": f"{partition}/{digest(name)}-1",
        "size": 10,
        "media_type": "image/png",
        "created_at": NOW,
        "held_until": NOW + HOLD_MS,
    }
    return StoredAsset(partition=partition, sha256=digest(name), **(plain | fields))


async def page_keys(store: Store, partition: str = ACME, **query: Any) -> list[str]:
    return [found.asset.key for found in await store.assets.page(partition, AssetQuery(**query))]


async def walk_assets(store: Store, limit: int, run_id: str | None = None) -> list[AssetEntry]:
    """All assets of the partition, or of one run, read in pages."""

    async def page_after(last: AssetEntry | None) -> list[AssetEntry]:
        return await store.assets.page(ACME, AssetQuery(run_id, last and last.asset.cursor, limit))

    return await walk(page_after, limit)


async def an_asset_is_kept(store: Store) -> None:
    """An added asset is returned unchanged by `find` and `page`, and counted by `usage`."""
    given = asset(size=2**40, media_type="application/x-\u00e9", held_until=0)
    assert await store.assets.find(ACME, given.sha256) is None
    assert (await page_keys(store), await store.assets.usage(ACME)) == ([], NO_USAGE)
    assert await store.assets.add(given) == given
    assert await store.assets.find(ACME, given.sha256) == AssetEntry(given, 0)
    assert await store.assets.page(ACME, AssetQuery()) == [AssetEntry(given, 0)]
    assert await store.assets.usage(ACME) == AssetUsage(1, 2**40)
    assert await store.assets.find(ACME, digest("b")) is None


async def equal_bytes_are_kept_once(store: Store) -> None:
    """Adding the same bytes again keeps the existing row, with the later of both `held_until`. They count once."""
    given = asset()
    await store.assets.add(given)
    for held, wanted in ((NOW + 5, NOW + HOLD_MS), (NOW + 9 * HOLD_MS, NOW + 9 * HOLD_MS), (NOW, NOW + 9 * HOLD_MS)):
        again = asset(key="another", media_type="text/plain", created_at=NOW + 1, held_until=held)
        kept = replace(given, held_until=wanted)
        assert await store.assets.add(again) == kept
        assert await store.assets.find(ACME, given.sha256) == AssetEntry(kept, 0)
    assert await store.assets.usage(ACME) == AssetUsage(1, 10)
    assert await store.assets.known_keys(["another"]) == set()


async def an_existing_asset_can_be_held(store: Store) -> None:
    """`hold` extends the hold of an existing asset. It never shortens it and never creates an asset."""
    given = asset()
    assert await store.assets.hold(ACME, given.sha256, NOW + 1) is None
    assert await store.assets.find(ACME, given.sha256) is None
    await store.assets.add(given)
    assert await store.assets.hold(ACME, given.sha256, NOW) == given
    assert await store.assets.find(ACME, given.sha256) == AssetEntry(given, 0)
    later = replace(given, held_until=NOW + 2 * HOLD_MS)
    assert await store.assets.hold(ACME, given.sha256, NOW + 2 * HOLD_MS) == later
    assert await store.assets.hold(OTHER, given.sha256, FAR_FUTURE) is None
    assert await store.assets.find(ACME, given.sha256) == AssetEntry(later, 0)
    assert await store.assets.tombstone_unreferenced(NOW + 2 * HOLD_MS - 1, 10) == NO_USAGE
    assert await store.assets.tombstone_unreferenced(NOW + 2 * HOLD_MS, 10) == AssetUsage(1, 10)
    assert await store.assets.hold(ACME, given.sha256, FAR_FUTURE) is None


async def a_full_partition_takes_no_more(store: Store) -> None:
    """A quota may be reached but not exceeded. A refused asset leaves no trace, and existing bytes are never
    refused."""
    for name in "ab":
        await store.assets.add(asset(name), 20)
    error = await catch(store.assets.add(asset("c", size=1), 20))
    assert isinstance(error, QuotaReached)
    assert (error.used, error.quota) == (20, 20)
    assert await store.assets.find(ACME, digest("c")) is None
    assert await store.assets.known_keys([asset("c").key]) == set()
    assert await store.assets.usage(ACME) == AssetUsage(2, 20)
    assert await store.assets.add(asset("a"), 5) == asset("a")
    assert await store.assets.add(asset("empty", size=0), 20)
    assert await store.assets.add(asset("a", OTHER), 10), "each tenant has its own quota"
    assert await store.assets.add(asset("d"), 30)
    assert await store.assets.add(asset("e"), 0), "a quota of 0 means no quota"
    assert await store.assets.tombstone_unreferenced(FAR_FUTURE, 100) == AssetUsage(6, 50)
    assert await store.assets.usage(ACME) == NO_USAGE
    assert await store.assets.add(asset("c", size=20), 20), "removed assets no longer count"


async def a_quota_counts_test_and_live_assets_together(store: Store) -> None:
    """The quota limits the sum of the tenant's partitions. Other tenants do not count."""
    await store.assets.add(asset("a"), 30)
    await store.assets.add(asset("a", OTHER), 30)
    await store.assets.add(asset("a", TESTS), 30)
    for partition in (ACME, TESTS):
        error = await catch(store.assets.add(asset("b", partition, size=11), 30))
        assert isinstance(error, QuotaReached)
        assert (error.used, error.quota) == (20, 30)
    assert (await store.assets.usage(ACME), await store.assets.usage(TESTS)) == (AssetUsage(1, 10), AssetUsage(1, 10))
    assert await store.assets.add(asset("b", TESTS), 30)


async def many_at_once_do_not_exceed_the_quota(store: Store) -> None:
    """Concurrent adds do not exceed the quota."""
    calls = [catch(store.assets.add(asset(f"n{number}"), 45)) for number in range(20)]
    refused = [error for error in await asyncio.gather(*calls) if error is not None]
    assert [type(error) for error in refused] == [QuotaReached] * 16
    assert await store.assets.usage(ACME) == AssetUsage(4, 40)


async def another_partition_sees_no_assets(store: Store) -> None:
    """Assets are found, listed, counted and held only in their partition. Equal bytes in two partitions are two
    assets."""
    await store.assets.add(asset())
    for partition in (OTHER, "test:acme", "live:acm", "LIVE:ACME", ""):
        assert await store.assets.find(partition, digest("a")) is None
        assert (await page_keys(store, partition), await store.assets.usage(partition)) == ([], NO_USAGE)
    theirs = asset(partition=OTHER, size=7)
    assert await store.assets.add(theirs) == theirs
    assert await store.assets.find(ACME, digest("a")) == AssetEntry(asset(), 0)
    assert await store.assets.find(OTHER, digest("a")) == AssetEntry(theirs, 0)
    assert (await store.assets.usage(ACME), await store.assets.usage(OTHER)) == (AssetUsage(1, 10), AssetUsage(1, 7))


async def assets_are_paged_newest_first(store: Store) -> None:
    """Pages follow the order in which assets were added, independent of `created_at`, and return each asset once."""
    names = [f"n{number}" for number in range(11)]
    for number, name in enumerate(names):
        await store.assets.add(asset(name, created_at=NOW - number))
        await store.assets.add(asset(name, OTHER))
    await store.assets.add(asset("n3", held_until=FAR_FUTURE))
    wanted = [asset(name).key for name in reversed(names)]
    for limit in (1, 3, 11, 50):
        assert [each.asset.key for each in await walk_assets(store, limit)] == wanted
    assert await page_keys(store, limit=0) == []
    assert await store.assets.tombstone_unreferenced(NOW + HOLD_MS, 100) == AssetUsage(21, 210)
    assert await page_keys(store) == [asset("n3").key]


async def a_page_goes_on_though_its_cursor_is_gone(store: Store) -> None:
    """If the asset of a cursor has been tombstoned, or added again, the page continues with the assets created before
    it."""
    for number in range(10):
        held = NOW if number in (4, 5, 8) else FAR_FUTURE
        await store.assets.add(asset(f"n{number}", created_at=NOW + number // 2, held_until=held))
    await store.assets.add(asset(partition=OTHER, created_at=NOW + 2, held_until=FAR_FUTURE))
    cursors = [AssetCursor(NOW + number // 2, digest(f"n{number}")) for number in range(10)]
    assert await store.assets.tombstone_unreferenced(NOW, 100) == AssetUsage(3, 30)

    async def behind(cursor: AssetCursor, **query: Any) -> list[str]:
        page = await store.assets.page(ACME, AssetQuery(after=cursor, **query))
        return [bytes.fromhex(each.asset.sha256).decode()[-1] for each in page]

    assert await behind(cursors[6]) == list("3210")
    assert await behind(cursors[5]) == await behind(cursors[4]) == list("3210")
    assert await behind(cursors[8], limit=3) == list("976"), "assets of the same time are repeated, never skipped"
    assert await behind(AssetCursor(NOW + 1, digest("nobody"))) == list("3210")
    assert await behind(AssetCursor(NOW - 1, digest("nobody"))) == []
    assert await behind(AssetCursor(2**62, digest("nobody")), limit=1) == ["9"]
    run = await make_run(store, assets=tuple(digest(f"n{number}") for number in (1, 2, 7)))
    assert await behind(cursors[5], run_id=run.run_id) == list("21")
    await store.assets.add(asset("n5", key="again", created_at=NOW + 9))
    assert await behind(cursors[5]) == list("3210"), "the asset that was added again has a new position"


async def unreferenced_assets_are_tombstoned(store: Store) -> None:
    """`tombstone_unreferenced` removes assets of all partitions whose hold has expired, those that expired first, and
    at most `limit` per call."""
    held = {"a": 30, "b": 10, "c": 20, "d": 40}
    for number, (name, until) in enumerate(held.items()):
        await store.assets.add(asset(name, OTHER if number % 2 else ACME, held_until=NOW + until, size=until))
    assert await store.assets.unreferenced_usage(NOW + 9) == NO_USAGE
    assert await store.assets.tombstone_unreferenced(NOW + 9, 10) == NO_USAGE
    assert await store.assets.unreferenced_usage(NOW + 30) == AssetUsage(3, 60)
    assert await store.assets.tombstone_unreferenced(NOW + 30, 0) == NO_USAGE
    assert await store.assets.tombstone_unreferenced(NOW + 30, 2) == AssetUsage(2, 30)
    assert await store.assets.unreferenced_usage(NOW + 30) == AssetUsage(1, 30)
    assert await store.assets.tombstones(10) == [asset("b", OTHER).key, asset("c").key]
    assert await store.assets.find(ACME, digest("c")) is None
    assert await store.assets.find(ACME, digest("a")) is not None
    assert (await store.assets.usage(ACME), await store.assets.usage(OTHER)) == (AssetUsage(1, 30), AssetUsage(1, 40))
    assert await store.assets.tombstone_unreferenced(NOW + 30, 2) == AssetUsage(1, 30)
    assert await store.assets.tombstone_unreferenced(NOW + 30, 2) == NO_USAGE


async def a_tombstone_is_known_until_it_is_cleared(store: Store) -> None:
    """`known_keys` knows the keys of assets and of tombstones. `tombstones` returns the oldest first, until they are
    cleared."""
    keys = [asset(name).key for name in "abcd"]
    for number, name in enumerate("abc"):
        await store.assets.add(asset(name, held_until=NOW + number))
    assert await store.assets.known_keys(keys) == set(keys[:3])
    for number in range(2):
        assert (await store.assets.tombstone_unreferenced(NOW + number, 10)).count == 1
    assert await store.assets.known_keys(keys) == set(keys[:3])
    assert (await store.assets.tombstones(1), await store.assets.tombstones(0)) == (keys[:1], [])
    for _ in range(2):
        await store.assets.clear_tombstones([keys[0], keys[2], "nobody"])
        assert await store.assets.tombstones(10) == [keys[1]]
    assert await store.assets.known_keys(keys) == {keys[1], keys[2]}
    await store.assets.tombstone_unreferenced(FAR_FUTURE, 10)
    assert await store.assets.tombstones(10) == keys[1:3]
    assert await store.assets.known_keys([]) == set()


async def tombstoned_bytes_may_be_added_again(store: Store) -> None:
    """Bytes that are added again after their asset was tombstoned become a new asset with a new key. The tombstone of
    the old key remains."""
    await store.assets.add(asset())
    await store.assets.tombstone_unreferenced(FAR_FUTURE, 10)
    again = asset(key="again")
    assert await store.assets.add(again) == again
    assert await store.assets.find(ACME, digest("a")) == AssetEntry(again, 0)
    assert await store.assets.tombstones(10) == [asset().key]
    assert await store.assets.usage(ACME) == AssetUsage(1, 10)


async def assets_survive_a_restart(make: Callable[[], Store]) -> None:
    """Assets, their usage and tombstones survive a restart."""
    async with opened(make()) as store:
        for name in "abc":
            await store.assets.add(asset(name))
        await store.assets.hold(ACME, digest("b"), FAR_FUTURE + 1)
        await store.assets.add(asset("d", held_until=NOW))
        await store.assets.tombstone_unreferenced(NOW, 10)
    async with opened(make()) as store:
        assert await page_keys(store) == [asset(name).key for name in "cba"]
        assert await store.assets.usage(ACME) == AssetUsage(3, 30)
        assert await store.assets.tombstones(10) == [asset("d").key]
        assert isinstance(await catch(store.assets.add(asset("e"), 39)), QuotaReached)
        assert await store.assets.tombstone_unreferenced(FAR_FUTURE, 10) == AssetUsage(2, 20)
        assert await page_keys(store) == [asset("b").key]
        assert len(await store.assets.tombstones(10)) == 3


async def bytes_that_were_lost_get_another_key(store: Store) -> None:
    """`rekey` changes the key of an asset and nothing else."""
    kept = await store.assets.add(asset("a"))
    moved = await store.assets.rekey(ACME, digest("a"), "key-2")
    assert moved == replace(kept, key="key-2")
    found = await store.assets.find(ACME, digest("a"))
    assert found is not None
    assert found.asset == moved
    assert await store.assets.known_keys([kept.key, "key-2"]) == {"key-2"}
    assert await store.assets.usage(ACME) == AssetUsage(1, 10)
    assert await store.assets.rekey(OTHER, digest("a"), "key-3") is None


async def add_assets(store: Store, *names: str, partition: str = ACME) -> tuple[str, ...]:
    """Add assets whose hold has expired, and return their digests."""
    for name in names:
        await store.assets.add(asset(name, partition, held_until=NOW))
    return tuple(digest(name) for name in names)


async def reference_assets(store: Store, run: RunKey, after: int, *names: str, status: Status = "running") -> None:
    """Append an event that refers to assets."""
    given = batch(run, after, status=status, assets=tuple(digest(name) for name in names))
    assert await store.log.append(run, after, given) is None


async def reference_count(store: Store, name: str, partition: str = ACME) -> int:
    """The number of runs that refer to an asset. `find` counts no further than 1."""
    counts = {each.asset.sha256: each.runs for each in await store.assets.page(partition, AssetQuery(limit=10_000))}
    entry = await store.assets.find(partition, digest(name))
    assert entry is not None
    assert entry.runs == min(counts[digest(name)], 1)
    return counts[digest(name)]


async def an_asset_that_a_run_names_stays(store: Store) -> None:
    """An asset is not tombstoned while the header of a run or child, its first batch or a later event refers to it."""
    digests = await add_assets(store, *"abcde")
    parent = header(assets=digests[:1])
    assert await store.log.create(parent) == RunCreated()
    begun = header("begun")
    first = batch(begun.key, -1, assets=digests[1:2])
    assert await store.log.create(begun, first=first) == RunCreated()
    spawn = child(parent.key, "born")
    await create_children(store, parent.key, -1, replace(spawn, header=replace(spawn.header, assets=digests[2:3])))
    await reference_assets(store, begun.key, 0, "d", "nobody")
    assert await store.assets.unreferenced_usage(FAR_FUTURE) == AssetUsage(1, 10)
    assert await store.assets.tombstone_unreferenced(FAR_FUTURE, 100) == AssetUsage(1, 10)
    for run, names in (("run-a", "a"), ("begun", "db"), ("born", "c")):
        assert await page_keys(store, run_id=run) == [asset(name).key for name in names]
    assert await page_keys(store) == [asset(name).key for name in "dcba"]
    assert await store.assets.usage(ACME) == AssetUsage(4, 40)


async def an_asset_stays_until_the_last_run_is_gone(store: Store) -> None:
    """A run counts once for an asset, no matter how often it names it. The asset is kept until the last run that refers
    to it is deleted."""
    await add_assets(store, "a")
    runs = [await make_run(store, f"run-{number}") for number in range(3)]
    for count, run in enumerate(runs, 1):
        await reference_assets(store, run, -1, "a", "a")
        await reference_assets(store, run, 0, "a", status="completed")
        assert await reference_count(store, "a") == count
    for left, run in ((2, runs[1]), (1, runs[0]), (0, runs[2])):
        assert await store.assets.tombstone_unreferenced(FAR_FUTURE, 10) == NO_USAGE
        assert await store.retention.delete(run, NOW) is True
        await purge(store)
        assert await reference_count(store, "a") == left
        assert await page_keys(store, run_id=run.run_id) == []
    assert await store.assets.tombstone_unreferenced(FAR_FUTURE, 10) == AssetUsage(1, 10)
    assert await store.assets.tombstones(10) == [asset("a").key]


async def dropping_a_reference_does_not_end_a_hold(store: Store) -> None:
    """A held asset is kept after its last run was deleted, until the hold expires."""
    await store.assets.add(asset(held_until=NOW + 50))
    run = await make_run(store)
    await reference_assets(store, run, -1, "a", status="failed")
    await store.retention.delete(run, NOW)
    await purge(store)
    assert await store.assets.tombstone_unreferenced(NOW + 49, 10) == NO_USAGE
    assert await store.assets.tombstone_unreferenced(NOW + 50, 10) == AssetUsage(1, 10)


async def a_run_refers_to_assets_of_its_partition(store: Store) -> None:
    """A run refers only to assets of its partition. Equal bytes in another partition are not kept for it."""
    for partition in (ACME, OTHER):
        await add_assets(store, "a", partition=partition)
    await add_assets(store, "b", partition=OTHER)
    run = await make_run(store, assets=(digest("a"),))
    await reference_assets(store, run, -1, "a", "b")
    assert await reference_count(store, "a") == 1
    for name in "ab":
        assert await reference_count(store, name, OTHER) == 0
    assert await page_keys(store, OTHER, run_id=run.run_id) == []
    assert await store.assets.tombstone_unreferenced(FAR_FUTURE, 10) == AssetUsage(2, 20)
    assert await page_keys(store, run_id=run.run_id) == [asset("a").key]
    theirs = await make_run(store, partition=OTHER, status="failed")
    assert await page_keys(store, OTHER, run_id=theirs.run_id) == []
    await store.retention.delete(theirs, NOW)
    assert await reference_count(store, "a") == 1


async def a_refused_commit_refers_to_nothing(store: Store) -> None:
    """A refused commit adds no references: a sequence conflict, a run id in use, or a taken slot."""
    digests = await add_assets(store, "a")
    run = await make_run(store, status="running")
    await store.records.save_record(record())
    late = batch(run, 5, assets=digests)
    assert isinstance(await catch(store.log.append(run, 5, late)), SequenceConflict)
    again = batch(run, 0, record=record(), assets=digests)
    assert await store.log.append(run, 0, again) == SlotTaken(record())
    assert isinstance(await catch(store.log.create(header(assets=digests))), HostFault)
    assert await store.log.create(header("run-b", assets=digests), (), record()) == SlotTaken(record())
    assert await reference_count(store, "a") == 0
    assert await store.assets.tombstone_unreferenced(FAR_FUTURE, 10) == AssetUsage(1, 10)


async def assets_of_a_run_are_paged_newest_first(store: Store) -> None:
    """A page of one run has only its assets, the newest asset first, independent of the order of references."""
    names = [f"n{number}" for number in range(12)]
    await add_assets(store, *names)
    run, other = await make_run(store), await make_run(store, "run-b")
    own_names = names[1::2]
    await reference_assets(store, run, -1, *own_names[::-1])
    await reference_assets(store, other, -1, *names)
    wanted = [asset(name).key for name in reversed(own_names)]
    for limit in (1, 2, 6, 50):
        found = await walk_assets(store, limit, run.run_id)
        assert [(each.asset.key, each.runs) for each in found] == [(key, 2) for key in wanted]
    assert await page_keys(store, run_id="nobody") == []


async def many_references_go_in_pieces(store: Store) -> None:
    """After a run with very many references was deleted and purged, exactly its unreferenced assets can be removed."""
    names = [f"n{number}" for number in range(1300)]
    await asyncio.gather(*(add_assets(store, name) for name in names))
    run, other = await make_run(store), await make_run(store, "run-b")
    await reference_assets(store, run, -1, *names, status="completed")
    await reference_assets(store, other, -1, "n7", "n1299")
    await store.retention.delete(run, NOW)
    await purge(store)
    assert (await reference_count(store, "n7"), await reference_count(store, "n8")) == (1, 0)
    total = 0
    while count := (await store.assets.tombstone_unreferenced(FAR_FUTURE, 500)).count:
        total += count
    assert total == 1298
    assert {*await page_keys(store)} == {asset("n7").key, asset("n1299").key}
    assert await store.assets.usage(ACME) == AssetUsage(2, 20)


async def a_reference_racing_a_tombstone_gets_all_or_nothing(store: Store) -> None:
    """If a reference and a tombstone race, either the asset is tombstoned or the run refers to it, never both."""
    names = [f"n{number}" for number in range(10)]
    await add_assets(store, *names)
    referenced: dict[str, list[str]] = {}

    async def refer(name: str) -> None:
        await store.log.create(header(name, assets=(digest(name),)))
        referenced[name] = await page_keys(store, run_id=name)

    calls: list[Any] = []
    for name in names:
        calls += [refer(name), store.assets.tombstone_unreferenced(FAR_FUTURE, 2)]
    await asyncio.gather(*calls)
    tombstones = set(await store.assets.tombstones(100))
    for name in names:
        wanted = [] if asset(name).key in tombstones else [asset(name).key]
        assert referenced[name] == await page_keys(store, run_id=name) == wanted
        assert (await store.assets.find(ACME, digest(name)) is None) == (not referenced[name])


async def references_survive_a_restart(make: Callable[[], Store]) -> None:
    """References survive a restart. The assets of a run that was deleted before the restart can be removed after it."""
    async with opened(make()) as store:
        await add_assets(store, "a", "b")
        run, other = await make_run(store), await make_run(store, "run-b")
        await reference_assets(store, run, -1, "a", "b", status="completed")
        await reference_assets(store, other, -1, "a")
    async with opened(make()) as store:
        assert (await reference_count(store, "a"), await reference_count(store, "b")) == (2, 1)
        assert await page_keys(store, run_id=other.run_id) == [asset("a").key]
        assert await store.assets.tombstone_unreferenced(FAR_FUTURE, 10) == NO_USAGE
        await store.retention.delete(run, NOW)
    async with opened(make()) as store:
        await purge(store)
        assert await store.assets.tombstone_unreferenced(FAR_FUTURE, 10) == AssetUsage(1, 10)
        assert await page_keys(store) == [asset("a").key]
