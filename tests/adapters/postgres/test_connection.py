"""Addresses, TLS, and servers that must not be used."""

import logging
import subprocess
import sys
from pathlib import Path

import pytest

from tests.adapters.postgres.stores import main_server, make_store, open_store
from tests.harness.cases import each_case
from tests.harness.postgres_server import (
    LEFT_OUT,
    PASSWORD,
    PostgresServer,
    distribution_version,
    new_schema,
)
from weftwork.adapters.postgres.database import connection as connections
from weftwork.adapters.postgres.database.address import StoreAddress
from weftwork.adapters.postgres.store import PostgresStore
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.protocol.errors import HostFault
from weftwork.testing.storage.harness import catch, opened
from weftwork.testing.storage.samples import make_run

pytestmark = pytest.mark.slow

URL = "postgres://weft:p%40ss%3Aw%2Frd@db.example:5432/weft"


@each_case(
    "url",
    URL,
    "postgresql://weft:p%40ss%3aw%2frd@db.example/weft?sslmode=verify-full",
    "postgres://weft@db.example/weft?password=p%40ss%3Aw%2Frd",
    "postgres://weft:p%40ss:w%2Frd@one.example,two.example/weft",
)
def test_the_password_is_masked_however_it_is_written(url: str) -> None:
    address = StoreAddress(url)
    assert address.has_password
    for shown in (repr(address), address.masked_url, address.mask(f"{url} {PASSWORD} p%40ss%3Aw%2Frd")):
        assert all(part not in shown.lower() for part in ("p@s", "40s", "w/rd", "2frd"))
        assert "***" in shown


def test_a_password_of_the_environment_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    address = StoreAddress("postgres://weft@db.example/weft")
    assert not address.has_password
    assert address.mask(f"failed with {PASSWORD}") == "failed with ***"


@each_case("url", "sqlite:///x", "http://db.example/weft", "", "postgres://[::1/weft")
def test_an_url_of_something_else_is_refused(url: str) -> None:
    with pytest.raises(HostFault):
        StoreAddress(url)


@each_case("schema", "", "Weft", "a-b", 'a"b', "1a", "pg_own", "a" * 64)
def test_a_schema_that_needs_quotes_is_refused(schema: str) -> None:
    with pytest.raises(HostFault):
        StoreAddress(URL, schema)


@each_case(
    "url, local",
    ("postgres://weft@127.0.0.1/weft", True),
    ("postgres://weft@[::1]:5432/weft", True),
    ("postgres://weft@localhost:5432/weft", True),
    ("postgres://weft@/weft?host=/run/postgresql", True),
    ("postgres://weft@db.example/weft", False),
    ("postgres://weft@localhost,db.example/weft", False),
)
def test_a_local_server_is_recognised(url: str, local: bool) -> None:
    assert StoreAddress(url).is_local is local


def test_locks_and_channels_belong_to_a_schema() -> None:
    first, second = StoreAddress(URL, "one"), StoreAddress(URL, "two")
    assert first.lock_key("a") == StoreAddress("postgres://other@db.example/weft", "one").lock_key("a")
    assert len({first.lock_key("a"), first.lock_key("b"), second.lock_key("a"), first.lock_key("a", "b")}) == 4
    assert first.channel != second.channel
    assert -(2**63) <= first.lock_key("a") < 2**63


async def test_two_hosts_share_a_database() -> None:
    async with open_store() as first, open_store() as second:
        await make_run(first, "run-a")
        await make_run(second, "run-a")
        assert await first.election.take() > 0
        assert await second.election.take() > 0


async def test_tls_is_verified() -> None:
    version = distribution_version()
    if version is None:
        pytest.skip(LEFT_OUT)
    with PostgresServer(version, tls=True) as server:
        verified = server.url("localhost", sslmode="verify-full", sslrootcert=server.certificate)
        async with opened(PostgresStore(verified, may_migrate=True)) as store:
            await make_run(store)
            rows = await store._pool.read(  # pyright: ignore[reportPrivateUsage]
                "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
            )
            assert rows[0][0] is True
        for wrong in (
            server.url("127.0.0.1", sslmode="verify-full", sslrootcert=server.certificate),
            server.url("localhost", sslmode="disable"),
            server.url("localhost", sslmode="verify-full", sslrootcert=server.folder / "server.crt"),
        ):
            error = await catch(PostgresStore(wrong).open())
            assert isinstance(error, StoreUnavailable | HostFault), wrong
            assert "ss:w" not in str(error)


async def test_a_wrong_password_is_reported_without_it() -> None:
    url = main_server().url().replace("p%40ss", "wr%40ng")
    error = await catch(PostgresStore(url).open())
    assert isinstance(error, StoreUnavailable)
    assert "password authentication failed" in str(error)
    assert "wr@ng" not in str(error)
    assert error.__context__ is None or error.__suppress_context__


@each_case("setting", "fsync", "full_page_writes")
async def test_a_server_that_could_lose_writes_is_refused(setting: str) -> None:
    with PostgresServer(str(distribution_version() or main_server()), settings={setting: "off"}) as server:
        error = await catch(PostgresStore(server.socket_url(), may_migrate=True).open())
        assert isinstance(error, HostFault)
        assert f"{setting}=off" in str(error)


async def test_a_server_that_acknowledges_early_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    url = f"{main_server().socket_url()}&synchronous_commit=off"
    async with opened(PostgresStore(url, new_schema("early"), may_migrate=True)):
        assert "synchronous_commit=off" in caplog.text


async def test_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "VERSIONS", range(90, 92))
    error = await catch(make_store(new_schema()).open())
    assert isinstance(error, HostFault)
    assert "this release supports 90 to 91" in str(error)


async def test_a_read_only_server_is_not_ready() -> None:
    url = f"{main_server().socket_url()}&default_transaction_read_only=on"
    for session in ("any", "read-write"):
        error = await catch(PostgresStore(f"{url}&target_session_attrs={session}", new_schema()).open())
        assert isinstance(error, StoreUnavailable)


@each_case("skew, ready, warned", (0, True, False), (2, True, True), (-2, True, True), (9, False, False))
async def test_clocks_that_differ_are_noticed(skew: int, ready: bool, warned: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        async with open_store() as store:
            now = connections.time.time
            patch.setattr(connections.time, "time", lambda: now() + skew)
            records: list[logging.LogRecord] = []
            patch.setattr(connections.logger, "handle", records.append)
            error = await catch(store.log.check_ready())
            assert (error is None) is ready
            assert any("clock" in record.getMessage() for record in records) is warned


async def test_an_unencrypted_connection_to_another_machine_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    store = PostgresStore("postgres://weft:secret@192.0.2.1:1/weft?sslmode=disable")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connections, "CONNECT_SECONDS", 0.01)
        assert isinstance(await catch(store.open()), StoreUnavailable)
    assert "not encrypted: postgres://weft:***@192.0.2.1" in caplog.text


def test_the_library_is_loaded_only_for_this_store() -> None:
    code = "import sys, weftwork, weftwork.app; print('asyncpg' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert found.stdout.strip() == "False"
    used = [
        path.name
        for path in Path(connections.__file__).parents[1].rglob("*.py")
        if "import asyncpg" in path.read_text("utf-8")
    ]
    assert used == ["connection.py"]
