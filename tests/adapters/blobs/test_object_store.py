"""Storage that speaks S3, and which store the settings come to."""

import asyncio
import errno
import logging
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.blobs.blob_stores import (
    BUCKET,
    SECRET,
    BlobStoreFactory,
    S3Server,
    blob_keys,
    read_blob,
    write_blob,
)
from tests.harness.cases import each_case, present
from weftwork.adapters.blobs import object_storage as object_module
from weftwork.adapters.blobs import spool
from weftwork.adapters.blobs.local import LocalBlobs
from weftwork.adapters.blobs.memory import MemoryBlobs
from weftwork.adapters.blobs.object_storage import ObjectBlobs
from weftwork.adapters.system.clock_and_ids import RandomIds
from weftwork.ports.storage.blobs import Blobs
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.settings import Settings, SettingsError
from weftwork.testing.deterministic import ManualClock, SequentialIds
from weftwork.wiring.blob_store import build_blobs

KEY = f"{'0' * 32}/00/00/{'0' * 64}-{'0' * 24}"


async def refused(blobs: Blobs, key: str) -> list[str]:
    """What every call says while there is no storage."""
    said: list[str] = []
    for ask in (
        write_blob(blobs, b"x"),
        write_blob(blobs, bytes(700_000)),
        read_blob(blobs, key),
        blobs.delete(key),
        blob_keys(blobs),
    ):
        with pytest.raises(StoreUnavailable) as caught:
            await ask
        said.append(str(caught.value))
    return said


