"""`weftwork events`: on a real host, and on one that is not ours."""

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.cli.foreign_host import CannedResponse, ForeignHost, run_on
from tests.cli.terminal import run_at_terminal
from tests.live import (
    KEY,
    OTHER_KEY,
    SEEDED_RUN,
    Host,
    delays,
    seed_messages,
    start_host,
    until,
    weftwork,
    write_workflows,
)
from tests.live.fixtures import host_fixture
from tests.live.host import TIMEOUT_SECONDS, command, environment
from tests.live.steering import cancel
from weftwork.cli.main import main


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    folder = tmp_path_factory.mktemp("host")
    seed_messages(folder / "data")
    workflows = write_workflows(folder / "workflows", delays("quick", 1, 20), delays("long", 60_000))
    with start_host(folder, "--workflows", workflows) as running:
        yield running


def events(host: Host, *args: str) -> Result:
    result = CliRunner(env={"WEFTWORK_URL": host.address, "WEFTWORK_KEY": KEY}).invoke(main, ["events", *args])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def documents(done: Result) -> list[Any]:
    assert done.exit_code == 0, done.output
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("follow", [[], ["--follow"]])
def test_the_events_are_those_of_the_log(host: Host, follow: list[str]) -> None:
    run_id = host.create("quick")
    log = host.log(run_id)
    assert documents(events(host, run_id, "--json", *follow)) == log
    assert documents(events(host, run_id, "--json", "--from", "3", *follow)) == log[3:]
    updates = documents(events(host, run_id, "--json", "--mode", "updates", *follow))
    assert updates == [each for each in log if each["type"] != "node.started"]
    lines = events(host, run_id, *follow).stdout.splitlines()
    assert [line.split()[:3] for line in lines] == [
        [each["timestamp"], str(each["sequence"]), each["type"]] for each in log
    ]


@pytest.mark.parametrize("follow", [[], ["--follow"]])
def test_other_modes(host: Host, follow: list[str]) -> None:
    chunks = documents(events(host, SEEDED_RUN, "--json", "--mode", "messages", *follow))
    assert "".join(each.get("payload", each)["chunk"] for each in chunks).startswith("Grüße ")
    snapshots = documents(events(host, SEEDED_RUN, "--json", "--mode", "values", *follow))
    assert snapshots[-1]["status"] == "completed"
    assert " state.snapshot - status=completed" in events(host, SEEDED_RUN, "--mode", "values", *follow).stdout


