"""The fakes keep the promises of the ports they stand for."""

import asyncio

import pytest

from tests.harness.engine_harness import run_ready_tasks
from weftwork.ports.clock import Clock
from weftwork.ports.ids import Ids
from weftwork.protocol.ids import is_path_id
from weftwork.testing.deterministic import START, ManualClock, SequentialIds


async def test_time_stands_still_until_it_is_moved() -> None:
    manual = ManualClock()
    clock: Clock = manual
    woken: list[int] = []

    async def sleep(after: int) -> None:
        await clock.sleep_until(START + after)
        woken.append(after)

    tasks = [asyncio.create_task(sleep(after)) for after in (30, 10, 20, 0, -5)]
    await run_ready_tasks()
    assert woken == [0, -5]
    assert manual.next_wake == START + 10
    manual.advance(9)
    await run_ready_tasks()
    assert woken == [0, -5]
    manual.advance(11)
    await run_ready_tasks()
    assert woken == [0, -5, 10, 20]
    manual.advance(100)
    await asyncio.gather(*tasks)
    assert (clock.now(), manual.next_wake) == (START + 120, None)


async def test_a_sleeper_who_is_cancelled_leaves_nothing_behind() -> None:
    clock = ManualClock()
    task = asyncio.create_task(clock.sleep_until(START + 1))
    await run_ready_tasks()
    task.cancel()
    clock.advance(1)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert clock.next_wake is None


def test_ids_are_the_same_every_time_and_have_the_right_form() -> None:
    ids: Ids = SequentialIds()
    runs = [ids.run_id(0) for _ in range(12)]
    assert runs == sorted(set(runs))
    assert all(is_path_id(each) for each in runs)
    assert len(set(ids.event_ids(3) + ids.event_ids(2))) == 5
    assert ids.token() != ids.token()
    assert int(ids.trace_id(), 16) == 1
    assert SequentialIds().run_id(5) == runs[0]
