"""More connections than there may be: the host says so, answers probes, and never runs out of files."""

import contextlib
import resource
import socket
from typing import Any

import pytest

from tests.harness.cases import each_case
from tests.hostile.raw_http import (
    AUTH,
    HEALTH,
    HOST,
    ReceivedAnswer,
    check_error,
    connect,
    receive_answers,
    send_pieces,
)
from tests.live import ListeningHost, delays, until
from tests.live.listening_host import with_host
from tests.live.operation_calls import CALLS
from weftwork.adapters.http.server import http_server
from weftwork.adapters.http.server.limits import (
    PUBLIC_PATHS,
    RESERVED_FILES,
    SPARE_CONNECTIONS,
    ConnectionLimit,
    connections_within,
)
from weftwork.adapters.system.file_limit import raise_file_limit
from weftwork.protocol.wire.v1.routes import ROUTES

CAP = 5
RUNS = b"GET /v1/runs HTTP/1.1\r\n" + HOST + AUTH + b"\r\n"


HOST_WITH_CAP = with_host(delays("long", 15_000), max_connections=CAP)


@contextlib.contextmanager
def crowd(served: ListeningHost, count: int) -> Any:
    """So many connections, each known to the host."""
    with contextlib.ExitStack() as all_of_them:
        clients: list[socket.socket] = []
        for _ in range(count):
            clients.append(all_of_them.enter_context(connect(served.port)))
            if len(clients) <= served.host.settings.max_connections + SPARE_CONNECTIONS:
                send_pieces(clients[-1], HEALTH)
                assert receive_answers(clients[-1], 1)[0].status == 200
        yield clients


def once(port: int, sent: bytes) -> ReceivedAnswer:
    """The first answer on a new connection."""
    with connect(port) as client:
        send_pieces(client, sent)
        return receive_answers(client, 1)[0]


def crowded(heard: ReceivedAnswer) -> None:
    assert check_error(heard, 503, "service_unavailable") == {"retryAfter": 5}
    assert heard.headers["connection"] == "close"


@HOST_WITH_CAP
def test_up_to_the_cap_nothing_is_different(served: ListeningHost) -> None:
    with crowd(served, CAP) as clients:
        for client in clients:
            send_pieces(client, RUNS)
            assert receive_answers(client, 1)[0].status == 200


@HOST_WITH_CAP
def test_above_the_cap_only_the_public_paths_are_answered(served: ListeningHost) -> None:
    with crowd(served, CAP) as clients:
        for route in ROUTES:
            path = route.path.replace("{", "").replace("}", "")
            sent = f"{route.method} {path}?a=b HTTP/1.1\r\n".encode() + HOST + AUTH + b"\r\n"
            heard = once(served.port, sent)
            if route.scope is None and "{" not in route.path:
                answer = heard.status, heard.headers.get("connection")
                assert answer == (CALLS[route.operation_id].found, None), route.operation_id
            else:
                crowded(heard)
        crowded(once(served.port, b"GET /nothing HTTP/1.1\r\n" + HOST + b"\r\n"))
        # Those who were there before notice nothing.
        send_pieces(clients[0], RUNS)
        assert receive_answers(clients[0], 1)[0].status == 200


@HOST_WITH_CAP
def test_a_spare_connection_is_like_any_other_when_there_is_room_again(served: ListeningHost) -> None:
    with contextlib.ExitStack() as later:
        with crowd(served, CAP):
            client = later.enter_context(connect(served.port))
            send_pieces(client, HEALTH)
            assert receive_answers(client, 1)[0].status == 200

        def room_again() -> bool:
            return once(served.port, RUNS).status == 200

        until(room_again, "the others to be gone")
        send_pieces(client, RUNS)
        assert receive_answers(client, 1)[0].status == 200


@HOST_WITH_CAP
def test_beyond_the_spare_ones_everybody_is_told_at_once(served: ListeningHost) -> None:
    """Without having said a word; also those who come after the ones that are still being told."""

    with crowd(served, CAP + SPARE_CONNECTIONS) as clients:
        with contextlib.ExitStack() as told:
            beyond = [told.enter_context(connect(served.port)) for _ in range(SPARE_CONNECTIONS + 10)]
            for client in beyond:
                (heard,) = receive_answers(client)
                crowded(heard)
        send_pieces(clients[-1], HEALTH)
        assert receive_answers(clients[-1], 1)[0].status == 200


@HOST_WITH_CAP
def test_who_is_told_while_it_sends_can_read_it(served: ListeningHost) -> None:
    with crowd(served, CAP + SPARE_CONNECTIONS), connect(served.port) as client:
        send_pieces(client, b"POST /v1/runs HTTP/1.1\r\n" + HOST + AUTH + b"Content-Length: 900000\r\n\r\n")
        for _ in range(9):
            client.sendall(b" " * 100_000)
        crowded(receive_answers(client)[0])


@HOST_WITH_CAP
def test_the_operator_is_told(
    served: ListeningHost, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_server, "REPORT_TICKS", 1)

    with crowd(served, CAP):
        for _ in range(3):
            crowded(once(served.port, RUNS))
        until(lambda: sum(_counts(caplog)) == 3, "the log")


def _counts(caplog: pytest.LogCaptureFixture) -> list[int]:
    said = "connections refused, max_connections reached"
    return [vars(record)["count"] for record in caplog.records if record.getMessage() == said]


@HOST_WITH_CAP
def test_without_the_door_they_would_all_be_let_in(served: ListeningHost, monkeypatch: pytest.MonkeyPatch) -> None:
    with crowd(served, CAP), connect(served.port) as client:
        send_pieces(client, RUNS)
        assert receive_answers(client, 1)[0].status == 503
        monkeypatch.setattr(ConnectionLimit, "admit", lambda self, count: "admitted")
        assert once(served.port, RUNS).status == 200


def test_the_public_paths_are_those_without_a_scope() -> None:
    assert {b"/health", b"/readiness", b"/.well-known/openwop"} <= PUBLIC_PATHS
    assert not [path for path in PUBLIC_PATHS if b"runs" in path]


@each_case(
    "wanted, files, most",
    (12_000, None, 12_000),
    (12_000, 1_048_576, 12_000),
    (12_000, 4096, 4096 - 2 * SPARE_CONNECTIONS - RESERVED_FILES),
    (100, 4096, 100),
    (12_000, 64, 1),
)
def test_connections_leave_room_for_other_files(wanted: int, files: int | None, most: int) -> None:
    assert connections_within(wanted, files) == most


def test_a_process_takes_the_files_it_may_have() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 512), hard))
    try:
        assert raise_file_limit() == hard
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
