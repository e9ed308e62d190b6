"""What answers and is no OpenWOP host, or not at this address: nothing is taken for done."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.foreign_host import CannedResponse, ForeignHost
from tests.live import delays
from weftwork.cli.client.errors import EXIT_UNREACHABLE
from weftwork.protocol.run.header import STATUSES


@pytest.mark.parametrize("answer", [{}, [], None, "ok", {"balance": 5}, {"status": 5}])
@pytest.mark.parametrize("verb", ["cancel", "pause", "resume"])
@pytest.mark.parametrize("more", [(), ("--json",)])
def test_an_answer_that_says_nothing_of_the_run(foreign: ForeignHost, verb: str, answer: Any, more: tuple[str]) -> None:
    foreign.replies |= {
        f"POST /v1/runs/r{each}": CannedResponse(200, answer) for each in ("/cancel", ":pause", ":resume")
    }
    done = foreign.run_command("runs", verb, "r", *more)
    assert (done.exit_code, done.stdout) == (EXIT_UNREACHABLE, "")
    assert "does not say how r stands now; see that --url names an OpenWOP v1 host." in done.stderr


@pytest.mark.parametrize("answer", [{}, [], None, "ok", {"workflowId": 5}])
def test_an_answer_that_says_nothing_of_the_workflow(foreign: ForeignHost, tmp_path: Path, answer: Any) -> None:
    file = tmp_path / "w.json"
    file.write_text(json.dumps(delays("w", 1)))
    foreign.replies["POST /v1/workflows"] = CannedResponse(200, answer)
    done = foreign.run_command("workflows", "add", str(file))
    assert (done.exit_code, done.stdout) == (EXIT_UNREACHABLE, "")
    assert "does not say what it registered; see that --url names an OpenWOP v1 host." in done.stderr


@pytest.mark.parametrize(
    "args", [("runs", "ls"), ("runs", "show", "r"), ("workflows", "ls"), ("nodes", "ls"), ("run", "w"), ("events", "r")]
)
def test_an_address_that_ends_with_the_version_is_told(foreign: ForeignHost, args: tuple[str, ...]) -> None:
    done = foreign.run_command(*args, "--url", f"{foreign.url}/v1/")
    assert done.exit_code == EXIT_UNREACHABLE
    assert f"{foreign.url}/v1 has no /v1/" in done.stderr
    assert done.stderr.endswith(f"name the host without /v1: --url {foreign.url}\n")


@pytest.mark.parametrize(("name", "is_told"), [("nope", True), ("failed", False)])
def test_a_status_that_is_none_is_answered_with_those_there_are(foreign: ForeignHost, name: str, is_told: bool) -> None:
    foreign.replies["GET /v1/runs"] = CannedResponse(400, {"error": "validation_error", "message": "no such status"})
    done = foreign.run_command("runs", "ls", "--status", name)
    assert done.exit_code == 7
    assert (f"the statuses of runs are {', '.join(STATUSES)}.\n" in done.stderr) == is_told
    shown = " ".join(foreign.run_command("runs", "ls", "--help").stdout.split())
    assert all(status in shown for status in STATUSES)


def test_a_run_that_is_not_there_is_not_asked_for_again(foreign: ForeignHost) -> None:
    done = foreign.run_command("events", "nope", "--follow")
    assert done.exit_code == 7
    assert done.stderr.startswith("Error: Nothing here (not_found); see that the id is right")
    assert [asked.path for asked in foreign.requests] == ["/v1/runs/nope/events", "/v1/runs/nope"]


def test_a_host_without_streams_is_polled(foreign: ForeignHost) -> None:
    ended = {"type": "run.completed", "sequence": 0, "payload": {}}
    foreign.replies["GET /v1/runs/r"] = CannedResponse(200, {"runId": "r", "status": "completed"})
    foreign.replies["GET /v1/runs/r/events/poll"] = CannedResponse(200, {"events": [ended], "isComplete": True})
    done = foreign.run_command("events", "r", "--follow")
    assert (done.exit_code, done.stdout) == (0, "- 0 run.completed -\n")
    assert done.stderr == "this host does not stream here; asking again and again instead\n"
