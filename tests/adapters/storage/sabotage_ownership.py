"""Stores in memory that give a run to the wrong executor, or let one write that has lost it."""

import asyncio
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from tests.adapters.storage.sabotage_runs import asked, changed, need_a_live_cursor
from weftwork.ports.storage.event_log import FenceLost, SequenceConflict
from weftwork.protocol.run.batch import Batch
from weftwork.protocol.run.header import RunKey

Wrap = Callable[..., Any]


def by_id(runs: Any) -> Any:
    return sorted(runs, key=lambda run: run.key.run_id)


async def need_a_cursor_that_can_be_taken(port: Any, real: Any, fence: int, after: RunKey | None, *rest: Any) -> Any:
    return await need_a_live_cursor(port, lambda *page: real(fence, *page), after, *rest)


async def take_the_last_fence(port: Any, real: Any, run: RunKey, fence: int) -> bool:
    port._table.runs[run].fence = fence
    return True


async def look_wait_take(port: Any, real: Any, run: RunKey, fence: int) -> bool:
    if port._table.runs[run].fence > fence:
        return False
    await asyncio.sleep(0)
    return await take_the_last_fence(port, real, run, fence)


async def take_what_has_ended(port: Any, real: Any, run: RunKey, fence: int) -> bool:
    return await real(run, fence) or run in port._table.runs


async def ignore_the_election(port: Any, real: Any, run: RunKey, fence: int) -> bool:
    epoch, port._table.elections.epoch = port._table.elections.epoch, 0
    try:
        return await real(run, fence)
    finally:
        port._table.elections.epoch = epoch


async def keep_the_retry_time(port: Any, real: Any, run: RunKey, fence: int) -> bool:
    at = port._table.runs[run].retry_at
    is_taken = await real(run, fence)
    port._table.runs[run].retry_at = at
    return is_taken


async def refuse_lower_fences_only(
    port: Any, real: Any, run: RunKey, expected: int, batch: Batch, fence: int | None = None
) -> Any:
    known = port._table.runs[run].fence
    return await real(run, expected, batch, known if fence is not None and fence > known else fence)


async def conflict_first(
    port: Any, real: Any, run: RunKey, expected: int, batch: Batch, fence: int | None = None
) -> Any:
    entry = port._table.runs.get(run)
    if entry is not None and entry.projection.last_sequence != expected:
        raise SequenceConflict
    return await real(run, expected, batch, fence)


async def fence_first(port: Any, real: Any, run: RunKey, expected: int, batch: Batch, fence: int | None = None) -> Any:
    if fence is not None and port._table.runs[run].fence != fence:
        raise FenceLost
    return await real(run, expected, batch, fence)


async def leave_children_to_anybody(
    port: Any, real: Any, run: RunKey, expected: int, batch: Batch, fence: int | None = None
) -> Any:
    await real(run, expected, replace(batch, child_creates=()), fence)
    for child in batch.child_creates:
        port._table.add(child.header, child.hidden, 0)


async def of_any_executor(port: Any, real: Any, fence: int, until: int, limit: int) -> Any:
    return [run for other in range(fence + 2) for run in await real(other, until, limit)]


OWNERSHIP: dict[str, tuple[str, Wrap]] = {
    "untaken_runs_are_found": ("ownership.untaken", changed(by_id)),
    "untaken_runs_come_in_pages": ("ownership.untaken", need_a_cursor_that_can_be_taken),
    "untaken_runs_end_at_a_bound": (
        "ownership.untaken",
        asked(lambda port, fence, after, limit, until=None, of=None: (fence, after, limit, None, of)),
    ),
    "untaken_runs_of_one_partition": (
        "ownership.untaken",
        asked(lambda port, fence, after, limit, until=None, of=None: (fence, after, limit, until, None)),
    ),
    "a_taken_run_is_left_to_its_executor": (
        "ownership.untaken",
        asked(lambda port, fence, *rest: (fence + 1, *rest)),
    ),
    "a_run_is_taken_forward_only": ("ownership.take", take_the_last_fence),
    "only_a_live_run_can_be_taken": ("ownership.take", take_what_has_ended),
    "one_of_many_executors_keeps_a_run": ("ownership.take", look_wait_take),
    "an_executor_that_was_replaced_takes_no_runs": ("ownership.take", ignore_the_election),
    "a_lost_fence_writes_nothing": ("log.append", refuse_lower_fences_only),
    "a_lost_fence_is_told_before_a_conflict": ("log.append", conflict_first),
    "a_taken_slot_is_told_before_a_lost_fence": ("log.append", fence_first),
    "new_runs_have_the_fence_of_their_executor": ("log.append", leave_children_to_anybody),
    "a_run_is_tried_again_at_its_time": ("ownership.due_retries", of_any_executor),
    "a_run_that_was_taken_again_is_not_retried": ("ownership.take", keep_the_retry_time),
}
"""Check -> the port method that is replaced, and the replacement made from the port and its own method."""
