"""Certificates are checked by the name that was asked for, although the connection is to an address."""

import asyncio
from pathlib import Path

import pytest

from tests.adapters.outbound.peer import AUTHORITY, PRIVATE_ALLOWED, FakeResolver, listening_peer, open_client
from weftwork.adapters.outbound.client import GuardedClient
from weftwork.ports.outbound import FetchFailed, OutboundRequest

NAMES = {"api_test": [["127.0.0.1"]], "a_wild_test": [["127.0.0.1"]], "other_test": [["127.0.0.1"]]}


@pytest.fixture
def trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(AUTHORITY))


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize("host", ["api.test", "API.test.", "a.wild.test", "127.0.0.1"])
async def test_a_certificate_for_the_name_is_good(host: str) -> None:
    names = FakeResolver(**NAMES)
    names.table["127.0.0.1"] = [["127.0.0.1"]]
    async with listening_peer(tls=True) as peer, open_client(PRIVATE_ALLOWED, names) as client:
        response = await client.fetch(OutboundRequest(f"https://{host}:{peer.port}/x"))
        asked = host.lower().removesuffix(".")
        assert (response.content, response.url) == (b"ok", f"https://{asked}:{peer.port}/x")
        assert peer.requests[0].headers["host"] == f"{asked}:{peer.port}"
        assert peer.names == [None if host[0] == "1" else asked]


async def refused(client: GuardedClient, url: str) -> None:
    with pytest.raises(FetchFailed, match="certificate") as failed:
        await client.fetch(OutboundRequest(url))
    assert failed.value.sent is False


@pytest.mark.usefixtures("trusted")
async def test_a_certificate_for_another_name_is_not() -> None:
    async with listening_peer(tls=True) as peer, open_client(PRIVATE_ALLOWED, FakeResolver(**NAMES)) as client:
        await refused(client, f"https://other.test:{peer.port}/")
        assert (peer.requests, peer.names) == ([], ["other.test"])


async def test_nor_is_one_of_an_authority_that_nobody_knows(tmp_path: Path) -> None:
    async with listening_peer(tls=True) as peer, open_client(PRIVATE_ALLOWED, FakeResolver(**NAMES)) as client:
        await refused(client, f"https://api.test:{peer.port}/")
        assert peer.requests == []


@pytest.mark.usefixtures("trusted")
async def test_without_the_check_of_names_it_would_do(monkeypatch: pytest.MonkeyPatch) -> None:
    from weftwork.adapters.outbound import exchange

    make = exchange.ssl.create_default_context

    def careless() -> object:
        context = make()
        context.check_hostname = False
        return context

    monkeypatch.setattr(exchange.ssl, "create_default_context", careless)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        await test_a_certificate_for_another_name_is_not()


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
async def test_plain_http_to_a_tls_port_is_a_failure() -> None:
    async with listening_peer(tls=True) as peer, open_client(PRIVATE_ALLOWED, FakeResolver(**NAMES)) as client:
        with pytest.raises(FetchFailed) as failed:
            await client.fetch(OutboundRequest(f"http://api.test:{peer.port}/"))
        assert failed.value.sent is True
