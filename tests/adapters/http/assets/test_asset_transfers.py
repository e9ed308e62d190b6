"""Assets on their way: whole or broken off, checked or not kept, and nothing of them in the log of the host."""

import asyncio
import contextlib
import hashlib
import http.client
import logging
import socket
import time
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from tests.harness.cases import fails_without
from tests.live import KEY, Host, ListeningHost, in_thread, open_in_process, open_listening
from tests.live.assets import NO_TOKEN, PNG, UPLOADS, fetch, path_of, post_asset, upload_asset
from tests.live.listening_host import until
from weftwork.adapters.http import app, response_writer
from weftwork.adapters.http.message import Request
from weftwork.adapters.http.routes import assets
from weftwork.adapters.http.routes import assets as asset_upload
from weftwork.adapters.http.server import connection, http_server
from weftwork.engine.media.assets import Assets
from weftwork.ports.storage.blobs import BlobSource
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.protocol.media import asset_headers
from weftwork.protocol.wire.v1.assets import ASSET_PREFIX

LARGE = b"x" * 12_000_000
"""More than the system takes off the host's hands for a client that does not read."""
SHORT = 0.3


class Noted:
    """A source that says when it is closed, and may fail on the way."""

    def __init__(self, source: BlobSource, good: int | None, closed: list[str]) -> None:
        self._source = source
        self._good = good
        self._closed = closed

    @property
    def size(self) -> int:
        return self._source.size

    async def read(self, start: int, length: int) -> AsyncGenerator[bytes, None]:
        for at in range(start, start + length, 100_000):
            if self._good is not None and at >= self._good:
                raise StoreUnavailable("away")
            async for piece in self._source.read(at, min(100_000, start + length - at)):
                yield piece

    async def close(self) -> None:
        self._closed.append("closed")
        await self._source.close()


def watch(served: ListeningHost, good: int | None = None) -> list[str]:
    """Has an entry for each source that was closed; `good` is where reading begins to fail."""
    closed: list[str] = []
    honest = served.host.blobs.source

    async def source(key: str) -> Any:
        found = await honest(key)
        return Noted(found, good, closed) if found is not None else None

    served.host.blobs.source = source  # type: ignore[method-assign]
    return closed


async def large(served: ListeningHost) -> str:
    asset = await served.host.assets.put("live:acme", LARGE, 60_000)
    return ASSET_PREFIX + served.host.assets.make_token(asset, "text/plain", expires_at=asset.held_until)


def read(port: int, path: str) -> bytes:
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=120)) as client:
        client.request("GET", path)
        return client.getresponse().read()


