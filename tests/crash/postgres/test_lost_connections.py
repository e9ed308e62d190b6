"""A busy host whose connections to PostgreSQL break in every way, and whose server crashes, loses nothing."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tests.crash.client import ClientHistory, RecordingClient
from tests.crash.effects.effect_sink import CountingSink
from tests.crash.oracle import check_history
from tests.crash.postgres.busy_host import BusyClients, BusyHost, check_afterwards, is_ready
from tests.crash.postgres.postgres_host import Database, PostgresHost, disk_server, run_sql
from tests.harness.definitions import FULL
from tests.harness.postgres_proxy import EXECUTOR, POOL, WRITER, PostgresProxy
from tests.harness.postgres_server import PostgresServer
from tests.live import until

Strike = Callable[[PostgresServer, PostgresProxy], None]
SECONDS: Final = 60


def lose(name: str, at_once: bool = False) -> Strike:
    """Reset a connection after a commit was sent on it."""

    def strike(server: PostgresServer, proxy: PostgresProxy) -> None:
        assert proxy.lose_answer(name, 2, at_once).wait(SECONDS), f"nothing was committed by {name}"

    return strike


def cut(name: str) -> Strike:
    return lambda server, proxy: proxy.cut(name)


def end_sessions(server: PostgresServer, proxy: PostgresProxy) -> None:
    run_sql(server.url(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname LIKE 'case_%'")


def crash_server(server: PostgresServer, proxy: PostgresProxy) -> None:
    server.stop("immediate")
    server.start()


STRIKES: Final[dict[str, Strike]] = {
    "the answer to the writer is lost": lose(WRITER),
    "the writer is cut off when it has sent a commit": lose(WRITER, at_once=True),
    "the answer to a transaction is lost": lose(POOL),
    "a transaction is cut off when it has sent a commit": lose(POOL, at_once=True),
    "the writer is cut off": cut(WRITER),
    "the transactions are cut off": cut(POOL),
    "the election is cut off": cut(EXECUTOR),
    "all sessions are ended": end_sessions,
    "the server crashes": crash_server,
}
REPEATS: Final = 20


def strike_busy_host(folder: Path, strikes: list[Strike]) -> dict[str, int]:
    with (
        PostgresProxy(disk_server().port) as proxy,
        CountingSink(5).listening() as sink,
        BusyHost(folder, (database := Database(disk_server())), sink, url=database.url_on(proxy.port)) as ground,
    ):
        clients = BusyClients(ground.start(), sink)
        with clients.at_work():
            for strike in strikes:
                clients.progress()
                strike(database.server, proxy)
            clients.progress()
        assert "Traceback" not in clients.host.errors, clients.host.errors
        return check_afterwards(ground, clients, sink, folder)


@pytest.mark.parametrize("name", STRIKES if FULL else ["one of each"])
def test_a_busy_host_survives(tmp_path: Path, name: str) -> None:
    strike_busy_host(tmp_path, [STRIKES[name]] * REPEATS if FULL else [*STRIKES.values()])


@pytest.mark.skipif(not FULL, reason="the full proof")
@pytest.mark.parametrize("name", [WRITER, EXECUTOR])
def test_a_host_whose_connection_is_silent_or_slow_goes_on(tmp_path: Path, name: str) -> None:
    with (
        PostgresProxy(disk_server().port) as proxy,
        CountingSink(5).listening() as sink,
        BusyHost(tmp_path, (database := Database(disk_server())), sink, url=database.url_on(proxy.port)) as ground,
    ):
        clients = BusyClients(ground.start(), sink)
        with clients.at_work():
            with proxy.delay(name, 0.05):
                clients.progress()
            with proxy.silence(name):
                until(lambda: name == EXECUTOR or not is_ready(clients.host), "the host to be unready")
            clients.progress()
        check_afterwards(ground, clients, sink, tmp_path)


def lose_answer_to_create(folder: Path, guard: str | None) -> None:
    """A create is committed, and its answer is lost. The host finds the run and tells the client."""
    with (
        PostgresProxy(disk_server().port) as proxy,
        PostgresHost(
            folder, (database := Database(disk_server())), url=database.url_on(proxy.port), guard=guard
        ) as ground,
    ):
        client = RecordingClient(ground.start(), ClientHistory(), "c")
        # The first create prepares its statement.
        assert client.create("quick") is not None
        is_done = proxy.lose_answer(WRITER)
        assert client.create("quick") is not None
        assert is_done.wait(SECONDS)
        check_history(client.host, client.history)


def test_a_create_with_a_lost_answer_is_found_in_the_store(tmp_path: Path) -> None:
    lose_answer_to_create(tmp_path, None)


def test_a_host_that_does_not_read_back_is_seen(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="assert None is not None"):
        lose_answer_to_create(tmp_path, "skip_reading_back")
