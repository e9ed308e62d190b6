"""Comparing runs over HTTP: equal runs are equal, others differ where they should, and no run of others is seen."""

from typing import Any

import pytest

from tests.live import KEY, OTHER_KEY, TEST_KEY, Host
from weftwork.protocol.json import schema

FLOWS = ["conformance-multi-node", "conformance-noop", "conformance-identity", "conformance-failure"]


def finished(host: Host, workflow_id: str, key: str = KEY, **members: Any) -> str:
    run_id = host.create(workflow_id, key, **members)
    host.log(run_id, key)
    return run_id


def compared(host: Host, a: str, b: str) -> Any:
    answer = host.call("GET", f"/v1/runs/{a}:diff?against={b}")
    assert answer.status == 200, answer.body
    assert schema.check("run-diff-response", answer.document) == []
    assert (answer.document["a"], answer.document["b"]) == (a, b)
    return answer.document


@pytest.mark.rule("diff-01", "diff-02")
@pytest.mark.parametrize("flow", FLOWS)
def test_two_runs_of_the_same_workflow_and_inputs_are_equal(host: Host, flow: str) -> None:
    inputs = {"payload": {"n": 1}} if flow == "conformance-identity" else {}
    a, b = finished(host, flow, inputs=inputs), finished(host, flow, inputs=inputs)
    nothing = {"divergedAtSeq": None, "eventDiffs": [], "stateDiff": {}, "truncated": False}
    assert compared(host, a, b) == {"a": a, "b": b, **nothing}
    assert compared(host, a, a) == {"a": a, "b": a, **nothing}


@pytest.mark.rule("diff-01", "diff-04")
def test_runs_of_different_workflows_differ_event_by_event(host: Host) -> None:
    a, b = finished(host, "conformance-multi-node"), finished(host, "conformance-failure")
    logs = host.log(a), host.log(b)
    one, other = compared(host, a, b), compared(host, b, a)
    assert one["divergedAtSeq"] == other["divergedAtSeq"] == 0
    assert one["stateDiff"]["/status"] == {"a": "completed", "b": "failed"}
    for entry in one["eventDiffs"]:
        for name, log in (("aEvent", logs[0]), ("bEvent", logs[1])):
            if name in entry:
                assert entry[name] == log[entry["seq"]]
    turned = {"added": "removed", "removed": "added", "changed": "changed"}
    assert {e["seq"]: turned[e["op"]] for e in one["eventDiffs"]} == {e["seq"]: e["op"] for e in other["eventDiffs"]}
    common = min(map(len, logs))
    assert {entry["op"] for entry in one["eventDiffs"] if entry["seq"] >= common} == {"removed"}


@pytest.mark.rule("diff-03")
def test_a_live_run_is_compared_as_far_as_it_has_come(host: Host) -> None:
    live = host.create("conformance-cancellable")
    document = compared(host, live, live)
    assert (document["divergedAtSeq"], document["eventDiffs"], document["truncated"]) == (None, [], True)
    host.call("POST", f"/v1/runs/{live}/cancel", {})
    host.log(live)
    assert compared(host, live, live)["truncated"] is False


@pytest.mark.parametrize(
    "query", ["", "?against=", "?against=a%2Fb", "?against=%FF", "?other=x", f"?against={'a' * 129}"]
)
def test_the_other_run_has_to_be_named(host: Host, query: str) -> None:
    run_id = finished(host, "conformance-noop")
    answer = host.call("GET", f"/v1/runs/{run_id}:diff{query}")
    assert (answer.status, answer.document["error"]) == (400, "validation_error")


@pytest.mark.rule("auth-05")
def test_a_run_of_others_is_not_there(host: Host) -> None:
    mine, theirs = finished(host, "conformance-noop"), finished(host, "conformance-noop", OTHER_KEY)
    for a, b in ((mine, theirs), (theirs, mine), (mine, "nobody"), ("nobody", mine), ("nobody", "nobody")):
        for key in (KEY, OTHER_KEY, TEST_KEY):
            answer = host.call("GET", f"/v1/runs/{a}:diff?against={b}", key=key)
            assert (answer.status, answer.document["error"]) == (404, "not_found")
        assert host.call("GET", f"/v1/runs/{a}:diff?against={b}", key="wrong").status == 401
        assert host.call("GET", f"/v1/runs/{a}:diff", key=None).status == 401
    assert host.call("POST", f"/v1/runs/{mine}:diff?against={mine}").status == 405
    assert host.call("HEAD", f"/v1/runs/{mine}:diff?against={mine}").status == 200
