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


def born_without_secrets(log: MemoryEventLog, real: Any) -> Any:
    async def append(run: RunKey, expected: int, batch: Batch) -> Any:
        return await real(
            run, expected, replace(batch, spawns=tuple(replace(each, hidden=()) for each in batch.child_creates))
        )

    return append


def event_without_children(log: MemoryEventLog, real: Any) -> Any:
    async def append(run: RunKey, expected: int, batch: Batch) -> Any:
        try:
            return await real(run, expected, batch)
        except HostFault:
            await real(run, expected, replace(batch, spawns=()))
            raise

    return append


def by_id(log: MemoryEventLog, real: Any) -> Any:
    async def children(run: RunKey, after: str | None, limit: int) -> Any:
        found = sorted(await real(run, None, 1000), key=lambda each: each.header.run_id)
        return [each for each in found if after is None or each.header.run_id > after][:limit]

    return children


def count_children(log: MemoryEventLog, real: Any) -> Any:
    async def descendants(run: RunKey) -> int:
        return len(await log.children(run, None, 1000))

    return descendants


def any_parent(log: MemoryEventLog, real: Any) -> Any:
    async def list_runs(partition: str, query: RunQuery) -> RunPage:
        return await real(partition, replace(query, parent=None))

    return list_runs


def created_without_kin(log: MemoryEventLog, real: Any) -> Any:
    async def create(header: RunHeader, *rest: Any) -> Any:
        return await real(replace(header, parent=None), *rest)

    return create


def anybodys_children(log: MemoryEventLog, real: Any) -> Any:
    async def children(run: RunKey, after: str | None, limit: int) -> Any:
        return [each for key in [*log._runs] if key.run_id == run.run_id for each in await real(key, after, limit)]

    return children


def heard_when_read(log: MemoryEventLog, real: Any) -> Any:
    async def news(after: PendingChildResult | None, limit: int) -> Any:
        found = await real(after, limit)
        await log.acknowledge_results(tuple(found))
        return found

    return news


def hear_everything(log: MemoryEventLog, real: Any) -> Any:
    async def hear(heard: tuple[PendingChildResult, ...]) -> None:
        await real(tuple(replace(each, told=replace(each.result, sequence=2**40)) for each in heard))

    return hear


def last_told_last(log: MemoryEventLog, real: Any) -> Any:
    async def news(after: PendingChildResult | None, limit: int) -> Any:
        numbers = [*log._child_runs._results]
        place = 0
        if after is not None:
            child = log._runs.get(RunKey(after.parent.partition, after.result.child_run_id))
            place = numbers.index(child.number) + 1 if child is not None and child.number in numbers else len(numbers)
        return [log._child_runs._results[number] for number in numbers[place:]][:limit]

    return news


def told_in_any_case(log: MemoryEventLog, real: Any) -> Any:
    async def append(run: RunKey, expected: int, batch: Batch) -> Any:
        answer = await real(run, expected, batch)
        found = log._runs[run]
        if batch.child_result is not None and found.parent is not None:
            log._child_runs._results[found.number] = PendingChildResult(found.parent.key, batch.child_result)
        return answer

    return append


def deleted_unheard(log: MemoryEventLog, real: Any) -> Any:
    async def delete(run: RunKey, *rest: Any) -> Any:
        try:
            return await real(run, *rest)
        except StillLive:
            log._child_runs._results.pop(log._runs[run].number, None)
            return await real(run, *rest)

    return delete


def the_last_order_counts(log: MemoryEventLog, real: Any) -> Any:
    async def append(run: RunKey, expected: int, batch: Batch) -> Any:
        for order in batch.cancel_requests:
            child = log._runs.get(RunKey(run.partition, order.child_run_id))
            if child is not None:
                log._child_runs._cancel_requests.pop(child.number, None)
        return await real(run, expected, batch)

    return append


def cascade_to_all(log: MemoryEventLog, real: Any) -> Any:
    async def append(run: RunKey, expected: int, batch: Batch) -> Any:
        if batch.cascade_cancel is None:
            return await real(run, expected, batch)
        for child in log._runs[run].children.values():
            log._child_runs._add_cancel_request(log._runs[run], child, batch.cascade_cancel.reason)
        return await real(run, expected, batch)

    return append


def first_given_first(log: MemoryEventLog, real: Any) -> Any:
    async def instructions(after: RunKey | None, limit: int) -> Any:
        given = [*log._child_runs._cancel_requests.values()]
        names = [each.child for each in given]
        place = names.index(after) + 1 if after in names else 0
        return given[place : place + limit]

    return instructions


def heard_of_anybody(log: MemoryEventLog, real: Any) -> Any:
    async def hear(heard: tuple[PendingChildResult, ...]) -> None:
        for each in heard:
            for key in [key for key in log._runs if key.run_id == each.result.child_run_id]:
                log._child_runs.acknowledge_result(log._runs[key], each.result.sequence)

    return hear


def spoken_before_it_happened(log: MemoryEventLog, real: Any) -> Any:
    async def append(run: RunKey, expected: int, batch: Batch) -> Any:
        log._child_runs.apply_messages(log._runs[run], batch)
        return await real(run, expected, batch)

    return append


KIN: dict[str, tuple[str, Wrap]] = {
    "children_come_with_the_append": ("log.append", born_without_secrets),
    "a_refused_append_makes_no_children": ("log.append", event_without_children),
    "children_are_given_in_the_order_of_creation": ("log.children", by_id),
    "a_tree_is_counted_by_its_root": ("log.descendants", count_children),
    "lists_may_be_of_children": ("log.list_runs", any_parent),
    "a_run_may_be_created_as_a_child": ("log.create", created_without_kin),
    "another_partition_has_other_children": ("log.children", anybodys_children),
    "news_is_kept_until_it_is_heard": ("log.news", heard_when_read),
    "a_later_word_stands_for_an_earlier_one": ("log.hear", hear_everything),
    "news_keeps_its_order": ("log.news", last_told_last),
    "nobody_tells_a_run_that_has_ended": ("log.append", told_in_any_case),
    "a_child_stays_until_its_end_is_heard": ("log.delete", deleted_unheard),
    "an_order_stands_until_the_child_has_ended": ("log.append", the_last_order_counts),
    "a_cascade_reaches_the_children_it_is_about": ("log.append", cascade_to_all),
    "orders_keep_their_order": ("log.instructions", first_given_first),
    "kin_of_another_partition_is_not_reached": ("log.hear", heard_of_anybody),
    "a_refused_append_reaches_nobody": ("log.append", spoken_before_it_happened),
}
"""Check -> the port method that is replaced, and the replacement made from the port and its own method."""
