"""Requests and their limits: sizes, times, hints and bodies."""

import asyncio
import gzip
import logging
import random
import subprocess
import sys
import zlib

import pytest

from tests.adapters.outbound.peer import (
    PRIVATE_ALLOWED,
    CountingPeer,
    FakeResolver,
    ReceivedRequest,
    listening_peer,
    open_client,
    run,
)
from tests.harness.cases import each_case, fails_without
from weftwork.adapters.outbound import body as response_body
from weftwork.adapters.outbound.client import MAX_CONCURRENT_REQUESTS
from weftwork.ports.outbound import BEFORE_SENDING, FetchFailed, FetchRefused, OutboundRequest
from weftwork.protocol.net import outbound
from weftwork.protocol.net.outbound import METHODS, check_request
from weftwork.protocol.net.target import OutboundRefused


def sent(method: str = "GET", content: bytes = b"", *headers: tuple[str, str]) -> CountingPeer:
    async def work() -> CountingPeer:
        async with listening_peer() as peer, open_client(PRIVATE_ALLOWED) as client:
            await client.fetch(OutboundRequest(f"http://127.0.0.1:{peer.port}/a?b=c#d", method, headers, content))
            return peer

    return run(work)


def test_a_request_goes_out_as_it_was_given() -> None:
    for method in METHODS:
        body = b'{"a":1}' if method not in ("GET", "HEAD", "OPTIONS") else b""
        peer = sent(method, body, ("X-Own", "one two"), ("user-agent", "mine"))
        (heard,) = peer.requests
        assert (heard.method, heard.path, heard.body) == (method, "/a?b=c", body)
        assert heard.headers.get("content-length", "0") == str(len(body))
        own = {"host": f"127.0.0.1:{peer.port}", "x-own": "one two", "user-agent": "mine"}
        own |= {"accept": "*/*", "accept-encoding": "gzip", "connection": "close"}
        assert own.items() <= heard.headers.items()
    assert sent("POST").requests[0].headers["content-length"] == "0"


VALUES = ["a\r\nHost: x", "a\nb", "a\rb", "a\x00", " a", "a ", "é"]
INJECTED = [*(("X-A", value) for value in VALUES), *((name, "x") for name in ("X-A\r\nHost", "X A", "X-A:", "", "Ä"))]
STEERING = """
Host:inside content-length:5 Transfer-Encoding:chunked Connection:keep-alive Keep-Alive:5 Proxy-Authorization:Basic
Proxy-Connection:close TE:trailers Trailer:x Expect:100-continue Accept-Encoding:br
""".split()
UPGRADES = ["Upgrade:websocket", "connection:Upgrade", "Connection:close, upgrade", "HTTP2-Settings:x"]


@pytest.mark.rule("out-03")
@fails_without(outbound, "_check_headers", lambda headers: None, match="DID NOT RAISE")
async def test_a_header_that_steers_the_connection_is_refused() -> None:
    named = {tuple(header.split(":")): header in UPGRADES for header in [*UPGRADES, *STEERING]}
    async with listening_peer() as peer, open_client(PRIVATE_ALLOWED) as client:
        for header, upgrades in {**named, **dict.fromkeys(INJECTED, False)}.items():
            with pytest.raises(FetchRefused) as refused:
                await client.fetch(OutboundRequest(f"http://127.0.0.1:{peer.port}/", headers=(header,)))
            assert refused.value.blocked == ("upgrade" if upgrades else "ssrf"), header
            assert peer.connections == 0, header


@pytest.mark.rule("out-03")
def test_other_methods_and_too_many_or_too_large_headers_are_refused() -> None:
    methods = ["CONNECT", "TRACE", "get", "GET ", "", "PURGE", "GET / HTTP/1.1\r\nX: "]
    headers = [(("a", "b"),) * (outbound.MAX_HEADERS + 1), (("a", "b" * outbound.MAX_HEADER_BYTES),)]
    for method, given in [*((method, ()) for method in methods), *(("GET", each) for each in headers)]:
        with pytest.raises(OutboundRefused):
            pytest.fail(f"{method}: {check_request('https://example.com/', method, given, b'', PRIVATE_ALLOWED)}")


