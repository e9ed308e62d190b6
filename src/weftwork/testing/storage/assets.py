"""Checks of the assets port: what is kept, for whom, and until when."""

import asyncio
from collections.abc import Callable
from typing import Any, Final

from msgspec.structs import replace

from weftwork.ports.storage.assets import AssetCursor, AssetEntry, AssetQuery, AssetUsage, QuotaReached, StoredAsset
from weftwork.testing.storage.harness import ACME, NOW, OTHER, Check, RestartCheck, Store, catch, make_run

HOLD_MS: Final = 1000
FAR_FUTURE: Final = NOW + 10**9
"""By then nothing is held any more."""
NO_USAGE: Final = AssetUsage(0, 0)


def digest(name: str) -> str:
    return name.encode().hex().rjust(64, "0")


def asset(name: str = "a", partition: str = ACME, **fields: Any) -> StoredAsset:
    """An asset of ten bytes; `fields` replace its own."""
    plain: dict[str, Any] = {
        "key": f"{partition}/{digest(name)}-1",
        "size": 10,
        "media_type": "image/png",
        "created_at": NOW,
        "held_until": NOW + HOLD_MS,
    }
    return StoredAsset(partition=partition, sha256=digest(name), **(plain | fields))


async def page_keys(store: Store, partition: str = ACME, **query: Any) -> list[str]:
    """The keys of a page."""
    return [found.asset.key for found in await store.assets.page(partition, AssetQuery(**query))]


async def an_asset_is_kept(store: Store) -> None:
    """What was kept is found by its digest and shown in a page, as it was, and counted."""
    given = asset(size=2**40, media_type="application/x-\u00e9", held_until=0)
    assert await store.assets.find(ACME, given.sha256) is None
    assert (await page_keys(store), await store.assets.usage(ACME)) == ([], NO_USAGE)
    assert await store.assets.add(given) == given
    assert await store.assets.find(ACME, given.sha256) == AssetEntry(given, 0)
    assert await store.assets.page(ACME, AssetQuery()) == [AssetEntry(given, 0)]
    assert await store.assets.usage(ACME) == AssetUsage(1, 2**40)
    assert await store.assets.find(ACME, digest("b")) is None


async def equal_bytes_are_kept_once(store: Store) -> None:
    """Bytes that are there stay the row they are, with the later of both instants, and count once."""
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
    """`hold` makes an asset stay longer, never shorter, and makes none."""
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
    """A quota may be reached and not exceeded; the refused asset leaves nothing, and what is there is not refused."""
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
    assert await store.assets.add(asset("a", OTHER), 10), "each partition has its own"
    assert await store.assets.add(asset("d"), 30)
    assert await store.assets.add(asset("e"), 0), "any number"
    assert await store.assets.tombstone_unreferenced(FAR_FUTURE, 100) == AssetUsage(6, 50)
    assert await store.assets.usage(ACME) == NO_USAGE
    assert await store.assets.add(asset("c", size=20), 20), "there is room again"


async def many_at_once_do_not_exceed_the_quota(store: Store) -> None:
    """Of assets that come at once no more are kept than there is room for."""
    calls = [catch(store.assets.add(asset(f"n{number}"), 45)) for number in range(20)]
    refused = [error for error in await asyncio.gather(*calls) if error is not None]
    assert [type(error) for error in refused] == [QuotaReached] * 16
    assert await store.assets.usage(ACME) == AssetUsage(4, 40)


async def another_partition_sees_no_assets(store: Store) -> None:
    """Assets are found, listed, counted and held in their own partition; equal bytes of two are two assets."""
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
    """Pages follow the order in which assets were kept, whatever their clocks said, each asset once."""
    names = [f"n{number}" for number in range(11)]
    for number, name in enumerate(names):
        await store.assets.add(asset(name, created_at=NOW - number))
        await store.assets.add(asset(name, OTHER))
    await store.assets.add(asset("n3", held_until=FAR_FUTURE))
    wanted = [asset(name).key for name in reversed(names)]
    for limit in (1, 3, 11, 50):
        found: list[str] = []
        after: AssetCursor | None = None
        while page := await store.assets.page(ACME, AssetQuery(after=after, limit=limit)):
            assert len(page) <= limit
            found += [each.asset.key for each in page]
            after = page[-1].asset.cursor
        assert found == wanted
    assert await page_keys(store, limit=0) == []
    assert await store.assets.tombstone_unreferenced(NOW + HOLD_MS, 100) == AssetUsage(21, 210)
    assert await page_keys(store) == [asset("n3").key]