@pytest.mark.rule("media-31")
@pytest.mark.parametrize("good", [0, 300_000, 11_900_000])
async def test_an_asset_that_cannot_be_read_to_its_end_is_broken_off(
    good: int, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_listening() as served:
        path = await large(served)
        closed = watch(served, good)
        with pytest.raises((http.client.IncompleteRead, ConnectionResetError)):
            await in_thread(read, served.port, path)
        await until(lambda: closed == ["closed"], "the source to be closed")
    assert "store unavailable" in caplog.messages
    silent(caplog)


def silent(caplog: pytest.LogCaptureFixture) -> None:
    """No log line holds a token."""
    said = "".join(repr(vars(record)) for record in caplog.records)
    assert "/assets/v1." not in said


def connections() -> list[Any]:
    found: list[Any] = [task.get_coro() for task in asyncio.all_tasks()]
    return [coro.cr_frame.f_locals["self"].scope["weftwork.connection"] for coro in found if "run_asgi" in repr(coro)]


@pytest.mark.rule("media-31")
@pytest.mark.parametrize("end", ["closes", "resets", "stays"])
def test_a_reader_who_does_not_read_is_let_go(end: str, monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    caplog.set_level(logging.INFO)
    if end == "stays":
        monkeypatch.setattr(response_writer, "STALL_SECONDS", SHORT)

    async def work() -> None:
        async with open_listening() as served:
            path = await large(served)
            closed = watch(served)
            before = len(asyncio.all_tasks())
            client = await in_thread(served.ask, path, 4096)
            await until(
                lambda: any(connection.is_full for connection in connections()) or closed, "the connection to be full"
            )
            if end == "resets":
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            if end != "stays":
                client.close()
            await until(lambda: closed == ["closed"], "the source to be closed")
            await until(lambda: len(asyncio.all_tasks()) <= before, "nothing to be left")
            client.close()

    asyncio.run(work())
    assert ("client stopped reading, connection closed" in caplog.messages) is (end == "stays")
    silent(caplog)


def test_the_log_of_a_host_holds_no_token(host: Host) -> None:
    made = upload_asset(host, PNG)
    for path in (made["url"], made["url"] + "x", NO_TOKEN):
        fetch(host, path)
        fetch(host, path, "HEAD")
        host.call("DELETE", path_of(path) if path.startswith("http") else path)
    mark = made["url"].rsplit(".", 1)[1]
    assert mark not in host.errors
    assert mark not in host.output


async def test_the_path_of_a_request_that_fails_is_logged_without_its_token(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*given: Any) -> Any:
        raise RuntimeError("a bug")

    async with open_in_process() as inside:
        url = (await inside.call("POST", UPLOADS, {"a": 1})).document["url"]
        monkeypatch.setattr(Assets, "open", fail)
        answer = await inside.call("GET", path_of(url))
    assert answer.status == 500
    assert answer.headers["content-security-policy"] == "default-src 'none'; sandbox"
    (record,) = [each for each in caplog.records if each.getMessage() == "request failed"]
    assert vars(record)["path"] == f"{UPLOADS}/(token)"
    assert not [part for part in url.split(".")[-3:] if part in repr(vars(record))]


# Time


def steady(port: int, pause: float, count: int) -> bytes:
    """An upload that goes on after each pause; the first line of the answer."""
    with socket.create_connection(("127.0.0.1", port), 120) as client:
        lines = [f"POST {UPLOADS} HTTP/1.1", "Host: x", f"Authorization: Bearer {KEY}"]
        client.sendall("\r\n".join([*lines, f"Content-Length: {count * 50_000}", "", ""]).encode())
        with contextlib.suppress(ConnectionError):
            for _ in range(count):
                client.sendall(b"x" * 50_000)
                time.sleep(pause)
        return client.recv(65_536).split(b"\r\n")[0]


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "DEADLINE_CHECK_TICKS", 1)
    monkeypatch.setattr(connection, "BODY_GRACE_SECONDS", SHORT)
    monkeypatch.setattr(connection, "MAX_BODY_PAUSE_SECONDS", 2 * SHORT)


@pytest.mark.rule("media-33")
@pytest.mark.usefixtures("short")
def test_an_upload_may_take_long_and_may_not_rest_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(pause: float, count: int) -> bytes:
        async with open_listening() as served:
            return await in_thread(steady, served.port, pause, count)

    with monkeypatch.context() as patch:
        # A busy machine may rest for a while, too.
        patch.setattr(connection, "MAX_BODY_PAUSE_SECONDS", 1e9)
        assert asyncio.run(work(SHORT / 3, 20)) == b"HTTP/1.1 201 Created"
    assert asyncio.run(work(5 * SHORT, 2)) == b"HTTP/1.1 400 Bad Request"
    # Else what came at once would buy a minute for each 60 KiB.
    monkeypatch.setattr(connection, "MAX_BODY_PAUSE_SECONDS", 1e9)
    assert asyncio.run(work(5 * SHORT, 2)) == b"HTTP/1.1 201 Created"


async def not_kept(status: int, data: bytes, query: str = "", **settings: Any) -> None:
    """An upload is refused with this status, and there is no asset then."""
    async with open_listening(**settings) as served:

        def post() -> int:
            with contextlib.closing(http.client.HTTPConnection("127.0.0.1", served.port, timeout=120)) as client:
                pieces = iter([data[at : at + 50_000] for at in range(0, len(data), 50_000)])
                headers = {"Authorization": f"Bearer {KEY}"}
                client.request("POST", UPLOADS + query, pieces, headers, encode_chunked=True)
                return client.getresponse().status

        told = await in_thread(post)
        usage = (await served.in_process.call("GET", UPLOADS)).document["usage"]
        assert (told, usage["assets"]) == (status, 0)


async def uncapped(self: Any, partition: str, pieces: Any, held_ms: int, cap: int | None, put: Any = Assets.put) -> Any:
    return await put(self, partition, pieces, held_ms, None)


@fails_without(Assets, "put", uncapped, match="201, 1")
async def test_an_upload_over_the_cap_is_not_kept() -> None:
    await not_kept(413, b"x" * 300_000, max_upload_bytes=200_000)


@fails_without(asset_upload, "_expected_digests", lambda request: set(), match="201, 1")
async def test_other_bytes_than_promised_are_not_kept() -> None:
    await not_kept(400, b"other", f"?sha256={hashlib.sha256(b'').hexdigest()}")


@fails_without(asset_headers, "SECURITY_HEADERS", ())
@fails_without(app, "ASSET_PREFIXES", ("/nowhere",))
async def test_an_asset_and_an_answer_about_none_are_sandboxed() -> None:
    async with open_in_process() as inside:
        url = path_of((await inside.call("POST", UPLOADS, {"a": 1})).document["url"])
        for path in (url, NO_TOKEN):
            assert "content-security-policy" in (await inside.call("GET", path)).headers


async def left_open(self: Any, request: Request, asset: Any, headers: Any, status: int, part: Any, bare: bool) -> None:
    source = await self._assets.open(asset)
    await request.writer.start(status, [*headers, (b"content-length", b"%d" % source.size)])
    await assets._stream_bytes(request, source, 0, source.size)
    await request.writer.write(b"")


@fails_without(assets.AssetRoutes, "_send", left_open, match="closed")
async def test_a_source_is_closed_after_its_last_byte() -> None:
    async with open_listening() as served:
        path = await large(served)
        closed = watch(served)
        assert await in_thread(read, served.port, path) == LARGE
        assert closed == ["closed"]


def test_a_body_behind_an_upload_is_the_next_request(host: Host) -> None:
    """On the same connection."""
    assert post_asset(host, PNG).status == 201
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", host.port, timeout=120)) as client:
        for data in (PNG, b"", PNG + b"1", PNG + b"2"):
            client.request("POST", UPLOADS, data, {"Authorization": f"Bearer {KEY}"})
            answer = client.getresponse()
            assert (answer.status, bool(answer.read())) == (201 if data else 400, True)
