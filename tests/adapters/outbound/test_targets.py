"""Connections that end elsewhere than the name said: other targets, moved names, resolvers and certificates."""

import asyncio
import contextlib
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from typing import Any
from unittest import mock

import pytest

from tests.adapters.nodes.fake_context import outcome_of
from tests.adapters.outbound.peer import (
    AUTHORITY,
    LOOPBACK,
    PRIVATE_ALLOWED,
    FakeResolver,
    FakeStepContext,
    call,
    denied_urls,
    listening_peer,
    open_client,
    request_node,
)
from tests.harness.cases import each_case, fails_without
from tests.live import open_in_process
from weftwork.adapters.outbound import exchange, guard, resolver
from weftwork.adapters.outbound.connection import OutboundConnection
from weftwork.adapters.outbound.guard import AddressGuard
from weftwork.adapters.outbound.resolver import SystemResolver
from weftwork.ports.node_outcome import Failed
from weftwork.ports.outbound import FetchFailed, FetchRefused, OutboundRequest
from weftwork.protocol.net.target import OutboundPolicy

Sink = Callable[[str], Awaitable[str]]
EVERYWHERE = ("0.0.0.0", "::")
LEAST = 400


async def tried(sink: Sink, port: int, urls: list[str]) -> dict[str, int]:
    """How often each outcome came, over all URLs."""
    outcomes: dict[str, int] = {}
    for url in urls:
        outcome = await sink(url.replace("PORT", str(port)))
        assert outcome in ("ssrf", "unsent"), (url, outcome)
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
    return outcomes


def lenient(port: int) -> OutboundPolicy:
    """Neither the scheme nor the port is what refuses."""
    return OutboundPolicy(frozenset({port}), http=True)


@pytest.mark.rule("out-01", "out-02")
async def test_neither_the_client_nor_the_node_reaches_a_trap() -> None:
    async with listening_peer(*EVERYWHERE) as trap, open_client(lenient(trap.port), timeout_ms=5_000) as client:
        request = request_node(client)

        async def fetch(url: str) -> str:
            try:
                await client.fetch(OutboundRequest(url))
            except FetchRefused as refused:
                return refused.blocked
            except FetchFailed as failed:
                return "sent" if failed.sent else "unsent"
            return "fetched"

        async def node(url: str) -> str:
            outcome = await outcome_of(request, call({"method": "POST"}, {"url": url}), FakeStepContext())
            assert isinstance(outcome, Failed)
            if outcome.code in ("ssrf_blocked", "node_input_missing"):
                return "ssrf"
            return "sent" if (outcome.details or {}).get("sent", True) else "unsent"

        for sink in (fetch, node):
            outcomes = await tried(sink, trap.port, denied_urls())
            assert (trap.connections, outcomes["ssrf"] > LEAST) == (0, True)
            # Some names are not even numbers to the system.
            assert outcomes.get("unsent", 0) < 20


@pytest.mark.rule("out-01")
async def test_the_seam_reaches_no_trap() -> None:
    async with listening_peer(*EVERYWHERE) as trap:
        settings = {"test_seams": True, "fetch_http": True, "fetch_ports": (trap.port,)}
        async with open_in_process(**settings) as inside:

            async def sink(url: str) -> str:
                answer = await inside.call("POST", "/v1/host/sample/http/safe-fetch", {"url": url})
                if answer.status == 400:  # NUL is none of JSON here
                    return "ssrf"
                assert answer.status == 200, answer.body
                document = answer.document
                return document.get("blocked", "unsent" if document["outcome"] == "failed" else "fetched")

            outcomes = await tried(sink, trap.port, denied_urls())
            assert (trap.connections, outcomes["ssrf"] > LEAST) == (0, True)


async def test_without_the_guard_the_traps_are_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "is_own_address", lambda address: False)
    monkeypatch.setattr(AddressGuard, "check_peer", lambda *_: None)
    async with listening_peer(*EVERYWHERE) as trap:
        careless = AddressGuard(SystemResolver(), judge=lambda address, private: True)
        async with open_client(lenient(trap.port), guard=careless) as client:
            for host in LOOPBACK:
                response = await client.fetch(OutboundRequest(f"http://{host}:{trap.port}/"))
                assert response.content == b"ok", host
            assert trap.connections == len(LOOPBACK)


@fails_without(guard, "is_own_address", lambda address: False, match="DID NOT RAISE")
async def test_an_address_of_this_machine_is_refused_even_if_it_were_public() -> None:
    async with listening_peer() as trap:
        strict = AddressGuard(SystemResolver(), judge=lambda address, private: True)
        async with open_client(lenient(trap.port), guard=strict) as client:
            with pytest.raises(FetchRefused):
                await client.fetch(OutboundRequest(f"http://127.0.0.1:{trap.port}/"))
        assert trap.connections == 0


HANGS = """
import asyncio, socket, threading
from weftwork.adapters.outbound.resolver import SystemResolver
socket.getaddrinfo = lambda *_, **__: threading.Event().wait()

async def work():
    try:
        await asyncio.wait_for(SystemResolver().resolve("hangs.example", 443), 0.05)
    except TimeoutError:
        print("left")

asyncio.run(work())
"""


def test_a_process_does_not_wait_for_a_lookup() -> None:
    ended = subprocess.run([sys.executable, "-c", HANGS], capture_output=True, text=True, timeout=30, check=False)
    assert (ended.returncode, ended.stdout) == (0, "left\n")


