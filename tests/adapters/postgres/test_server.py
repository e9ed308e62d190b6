"""The servers for tests: they end with the process that started them, and the lane says when there is none."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tools import postgres_lane

from tests.harness.postgres_server import all_versions

PYTEST = ["python", "-m", "pytest"]
WAIT_SECONDS = 30
START = """
import sys, time
from tests.harness.postgres_server import PostgresServer
server = PostgresServer(sys.argv[1])
server.create()
server.start()
print(server.pid, server.folder, flush=True)
time.sleep(600)
"""


def is_running(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.slow
@pytest.mark.skipif(not all_versions(), reason="no PostgreSQL server")
def test_a_server_ends_with_a_killed_process() -> None:
    root = Path(__file__).parents[3]
    command = [sys.executable, "-c", START, all_versions()[0]]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) as owner:
        assert owner.stdout is not None
        pid, folder = owner.stdout.readline().split()
        assert is_running(int(pid))
        os.kill(owner.pid, signal.SIGKILL)
    deadline = time.monotonic() + WAIT_SECONDS
    while is_running(int(pid)) or Path(folder).exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize(("there", "root", "ran"), [(True, True, 1), (False, True, 5), (False, False, 1)])
def test_without_a_postgres_server_the_lane_is_named(
    there: bool, root: bool, ran: int, capsys: pytest.CaptureFixture[str]
) -> None:
    commands: list[list[str]] = []

    def run(command: list[str]) -> int:
        commands.append(command)
        return 3 if command == PYTEST else 100

    assert postgres_lane.main(PYTEST, lambda: "15" if there else None, root, False, run) == 3
    assert (len(commands), commands[-1]) == (ran, PYTEST)
    named = "Did not run: the PostgreSQL lane with the server of the distribution" in capsys.readouterr().err
    assert named is not there
    if not there:
        assert postgres_lane.main(PYTEST, lambda: None, root, True, run) == 1
        assert commands.count(PYTEST) == 1, "in CI nothing runs without it"


def test_the_administrator_gets_a_postgres_server_installed() -> None:
    commands: list[list[str]] = []

    def run(command: list[str]) -> int:
        commands.append(command)
        return 0

    assert postgres_lane.main(PYTEST, lambda: "15" if commands else None, True, True, run) == 0
    assert [command[-1] for command in commands] == ["postgresql-15", PYTEST[-1]]
