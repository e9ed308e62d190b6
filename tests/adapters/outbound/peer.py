"""The other side: a listener that counts, reads requests and answers as told; and names that the test makes up."""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest

from weftwork.adapters.outbound import guard
from weftwork.adapters.outbound.client import GuardedClient
from weftwork.adapters.outbound.guard import AddressGuard
from weftwork.protocol.net.address import Address, is_allowed
from weftwork.protocol.net.outbound import FetchLimits
from weftwork.protocol.net.target import OutboundPolicy

BOUND = 120.0
AUTHORITY = Path(__file__).parent / "ca" / "authority.pem"
"""Good for 100 years, as is the certificate of api.test, *.wild.test, 127.0.0.1 and ::1."""
CERTIFICATE = AUTHORITY.with_name("api-test.pem")
PRIVATE_ALLOWED = OutboundPolicy(private=True)
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

T = TypeVar("T")
Reply = Callable[["ReceivedRequest", asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def run(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a test's coroutine in a loop of its own."""
    return asyncio.run(work())


async def until(condition: Callable[[], Any], what: str) -> None:
    end = asyncio.get_running_loop().time() + BOUND / 2
    while not condition():
        assert asyncio.get_running_loop().time() < end, f"waited for {what}"
        await asyncio.sleep(0.005)


class ReceivedRequest:
    """One request, as it came."""

    def __init__(self, head: bytes, body: bytes) -> None:
        line, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
        self.method, self.path, self.version = line.split(" ")
        self.lines = lines
        self.headers = {name.lower(): value.strip() for name, _, value in (each.partition(":") for each in lines)}
        self.body = body


class CountingPeer:
    """Counts connections; answers requests with bytes, or by a function."""

    def __init__(self) -> None:
        self.answer: bytes | Reply = OK
        self.connections = 0
        self.closed_connections = 0
        """Connections that the other side has closed."""
        self.requests: list[ReceivedRequest] = []
        self.names: list[str | None] = []
        """What each TLS client asked for."""
        self.port = 0

    async def serve_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            heard = ReceivedRequest(head, b"")
            heard.body = await reader.readexactly(int(heard.headers.get("content-length", "0")))
            self.requests.append(heard)
            if isinstance(self.answer, bytes):
                writer.write(self.answer)
                await writer.drain()
            else:
                await self.answer(heard, reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            self.closed_connections += 1
            writer.close()

    def record_tls_name(self, connection: Any, name: str | None, context: ssl.SSLContext) -> None:
        self.names.append(name)


@contextlib.asynccontextmanager
async def listening_peer(*addresses: str, tls: bool = False) -> AsyncIterator[CountingPeer]:
    """A peer on these addresses, with one port."""
    peer = CountingPeer()
    context = None
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTIFICATE)
        context.sni_callback = peer.record_tls_name
    servers: list[asyncio.Server] = []
    for address in addresses or ("127.0.0.1",):
        server = await asyncio.start_server(peer.serve_connection, address, peer.port, ssl=context)
        peer.port = server.sockets[0].getsockname()[1]
        servers.append(server)
    try:
        yield peer
    finally:
        for server in servers:
            server.close()
        # Transports are done with in the next turns of the loop.
        for _ in range(3):
            await asyncio.sleep(0)


@contextlib.asynccontextmanager
async def open_client(
    policy: OutboundPolicy = PRIVATE_ALLOWED,
    names: "FakeResolver | None" = None,
    guard: AddressGuard | None = None,
    **limits: int,
) -> AsyncIterator[GuardedClient]:
    client = GuardedClient(policy, FetchLimits(**limits), names, guard)
    try:
        yield client
    finally:
        await client.close()


class FakeResolver:
    """A resolver that answers from a table; a list of lists is answered one after the other, the last one for ever."""

    def __init__(self, **table: list[list[str]]) -> None:
        self.table = {name.replace("_", "."): answers for name, answers in table.items()}
        self.asked: list[str] = []

    async def resolve(self, host: str, port: int) -> list[str]:
        self.asked.append(host)
        if host not in self.table:
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        answers = self.table[host]
        return answers.pop(0) if len(answers) > 1 else answers[0]

    def close(self) -> None: ...


PUBLIC = "127.0.0.1"
INSIDE = "127.0.0.2"


def patched_guard(names: FakeResolver, monkeypatch: pytest.MonkeyPatch) -> AddressGuard:
    """A guard for which PUBLIC is a public address. All others are what they are, INSIDE among them."""
    monkeypatch.setattr(guard, "is_own_address", lambda address: False)

    def judge(address: Address, private: bool) -> bool:
        return str(address) == PUBLIC or is_allowed(address, private)

    return AddressGuard(names, judge=judge)
