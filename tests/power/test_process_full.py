"""The process on a disk without room. The room is a limit on the size of its files, which needs no rights to set."""

import resource
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.live import Answer, Host, delays, start_host, until, write_workflows
from tests.live.host import command
from tests.power.disk_host import check_ended, check_refusal
from weftwork.wiring.data_folder import DATABASE_FILE

NO_ROOM = 65_536
"""Less than the store's log has from the start; the output of the process stays far below."""
WORKFLOWS = (delays("quick", 0), delays("due", 1000))

LIMITED = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
os.execv(sys.argv[2], sys.argv[2:])
"""


def set_room(host: Host, size: int) -> None:
    _, hard = resource.prlimit(host.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(host.process.pid, resource.RLIMIT_FSIZE, (size, hard))


def post(host: Host, number: int, workflow: str = "quick") -> Answer:
    document: dict[str, Any] = {"workflowId": workflow, "metadata": {"number": number, "text": "x" * 8000}}
    return host.call("POST", "/v1/runs", document, headers={"Idempotency-Key": f"key-{number}"})


def taken(host: Host, number: int, workflow: str = "quick") -> str:
    """The run's id, once the host takes it."""

    def look() -> str | None:
        answer = post(host, number, workflow)
        return answer.document["runId"] if answer.status == 201 else None

    return until(look, "a run to be taken")


def fill(host: Host, acknowledged: dict[int, str]) -> int:
    """Start runs until one is refused; the number of that one."""
    for number in range(len(acknowledged), 1000):
        answer = post(host, number)
        if answer.status != 201:
            check_refusal(answer)
            return number
        acknowledged[number] = answer.document["runId"]
    raise AssertionError("the disk is never full")


def waits_for_room(host: Host, run_id: str) -> bool:
    return any(run_id in line and "retrying in a second" in line for line in host.errors.splitlines())


def check_full(host: Host, ended: str) -> None:
    check_refusal(post(host, -1))
    check_refusal(host.call("GET", "/readiness"))
    assert host.call("GET", "/health").status == 200
    assert host.snapshot(ended)["status"] == "completed"
    check_ended([frame.document for frame in host.stream(ended, "?streamMode=debug").frames()])


def check_all(host: Host, acknowledged: dict[int, str]) -> None:
    for run_id in acknowledged.values():
        check_ended(host.log(run_id))
    listed = host.call("GET", "/v1/runs?limit=100").document
    assert {run["runId"] for run in listed["runs"]} == set(acknowledged.values())


@pytest.mark.slow
def test_a_process_without_room_waits_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workflows = write_workflows(tmp_path / "workflows", *WORKFLOWS)
    acknowledged: dict[int, str] = {}
    with start_host(tmp_path, "--workflows", workflows) as host:
        first = acknowledged[0] = post(host, 0).document["runId"]
        check_ended(host.log(first))
        set_room(host, (host.data / f"{DATABASE_FILE}-wal").stat().st_size + 300_000)
        refused = fill(host, acknowledged)
        assert refused > 3
        set_room(host, resource.RLIM_INFINITY)
        due = acknowledged[-2] = taken(host, -2, "due")
        set_room(host, NO_ROOM)
        check_full(host, first)
        stream = host.stream(due, "?streamMode=debug")
        # Its delay passes while there is no room, and nothing comes of it.
        until(lambda: waits_for_room(host, due) or None, "the run to need the store")
        set_room(host, resource.RLIM_INFINITY)
        check_ended([frame.document for frame in stream.frames()])
        acknowledged[refused] = taken(host, refused)
        check_all(host, acknowledged)
        check_quiet(host)
        set_room(host, NO_ROOM)
        check_full(host, first)
        host.kill()
    limited = [sys.executable, "-c", LIMITED, str(NO_ROOM)]
    monkeypatch.setattr("tests.live.host.command", lambda *args: [*limited, *command(*args)])
    with start_host(tmp_path, "--workflows", workflows) as host:
        # It starts without room, and shows what there is.
        check_all(host, acknowledged)
        check_full(host, first)
        set_room(host, resource.RLIM_INFINITY)
        acknowledged[-1] = taken(host, -1)
        check_all(host, acknowledged)
        assert host.stop() == 0
        check_quiet(host)


def check_quiet(host: Host) -> None:
    """A disk without room is no error of the host."""
    assert '"level":"error"' not in host.errors.replace(" ", "")
    assert "raceback" not in host.errors
