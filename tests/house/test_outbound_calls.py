"""There is one way out of the host; and nothing names a registry's address or a path of somebody's machine."""

import ast
import re
import subprocess
from pathlib import Path

from tests.harness.cases import each_case

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
    "adapters/postgres/database/connection.py": {"connect"},
    "adapters/postgres/database/migrations.py": {"connect"},
    "adapters/postgres/database/pool.py": {"connect"},
    "adapters/postgres/database/writer.py": {"connect"},
    "adapters/postgres/processes/election.py": {"connect"},
    "adapters/postgres/processes/hints.py": {"connect"},
    "adapters/outbound/connection.py": {"ssl", "create_connection", "start_tls"},
    "adapters/outbound/exchange.py": {"httpcore2", "ssl", "start_tls"},
    "adapters/outbound/guard.py": {"connect"},
    "adapters/outbound/resolver.py": {"getaddrinfo"},
    "adapters/postgres/operation/inspection.py": {"connect"},
    "adapters/postgres/operation/table_copy.py": {"connect"},
}
"""Path -> what it may use. That of administration is a file; that of the guard sends no packet; that of blobs leads
to the storage that whoever runs the host has named, and those of PostgreSQL to the database that they have named."""


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
    assert {name: used for name, source in host().items() if (used := ways(source))} == WAYS


@each_case(
    "source, seen",
    ("import httpcore2", {"httpcore2"}),
    ("def f():\n    from http import client", {"http.client"}),
    ("from urllib.request import urlopen\nurlopen('x')", {"urllib.request", "urlopen"}),
    ("import urllib.parse, http", set()),
    ("await asyncio.open_connection('x', 1)", {"open_connection"}),
    ("socket.socket().connect(('x', 1))", {"connect"}),
    ("import ssl as s", {"ssl"}),
    ("from urllib.parse import quote", set()),
)
def test_a_way_out_is_seen(source: str, seen: set[str]) -> None:
    assert ways(source) == seen


def test_only_the_client_loads_the_library_and_only_when_it_sends() -> None:
    users = [name for name, source in host().items() if "outbound.exchange" in source]
    assert users == ["adapters/outbound/client.py"]


ROOT = Path(__file__).parents[2]
CACHES = {"__pycache__", ".pytest_cache", ".ruff_cache", ".hypothesis", ".import_linter_cache"}
LEFT_OUT = {".git", ".venv", ".venv-bench", ".venv-dist", "dist", "build", *CACHES}

# Written in pieces, so that this file passes its own test.
HOSTS = [
    ("py", "pi.org"),
    ("python", "hosted.org"),
    ("npm", "js.org"),
    ("npm", "js.com"),
    ("yarn", "pkg.com"),
]
FOLDERS = [("wo", "rk"), ("ro", "ot"), ("ho", "me"), ("tm", "p/w"), ("opt/py", "pi"), ("opt/whe", "els")]
INSIDE = [("sha", "red/spec"), ("sha", "red/design"), ("sha", "red/wire")]

FORBIDDEN = re.compile(
    "|".join(
        [
            *(re.escape("".join(parts)) for parts in [*HOSTS, *INSIDE]),
            *(rf"(?<![\w.~}}/*-])/{re.escape(''.join(parts))}/" for parts in FOLDERS),
        ]
    ),
    re.IGNORECASE,
)


def files() -> list[Path]:
    """What git tracks or would add; in a tree without git, everything that is not a build result."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        timeout=30,
        check=False,
    )
    if (ROOT / ".git").exists() and listing.returncode == 0:
        found = [ROOT / name for name in listing.stdout.decode().split("\0") if name]
    else:
        found = [path for path in ROOT.rglob("*") if not LEFT_OUT & set(path.relative_to(ROOT).parts)]
    return sorted(path for path in found if path.is_file())


def mentions(text: str) -> list[str]:
    return [f"line {text.count(chr(10), 0, match.start()) + 1}: {match[0]}" for match in FORBIDDEN.finditer(text)]


def test_no_file_mentions_a_registry_or_a_machine() -> None:
    seen = files()
    assert ROOT / "pyproject.toml" in seen
    found: list[str] = []
    for path in seen:
        text = path.read_text("utf-8", errors="replace")
        found += [f"{path.relative_to(ROOT)}: {said}" for said in mentions(text)]
    assert not found, "\n".join(found)


@each_case("parts", *HOSTS, *INSIDE)
def test_an_address_is_seen_in_any_case(parts: tuple[str, str]) -> None:
    assert len(mentions(f"first\nsee https://{''.join(parts).upper()}/simple")) == 1


@each_case("parts", *FOLDERS)
def test_a_machine_path_is_seen(parts: tuple[str, str]) -> None:
    path = f"/{''.join(parts)}/"
    assert mentions(f"cd {path}x") == [f"line 1: {path}"]
    assert mentions(f'"{path}x"') == [f"line 1: {path}"]
    assert mentions(f"src{path}x.py") == []
