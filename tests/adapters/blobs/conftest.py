"""A store of each kind, and a real S3 server for the one that needs it."""

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.adapters.blobs.blob_stores import BlobStoreFactory, S3Server
from weftwork.ports.storage.blobs import Blobs


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """One for each process of tests."""
    server = _start_server(tmp_path_factory)
    try:
        yield server
    finally:
        server.stop()


def _start_server(factory: pytest.TempPathFactory, tries: int = 3) -> S3Server:
    """Ports that were free a moment ago may be taken by others."""
    server = S3Server(factory.mktemp("s3"))
    try:
        server.start()
    except AssertionError:
        server.stop()
        if tries == 1:
            raise
        return _start_server(factory, tries - 1)
    return server


@pytest.fixture
def s3(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> S3Server:
    """The same, and the environment says where it is."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    return server


@pytest.fixture(params=["memory", "local", pytest.param("object", marks=pytest.mark.slow)])
def blob_stores(request: pytest.FixtureRequest, tmp_path: Path) -> BlobStoreFactory:
    if request.param == "object":
        request.getfixturevalue("s3")
    return BlobStoreFactory(request.param, tmp_path)


@pytest.fixture
async def blobs(blob_stores: BlobStoreFactory) -> AsyncIterator[Blobs]:
    async with blob_stores.open() as blobs:
        yield blobs
