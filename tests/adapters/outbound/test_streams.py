"""Streamed responses: their pieces, their time limits, their size, and what remains after them."""

import asyncio
import contextlib
import gzip
import random
from collections.abc import Callable
from typing import Any

import pytest

from tests.adapters.outbound.peer import (
    BOUND,
    INSIDE,
    PRIVATE_ALLOWED,
    PUBLIC,
    CountingPeer,
    FakeResolver,
    Reply,
    listening_peer,
    open_client,
    patched_guard,
    until,
)
from tests.harness.cases import each_case, fails_without
from weftwork.adapters.outbound import client as client_module
from weftwork.adapters.outbound.client import GuardedClient
from weftwork.adapters.outbound.connection import WaitLimit
from weftwork.adapters.outbound.response import RawResponse
from weftwork.adapters.outbound.stream import HttpStream, StreamDeadline
from weftwork.ports.outbound import FetchFailed, FetchRefused, OutboundRequest, StreamTimeouts
from weftwork.protocol.net.target import OutboundPolicy

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"
LONG = StreamTimeouts(60_000, 60_000, 60_000, 60_000)


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


async def read(client: GuardedClient, peer: CountingPeer, timeouts: StreamTimeouts = LONG, **members: Any) -> bytes:
    request = OutboundRequest(f"http://127.0.0.1:{peer.port}/v1", "POST", content=b"{}", **members)
    async with client.stream(request, timeouts) as stream:
        return b"".join([piece async for piece in stream.chunks()])


