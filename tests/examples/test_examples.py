"""Every example is short, and runs by the two commands that its page shows."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.docs.shell import need_curl
from tests.live import Host, start_host, until, weftwork
from weftwork.testing import Crash, crash_everywhere, run_workflow

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
MOST_LINES = 60
PAIRS = re.findall(r"```sh\n(.*)\n(.*)\n```", (EXAMPLES / "README.md").read_text("utf-8"))
TALKS = re.findall(
    r"```sh\n(weftwork serve .*)\n```\n\n```sh\n((?:.+\n){3,})```", (EXAMPLES / "README.md").read_text("utf-8")
)
"""The command that starts a host, and those that a person gives in another terminal."""
FILES = [path for path in sorted(EXAMPLES.rglob("*")) if path.suffix in (".json", ".py", ".toml")]

SAID = {
    "fan-out": '"total":{"output":100}',
    "retry": '"output":"answered in attempt 4"',
    "loop": '"result":{"rounds":6,"spent":18}',
    "article": '"result":{"decisions":3,"text":"Did you know that bats see in the dark?"}',
    "first": '"result":{"answer":"Is it open? The near one says yes."}',
    "room": '"output":"too warm"',
    "order": '"offer":{"output":"12 chairs for 384"}',
    "parcels": '"results":["1: Ada","2: Bob","3: Eve","4: Kim"]',
    "summary": '"text":"The new lamp is broken."',
    "extract": '"order":{"output":"2 x chair"}',
    "invoice": '"pay":{"output":"384 to Chair and Co"}',
    "voice-note": '"remind":{"output":"Monday: Call the joiner about the door"}',
}
"""What the last event of each run holds, with the inputs of the page."""

ANSWERED = {
    "approval": {"paid": {"output": "a lamp is paid: 80"}},
    "quorum": {"release": {"output": "v2.4 is out: quorum:2-of-2"}},
    "form": {"book": {"output": "A table for 4 in Basel, Monday"}},
    "event": {"ship": {"output": "o-7 is shipped, 12 is paid"}},
    "clarify": {"confirm": {"output": "A table for 4, Monday"}},
    "complaint": {"ticket": {"title": "Lamp does not work", "urgent": True}},
    "pdf-summary": {
        "tell": {
            "output": "The rent rises by 20 from May on; the landlord wants an answer by the end of March. (83 bytes)"
        }
    },
}
"""The outputs of runs that people answer, or give something to, as the page shows it."""


@contextmanager
def served(line: str, tmp_path: Path) -> Iterator[Host]:
    """A host by a command of the page, on a port of its own, and with its data out of the way."""
    words = shlex.split(line)
    paths = dict(word.split("=", 1) for word in words if word.startswith("PYTHONPATH="))
    options = words[words.index("serve") + 1 :]
    with start_host(tmp_path / "host", *without(options, "--data", "--store"), env=paths, cwd=ROOT) as host:
        yield host


def without(words: list[str], *options: str) -> list[str]:
    """The words without these options and what they are given."""
    return [word for index, word in enumerate(words) if not {word, words[index - 1] if index else ""} & {*options}]


def client(line: str) -> list[str]:
    return shlex.split(line)[1:]


def node(name: str, folder: str, module: str) -> Any:
    sys.path.insert(0, str(EXAMPLES / folder))
    try:
        return getattr(__import__(module), name)
    finally:
        sys.path.pop(0)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(EXAMPLES).as_posix())
def test_an_example_is_short(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) < MOST_LINES


def test_every_example_is_on_the_page() -> None:
    assert {client(line)[1] for _, line in PAIRS} == {*SAID, "step"}
    assert {workflow_of(lines) for _, lines in TALKS} == {*ANSWERED}
    page = (EXAMPLES / "README.md").read_text("utf-8")
    for folder in (path for path in EXAMPLES.iterdir() if path.is_dir() and path.name != "__pycache__"):
        assert f"]({folder.name}" in page, folder


@pytest.mark.slow
@pytest.mark.parametrize(("serve", "run"), PAIRS, ids=[client(line)[1] for _, line in PAIRS])
def test_the_two_commands_of_the_page(serve: str, run: str, tmp_path: Path) -> None:
    name = client(run)[1]
    if name == "step":
        crash(serve, run, tmp_path)
        return
    with served(serve, tmp_path) as host:
        ended = weftwork(
            ROOT, *client(run), "--url", host.address, "--json", env={"XDG_DATA_HOME": str(tmp_path / "xdg")}
        )
        assert ended.returncode == 0, ended.stderr
        assert SAID[name] in ended.stdout.splitlines()[-2]


def workflow_of(lines: str) -> str:
    (found,) = re.findall(r"weftwork run (\S+)", lines)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("serve", "lines"), TALKS, ids=[workflow_of(lines) for _, lines in TALKS])
def test_a_person_answers_as_the_page_says(serve: str, lines: str, tmp_path: Path) -> None:
    need_curl()
    name = workflow_of(lines)
    with served(serve, tmp_path) as host:
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        env = {**os.environ, "PATH": path, "HOME": str(tmp_path), "WEFTWORK_URL": host.address}
        script = ["bash", "-euo", "pipefail", "-c", lines]
        ended = subprocess.run(script, env=env, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
        assert ended.returncode == 0, ended.stderr
        (run,) = host.call("GET", "/v1/runs", key="demo").document["runs"]
        if name == "approval":
            link = urlsplit(ended.stdout.strip())
            assert run["status"] == "waiting-approval"
            assert host.call("POST", link.path, {"resumeValue": {"action": "accept"}}, key=None).status == 200
        events = host.log(run["runId"], key="demo")
        assert events[-1]["payload"]["outputs"] == ANSWERED[name]


def crash(serve: str, run: str, tmp_path: Path) -> None:
    """What the page tells of the step: the host is killed, and starts again."""
    counts = tmp_path / "host" / "example-counts"
    (tmp_path / "host").mkdir()
    (tmp_path / "host" / "examples").symlink_to(EXAMPLES)
    options = without(shlex.split(serve)[2:], "--data")
    with start_host(tmp_path / "host", *options, cwd=tmp_path / "host") as host:
        # Without --follow the command ends at once, and the run goes on.
        started = weftwork(tmp_path, *client(run)[:-1], "--url", host.address)
        assert started.returncode == 0, started.stderr
        run_id = started.stdout.strip()
        recorded = f"/v1/runs/{run_id}/events/poll?timeout=1"
        until(lambda: b"effect.recorded" in host.call("GET", recorded, key="demo").body, "the step")
        host.kill()
    with start_host(tmp_path / "host", *options, cwd=tmp_path / "host") as host:
        events = host.log(run_id, key="demo")
        assert events[-1]["payload"]["outputs"] == {"count": {"beside": 2, "inside": 1}}
        host.stop()
    assert {path.name: path.stat().st_size for path in counts.iterdir()} == {"beside": 2, "inside": 1}


def test_the_step_counts_once_wherever_the_host_dies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counter = node("counter", "step", "counter")
    monkeypatch.chdir(tmp_path)
    sizes: list[tuple[int, int]] = []
    for number, result in enumerate(crash_everywhere(EXAMPLES / "step" / "step.json", nodes=[counter])):
        assert result.status == "completed"
        counts = tmp_path / "example-counts"
        sizes.append(((counts / "beside").stat().st_size, (counts / "inside").stat().st_size))
        counts.rename(tmp_path / f"counts-{number}")
    assert {inside for _, inside in sizes} == {1}
    assert max(beside for beside, _ in sizes) > 1


def test_the_answers_of_the_examples_without_a_host() -> None:
    answers: dict[str, Any] = {
        "approval": {"action": "accept"},
        "form": {"answers": {"day": "Monday", "people": 4, "lunch": True}},
        "event": {"orderId": "o-7", "status": "paid", "amount": 12},
    }
    inputs: dict[str, Any] = {
        "approval": {"amount": 80, "purpose": "a lamp"},
        "form": {"city": "Basel"},
        "event": {"orderId": "o-7"},
    }
    for name, answer in answers.items():
        path = EXAMPLES / name / f"{name}.json"
        node_id = {"approval": "gate", "form": "ask", "event": "wait"}[name]
        found = run_workflow(path, inputs=inputs[name], answers={node_id: answer})
        assert found.outputs == ANSWERED[name]
    rejected = run_workflow(EXAMPLES / "approval" / "approval.json", answers={"gate": {"action": "reject"}})
    assert rejected.outputs == {"kept": {"output": "a chair is not paid"}}


def test_the_examples_without_a_host() -> None:
    fan_out = run_workflow(EXAMPLES / "fan_out" / "fan-out.json")
    assert (fan_out.outputs, fan_out.elapsed_ms) == ({"total": {"output": 140.0}}, 300)
    loop = run_workflow(EXAMPLES / "loop" / "loop.json", inputs={"budget": 1000})
    assert loop.outputs["result"]["rounds"] == 10
    flaky = node("flaky", "retry", "flaky")
    path = EXAMPLES / "retry" / "retry.json"
    tried = run_workflow(path, nodes=[flaky], faults=[Crash(event="node.retried", written=True)])
    assert (tried.status, tried.nodes["call"].attempts) == ("completed", 3)
    failed = run_workflow(path, nodes=[flaky], inputs={"failures": 9})
    assert failed.error is not None
    assert (failed.error.code, failed.nodes["call"].attempts) == ("busy", 5)


@pytest.mark.slow
def test_the_tests_of_the_package_pass() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-W", "error"]
    ended = subprocess.run(command, cwd=EXAMPLES / "package", capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stdout
    assert "5 passed" in ended.stdout
