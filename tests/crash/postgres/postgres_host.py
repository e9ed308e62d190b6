"""Hosts on a real PostgreSQL server: each case has a database of its own, on a disk, with fsync.

A database is copied as a whole with its template, so that many cases can continue what one killed host left.
"""

import asyncio
import itertools
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.crash.restartable_host import RestartableHost
from tests.crash.store_image import check_runs
from tests.harness.postgres_server import DATABASE, LEFT_OUT, PostgresServer, distribution_version
from tests.live import Host
from tests.live.sabotage import sabotaged
from weftwork.adapters.postgres.database.address import StoreAddress
from weftwork.adapters.postgres.database.connection import PostgresConnection, connect, disconnect
from weftwork.adapters.postgres.store import PostgresStore
from weftwork.protocol.run.header import RunKey
from weftwork.wiring.node_types import load_python_nodes

DISK = Path("/var/tmp") if Path("/var/tmp").is_dir() else Path(tempfile.gettempdir())
"""A folder on a disk: the folders of the tests may be in memory."""
SQL_SECONDS = 60
POSTGRES_SABOTAGES = Path(__file__).with_name("postgres_sabotage.py")

_ORPHANS = """
    SELECT run_no FROM events WHERE run_no NOT IN
    (SELECT run_no FROM runs UNION SELECT run_no FROM deleted_runs WHERE NOT purged) LIMIT 1
"""
_numbers = itertools.count(1)


def new_server(parent: Path = DISK, **settings: Any) -> PostgresServer:
    """A server for one case, which is not created yet. Skips the test if there is none on this machine."""
    version = distribution_version()
    if version is None:
        pytest.skip(LEFT_OUT)
    return PostgresServer(version, parent, settings)


@cache
def disk_server() -> PostgresServer:
    """The server that the cases of this process share which do not stop it. It ends with the process."""
    server = new_server()
    server.create()
    server.start()
    return server


class Database:
    """A database of a server. `url` may lead through a proxy."""

    def __init__(self, server: PostgresServer, template: "Database | None" = None) -> None:
        self.server = server
        self.name = f"case_{next(_numbers)}"
        source = "template1" if template is None else template.name
        if template is not None:
            # A copy is refused while a session of a killed host is still ending.
            template.end_sessions()
        run_sql(server.url(), f"CREATE DATABASE {self.name} TEMPLATE {source}")

    @property
    def url(self) -> str:
        return self.url_on(self.server.port)

    def url_on(self, port: int, **parameters: str) -> str:
        """The URL through a proxy that listens on this port."""
        usual, ours = f":{self.server.port}/{DATABASE}", f":{port}/{self.name}"
        return self.server.url(**parameters).replace(usual, ours)

    def end_sessions(self) -> None:
        """Return when no session uses the database any more."""
        ended = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = $1"
        run_sql(self.server.url(), ended, self.name)

    def fetch(self, query: str, *arguments: Any) -> list[Any]:
        return run_sql(self.url, query, *arguments)


def run_sql(url: str, query: str, *arguments: Any) -> list[Any]:
    """The rows of one statement, in a session of its own."""

    async def run() -> list[Any]:
        async with asyncio.timeout(SQL_SECONDS):
            connection = await connect(StoreAddress(url))
            try:
                return await connection.fetch(query, *arguments)
            finally:
                await disconnect(connection)

    return asyncio.run(run())


class PostgresHost(RestartableHost):
    """Hosts on one database. It can be combined with another kind of RestartableHost, before which it is named."""

    modules: Sequence[str] = ()
    """Modules with the Python nodes of the workflows."""

    def __init__(
        self, folder: Path, database: Database, *arguments: Any, url: str = "", guard: str | None = None
    ) -> None:
        """`guard` is a function of postgres_sabotage.py; a sabotage of the other stores is an argument."""
        super().__init__(folder, *arguments)
        self.database = database
        self.environment = {"WEFTWORK_STORE": url or database.url}
        if guard is not None:
            self._program = sabotaged(POSTGRES_SABOTAGES, guard)

    def launch(self, faults: str | None = None) -> Host:
        return self._launch(faults, "--migrate")

    def launch_rival(self, faults: str | None = None) -> Host:
        """A host with another data folder that replaces the one which has the lock."""
        return self._launch(faults, "--take-over", data=self.folder / f"rival-{next(_numbers)}")

    def check_image(self, copy: Path) -> None:
        check_database(self.database, self.modules)


def check_database(database: Database, modules: Sequence[str] = ()) -> None:
    """The store as a dead host left it: every cache equals the fold of its log, and nothing is left of a write that was
    not committed."""
    asyncio.run(_check_database(database, modules))


async def _check_database(database: Database, modules: Sequence[str]) -> None:
    address = StoreAddress(database.url)
    connection = await connect(address)
    try:
        # A host may have died before it made the tables.
        if await connection.fetchval("SELECT to_regclass('runs') IS NOT NULL"):
            async with asyncio.timeout(SQL_SECONDS):
                await _check_tables(connection)
                keys = [RunKey(*row) for row in await connection.fetch("SELECT partition, run_id FROM runs")]
                await _check_runs(PostgresStore(database.url), keys, modules)
    finally:
        await disconnect(connection)


async def _check_runs(store: PostgresStore, keys: list[RunKey], modules: Sequence[str]) -> None:
    await store.open()
    try:
        await check_runs(store, keys, load_python_nodes(modules))
    finally:
        await store.close()


async def _check_tables(connection: PostgresConnection) -> None:
    outcomes = await connection.fetch("SELECT outcome FROM idempotency")
    promised = {msgspec.json.decode(outcome).get("run_id") for (outcome,) in outcomes} - {None}
    known = {row[0] for row in await connection.fetch("SELECT run_id FROM runs UNION SELECT run_id FROM deleted_runs")}
    assert promised <= known, "a key answers for a run that is not there"
    orphans = await connection.fetch(_ORPHANS)
    assert not orphans, "there are events of a run that is neither there nor being taken away"
