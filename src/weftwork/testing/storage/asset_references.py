"""Checks of references: an asset stays as long as a run refers to it, and a run does from the commit that names it."""

import asyncio
from collections.abc import Callable
from typing import Any, Final

from msgspec.structs import replace

from weftwork.ports.storage.assets import AssetCursor, AssetQuery, AssetUsage
from weftwork.ports.storage.event_log import RunCreated, SequenceConflict
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.protocol.errors import HostFault
from weftwork.protocol.run.header import RunKey, Status
from weftwork.testing.storage.assets import FAR_FUTURE, NO_USAGE, asset, digest, page_keys
from weftwork.testing.storage.child_runs import child, create_children
from weftwork.testing.storage.harness import (
    ACME,
    NOW,
    OTHER,
    Check,
    RestartCheck,
    Store,
    batch,
    catch,
    header,
    make_run,
    record,
)


async def add_assets(store: Store, *names: str, partition: str = ACME) -> tuple[str, ...]:
    """Keep assets that nobody holds; their digests."""
    for name in names:
        await store.assets.add(asset(name, partition, held_until=NOW))
    return tuple(digest(name) for name in names)


async def reference_assets(store: Store, run: RunKey, after: int, *names: str, status: Status = "running") -> None:
    """An append whose event names assets."""
    given = replace(batch(run, after, status=status), assets=tuple(digest(name) for name in names))
    assert await store.log.append(run, after, given) is None


async def reference_count(store: Store, name: str, partition: str = ACME) -> int:
    """How many runs refer to it."""
    found = {each.asset.sha256: each.runs for each in await store.assets.page(partition, AssetQuery(limit=10_000))}
    one = await store.assets.find(partition, digest(name))
    assert one is not None
    assert one.runs == min(found[digest(name)], 1)
    return found[digest(name)]


async def purge(store: Store) -> None:
    while await store.retention.purge():
        pass


async def an_asset_that_a_run_names_stays(store: Store) -> None:
    """Assets that are named by the header of a run or child, by its first events or by later ones are not doomed."""
    digests = await add_assets(store, *"abcde")
    parent = header(assets=digests[:1])
    assert await store.log.create(parent) == RunCreated()
    begun = header("begun")
    first = replace(batch(begun.key, -1), assets=digests[1:2])
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
    """However often a run names an asset it refers to it once, until it is deleted; the last one lets go of it."""
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
    """An asset that is held stays when its last run is gone, until it is held no more."""
    await store.assets.add(asset(held_until=NOW + 50))
    run = await make_run(store)
    await reference_assets(store, run, -1, "a", status="failed")
    await store.retention.delete(run, NOW)
    await purge(store)
    assert await store.assets.tombstone_unreferenced(NOW + 49, 10) == NO_USAGE
    assert await store.assets.tombstone_unreferenced(NOW + 50, 10) == AssetUsage(1, 10)


async def a_run_refers_to_assets_of_its_partition(store: Store) -> None:
    """The same digest in another partition is not what a run refers to, and stays no longer for it."""
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
    """What was not committed names nothing: a conflict, a run id in use, a slot that is taken."""
    digests = await add_assets(store, "a")
    run = await make_run(store, status="running")
    await store.records.save_record(record())
    late = replace(batch(run, 5), assets=digests)
    assert isinstance(await catch(store.log.append(run, 5, late)), SequenceConflict)
    again = replace(batch(run, 0, record=record()), assets=digests)
    assert await store.log.append(run, 0, again) == SlotTaken(record())
    assert isinstance(await catch(store.log.create(header(assets=digests))), HostFault)
    assert await store.log.create(header("run-b", assets=digests), (), record()) == SlotTaken(record())
    assert await reference_count(store, "a") == 0
    assert await store.assets.tombstone_unreferenced(FAR_FUTURE, 10) == AssetUsage(1, 10)


