"""Large assets come and go in constant memory, at the pace of those at the other end, and leave nothing behind."""

import contextlib
import hashlib
import http.client
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.definitions import FULL
from tests.live import KEY, Host, start_host, until
from tests.live.assets import UPLOADS, fetch, list_assets, path_of, post_asset, upload_asset
from tests.readers.process_stats import forget_peak, memory, peak, wait_until_blocked, without_guard

pytestmark = pytest.mark.slow

SIZE = (300 if FULL else 30) * 10**6
PIECE = 100_000
SPARE = 12 * 2**20
"""What the host may need for one of any size."""
READERS = 100 if FULL else 30
COST = 2**20
"""What one may hold that is stuck: a piece of the file, what is on its way to the socket, and what the heap adds."""
LARGE = {"WEFTWORK_MAX_UPLOAD_BYTES": str(SIZE)}


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    with start_host(tmp_path, env=LARGE) as running:
        yield running
        assert "raceback" not in running.errors


def pieces(size: int) -> Iterator[bytes]:
    for at in range(size // PIECE):
        yield hashlib.sha256(b"%d" % at).digest() * (PIECE // 32)


def digest(size: int) -> tuple[int, str]:
    """Of what `pieces` gives."""
    whole, length = hashlib.sha256(), 0
    for piece in pieces(size):
        whole.update(piece)
        length += len(piece)
    return length, whole.hexdigest()


def upload(host: Host, size: int) -> str:
    """The path of an asset of about that size, sent in pieces."""
    connection = http.client.HTTPConnection("127.0.0.1", host.port, timeout=120)
    with contextlib.closing(connection):
        connection.request("POST", UPLOADS, pieces(size), {"Authorization": f"Bearer {KEY}"}, encode_chunked=True)
        answer = connection.getresponse()
        said = answer.read()
        assert answer.status == 201, said
    return path_of(list_assets(host, "?limit=1")["assets"][0]["url"])


def download(host: Host, path: str) -> tuple[int, str]:
    """How many bytes there are, and their digest."""
    connection = http.client.HTTPConnection("127.0.0.1", host.port, timeout=120)
    with contextlib.closing(connection):
        connection.request("GET", path)
        answer = connection.getresponse()
        assert answer.status == 200
        whole, size = hashlib.sha256(), 0
        while piece := answer.read(PIECE):
            whole.update(piece)
            size += len(piece)
        return size, whole.hexdigest()


def growth(host: Host) -> tuple[int, int]:
    """By how much the peak of the host grows while a large asset comes in, and while it goes out."""
    download(host, upload(host, 2_000_000))
    before = memory(host)
    forget_peak(host)
    path = upload(host, SIZE)
    incoming = peak(host) - before
    forget_peak(host)
    assert download(host, path) == digest(SIZE)
    return incoming, peak(host) - before


@pytest.mark.rule("media-31", "media-33")
def test_a_large_asset_comes_and_goes_in_constant_memory(host: Host) -> None:
    incoming, outgoing = growth(host)
    assert incoming <= SPARE, f"{incoming / 2**20:.1f} MiB"
    assert outgoing <= SPARE, f"{outgoing / 2**20:.1f} MiB"


@pytest.mark.parametrize("guard", ["buffer_uploads", "buffer_downloads"])
def test_the_proof_sees_what_is_held(tmp_path: Path, guard: str) -> None:
    with start_host(tmp_path, env=LARGE, program=without_guard(guard)) as host:
        assert max(growth(host)) > SPARE


def files(host: Host) -> list[str]:
    """The blobs that the host has open."""
    found: list[str] = []
    for each in Path(f"/proc/{host.process.pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found.append(str(each.readlink()))
    return [name for name in found if "/assets/" in name and Path(name).is_file()]


def ask(host: Host, path: str) -> socket.socket:
    """A reader who asks and does not read."""
    connection = socket.socket()
    connection.settimeout(120)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect(("127.0.0.1", host.port))
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    return connection


@pytest.mark.rule("media-31")
def test_readers_that_are_stuck_cost_little_and_leave_nothing(host: Host) -> None:
    path = upload(host, SIZE)
    download(host, path)
    for each in [ask(host, path) for _ in range(8)]:
        each.close()
    until(lambda: not files(host), "what was open to be closed")
    before = memory(host)
    with contextlib.ExitStack() as readers:
        for at in range(READERS):
            each = readers.enter_context(ask(host, path))
            if at % 2:
                each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        wait_until_blocked(host, READERS)
        assert len(files(host)) == READERS
        held = memory(host) - before
        assert held <= READERS * COST + SPARE, f"{held / 2**20:.1f} MiB"
        assert download(host, path) == digest(SIZE)
    until(lambda: not files(host), "what was open to be closed")
    assert host.call("GET", "/health").status == 200


def partial(host: Host) -> list[Path]:
    return list((host.data / "assets" / "partial").iterdir())


def blobs(host: Host) -> list[Path]:
    return [path for path in (host.data / "assets").rglob("*") if path.is_file()]


def begin(host: Host, declared: bool, size: int = 2_000_000) -> socket.socket:
    """Half an upload."""
    connection = host.connect()
    length = f"Content-Length: {2 * size}" if declared else "Transfer-Encoding: chunked"
    head = f"POST {UPLOADS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\n{length}\r\n\r\n"
    connection.sendall(head.encode() + (b"" if declared else b"%x\r\n" % (2 * size)) + b"x" * size)
    until(lambda: len(partial(host)) == 1, "the upload to be under way")
    return connection


@pytest.mark.rule("media-33")
@pytest.mark.parametrize("reset", [False, True], ids=["closes", "resets"])
@pytest.mark.parametrize("declared", [True, False], ids=["declared", "chunked"])
def test_an_upload_that_is_broken_off_leaves_nothing(host: Host, declared: bool, reset: bool) -> None:
    upload_asset(host, b"another")
    connection = begin(host, declared)
    if reset:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    connection.close()
    until(lambda: not partial(host), "what came of it to be gone")
    assert list_assets(host)["usage"] == {"assets": 1, "bytes": 7, "quota": 10_737_418_240, "quotaUsed": 7}
    assert len(blobs(host)) == 1


@pytest.mark.rule("media-33")
def test_a_host_that_stops_ends_uploads_and_keeps_nothing_of_them(tmp_path: Path) -> None:
    with start_host(tmp_path, env=LARGE) as host:
        made = upload_asset(host, b"another")
        stuck = begin(host, True)
        quick = begin(host, True, 1_000)
        host.process.terminate()
        quick.sendall(b"x" * 1_000)
        assert quick.recv(65_536).startswith(b"HTTP/1.1 201 ")
        said = b""
        with contextlib.suppress(ConnectionResetError):
            while chunk := stuck.recv(65_536):
                said += chunk
        assert said.startswith(b"HTTP/1.1 503 "), said[:100]
        assert host.process.wait(120) == 0
        assert "raceback" not in host.errors
        quick.close()
        stuck.close()
        assert partial(host) == []
        assert len(blobs(host)) == 2
    with start_host(tmp_path, "--port", str(host.port), env=LARGE) as again:
        assert fetch(again, made["url"]).body == b"another"
        assert list_assets(again)["usage"]["assets"] == 2
        assert post_asset(again, b"more").status == 201
