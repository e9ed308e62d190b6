"""Snapshots for slow readers: made once for all of them, sent whole, and given up when there are too many."""

import asyncio
import contextlib
from typing import Any

import pytest

from tests.live import ListeningHost, echoes, frames, in_thread, open_listening
from tests.live.listening_host import until
from tests.readers.crowd import StreamReaders, open_readers
from weftwork.adapters.http import sse
from weftwork.adapters.http.app import App
from weftwork.adapters.http.sse import SnapshotCache
from weftwork.protocol.wire import streams

WIDE = {**echoes("wide", 30), "edges": []}
"""Its snapshot is larger than what a connection takes at once."""
READERS = 5


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Snapshots that were encoded, by sequence."""
    found: list[int] = []
    honest = streams.snapshot_frame

    def watched(document: dict[str, Any], sequence: int, timestamp: int) -> Any:
        found.append(sequence)
        return honest(document, sequence, timestamp)

    monkeypatch.setattr(streams, "snapshot_frame", watched)
    return found


async def _wide(served: ListeningHost) -> str:
    run_id = await served.create("wide", inputs={"text": "x" * 200_000})
    await served.in_process.call("GET", f"/v1/runs/{run_id}/events?streamMode=messages")
    return f"/v1/runs/{run_id}/events?streamMode=values"


def _kept(served: ListeningHost) -> SnapshotCache:
    app: App = served.in_process.app
    stream: Any = app._handlers["streamRunEvents"]
    return stream.__self__._snapshots


async def _stall(served: ListeningHost, path: str) -> StreamReaders:
    crowd = StreamReaders(served.port)
    for _ in range(READERS):
        crowd.add(path, room=4096)
    await in_thread(crowd.ask)
    return crowd


async def test_readers_of_one_snapshot_share_it_and_get_all_of_it(made: list[int]) -> None:
    async with open_listening(WIDE) as served:
        path = await _wide(served)
        with contextlib.closing(await _stall(served, path)) as crowd:
            await until(lambda: served.readers == READERS and len(_kept(served)._pending) == 1, "them to be sent it")
            assert not _kept(served).is_over_limit
            await in_thread(crowd.finish)
            (whole,) = {client.shown for client in crowd.clients}
        (frame,) = frames(whole)
        run_id = frame.document["runId"]
        assert frame.document["payload"] == (await served.in_process.call("GET", f"/v1/runs/{run_id}")).document
        await until(lambda: not _kept(served)._pending, "it to be dropped")
    assert len(made) == 1


@pytest.mark.parametrize(("most", "whole"), [(1, False), (2**30, True)])
async def test_slow_readers_are_let_go_when_snapshots_are_too_many(
    most: int, whole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sse, "MAX_PENDING_BYTES", most)

    async with open_listening(WIDE) as served:
        path = await _wide(served)
        with contextlib.closing(await _stall(served, path)) as crowd:
            await in_thread(crowd.read, lambda client: client.is_closed or client.is_complete)
            assert {client.is_complete for client in crowd.clients} == {whole}
        with open_readers(served.port, 1, path) as again:
            await in_thread(again.read, lambda client: client.is_closed or client.is_complete)


@pytest.mark.parametrize("most", [sse.MAX_CONCURRENT_SNAPSHOTS, 2 * READERS])
async def test_few_snapshots_are_made_at_the_same_time(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "MAX_CONCURRENT_SNAPSHOTS", most)

    async with open_listening(WIDE) as served:
        path = await _wide(served)
        honest = served.log.read_run
        reading: list[int] = [0]

        async def watched(*arguments: Any) -> Any:
            reading.append(reading[-1] + 1)
            await asyncio.sleep(0.05)
            reading.append(reading[-1] - 1)
            return await honest(*arguments)

        served.log.read_run = watched
        with contextlib.closing(await _stall(served, path)) as crowd:
            await in_thread(crowd.finish)
        assert max(reading) == min(most, READERS)