async def assets_of_a_run_are_paged_newest_first(store: Store) -> None:
    """A page of one run has its assets only, the newest asset first, in whatever order they were named."""
    names = [f"n{number}" for number in range(12)]
    await add_assets(store, *names)
    run, other = await make_run(store), await make_run(store, "run-b")
    mine = names[1::2]
    await reference_assets(store, run, -1, *mine[::-1])
    await reference_assets(store, other, -1, *names)
    wanted = [asset(name).key for name in reversed(mine)]
    for limit in (1, 2, 6, 50):
        found: list[str] = []
        after: AssetCursor | None = None
        while page := await store.assets.page(ACME, AssetQuery(run.run_id, after, limit)):
            assert len(page) <= limit
            assert {each.runs for each in page} == {2}
            found += [each.asset.key for each in page]
            after = page[-1].asset.cursor
        assert found == wanted
    assert await page_keys(store, run_id="nobody") == []


async def many_references_go_in_pieces(store: Store) -> None:
    """However many assets a run refers to, all of them can go when it is deleted and purged, and no other."""
    names = [f"n{number}" for number in range(1300)]
    await asyncio.gather(*(add_assets(store, name) for name in names))
    run, other = await make_run(store), await make_run(store, "run-b")
    await reference_assets(store, run, -1, *names, status="completed")
    await reference_assets(store, other, -1, "n7", "n1299")
    await store.retention.delete(run, NOW)
    await purge(store)
    assert (await reference_count(store, "n7"), await reference_count(store, "n8")) == (1, 0)
    gone = 0
    while dropped := (await store.assets.tombstone_unreferenced(FAR_FUTURE, 500)).count:
        gone += dropped
    assert gone == 1298
    assert {*await page_keys(store)} == {asset("n7").key, asset("n1299").key}
    assert await store.assets.usage(ACME) == AssetUsage(2, 20)


async def a_reference_racing_a_tombstone_gets_all_or_nothing(store: Store) -> None:
    """Whoever is first, an asset is doomed, or a run refers to it; never both."""
    names = [f"n{number}" for number in range(10)]
    await add_assets(store, *names)
    had: dict[str, list[str]] = {}

    async def refer(name: str) -> None:
        await store.log.create(header(name, assets=(digest(name),)))
        had[name] = await page_keys(store, run_id=name)

    calls: list[Any] = []
    for name in names:
        calls += [refer(name), store.assets.tombstone_unreferenced(FAR_FUTURE, 2)]
    await asyncio.gather(*calls)
    doomed = set(await store.assets.tombstones(100))
    for name in names:
        assert had[name] == await page_keys(store, run_id=name) == [asset(name).key][asset(name).key in doomed :]
        assert (await store.assets.find(ACME, digest(name)) is None) == (not had[name])


async def references_survive_a_restart(make: Callable[[], Store]) -> None:
    """Who refers to what is known in the store that is opened next, and what a deleted run left goes then."""
    store = make()
    await store.open()
    await add_assets(store, "a", "b")
    run, other = await make_run(store), await make_run(store, "run-b")
    await reference_assets(store, run, -1, "a", "b", status="completed")
    await reference_assets(store, other, -1, "a")
    await store.close()

    store = make()
    await store.open()
    assert (await reference_count(store, "a"), await reference_count(store, "b")) == (2, 1)
    assert await page_keys(store, run_id=other.run_id) == [asset("a").key]
    assert await store.assets.tombstone_unreferenced(FAR_FUTURE, 10) == NO_USAGE
    await store.retention.delete(run, NOW)
    await store.close()

    store = make()
    await store.open()
    try:
        await purge(store)
        assert await store.assets.tombstone_unreferenced(FAR_FUTURE, 10) == AssetUsage(1, 10)
        assert await page_keys(store) == [asset("a").key]
    finally:
        await store.close()


CHECKS: Final[tuple[Check, ...]] = (
    an_asset_that_a_run_names_stays,
    an_asset_stays_until_the_last_run_is_gone,
    dropping_a_reference_does_not_end_a_hold,
    a_run_refers_to_assets_of_its_partition,
    a_refused_commit_refers_to_nothing,
    assets_of_a_run_are_paged_newest_first,
    many_references_go_in_pieces,
    a_reference_racing_a_tombstone_gets_all_or_nothing,
)
RESTART_CHECKS: Final[tuple[RestartCheck, ...]] = (references_survive_a_restart,)