@pytest.mark.slow
async def test_storage_that_goes_and_comes_back(s3: S3Server, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    ground = BlobStoreFactory("object", tmp_path)
    try:
        with caplog.at_level(logging.WARNING):
            async with ground.open() as blobs:
                kept = await write_blob(blobs, bytes(700_000))
                source = present(await blobs.source(kept.key))
                await asyncio.to_thread(s3.stop)
                said = await refused(blobs, kept.key)
                assert {text.partition(": ")[0] for text in said} == {"the object storage failed"}
                assert not [text for text in said if "127.0.0.1" in text or SECRET in text or BUCKET in text]
                with pytest.raises(StoreUnavailable):
                    async for _ in source.read(0, source.size):
                        pass
                other = ground.make()
                await other.open()
                assert [record.message for record in caplog.records] == ["the object storage does not answer"]
                await asyncio.to_thread(s3.start)
                for each in (blobs, other):
                    assert await read_blob(each, kept.key) == bytes(700_000)
                    again = await write_blob(each, b"again")
                    assert again.key in await blob_keys(each)
                    await each.delete(again.key)
                await other.close()
    finally:
        s3.start()


@pytest.mark.slow
async def test_storage_that_knows_us_not(s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "canary-of-a-wrong-key")
    async with BlobStoreFactory("object", tmp_path).open() as blobs:
        for text in await refused(blobs, KEY):
            assert text.startswith("the object storage failed: ")
            assert "canary" not in text


@pytest.mark.slow
def test_without_the_guard_more_would_be_told(s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT", "http://127.0.0.1:9")
    ground = BlobStoreFactory("object", tmp_path)

    async def work(blobs: Blobs) -> str:
        with pytest.raises(Exception, match=r".") as caught:
            await read_blob(blobs, KEY)
        return str(caught.value)

    assert "127.0.0.1" not in ground.run(work)
    blobs = ground.make()
    assert isinstance(blobs, ObjectBlobs)
    with pytest.raises(Exception, match=r"127\.0\.0\.1"):
        asyncio.run(blobs._store.head_async(KEY))


@pytest.mark.slow
async def test_storage_that_takes_a_request_and_says_nothing(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_module, "OPERATION_TIMEOUT_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("AWS_ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        blobs = ObjectBlobs(BUCKET, "", RandomIds(), None, allow_http=True)
        await blobs.open()
        for ask in (blobs.source(KEY), blobs.delete(KEY), blob_keys(blobs)):
            with pytest.raises(StoreUnavailable, match="TimeoutError"):
                await ask
        await blobs.close()


@pytest.mark.slow
async def test_foreign_objects_are_no_blobs(s3: S3Server, tmp_path: Path) -> None:
    async with BlobStoreFactory("object", tmp_path).open() as blobs:
        assert isinstance(blobs, ObjectBlobs)
        await blobs._store.put_async("notes/readme.txt", b"x")
        await blobs._store.put_async(f"{KEY}.old", b"x")
        kept = await write_blob(blobs, b"ours")
        assert await blob_keys(blobs) == [kept.key]
        assert await blobs.source("notes/readme.txt") is None
        await blobs.delete("notes/readme.txt")
        assert (await blobs._store.head_async("notes/readme.txt"))["size"] == 1


@pytest.mark.slow
def test_hosts_with_prefixes_of_their_own_do_not_meet(s3: S3Server, tmp_path: Path) -> None:
    first, second = BlobStoreFactory("object", tmp_path), BlobStoreFactory("object", tmp_path)
    kept = first.run(lambda blobs: write_blob(blobs, b"mine"))
    assert second.run(blob_keys) == []
    assert second.run(lambda blobs: read_blob(blobs, kept.key)) is None
    second.run(lambda blobs: blobs.delete(kept.key))
    assert first.run(lambda blobs: read_blob(blobs, kept.key)) == b"mine"


@pytest.mark.slow
async def test_more_keys_than_one_answer_has(s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_module, "LIST_PAGE_SIZE", 3)
    async with BlobStoreFactory("object", tmp_path).open() as blobs:
        made = [(await write_blob(blobs, bytes([number]))).key for number in range(10)]
        assert await blob_keys(blobs) == sorted(made)


@pytest.mark.slow
async def test_no_room_to_gather(s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(**named: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "canary-path")

    async with BlobStoreFactory("object", tmp_path).open() as blobs:
        with monkeypatch.context() as patch:
            patch.setattr(spool.tempfile, "TemporaryFile", full)
            assert (await write_blob(blobs, b"small")).size == 5, "a few bytes need none"
            with pytest.raises(StoreUnavailable, match=r"No space left on device$"):
                await write_blob(blobs, bytes(700_000))
        assert (await write_blob(blobs, bytes(700_000))).key in await blob_keys(blobs)


@pytest.mark.slow
async def test_what_is_gathered_has_no_name(s3: S3Server, tmp_path: Path) -> None:
    blobs = ObjectBlobs(BUCKET, "gathered", RandomIds(), tmp_path, allow_http=True)
    await blobs.open()
    sink = await blobs.sink("acme")
    await sink.write(bytes(700_000))
    assert list(tmp_path.iterdir()) == []
    await sink.discard()
    await blobs.close()


def chosen(environ: dict[str, str] | None = None, **settings: Any) -> Blobs:
    return build_blobs(Settings(**settings), ManualClock(), SequentialIds(), environ or {})


def test_a_folder_beside_the_database(tmp_path: Path) -> None:
    blobs = chosen(data=str(tmp_path))
    assert isinstance(blobs, LocalBlobs)
    assert blobs._path == tmp_path / "assets"
    assert list(tmp_path.iterdir()) == [], "nothing is made before it is opened"


def test_memory_with_a_store_in_memory() -> None:
    assert isinstance(chosen(store="memory"), MemoryBlobs)


@each_case("store", "memory", "sqlite")
@each_case("text", "s3://flows", "s3://flows/", "s3://flows/some/prefix", "s3://a.b-c/x_Y.z/")
def test_object_storage(store: str, text: str) -> None:
    assert isinstance(chosen(store=store, blobs=text), ObjectBlobs)


@each_case(
    "text",
    *"""
    s3: s3:// s3:/// s3://a S3://flows s3://flows?x s3://flows#x s3://key:canary@flows/x gs://flows file:///x /x flows
    s3://flows/../x s3://flows/a/./b s3://flows/a//b s3://Flows http://flows s3://flows/%2e s3://-flows
    """.split(),
)
def test_what_is_no_place(text: str) -> None:
    with pytest.raises(SettingsError, match=r"blobs must be empty .* or a URL like s3://bucket/prefix") as caught:
        chosen(blobs=text)
    assert "canary" not in str(caught.value)


@each_case("name", "AWS_ENDPOINT", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3")
def test_no_tls_has_to_be_asked_for(name: str) -> None:
    given = {name: "http://127.0.0.1:9000"}
    with pytest.raises(SettingsError, match=f"{name} is an http URL; use https, or set AWS_ALLOW_HTTP=true"):
        chosen(given, blobs="s3://flows")
    with pytest.raises(SettingsError):
        chosen({**given, "AWS_ALLOW_HTTP": "false"}, blobs="s3://flows")
    assert chosen({**given, "AWS_ALLOW_HTTP": "true"}, blobs="s3://flows")
    assert chosen({name: "https://127.0.0.1:9000"}, blobs="s3://flows")


WITHOUT = """
import sys

class Away:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "obstore":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Away())
from weftwork import Host, Settings
from weftwork.settings import SettingsError
from weftwork.wiring.blob_store import build_blobs as host_blobs
assert host_blobs(Settings(data="x"), None, None) is not None
try:
    host_blobs(Settings(data="x", blobs="s3://flows"), None, None, {})
except SettingsError as error:
    print(error)
"""


def test_without_the_packages_it_says_what_to_install(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", WITHOUT], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.stdout == "blobs on s3:// needs optional packages; run: pip install 'weftwork[blobs]'\n", ended.stderr


def test_a_host_without_object_storage_loads_none_of_it(tmp_path: Path) -> None:
    code = "import sys, weftwork, weftwork.app, weftwork.wiring.blob_store; print('obstore' in sys.modules)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert ended.stdout == "False\n", ended.stderr
