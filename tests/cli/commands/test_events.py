"""`weftwork events`: on a real host, and on one that is not ours."""

import json
import signal
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.cli.foreign_host import CannedResponse, ForeignHost
from tests.live import KEY, SEEDED_RUN, Host, delays, seed_messages, start_host, write_workflows
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
    assert "There is no such run (not_found); see that the id is right" in done.stderr


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
    assert (done.exit_code, done.stderr) == (7, "Error: No (unsupported_stream_mode).\n  it takes updates\n")


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
    assert "this host takes no definitions at POST /v1/workflows; register it in the host's own way" in done.stderr


def test_a_host_that_does_not_name_its_run(foreign: ForeignHost) -> None:
    foreign.replies["POST /v1/runs"] = CannedResponse(201, {"id": "r"})
    done = foreign.run_command("run", "w")
    assert (done.exit_code, "does not say which run it started" in done.stderr) == (6, True)
