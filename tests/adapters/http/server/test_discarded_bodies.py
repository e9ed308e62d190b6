"""A client that is refused while it still sends reads the answer; one that never stops sending is cut."""

import asyncio
import json
import select
import socket
import urllib.error
import urllib.request
from typing import Any

import pytest

from tests.live import KEY, Host, ListeningHost, Stream, in_thread, open_listening
from weftwork.adapters.http.message import Request

CAP = 1_048_576
TIMES = 20


@pytest.mark.parametrize(
    ("size", "key", "kind", "status"),
    [
        (CAP * 105 // 100, KEY, "application/json", 413),
        (CAP * 19 // 10, KEY, "application/json", 413),
        (900_000, "wrong", "application/json", 401),
        (900_000, KEY, "text/plain", 415),
    ],
)
def test_an_ordinary_client_always_reads_why_it_was_refused(
    host: Host, size: int, key: str, kind: str, status: int
) -> None:
    headers = {"Authorization": f"Bearer {key}", "Content-Type": kind}
    seen: list[tuple[int, str]] = []
    for _ in range(TIMES):
        request = urllib.request.Request(f"{host.address}/v1/runs", b"x" * size, headers)
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=60)
        with refused.value as answer:
            seen.append((answer.code, json.loads(answer.read())["error"]))
    assert len(set(seen)) == 1
    assert seen[0][0] == status


def _send_on(served: ListeningHost) -> tuple[int, Any]:
    """Begin to send, wait until the answer is there, and only then send the rest and read it."""
    rest = b"x" * 900_000
    head = f"POST /v1/runs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer wrong\r\nContent-Length: {len(rest)}\r\n\r\n"
    with served.connect() as connection:
        connection.sendall(head.encode())
        assert select.select([connection], [], [], 120)[0]
        for at in range(0, len(rest), 50_000):
            connection.sendall(rest[at : at + 50_000])
        stream = Stream(connection)
        body = stream.raw
        while chunk := connection.recv(65_536):
            body += chunk
    return stream.status, json.loads(body)["error"]


def _refuse() -> tuple[int, Any]:
    async def work() -> tuple[int, Any]:
        async with open_listening() as served:
            return await in_thread(_send_on, served)

    return asyncio.run(work())


def test_a_client_may_send_on_after_the_answer() -> None:
    assert _refuse() == (401, "unauthenticated")


def test_a_connection_that_closes_with_the_answer_breaks_its_client(monkeypatch: pytest.MonkeyPatch) -> None:
    async def nothing(request: Request) -> None: ...

    monkeypatch.setattr(Request, "discard_body", nothing)
    with pytest.raises(ConnectionError):
        _refuse()


def test_a_body_that_never_ends_is_cut(host: Host) -> None:
    def pour(connection: socket.socket) -> None:
        start = "POST /v1/runs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer wrong\r\n"
        connection.sendall(f"{start}Transfer-Encoding: chunked\r\n\r\n".encode())
        for _ in range(64):
            connection.sendall(b"100000\r\n" + b" " * CAP + b"\r\n")

    with host.connect() as connection, pytest.raises(ConnectionError):
        pour(connection)


def test_a_body_that_never_comes_is_not_waited_for(host: Host) -> None:
    with host.connect() as connection:
        connection.sendall(b"POST /v1/runs HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\n")
        assert Stream(connection).status == 401
        while connection.recv(65_536):
            pass