async def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with listening_peer() as proxy, listening_peer() as peer:
        for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        monkeypatch.setenv("NO_PROXY", "")
        async with open_client(PRIVATE_ALLOWED) as client:
            assert (await client.fetch(OutboundRequest(f"http://127.0.0.1:{peer.port}/"))).status == 200
        assert (proxy.connections, peer.connections) == (0, 1)


set_level = logging.Logger.setLevel


def loud(logger: logging.Logger, level: int) -> None:
    set_level(logger, logging.NOTSET if logger.name == "httpcore2" else level)


@fails_without(logging.Logger, "setLevel", loud, match="httpcore2")
def test_nothing_of_a_request_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    logging.getLogger("httpcore2").setLevel(logging.NOTSET)
    logging.getLogger("httpcore2.http11").setLevel(logging.NOTSET)
    sent("POST", b"secret-body", ("Authorization", "Bearer secret-token"))
    assert "secret" not in caplog.text
    assert not [record for record in caplog.records if record.name.startswith("httpcore2")]


async def test_a_crowd_waits_for_its_turn() -> None:
    async with listening_peer() as peer, open_client(PRIVATE_ALLOWED) as client:
        most = 0
        go = asyncio.Event()

        async def answer(heard: object, reader: object, writer: asyncio.StreamWriter) -> None:
            nonlocal most
            most = max(most, peer.connections - peer.closed_connections)
            await go.wait()
            writer.write(b"HTTP/1.1 204 None\r\n\r\n")

        peer.answer = answer
        url = f"http://127.0.0.1:{peer.port}/"
        every = [asyncio.create_task(client.fetch(OutboundRequest(url))) for _ in range(MAX_CONCURRENT_REQUESTS + 20)]
        while len(peer.requests) < MAX_CONCURRENT_REQUESTS:
            await asyncio.sleep(0.005)
        go.set()
        assert {(await each).status for each in every} == {204}
        assert most <= MAX_CONCURRENT_REQUESTS


def test_a_host_that_sends_nothing_does_not_load_what_sending_takes() -> None:
    script = "import sys, weftwork.app; sys.exit(any(n in sys.modules for n in ('httpcore2', 'h11', 'anyio')))"
    assert subprocess.run([sys.executable, "-c", script], timeout=60, check=False).returncode == 0


MOST = 100_000


def answer(body: bytes, *headers: str, chunked: bool = False) -> bytes:
    lines = ["HTTP/1.1 200 OK", *headers]
    if chunked:
        lines.append("Transfer-Encoding: chunked")
        pieces = [body[at : at + 4096] for at in range(0, len(body), 4096)]
        body = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
    else:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + body


def fetched(raw: bytes, **members: object) -> bytes:
    async def work() -> bytes:
        async with listening_peer() as peer, open_client(PRIVATE_ALLOWED, max_bytes=MOST) as client:
            peer.answer = raw
            return (await client.fetch(OutboundRequest(f"http://127.0.0.1:{peer.port}/", **members))).content  # type: ignore[arg-type]

    return run(work)


GZIP = "Content-Encoding: gzip"


