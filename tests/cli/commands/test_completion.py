"""The list of commands, and `weftwork completion`: scripts for shells, and ids that come from a host or not at all."""

import os
import re
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import click
import pytest

from tests.cli.foreign_host import KEY, CannedResponse, ForeignHost
from tests.live import weftwork
from tests.live.host import TIMEOUT_SECONDS, environment
from weftwork.cli.client import options
from weftwork.cli.main import COMMANDS, main

SCRIPT = Path(sys.executable).with_name("weftwork")


def complete(folder: Path, line: str, env: Mapping[str, str]) -> list[str]:
    """What a shell would offer at the end of a line."""
    words = line.split(" ")
    asked = {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1), "_WEFTWORK_COMPLETE": "bash_complete"}
    done = subprocess.run(
        [SCRIPT],
        env=environment(folder, {**env, **asked}),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return [each.partition(",")[2] for each in done.stdout.split()]


def test_the_list_says_of_each_command_what_its_help_does() -> None:
    assert {name: text for name, (_, text) in COMMANDS.items()} == {
        name: command.get_short_help_str(200) for name, command in main.commands.items()
    }


def test_the_list_and_its_completion_load_no_command() -> None:
    script = (
        "import sys, contextlib; from weftwork.cli.main import main\nwith contextlib.suppress(SystemExit): main()\n"
    )
    script += "print([name for name in sys.modules if 'cli.commands' in name])"
    asked = {"COMP_WORDS": "weftwork ", "COMP_CWORD": "1", "_WEFTWORK_COMPLETE": "bash_complete"}
    for args, more in ((["--help"], {}), ([], asked)):
        line = [sys.executable, "-c", script.replace("main()", "main(prog_name='weftwork')"), *args]
        done = subprocess.run(line, env={**os.environ, **more}, capture_output=True, text=True, timeout=TIMEOUT_SECONDS)
        assert "workflows" in done.stdout
        assert done.stdout.endswith("[]\n"), done.stdout


@pytest.mark.parametrize(
    ("shell", "piece"),
    [
        ("bash", "complete -o nosort -F _weftwork_completion weftwork"),
        ("zsh", "#compdef weftwork"),
        ("fish", "complete --no-files --command weftwork"),
    ],
)
def test_each_shell_has_its_script(tmp_path: Path, shell: str, piece: str) -> None:
    done = weftwork(tmp_path, "completion", shell)
    assert (done.returncode, done.stderr) == (0, "")
    assert piece in done.stdout
    assert "_WEFTWORK_COMPLETE" in done.stdout


def test_an_unknown_shell_is_refused(tmp_path: Path) -> None:
    assert weftwork(tmp_path, "completion", "tcsh").returncode == 2


def test_bash_takes_the_script_and_completes(tmp_path: Path) -> None:
    (tmp_path / "script").write_text(weftwork(tmp_path, "completion", "bash").stdout, "utf-8")
    line = (
        "source ./script; COMP_WORDS=(weftwork ru); COMP_CWORD=1; _weftwork_completion weftwork; echo ${COMPREPLY[@]}"
    )
    env = environment(tmp_path, {"PATH": f"{SCRIPT.parent}:{os.environ['PATH']}"})
    done = subprocess.run(
        ["bash", "-c", line], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=TIMEOUT_SECONDS
    )
    assert "runs" in done.stdout.split(), done.stderr


def test_commands_options_and_statuses_need_no_host(tmp_path: Path) -> None:
    assert {"runs", "nodes", "doctor", "completion", "inbox", "answer"} <= set(complete(tmp_path, "weftwork ", {}))
    assert complete(tmp_path, "weftwork runs pause x --drain-policy i", {}) == ["immediate"]
    assert complete(tmp_path, "weftwork runs ls --status waiting-i", {}) == ["waiting-input"]
    assert complete(tmp_path, "weftwork inbox --kind cu", {}) == ["custom"]


def test_ids_come_from_the_host(foreign: ForeignHost, tmp_path: Path) -> None:
    ids = ["r1", "r2", "x", "r3; rm", "r$(id)", "r4\nr5", "r\x1b", "-r", "", "r6 r7"]
    foreign.replies["GET /v1/runs"] = CannedResponse(200, {"runs": [*({"runId": each} for each in ids), 5]})
    foreign.replies["GET /v1/workflows"] = CannedResponse(200, {"workflows": [{"workflowId": "hello"}]})
    waiting = [{"runId": each, "nodeId": "n"} for each in ["r1", "r1", "r2", "r$(id)"]]
    foreign.replies["GET /v1/host/weftwork/interrupts"] = CannedResponse(200, {"interrupts": waiting})
    foreign.replies["GET /v1/host/weftwork/node-types"] = CannedResponse(200, {"nodeTypes": [{"typeId": "acme.score"}]})
    env = {"WEFTWORK_URL": foreign.url, "WEFTWORK_KEY": KEY}
    for command in ("show", "cancel", "pause --reason why", "resume"):
        assert complete(tmp_path, f"weftwork runs {command} r", env) == ["r1", "r2"]
    assert complete(tmp_path, "weftwork events r", env) == ["r1", "r2"]
    assert complete(tmp_path, "weftwork run h", env) == ["hello"]
    assert complete(tmp_path, "weftwork workflows show h", env) == ["hello"]
    assert complete(tmp_path, "weftwork runs ls --workflow ", env) == ["hello"]
    assert complete(tmp_path, "weftwork nodes show a", env) == ["acme.score"]
    assert complete(tmp_path, "weftwork answer r", env) == ["r1", "r2"]
    assert complete(tmp_path, "weftwork inbox --run r", env) == ["r1", "r2"]
    assert {asked.headers["authorization"] for asked in foreign.requests} == {f"Bearer {KEY}"}
    assert complete(tmp_path, f"weftwork runs show --url {foreign.url} --key {KEY} r", {}) == ["r1", "r2"]
    del foreign.requests[:]
    assert complete(tmp_path, "weftwork runs show r", {"WEFTWORK_URL": foreign.url}) == []
    assert complete(tmp_path, f"weftwork runs show --url {foreign.url} r", {"WEFTWORK_KEY": KEY}) == []
    assert foreign.requests == []


def test_without_the_guard_a_host_could_write_commands(foreign: ForeignHost, monkeypatch: pytest.MonkeyPatch) -> None:
    foreign.replies["GET /v1/runs"] = CannedResponse(200, {"runs": [{"runId": "r1"}, {"runId": "r$(id)"}]})
    monkeypatch.setenv("WEFTWORK_URL", foreign.url)
    monkeypatch.setenv("WEFTWORK_KEY", KEY)
    context, parameter = click.Context(click.Command("x")), click.Argument(["run"])
    assert options.suggest_runs(context, parameter, "r") == ["r1"]
    monkeypatch.setattr(options, "_SAFE", re.compile(".*", re.DOTALL))
    assert options.suggest_runs(context, parameter, "r") == ["r1", "r$(id)"]


@pytest.mark.parametrize(
    "answer",
    [CannedResponse(500, {}), CannedResponse(200, []), CannedResponse(200, {"runs": 5}), CannedResponse(raw=b"<html>")],
)
def test_whatever_a_host_answers_the_shell_goes_on(
    foreign: ForeignHost, tmp_path: Path, answer: CannedResponse
) -> None:
    foreign.replies["GET /v1/runs"] = answer
    env = {"WEFTWORK_URL": foreign.url, "WEFTWORK_KEY": KEY}
    assert complete(tmp_path, "weftwork runs show r", env) == []


def test_a_host_that_is_silent_or_absent_is_not_waited_for(tmp_path: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        env = {"WEFTWORK_URL": f"http://127.0.0.1:{silent.getsockname()[1]}", "WEFTWORK_KEY": KEY}
        assert complete(tmp_path, "weftwork runs show r", env) == []
    assert complete(tmp_path, "weftwork runs show r", {"WEFTWORK_URL": "nonsense", "WEFTWORK_KEY": KEY}) == []
    assert complete(tmp_path, "weftwork runs show r", env) == []
