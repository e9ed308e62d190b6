"""The end of a host and of requests as clients see it: what is still answered, and how what is not is told."""

import asyncio
import contextlib
import json
import logging
import socket
import struct
from collections.abc import Awaitable, Callable
from email.utils import parsedate_to_datetime
from typing import Any

import pytest
import uvicorn

from tests.harness.cases import each_case
from tests.live import KEY, ListeningHost, Stream, delays, echoes, in_thread, listening_host, open_listening, until
from weftwork.adapters.http import app, response_writer
from weftwork.adapters.http.server import http_server
from weftwork.adapters.http.server.limits import ConnectionLimit
from weftwork.protocol.json import schema

HEAD = f"POST /v1/runs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\nContent-Type: application/json\r\n"


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "GRACE_SECONDS", 0.3)


def serve(work: Callable[[ListeningHost], Awaitable[Any]], *workflows: dict[str, Any]) -> Any:
    async def bounded() -> Any:
        async with open_listening(*workflows) as served:
            return await work(served)

    return asyncio.run(bounded())


def quiet(records: list[logging.LogRecord]) -> None:
    """Nothing went wrong in there, and nobody saw a traceback."""
    assert [record for record in records if record.levelno >= logging.ERROR or record.exc_info] == []


def whole(connection: socket.socket) -> tuple[Stream, bytes]:
    """The one answer on a connection that the host then closes."""
    stream = Stream(connection)
    body = stream.raw
    with connection:
        while chunk := connection.recv(65_536):
            body += chunk
    return stream, body


async def cut_in_its_body(served: ListeningHost) -> tuple[Stream, bytes]:
    def begin() -> socket.socket:
        connection = served.connect()
        connection.sendall(f"{HEAD}Content-Length: 50\r\n\r\n{{".encode())
        return connection

    connection = await in_thread(begin)
    await listening_host.until(
        lambda: any("run_asgi" in repr(task) for task in asyncio.all_tasks()), "the request to begin"
    )
    served.stop()
    return await in_thread(whole, connection)


def test_a_request_whose_time_is_up_is_told_to_come_back(caplog: pytest.LogCaptureFixture) -> None:
    stream, body = serve(cut_in_its_body)
    assert (stream.status, stream.headers["retry-after"], stream.headers["connection"]) == (503, "5", "close")
    document = json.loads(body)
    assert (document["error"], document["details"]) == ("service_unavailable", {"retryAfter": 5})
    assert schema.check("error-envelope", document) == []
    assert "traceparent" in stream.headers
    quiet(caplog.records)
    (said,) = [record for record in caplog.records if record.name == "weftwork.http"]
    assert (said.levelname, said.getMessage(), vars(said)["count"]) == (
        "WARNING",
        "requests cancelled by the shutdown",
        1,
    )


def test_a_cut_that_is_not_answered_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    async def nothing(request: Any) -> None:
        raise asyncio.CancelledError

    monkeypatch.setattr(app, "_end_on_shutdown", nothing)
    stream, _ = serve(cut_in_its_body)
    assert (stream.status, stream.headers["content-type"]) == (500, "text/plain; charset=utf-8")


@pytest.mark.parametrize("query", ["", "?streamMode=values"])
def test_a_stream_that_waits_for_the_store_is_ended_properly(caplog: pytest.LogCaptureFixture, query: str) -> None:
    async def work(served: ListeningHost) -> bytes:
        run_id = await served.create("long")
        stream = await in_thread(Stream, await in_thread(served.ask, f"/v1/runs/{run_id}/events{query}"))
        await in_thread(stream.read_until, lambda body: body.endswith(b"\n\n"))

        async def hang(*_: Any) -> list[Any]:
            await asyncio.Event().wait()
            return []

        served.log.read = hang
        for feed in served.host._feeds._feeds.values():
            feed.clear()
        served.stop()
        return await in_thread(stream.finish)

    assert serve(work, delays("long", 15_000)).endswith(b"\n\n")
    quiet(caplog.records)


