"""Artifacts over HTTP: who may fetch them, what is in them, and which of several it is."""

from pathlib import Path
from typing import Any

import pytest

from tests.harness.definitions import edge, node, variable
from tests.live import KEY, OTHER_KEY, TEST_KEY, Answer, Host, start_host, write_workflows
from tests.live.steering import answer_over_http, cancel, error_code, events, flow, interrupt_node, register
from weftwork.protocol.json import schema

NOWHERE = "01zzzzzzzzzzzzzzzzzzzzzzzz"


def emitting(node_id: str, **config: Any) -> dict[str, Any]:
    return node(node_id, "core.artifact.emit", config={"artifactType": "report", **config})


def fetch(host: Host, run_id: str, artifact_id: str, key: str | None = KEY) -> Answer:
    return host.call("GET", f"/v1/runs/{run_id}/artifacts/{artifact_id}", key=key)


ONE = flow(
    "make-one",
    [emitting("made", summary="Made for {{variables.who}}", data={"rows": [1, None, "é"]}), interrupt_node("ask")],
    [edge("made", "ask")],
    [variable("who", defaultValue="you")],
)


def test_an_artifact_is_fetched_by_its_id(host: Host) -> None:
    run_id = host.create(register(host, ONE))
    (event,) = [each for each in events(host, run_id) if each["type"] == "artifact.created"]
    answer = fetch(host, run_id, "made")
    assert answer.status == 200
    assert schema.check("artifact", answer.document) == []
    assert answer.document == {
        "artifactId": "made",
        "artifactType": "report",
        "runId": run_id,
        "nodeId": "made",
        "version": 1,
        "summary": "Made for you",
        "createdAt": event["timestamp"],
        "data": {"rows": [1, None, "é"]},
    }
    assert schema.check_payload("artifact.created", event["payload"]) == []
    shown = host.snapshot(run_id)["artifacts"]
    assert shown == {"made": {"artifactType": "report", "nodeId": "made", "version": 1, "sequence": event["sequence"]}}
    assert answer_over_http(host, run_id, "ask", 1).status == 200
    assert fetch(host, run_id, "made").body == answer.body


@pytest.mark.rule("auth-03", "auth-05")
def test_others_fetch_nothing(host: Host) -> None:
    run_id = host.create(register(host, ONE))
    for run, artifact in ((run_id, "made"), (run_id, "none"), (NOWHERE, "made"), ("a%2Fb", "a%20b")):
        for key in (None, "wrong"):
            assert error_code(fetch(host, run, artifact, key)) == (401, "unauthenticated")
        for key in (OTHER_KEY, TEST_KEY):
            assert error_code(fetch(host, run, artifact, key)) == (404, "not_found")
    for artifact in ("none", "Made", "made-1", "ask", "%6dade%20", "..", "x" * 200):
        assert error_code(fetch(host, run_id, artifact)) == (404, "not_found")
    assert error_code(fetch(host, NOWHERE, "made")) == (404, "not_found")
    assert fetch(host, run_id, "%6dade").status == 200
    cancel(host, run_id)
    assert fetch(host, run_id, "made").status == 200
    assert host.call("DELETE", f"/v1/runs/{run_id}").status == 204
    assert error_code(fetch(host, run_id, "made")) == (404, "not_found")


@pytest.mark.rule("hide-01", "hide-02")
def test_an_artifact_shows_nothing_sensitive(host: Host) -> None:
    secret = "hush-4711-hush"
    port = {"data": {"type": "variable", "variableName": "secret"}}
    whole = {**emitting("whole"), "inputs": port}
    copied = emitting("copied", summary="about {{inputs.copy}}", data={"kept": "open", "text": "open"})
    document = flow("make-secret", [whole, copied], None, [variable("secret", sensitive=True)])
    run_id = host.create(register(host, document), inputs={"secret": secret, "copy": f"<{secret}>"})
    assert host.log(run_id)[-1]["type"] == "run.completed"
    first, second = fetch(host, run_id, "whole"), fetch(host, run_id, "copied")
    assert first.document["data"].startswith("[REDACTED:")
    assert second.document["data"] == {"kept": "open", "text": "open"}
    for told in (first.body.decode(), second.body.decode(), str(host.log(run_id)), str(host.snapshot(run_id))):
        assert secret not in told


def test_a_large_artifact_comes_back_whole(host: Host) -> None:
    data = {"lines": [f"{number} ü" * 20 for number in range(4000)]}
    port = {"data": {"type": "variable", "variableName": "data"}}
    made = {**emitting("large"), "inputs": port}
    run_id = host.create(register(host, flow("make-large", [made])), inputs={"data": data})
    answer = fetch(host, run_id, "large")
    assert len(answer.body) > 500_000
    assert answer.document["data"] == data
    assert len(str(host.snapshot(run_id)["artifacts"])) < 200


def test_each_round_of_a_loop_makes_its_own(host: Host) -> None:
    port = {"data": {"type": "expression", "expression": "variables.n"}}
    added = {"value": {"type": "expression", "expression": "variables.n + 1.0"}}
    count = node("count", "core.setVariable", config={"name": "n"}, inputs=added)
    again = {"type": "expression", "expression": "variables.n < 3.0"}
    document = flow(
        "make-rounds",
        [{**emitting("made"), "inputs": port}, count],
        [edge("made", "count"), edge("count", "made", condition=again)],
        [variable("n", "number", defaultValue=0)],
    )
    run_id = host.create(register(host, document))
    assert host.log(run_id)[-1]["type"] == "run.completed"
    assert sorted(host.snapshot(run_id)["artifacts"]) == ["made", "made-1", "made-2"]
    found = [fetch(host, run_id, name).document for name in ("made", "made-1", "made-2")]
    assert [(each["data"], each["version"]) for each in found] == [(0, 1), (1, 1), (2, 1)]


def test_a_second_one_of_the_same_id_is_the_next_version(host: Host) -> None:
    nodes = [emitting("a", artifactId="shared", data="old"), emitting("b", artifactId="shared", data="new")]
    run_id = host.create(register(host, flow("make-twice", nodes, [edge("a", "b")])))
    found = fetch(host, run_id, "shared").document
    assert (found["data"], found["version"], found["nodeId"]) == ("new", 2, "b")
    versions = [each["payload"]["version"] for each in events(host, run_id) if each["type"] == "artifact.created"]
    assert versions == ["1", "2"]
    assert host.snapshot(run_id)["artifacts"]["shared"]["version"] == 2


def test_an_artifact_outlives_the_host(tmp_path: Path) -> None:
    folder = write_workflows(tmp_path / "workflows", ONE)
    with start_host(tmp_path, "--workflows", folder) as host:
        run_id = host.create("make-one")
        before = fetch(host, run_id, "made")
        assert before.status == 200
        host.kill()
    with start_host(tmp_path, "--workflows", folder) as host:
        assert fetch(host, run_id, "made").body == before.body
        assert host.snapshot(run_id)["status"] == "waiting-input"
