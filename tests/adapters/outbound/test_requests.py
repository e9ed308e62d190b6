"""What goes out is what was asked for, and nothing that steers the connection, the proxies or the log."""

import asyncio
import logging
import subprocess
import sys

import pytest

from tests.adapters.outbound.peer import PRIVATE_ALLOWED, CountingPeer, listening_peer, open_client, run
from weftwork.adapters.outbound.client import MAX_CONCURRENT_REQUESTS
from weftwork.ports.outbound import FetchRefused, OutboundRequest
from weftwork.protocol.net import outbound
from weftwork.protocol.net.outbound import METHODS, check_request
from weftwork.protocol.net.target import OutboundRefused


def sent(method: str = "GET", content: bytes = b"", *headers: tuple[str, str]) -> CountingPeer:
    async def work() -> CountingPeer:
        async with listening_peer() as peer, open_client(PRIVATE_ALLOWED) as client:
            await client.fetch(OutboundRequest(f"http://127.0.0.1:{peer.port}/a?b=c#d", method, headers, content))
            return peer

    return run(work)


@pytest.mark.parametrize("method", METHODS)
def test_a_request_goes_out_as_it_was_given(method: str) -> None:
    body = b'{"a":1}' if method not in ("GET", "HEAD", "OPTIONS") else b""
    peer = sent(method, body, ("X-Own", "one two"), ("user-agent", "mine"))
    (heard,) = peer.requests
    assert (heard.method, heard.path, heard.body) == (method, "/a?b=c", body)
    assert heard.headers.get("content-length", "0") == str(len(body))
    named = {name: heard.headers[name] for name in ("host", "x-own", "user-agent", "accept", "accept-encoding")}
    assert named == {
        "host": f"127.0.0.1:{peer.port}",
        "x-own": "one two",
        "user-agent": "mine",
        "accept": "*/*",
        "accept-encoding": "gzip",
    }
    assert heard.headers["connection"] == "close"


def test_an_empty_post_says_that_it_is_empty() -> None:
    assert sent("POST").requests[0].headers["content-length"] == "0"


INJECTED = [
    ("X-A", "a\r\nHost: x"),
    ("X-A", "a\nb"),
    ("X-A", "a\rb"),
    ("X-A", "a\x00"),
    ("X-A", " a"),
    ("X-A", "a "),
    ("X-A", "é"),
    ("X-A\r\nHost", "x"),
    ("X A", "x"),
    ("X-A:", "x"),
    ("", "x"),
    ("Ä", "x"),
]
STEERING = [
    ("Host", "inside"),
    ("content-length", "5"),
    ("Transfer-Encoding", "chunked"),
    ("Connection", "keep-alive"),
    ("Keep-Alive", "5"),
    ("Proxy-Authorization", "Basic x"),
    ("Proxy-Connection", "close"),
    ("TE", "trailers"),
    ("Trailer", "x"),
    ("Expect", "100-continue"),
    ("Accept-Encoding", "br"),
]
UPGRADES = [
    ("Upgrade", "websocket"),
    ("connection", "Upgrade"),
    ("Connection", "close, upgrade"),
    ("HTTP2-Settings", "x"),
]


@pytest.mark.rule("out-03")
@pytest.mark.parametrize("header", [*INJECTED, *STEERING, *UPGRADES])
async def test_a_header_that_steers_the_connection_is_refused(header: tuple[str, str]) -> None:
    async with listening_peer() as peer, open_client(PRIVATE_ALLOWED) as client:
        with pytest.raises(FetchRefused) as refused:
            await client.fetch(OutboundRequest(f"http://127.0.0.1:{peer.port}/", headers=(header,)))
        assert refused.value.blocked == ("upgrade" if header in UPGRADES else "ssrf")
        assert peer.connections == 0


def test_without_the_check_headers_could_be_injected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbound, "_check_headers", lambda headers: None)
    for header in (("Upgrade", "websocket"), ("Proxy-Authorization", "Basic x")):
        assert sent("GET", b"", header).requests[0].headers[header[0].lower()] == header[1]


@pytest.mark.rule("out-03")
@pytest.mark.parametrize("method", ["CONNECT", "TRACE", "get", "GET ", "", "PURGE", "GET / HTTP/1.1\r\nX: "])
def test_other_methods_are_refused(method: str) -> None:
    with pytest.raises(OutboundRefused):
        check_request("https://example.com/", method, (), b"", PRIVATE_ALLOWED)


def test_too_many_or_too_large_headers_are_refused() -> None:
    for headers in ((("a", "b"),) * (outbound.MAX_HEADERS + 1), (("a", "b" * outbound.MAX_HEADER_BYTES),)):
        with pytest.raises(OutboundRefused):
            check_request("https://example.com/", "GET", headers, b"", PRIVATE_ALLOWED)


async def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with listening_peer() as proxy, listening_peer() as peer:
        for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        monkeypatch.setenv("NO_PROXY", "")
        async with open_client(PRIVATE_ALLOWED) as client:
            assert (await client.fetch(OutboundRequest(f"http://127.0.0.1:{peer.port}/"))).status == 200
        assert (proxy.connections, peer.connections) == (0, 1)


def test_nothing_of_a_request_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    logging.getLogger("httpcore2").setLevel(logging.NOTSET)
    logging.getLogger("httpcore2.http11").setLevel(logging.NOTSET)
    sent("POST", b"secret-body", ("Authorization", "Bearer secret-token"))
    assert "secret" not in caplog.text
    assert not [record for record in caplog.records if record.name.startswith("httpcore2")]


def test_without_the_silence_answers_would_be(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.Logger, "setLevel", lambda self, level: None)
    logging.getLogger("httpcore2").level = logging.DEBUG
    caplog.handler.level = logging.DEBUG
    logging.getLogger().level = logging.DEBUG
    try:
        sent("GET")
        assert [record for record in caplog.records if record.name.startswith("httpcore2")]
    finally:
        logging.getLogger().level = logging.WARNING
        logging.getLogger("httpcore2").level = logging.WARNING


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
