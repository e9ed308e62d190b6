"""Where the body of a response ends, wherever the bytes of the response are split, and what waits for its reader."""

import asyncio
import gzip
from typing import Any

import httpcore2
import pytest

from tests.harness.cases import each_case, fails_without
from weftwork.adapters.outbound import body as response_body
from weftwork.adapters.outbound import exchange
from weftwork.adapters.outbound.body import InvalidBody, StreamedBody
from weftwork.adapters.outbound.connection import BUFFER_BYTES, OutboundConnection
from weftwork.adapters.outbound.response import RawResponse, SendProgress

MOST = 1_000_000
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
URL = "http://api.test/"


class Wire(asyncio.Transport):
    """Takes everything that is written, and counts what it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def write(self, data: Any) -> None: ...

    def pause_reading(self) -> None:
        self.asked.append("pause")

    def resume_reading(self) -> None:
        self.asked.append("resume")


def connected() -> tuple[OutboundConnection, Wire]:
    connection, wire = OutboundConnection(), Wire()
    connection.connection_made(wire)
    return connection, wire


async def response(*pieces: bytes) -> tuple[int, bytes]:
    """Status and body of a response that arrives in these pieces, one in each iteration of the loop."""
    connection, _ = connected()
    loop = asyncio.get_running_loop()

    def arrive(rest: tuple[bytes, ...]) -> None:
        if rest:
            connection.data_received(rest[0])
            loop.call_soon(arrive, rest[1:])
        else:
            connection.eof_received()

    loop.call_soon(arrive, pieces)
    stream = exchange._NetworkStream(connection, SendProgress())
    http = httpcore2.AsyncHTTP11Connection(httpcore2.URL(URL).origin, stream)
    head = exchange._read_head(
        await http.handle_async_request(httpcore2.Request("GET", URL, headers={"Host": "api.test"}))
    )
    body, found = StreamedBody("GET", head, connection, stream.take_rest(), MOST), bytearray()
    while piece := await body.read():
        found += piece
    return head.status, bytes(found)


PACKED = gzip.compress(b"hello again", mtime=0)


@each_case(
    "raw, expected",
    (CHUNKED + b"\r\n5\r\nhello\r\n6;name=value\r\n again\r\n0\r\nTrailer: x\r\n\r\n", b"hello again"),
    (b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + CHUNKED + b"\r\n1\r\nx\r\n0\r\n\r\n", b"x"),
    (b"HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n1\r\nx\r\n0\r\n\r\n", b"x"),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", b"hello"),
    (b"HTTP/1.1 200 OK\r\n\r\nhello\r\n\r\nagain", b"hello\r\n\r\nagain"),
    (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(PACKED) + PACKED, b"hello again"),
    (CHUNKED + b"\r\n1\r\nx\r\n0\r\n\r\nHTTP/1.1 500 Of nobody\r\n\r\n", b"x"),
    (CHUNKED + b"\r\n1\r\nx\r\n0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil", b"x"),
    (CHUNKED + b"\r\n1\r\nx\r\n0\r\n\r\nHTTP/1.1 101 Now\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n", b"x"),
    (CHUNKED + b"\r\n5  \r\nhello\r\n0\r\n\r\n", b"hello"),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxand more", b"x"),
    (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
)
async def test_a_body_is_the_same_wherever_it_is_split(raw: bytes, expected: bytes) -> None:
    for at in range(len(raw)):
        status, found = await response(*filter(None, (raw[:at], raw[at:])))
        assert (status // 100, found) == (2, expected), at
    assert (await response(*(raw[at : at + 1] for at in range(len(raw)))))[1] == expected


@each_case(
    "raw, reason",
    (CHUNKED + b"\r\n5\r\nhel", "lost"),
    (CHUNKED + b"\r\n5\r\nhelloX\r\n", "invalid"),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello", "lost"),
)
async def test_a_body_that_is_cut_or_wrong_has_no_end(raw: bytes, reason: str) -> None:
    for at in range(len(raw)):
        with pytest.raises(InvalidBody) as failed:
            await response(*filter(None, (raw[:at], raw[at:])))
        assert failed.value.reason == reason


@each_case("framing", b"5;name=", b"0\r\nTrailer: ")
@fails_without(response_body, "MAX_FRAMING_BYTES", 10**9, match="DID NOT RAISE")
async def test_framing_without_a_body_is_limited(framing: bytes) -> None:
    connection, _ = connected()
    head = RawResponse(200, (("transfer-encoding", "chunked"),))
    body = StreamedBody("GET", head, connection, framing, MOST)
    for _ in range(MOST // 1_000):
        connection.data_received(b"x" * 1_000)
        if connection._size > 3 * BUFFER_BYTES:
            break
    with pytest.raises((InvalidBody, TimeoutError)) as failed:
        await asyncio.wait_for(body.read(), 0.05)
    assert isinstance(failed.value, InvalidBody), "DID NOT RAISE"


async def test_bytes_after_the_end_are_no_framing() -> None:
    assert await response(CHUNKED + b"\r\n", b"0\r\n\r\n" + b"x" * (response_body.MAX_FRAMING_BYTES + 1)) == (200, b"")


async def test_what_is_valid_is_read_before_what_is_not() -> None:
    """However the two arrive: a model's answer may be complete in the valid part."""
    connection, _ = connected()
    head = RawResponse(200, (("transfer-encoding", "chunked"),))
    body = StreamedBody("GET", head, connection, b"5\r\nhello\r\nzz\r\n", MOST)
    assert await body.read() == b"hello"
    with pytest.raises(InvalidBody):
        body.take()


async def test_a_server_cannot_send_more_than_its_reader_takes() -> None:
    connection, wire = connected()
    for _ in range(3):
        connection.data_received(b"x" * (BUFFER_BYTES // 2 + 1))
    assert wire.asked == ["pause"]
    assert len(await connection.read()) == 3 * (BUFFER_BYTES // 2 + 1)
    assert wire.asked == ["pause", "resume"]
    connection.connection_lost(ConnectionResetError("gone"))
    with pytest.raises(ConnectionResetError):
        await connection.read()
    with pytest.raises(ConnectionResetError):
        await connection.write(b"x")


async def test_a_writer_waits_for_room_and_not_for_a_connection_that_is_lost() -> None:
    connection, _ = connected()
    connection.pause_writing()
    writing = asyncio.create_task(connection.write(b"x"))
    await asyncio.sleep(0)
    assert not writing.done()
    connection.resume_writing()
    await asyncio.wait_for(writing, 5)
    connection.pause_writing()
    writing = asyncio.create_task(connection.write(b"x"))
    await asyncio.sleep(0)
    connection.connection_lost(None)
    await asyncio.wait_for(writing, 5)
    assert await connection.read() == b""
