"""A reader who goes away is noticed at once, whatever its stream waits for, and leaves nothing behind."""

import asyncio
import gc
import socket
import weakref
from typing import Any

import pytest

from tests.harness.cases import problems
from tests.live import KEY, ListeningHost, Stream, delays, echoes, in_thread
from tests.live.listening_host import until, with_host
from weftwork.adapters.http.server.connection import Connection

WORKFLOWS = (delays("long", 15_000), echoes("large", 20))


async def waits_for_news(served: ListeningHost) -> socket.socket:
    run_id = await served.create("long")
    stream = await in_thread(Stream, await in_thread(served.ask, f"/v1/runs/{run_id}/events"))
    await in_thread(stream.read_until, lambda body: b"run.started" in body)
    return stream.connection


async def waits_with_a_body(served: ListeningHost) -> socket.socket:
    run_id = await served.create("long")
    connection = await in_thread(served.connect)
    head = f"GET /v1/runs/{run_id}/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\n"
    connection.sendall(f"{head}Content-Length: 5\r\n\r\nhello".encode())
    await in_thread((await in_thread(Stream, connection)).read_until, lambda body: b"run.started" in body)
    return connection


async def waits_for_a_snapshot(served: ListeningHost) -> socket.socket:
    run_id = await served.create("long")
    stream = await in_thread(Stream, await in_thread(served.ask, f"/v1/runs/{run_id}/events?streamMode=values"))
    await in_thread(stream.read_until, lambda body: b"state.snapshot" in body)
    return stream.connection


async def waits_for_room(served: ListeningHost) -> socket.socket:
    run_id = await served.create("large", inputs={"text": "x" * 400_000})
    connection = await in_thread(served.ask, f"/v1/runs/{run_id}/events?streamMode=debug", 4096)
    await until(lambda: any(each.is_full for each in connections(served)), "the connection to be full")
    return connection


async def waits_for_the_store(served: ListeningHost) -> socket.socket:
    run_id = await served.create("long")
    asked = asyncio.Event()

    async def hang(*_: Any) -> list[Any]:
        asked.set()
        await asyncio.Event().wait()
        return []

    served.log.read = hang
    connection = await in_thread(served.ask, f"/v1/runs/{run_id}/events")
    await asked.wait()
    return connection


async def parked_run(served: ListeningHost) -> str:
    """A run in a long delay. The host has a task that wakes such runs, and none for each of them."""
    run_id = await served.create("long")
    await until(lambda: not served.host._executor._live, "the run to leave memory")
    # Unloading, and waiting for another time, end tasks that are cancelled here.
    for _ in range(10):
        await asyncio.sleep(0)
    return run_id


def connections(served: ListeningHost) -> list[Connection]:
    return [coro.cr_frame.f_locals["self"].scope["weftwork.connection"] for coro in served.requests]


PLACES = (waits_for_news, waits_with_a_body, waits_for_a_snapshot, waits_for_room, waits_for_the_store)


HOST_WITH_FLOWS = with_host(*WORKFLOWS)


@HOST_WITH_FLOWS
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("reset", [False, True], ids=["closes", "resets"])
async def test_a_stream_ends_with_its_client(
    served: ListeningHost, place: Any, reset: bool, caplog: pytest.LogCaptureFixture
) -> None:
    await parked_run(served)
    before = len(asyncio.all_tasks())
    connection = await place(served)
    assert served.readers == 1
    if reset:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    connection.close()
    await until(lambda: served.readers == 0, "the stream to end")
    await until(lambda: not served.requests, "the request to end")
    assert len(asyncio.all_tasks()) <= before + 1, "the run may go on, and nothing else"
    assert problems(caplog.records) == []


@HOST_WITH_FLOWS
async def test_a_stream_is_one_task(served: ListeningHost) -> None:
    connections = [await waits_for_news(served)]
    await parked_run(served)
    before = len(asyncio.all_tasks())
    run_id = await parked_run(served)
    with_run = len(asyncio.all_tasks())
    for _ in range(10):
        connections.append(await in_thread(served.ask, f"/v1/runs/{run_id}/events"))
    await until(lambda: served.readers == 11, "the readers")
    assert len(asyncio.all_tasks()) - with_run == 10
    assert with_run - before <= 1
    for connection in connections:
        connection.close()


@HOST_WITH_FLOWS
@pytest.mark.parametrize("guarded", [True, False])
@pytest.mark.parametrize("place", PLACES)
async def test_nothing_of_a_connection_waits_for_the_garbage_collector(
    served: ListeningHost, place: Any, guarded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not guarded:
        monkeypatch.setattr(Connection, "_break_reference_cycles", lambda _: None)
    gc.disable()
    try:
        connection = await place(served)
        (gone,) = map(weakref.ref, connections(served))
        connection.close()
        await until(lambda: served.readers == 0 and not served.requests, "the stream to end")
        for _ in range(10):
            await asyncio.sleep(0)
        assert (gone() is None) is guarded
    finally:
        gc.enable()


@HOST_WITH_FLOWS
async def test_the_proof_sees_a_stream_that_is_not_told(served: ListeningHost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Connection, "on_lost", property(lambda _: None, lambda _, value: None))
    connection = await waits_for_news(served)
    (left,) = connections(served)
    connection.close()
    await until(lambda: left.parser is None, "the connection to be gone")
    for _ in range(10):
        await asyncio.sleep(0)
    assert served.readers == 1
