"""`weftwork runs` with a host of ours: list, show, cancel, pause and resume."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from tests.cli.foreign_host import run_command
from tests.cli.terminal import run_at_terminal
from tests.live import KEY, OTHER_KEY, Host, delays, start_host, until, weftwork, write_workflows

ASKING: dict[str, Any] = {
    **delays("asking"),
    "nodes": [
        {"id": "ask", "typeId": "core.interrupt", "name": "Ask", "position": {"x": 0, "y": 0}, "inputs": {}}
        | {"config": {"kind": "custom", "data": {"customKind": "supplier", "payload": ["north", "south"]}}},
        {"id": "keep", "typeId": "core.artifact.emit", "name": "Keep", "position": {"x": 0, "y": 0}}
        | {"config": {"artifactType": "order"}}
        | {"inputs": {"data": {"type": "connection", "nodeId": "ask", "outputKey": "output"}}},
    ],
    "edges": [{"id": "e", "sourceNodeId": "ask", "targetNodeId": "keep"}],
}


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    folder = tmp_path_factory.mktemp("runs")
    flows = write_workflows(folder / "flows", ASKING, delays("long", 60_000), delays("two", 1, 60_000))
    with start_host(folder, "--conformance", "--workflows", flows, store="memory") as running:
        yield running
        assert "raceback" not in running.errors


def runs(host: Host, *args: str, code: int = 0, key: str = KEY) -> Result:
    done = run_command(host.address, "runs", *args, key=key)
    assert done.exit_code == code, done.output
    return done


def listed(host: Host, *args: str) -> list[str]:
    return [run["runId"] for run in json.loads(runs(host, "ls", "--json", *args).stdout)["runs"]]


def standing(host: Host, run_id: str, status: str) -> None:
    until(lambda: host.snapshot(run_id)["status"] == status, status)


def test_runs_are_listed_newest_first(host: Host) -> None:
    made = [host.create("conformance-noop", tags=["listed"]) for _ in range(3)]
    failed = host.create("conformance-failure")
    for run_id in (*made, failed):
        host.log(run_id)
    found = listed(host, "--workflow", "conformance-noop", "--limit", "3")
    assert found == made[::-1]
    assert json.loads(runs(host, "ls", "--json", "--limit", "1", "--status", "failed").stdout) == {
        "runs": host.call("GET", "/v1/runs?status=failed&limit=1").document["runs"]
    }
    assert set(made) < set(listed(host, "--all"))
    head, *rows = runs(host, "ls", "--limit", "4").stdout.splitlines()
    assert head.split() == ["run", "status", "workflow", "created", "took", "at"]
    assert rows[0].split()[:3] == [failed, "failed", "conformance-failure"]
    assert rows[0].split()[-1] == "conformance_test_failure"
    assert [row.split()[0] for row in rows[1:]] == made[::-1]
    assert len({row.index("conformance-") for row in rows}) == 1


def test_a_run_that_has_ended_is_shown(host: Host) -> None:
    run_id = host.create("conformance-failure", tags=["a", "b"])
    host.log(run_id)
    lines = dict(line.split(None, 1) for line in runs(host, "show", run_id).stdout.split("\n\n")[0].splitlines())
    assert (lines["run"], lines["workflow"], lines["status"]) == (run_id, "conformance-failure", "failed")
    assert lines["error"] == "conformance_test_failure: Intentional conformance failure"
    assert lines["next"] == f"`weftwork events {run_id}` shows what led to it."
    assert "took" in lines["ended"]
    assert lines["tags"] == "a, b"
    assert json.loads(runs(host, "show", run_id, "--json").stdout) == host.snapshot(run_id)


def test_a_run_that_asks_is_shown_with_its_question_and_then_with_what_it_made(host: Host) -> None:
    run_id = host.create("asking")
    standing(host, run_id, "waiting-input")
    said = runs(host, "show", run_id).stdout
    assert f"once somebody has answered: `weftwork answer {run_id}`." in said
    assert f"\nanswer with\n  weftwork answer {run_id}/ask\nor\n  curl -d" in said
    assert "\n  since 20" in said
    assert '\nask asks custom: {"customKind": "supplier", "payload": ["north", "south"]}\n' in said
    assert runs(host, "pause", run_id, code=7).stderr.startswith("Error: The run is waiting-input")
    answer = host.call("POST", f"/v1/runs/{run_id}/interrupts/ask", {"resumeValue": "north"})
    assert answer.status == 200
    host.log(run_id)
    said = runs(host, "show", run_id).stdout
    assert "asks" not in said
    assert "\nartifacts\n  keep  order  version 1  keep\n" in said


def test_a_run_is_paused_resumed_and_cancelled(host: Host) -> None:
    run_id = host.create("two", inputs={"secret-free": "x" * 500})
    until(lambda: host.snapshot(run_id).get("currentNodeId") == "n1", "the long node")
    said = runs(host, "pause", run_id, "--drain-policy", "immediate", "--reason", "lunch").stdout
    assert said == f"{run_id} is paused\n"
    standing(host, run_id, "paused")
    said = runs(host, "show", run_id).stdout
    assert f"`weftwork runs resume {run_id}` lets it go on." in said
    assert "  n0  completed  attempt 1  " in said
    assert "xxx…" in said
    assert "(conflict)" in runs(host, "pause", run_id, code=7).stderr
    assert runs(host, "resume", run_id, "--reason", "back").stdout == f"{run_id} goes on\n"
    assert runs(host, "resume", run_id, code=7).stdout == ""
    said = json.loads(runs(host, "pause", run_id, "--json").stdout)
    assert (said["runId"], said["status"]) == (run_id, "paused")
    done = runs(host, "cancel", run_id, "--reason", "enough")
    assert done.stdout in (f"{run_id} is cancelled\n", f"{run_id} is being cancelled\n")
    events = host.log(run_id)
    told = {event["type"]: event["payload"].get("reason") for event in events}
    assert (told["run.paused"], told["run.resumed"], told["run.cancelled"]) == ("lunch", "back", "enough")
    assert runs(host, "cancel", run_id).stdout == f"{run_id} is cancelled\n"


def test_each_of_several_runs_is_cancelled_and_each_refusal_told(host: Host) -> None:
    live = [host.create("long") for _ in range(2)]
    over = host.create("conformance-noop")
    host.log(over)
    done = runs(host, "cancel", live[0], "unknown", over, live[1], code=7)
    assert done.stdout.splitlines()[1] == f"{over} had ended before: completed"
    assert done.stderr.startswith("unknown: There is no such run (not_found)")
    for run_id in live:
        standing(host, run_id, "cancelled")


def test_runs_of_others_are_not_there(host: Host) -> None:
    run_id = host.create("long")
    for verb in ("show", "cancel", "pause", "resume"):
        assert "There is no such run" in runs(host, verb, run_id, key=OTHER_KEY, code=7).stderr
    assert host.snapshot(run_id)["status"] == "running"
    assert "this key" in runs(host, "ls", key="wrong", code=7).stderr
    assert runs(host, "cancel", run_id).exit_code == 0


def test_the_process_says_the_same(host: Host, tmp_path: Path) -> None:
    run_id = host.create("conformance-noop")
    host.log(run_id)
    env = {"WEFTWORK_URL": host.address, "WEFTWORK_KEY": KEY}
    done = weftwork(tmp_path, "runs", "show", run_id, env=env)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == runs(host, "show", run_id).stdout
    gone = weftwork(tmp_path, "runs", "ls", "--url", "http://127.0.0.1:1")
    assert (gone.returncode, gone.stdout) == (6, "")
    assert "nothing listens on http://127.0.0.1:1" in gone.stderr
    assert weftwork(tmp_path, "runs", "show").returncode == 2
    poor = weftwork(tmp_path, "runs", "ls", env={**env, "PYTHONIOENCODING": "ascii"})
    assert poor.returncode == 0


def test_somebody_at_a_terminal_gets_colours_and_whole_ids(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = host.create("conformance-failure")
    host.log(run_id)
    for name, value in (("TERM", "xterm-256color"), ("COLUMNS", "60")):
        monkeypatch.setenv(name, value)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    line = ("runs", "ls", "--url", host.address, "--key", KEY, "--status", "failed")
    code, shown = run_at_terminal(tmp_path, b"", *line)
    assert code == 0
    assert run_id in shown
    assert "\x1b[31mfailed" in shown
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[31m" not in run_at_terminal(tmp_path, b"", *line)[1]
