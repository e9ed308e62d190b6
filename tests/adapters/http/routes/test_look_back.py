"""Earlier states of runs over HTTP: they are the snapshots that the run had then, without tokens."""

from pathlib import Path
from typing import Any

import pytest

from tests.harness.cases import each_case
from tests.harness.definitions import edge, node, variable
from tests.live import KEY, OTHER_KEY, Answer, Host, frames, start_host, steering, until
from tests.live.child_workflows import GRANDPARENT, INTERRUPTED_CHILD, MAPPING_PARENT, await_tree, child_workflows
from tests.live.fixtures import host_fixture
from weftwork.protocol.json import schema
from weftwork.protocol.run.projection import LARGE_STATE_BYTES

SECRET = "the-secret-of-this-test"
STEPS = steering.flow(
    "look-steps",
    [
        node("set", "core.setVariable", config={"name": "n", "value": 1}),
        node("write", "core.channelWrite", config={"channelName": "notes", "reducer": "append", "value": "x"}),
        node(
            "hide",
            "core.setVariable",
            inputs={"value": {"type": "variable", "variableName": "given"}},
            config={"name": "kept"},
        ),
        steering.interrupt_node("ask"),
        node("again", "core.setVariable", config={"name": "n", "value": 2}),
        node("make", "core.artifact.emit", config={"artifactType": "t", "data": 1}),
        steering.interrupt_node("more"),
        node("bad", "core.fail", config={"code": "late"}),
    ],
    [
        edge("set", "write"),
        edge("write", "hide"),
        edge("hide", "ask"),
        edge("ask", "again"),
        edge("again", "make"),
        edge("make", "more"),
        edge("more", "bad"),
    ],
    [
        variable("n", "number", defaultValue=0),
        variable("given", sensitive=True),
        variable("kept", sensitive=True, defaultValue=""),
        variable("copy", defaultValue="none"),
        variable("large", "array", defaultValue=[]),
    ],
)

host = host_fixture(workflows=[STEPS, *child_workflows()])


def look(host: Host, run_id: str, sequence: object, **more: Any) -> Answer:
    return host.call("GET", f"/v1/runs/{run_id}?atSequence={sequence}", **more)


def looked(host: Host, run_id: str, sequence: int) -> dict[str, Any]:
    answer = look(host, run_id, sequence)
    assert answer.status == 200, answer.body
    assert schema.check("run-snapshot", answer.document) == []
    return answer.document


def start(host: Host, **inputs: Any) -> str:
    """A run that waits for its first answer, with a secret among its inputs."""
    run_id = host.create(STEPS["id"], inputs={"given": SECRET, "copy": f"with {SECRET} in it", **inputs})
    steering.await_status(host, run_id, "waiting-input")
    return run_id


def finish(host: Host, run_id: str) -> int:
    """Answer the run to its end. Returns the sequence of its last event."""
    for node_id in ("ask", "more"):
        until(lambda node_id=node_id: host.snapshot(run_id).get("currentNodeId") == node_id, f"the question {node_id}")
        assert steering.answer_over_http(host, run_id, node_id, "yes").status == 200
    return host.log(run_id)[-1]["sequence"]


@pytest.mark.rule("look-01")
@pytest.mark.parametrize("items", [0, LARGE_STATE_BYTES])
def test_a_look_back_shows_what_readers_saw_then(host: Host, items: int) -> None:
    run_id = start(host, large=list(range(items)))
    stream = host.stream(run_id, "?streamMode=values")
    stream.read_until(lambda body: b"waiting-input" in body)
    before = host.snapshot(run_id)
    last = finish(host, run_id)
    seen = {frame.document["sequence"]: frame.document["payload"] for frame in frames(stream.finish())}
    assert len(seen) >= 3
    for sequence, snapshot in seen.items():
        assert looked(host, run_id, sequence) == snapshot
    assert looked(host, run_id, last) == steering.without_tokens(host.snapshot(run_id))
    assert "interruptToken" in before["interrupt"]
    waiting = looked(host, run_id, min(seen))
    assert waiting == steering.without_tokens(before)
    assert "Token" not in str(waiting)
    assert "callbackUrl" not in str(waiting)


