"""Turns: an iteration of the loop has a limited number of them, in order, and a limited number of bytes."""

import asyncio
import contextlib
from itertools import pairwise
from typing import Any

import pytest

from tests.harness.cases import fails_without
from tests.live import delays, in_thread, open_listening
from tests.live.listening_host import until
from tests.readers.crowd import StreamReaders
from tests.readers.test_disconnects import connections
from weftwork.adapters.http.server import write_turns
from weftwork.adapters.http.server.write_turns import TURN_BYTES, TURNS, WriteTurns
from weftwork.engine.streams import feeds
from weftwork.protocol.wire import streams


async def grants(sizes: list[int]) -> list[int]:
    """How many turns of these sizes were granted in each iteration of the loop, in order."""
    turns, order = WriteTurns(), list[int]()

    async def take(number: int, size: int) -> None:
        await turns.next_turn(size)
        order.append(number)

    tasks = [asyncio.create_task(take(number, size)) for number, size in enumerate(sizes)]
    counts = [0]
    while counts[-1] < len(sizes):
        await asyncio.sleep(0)
        counts.append(turns.granted)
    await asyncio.gather(*tasks)
    assert order == sorted(order)
    return [after - before for before, after in pairwise(counts) if after > before]


@pytest.mark.rule("lim-41")
@fails_without(write_turns, "TURNS", 10**6)
async def test_an_iteration_has_few_turns() -> None:
    found = await grants([1] * (5 * TURNS))
    assert found == [TURNS] * 5


@pytest.mark.rule("lim-41")
@fails_without(write_turns, "TURN_BYTES", 2**60)
async def test_an_iteration_has_few_bytes() -> None:
    found = await grants([TURN_BYTES // 4] * 20)
    assert found == [4] * 5
    assert await grants([3 * TURN_BYTES] * 4) == [1] * 4


async def test_a_reader_that_leaves_takes_no_turn_and_the_others_get_theirs() -> None:
    turns = WriteTurns()
    asyncio.get_running_loop().call_soon(turns.charge, TURN_BYTES)
    waiting = [asyncio.create_task(turns.next_turn(1)) for _ in range(3)]
    await asyncio.sleep(0)
    assert turns.granted == 0
    waiting[1].cancel()
    await asyncio.wait(waiting)
    assert [task.cancelled() for task in waiting] == [False, True, False]


async def test_work_that_cannot_wait_delays_what_can() -> None:
    turns = WriteTurns()
    asyncio.get_running_loop().call_soon(turns.charge, TURN_BYTES)
    waiting = asyncio.create_task(turns.next_turn(1))
    await asyncio.sleep(0)
    assert turns.granted == 0
    await waiting
    assert turns.granted == 1


READERS = 3 * TURNS


async def without_limit(turns: WriteTurns, size: int) -> None:
    turns.charge(size)
    turns.granted += 1


@pytest.mark.rule("lim-41")
@fails_without([WriteTurns, "next_turn", without_limit], [feeds, "WAKE_BATCH", 10**6])
@pytest.mark.slow
async def test_many_readers_of_an_event_are_served_over_several_iterations(monkeypatch: pytest.MonkeyPatch) -> None:
    """An iteration serves few readers, and a frame is encoded once for all of them."""
    encoded: list[tuple[int, Any]] = []
    honest = streams._encode_frames

    def watched(frames: Any) -> bytes:
        encoded.extend((frame.id, frame.event) for frame in frames)
        return honest(frames)

    monkeypatch.setattr(streams, "_encode_frames", watched)
    async with open_listening(delays("long", 600_000)) as served:
        run_id = await served.create("long")
        path = f"/v1/runs/{run_id}/events?streamMode=debug"
        crowd = StreamReaders(served.port)
        with contextlib.closing(crowd):
            for _ in range(READERS):
                crowd.add(path)
            await in_thread(crowd.ask)
            await until(lambda: served.readers == READERS, "the readers")
            await in_thread(crowd.read, lambda client: b"node.started" in client.body)
            encoded.clear()
            (turns,) = {each.turns for each in connections(served)}
            cancelling = asyncio.create_task(served.in_process.call("POST", f"/v1/runs/{run_id}/cancel", {}))
            granted = [turns.granted]
            while served.readers:
                await asyncio.sleep(0)
                granted.append(turns.granted)
            await cancelling
            await in_thread(crowd.finish)
    served_in_one = max(after - before for before, after in pairwise(granted))
    assert 0 < served_in_one <= TURNS
    assert len(encoded) == len(set(encoded)) > 0
