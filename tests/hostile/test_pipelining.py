"""Several requests on one connection: each in its turn, and everybody is told when the client goes away."""

import asyncio
from functools import partial
from typing import Any

import pytest
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tests.hostile.raw_http import AUTH, BODY, HEALTH, HOST, POST, connect, parse, receive_answers, send_pieces
from tests.live import ListeningHost, Stream, delays, in_thread, open_listening
from tests.live.host import TIMEOUT_SECONDS
from tests.live.listening_host import until
from weftwork.adapters.http.server.connection import Connection


def serve(work: Any) -> Any:
    async def run() -> Any:
        async with open_listening(delays("long", 600_000), delays("conformance-noop", 0)) as served:
            return await work(served)

    return asyncio.run(run())


def get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\n".encode() + HOST + AUTH + b"\r\n"


async def leave_a_stream(served: ListeningHost, patience: float = TIMEOUT_SECONDS / 2) -> bool:
    """Whether the reader of a stream is gone once its client is, who had asked for something else already."""
    run_id = await served.create("long")
    with await in_thread(connect, served.port) as connection:
        await in_thread(send_pieces, connection, get(f"/v1/runs/{run_id}/events") + HEALTH)
        await until(lambda: served.readers == 1, "the stream")
        await in_thread(Stream, connection)
    try:
        await until(lambda: served.readers == 0, "the reader to go", patience)
    except AssertionError:
        await served.in_process.call("POST", f"/v1/runs/{run_id}/cancel", {})
        await until(lambda: served.readers == 0, "the run to end")
        return False
    return True


def test_a_stream_ends_with_its_client_whatever_waits_behind_it() -> None:
    assert serve(leave_a_stream)


def test_when_only_the_newest_request_is_told_a_stream_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Connection, "connection_lost", HttpToolsProtocol.connection_lost)
    assert not serve(partial(leave_a_stream, patience=2))


@pytest.mark.parametrize(
    "bad", [b"GARBAGE\r\n\r\n", b"GET /health HTTP/1.1\r\n\r\n", POST + b"Content-Length: x\r\n\r\n"]
)
def test_a_stream_goes_on_to_its_end_before_a_bad_request_is_refused(bad: bytes) -> None:
    async def work(served: ListeningHost) -> bytes:
        run_id = await served.create("long")
        with await in_thread(connect, served.port) as connection:
            await in_thread(send_pieces, connection, get(f"/v1/runs/{run_id}/events?streamMode=debug"))
            await until(lambda: served.readers == 1, "the stream")
            await in_thread(send_pieces, connection, bad + HEALTH)
            await served.in_process.call("POST", f"/v1/runs/{run_id}/cancel", {})
            return await in_thread(_all, connection)

    stream, refusal = parse(serve(work))[0]
    assert b"run.cancelled" in stream.body
    assert (refusal.status, refusal.document["error"]) == (400, "validation_error")


def _all(connection: Any) -> bytes:
    received = b""
    while chunk := connection.recv(65_536):
        received += chunk
    return received


def test_a_torn_body_ends_its_request_and_no_other() -> None:
    """The first request waits for its body, which turns out to be none; nothing of it is left behind."""

    async def work(served: ListeningHost) -> tuple[list[int], int]:
        with await in_thread(connect, served.port) as connection:
            await in_thread(send_pieces, connection, POST + b"Transfer-Encoding: chunked\r\n\r\n5\r\n{")
            await until(lambda: len(tasks()) == 1, "the request")
            await in_thread(send_pieces, connection, b"\r\n\r\n\r\n", b"zz\r\n" * 3)
            heard = await in_thread(receive_answers, connection)
        await until(lambda: not tasks(), "the request to end")
        return [each.status for each in heard], len(tasks())

    def tasks() -> list[Any]:
        return [task for task in asyncio.all_tasks() if "run_asgi" in repr(task.get_coro())]

    assert serve(work) == ([400], 0)


def test_answers_come_in_the_order_of_the_requests() -> None:
    """The first waits for news that never come, the others could be answered at once."""

    async def work(served: ListeningHost) -> list[int]:
        run_id = await served.create("long")
        first = get(f"/v1/runs/{run_id}/events/poll?lastSequence=1&timeout=1")
        second = POST + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY
        with await in_thread(connect, served.port) as connection:
            await in_thread(send_pieces, connection, first + second + get("/v1/runs/nowhere") + HEALTH)
            return [each.status for each in await in_thread(receive_answers, connection, 4)]

    assert serve(work) == [200, 201, 404, 200]
