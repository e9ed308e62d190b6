"""Snapshots for slow readers: made once for all of them, sent whole, and given up when there are too many."""

import asyncio
import contextlib
import socket
from typing import Any

import pytest

from tests.harness.cases import fails_without
from tests.live import ListeningHost, echoes, frames, in_thread, listening_host, open_listening
from tests.live.listening_host import until
from tests.readers.crowd import StreamReader, StreamReaders
from tests.readers.test_disconnects import connections
from weftwork.adapters.http import shared_bodies, snapshots
from weftwork.adapters.http.app import App
from weftwork.adapters.http.server.connection import Connection
from weftwork.adapters.http.shared_bodies import SharedBodies
from weftwork.engine.api.runs import Runs
from weftwork.engine.host import executor
from weftwork.protocol.run.projection import StoredRun

WIDE = {**echoes("wide", 30), "edges": []}
"""Its snapshot is larger than what a connection takes at once."""
READERS = 5
ROOM = 4096
MAX_BUFFERED = 64 * 1024


@pytest.fixture(autouse=True)
def small_socket_buffers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel takes next to nothing for a client that does not read."""
    honest = listening_host.bind

    def bind(host: str, port: int) -> socket.socket:
        listener = honest(host, port)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, ROOM)
        return listener

    monkeypatch.setattr(listening_host, "bind", bind)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Snapshots that were encoded, by sequence."""
    found: list[int] = []
    honest = Runs.snapshot_pieces

    async def watched(service: Runs, run: StoredRun, children: dict[str, Any]) -> Any:
        found.append(run.projection.last_sequence)
        return await honest(service, run, children)

    monkeypatch.setattr(Runs, "snapshot_pieces", watched)
    return found


async def _wide(served: ListeningHost) -> str:
    run_id = await served.create("wide", inputs={"text": "x" * 5_000})
    await served.in_process.call("GET", f"/v1/runs/{run_id}/events?streamMode=messages")
    return f"/v1/runs/{run_id}/events?streamMode=values"


def kept(served: ListeningHost) -> SharedBodies:
    app: App = served.in_process.app
    stream: Any = app._handlers["streamRunEvents"]
    return stream.__self__._bodies


async def _stall(served: ListeningHost, path: str) -> StreamReaders:
    crowd = StreamReaders(served.port)
    for _ in range(READERS):
        crowd.add(path, room=ROOM)
    await in_thread(crowd.ask)
    return crowd


async def test_readers_of_one_snapshot_share_it_and_get_all_of_it(made: list[int]) -> None:
    async with open_listening(WIDE) as served:
        path = await _wide(served)
        with contextlib.closing(await _stall(served, path)) as crowd:
            await until(lambda: served.readers == READERS and len(kept(served)._pending) == 1, "them to be sent it")
            assert kept(served).may_wait()
            await in_thread(crowd.finish)
            (whole,) = {client.shown for client in crowd.clients}
        assert len(made) == 1
        (frame,) = frames(whole)
        run_id = frame.document["runId"]
        assert frame.document["payload"] == (await served.in_process.call("GET", f"/v1/runs/{run_id}")).document
        await until(lambda: not kept(served)._pending, "it to be dropped")


@pytest.mark.rule("lim-40")
@pytest.mark.parametrize(("most", "whole"), [(1, False), (2**30, True)])
async def test_slow_readers_are_let_go_when_documents_are_too_many(
    most: int, whole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_bodies, "MAX_PENDING_BYTES", most)

    async with open_listening(WIDE) as served:
        path, other = await _wide(served), await _wide(served)
        with contextlib.closing(await _stall(served, path)) as first:
            await until(lambda: served.readers == READERS and kept(served).size, "the first document")
            # Alone it is not too large, and its readers are waited for.
            with contextlib.closing(await _stall(served, other.partition("/events")[0])) as second:
                await in_thread(second.read, lambda client: client.is_closed or is_whole(client))
                assert {is_whole(client) for client in second.clients} == {whole}
            await in_thread(first.finish)


def is_whole(client: StreamReader) -> bool:
    head, _, body = bytes(client.raw).partition(b"\r\n\r\n")
    length, *_ = [*[int(line[15:]) for line in head.split(b"\r\n") if line.startswith(b"content-length:")], -1]
    return len(body) == length


@pytest.mark.parametrize("most", [snapshots.MAX_CONCURRENT_SNAPSHOTS, 2 * READERS])
async def test_few_snapshots_are_made_at_the_same_time(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "MAX_CONCURRENT_SNAPSHOTS", most)
    monkeypatch.setattr(executor, "MAX_CONCURRENT_STATE_READS", most)

    async with open_listening(WIDE) as served:
        paths = [await _wide(served) for _ in range(READERS)]
        honest = served.log.read_run
        reading: list[int] = [0]

        async def watched(*arguments: Any) -> Any:
            reading.append(reading[-1] + 1)
            await asyncio.sleep(0.05)
            reading.append(reading[-1] - 1)
            return await honest(*arguments)

        served.log.read_run = watched
        crowd = StreamReaders(served.port)
        with contextlib.closing(crowd):
            for path in paths:
                crowd.add(path, room=ROOM)
            await in_thread(crowd.ask)
            await in_thread(crowd.finish)
        assert max(reading) == min(most, READERS)


def widen(connection: Connection) -> None:
    connection.transport.set_write_buffer_limits(high=2**30)


@pytest.mark.rule("lim-40")
@fails_without(Connection, "disable_buffering", widen, errors=(TimeoutError,))
async def test_a_client_that_does_not_read_has_one_chunk_in_its_connection() -> None:
    """For a snapshot, a frame of a snapshot and a page of events. All of a kind share one document."""
    async with open_listening(WIDE) as served:
        values = await _wide(served)
        run = values.partition("/events")[0]
        with contextlib.ExitStack() as stack:
            for path in (values, run, f"{run}/events/poll"):
                stack.enter_context(contextlib.closing(await _stall(served, path)))
            await until(lambda: stalled(served) == 3 * READERS, "them to be stalled", 5)
            held = [each.transport.get_write_buffer_size() for each in connections(served)]
            assert max(held) <= MAX_BUFFERED
            assert len(kept(served)._pending) == 2, "the frame and the snapshot are one document"


def stalled(served: ListeningHost) -> int:
    return sum(each.is_full for each in connections(served))