async def test_a_client_that_does_not_read_does_not_hold_the_end_up(caplog: pytest.LogCaptureFixture) -> None:
    async with open_listening(echoes("large", 40)) as served:
        run_id = await served.create("large", inputs={"text": "x" * 400_000})
        connection = await in_thread(served.ask, f"/v1/runs/{run_id}/events?streamMode=debug", 4096)
        with connection:
            await listening_host.until(lambda: served.readers == 1, "the reader")
            served.stop()
            await served.server
            await listening_host.until(lambda: served.readers == 0, "the reader to be gone")
    quiet(caplog.records)


async def test_connections_that_are_left_are_broken_off() -> None:
    class Left:
        """Its last answer is sent as far as we are concerned; its client has not taken it."""

        def __init__(self) -> None:
            self.transport = self
            self.said: list[str] = []

        def shutdown(self) -> None:
            self.said.append("shutdown")

        def abort(self) -> None:
            self.said.append("abort")

    ending: Any = http_server._UvicornServer(uvicorn.Config("none:none", lifespan="off"), ConnectionLimit(1))
    ending.servers = []
    left = Left()
    ending.server_state.connections.add(left)
    await ending.shutdown()
    assert left.said == ["shutdown", "abort"]


async def test_a_client_that_stops_reading_is_let_go(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(response_writer, "STALL_SECONDS", 0.2)
    caplog.set_level("INFO", "weftwork.http")
    async with open_listening(echoes("large", 40), {**echoes("wide", 40), "edges": []}) as served:
        run_id = await served.create("large", inputs={"text": "x" * 400_000})
        wide_id = await served.create("wide", inputs={"text": "x" * 400_000})
        await served.in_process.call("GET", f"/v1/runs/{wide_id}/events?streamMode=messages")
        for path in (f"/v1/runs/{run_id}/events?streamMode=debug", f"/v1/runs/{wide_id}"):
            caplog.clear()
            with await in_thread(served.ask, path, 4096) as connection:
                await listening_host.until(lambda: broken(caplog.records), "the host to let go")
                await listening_host.until(lambda: served.readers == 0, "the reader to be gone")
                stream = await in_thread(Stream, connection)
                received = await in_thread(_drink, connection)
                length = int(stream.headers.get("content-length", 10**9))
                assert len(stream.raw) + len(received) < length
                assert not received.endswith(b"0\r\n\r\n")
    quiet(caplog.records)


def _drink(connection: socket.socket) -> bytes:
    received: list[bytes] = []
    with contextlib.suppress(ConnectionError):
        while chunk := connection.recv(2**20):
            received.append(chunk)
    return b"".join(received)


def broken(records: list[logging.LogRecord]) -> bool:
    return "client stopped reading, connection closed" in [record.getMessage() for record in records]


@each_case("path", "/health", "/v1/runs", "/nowhere", "/health#odd")
def test_every_answer_has_its_date(host: Any, path: str) -> None:
    raw = f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\nConnection: close\r\n\r\n"
    with host.connect() as connection:
        connection.sendall(raw.encode())
        answer = b""
        while piece := connection.recv(65_536):
            answer += piece
    lines = answer.decode().split("\r\n\r\n")[0].split("\r\n")
    (date,) = [line.split(": ", 1)[1] for line in lines if line.lower().startswith("date: ")]
    assert parsedate_to_datetime(date).year >= 2024


def test_clients_that_reset_their_stream_at_once_are_no_error_of_ours(host: Any) -> None:
    run_id = host.create("conformance-delay", inputs={"delayMs": 3000})
    before = host.errors.count('"level":"error"')
    for _ in range(60):
        with host.connect() as connection:
            line = f"GET /v1/runs/{run_id}/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\n\r\n"
            connection.sendall(line.encode())
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    until(lambda: host.call("GET", "/health").status == 200, "the host")
    host.call("POST", f"/v1/runs/{run_id}/cancel", {})
    assert host.errors.count('"level":"error"') == before, host.errors[-2000:]
