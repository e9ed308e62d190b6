"""Stores on the shared test server, each test with its own schema."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.harness.postgres_server import LEFT_OUT, PostgresServer, distribution_version, new_schema, shared_server
from weftwork.adapters.postgres.database.address import StoreAddress
from weftwork.adapters.postgres.database.connection import PostgresConnection, connect, disconnect
from weftwork.adapters.postgres.database.writer import PostgresWriter
from weftwork.adapters.postgres.store import PostgresStore
from weftwork.testing.storage.harness import opened

WAIT_SECONDS = 30


def main_server() -> PostgresServer:
    """The server of the distribution, which runs all tests."""
    version = distribution_version()
    if version is None:
        pytest.skip(LEFT_OUT)
    return shared_server(version)


def make_store(schema: str, **options: Any) -> PostgresStore:
    return PostgresStore(main_server().socket_url(), schema, may_migrate=True, **options)


@asynccontextmanager
async def open_store(**options: Any) -> AsyncGenerator[PostgresStore, None]:
    async with opened(make_store(new_schema(), **options)) as store:
        yield store


@asynccontextmanager
async def open_pair(**options: Any) -> AsyncGenerator[tuple[PostgresStore, PostgresStore], None]:
    schema = new_schema("pair")
    async with opened(make_store(schema, **options)) as first, opened(make_store(schema, **options)) as second:
        yield first, second


@asynccontextmanager
async def session(address: StoreAddress, **settings: str) -> AsyncGenerator[PostgresConnection, None]:
    """A session of the test itself in the schema of a store."""
    connection = await connect(address, **settings)
    try:
        yield connection
    finally:
        await disconnect(connection)


def writer_of(store: PostgresStore) -> PostgresWriter:
    return store._writer  # pyright: ignore[reportPrivateUsage]