async def test_a_lookup_that_nobody_waits_for_keeps_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolver, "MAX_CONCURRENT_LOOKUPS", 2)
    begun = 0
    gate = threading.Event()

    def slow(*_: Any, **__: Any) -> list[Any]:
        nonlocal begun
        begun += 1
        gate.wait(20)
        return [(0, 0, 0, "", ("192.0.2.1", 443))]

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    made = SystemResolver()
    tasks = [asyncio.create_task(made.resolve("slow.example", 443)) for _ in range(3)]
    while begun < 2:
        await asyncio.sleep(0.001)
    for task in tasks[:2]:
        task.cancel()
    await asyncio.wait(tasks[:2])
    assert begun == 2
    gate.set()
    assert (await asyncio.wait_for(tasks[2], 20)) == ["192.0.2.1"]
    assert begun == 3


NAMES = {"api_test": [["127.0.0.1"]], "a_wild_test": [["127.0.0.1"]], "other_test": [["127.0.0.1"]]}


@pytest.fixture
def trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(AUTHORITY))


@pytest.mark.usefixtures("trusted")
@each_case("host", "api.test", "API.test.", "a.wild.test", "127.0.0.1")
async def test_a_certificate_for_the_name_is_good_and_plain_http_to_its_port_a_failure(host: str) -> None:
    names = FakeResolver(**NAMES)
    names.table["127.0.0.1"] = [["127.0.0.1"]]
    async with listening_peer(tls=True) as peer, open_client(PRIVATE_ALLOWED, names) as client:
        response = await client.fetch(OutboundRequest(f"https://{host}:{peer.port}/x"))
        asked = host.lower().removesuffix(".")
        assert (response.content, response.url) == (b"ok", f"https://{asked}:{peer.port}/x")
        assert peer.requests[0].headers["host"] == f"{asked}:{peer.port}"
        assert peer.names == [None if host[0] == "1" else asked]
        with pytest.raises(FetchFailed) as failed:
            await client.fetch(OutboundRequest(f"http://{host}:{peer.port}/"))
        assert failed.value.sent is True


make_context = exchange.ssl.create_default_context


def careless() -> ssl.SSLContext:
    context = make_context()
    context.check_hostname = False
    return context


@fails_without(exchange.ssl, "create_default_context", careless, match="DID NOT RAISE")
@each_case("host, known", ("other.test", True), ("api.test", False))
async def test_a_certificate_for_another_name_or_of_an_authority_that_nobody_knows_is_not(
    host: str, known: bool
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if known:
            patch.setenv("SSL_CERT_FILE", str(AUTHORITY))
        async with listening_peer(tls=True) as peer, open_client(PRIVATE_ALLOWED, FakeResolver(**NAMES)) as client:
            with pytest.raises(FetchFailed, match="certificate") as failed:
                await client.fetch(OutboundRequest(f"https://{host}:{peer.port}/"))
            assert (failed.value.sent, peer.requests, peer.names) == (False, [], [host])


@pytest.mark.usefixtures("trusted")
async def test_a_handshake_that_does_not_end_has_sent_nothing_and_is_let_go() -> None:
    closed = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(4096):
            pass
        closed.set()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, open_client(PRIVATE_ALLOWED, FakeResolver(**NAMES)) as client:
        with pytest.raises(FetchFailed, match="within 200 ms") as failed:
            await client.fetch(OutboundRequest(f"https://api.test:{port}/", timeout_ms=200))
        assert failed.value.sent is False
        await closed.wait()


@pytest.mark.usefixtures("trusted")
async def test_bytes_from_before_the_handshake_are_not_a_response(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody on the way answers in clear text, and passes everything else on to the server with the certificate."""
    fake = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer), contextlib.suppress(OSError):
            while data := await reader.read(65_536):
                writer.write(data)

    async def intercept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(fake)
        from_server, to_server = await asyncio.open_connection("127.0.0.1", peer.port)
        await asyncio.gather(pass_on(reader, to_server), pass_on(from_server, writer))
        closed.set()

    open_connection = OutboundConnection.open

    async def open_slowly(address: str, port: int) -> OutboundConnection:
        connection = await open_connection(address, port)
        await connection.wait()
        return connection

    monkeypatch.setattr(OutboundConnection, "open", open_slowly)
    closed = asyncio.Event()
    server = await asyncio.start_server(intercept, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with listening_peer(tls=True) as peer, server, open_client(PRIVATE_ALLOWED, FakeResolver(**NAMES)) as client:
        with pytest.raises(FetchFailed) as failed:
            await client.fetch(OutboundRequest(f"https://api.test:{port}/"))
        assert (failed.value.sent, failed.value.reason, peer.requests) == (False, "connect", [])
        await closed.wait()


async def test_a_connection_whose_peer_is_unknown_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """The system no longer knows the peer of a connection that was reset at once."""

    async def open_and_reset(address: str, port: int) -> OutboundConnection:
        connection = OutboundConnection()
        connection.connection_made(transport)
        return connection

    transport = mock.create_autospec(asyncio.Transport, instance=True)
    transport.get_extra_info.return_value = None
    monkeypatch.setattr(OutboundConnection, "open", open_and_reset)
    async with open_client(PRIVATE_ALLOWED) as client:
        with pytest.raises(FetchFailed) as failed:
            await client.fetch(OutboundRequest("http://127.0.0.1:1/"))
    assert (failed.value.sent, failed.value.reason) == (False, "connect")
    assert transport.abort.called
