"""The end of a debug bundle over HTTP: at its cap, with its reader, or broken off, and never in between."""

import asyncio
import http.client
import json
import logging
import socket
from typing import Any

import msgspec
import pytest

from tests.live import KEY, ListeningHost, in_thread, open_listening
from tests.live.listening_host import until
from weftwork.adapters.http.response_writer import ResponseWriter
from weftwork.adapters.http.routes import review as module
from weftwork.adapters.http.server.connection import Connection
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.protocol.review.debug_bundle import EVENTS_TRUNCATED, MAX_BYTES
from weftwork.protocol.run.batch import Batch
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.header import Owner, RunHeader
from weftwork.protocol.run.projection import Projection

LONG = "long-run-0000000000"


async def long_run(served: ListeningHost, count: int, size: int) -> str:
    """An ended run of so many events, straight in the store."""
    header = RunHeader(LONG, "live:acme", Owner("acme", "key_1"), "w", "d", 1_000)
    kinds = ["run.started", *["acme.thing"] * (count - 2), "run.completed"]
    payload = msgspec.json.encode({"text": "x" * size})
    events = tuple(Event(LONG, at, f"e-{at:08}", kind, 1_000, payload) for at, kind in enumerate(kinds))
    await served.log.create(header, first=Batch(events, Projection("completed", count - 1, 1_000, 1_000)))
    return f"/v1/runs/{LONG}/debug-bundle"


def fetch(port: int, path: str) -> tuple[int, bytes]:
    """Status and body; raises IncompleteRead for an answer that is broken off."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {KEY}"})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


@pytest.mark.rule("bundle-04", "bundle-05")
async def test_a_run_that_is_too_long_is_cut_to_the_cap() -> None:
    async def work() -> tuple[int, bytes]:
        async with open_listening() as served:
            return await in_thread(fetch, served.port, await long_run(served, 10_000, 1_000))

    status, body = await work()
    document = json.loads(body)
    assert (status, document["truncated"], document["truncatedReason"]) == (200, True, EVENTS_TRUNCATED)
    assert MAX_BYTES - 3_000 < len(body) <= MAX_BYTES
    assert [event["sequence"] for event in document["events"]] == list(range(document["metrics"]["eventCount"]))


def broken_store(served: ListeningHost, good: int) -> None:
    """From its page `good` on, the log cannot be read."""
    honest, count = served.log.read, 0

    async def read(*arguments: Any) -> Any:
        nonlocal count
        count += 1
        if count > good:
            raise StoreUnavailable("away")
        return await honest(*arguments)

    served.log.read = read


async def cut(good: int) -> tuple[int, bytes]:
    async with open_listening() as served:
        path = await long_run(served, 2_000, 1_000)
        broken_store(served, good)
        return await in_thread(fetch, served.port, path)


@pytest.mark.rule("bundle-05")
@pytest.mark.parametrize("good", [0, 1, 5, 20])
async def test_a_bundle_that_cannot_be_finished_is_broken_off(good: int, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    with pytest.raises((http.client.IncompleteRead, ConnectionResetError)):
        await cut(good)
    assert "store unavailable" in caplog.messages


async def test_otherwise_half_of_it_would_look_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    async def as_frames(out: ResponseWriter, data: bytes, more: bool = True) -> None:
        await out._send_message({"type": "http.response.body", "body": data, "more_body": more})
        out._at_boundary = more

    monkeypatch.setattr(ResponseWriter, "write_part", as_frames)
    status, body = await cut(5)
    assert status == 200
    with pytest.raises(json.JSONDecodeError):
        json.loads(body)


def connections() -> list[Connection]:
    """The connections of requests that are being answered."""
    found: list[Any] = [task.get_coro() for task in asyncio.all_tasks()]
    return [coro.cr_frame.f_locals["self"].scope["weftwork.connection"] for coro in found if "run_asgi" in repr(coro)]


@pytest.mark.rule("bundle-07")
@pytest.mark.parametrize("reset", [False, True], ids=["closes", "resets"])
def test_a_bundle_is_made_no_further_than_its_reader_takes_it(monkeypatch: pytest.MonkeyPatch, reset: bool) -> None:
    """It waits for a reader who does not read, and ends when that one goes away."""
    ended: list[str] = []
    honest = module._stream_chunks

    async def noted(*arguments: Any) -> None:
        try:
            await honest(*arguments)
            ended.append("whole")
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    monkeypatch.setattr(module, "_stream_chunks", noted)

    async def work() -> None:
        async with open_listening() as served:
            path = await long_run(served, 8_000, 1_000)
            pages = [0]
            honest_read = served.log.read

            async def read(*arguments: Any) -> Any:
                pages[0] += 1
                return await honest_read(*arguments)

            served.log.read = read
            before = len(asyncio.all_tasks())
            connection = await in_thread(served.ask, path, 4096)
            await until(lambda: any(each.is_full for each in connections()), "the connection to be full")
            seen = pages[0]
            # The buffers of the socket take some of it, and no more is read for the rest.
            assert 0 < seen < 110
            assert ended == []
            if reset:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            connection.close()
            await until(lambda: ended, "the end of it")
            assert ended == ["cancelled"]
            assert pages[0] <= seen + 1
            await until(lambda: len(asyncio.all_tasks()) <= before, "nothing to be left")

    asyncio.run(work())
