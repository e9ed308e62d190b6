"""Stores in memory that lose track of kin: of children, of what they say, and of what they are told."""

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from weftwork.ports.storage.child_runs import PendingChildResult
from weftwork.ports.storage.retention import StillLive
from weftwork.ports.storage.run_queries import RunPage, RunQuery
from weftwork.protocol.errors import HostFault
from weftwork.protocol.run.batch import Batch
from weftwork.protocol.run.header import RunHeader, RunKey

Wrap = Callable[[Any, Any], Any]


def create_children_without_secrets(port: Any, real: Any) -> Any:
    async def append(run: RunKey, expected: int, batch: Batch) -> Any:
        return await real(
            run, expected, replace(batch, child_creates=tuple(replace(each, hidden=()) for each in batch.child_creates))
        )

    return append


def append_without_children(port: Any, real: Any) -> Any:
    async def append(run: RunKey, expected: int, batch: Batch) -> Any:
        try:
            return await real(run, expected, batch)
        except HostFault:
            await real(run, expected, replace(batch, child_creates=()))
            raise

    return append


def list_by_id(port: Any, real: Any) -> Any:
    async def children(run: RunKey, after: str | None, limit: int) -> Any:
        found = sorted(await real(run, None, 1000), key=lambda each: each.header.run_id)
        return [each for each in found if after is None or each.header.run_id > after][:limit]

    return children


def limit_by_count(port: Any, real: Any) -> Any:
    async def count_descendants(run: RunKey) -> int:
        return len(await port.children(run, None, 1000))

    return count_descendants


def ignore_parent(port: Any, real: Any) -> Any:
    async def list_runs(partition: str, query: RunQuery) -> RunPage:
        return await real(partition, replace(query, parent=None))

    return list_runs


def create_without_parent(port: Any, real: Any) -> Any:
    async def create(header: RunHeader, *rest: Any) -> Any:
        return await real(replace(header, parent=None), *rest)

    return create


def list_anybodys_children(port: Any, real: Any) -> Any:
    async def children(run: RunKey, after: str | None, limit: int) -> Any:
        return [
            each for key in [*port._table.runs] if key.run_id == run.run_id for each in await real(key, after, limit)
        ]

    return children


def acknowledge_on_read(port: Any, real: Any) -> Any:
    async def child_results(after: PendingChildResult | None, limit: int) -> Any:
        found = await real(after, limit)
        await port.acknowledge_results(tuple(found))
        return found

    return child_results


def acknowledge_everything(port: Any, real: Any) -> Any:
    async def acknowledge_results(heard: tuple[PendingChildResult, ...]) -> None:
        await real(tuple(replace(each, result=replace(each.result, sequence=2**40)) for each in heard))

    return acknowledge_results


def keep_first_result(port: Any, real: Any) -> Any:
    async def child_results(after: PendingChildResult | None, limit: int) -> Any:
        numbers = [*port._table.tree.results]
        place = 0
        if after is not None:
            child = port._table.runs.get(RunKey(after.parent.partition, after.result.child_run_id))
            place = numbers.index(child.number) + 1 if child is not None and child.number in numbers else len(numbers)
        return [port._table.tree.results[number] for number in numbers[place:]][:limit]

    return child_results


def store_result_always(port: Any, real: Any) -> Any:
    async def append(run: RunKey, expected: int, batch: Batch) -> Any:
        answer = await real(run, expected, batch)
        found = port._table.runs[run]
        if batch.child_result is not None and found.parent is not None:
            port._table.tree.results[found.number] = PendingChildResult(found.parent.key, batch.child_result)
        return answer

    return append


def delete_unacknowledged(port: Any, real: Any) -> Any:
    async def delete(run: RunKey, *rest: Any) -> Any:
        try:
            return await real(run, *rest)
        except StillLive:
            port._table.tree.results.pop(port._table.runs[run].number, None)
            return await real(run, *rest)

    return delete


def keep_last_request(port: Any, real: Any) -> Any:
    async def append(run: RunKey, expected: int, batch: Batch) -> Any:
        for order in batch.cancel_requests:
            child = port._table.runs.get(RunKey(run.partition, order.child_run_id))
            if child is not None:
                port._table.tree.cancel_requests.pop(child.number, None)
        return await real(run, expected, batch)

    return append


def cancel_all_children(port: Any, real: Any) -> Any:
    async def append(run: RunKey, expected: int, batch: Batch) -> Any:
        if batch.cascade_cancel is None:
            return await real(run, expected, batch)
        for child in port._table.runs[run].children.values():
            port._table.tree._add_cancel_request(port._table.runs[run], child, batch.cascade_cancel.reason)
        return await real(run, expected, batch)

    return append


def reverse_requests(port: Any, real: Any) -> Any:
    async def cancel_requests(after: RunKey | None, limit: int) -> Any:
        given = [*port._table.tree.cancel_requests.values()]
        names = [each.child for each in given]
        place = names.index(after) + 1 if after in names else 0
        return given[place : place + limit]

    return cancel_requests


def acknowledge_anybodys(port: Any, real: Any) -> Any:
    async def acknowledge_results(heard: tuple[PendingChildResult, ...]) -> None:
        for each in heard:
            for key in [key for key in port._table.runs if key.run_id == each.result.child_run_id]:
                port._table.tree.acknowledge_result(port._table.runs[key], each.result.sequence)

    return acknowledge_results


def store_result_before_event(port: Any, real: Any) -> Any:
    async def append(run: RunKey, expected: int, batch: Batch) -> Any:
        port._table.tree.apply_messages(port._table.runs[run], batch)
        return await real(run, expected, batch)

    return append


CHILD_RUNS: dict[str, tuple[str, Wrap]] = {
    "children_come_with_the_append": ("log.append", create_children_without_secrets),
    "a_refused_append_makes_no_children": ("log.append", append_without_children),
    "children_are_given_in_the_order_of_creation": ("child_runs.children", list_by_id),
    "a_tree_is_counted_by_its_root": ("child_runs.count_descendants", limit_by_count),
    "lists_may_be_of_children": ("queries.list_runs", ignore_parent),
    "a_run_may_be_created_as_a_child": ("log.create", create_without_parent),
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
