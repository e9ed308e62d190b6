# ruff: noqa: RUF001
"""The other side: a listener that counts, reads requests and answers as told; and names that the test makes up."""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.adapters.nodes.fake_context import EvaluatingScope, FakeScope
from weftwork.adapters.nodes.net.http_request import http_nodes
from weftwork.adapters.outbound import guard
from weftwork.adapters.outbound.client import GuardedClient
from weftwork.adapters.outbound.guard import AddressGuard
from weftwork.ports.node_outcome import NotDone, StepFailed
from weftwork.ports.nodes import NodeCall, WaitingNode
from weftwork.ports.outbound import Outbound
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


class FakeStepContext:
    """Records steps as the host does: what was done or failed comes back, what was not done is forgotten."""

    def __init__(self) -> None:
        self.steps: dict[str, Any] = {}
        self.effects: list[str] = []
        self.ran = 0

    def effect_key(self, step: str = "") -> str:
        return f"key-of-{step}"

    async def compute(self, function: Callable[[], Any]) -> Any:
        return function()

    async def step(self, name: str, effect: str, run: Callable[[], Awaitable[Any]]) -> Any:
        self.effects.append(effect)
        if name not in self.steps:
            self.ran += 1
            try:
                self.steps[name] = await run()
            except NotDone:
                raise
            except StepFailed as failed:
                self.steps[name] = failed
        found = self.steps[name]
        if isinstance(found, StepFailed):
            raise found
        return found


def request_node(client: Outbound | None) -> Any:
    (node,) = http_nodes(client)
    assert isinstance(node, WaitingNode)
    return node


def call(
    config: dict[str, Any], inputs: dict[str, Any] | None = None, variables: dict[str, Any] | None = None
) -> NodeCall:
    scope: FakeScope = EvaluatingScope(variables=variables)
    return NodeCall("run", "node", inputs or {}, config, scope)


