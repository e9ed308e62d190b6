"""The limit on open files: the host stays below it, and when others lower it the host waits for better times."""

import contextlib
import json
import resource
import socket
from pathlib import Path

import pytest

from tests.hostile.raw_http import AUTH, HEALTH, HOST, check_error, connect, receive_answers, send_pieces
from tests.live import host as live
from tests.live import start_host, until
from weftwork.adapters.http.server.limits import RESERVED_FILES, SPARE_CONNECTIONS

FILES = 400
ROOM = FILES - 2 * SPARE_CONNECTIONS - RESERVED_FILES
RUNS = b"GET /v1/runs HTTP/1.1\r\n" + HOST + AUTH + b"\r\n"


def test_a_host_with_few_files_takes_fewer_connections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = live.command
    few = ("sh", "-c", f'ulimit -n {FILES} && exec "$0" "$@"')
    monkeypatch.setattr(live, "command", lambda *args: [*few, *honest(*args)])
    with start_host(tmp_path) as host, contextlib.ExitStack() as clients:
        (said,) = [json.loads(line) for line in host.errors.splitlines() if "weftwork.loop" not in line]
        assert (said["message"].partition(" to ")[0], said["count"]) == ("max_connections lowered", ROOM)
        held = [clients.enter_context(connect(host.port)) for _ in range(ROOM)]
        for client in held:
            send_pieces(client, HEALTH)
        assert {receive_answers(client, 1)[0].status for client in held} == {200}
        # Twice as many as there are files for; all of them are told, or answered, and none is left in the queue.
        for at in range(2 * FILES):
            client = clients.enter_context(connect(host.port))
            send_pieces(client, RUNS)
            check_error(receive_answers(client, 1)[0], 503, "service_unavailable")
            if at >= SPARE_CONNECTIONS:
                client.close()
        send_pieces(held[0], RUNS)
        assert receive_answers(held[0], 1)[0].status == 200
        assert host.process.poll() is None
        assert "too many" not in host.errors.lower()


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


@pytest.mark.slow
def test_when_there_are_no_files_left_the_host_waits_and_goes_on(tmp_path: Path) -> None:
    """The limit is lowered behind its back. It serves whom it has, does not spin, and takes others in later."""
    with start_host(tmp_path, store="memory") as host:
        resource.prlimit(host.process.pid, resource.RLIMIT_NOFILE, (100, 100))
        with contextlib.ExitStack() as clients:
            held = [clients.enter_context(connect(host.port)) for _ in range(300)]
            send_pieces(held[0], HEALTH)
            assert receive_answers(held[0], 1)[0].status == 200
            before = _cpu(host.process.pid)
            for _ in range(100):
                send_pieces(held[0], HEALTH)
                assert receive_answers(held[0], 1)[0].status == 200
                with contextlib.suppress(TimeoutError):
                    held[0].settimeout(0.02)
                    held[0].recv(1, socket.MSG_PEEK)
                held[0].settimeout(120)
            # Two seconds have passed. A loop that spins takes all of them.
            assert _cpu(host.process.pid) - before < 1.0
        until(lambda: _answers(host.port), "the host to take others in")
        assert len(host.errors) < 100_000


def _answers(port: int) -> bool:
    try:
        with connect(port) as client:
            client.settimeout(10)
            send_pieces(client, HEALTH)
            return receive_answers(client, 1)[0].status == 200
    except (TimeoutError, AssertionError, OSError):
        return False
