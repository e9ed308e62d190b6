"""The list of commands, and `weftwork completion`: scripts for shells, and ids that come from a host or not at all."""

import json
import os
import re
import socket
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import closing
from importlib import resources
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tests.cli.foreign_host import KEY, CannedResponse, ForeignHost
from tests.live import KEY as LIVE_KEY
from tests.live import start_host, weftwork
from tests.live.host import TIMEOUT_SECONDS, environment
from weftwork.cli.client import options
from weftwork.cli.commands.new import TEMPLATE_SUFFIX
from weftwork.cli.console.command_group import CommandGroup
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


ROOT = Path(__file__).parents[3]
FILES = [
    *("README.md", "pyproject.toml", "src/acme_nodes/__init__.py", "src/acme_nodes/nodes.py"),
    *("src/acme_nodes/py.typed", "tests/test_nodes.py", "workflows/score.json"),
]


def made_in(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def run_tests(package: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-W", "error"]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "WEFTWORK"))}
    return subprocess.run(
        command,
        cwd=package,
        env={**kept, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture
def package(tmp_path: Path) -> Path:
    made = weftwork(tmp_path, "new", "node-package", "acme-nodes")
    assert made.returncode == 0, made.stderr
    return tmp_path / "acme-nodes"


def test_it_makes_a_package_and_says_what_to_do_next(tmp_path: Path) -> None:
    made = weftwork(tmp_path, "new", "node-package", "here", "--name", "acme-nodes")
    assert (made.returncode, made.stderr) == (0, "")
    assert made_in(tmp_path / "here") == FILES
    assert made.stdout.splitlines()[0] == "created acme-nodes in here:"
    assert made.stdout.splitlines()[-4:-1] == ["  cd here", "  pip install -e '.[dev]'", "  pytest"]
    project = tomllib.loads((tmp_path / "here" / "pyproject.toml").read_text("utf-8"))
    assert project["project"]["entry-points"] == {"weftwork.nodes": {"acme-nodes": "acme_nodes.nodes"}}
    for name in FILES:
        assert "@" not in (tmp_path / "here" / name).read_text("utf-8").replace("@weftwork.node", ""), name


def test_its_tests_pass_and_can_fail(package: Path) -> None:
    ended = run_tests(package)
    assert ended.returncode == 0, ended.stdout
    assert "4 passed" in ended.stdout
    nodes = package / "src" / "acme_nodes" / "nodes.py"
    whole = nodes.read_text("utf-8")
    bare = whole.replace('await ctx.step("deliver", deliver, f"{points} points")', 'deliver(f"{points} points")')
    assert bare != whole
    # Outside of a step it happens again after a crash, which is what the tests are there for.
    nodes.write_text(bare, "utf-8")
    ended = run_tests(package)
    assert ended.returncode == 1, ended.stdout
    assert "1 failed, 3 passed" in ended.stdout


def test_a_host_runs_its_workflow(package: Path, tmp_path: Path) -> None:
    paths = {"PYTHONPATH": str(package / "src")}
    options = ("--nodes", "acme_nodes.nodes", "--workflows", package / "workflows")
    with start_host(tmp_path / "host", *options, env=paths, store="memory") as host:
        client = ("--url", host.address, "--key", LIVE_KEY)
        ran = weftwork(tmp_path, "run", "acme-score", "--input", "text=one two three", "--follow", "--json", *client)
        assert ran.returncode == 0, ran.stderr
        last = json.loads(ran.stdout.splitlines()[-1])
        assert last["status"] == "completed"
        assert '"delivered: 3 points"' in ran.stdout


@pytest.mark.parametrize(
    "name", ["Acme", "acme_nodes", "1acme", "", "core-nodes", "weftwork-x", "a" * 65, "class", "a--b"]
)
def test_a_name_that_cannot_be_is_refused(tmp_path: Path, name: str) -> None:
    refused = weftwork(tmp_path, "new", "node-package", "here", "--name", name)
    assert refused.returncode == 2
    assert "name" in refused.stderr
    assert not (tmp_path / "here").exists()


def test_nothing_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "README.md").write_text("mine", "utf-8")
    (tmp_path / "file").write_text("mine", "utf-8")
    (tmp_path / "empty").mkdir()
    for name in ("full", "file"):
        refused = weftwork(tmp_path, "new", "node-package", name, "--name", "acme")
        assert refused.returncode == 2
        assert "not empty" in refused.stderr
    assert made_in(tmp_path / "full") == ["README.md"]
    assert weftwork(tmp_path, "new", "node-package", "empty", "--name", "acme").returncode == 0


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine", "utf-8")
    refused = weftwork(tmp_path, "new", "node-package", "file/below", "--name", "acme")
    assert (refused.returncode, "cannot be written" in refused.stderr) == (1, True)


def test_the_templates_are_part_of_the_package() -> None:
    """They lie in the folder that goes into the wheel as a whole, and git does not ignore them."""
    folder = ROOT / "src" / "weftwork" / "templates"
    assert Path(str(resources.files("weftwork"))) == folder.parent
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel == {"packages": ["src/weftwork"]}
    listed = made_in(folder)
    assert len(listed) == len(FILES)
    assert all(name.endswith(TEMPLATE_SUFFIX) for name in listed)
    ignored = subprocess.run(
        ["git", "check-ignore", *listed], cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
    assert ignored.stdout == ""


def test_keys_are_shown_renewed_and_dropped_without_their_secrets(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with start_host(tmp_path):
        first = weftwork(tmp_path, "signing", "ls", "--data", data, "--json")
        (row,) = json.loads(first.stdout)["keys"]
        assert row.keys() == {"kid", "createdAt", "signs"}
        made = json.loads(weftwork(tmp_path, "signing", "rotate", "--data", data, "--json").stdout)
        assert (made["signs"], made["kid"] != row["kid"]) == (True, True)
    shown = weftwork(tmp_path, "signing", "ls", "--data", data)
    assert shown.returncode == 0
    assert [line.split()[0] for line in shown.stdout.splitlines()] == [row["kid"], made["kid"]]
    dropped = weftwork(tmp_path, "signing", "drop", made["kid"], "--data", data, "--json")
    assert json.loads(dropped.stdout)["dropped"] == made["kid"]
    rest = json.loads(weftwork(tmp_path, "signing", "ls", "--data", data, "--json").stdout)["keys"]
    assert [each["signs"] for each in rest] == [False, True]
    assert json.loads(dropped.stdout)["signs"] == rest[1]["kid"]
    told = weftwork(tmp_path, "signing", "drop", row["kid"], "--data", data).stdout
    assert told == f"dropped {row['kid']}; its links are invalid. The current signing key is {rest[1]['kid']}.\n"


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    for args in (("ls",), ("rotate",), ("drop", "x")):
        refused = weftwork(tmp_path, "signing", *args, "--data", tmp_path / "none")
        assert (refused.returncode, "no store in" in refused.stderr) == (1, True)
    assert not (tmp_path / "none").exists()
    with start_host(tmp_path) as host:
        refused = weftwork(tmp_path, "signing", "drop", "x", "--data", host.data)
        assert refused.returncode == 1
        assert "No signing key has the id x; see `weftwork signing ls`." in refused.stderr


def groups(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Group]]:
    if isinstance(command, click.Group):
        yield path, command
        for name, child in command.commands.items():
            yield from groups(child, (*path, name))


def test_every_group_shows_whole_summaries_and_knows_list_and_ls() -> None:
    found = dict(groups(main))
    assert {("runs",), ("keys",), ("signing",)} <= found.keys()
    for path, group in found.items():
        assert isinstance(group, CommandGroup), path
        shown = CliRunner().invoke(main, [*path, "--help"]).stdout
        assert "..." not in shown.partition("Commands:")[2], path
        context = click.Context(group)
        if "ls" in group.commands:
            assert group.get_command(context, "list") is group.commands["ls"], path
        assert "list" not in group.commands, path