async def a_page_goes_on_though_its_cursor_is_gone(store: Store) -> None:
    """Behind an asset that was doomed meanwhile, or whose bytes came again, come all that were created before it."""
    for number in range(10):
        held = NOW if number in (4, 5, 8) else FAR_FUTURE
        await store.assets.add(asset(f"n{number}", created_at=NOW + number // 2, held_until=held))
    await store.assets.add(asset(partition=OTHER, created_at=NOW + 2, held_until=FAR_FUTURE))
    places = [AssetCursor(NOW + number // 2, digest(f"n{number}")) for number in range(10)]
    assert await store.assets.tombstone_unreferenced(NOW, 100) == AssetUsage(3, 30)

    async def behind(place: AssetCursor, **query: Any) -> list[str]:
        found = await store.assets.page(ACME, AssetQuery(after=place, **query))
        return [bytes.fromhex(each.asset.sha256).decode()[-1] for each in found]

    assert await behind(places[6]) == list("3210")
    assert await behind(places[5]) == await behind(places[4]) == list("3210")
    assert await behind(places[8], limit=3) == list("976"), "of one instant: again, rather than not at all"
    assert await behind(AssetCursor(NOW + 1, digest("nobody"))) == list("3210")
    assert await behind(AssetCursor(NOW - 1, digest("nobody"))) == []
    assert await behind(AssetCursor(2**62, digest("nobody")), limit=1) == ["9"]
    run = await make_run(store, assets=tuple(digest(f"n{number}") for number in (1, 2, 7)))
    assert await behind(places[5], run_id=run.run_id) == list("21")
    await store.assets.add(asset("n5", key="again", created_at=NOW + 9))
    assert await behind(places[5]) == list("3210"), "what came again stands elsewhere"


async def unreferenced_assets_are_tombstoned(store: Store) -> None:
    """Assets that are not held any more go, of all partitions, the longest overdue first, at most so many at once."""
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
    """Keys of assets and doomed keys are known; a doomed one is given, the oldest first, until it is buried."""
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
    """Bytes that were doomed and come again are a new asset under their new key; the old key stays doomed."""
    await store.assets.add(asset())
    await store.assets.tombstone_unreferenced(FAR_FUTURE, 10)
    again = asset(key="again")
    assert await store.assets.add(again) == again
    assert await store.assets.find(ACME, digest("a")) == AssetEntry(again, 0)
    assert await store.assets.tombstones(10) == [asset().key]
    assert await store.assets.usage(ACME) == AssetUsage(1, 10)


async def assets_survive_a_restart(make: Callable[[], Store]) -> None:
    """Assets, what they count, and doomed keys are there in the store that is opened next."""
    store = make()
    await store.open()
    for name in "abc":
        await store.assets.add(asset(name))
    await store.assets.hold(ACME, digest("b"), FAR_FUTURE + 1)
    await store.assets.add(asset("d", held_until=NOW))
    await store.assets.tombstone_unreferenced(NOW, 10)
    await store.close()

    store = make()
    await store.open()
    try:
        assert await page_keys(store) == [asset(name).key for name in "cba"]
        assert await store.assets.usage(ACME) == AssetUsage(3, 30)
        assert await store.assets.tombstones(10) == [asset("d").key]
        assert isinstance(await catch(store.assets.add(asset("e"), 39)), QuotaReached)
        assert await store.assets.tombstone_unreferenced(FAR_FUTURE, 10) == AssetUsage(2, 20)
        assert await page_keys(store) == [asset("b").key]
        assert len(await store.assets.tombstones(10)) == 3
    finally:
        await store.close()


async def bytes_that_were_lost_get_another_key(store: Store) -> None:
    """The row has the new key from then on, and nothing else of it is another."""
    kept = await store.assets.add(asset("a"))
    moved = await store.assets.rekey(ACME, digest("a"), "key-2")
    assert moved == replace(kept, key="key-2")
    found = await store.assets.find(ACME, digest("a"))
    assert found is not None
    assert found.asset == moved
    assert await store.assets.known_keys([kept.key, "key-2"]) == {"key-2"}
    assert await store.assets.usage(ACME) == AssetUsage(1, 10)
    assert await store.assets.rekey(OTHER, digest("a"), "key-3") is None


CHECKS: Final[tuple[Check, ...]] = (
    an_asset_is_kept,
    bytes_that_were_lost_get_another_key,
    equal_bytes_are_kept_once,
    an_existing_asset_can_be_held,
    a_full_partition_takes_no_more,
    many_at_once_do_not_exceed_the_quota,
    another_partition_sees_no_assets,
    assets_are_paged_newest_first,
    a_page_goes_on_though_its_cursor_is_gone,
    unreferenced_assets_are_tombstoned,
    a_tombstone_is_known_until_it_is_cleared,
    tombstoned_bytes_may_be_added_again,
)
RESTART_CHECKS: Final[tuple[RestartCheck, ...]] = (assets_survive_a_restart,)
