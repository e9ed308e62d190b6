"""`weftwork run --follow` counts child runs as they end with the run, which hears nothing more of them itself."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from tests.cli.follow.test_run_live import following
from tests.cli.foreign_host import NOT_FOUND, CannedResponse, ForeignHost
from tests.live import start_host, write_workflows
from tests.live.child_workflows import GRANDPARENT, child_workflows
from tests.live.host import TIMEOUT_SECONDS
from tests.live.steering import cancel
from weftwork.cli.follow import follow_run, run_watch


def ended_run(foreign: ForeignHost, *trees: CannedResponse) -> Result:
    """A run that starts two children and is cancelled; the host gives these trees, one after the other."""
    rows = [
        ("run.started", {"workflowId": "w"}),
        *(("weftwork.child.started", {"childRunId": f"c{at}", "workflowId": "pay", "awaited": True}) for at in (1, 2)),
        ("run.cancelled", {"reason": "enough"}),
    ]

    def send(write: Any) -> None:
        for at, (kind, payload) in enumerate(rows):
            document = json.dumps({"type": kind, "sequence": at, "nodeId": "fan", "payload": payload})
            write(f"id: {at}\nevent: {kind}\ndata: {document}\n\n".encode())

    looks = list(trees)
    foreign.replies["POST /v1/runs"] = CannedResponse(201, {"runId": "r", "status": "pending"})
    foreign.replies["GET /v1/runs/r/events"] = CannedResponse(stream=send)
    foreign.replies["GET /v1/runs/r"] = CannedResponse(200, {"runId": "r", "workflowId": "w", "status": "cancelled"})
    foreign.replies["GET /v1/host/weftwork/runs/r/tree"] = lambda _: looks.pop(0) if len(looks) > 1 else looks[0]
    done = foreign.run_command("run", "w", "--follow")
    assert done.exit_code == 3, done.output
    return done


def tree_with(*statuses: str) -> CannedResponse:
    below = [{"runId": f"c{at}", "parentRunId": "r", "status": status} for at, status in enumerate(statuses, 1)]
    return CannedResponse(
        200, {"runId": "r", "runs": [{"runId": "r", "status": "cancelled"}, *below], "truncated": False}
    )


ENDING = (tree_with("running", "waiting-approval"), tree_with("cancelled", "waiting-approval"))


def test_children_are_counted_as_they_end_with_the_run(foreign: ForeignHost) -> None:
    done = ended_run(foreign, *ENDING, tree_with("cancelled", "cancelled"))
    assert done.stderr.splitlines()[-1] == "2 child runs: 2 cancelled"


def test_without_another_look_they_would_be_counted_wrongly(
    foreign: ForeignHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow_run, "await_child_ends", lambda *_: None)
    done = ended_run(foreign, *ENDING, tree_with("cancelled", "cancelled"))
    assert done.stderr.splitlines()[-1] == "2 child runs: 2 started"


def test_children_that_go_on_are_not_waited_for_long(foreign: ForeignHost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_watch, "END_GRACE_SECONDS", 0.1)
    assert ended_run(foreign, tree_with("running", "cancelled")).stderr.endswith("1 running, 1 cancelled\n")
    # A host that does not tell is asked once.
    foreign.requests.clear()
    assert ended_run(foreign, NOT_FOUND).stderr.splitlines()[-1] == "2 child runs: 2 started"
    assert len([each for each in foreign.requests if each.path.endswith("/tree")]) == 1


def test_a_host_that_cancels_a_run_has_its_children_counted_at_their_end(tmp_path: Path) -> None:
    flows = write_workflows(tmp_path / "flows", *child_workflows())
    with start_host(tmp_path, "--workflows", flows, store="memory") as host:
        line, env = following(host, GRANDPARENT)
        process = subprocess.Popen(line, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert process.stderr is not None
        assert b" waits at ask" in process.stderr.readline()
        (found,) = host.call("GET", f"/v1/runs?workflowId={GRANDPARENT}").document["runs"]
        cancel(host, found["runId"])
        _, errors = process.communicate(timeout=TIMEOUT_SECONDS)
        assert process.returncode == 3
        assert errors.decode().splitlines()[-1] == "1 child run: 1 cancelled"