def test_each_event_has_a_state(host: Host) -> None:
    run_id = start(host)
    last = finish(host, run_id)
    log = steering.events(host, run_id)
    states = [looked(host, run_id, sequence) for sequence in range(last + 1)]
    for event, state in zip(log, states, strict=True):
        if event["type"] == "variable.changed":
            assert state["variables"][event["payload"]["name"]] == event["payload"]["next"]
        if event["type"] == "node.started":
            assert state["nodeStates"][event["nodeId"]]["status"] == "running"
    assert [state["variables"]["n"] for state in states] == sorted(state["variables"]["n"] for state in states)
    assert "error" not in states[-2]
    assert states[-1]["error"]["code"] == "late"
    assert states[0]["nodeStates"] == {}
    assert states[0]["status"] == "running"


@pytest.mark.rule("look-01", "hide-02")
def test_hidden_values_stay_hidden_also_after_a_restart(tmp_path: Path) -> None:
    (tmp_path / "flows").mkdir()
    with start_host(tmp_path) as first:
        steering.register(first, STEPS)
        run_id = start(first)
        last = finish(first, run_id)
        states = [looked(first, run_id, sequence) for sequence in range(last + 1)]
    with start_host(tmp_path) as second:
        again = [looked(second, run_id, sequence) for sequence in range(last + 1)]
    assert again == states
    assert SECRET not in str(states)
    assert {state["variables"]["given"] for state in states} == {"[REDACTED:given]"}
    assert {state["variables"]["copy"] for state in states} == {"with [REDACTED:given] in it"}


@pytest.mark.rule("look-01")
@each_case(
    "value, status",
    ("-1", 400),
    ("1.5", 400),
    ("", 400),
    ("last", 400),
    ("%C2%B2", 400),
    ("100000", 422),
    ("9" * 40, 422),
)
def test_a_sequence_that_no_event_has_is_refused(host: Host, value: str, status: int) -> None:
    run_id = host.create("look-steps", inputs={"given": SECRET})
    steering.await_status(host, run_id, "waiting-input")
    last = steering.events(host, run_id)[-1]["sequence"]
    answer = look(host, run_id, value)
    assert steering.error_code(answer) == (status, "validation_error")
    details = answer.document["details"]
    assert details["parameter"] == "atSequence"
    assert details.get("lastSequence") == (last if status == 422 else None)
    steering.cancel(host, run_id)


def test_the_run_of_another_tenant_cannot_be_looked_at(host: Host) -> None:
    run_id = start(host)
    assert look(host, run_id, 1, key=OTHER_KEY).status == 404
    assert look(host, run_id, 100_000, key=OTHER_KEY).status == 404
    assert look(host, run_id, 1, key=KEY).status == 200
    steering.cancel(host, run_id)
    host.log(run_id)
    assert host.call("DELETE", f"/v1/runs/{run_id}").status == 204
    assert look(host, run_id, 1).status == 404


@pytest.mark.rule("look-02")
def test_a_look_back_lists_the_children_that_were_started_by_then(host: Host) -> None:
    run_id = host.create(MAPPING_PARENT, inputs={"items": [1, 2, 3]})
    log = host.log(run_id)
    started = 0
    for event in log:
        started += event["type"] == "weftwork.child.started"
        state = looked(host, run_id, event["sequence"])
        assert len(state.get("childRuns", [])) == started
    top = await_tree(host, host.create(GRANDPARENT), *["waiting-input"] * 3)[0]["runId"]
    waiting = steering.events(host, top)[-1]["sequence"]
    shown = looked(host, top, waiting)["childRuns"]
    child = next(row for row in await_tree(host, top, *["waiting-input"] * 3) if row["workflowId"] == INTERRUPTED_CHILD)
    assert steering.answer_over_http(host, child["runId"], "ask", "yes").status == 200
    last = host.log(top)[-1]["sequence"]
    assert looked(host, top, waiting)["childRuns"] == shown
    assert [row["status"] for row in shown] == ["waiting-input"]
    assert [row["status"] for row in looked(host, top, last)["childRuns"]] == ["completed"]
