"""Stores in memory that delete too much, too little, or not for good."""

from collections.abc import Callable
from typing import Any

from weftwork.adapters.memory.event_log import MemoryEventLog
from weftwork.ports.storage.event_log import StillLive
from weftwork.protocol.run.header import RunKey

Wrap = Callable[[Any, Any], Any]


def leave_it(log: MemoryEventLog, real: Any) -> Any:
    async def delete(run: RunKey, *rest: Any) -> Any:
        return run in log._runs

    return delete


def delete_live_ones(log: MemoryEventLog, real: Any) -> Any:
    async def delete(run: RunKey, *rest: Any) -> Any:
        try:
            return await real(run, *rest)
        except StillLive:
            del log._runs[run], log._live[run]
            return True

    return delete


def delete_anybodys(log: MemoryEventLog, real: Any) -> Any:
    async def delete(run: RunKey, *rest: Any) -> Any:
        return await real(next((key for key in log._runs if key.run_id == run.run_id), run), *rest)

    return delete


def hand_down(log: MemoryEventLog, real: Any) -> Any:
    """The next run takes over what a deleted one left, as when its number is given out again."""
    left: list[Any] = []

    async def delete(run: RunKey, *rest: Any) -> Any:
        left[:] = [log._runs[run].events] if run in log._runs else []
        return await real(run, *rest)

    make = log.create

    async def create(header: Any, *rest: Any, **named: Any) -> Any:
        answer = await make(header, *rest, **named)
        if left and header.key in log._runs:
            log._runs[header.key].events = left.pop()
        return answer

    log.create = create  # type: ignore[method-assign]
    return delete


def forget_the_place(log: MemoryEventLog, real: Any) -> Any:
    async def delete(run: RunKey, *rest: Any) -> Any:
        answer = await real(run, *rest)
        log._deleted.clear()
        return answer

    return delete


def delete_records_too(log: MemoryEventLog, real: Any) -> Any:
    async def delete(run: RunKey, *rest: Any) -> Any:
        log._records.clear()
        return await real(run, *rest)

    return delete


def record_nothing(log: MemoryEventLog, real: Any) -> Any:
    async def delete(run: RunKey, now: int, record: Any = None) -> Any:
        return await real(run, now)

    return delete


def up_to_and_including(log: MemoryEventLog, real: Any) -> Any:
    async def runs_ended_before(completed_before: int, *rest: Any) -> Any:
        return await real(completed_before + 1, *rest)

    return runs_ended_before


DELETES: dict[str, tuple[str, Wrap]] = {
    "a_deleted_run_is_gone": ("log.delete", leave_it),
    "a_live_run_is_not_deleted": ("log.delete", delete_live_ones),
    "another_partition_deletes_nothing": ("log.delete", delete_anybodys),
    "a_long_run_is_gone_at_once": ("log.delete", hand_down),
    "a_run_id_is_free_after_deletion": ("log.delete", hand_down),
    "a_page_goes_on_after_a_deleted_run": ("log.delete", forget_the_place),
    "recovery_goes_on_after_a_deleted_run": ("log.delete", forget_the_place),
    "a_record_outlives_its_run": ("log.delete", delete_records_too),
    "a_deletion_is_recorded_with_it": ("log.delete", record_nothing),
    "ended_runs_are_found_by_their_end": ("log.runs_ended_before", up_to_and_including),
}
"""Check -> the port method that is replaced, and the replacement made from the port and its own method."""
