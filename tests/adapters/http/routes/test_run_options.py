"""What a run is given when it is created: inputs of their type, options that a workflow allows, and limits on loops."""

from typing import Any

import pytest

from tests.harness.definitions import edge, node, variable
from tests.live import KEY, Answer, Host
from tests.live.steering import error_code, flow, payloads, register
from weftwork.protocol.json import schema

VALUES: dict[str, Any] = {
    "string": "text",
    "number": 1.5,
    "boolean": True,
    "object": {"a": 1},
    "array": [1],
}
TYPED = flow("opt-typed", [node("n")], None, [variable(f"a/{kind}", kind) for kind in VALUES])


def create(host: Host, workflow_id: str, **members: Any) -> Answer:
    return host.call("POST", "/v1/runs", {"workflowId": workflow_id, **members}, key=KEY)


@pytest.mark.rule("data-04")
@pytest.mark.parametrize("wanted", VALUES)
@pytest.mark.parametrize("given", [*VALUES, "null"])
def test_an_input_has_the_type_of_its_variable(host: Host, wanted: str, given: str) -> None:
    answer = create(host, register(host, TYPED), inputs={f"a/{wanted}": VALUES.get(given), "other": None})
    if given == wanted:
        assert answer.status == 201
        assert host.snapshot(answer.document["runId"])["variables"] == {f"a/{wanted}": VALUES[given], "other": None}
    else:
        assert error_code(answer) == (400, "validation_error")
        assert answer.document["details"]["pointer"] == f"/inputs/a~1{wanted}"
        assert schema.check("error-envelope", answer.document) == []


CHOOSY = flow(
    "opt-choosy",
    [node("n")],
    configurableSchema={
        "type": "object",
        "required": ["tone"],
        "properties": {
            "tone": {"enum": ["warm", "cold"]},
            "deep": {"type": "object", "properties": {"a/b": {"type": "array", "items": {"type": "integer"}}}},
            "recursionLimit": {"type": "integer", "maximum": 5},
        },
        "additionalProperties": False,
    },
)


@pytest.mark.rule("opt-04")
@pytest.mark.parametrize(
    ("configurable", "pointer"),
    [
        (None, "/configurable"),
        ({}, "/configurable"),
        ({"tone": "loud"}, "/configurable/tone"),
        ({"tone": "warm", "more": 1}, "/configurable"),
        ({"tone": "warm", "deep": []}, "/configurable/deep"),
        ({"tone": "warm", "deep": {"a/b": [1, "x"]}}, "/configurable/deep/a~1b/1"),
        ({"tone": "warm", "recursionLimit": 6}, "/configurable/recursionLimit"),
        ({"tone": "warm", "recursionLimit": 0}, "/configurable/recursionLimit"),
    ],
)
def test_an_option_that_the_workflow_does_not_allow_is_refused(
    host: Host, configurable: dict[str, Any] | None, pointer: str
) -> None:
    members = {} if configurable is None else {"configurable": configurable}
    refused = create(host, register(host, CHOOSY), **members, tags=["choosy"])
    assert error_code(refused) == (400, "validation_error")
    assert refused.document["details"]["pointer"].startswith(pointer)
    assert "loud" not in refused.body.decode()
    assert host.call("GET", "/v1/runs?tag=choosy").document["runs"] == []


def test_options_that_the_workflow_allows_are_kept(host: Host) -> None:
    given = {"tone": "cold", "deep": {"a/b": [1], "c": None}, "recursionLimit": 1}
    answer = create(host, register(host, CHOOSY), configurable=given)
    assert answer.status == 201
    assert host.snapshot(answer.document["runId"])["configurable"] == given


ADDED = {"value": {"type": "expression", "expression": "variables.n + 1.0"}}
ROUNDS = [variable("n", "number", defaultValue=0), variable("most", "number", defaultValue=1000)]


def looping(workflow_id: str, **settings: Any) -> dict[str, Any]:
    """Two nodes that go round until there have been `most` rounds."""
    again = {"type": "expression", "expression": "variables.n < variables.most"}
    nodes = [node("work"), node("count", "core.setVariable", config={"name": "n"}, inputs=ADDED)]
    edges = [edge("work", "count"), edge("count", "work", condition=again)]
    return flow(workflow_id, nodes, edges, ROUNDS, settings=settings)


@pytest.mark.rule("lim-03", "lim-04")
@pytest.mark.parametrize("limit", [1, 2, 7])
def test_each_round_counts_for_the_recursion_limit(host: Host, limit: int) -> None:
    answer = create(
        host, register(host, looping("opt-loops", maxLoopbackIterations=500)), configurable={"recursionLimit": limit}
    )
    run_id = answer.document["runId"]
    log = host.log(run_id)
    assert [event["type"] for event in log].count("node.started") == limit
    assert [event["type"] for event in log[-2:]] == ["cap.breached", "run.failed"]
    (breach,) = payloads(host, run_id, "cap.breached")
    assert (breach["kind"], breach["limit"], breach["observed"]) == ("node-executions", limit, limit + 1)
    assert breach["nodeId"] == ("work" if limit % 2 == 0 else "count")
    assert host.snapshot(run_id)["error"]["code"] == "recursion_limit_exceeded"


@pytest.mark.rule("lim-03", "lim-04")
def test_a_loop_within_the_limit_completes(host: Host) -> None:
    workflow_id = register(host, looping("opt-loops", maxLoopbackIterations=500))
    run_id = host.create(workflow_id, inputs={"most": 4}, configurable={"recursionLimit": 8})
    assert host.log(run_id)[-1]["type"] == "run.completed"
    assert host.snapshot(run_id)["variables"]["n"] == 4
    run_id = host.create(workflow_id, inputs={"most": 4}, configurable={"recursionLimit": 7})
    assert host.log(run_id)[-1]["type"] == "run.failed"


@pytest.mark.rule("lim-09")
def test_a_loop_goes_round_no_more_often_than_its_workflow_allows(host: Host) -> None:
    workflow_id = register(host, looping("opt-bound", maxLoopbackIterations=3))
    run_id = host.create(workflow_id, inputs={"most": 4})
    assert host.log(run_id)[-1]["type"] == "run.completed"
    run_id = host.create(workflow_id, inputs={"most": 5})
    log = host.log(run_id)
    assert [event["type"] for event in log[-2:]] == ["workflow.loopback-limit", "run.failed"]
    assert [event["nodeId"] for event in log if event["type"] == "node.started"] == ["work", "count"] * 4
    assert (log[-2]["payload"]["iterations"], log[-2]["payload"]["limit"]) == (4, 3)
    assert host.snapshot(run_id)["error"]["code"] == "loop_limit_exceeded"