# fmt: off
BLOCKED = (
    "0.0.0.0", "0.0.0.1", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.0.0.2",
    "127.255.255.254", "168.63.129.16", "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.0.2.2",
    "192.88.99.1", "192.168.0.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "240.0.0.1",
    "255.255.255.255",
)
IPV6 = (
    "::", "::1", "::2", "::127.0.0.1", "::169.254.169.254", "64:ff9b::a9fe:a9fe", "64:ff9b:1::7f00:1", "100::1",
    "2001::1", "2001:2::1", "2001:10::1", "2001:20::1", "2001:db8::1", "2002:a9fe:a9fe::", "3ffe::1", "3fff::1",
    "5f00::1", "4000::1", "fc00::1", "fd00::2", "fd00:ec2::254", "fd20:ce::254", "fe80::1", "fec0::1", "ff02::1",
    "::ffff:0:127.0.0.1",
)
LOOPBACK = (
    "127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7F000001", "0x7f.1", "0177.0.0.1", "0177.1",
    "017700000001", "0x7f.0.0.1", "0x7f.0x0.0x0.0x1", "127.0.0.1.", "127.0.0.2", "127.127.127.127", "0", "00", "0x0",
    "0.0.0.0", "①②⑦.0.0.1", "127。0。0。1", "127．0．0．1", "127｡0｡0｡1", "１２７.0.0.1", "①②⑦。⓪。⓪。①",
    "⑫⑦.0.0.1", "𝟭𝟮𝟳.𝟬.𝟬.𝟭", "[::1]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
    "[0:0:0:0:0:ffff:7f00:0001]", "[::FFFF:127.0.0.1]",
)
"""All of these lead to a listener on every address of the machine, if nobody minds."""
NAMES = (
    "localhost", "LOCALHOST", "localhost.", "x.localhost", "x.localhost.", "printer.local", "vault.internal",
    "metadata", "metadata.google.internal", "METADATA.google.internal.", "metadata.example.com", "ｌｏｃａｌｈｏｓｔ",
    "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ", "ℓocalhost", "localhost。", "x。localhost", "ſ.localhost", "local\u00adhost", "local\u200bhost",
)
TRICKS = (
    "http://evil@127.0.0.1:PORT/", "http://127.0.0.1:PORT@example.com/", "http://example.com@127.0.0.1:PORT/",
    "http://a:b@127.0.0.1:PORT/", "http://@127.0.0.1:PORT/", "http://example.com\\@127.0.0.1:PORT/",
    "http:\\\\127.0.0.1:PORT\\", "http://127.0.0.1:PORT\\@example.com/", "http://127.0.0.1\t:PORT/",
    "http://127.0.0.1\n:PORT/", "http://127.0.0.1:PORT/\r\nHost: x", "http://127.0.0.1 :PORT/", " http://127.0.0.1:PORT/",
    "http://127.0.0.1:PORT/ ", "http://\u00a0127.0.0.1:PORT/", "http://127.0.0.1:PORT/\x00", "http://127.0.0.1\x7f:PORT/",
    "http://%31%32%37.0.0.1:PORT/", "http://127%2e0%2e0%2e1:PORT/", "http://localhost%00.example.com:PORT/",
    "http://127.0.0.1%23.example.com:PORT/", "http://[::1%25lo]:PORT/", "http://[::1%lo]:PORT/",
    "http://[fe80::1%25eth0]:PORT/", "http://[::ffff:127.0.0.1%eth0]:PORT/", "http://[127.0.0.1]:PORT/",
    "http://[v1.x]:PORT/", "http://[::1]x:PORT/", "http://[::1:PORT/", "http://::1:PORT/", "http:/127.0.0.1:PORT/",
    "http:127.0.0.1:PORT/", "//127.0.0.1:PORT/", "127.0.0.1:PORT/", "http:///127.0.0.1:PORT/", "http://?127.0.0.1:PORT",
    "http://#@127.0.0.1:PORT/", "http://:PORT/", "http://127.0.0.1:PORT:80/", "http://127.0.0.1:+PORT/",
    "http://127.0.0.1:０PORT/", "http://127.0.0.1:/", "http://127.0.0.1..:PORT/", "http://.127.0.0.1:PORT/",
    "http://127.0.0.1:PORT#@example.com/", "http://127.0.0.1:PORT?@example.com/", "hTTp://127.0.0.1:PORT/",
    "ftp://127.0.0.1:PORT/", "file:///etc/passwd", "gopher://127.0.0.1:PORT/_GET", "ws://127.0.0.1:PORT/",
    "wss://127.0.0.1:PORT/", "unix:///run/docker.sock", "http+unix://%2Frun%2Fdocker.sock/", "data:text/plain,x",
    "javascript:alert(1)", "dict://127.0.0.1:PORT/", "ldap://127.0.0.1:PORT/", "", "http", "http://", "https://",
    "http://a℀127.0.0.1:PORT/", "http://example.com／@127.0.0.1:PORT/", "http://127.0.0.1：PORT/",
    "http://xn--/:PORT", "http://-127.0.0.1:PORT/", "http://" + "a" * 64 + ".example.com:PORT/",
    "http://127.0.0.1:PORT/" + "a" * 9000, "http://bücher.example:PORT/", "http://faß.example:PORT/",
)
# fmt: on


def spellings(address: str) -> list[str]:
    """An IPv4 address as a host: as numbers, and inside IPv6 addresses of every kind."""
    bits = int(IPv4Address(address))
    parts = address.split(".")
    high, low = bits >> 16, bits & 0xFFFF
    turned = bits ^ 0xFFFF_FFFF
    return [
        address,
        str(bits),
        hex(bits),
        ".".join(hex(int(part)) for part in parts),
        ".".join(f"0{int(part):o}" for part in parts),
        f"{parts[0]}.{bits & 0xFFFFFF}",
        *(
            f"[{form}]"
            for form in (
                f"::ffff:{address}",
                f"::ffff:{high:x}:{low:x}",
                f"::{address}",
                f"64:ff9b::{address}",
                f"64:ff9b:1::{address}",
                f"64:ff9b:1:{high:x}:{low >> 8:x}:{(low & 0xFF) << 8:x}::",
                f"2002:{high:x}:{low:x}::1",
                f"2001:0:{high:x}:{low:x}::1",
                f"2001:0:808:808::{turned >> 16:x}:{turned & 0xFFFF:x}",
                f"2a00:1450::5efe:{address}",
                f"2a00:1450::200:5efe:{address}",
            )
        ),
    ]


def denied_urls() -> list[str]:
    hosts = [spelling for address in BLOCKED for spelling in spellings(address)]
    hosts += [f"[{IPv6Address(each)}]" for each in IPV6] + [*LOOPBACK, *NAMES]
    return [*(f"http://{host}:PORT/" for host in hosts), *TRICKS]
