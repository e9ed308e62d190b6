"""How much of a request may not be its body: heads, trailers and what stands between the pieces of a body."""

import asyncio
import select
from typing import Any

import pytest

from tests.hostile.raw_http import (
    BODY,
    HEALTH,
    HOST,
    POST,
    check_error,
    connect,
    exchange,
    receive_answers,
    send_pieces,
)
from tests.hostile.test_connection import Wire, new_connection
from tests.live import Host
from weftwork.adapters.http.server import limits
from weftwork.adapters.http.server.limits import MAX_HEAD_BYTES, MAX_HEADERS, MAX_TARGET_BYTES

GET = b"GET /health HTTP/1.1\r\n" + HOST
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"


def of_size(size: int) -> bytes:
    return GET + b"X: " + b"a" * (size - len(GET) - 7) + b"\r\n\r\n"


@pytest.mark.parametrize("behind", [b"", b"x" * 300_000], ids=["alone", "with more behind"])
def test_a_head_is_as_large_as_it_may_be(host: Host, behind: bytes) -> None:
    # The first line counts with its target alone.
    largest = of_size(MAX_HEAD_BYTES)
    assert len(largest) == MAX_HEAD_BYTES
    with connect(host.port) as connection:
        send_pieces(connection, largest)
        assert receive_answers(connection, 1)[0].status == 200
        send_pieces(connection, of_size(MAX_HEAD_BYTES + 200) + behind)
        (answer,) = receive_answers(connection)
    assert answer.document["message"] == limits.head_too_large_message()


@pytest.mark.parametrize(("count", "status"), [(MAX_HEADERS, 200), (MAX_HEADERS + 1, 400), (5000, 400)])
def test_headers_are_counted(host: Host, count: int, status: int) -> None:
    with connect(host.port) as connection:
        send_pieces(connection, GET + b"a:b\r\n" * (count - 1) + b"\r\n")
        (answer,) = receive_answers(connection, 1)
    assert answer.status == status


@pytest.mark.parametrize(("size", "status"), [(MAX_TARGET_BYTES, 404), (MAX_TARGET_BYTES + 1, 400)])
def test_a_target_is_measured(host: Host, size: int, status: int) -> None:
    with connect(host.port) as connection:
        send_pieces(connection, b"GET /" + b"a" * (size - 1) + b" HTTP/1.1\r\n" + HOST + b"\r\n")
        (answer,) = receive_answers(connection, 1)
    assert answer.status == status
    assert status == 404 or str(MAX_TARGET_BYTES) in answer.document["message"]


ENDLESS: dict[str, tuple[bytes, bytes]] = {
    "target": (b"GET /", b"a" * 100),
    "name": (GET, b"a" * 100),
    "value": (GET + b"X: ", b"a" * 100),
    "headers": (GET, b"a: b\r\n"),
    "line ends": (b"", b"\r\n" * 50),
    "zeros of a chunk size": (CHUNKED, b"0" * 100),
    "chunk extension": (CHUNKED + b"5;a", b"a" * 100),
    "chunk extensions": (CHUNKED, b"1;" + b"a" * 1000 + b"\r\n \r\n"),
    "trailer": (CHUNKED + b"1\r\n \r\n0\r\nX: ", b"a" * 100),
    "trailers": (CHUNKED + b"1\r\n \r\n0\r\n", b"a: b\r\n"),
    "head behind another": (HEALTH + GET, b"a: b\r\n"),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_what_never_ends_is_cut_with_a_word(host: Host, name: str) -> None:
    start, piece = ENDLESS[name]
    with connect(host.port) as connection:
        send_pieces(connection, start)
        if name == "head behind another":
            assert receive_answers(connection, 1)[0].status == 200
        for _ in range(2**24 // len(piece)):
            send_pieces(connection, piece)
            if select.select([connection], [], [], 0)[0]:
                break
        (last,) = receive_answers(connection)
    assert check_error(last, 400, "validation_error") == {"pointer": ""}
    assert last.document["message"] == limits.head_too_large_message()
    assert host.call("GET", "/health").status == 200


async def taken_in(start: bytes, piece: bytes) -> int:
    """How many bytes a connection takes in before it has had enough, or 2**20 and more."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    wire = Wire()
    one = new_connection(wire, app)
    one.data_received(start)
    taken = 0
    while one.final_response is None and not wire.ended and taken < 2**20:
        one.data_received(piece)
        taken += len(piece)
    one.connection_lost(None)
    await asyncio.gather(*one.tasks)
    return taken


@pytest.mark.parametrize("name", ENDLESS)
async def test_no_more_is_taken_in_than_said(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    start, piece = ENDLESS[name]
    most = MAX_HEAD_BYTES + MAX_HEAD_BYTES // 32 + len(piece)
    assert MAX_HEAD_BYTES - len(start) < await taken_in(start, piece) <= most
    monkeypatch.setattr(limits, "MAX_HEAD_BYTES", 2**40)
    assert await taken_in(start, piece) >= 2**20


def test_a_body_of_small_chunks_is_no_head(host: Host) -> None:
    spaces = b"1\r\n \r\n" * 100_000
    with connect(host.port) as connection:
        send_pieces(connection, CHUNKED + spaces + b"%x\r\n" % len(BODY) + BODY + b"\r\n0\r\n\r\n")
        assert receive_answers(connection, 1)[0].status == 201


def test_a_head_behind_a_large_body_is_measured_for_itself(host: Host) -> None:
    body = BODY.ljust(900_000)
    one = POST + b"Content-Length: %d\r\n\r\n" % len(body) + body
    with connect(host.port) as connection:
        send_pieces(connection, one * 3 + HEALTH)
        assert [each.status for each in receive_answers(connection, 4)] == [201, 201, 201, 200]


def test_requests_that_wait_for_their_turn_are_few(host: Host) -> None:
    """One is answered, sixteen wait; the next is one too many, and those before it are answered all the same."""
    heard = exchange(host.port, HEALTH * 3000)
    assert 17 <= len(heard) <= 2999
    assert {each.status for each in heard[:-1]} == {200}
    assert "pipelined requests are queued" in heard[-1].document["message"]
