"""Stores in memory that delete too much, too little, or not for good."""

from collections.abc import Callable
from typing import Any

from weftwork.ports.storage.retention import StillLive
from weftwork.protocol.run.header import RunKey

Wrap = Callable[[Any, Any], Any]


def leave_it(port: Any, real: Any) -> Any:
    async def delete(run: RunKey, *rest: Any) -> Any:
        return run in port._table.runs

    return delete


def delete_live_ones(port: Any, real: Any) -> Any:
    async def delete(run: RunKey, *rest: Any) -> Any:
        try:
            return await real(run, *rest)
        except StillLive:
            del port._table.runs[run], port._table.live[run]
            return True

    return delete


def delete_anybodys(port: Any, real: Any) -> Any:
    async def delete(run: RunKey, *rest: Any) -> Any:
        return await real(next((key for key in port._table.runs if key.run_id == run.run_id), run), *rest)

    return delete


def hand_down(port: Any, real: Any) -> Any:
    """The next run takes over what a deleted one left, as when its number is given out again."""
    left: list[Any] = []

    async def delete(run: RunKey, *rest: Any) -> Any:
        left[:] = [port._table.runs[run].events] if run in port._table.runs else []
        return await real(run, *rest)

    make = port._table.add

    def add(header: Any, hidden: Any) -> Any:
        run = make(header, hidden)
        if left:
            run.events = left.pop()
        return run

    port._table.add = add
    return delete


def forget_the_place(port: Any, real: Any) -> Any:
    async def delete(run: RunKey, *rest: Any) -> Any:
        answer = await real(run, *rest)
        port._table.deleted.clear()
        return answer

    return delete


def delete_records_too(port: Any, real: Any) -> Any:
    async def delete(run: RunKey, *rest: Any) -> Any:
        port._records._records.clear()
        return await real(run, *rest)

    return delete


def record_nothing(port: Any, real: Any) -> Any:
    async def delete(run: RunKey, now: int, record: Any = None) -> Any:
        return await real(run, now)

    return delete


def up_to_and_including(port: Any, real: Any) -> Any:
    async def runs_ended_before(completed_before: int, *rest: Any) -> Any:
        return await real(completed_before + 1, *rest)

    return runs_ended_before


DELETES: dict[str, tuple[str, Wrap]] = {
    "a_deleted_run_is_gone": ("retention.delete", leave_it),
    "a_live_run_is_not_deleted": ("retention.delete", delete_live_ones),
    "another_partition_deletes_nothing": ("retention.delete", delete_anybodys),
    "a_long_run_is_gone_at_once": ("retention.delete", hand_down),
    "a_run_id_is_free_after_deletion": ("retention.delete", hand_down),
    "a_page_goes_on_after_a_deleted_run": ("retention.delete", forget_the_place),
    "recovery_goes_on_after_a_deleted_run": ("retention.delete", forget_the_place),
    "a_record_outlives_its_run": ("retention.delete", delete_records_too),
    "a_deletion_is_recorded_with_it": ("retention.delete", record_nothing),
    "ended_runs_are_found_by_their_end": ("retention.runs_ended_before", up_to_and_including),
}
"""Check -> the port method that is replaced, and the replacement made from the port and its own method."""
