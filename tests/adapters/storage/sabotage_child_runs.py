"""Stores in memory that lose track of kin: of children, of what they say, and of what they are told."""

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from weftwork.adapters.memory.event_log import MemoryEventLog
from weftwork.ports.storage.event_log import PendingChildResult, RunPage, RunQuery, StillLive
from weftwork.protocol.errors import HostFault
from weftwork.protocol.run.batch import Batch
from weftwork.protocol.run.header import RunHeader, RunKey

Wrap = Callable[[Any, Any], Any]


def create_children_without_secrets(log: MemoryEventLog, real: Any) -> Any:
    async def append(run: RunKey, expected: int, batch: Batch) -> Any:
        return await real(
            run, expected, replace(batch, child_creates=tuple(replace(each, hidden=()) for each in batch.child_creates))
        )

    return append


def append_without_children(log: MemoryEventLog, real: Any) -> Any:
    async def append(run: RunKey, expected: int, batch: Batch) -> Any:
        try:
            return await real(run, expected, batch)
        except HostFault:
            await real(run, expected, replace(batch, child_creates=()))
            raise

    return append


def list_by_id(log: MemoryEventLog, real: Any) -> Any:
    async def children(run: RunKey, after: str | None, limit: int) -> Any:
        found = sorted(await real(run, None, 1000), key=lambda each: each.header.run_id)
        return [each for each in found if after is None or each.header.run_id > after][:limit]

    return children


def limit_by_count(log: MemoryEventLog, real: Any) -> Any:
    async def count_descendants(run: RunKey) -> int:
        return len(await log.children(run, None, 1000))

    return count_descendants


def ignore_parent(log: MemoryEventLog, real: Any) -> Any:
    async def list_runs(partition: str, query: RunQuery) -> RunPage:
        return await real(partition, replace(query, parent=None))

    return list_runs


def create_without_parent(log: MemoryEventLog, real: Any) -> Any:
    async def create(header: RunHeader, *rest: Any) -> Any:
        return await real(replace(header, parent=None), *rest)

    return create


def list_anybodys_children(log: MemoryEventLog, real: Any) -> Any:
    async def children(run: RunKey, after: str | None, limit: int) -> Any:
        return [each for key in [*log._runs] if key.run_id == run.run_id for each in await real(key, after, limit)]

    return children


def acknowledge_on_read(log: MemoryEventLog, real: Any) -> Any:
    async def child_results(after: PendingChildResult | None, limit: int) -> Any:
        found = await real(after, limit)
        await log.acknowledge_results(tuple(found))
        return found

    return child_results


def acknowledge_everything(log: MemoryEventLog, real: Any) -> Any:
    async def acknowledge_results(heard: tuple[PendingChildResult, ...]) -> None:
        await real(tuple(replace(each, result=replace(each.result, sequence=2**40)) for each in heard))

    return acknowledge_results


def keep_first_result(log: MemoryEventLog, real: Any) -> Any:
    async def child_results(after: PendingChildResult | None, limit: int) -> Any:
        numbers = [*log._child_runs._results]
        place = 0
        if after is not None:
            child = log._runs.get(RunKey(after.parent.partition, after.result.child_run_id))
            place = numbers.index(child.number) + 1 if child is not None and child.number in numbers else len(numbers)
        return [log._child_runs._results[number] for number in numbers[place:]][:limit]

    return child_results


def store_result_always(log: MemoryEventLog, real: Any) -> Any:
    async def append(run: RunKey, expected: int, batch: Batch) -> Any:
        answer = await real(run, expected, batch)
        found = log._runs[run]
        if batch.child_result is not None and found.parent is not None:
            log._child_runs._results[found.number] = PendingChildResult(found.parent.key, batch.child_result)
        return answer

    return append


def delete_unacknowledged(log: MemoryEventLog, real: Any) -> Any:
    async def delete(run: RunKey, *rest: Any) -> Any:
        try:
            return await real(run, *rest)
        except StillLive:
            log._child_runs._results.pop(log._runs[run].number, None)
            return await real(run, *rest)

    return delete


def keep_last_request(log: MemoryEventLog, real: Any) -> Any:
    async def append(run: RunKey, expected: int, batch: Batch) -> Any:
        for order in batch.cancel_requests:
            child = log._runs.get(RunKey(run.partition, order.child_run_id))
            if child is not None:
                log._child_runs._cancel_requests.pop(child.number, None)
        return await real(run, expected, batch)

    return append


def cancel_all_children(log: MemoryEventLog, real: Any) -> Any:
    async def append(run: RunKey, expected: int, batch: Batch) -> Any:
        if batch.cascade_cancel is None:
            return await real(run, expected, batch)
        for child in log._runs[run].children.values():
            log._child_runs._add_cancel_request(log._runs[run], child, batch.cascade_cancel.reason)
        return await real(run, expected, batch)

    return append


def reverse_requests(log: MemoryEventLog, real: Any) -> Any:
    async def cancel_requests(after: RunKey | None, limit: int) -> Any:
        given = [*log._child_runs._cancel_requests.values()]
        names = [each.child for each in given]
        place = names.index(after) + 1 if after in names else 0
        return given[place : place + limit]

    return cancel_requests


def acknowledge_anybodys(log: MemoryEventLog, real: Any) -> Any:
    async def acknowledge_results(heard: tuple[PendingChildResult, ...]) -> None:
        for each in heard:
            for key in [key for key in log._runs if key.run_id == each.result.child_run_id]:
                log._child_runs.acknowledge_result(log._runs[key], each.result.sequence)

    return acknowledge_results


def store_result_before_event(log: MemoryEventLog, real: Any) -> Any:
    async def append(run: RunKey, expected: int, batch: Batch) -> Any:
        log._child_runs.apply_messages(log._runs[run], batch)
        return await real(run, expected, batch)

    return append


CHILD_RUNS: dict[str, tuple[str, Wrap]] = {
    "children_come_with_the_append": ("log.append", create_children_without_secrets),
    "a_refused_append_makes_no_children": ("log.append", append_without_children),
    "children_are_given_in_the_order_of_creation": ("log.children", list_by_id),
    "a_tree_is_counted_by_its_root": ("log.count_descendants", limit_by_count),
    "lists_may_be_of_children": ("log.list_runs", ignore_parent),
    "a_run_may_be_created_as_a_child": ("log.create", create_without_parent),
    "another_partition_has_other_children": ("log.children", list_anybodys_children),
    "a_child_result_is_kept_until_it_is_acknowledged": ("log.child_results", acknowledge_on_read),
    "a_later_child_result_replaces_an_earlier_one": ("log.acknowledge_results", acknowledge_everything),
    "child_results_keep_their_order": ("log.child_results", keep_first_result),
    "an_ended_run_gets_no_child_results": ("log.append", store_result_always),
    "a_child_stays_until_its_result_is_acknowledged": ("log.delete", delete_unacknowledged),
    "a_cancel_request_stands_until_the_child_has_ended": ("log.append", keep_last_request),
    "a_cascade_cancels_the_selected_children": ("log.append", cancel_all_children),
    "cancel_requests_keep_their_order": ("log.cancel_requests", reverse_requests),
    "child_messages_stay_in_their_partition": ("log.acknowledge_results", acknowledge_anybodys),
    "a_refused_append_sends_no_child_messages": ("log.append", store_result_before_event),
}
"""Check -> the port method that is replaced, and the replacement made from the port and its own method."""
