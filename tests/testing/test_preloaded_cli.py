"""A command that is forked from a loaded process behaves as one that was started."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.crash import sabotage
from tests.harness import preloaded_cli
from tests.live.host import Host, command, environment
from tests.live.later_host import later_command
from tests.live.sabotage import sabotaged

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks are for Linux")

CHANGED = sabotaged(Path(sabotage.__file__), "leave_faults_unarmed")


@pytest.fixture(autouse=True)
def forks(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The command lines that were forked. With full proofs forks are off, so they are turned on here."""
    forked: list[list[str]] = []
    real = preloaded_cli.LoadedProcess.fork

    def fork(self: preloaded_cli.LoadedProcess, request: list[list[str]], streams: list[int]) -> int:
        forked.append(request[0])
        return real(self, request, streams)

    monkeypatch.setattr(preloaded_cli.LoadedProcess, "fork", fork)
    monkeypatch.setattr(subprocess, "_fork_exec", preloaded_cli._fork_exec)
    return forked


def ended(folder: Path, *line: str, **env: str) -> tuple[int, str, str]:
    done = subprocess.run(
        line,
        cwd=folder,
        env=environment(folder, env),
        input='{"nodes": 7}',
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("line", "env"),
    [
        (command("--help"), {"COLUMNS": "60"}),
        (command("--version"), {}),
        (command("no-such-command"), {}),
        (command("workflows", "check", "local.json"), {}),
        (command("workflows", "check", "-"), {}),
        (command("runs", "list", "--url", "http://127.0.0.1:1"), {}),
        (command("keys", "list"), {"WEFTWORK_DATA": "nowhere"}),
        ([*CHANGED, "--version"], {}),
        (later_command(1, [*CHANGED, "no-such-command"]), {}),
        (later_command(1, command("workflows", "check", "-")), {}),
    ],
)
def test_it_ends_as_a_new_process_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forks: list[list[str]], line: list[str], env: dict[str, str]
) -> None:
    (tmp_path / "local.json").write_text("{}", "utf-8")
    found = ended(tmp_path, *line, **env)
    assert forks == [line[3:]]
    monkeypatch.setattr(subprocess, "_fork_exec", preloaded_cli._real_fork_exec)
    assert found == ended(tmp_path, *line, **env)
    assert forks == [line[3:]]


def test_a_host_is_a_child_with_its_own_session_and_signals(tmp_path: Path, forks: list[list[str]]) -> None:
    output, errors = tmp_path / "output", tmp_path / "errors"
    line = command("serve", "--port", "0", "--data", tmp_path / "data")
    for number in (signal.SIGTERM, signal.SIGKILL):
        with output.open("wb") as out, errors.open("wb") as err:
            process = subprocess.Popen(
                line, stdout=out, stderr=err, env=environment(tmp_path), start_new_session=True, cwd=tmp_path
            )
        Host(process, output, errors, tmp_path / "data").wait_for_start()
        status = Path(f"/proc/{process.pid}/status").read_text("utf-8")
        assert f"PPid:\t{os.getpid()}\n" in status
        assert os.getsid(process.pid) == process.pid
        assert Path(f"/proc/{process.pid}/cwd").resolve() == tmp_path
        process.send_signal(number)
        assert process.wait(60) == (0 if number == signal.SIGTERM else -signal.SIGKILL)
    assert len(forks) == 2


def test_what_the_interpreter_reads_at_its_start_needs_a_new_process(tmp_path: Path, forks: list[list[str]]) -> None:
    assert ended(tmp_path, *command("--version"), PYTHONSTARTUP="nowhere")[0] == 0
    assert ended(tmp_path, *command("--version"), LC_TIME="nowhere")[0] == 0
    subprocess.run([sys.executable, "-c", ""], check=True, timeout=60)
    assert forks == []
