"""Stores in memory that mix up assets, child runs and interrupts."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from msgspec.structs import replace

from tests.adapters.storage.sabotage_runs import answered, asked, changed, moved_to_the_end, of_projection, queried
from weftwork.adapters.memory.assets import MemoryAssets
from weftwork.ports.storage.assets import AssetQuery, StoredAsset
from weftwork.ports.storage.child_runs import PendingChildResult
from weftwork.ports.storage.ownership import UntakenRun
from weftwork.ports.storage.retention import StillLive
from weftwork.ports.storage.run_queries import InterruptPage, InterruptQuery
from weftwork.protocol.errors import HostFault
from weftwork.protocol.run.batch import Batch
from weftwork.protocol.run.header import RunKey

Wrap = Callable[..., Any]


async def the_last_one_stays(port: MemoryAssets, real: Any, asset: StoredAsset, quota: int = 0) -> Any:
    kept = await real(asset, quota)
    port._partitions[asset.partition][asset.sha256].asset = asset
    return kept


async def hold_shorter(port: MemoryAssets, real: Any, partition: str, sha256: str, until: int) -> Any:
    held = await real(partition, sha256, until)
    if held is not None:
        port._partitions[partition][sha256].asset = replace(held, held_until=until)
    return held


async def measure_wait_write(port: MemoryAssets, real: Any, asset: StoredAsset, quota: int = 0) -> Any:
    used = (await port.usage(asset.partition)).size
    await asyncio.sleep(0)
    return await real(asset, quota if used + asset.size > quota else 0)


async def count_one_partition(port: MemoryAssets, real: Any, asset: StoredAsset, quota: int = 0) -> Any:
    used = (await port.usage(asset.partition)).size
    return await real(asset, quota if used + asset.size > quota else 0)


async def find_anybodys(port: MemoryAssets, real: Any, partition: str, sha256: str) -> Any:
    owner = next((name for name, own in port._partitions.items() if sha256 in own), partition)
    return await real(owner, sha256)


async def end_with_the_cursor(port: MemoryAssets, real: Any, partition: str, query: AssetQuery) -> Any:
    after = query.after
    gone = after is not None and after.sha256 not in port._partitions.get(partition, {})
    return [] if gone else await real(partition, query)


async def leave_the_key(port: MemoryAssets, real: Any, partition: str, sha256: str, key: str) -> Any:
    kept = await port.find(partition, sha256)
    return replace(kept.asset, key=key) if kept is not None else None


async def know_no_doomed_ones(port: MemoryAssets, real: Any, keys: list[str]) -> Any:
    return {key for key in await real(keys) if key not in port._tombstones}


async def pardon_the_key(port: MemoryAssets, real: Any, asset: StoredAsset, quota: int = 0) -> Any:
    kept = await real(asset, quota)
    for key in [key for key in port._tombstones if asset.sha256 in key]:
        del port._tombstones[key]
    return kept


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


async def refer_first(port: Any, real: Any, run: RunKey, expected: int, batch: Any) -> Any:
    port._table.assets.add_references(run, batch.assets)
    return await real(run, expected, batch)


def release_a_piece(port: MemoryAssets, real: Any) -> Any:
    def release_references(run: RunKey) -> None:
        for sha256 in list(port._references.pop(run, ()))[:500]:
            port._partitions[run.partition][sha256].runs.discard(run.run_id)

    return release_references


async def look_wait_doom(port: MemoryAssets, real: Any, now: int, limit: int) -> Any:
    loose = port._unreferenced(now)[:limit]
    await asyncio.sleep(0)
    for asset in loose:
        port._partitions[asset.partition].pop(asset.sha256, None)
        port._tombstones[asset.key] = None


ASSETS: dict[str, tuple[str, Wrap]] = {
    "an_asset_is_kept": ("assets.add", asked(lambda port, asset, quota=0: (replace(asset, media_type="a/b"), quota))),
    "equal_bytes_are_kept_once": ("assets.add", the_last_one_stays),
    "an_existing_asset_can_be_held": ("assets.hold", hold_shorter),
    "a_full_partition_takes_no_more": ("assets.add", asked(lambda port, asset, quota=0: (asset,))),
    "a_quota_counts_test_and_live_assets_together": ("assets.add", count_one_partition),
    "many_at_once_do_not_exceed_the_quota": ("assets.add", measure_wait_write),
    "another_partition_sees_no_assets": ("assets.find", find_anybodys),
    "assets_are_paged_newest_first": ("assets.page", changed(lambda page: page[::-1])),
    "a_page_goes_on_though_its_cursor_is_gone": ("assets.page", end_with_the_cursor),
    "bytes_that_were_lost_get_another_key": ("assets.rekey", leave_the_key),
    "unreferenced_assets_are_tombstoned": (
        "assets.tombstone_unreferenced",
        asked(lambda port, now, limit: (now, 2**40)),
    ),
    "a_tombstone_is_known_until_it_is_cleared": ("assets.known_keys", know_no_doomed_ones),
    "tombstoned_bytes_may_be_added_again": ("assets.add", pardon_the_key),
    "an_asset_that_a_run_names_stays": ("assets.add_references", lambda port, real: lambda run, digests: None),
    "an_asset_stays_until_the_last_run_is_gone": ("assets.release_references", let_go_for_all),
    "dropping_a_reference_does_not_end_a_hold": ("assets.release_references", end_the_hold),
    "a_run_refers_to_assets_of_its_partition": ("assets.add_references", refer_everywhere),
    "a_refused_commit_refers_to_nothing": ("log.append", refer_first),
    "assets_of_a_run_are_paged_newest_first": ("assets.page", changed(lambda page: page[::-1])),
    "many_references_go_in_pieces": ("assets.release_references", release_a_piece),
    "a_reference_racing_a_tombstone_gets_all_or_nothing": ("assets.tombstone_unreferenced", look_wait_doom),
}
"""Check -> the port method that is replaced, and the replacement made from the port and its own method."""


async def create_children_without_secrets(port: Any, real: Any, run: RunKey, expected: int, batch: Batch) -> Any:
    return await real(
        run, expected, replace(batch, child_creates=tuple(replace(each, hidden=()) for each in batch.child_creates))
    )


async def append_without_children(port: Any, real: Any, run: RunKey, expected: int, batch: Batch) -> Any:
    try:
        return await real(run, expected, batch)
    except HostFault:
        await real(run, expected, replace(batch, child_creates=()))
        raise


async def list_by_id(port: Any, real: Any, run: RunKey, after: str | None, limit: int) -> Any:
    found = sorted(await real(run, None, 1000), key=lambda each: each.header.run_id)
    return [each for each in found if after is None or each.header.run_id > after][:limit]


async def list_anybodys_children(port: Any, real: Any, run: RunKey, after: str | None, limit: int) -> Any:
    return [each for key in [*port._table.runs] if key.run_id == run.run_id for each in await real(key, after, limit)]


async def acknowledge_on_read(port: Any, real: Any, after: PendingChildResult | None, limit: int) -> Any:
    found = await real(after, limit)
    await port.acknowledge_results(tuple(found))
    return found


async def acknowledge_everything(port: Any, real: Any, heard: tuple[PendingChildResult, ...]) -> None:
    await real(tuple(replace(each, result=replace(each.result, sequence=2**40)) for each in heard))


async def keep_first_result(port: Any, real: Any, after: PendingChildResult | None, limit: int) -> Any:
    numbers = [*port._table.tree.results]
    place = 0
    if after is not None:
        child = port._table.runs.get(RunKey(after.parent.partition, after.result.child_run_id))
        place = numbers.index(child.number) + 1 if child is not None and child.number in numbers else len(numbers)
    return [port._table.tree.results[number] for number in numbers[place:]][:limit]


async def store_result_always(port: Any, real: Any, run: RunKey, expected: int, batch: Batch) -> Any:
    answer = await real(run, expected, batch)
    found = port._table.runs[run]
    if batch.child_result is not None and found.parent is not None:
        port._table.tree.results[found.number] = PendingChildResult(found.parent.key, batch.child_result)
    return answer


async def delete_unacknowledged(port: Any, real: Any, run: RunKey, *rest: Any) -> Any:
    try:
        return await real(run, *rest)
    except StillLive:
        port._table.tree.results.pop(port._table.runs[run].number, None)
        return await real(run, *rest)


async def keep_last_request(port: Any, real: Any, run: RunKey, expected: int, batch: Batch) -> Any:
    for order in batch.cancel_requests:
        child = port._table.runs.get(RunKey(run.partition, order.child_run_id))
        if child is not None:
            port._table.tree.cancel_requests.pop(child.number, None)
    return await real(run, expected, batch)


async def cancel_all_children(port: Any, real: Any, run: RunKey, expected: int, batch: Batch) -> Any:
    if batch.cascade_cancel is None:
        return await real(run, expected, batch)
    for child in port._table.runs[run].children.values():
        port._table.tree._add_cancel_request(port._table.runs[run], child, batch.cascade_cancel.reason)
    return await real(run, expected, batch)


async def reverse_requests(port: Any, real: Any, after: RunKey | None, limit: int) -> Any:
    given = [*port._table.tree.cancel_requests.values()]
    names = [each.child for each in given]
    place = names.index(after) + 1 if after in names else 0
    return given[place : place + limit]


async def acknowledge_anybodys(port: Any, real: Any, heard: tuple[PendingChildResult, ...]) -> None:
    for each in heard:
        for key in [key for key in port._table.runs if key.run_id == each.result.child_run_id]:
            port._table.tree.acknowledge_result(port._table.runs[key], each.result.sequence)


async def store_result_before_event(port: Any, real: Any, run: RunKey, expected: int, batch: Batch) -> Any:
    port._table.tree.apply_messages(port._table.runs[run], batch)
    return await real(run, expected, batch)


async def limit_by_count(port: Any, real: Any, run: RunKey) -> int:
    return len(await port.children(run, None, 1000))


CHILD_RUNS: dict[str, tuple[str, Wrap]] = {
    "children_come_with_the_append": ("log.append", create_children_without_secrets),
    "a_refused_append_makes_no_children": ("log.append", append_without_children),
    "children_are_given_in_the_order_of_creation": ("child_runs.children", list_by_id),
    "a_tree_is_counted_by_its_root": ("child_runs.count_descendants", limit_by_count),
    "lists_may_be_of_children": ("queries.list_runs", queried(lambda query: {"parent": None})),
    "a_run_may_be_created_as_a_child": (
        "log.create",
        asked(lambda port, header, *rest: (replace(header, parent=None), *rest)),
    ),
    "another_partition_has_other_children": ("child_runs.children", list_anybodys_children),
    "a_child_result_is_kept_until_it_is_acknowledged": ("child_runs.child_results", acknowledge_on_read),
    "a_later_child_result_replaces_an_earlier_one": ("child_runs.acknowledge_results", acknowledge_everything),
    "child_results_keep_their_order": ("child_runs.child_results", keep_first_result),
    "an_ended_run_gets_no_child_results": ("log.append", store_result_always),
    "a_child_stays_until_its_result_is_acknowledged": ("retention.delete", delete_unacknowledged),
    "a_cancel_request_stands_until_the_child_has_ended": ("log.append", keep_last_request),
    "a_cascade_cancels_the_selected_children": ("log.append", cancel_all_children),
    "cancel_requests_keep_their_order": ("child_runs.cancel_requests", reverse_requests),
    "child_messages_stay_in_their_partition": ("child_runs.acknowledge_results", acknowledge_anybodys),
    "a_refused_append_sends_no_child_messages": ("log.append", store_result_before_event),
}
"""Check -> the port method that is replaced, and the replacement made from the port and its own method."""


def by_id(page: InterruptPage) -> InterruptPage:
    return replace(page, interrupts=tuple(sorted(page.interrupts, key=lambda each: each.interrupt_id)))


async def never_close(port: Any, real: Any, run: RunKey, expected: int, batch: Batch) -> Any:
    rows = tuple(row for row in batch.rows if row.kind != "interrupt" or row.listing is not None)
    return await real(run, expected, replace(batch, rows=rows))


def count_instead_of_cursor(port: Any, real: Any) -> Any:
    given = 0

    async def list_interrupts(partition: str, query: InterruptQuery) -> Any:
        nonlocal given
        everything = (await real(partition, InterruptQuery(limit=1000))).interrupts
        page = everything[given : given + query.limit]
        given += len(page)
        return InterruptPage(page, str(given), given < len(everything))

    return list_interrupts


async def start_over(port: Any, real: Any, partition: str, query: InterruptQuery) -> Any:
    page = await real(partition, query)
    return page if page.interrupts else await real(partition, replace(query, after=None))


async def list_everybodys(port: Any, real: Any, partition: str, query: InterruptQuery) -> Any:
    pages = [await real(name, query) for name in port._table.interrupts]
    return InterruptPage(tuple(each for page in pages for each in page.interrupts), None, False)


async def list_in_any_case(port: Any, real: Any, run: RunKey, expected: int, batch: Batch) -> Any:
    found = port._table.runs.get(run)
    if found is not None:
        for row in batch.rows:
            found.rows[row.kind, row.name] = row
            port._table.interrupts[run.partition].set_open(found, row)
    return await real(run, expected, batch)


async def outlive_the_run(port: Any, real: Any, partition: str, query: InterruptQuery) -> Any:
    known = port._table.interrupts[partition]
    return InterruptPage(tuple(known._open_interrupt(place)[1] for place in known._positions), None, False)


async def parked_or_not(port: Any, real: Any, after: int = -1) -> Any:
    return min((at for run in port._table.live.values() if (at := run.projection.wake_at) is not None), default=None)


INTERRUPTS: dict[str, tuple[str, Wrap]] = {
    "open_interrupts_are_listed_oldest_first": ("queries.list_interrupts", changed(by_id)),
    "an_interrupt_is_listed_while_it_is_open": ("log.append", never_close),
    "filters_of_interrupts_combine": ("queries.list_interrupts", queried(lambda query: {"due_before": None})),
    "resolved_interrupts_do_not_disturb_a_walk": ("queries.list_interrupts", count_instead_of_cursor),
    "an_unknown_place_ends_the_list": ("queries.list_interrupts", start_over),
    "another_partition_sees_no_interrupts": ("queries.list_interrupts", list_everybodys),
    "a_refused_append_lists_nothing": ("log.append", list_in_any_case),
    "an_ended_run_has_no_open_interrupts": ("queries.list_interrupts", outlive_the_run),
    "that_a_run_is_parked_comes_back": ("log.read_run", of_projection(parked=False)),
    "parked_runs_are_not_recovered": (
        "ownership.untaken",
        answered(lambda port, fence, after, limit, *_: [UntakenRun(run, False) for run in [*port._table.live][:limit]]),
    ),
    "the_next_wake_is_the_earliest": ("queries.next_wake", parked_or_not),
    "due_runs_come_earliest_first": ("queries.due_runs", asked(lambda port, until, limit: (until + 1, limit))),
    "timed_runs_are_listed_in_pages": ("queries.timed_runs", asked(lambda port, after, limit: (None, limit))),
    "signing_keys_are_listed_oldest_first": ("signing.all", changed(lambda keys: keys[::-1])),
    "a_signing_key_is_replaced_by_its_kid": ("signing.put", moved_to_the_end("_keys", "kid")),
    "a_dropped_signing_key_is_gone": ("signing.drop", answered(lambda port, kid: kid in port._keys)),
}
"""Check -> the port method that is replaced, and the replacement made from the port and its own method."""