@pytest.mark.rule("out-06")
@each_case("chunked", False, True)
def test_an_answer_may_be_as_large_as_the_cap_and_no_upgrade(chunked: bool) -> None:
    body = bytes(range(256)) * (MOST // 256) + b"x" * (MOST % 256)
    larger = body + b"x"
    for pack, headers in ((bytes, ()), (lambda raw: gzip.compress(raw, mtime=0), (GZIP,))):
        assert fetched(answer(pack(body), *headers, chunked=chunked)) == body
        for members in ({}, {"max_bytes": 10 * MOST}):
            with pytest.raises(FetchFailed, match=f"larger than {MOST} bytes") as failed:
                fetched(answer(pack(larger), *headers, chunked=chunked), **members)
            assert failed.value.sent is True
    with pytest.raises(FetchFailed, match="larger than 10 bytes"):
        fetched(answer(b"x" * 11, chunked=chunked), max_bytes=10)
    with pytest.raises(FetchRefused, match="upgrade") as refused:
        fetched(b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
    assert refused.value.blocked == "upgrade"


BOMB = gzip.compress(b"\0" * 5_000_000, mtime=0)


@fails_without(response_body, "_DECODE_STEP_BYTES", 0)
def test_a_bomb_is_not_unpacked() -> None:
    largest = 0

    class Kept(bytearray):
        def __iadd__(self, more: object) -> "Kept":
            nonlocal largest
            self.extend(more)  # type: ignore[arg-type]
            largest = max(largest, len(self))
            return self

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(response_body, "bytearray", Kept, raising=False)
        for raw in (answer(BOMB, GZIP), answer(BOMB * 3, GZIP, chunked=True)):
            with pytest.raises(FetchFailed, match="larger than"):
                fetched(raw)
    assert MOST < largest <= MOST + response_body._DECODE_STEP_BYTES


EMPTY = gzip.compress(b"", mtime=0)
HOLLOW = {
    "empty members": EMPTY * 200,
    "empty blocks": EMPTY[:10] + b"\0\0\0\xff\xff" * 4 * MOST,
    "an endless file name": b"\x1f\x8b\x08\x08" + bytes(6) + b"x" * 20 * MOST,
}


@pytest.mark.rule("out-06")
@each_case("kind", *HOLLOW)
@fails_without(response_body, "_GZIP_OVERHEAD_BYTES", 10**9)
def test_data_that_decodes_to_nothing_is_limited(kind: str) -> None:
    received = 0

    decoder = response_body.BodyDecoder("gzip", MOST)

    def receive() -> None:
        nonlocal received
        while received < 20 * MOST:
            chunk = HOLLOW[kind][received:][:4000] if kind != "empty members" else HOLLOW[kind]
            received += len(chunk)
            decoder.decode(chunk)

    with pytest.raises(response_body.InvalidBody, match=f"larger than {MOST} bytes"):
        receive()
    assert received <= MOST + MOST // 64 + 1024 + 4000


def test_data_that_cannot_be_compressed_may_be_as_large_as_the_cap() -> None:
    body = random.Random(1).randbytes(MOST)
    for level in (0, 1, 9):
        packed = gzip.compress(body, level, mtime=0)
        assert len(packed) > MOST
        assert fetched(answer(packed, GZIP)) == body


@each_case(
    "raw, said",
    (answer(gzip.compress(b"hello", mtime=0)[:-3], GZIP), "data of the response is incomplete"),
    (answer(b"hello", GZIP), "not valid gzip data"),
    (answer(zlib.compress(b"hello"), "Content-Encoding: deflate"), "Content-Encoding other than gzip"),
    (answer(b"hello", "Content-Encoding: br"), "Content-Encoding other than gzip"),
    (
        answer(gzip.compress(gzip.compress(b"hello", mtime=0), mtime=0), "Content-Encoding: gzip, gzip"),
        "Content-Encoding other than gzip",
    ),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello", "invalid or incomplete HTTP response"),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel", "invalid or incomplete HTTP response"),
    (b"220 mail.example.com ESMTP\r\n", "invalid or incomplete HTTP response"),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nhello", "invalid or incomplete HTTP response"),
    (b"HTTP/1.1 200 OK\r\n" + b"X-Large: y\r\n" * 20_000 + b"\r\n", "invalid or incomplete HTTP response"),
    (b"", "invalid or incomplete HTTP response"),
)
def test_what_is_no_whole_answer_is_a_failure_in_our_words(raw: bytes, said: str) -> None:
    with pytest.raises(FetchFailed, match=said) as failed:
        fetched(raw)
    assert failed.value.sent is True
    assert failed.value.__cause__ is None


@each_case("encoding", "gzip", "x-gzip", "GZIP")
def test_gzip_in_several_members_is_read_and_an_answer_may_have_no_body(encoding: str) -> None:
    packed = gzip.compress(b"hel", mtime=0) + gzip.compress(b"lo", mtime=0)
    assert fetched(answer(packed, f"Content-Encoding: {encoding}")) == b"hello"
    assert fetched(answer(b"", f"Content-Encoding: {encoding}")) == b""
    assert fetched(answer(b"hello", "Content-Encoding: identity")) == b"hello"
    head = f"HTTP/1.1 200 OK\r\nContent-Length: 999999999\r\nContent-Encoding: {encoding}\r\n\r\n"
    assert fetched(head.encode(), method="HEAD") == b""
    assert fetched(b"HTTP/1.1 204 None\r\n\r\n") == b""


async def drip(heard: ReceivedRequest, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One byte at a time, each in good time."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    while not reader.at_eof():
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.01)


async def stall(heard: ReceivedRequest, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()


async def endless_hints(heard: ReceivedRequest, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while not reader.at_eof():
        writer.write(b"HTTP/1.1 103 Early\r\n\r\n")
        await writer.drain()
        await asyncio.sleep(0)


async def turning(heard: ReceivedRequest, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Each answer comes soon enough, all of them together do not."""
    if heard.path == "/":
        writer.write(b"HTTP/1.1 302 Moved\r\nLocation: /slow\r\nContent-Length: 0\r\n\r\n")
    else:
        await stall(heard, reader, writer)


@pytest.mark.rule("out-06")
@pytest.mark.parametrize("reply", [drip, stall, endless_hints, turning])
async def test_the_whole_exchange_has_its_time(reply: object) -> None:
    async with listening_peer() as peer, open_client(PRIVATE_ALLOWED, timeout_ms=1000) as client:
        peer.answer = reply  # type: ignore[assignment]
        # Long enough to be connected before it is over, on a busy machine too.
        for timeout_ms in (0, 700, 60_000) if reply is stall else (60_000,):
            limit = 700 if timeout_ms == 700 else 1000
            with pytest.raises(FetchFailed, match=f"within {limit} ms") as failed:
                await client.fetch(OutboundRequest(f"http://127.0.0.1:{peer.port}/", timeout_ms=timeout_ms))
            assert failed.value.sent is True


async def test_a_slow_name_server_counts_too() -> None:
    class Slow(FakeResolver):
        async def resolve(self, host: str, port: int) -> list[str]:
            await asyncio.Event().wait()
            raise AssertionError("unreachable")

    async with open_client(PRIVATE_ALLOWED, Slow(), timeout_ms=100) as client:
        with pytest.raises(FetchFailed, match="within 100 ms") as failed:
            await client.fetch(OutboundRequest("http://api.test/"))
        assert failed.value.sent is False


async def test_with_nobody_listening_or_a_closed_client_nothing_is_sent() -> None:
    async with listening_peer() as peer, open_client(PRIVATE_ALLOWED) as closed:
        url = f"http://127.0.0.1:{peer.port}/"
        await closed.close()
        with pytest.raises(FetchFailed) as failed:
            await closed.fetch(OutboundRequest(url))
        assert (failed.value.sent, peer.connections) == (False, 0)
    async with open_client(PRIVATE_ALLOWED) as client:
        with pytest.raises(FetchFailed, match="could not be established") as failed:
            await client.fetch(OutboundRequest(url))
        assert failed.value.sent is False


async def test_a_request_that_is_cancelled_lets_its_connection_go() -> None:
    async with listening_peer() as peer, open_client(PRIVATE_ALLOWED) as client:
        peer.answer = stall
        task = asyncio.create_task(client.fetch(OutboundRequest(f"http://127.0.0.1:{peer.port}/")))
        while not peer.requests:
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        while not peer.closed_connections:
            await asyncio.sleep(0.001)


async def test_nothing_is_sent_before_the_caller_may_act() -> None:
    """The check comes after the connection is open, and once: what follows belongs to the same effect."""
    checked: list[tuple[int, int]] = []
    async with listening_peer() as peer, open_client(PRIVATE_ALLOWED) as client:

        async def check() -> None:
            checked.append((peer.connections, len(peer.requests)))

        token = BEFORE_SENDING.set(check)
        try:
            await client.fetch(OutboundRequest(f"http://127.0.0.1:{peer.port}/", "POST", (), b"x" * 100_000))
            assert checked == [(1, 0)]
            BEFORE_SENDING.set(asyncio.Event().wait)  # type: ignore[arg-type]
            with pytest.raises(FetchFailed) as failed:
                await client.fetch(OutboundRequest(f"http://127.0.0.1:{peer.port}/", "POST", timeout_ms=100))
            assert not failed.value.sent
            assert len(peer.requests) == 1
        finally:
            BEFORE_SENDING.reset(token)