def stages(*pieces: bytes) -> tuple[Reply, asyncio.Semaphore]:
    """Sends the pieces; each but the first waits for the semaphore."""
    steps = asyncio.Semaphore(0)

    async def reply(heard: Any, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for number, piece in enumerate(pieces):
            if number:
                await steps.acquire()
            writer.write(piece)
            await writer.drain()

    return reply, steps


@pytest.mark.rule("out-07")
async def test_pieces_arrive_before_the_body_is_complete() -> None:
    async with listening_peer() as peer, open_client(PRIVATE_ALLOWED, timeout_ms=1) as client:
        peer.answer, steps = stages(HEAD + chunk(b"one"), chunk(b"two") + END)
        request = OutboundRequest(f"http://127.0.0.1:{peer.port}/v1", "POST", content=b"{}")
        async with asyncio.timeout(BOUND), client.stream(request, LONG) as stream:
            assert (stream.status, stream.header("content-TYPE")) == (200, "text/event-stream")
            assert stream.header("x-none") is None
            pieces = stream.chunks()
            assert await anext(pieces) == b"one"
            steps.release()
            assert [piece async for piece in pieces] == [b"two"]
    assert (peer.requests[0].method, peer.requests[0].body) == ("POST", b"{}")


@pytest.mark.rule("out-07")
async def test_leaving_the_context_closes_the_connection() -> None:
    async with listening_peer() as peer, open_client() as client:

        async def reply(heard: Any, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(HEAD + chunk(b"one"))
            await reader.read()

        peer.answer = reply
        request = OutboundRequest(f"http://127.0.0.1:{peer.port}/")
        for number, leave in enumerate((break_off, raise_error, cancel_reading), 1):
            await leave(client, request)
            await until(lambda number=number: peer.closed_connections == number, "the connection to close")


async def break_off(client: GuardedClient, request: OutboundRequest) -> None:
    async with client.stream(request, LONG) as stream:
        async for _ in stream.chunks():
            break


async def raise_error(client: GuardedClient, request: OutboundRequest) -> None:
    with pytest.raises(OSError, match="of the caller"):
        async with client.stream(request, LONG):
            raise OSError("of the caller")


async def cancel_reading(client: GuardedClient, request: OutboundRequest) -> None:
    began = asyncio.Event()

    async def work() -> None:
        async with client.stream(request, LONG) as stream:
            async for _ in stream.chunks():
                began.set()

    task = asyncio.create_task(work())
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def pause_after(*pieces: bytes) -> Reply:
    """Sends the pieces, pauses, and then sends the rest of the response; or never, if its reader leaves before."""

    async def reply(heard: Any, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.writelines(pieces)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.25):
                await reader.read()
        writer.writelines([HEAD, END] if not pieces else [END])

    return reply


async def drip(heard: Any, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(HEAD)
    for _ in range(25):
        writer.write(chunk(b"x"))
        await writer.drain()
        await asyncio.sleep(0.01)
    writer.write(END)


async def hang(heard: Any, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(HEAD + chunk(b"x"))
    await reader.read()


def limits(**own: int) -> StreamTimeouts:
    members = {"connect_ms": 60_000, "first_byte_ms": 60_000, "idle_ms": 60_000, "total_ms": 60_000}
    return StreamTimeouts(**{**members, **own})


@pytest.mark.rule("out-07")
@each_case(
    "reply, timeouts, reason",
    (pause_after(), limits(first_byte_ms=50), "first_byte"),
    (pause_after(HEAD), limits(first_byte_ms=50), "first_byte"),
    (pause_after(HEAD, chunk(b"x")), limits(idle_ms=50), "idle"),
    (drip, limits(total_ms=100), "total"),
    (pause_after(HEAD, chunk(b"x")), limits(total_ms=100), "total"),
    ids=lambda value: value if isinstance(value, str) else "",
)
@fails_without(StreamDeadline, "_at", property(lambda self: self._now() + BOUND), match="DID NOT RAISE")
async def test_each_part_of_a_stream_has_its_time(reply: Reply, timeouts: StreamTimeouts, reason: str) -> None:
    async with listening_peer() as peer, open_client() as client:
        assert await read(client, peer) == b"ok"
        peer.answer = reply
        with pytest.raises(FetchFailed, match=f"{getattr(timeouts, f'{reason}_ms')} ms") as failed:
            await read(client, peer, timeouts)
        assert (failed.value.reason, failed.value.sent or reason == "total") == (reason, True)
        await until(lambda: peer.closed_connections == peer.connections, "the connection to close")


@pytest.mark.rule("out-07")
async def test_a_response_that_never_begins_is_silent_whichever_limit_ends_it() -> None:
    async with listening_peer() as peer, open_client() as client:
        # The first request of a process loads the HTTP library and the certificates, within the same limit.
        assert await read(client, peer) == b"ok"
        peer.answer = pause_after()
        with pytest.raises(FetchFailed, match="did not begin within 50 ms") as failed:
            await read(client, peer, limits(total_ms=50))
        assert failed.value.reason == "first_byte"


@pytest.mark.rule("out-07")
async def test_the_time_that_a_reader_needs_is_not_a_pause_of_the_server() -> None:
    class Pieces:
        def __init__(self) -> None:
            self._rest = iter((None, b"x", None, b"y", None, b""))

        def take(self) -> bytes | None:
            return next(self._rest)

        async def wait(self, limit: WaitLimit) -> None:
            waiter = asyncio.get_running_loop().create_future()
            limit.watch(waiter)
            asyncio.get_running_loop().call_soon(waiter.set_result, None)
            await waiter

    stream = HttpStream(RawResponse(200, ()), Pieces(), StreamDeadline(limits(idle_ms=20)))
    texts: list[bytes] = []
    async for piece in stream.chunks():
        texts.append(piece)
        await asyncio.sleep(0.05)
    assert texts == [b"x", b"y"]


class NeverResolves(FakeResolver):
    async def resolve(self, host: str, port: int) -> list[str]:
        await asyncio.Event().wait()
        raise AssertionError("unreachable")


@pytest.mark.rule("out-07")
@each_case("timeouts", limits(connect_ms=50), limits(total_ms=50))
async def test_a_connection_has_its_time(timeouts: StreamTimeouts) -> None:
    async with open_client(PRIVATE_ALLOWED, NeverResolves()) as client:
        with pytest.raises(FetchFailed, match="within 50 ms") as failed:
            async with client.stream(OutboundRequest("http://api.test/"), timeouts):
                pass
        assert (failed.value.reason, failed.value.sent) == ("connect", False)


@pytest.mark.rule("out-05")
async def test_every_stream_connects_to_a_checked_address(monkeypatch: pytest.MonkeyPatch) -> None:
    names = FakeResolver(api_test=[[PUBLIC], [INSIDE], [PUBLIC, INSIDE]], **{INSIDE: [[INSIDE]]})
    async with listening_peer("127.0.0.1", "127.0.0.2") as peer:
        policy = OutboundPolicy(frozenset({peer.port}), http=True)
        async with open_client(policy, names, patched_guard(names, monkeypatch)) as client:
            request = OutboundRequest(f"http://api.test:{peer.port}/")
            async with client.stream(request, LONG) as stream:
                assert [piece async for piece in stream.chunks()] == [b"ok"]
            for _ in range(2):
                with pytest.raises(FetchRefused) as refused:
                    async with client.stream(request, LONG):
                        pass
                assert refused.value.blocked == "ssrf"
            assert peer.connections == 1
            for url in (f"http://{INSIDE}:{peer.port}/", "file:///etc/passwd"):
                with pytest.raises(FetchRefused):
                    async with client.stream(OutboundRequest(url), LONG):
                        pass
            assert peer.connections == 1


async def test_redirects_are_responses_and_upgrades_are_refused() -> None:
    async with listening_peer() as peer, open_client() as client:
        peer.answer = b"HTTP/1.1 302 Moved\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n"
        async with client.stream(OutboundRequest(f"http://127.0.0.1:{peer.port}/"), LONG) as stream:
            assert (stream.status, stream.header("location")) == (302, "/other")
        assert len(peer.requests) == 1
        peer.answer = b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
        with pytest.raises(FetchRefused, match="upgrade"):
            await read(client, peer)


MOST = 5_000
NOISE = random.Random(1).randbytes(MOST)


def packed(body: bytes, *headers: bytes) -> bytes:
    pieces = b"".join(chunk(body[at : at + 700]) for at in range(0, len(body), 700))
    return HEAD[:-2] + b"".join(header + b"\r\n" for header in headers) + b"\r\n" + pieces + END


GZIP = b"Content-Encoding: gzip"


@pytest.mark.rule("out-06")
@each_case("pack, headers", (bytes, ()), (lambda raw: gzip.compress(raw, mtime=0), (GZIP,)), ids=str)
async def test_a_stream_may_be_as_large_as_its_cap(pack: Callable[[bytes], bytes], headers: tuple[bytes]) -> None:
    async with listening_peer() as peer, open_client(PRIVATE_ALLOWED, max_bytes=MOST) as client:
        for body in (NOISE, b"\0" * MOST):
            peer.answer = packed(pack(body), *headers)
            assert await read(client, peer) == body
            assert await read(client, peer, max_bytes=10 * MOST) == body
            peer.answer = packed(pack(body + b"x"), *headers)
            for max_bytes in (0, 10 * MOST, 10):
                with pytest.raises(FetchFailed, match="larger than") as failed:
                    await read(client, peer, max_bytes=max_bytes)
                assert failed.value.reason == "too_large"


@pytest.mark.rule("out-06")
async def test_data_that_decodes_to_nothing_ends_the_stream() -> None:
    async with listening_peer() as peer, open_client(PRIVATE_ALLOWED, max_bytes=MOST) as client:
        peer.answer = packed(gzip.compress(b"", mtime=0) * 1_000, GZIP)
        with pytest.raises(FetchFailed, match="larger than"):
            await read(client, peer)


@each_case(
    "raw, reason",
    (HEAD + chunk(b"one"), "lost"),
    (HEAD + b"zz\r\n", "invalid"),
    (b"220 mail.example.com ESMTP\r\n", "invalid"),
    (packed(gzip.compress(NOISE, mtime=0)[:-3], GZIP), "invalid"),
    (packed(b"hello", GZIP), "invalid"),
    (packed(b"hello", b"Content-Encoding: br"), "invalid"),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello", "lost"),
)
async def test_an_incomplete_body_has_no_end(raw: bytes, reason: str) -> None:
    async with listening_peer() as peer, open_client() as client:
        peer.answer = raw
        with pytest.raises(FetchFailed) as failed:
            await read(client, peer)
        assert (failed.value.reason, failed.value.sent, failed.value.__cause__) == (reason, True, None)


@each_case("answer", b"Content-Length: 5\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n")
async def test_a_response_to_head_has_no_body(answer: bytes) -> None:
    async with listening_peer() as peer, open_client() as client:
        peer.answer = b"HTTP/1.1 200 OK\r\n" + answer
        async with client.stream(OutboundRequest(f"http://127.0.0.1:{peer.port}/", "HEAD"), LONG) as stream:
            assert await stream.read() == b""


async def test_with_nobody_listening_or_a_closed_client_no_stream_begins() -> None:
    async with listening_peer() as peer:
        async with open_client() as client:
            await client.close()
            with pytest.raises(FetchFailed):
                await read(client, peer)
        assert peer.connections == 0
    async with open_client() as client:
        with pytest.raises(FetchFailed) as failed:
            await read(client, peer)
        assert (failed.value.reason, failed.value.sent) == ("connect", False)


async def test_streams_have_their_own_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "MAX_CONCURRENT_STREAMS", 2)
    monkeypatch.setattr(client_module, "MAX_CONCURRENT_REQUESTS", 1)
    async with listening_peer() as peer, open_client() as client:
        peer.answer = hang
        release = asyncio.Event()

        async def hold() -> None:
            request = OutboundRequest(f"http://127.0.0.1:{peer.port}/")
            async with client.stream(request, LONG) as stream:
                await anext(stream.chunks())
                await release.wait()

        async with asyncio.TaskGroup() as tasks:
            for _ in range(3):
                tasks.create_task(hold())
            await until(lambda: peer.connections == 2, "two streams")
            peer.answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
            response = await client.fetch(OutboundRequest(f"http://127.0.0.1:{peer.port}/"))
            assert (response.content, peer.connections) == (b"ok", 3)
            with pytest.raises(FetchFailed) as failed:
                await read(client, peer, limits(total_ms=50))
            assert (failed.value.reason, peer.connections) == ("connect", 3)
            peer.answer = hang
            release.set()
        assert peer.connections == 4
