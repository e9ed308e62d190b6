"""A server without free connections, without space, or that is read-only: the host waits, refuses, and goes on."""

import asyncio
import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.crash.client import ClientHistory, RecordingClient
from tests.crash.oracle import check_history
from tests.crash.postgres.busy_host import is_ready
from tests.crash.postgres.postgres_host import DISK, Database, PostgresHost, disk_server, new_server, run_sql
from tests.crash.restartable_host import stop
from tests.harness.cases import present
from tests.harness.definitions import FULL
from tests.harness.postgres_server import PostgresServer
from tests.live import Host, until
from weftwork.adapters.postgres.database.address import StoreAddress
from weftwork.adapters.postgres.database.connection import PostgresConnection, connect, disconnect
from weftwork.ports.storage.event_log import StoreUnavailable

FEW_CONNECTIONS = 12
CALLERS = 24


@contextlib.contextmanager
def all_connections(server: PostgresServer) -> Iterator[None]:
    """Within it, every connection that the server still has is in use."""
    with asyncio.Runner() as runner:
        taken: list[PostgresConnection] = []
        try:
            with contextlib.suppress(StoreUnavailable):
                while True:
                    taken.append(runner.run(connect(StoreAddress(server.url()))))
            yield
        finally:
            for each in taken:
                runner.run(disconnect(each))


def test_a_host_waits_for_a_connection_at_its_start_and_works_without_more_of_them(tmp_path: Path) -> None:
    with new_server(max_connections=FEW_CONNECTIONS) as server, PostgresHost(tmp_path, Database(server)) as ground:
        with all_connections(server):
            host = ground.launch()
            until(lambda: "waiting for the store" in host.errors, "the host to wait")
            assert "listens" not in host.output
        host.wait_for_start()
        client = RecordingClient(host, ClientHistory(), "c")
        run_id = present(client.create("quick"))
        with all_connections(server):
            check_host_without_spare_connections(host, client, run_id)
        until(lambda: is_ready(host), "the host to be ready")
        check_history(host, client.history)
        stop(host)
        ground.check_image(tmp_path / "image")


def check_host_without_spare_connections(host: Host, client: RecordingClient, run_id: str) -> None:
    """What is open continues; what waits for the pool is served, or refused with 503."""

    def read() -> int:
        return host.call("GET", f"/v1/runs/{run_id}/events").status

    def write() -> int:
        return host.call("POST", "/v1/runs", {"workflowId": "quick"}).status

    with ThreadPoolExecutor(CALLERS) as pool:
        reads = {each.result(60) for each in [pool.submit(read) for _ in range(CALLERS)]}
    assert reads <= {200, 503}, f"readers are told {reads}"
    # The writer has its connection.
    assert client.create("waits", keyed=True) is not None
    assert client.create("quick") is not None


@contextlib.contextmanager
def small_disk(size: str) -> Iterator[Path]:
    """A file system of its own, in a folder that the user of the server may enter."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    folder = Path(tempfile.mkdtemp(dir=DISK))
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], check=True, timeout=20)
    try:
        folder.chmod(0o711)
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True, timeout=20)
        folder.rmdir()


def test_a_server_without_space_refuses_writes_and_loses_nothing(tmp_path: Path) -> None:
    with (
        small_disk("300m") as disk,
        new_server(disk) as server,
        PostgresHost(tmp_path / "host", Database(server)) as ground,
    ):
        host = ground.start()
        client = RecordingClient(host, ClientHistory(), "c")
        begun = [present(client.create(name, keyed=True)) for name in ("quick", "asks", "waits")]
        fill(disk)
        # Tables grow by pages, and the log of the server has some space left.
        until(lambda: client.create("bulk", text="x" * 400_000) is None, "a refused write")
        assert all(client.read(run_id) for run_id in begun)
        (disk / "filler").unlink()
        until(lambda: is_ready(host), "the host to be ready")
        assert client.create("quick", keyed=True) is not None
        check_history(host, client.history)
        assert "Traceback" not in host.errors
        stop(host)
        ground.check_image(tmp_path / "image")


def fill(disk: Path) -> None:
    with (disk / "filler").open("wb") as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(1 << 16))
            file.flush()


@pytest.mark.skipif(not FULL, reason="the full proof")
def test_a_standby_is_not_used_before_it_is_promoted(tmp_path: Path) -> None:
    with new_server() as server, PostgresHost(tmp_path, (database := Database(server))) as ground:
        client = RecordingClient(ground.start(), ClientHistory(), "c")
        assert client.create("quick", keyed=True) is not None
        assert client.create("asks", keyed=True) is not None
        client.host.kill()
        with server.standby() as standby:
            server.stop("fast")
            ground.environment = {"WEFTWORK_STORE": database.url_on(standby.port)}
            host = ground.launch()
            until(lambda: "waiting for the store" in host.errors, "the host to wait")
            assert "listens" not in host.output
            run_sql(standby.url(target_session_attrs="any"), "SELECT pg_promote()")
            host.wait_for_start()
            client.host = host
            assert client.create("quick", keyed=True) is not None
            check_history(host, client.history)
            stop(host)


def test_a_server_that_becomes_read_only_makes_the_host_unready(tmp_path: Path) -> None:
    server = disk_server()
    database = Database(server)
    with PostgresHost(tmp_path, database) as ground:
        client = RecordingClient(ground.start(), ClientHistory(), "c")
        run_id = present(client.create("asks", keyed=True))
        run_sql(server.url(), f"ALTER DATABASE {database.name} SET default_transaction_read_only = on")
        database.end_sessions()
        until(lambda: not is_ready(client.host), "the host to be unready")
        assert client.create("quick", keyed=True) is None
        # Readers are not served by a server that may be behind.
        assert client.host.call("GET", f"/v1/runs/{run_id}").status == 503
        assert client.host.call("GET", "/health").status == 200
        run_sql(server.url(), f"ALTER DATABASE {database.name} RESET default_transaction_read_only")
        until(lambda: is_ready(client.host), "the host to be ready")
        check_history(client.host, client.history)
        stop(client.host)
        ground.check_image(tmp_path / "image")