@pytest.mark.parametrize("follow", [[], ["--follow"]])
def test_a_piece_of_text_is_one_line(host: Host, follow: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def said(*args: str) -> list[list[str]]:
        return [line.split()[1:3] for line in events(host, SEEDED_RUN, *args, *follow).stdout.splitlines()]

    logged = [[str(each["sequence"]), each["type"]] for each in host.log(SEEDED_RUN)]
    assert said() == logged
    assert "output.chunk" in {kind for _, kind in logged}
    pieces = [at for at, kind in logged if kind == "output.chunk"]
    assert said("--mode", "messages") == [[at, "ai.message.chunk"] for at in pieces]
    if follow:
        # The host sends every piece in both forms, and JSON shows them all.
        found = documents(events(host, SEEDED_RUN, "--json", "--follow"))
        assert [each["type"] for each in found].count("ai.message.chunk") == len(pieces)
        monkeypatch.setattr("weftwork.cli.commands.events.is_repeat", lambda tree, frame: False)
        assert len(said()) == len(logged) + len(pieces)


def test_without_following_it_stops_at_the_last_event_so_far(host: Host) -> None:
    run_id = host.create("long")
    done = events(host, run_id)
    assert [line.split()[2] for line in done.stdout.splitlines()] == ["run.started", "node.started"]
    cancel(host, run_id)


def test_following_goes_on_to_the_end(host: Host) -> None:
    run_id = host.create("long")
    env = environment(host.data.parent, {"WEFTWORK_URL": host.address, "WEFTWORK_KEY": KEY})
    line = command("events", run_id, "--follow")
    with subprocess.Popen(line, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().split()[2] == "run.started"
        cancel(host, run_id)
        shown, said = process.communicate(timeout=TIMEOUT_SECONDS)
    assert (process.returncode, said) == (0, "")
    assert shown.splitlines()[-1].split()[2] == "run.cancelled"


def test_interrupting_ends_it(host: Host) -> None:
    run_id = host.create("long")
    env = environment(host.data.parent, {"WEFTWORK_URL": host.address, "WEFTWORK_KEY": KEY})
    line = command("events", run_id, "--follow")
    with subprocess.Popen(line, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=TIMEOUT_SECONDS)
    assert (process.returncode, said) == (130, "")
    cancel(host, run_id)


@pytest.mark.parametrize("follow", [[], ["--follow"]])
@pytest.mark.parametrize("mode", ["debug", "values"])
def test_a_run_that_is_not_there(host: Host, follow: list[str], mode: str) -> None:
    done = events(host, "nowhere", "--mode", mode, *follow)
    assert done.exit_code == 7
    assert "There is no such run (not_found); check the id" in done.stderr


def test_a_host_that_pages_and_repeats_itself(foreign: ForeignHost) -> None:
    log = [{"type": "node.started", "sequence": at, "payload": {}} for at in range(9)]

    def page(asked: Any) -> CannedResponse:
        last = int(asked.query["lastSequence"][0])
        return CannedResponse(200, {"events": log[max(0, last - 1) : last + 4]})

    foreign.replies["GET /v1/runs/r/events/poll"] = page
    done = foreign.run_command("events", "r", "--json")
    assert documents(done) == log


def test_a_host_without_the_mode_is_told(foreign: ForeignHost) -> None:
    refusal = {"error": "unsupported_stream_mode", "message": "No.", "details": {"supported": ["updates"]}}
    foreign.replies["GET /v1/runs/r/events"] = CannedResponse(400, refusal)
    done = foreign.run_command("events", "r", "--follow", "--mode", "messages")
    assert (done.exit_code, done.stderr) == (7, "Error: No (unsupported_stream_mode).\n  supported: updates\n")


def test_following_a_run_shows_what_such_a_host_has(foreign: ForeignHost) -> None:
    """`weftwork run` asks for every event, and takes those that matter to most where there are no others."""
    log = [{"type": kind, "sequence": at, "payload": {}} for at, kind in enumerate(("run.started", "run.completed"))]
    body = b"".join(f"data: {json.dumps(each)}\n\n".encode() for each in log)

    def stream(asked: Any) -> CannedResponse:
        refusal = CannedResponse(400, {"error": "unsupported_stream_mode", "message": "No."})
        return refusal if "streamMode" in asked.query else CannedResponse(stream=lambda write: write(body))

    foreign.replies |= {
        "POST /v1/runs": CannedResponse(201, {"runId": "r", "status": "pending", "eventsUrl": "x"}),
        "GET /v1/runs/r": CannedResponse(200, {"runId": "r", "status": "completed"}),
        "GET /v1/runs/r/events": stream,
    }
    done = foreign.run_command("run", "w", "--follow")
    assert (done.exit_code, done.stdout) == (0, "- 0 run.started -\n- 1 run.completed -\n")


@pytest.mark.parametrize(("status", "code"), [("completed", 0), ("failed", 1), ("cancelled", 3), ("of-the-future", 1)])
def test_a_stream_that_does_not_say_how_the_run_ended(foreign: ForeignHost, status: str, code: int) -> None:
    foreign.replies |= {
        "POST /v1/runs": CannedResponse(201, {"runId": "r"}),
        "GET /v1/runs/r": CannedResponse(200, {"runId": "r", "status": status}),
        "GET /v1/runs/r/events": CannedResponse(stream=lambda write: write(b": nothing\n\n")),
    }
    assert foreign.run_command("run", "w", "--follow").exit_code == code


def test_a_host_that_takes_no_definitions(foreign: ForeignHost, tmp_path: Any) -> None:
    file = tmp_path / "w.json"
    file.write_text(json.dumps(delays("w", 1)))
    done = foreign.run_command("run", str(file))
    assert done.exit_code == 7
    advice = "register the workflow by the host's own means, then run it by its id"
    assert f"this host does not accept definitions at POST /v1/workflows; {advice}" in done.stderr


def test_a_host_that_does_not_name_its_run(foreign: ForeignHost) -> None:
    foreign.replies["POST /v1/runs"] = CannedResponse(201, {"id": "r"})
    done = foreign.run_command("run", "w")
    assert (done.exit_code, "sent a response without the run id" in done.stderr) == (6, True)


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
runs_host = host_fixture(
    "--conformance", workflows=[ASKING, delays("long", 60_000), delays("two", 1, 60_000)], store="memory"
)


def runs(runs_host: Host, *args: str, code: int = 0, key: str = KEY) -> Result:
    return run_on(runs_host, "runs", *args, code=code, key=key)


def listed(runs_host: Host, *args: str) -> list[str]:
    return [run["runId"] for run in json.loads(runs(runs_host, "ls", "--json", *args).stdout)["runs"]]


def standing(runs_host: Host, run_id: str, status: str) -> None:
    until(lambda: runs_host.snapshot(run_id)["status"] == status, status)


def test_runs_are_listed_newest_first(runs_host: Host) -> None:
    made = [runs_host.create("conformance-noop", tags=["listed"]) for _ in range(3)]
    failed = runs_host.create("conformance-failure")
    for run_id in (*made, failed):
        runs_host.log(run_id)
    found = listed(runs_host, "--workflow", "conformance-noop", "--limit", "3")
    assert found == made[::-1]
    assert json.loads(runs(runs_host, "ls", "--json", "--limit", "1", "--status", "failed").stdout) == {
        "runs": runs_host.call("GET", "/v1/runs?status=failed&limit=1").document["runs"]
    }
    assert set(made) < set(listed(runs_host, "--all"))
    head, *rows = runs(runs_host, "ls", "--limit", "4").stdout.splitlines()
    assert head.split() == ["run", "status", "workflow", "created", "duration", "at"]
    assert rows[0].split()[:3] == [failed, "failed", "conformance-failure"]
    assert rows[0].split()[-1] == "conformance_test_failure"
    assert [row.split()[0] for row in rows[1:]] == made[::-1]
    assert len({row.index("conformance-") for row in rows}) == 1


def test_a_run_that_has_ended_is_shown(runs_host: Host) -> None:
    run_id = runs_host.create("conformance-failure", tags=["a", "b"])
    runs_host.log(run_id)
    lines = dict(line.split(None, 1) for line in runs(runs_host, "show", run_id).stdout.split("\n\n")[0].splitlines())
    assert (lines["run"], lines["workflow"], lines["status"]) == (run_id, "conformance-failure", "failed")
    assert lines["error"] == "conformance_test_failure: Intentional conformance failure"
    assert lines["next"] == f"See the events that led to the error with `weftwork events {run_id}`."
    assert "took" in lines["ended"]
    assert lines["tags"] == "a, b"
    assert json.loads(runs(runs_host, "show", run_id, "--json").stdout) == runs_host.snapshot(run_id)


def test_a_run_that_asks_is_shown_with_its_question_and_then_with_what_it_made(runs_host: Host) -> None:
    run_id = runs_host.create("asking")
    standing(runs_host, run_id, "waiting-input")
    said = runs(runs_host, "show", run_id).stdout
    assert f"Answer the open interrupt with `weftwork answer {run_id}`." in said
    assert f"\nanswer with\n  weftwork answer {run_id}/ask\nor\n  curl -d" in said
    assert "\n  open since 20" in said
    assert '\nask requests an answer (custom): {"customKind": "supplier", "payload": ["north", "south"]}\n' in said
    assert runs(runs_host, "pause", run_id, code=7).stderr.startswith("Error: The run is waiting-input")
    answer = runs_host.call("POST", f"/v1/runs/{run_id}/interrupts/ask", {"resumeValue": "north"})
    assert answer.status == 200
    runs_host.log(run_id)
    said = runs(runs_host, "show", run_id).stdout
    assert "requests" not in said
    assert "\nartifacts\n  keep  order  version 1  keep\n" in said


def test_a_run_is_paused_resumed_and_cancelled(runs_host: Host) -> None:
    run_id = runs_host.create("two", inputs={"secret-free": "x" * 500})
    until(lambda: runs_host.snapshot(run_id).get("currentNodeId") == "n1", "the long node")
    said = runs(runs_host, "pause", run_id, "--drain-policy", "immediate", "--reason", "lunch").stdout
    assert said == f"{run_id} is paused\n"
    standing(runs_host, run_id, "paused")
    said = runs(runs_host, "show", run_id).stdout
    assert f"Resume the run with `weftwork runs resume {run_id}`." in said
    assert "  n0  completed  attempt 1  " in said
    assert "xxx…" in said
    assert "(conflict)" in runs(runs_host, "pause", run_id, code=7).stderr
    assert runs(runs_host, "resume", run_id, "--reason", "back").stdout == f"{run_id} is resumed\n"
    assert runs(runs_host, "resume", run_id, code=7).stdout == ""
    said = json.loads(runs(runs_host, "pause", run_id, "--json").stdout)
    assert (said["runId"], said["status"]) == (run_id, "paused")
    done = runs(runs_host, "cancel", run_id, "--reason", "enough")
    assert done.stdout in (f"{run_id} is cancelled\n", f"{run_id} is being cancelled\n")
    events = runs_host.log(run_id)
    told = {event["type"]: event["payload"].get("reason") for event in events}
    assert (told["run.paused"], told["run.resumed"], told["run.cancelled"]) == ("lunch", "back", "enough")
    assert runs(runs_host, "cancel", run_id).stdout == f"{run_id} is cancelled\n"


def test_each_of_several_runs_is_cancelled_and_each_refusal_told(runs_host: Host) -> None:
    live = [runs_host.create("long") for _ in range(2)]
    over = runs_host.create("conformance-noop")
    runs_host.log(over)
    done = runs(runs_host, "cancel", live[0], "unknown", over, live[1], code=7)
    assert done.stdout.splitlines()[1] == f"{over} has already ended: completed"
    assert done.stderr.startswith("unknown: There is no such run (not_found)")
    for run_id in live:
        standing(runs_host, run_id, "cancelled")


def test_runs_of_others_are_not_there(runs_host: Host) -> None:
    run_id = runs_host.create("long")
    for verb in ("show", "cancel", "pause", "resume"):
        assert "There is no such run" in runs(runs_host, verb, run_id, key=OTHER_KEY, code=7).stderr
    assert runs_host.snapshot(run_id)["status"] == "running"
    assert "the host does not accept this API key" in runs(runs_host, "ls", key="wrong", code=7).stderr
    assert runs(runs_host, "cancel", run_id).exit_code == 0


def test_the_process_says_the_same(runs_host: Host, tmp_path: Path) -> None:
    run_id = runs_host.create("conformance-noop")
    runs_host.log(run_id)
    env = {"WEFTWORK_URL": runs_host.address, "WEFTWORK_KEY": KEY}
    done = weftwork(tmp_path, "runs", "show", run_id, env=env)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == runs(runs_host, "show", run_id).stdout
    gone = weftwork(tmp_path, "runs", "ls", "--url", "http://127.0.0.1:1")
    assert (gone.returncode, gone.stdout) == (6, "")
    assert "no host is listening on http://127.0.0.1:1" in gone.stderr
    assert weftwork(tmp_path, "runs", "show").returncode == 2
    poor = weftwork(tmp_path, "runs", "ls", env={**env, "PYTHONIOENCODING": "ascii"})
    assert poor.returncode == 0


def test_somebody_at_a_terminal_gets_colours_and_whole_ids(
    runs_host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = runs_host.create("conformance-failure")
    runs_host.log(run_id)
    for name, value in (("TERM", "xterm-256color"), ("COLUMNS", "60")):
        monkeypatch.setenv(name, value)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    line = ("runs", "ls", "--url", runs_host.address, "--key", KEY, "--status", "failed")
    code, shown = run_at_terminal(tmp_path, b"", *line)
    assert code == 0
    assert run_id in shown
    assert "\x1b[31mfailed" in shown
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[31m" not in run_at_terminal(tmp_path, b"", *line)[1]
