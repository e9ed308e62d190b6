"""The supervision of a model server, with a small program in place of the server."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.harness.cases import each_case, fails_without
from weftwork.adapters.model_server import model_server
from weftwork.adapters.model_server.model_server import ModelServer, restart_delay
from weftwork.adapters.model_server.server_process import ServerOptions

BOUND_S = 20.0
KEY = "key-of-the-server"
RUNS = """
import json, os, sys
options = sys.stdin.readline()
os.write(2, f"{os.getpid()} {options}".encode())
os.write(1, b"ready\\n")
sys.stdin.read()
"""
ENDS = "import sys; sys.exit('no model')"
TALKS = "import os\nfor _ in range(100): os.write(2, b'x' * 50_000)"


@asynccontextmanager
async def open_server(folder: Path, program: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ModelServer]:
    monkeypatch.setattr(model_server, "_CODE", program)
    weights = folder / "tiny.gguf"
    weights.write_bytes(b"GGUF")
    server = ModelServer(weights, "tiny", folder / "log" / "server.log", KEY)
    server.start()
    try:
        async with asyncio.timeout(BOUND_S):
            yield server
    finally:
        await server.close()


async def read_starts(server: ModelServer, count: int) -> list[tuple[int, ServerOptions]]:
    """The process id and the options of each start, once there are so many."""
    while True:
        await asyncio.sleep(0.005)
        text = server.log_file.read_text() if server.log_file.exists() else ""
        if text.endswith("\n") and len(lines := text.splitlines()) >= count:
            pairs = [line.split(" ", 1) for line in lines]
            return [(int(pid), ServerOptions(**json.loads(options))) for pid, options in pairs]


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def test_the_server_gets_its_options_on_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_THE_HOST", "secret")
    async with open_server(tmp_path, RUNS, monkeypatch) as server:
        ((pid, options),) = await read_starts(server, 1)
        assert server.pid == pid
        assert (options.model, options.key) == ("tiny", KEY)
        assert options.weights == str(tmp_path / "tiny.gguf")
        assert f"http://127.0.0.1:{options.port}/v1" == server.base_url
        assert options.max_memory < 3 * 2**30
        assert KEY.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()
        assert Path(f"/proc/{pid}/environ").read_bytes() == b""
    assert not is_alive(pid)
    assert server.log_file.stat().st_mode & 0o777 == 0o600


async def test_a_killed_server_starts_again_on_its_port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_server, "FIRST_DELAY_S", 0.01)
    async with open_server(tmp_path, RUNS, monkeypatch) as server:
        ((first, options),) = await read_starts(server, 1)
        os.kill(first, signal.SIGKILL)
        (_, (second, later)) = await read_starts(server, 2)
        assert second != first
        assert later == options


async def test_a_server_that_does_not_start_is_retried_with_longer_delays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(model_server, "FIRST_DELAY_S", 0.001)
    async with open_server(tmp_path, ENDS, monkeypatch) as server:
        while len(caplog.records) < 3:
            await asyncio.sleep(0.005)
    delays = [vars(record)["delay_s"] for record in caplog.records[:3]]
    assert delays == [0.001, 0.002, 0.004]
    assert {vars(record)["status"] for record in caplog.records} == {1}
    assert "no model" in server.log_file.read_text()


async def test_weights_that_cannot_be_loaded_end_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    code = model_server._CODE  # pyright: ignore[reportPrivateUsage]
    async with open_server(tmp_path, code, monkeypatch) as server:
        assert await server.ready() is False
        while not caplog.records:
            await asyncio.sleep(0.005)
    assert vars(caplog.records[0])["status"] == 1
    assert "failed to load model" in server.log_file.read_text()


async def test_missing_weights_are_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_server(tmp_path, RUNS, monkeypatch) as server:
        server.weights.unlink()
        while not caplog.records:
            await asyncio.sleep(0.005)
    assert "FileNotFoundError" in vars(caplog.records[0])["status"]


@each_case("failures, seconds", (1, 0.5), (2, 1.0), (4, 4.0), (7, 30.0), (10_000, 30.0))
def test_delays_double_up_to_a_bound(failures: int, seconds: float) -> None:
    assert restart_delay(failures) == seconds


async def test_closing_during_a_delay_does_not_wait_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_server, "FIRST_DELAY_S", 1_000.0)
    monkeypatch.setattr(model_server, "MAX_DELAY_S", 1_000.0)
    async with open_server(tmp_path, ENDS, monkeypatch) as server:
        while not server.log_file.exists() or server.pid is not None:
            await asyncio.sleep(0.005)


async def test_closing_at_once_leaves_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_server(tmp_path, RUNS, monkeypatch) as server:
        await asyncio.sleep(0)
    assert server.pid is None
    assert not server.log_file.exists() or not any(
        is_alive(int(line.split()[0])) for line in server.log_file.read_text().splitlines()
    )


class _UnheldPort:
    """A port that was free a moment ago, and that nothing holds."""

    def __init__(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self._name = listener.getsockname()

    def getsockname(self) -> tuple[str, int]:
        return self._name

    def close(self) -> None: ...


@fails_without(model_server, "_reserve_port", _UnheldPort)
async def test_no_other_program_can_take_the_port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_server(tmp_path, RUNS, monkeypatch) as server:
        ((_, options),) = await read_starts(server, 1)
        with socket.socket() as other:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with pytest.raises(OSError, match="in use"):
                other.bind(("127.0.0.1", options.port))
        with socket.socket() as shared, pytest.raises(ConnectionRefusedError):
            shared.connect(("127.0.0.1", options.port))


async def test_the_log_file_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_server, "FIRST_DELAY_S", 1_000.0)
    monkeypatch.setattr(model_server, "MAX_DELAY_S", 1_000.0)
    async with open_server(tmp_path, TALKS, monkeypatch) as server:
        older = Path(f"{server.log_file}.1")
        while not older.exists() or server.pid is not None:
            await asyncio.sleep(0.005)
        sizes = [server.log_file.stat().st_size, older.stat().st_size]
    assert sum(sizes) > 2**20
    assert max(sizes) <= 2**20


HOST = """
import asyncio, sys
from pathlib import Path
from weftwork.adapters.model_server import model_server
model_server._CODE = sys.argv[2]
async def main():
    folder = Path(sys.argv[1])
    server = model_server.ModelServer(folder / "tiny.gguf", "tiny", folder / "server.log", "key")
    server.start()
    while not (folder / "server.log").exists() or not (text := (folder / "server.log").read_text()):
        await asyncio.sleep(0.005)
    print(text.split()[0], flush=True)
    await asyncio.sleep(1_000)
asyncio.run(main())
"""


LOADS = """
import os, time
from weftwork.adapters.model_server.server_process import end_with_parent
end_with_parent()
os.write(2, f"{os.getpid()} loads".encode())
time.sleep(1_000)
"""
"""Does not read its standard input, like a server that is loading its weights."""


@pytest.mark.slow
@pytest.mark.parametrize("program", [RUNS, LOADS])
async def test_a_killed_host_takes_its_server_with_it(program: str, tmp_path: Path) -> None:
    (tmp_path / "tiny.gguf").write_bytes(b"GGUF")
    command = [sys.executable, "-c", HOST, str(tmp_path), "import sys\nsys.path[:] = sys.argv[1:]\n" + program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as host:
        assert host.stdout is not None
        pid = int(host.stdout.readline())
        assert is_alive(pid)
        host.kill()
    async with asyncio.timeout(BOUND_S):
        while is_alive(pid):
            await asyncio.sleep(0.005)
