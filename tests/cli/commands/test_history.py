"""`weftwork history`: a run of a host as a file that tests can replay."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from tests.cli.foreign_host import CannedResponse, ForeignHost, open_foreign_host, run_on
from tests.harness.cases import fails_without
from tests.live import KEY, Host
from tests.live.fixtures import host_fixture
from tests.live.workflows import delays
from weftwork.cli.commands.review import history as module
from weftwork.protocol.json.canonical import digest
from weftwork.protocol.replay.history import read_history
from weftwork.testing import replay

QUICK = delays("quick", 0, 0)
host = host_fixture("--conformance", workflows=[QUICK], store="memory")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def record(host: Host, *args: str, code: int = 0) -> Result:
    return run_on(host, "history", "record", *args, code=code, key=KEY)


def finished(host: Host, workflow_id: str = "quick", **members: Any) -> str:
    run_id = host.create(workflow_id, **members)
    host.log(run_id)
    return run_id


def test_a_recorded_run_is_the_whole_run_and_can_be_replayed(host: Host, here: Path) -> None:
    run_id = finished(host)
    done = record(host, run_id, "quick.json")
    recorded = read_history((here / "quick.json").read_bytes())
    assert [json.loads(each.document) for each in recorded.events] == host.log(run_id)
    assert (recorded.header.run_id, recorded.status, recorded.masked) == (run_id, "completed", None)
    assert done.output.startswith(f"quick.json: {len(recorded.events)} events, ")
    assert replay("quick.json").run_id == run_id
    lines = (here / "quick.json").read_text().splitlines()
    assert sum('"eventId"' in line for line in lines) == len(recorded.events)


def test_a_file_is_not_overwritten_unasked(host: Host, here: Path) -> None:
    run_id = finished(host)
    (here / "a.json").write_text("mine")
    assert "a.json already exists; overwrite it with --force" in record(host, run_id, "a.json", code=2).output
    assert (here / "a.json").read_text() == "mine"
    record(host, run_id, "a.json", "--force")
    assert read_history((here / "a.json").read_bytes()).header.run_id == run_id
    assert "cannot be written" in record(host, run_id, "missing/a.json", code=1).output


def test_the_summary_as_json(host: Host) -> None:
    run_id = finished(host)
    summary = json.loads(record(host, run_id, "b.json", "--json").stdout)
    assert (summary["runId"], summary["file"], summary["status"], summary["masked"]) == (
        run_id,
        "b.json",
        "completed",
        None,
    )


RUN: dict[str, Any] = {
    "runId": "run-1",
    "workflowId": "w",
    "status": "completed",
    "createdAt": "2026-01-01T00:00:00.000Z",
    "owner": {"tenant": "acme", "principal": "key_1"},
    "inputs": {"token": "[REDACTED:token]", "name": "abc"},
}
DEFINITION: dict[str, Any] = {"id": "w", "version": "1"}


def event(sequence: int, kind: str, **payload: Any) -> dict[str, Any]:
    base = {"eventId": f"e{sequence}", "runId": "run-1", "timestamp": "2026-01-01T00:00:00.000Z"}
    return {**base, "type": kind, "sequence": sequence, "payload": payload}


@pytest.fixture
def foreign() -> Iterator[ForeignHost]:
    """A host with one run, of the definition in version 1."""
    with open_foreign_host() as made:
        serve(made, [event(0, "run.started", inputs=RUN["inputs"]), event(1, "run.completed", outputs={})])
        bundle = {"run": {"definition": {"digest": digest(DEFINITION), "version": "1"}}}
        made.replies["GET /v1/runs/run-1"] = CannedResponse(200, RUN)
        made.replies["GET /v1/runs/run-1/debug-bundle"] = CannedResponse(200, bundle)
        made.replies["GET /v1/workflows/w"] = CannedResponse(200, DEFINITION)
        yield made


def serve(foreign: ForeignHost, events: list[dict[str, Any]]) -> None:
    page = {"events": events, "isComplete": True}
    foreign.replies["GET /v1/runs/run-1/events/poll"] = CannedResponse(200, page)


def refused(foreign: ForeignHost, *args: str) -> str:
    done = foreign.run_command("history", "record", "run-1", "run.json", *args)
    assert done.exit_code != 0
    assert not Path("run.json").exists()
    return done.output


def test_masked_values_are_listed(foreign: ForeignHost, here: Path) -> None:
    done = foreign.run_command("history", "record", "run-1", "run.json")
    assert done.exit_code == 0
    assert "1 event and 1 input are masked; a replay does not call the nodes that read them" in done.stderr
    document = json.loads((here / "run.json").read_bytes())
    assert (document["masked"]["inputs"], document["masked"]["events"]) == (["token"], [0])
    assert "A replay takes over the recorded outcome" in document["masked"]["note"]
    assert document["host"] == {"name": "elsewhere", "version": "7"}


@fails_without(module, "digest", lambda found: digest(DEFINITION))
def test_another_definition_is_refused(foreign: ForeignHost, here: Path) -> None:
    Path("run.json").unlink(missing_ok=True)
    foreign.replies["GET /v1/workflows/w"] = CannedResponse(200, {**DEFINITION, "name": "changed"})
    assert "no longer lists the definition that the run was started with; pass it with --workflow" in refused(foreign)
    (here / "old.json").write_text(json.dumps(DEFINITION))
    done = foreign.run_command(
        "history",
        "record",
        "run-1",
        "ok.json",
        "--workflow",
        "old.json",
    )
    assert done.exit_code == 0
    Path("ok.json").unlink()
    (here / "other.json").write_text("{}")
    assert "other.json is not the definition" in refused(foreign, "--workflow", "other.json")
    (here / "no.json").write_text("{")
    assert "no.json is not a definition" in refused(foreign, "--workflow", "no.json")


@fails_without(module, "ANSWER_MASK", "something else")
def test_masked_answers_of_models_are_refused(foreign: ForeignHost) -> None:
    Path("run.json").unlink(missing_ok=True)
    text = "[masked: needs the scope runs:debug; run `weftwork keys create`]"
    serve(foreign, [event(0, "run.started"), event(1, "weftwork.model.answered", text=text)])
    assert "use a key with the scope runs:debug" in refused(foreign)


def test_a_log_with_a_gap_is_refused(foreign: ForeignHost) -> None:
    serve(foreign, [event(1, "run.started")])
    assert "a run that cannot be recorded: The events are not the whole log" in refused(foreign)
