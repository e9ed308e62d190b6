"""There is one way out of the host: nothing else opens connections, and one module alone knows the library for it."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "weftwork"

CLIENTS = frozenset(
    """
    aiohttp anyio ftplib h11 http.client httpcore httpcore2 httpx httpx2 imaplib nntplib obstore poplib requests smtplib
    socketserver ssl telnetlib urllib.request urllib3 websockets xmlrpc.client
    """.split()
)
"""Modules that talk to others."""
OPENERS = frozenset(
    """
    connect connect_ex connect_tcp create_connection create_datagram_endpoint getaddrinfo gethostbyname
    gethostbyname_ex open_connection sock_connect start_tls urlopen
    """.split()
)
"""Calls that reach out, or ask a name server."""

WAYS: dict[str, set[str]] = {
    "adapters/admin/client.py": {"connect"},
    "adapters/blobs/object_storage.py": {"obstore"},
    "adapters/outbound/exchange.py": {"httpcore2", "ssl", "connect_tcp", "start_tls"},
    "adapters/outbound/guard.py": {"connect"},
    "adapters/outbound/resolver.py": {"getaddrinfo"},
}
"""Path -> what it may use. That of administration is a file; that of the guard sends no packet; that of blobs leads
to the storage that whoever runs the host has named."""


def ways(source: str) -> set[str]:
    """The clients that a file imports, and the calls by which it reaches out."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {_client(alias.name) for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {_client(f"{node.module}.{alias.name}") for alias in node.names}
        elif isinstance(node, ast.Call):
            called = node.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            found |= {name} & OPENERS
    return found - {""}


def _client(name: str) -> str:
    return next((each for each in CLIENTS if name == each or name.startswith(f"{each}.")), "")


def host() -> dict[str, str]:
    """All of the package but the commands, which talk to a host for a person."""
    paths = [path for path in SOURCE.rglob("*.py") if path.relative_to(SOURCE).parts[0] != "cli"]
    return {path.relative_to(SOURCE).as_posix(): path.read_text("utf-8") for path in paths}


def test_there_is_one_way_out() -> None:
    found = {name: used for name, source in host().items() if (used := ways(source))}
    assert found == WAYS


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        ("import httpcore2", {"httpcore2"}),
        ("def f():\n    from http import client", {"http.client"}),
        ("from urllib.request import urlopen\nurlopen('x')", {"urllib.request", "urlopen"}),
        ("import urllib.parse, http", set()),
        ("await asyncio.open_connection('x', 1)", {"open_connection"}),
        ("socket.socket().connect(('x', 1))", {"connect"}),
        ("import ssl as s", {"ssl"}),
        ("from urllib.parse import quote", set()),
    ],
)
def test_a_way_out_is_seen(source: str, seen: set[str]) -> None:
    assert ways(source) == seen


def test_only_the_client_loads_the_library_and_only_when_it_sends() -> None:
    users = [name for name, source in host().items() if "outbound.exchange" in source]
    assert users == ["adapters/outbound/client.py"]
