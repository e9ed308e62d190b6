"""Answering interrupts over HTTP: one answer counts, whoever comes, whatever it is, even after a restart."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import edge, node, variable
from tests.live import KEY, OTHER_KEY, TEST_KEY, Answer, Host, open_in_process, start_host, until, write_workflows
from tests.live.steering import (
    QUESTION,
    answer_over_http,
    await_status,
    cancel,
    error_code,
    event_types,
    events,
    flow,
    interrupt_node,
    payloads,
    register,
    without_tokens,
)
from weftwork.adapters.http.routes.interrupts import prefers_html
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json import schema

NOWHERE = "01zzzzzzzzzzzzzzzzzzzzzzzz"
RACERS = 64

CHAIN = flow(
    "ask-chain",
    [node("first"), interrupt_node("ask"), node("last", "core.identity", outputRole="primary")],
    [edge("first", "ask"), edge("ask", "last", sourceOutput="output", targetInput="given")],
)
LONG = flow("ask-long", [interrupt_node("ask"), node("slow", "core.delay", config={"ms": 60_000})])
"""Goes on for long after the answer."""


@pytest.mark.rule("int-01", "int-05", "int-06", "int-07")
def test_an_answer_lets_the_run_go_on(host: Host) -> None:
    run_id = host.create(register(host, CHAIN))
    shown = host.snapshot(run_id)
    assert (shown["status"], shown["currentNodeId"]) == ("waiting-input", "ask")
    assert schema.check("run-snapshot", shown) == []
    asked = shown["interrupt"]
    at = next(event["timestamp"] for event in events(host, run_id) if event["type"] == "interrupt.requested")
    ids = {"interruptId": "ask.1", "nodeId": "ask", "key": "ask"}
    assert without_tokens(asked) == {**ids, **QUESTION, "requestedAt": at}
    states = {name: state["status"] for name, state in shown["nodeStates"].items()}
    assert states == {"first": "completed", "ask": "suspended"}
    answer = answer_over_http(host, run_id, "ask", {"chosen": [2]})
    assert answer.status == 200
    assert schema.check("resolve-interrupt-response", answer.document) == []
    assert answer.document == {"runId": run_id, "nodeId": "ask", "status": "completed"}
    shown = host.snapshot(run_id)
    assert "interrupt" not in shown
    assert shown["outputs"] == {"last": {"given": {"chosen": [2]}}}
    log = host.log(run_id)
    assert [event["type"] for event in log if event.get("nodeId") == "ask"] == [
        "node.started",
        "interrupt.requested",
        "node.suspended",
        "interrupt.resolved",
        "node.resumed",
        "node.completed",
    ]
    for event in log:
        assert schema.check("run-event", event) == []
        assert schema.check_payload(event["type"], event["payload"]) == []
    (resolved,) = [event["payload"] for event in log if event["type"] == "interrupt.resolved"]
    assert (resolved["interruptId"], resolved["resumeValue"]) == ("ask.1", {"chosen": [2]})
    assert resolved["resolvedBy"] == shown["owner"]["principal"]


@each_case("value", None, False, 0, -0.5, "", "é\u2028", [], {}, {"resumeValue": {}}, [[None]])
def test_any_value_is_an_answer(host: Host, value: Any) -> None:
    run_id = host.create(register(host, CHAIN))
    assert answer_over_http(host, run_id, "ask", value).status == 200
    assert host.snapshot(run_id)["outputs"] == {"last": {"given": value}}


@pytest.mark.rule("int-01", "int-07")
def test_of_two_questions_each_has_its_answer(host: Host) -> None:
    run_id = host.create(register(host, flow("ask-two", [interrupt_node("one"), interrupt_node("two")])))
    assert host.snapshot(run_id)["interrupt"]["nodeId"] == "one"
    assert answer_over_http(host, run_id, "two", "b").document["status"] == "waiting-input"
    shown = host.snapshot(run_id)
    assert (shown["status"], shown["currentNodeId"]) == ("waiting-input", "one")
    assert shown["interrupt"]["interruptId"] == "one.1"
    assert error_code(answer_over_http(host, run_id, "two", "c")) == (409, "interrupt_already_resolved")
    assert answer_over_http(host, run_id, "one", "a").document["status"] == "completed"
    assert host.snapshot(run_id)["outputs"] == {"one": {"output": "a"}, "two": {"output": "b"}}


@pytest.mark.rule("int-02", "int-05")
def test_each_round_of_a_loop_asks_anew(host: Host) -> None:
    again = {"type": "expression", "expression": "nodes.ask.outputs.output == 'again'"}
    document = flow("ask-again", [interrupt_node("ask")], [edge("ask", "ask", condition=again)])
    run_id = host.create(register(host, document))
    for ordinal in (1, 2):
        assert host.snapshot(run_id)["interrupt"]["interruptId"] == f"ask.{ordinal}"
        assert answer_over_http(host, run_id, "ask", "again").document["status"] == "waiting-input"
    assert answer_over_http(host, run_id, "ask", "enough").document["status"] == "completed"
    answers = {each["interruptId"]: each["resumeValue"] for each in payloads(host, run_id, "interrupt.resolved")}
    assert answers == {"ask.1": "again", "ask.2": "again", "ask.3": "enough"}


@pytest.mark.rule("int-06")
def test_what_was_never_asked_is_not_found(host: Host) -> None:
    behind = flow("ask-behind", [interrupt_node("ask"), interrupt_node("later"), node("free")], [edge("ask", "later")])
    run_id = host.create(register(host, behind))
    for node_id in ("later", "free", "no-such-node", "Ask", "ask.1", " ask", "."):
        assert error_code(answer_over_http(host, run_id, node_id, 1)) == (404, "interrupt_not_found")
    for run, key in ((NOWHERE, KEY), (run_id, OTHER_KEY), (run_id, TEST_KEY)):
        assert error_code(answer_over_http(host, run, "ask", 1, key)) == (404, "not_found")
    ended = host.create("conformance-noop")
    assert error_code(answer_over_http(host, ended, "noop", 1)) == (404, "interrupt_not_found")
    assert host.snapshot(run_id)["status"] == "waiting-input"
    assert "interrupt.resolved" not in event_types(host, run_id)
    cancel(host, run_id)


@pytest.mark.rule("int-06")
def test_an_answer_that_comes_too_late_is_told_why(host: Host) -> None:
    answered = host.create(register(host, LONG))
    assert answer_over_http(host, answered, "ask", 1).document["status"] == "running"
    assert error_code(answer_over_http(host, answered, "ask", 2)) == (409, "interrupt_already_resolved")
    cancel(host, answered)
    await_status(host, answered, "cancelled")
    assert error_code(answer_over_http(host, answered, "ask", 2)) == (409, "interrupt_already_resolved")
    ended = host.create(register(host, CHAIN))
    assert answer_over_http(host, ended, "ask", 1).document["status"] == "completed"
    assert error_code(answer_over_http(host, ended, "ask", 2)) == (409, "interrupt_already_resolved")
    cancelled = host.create("ask-chain")
    answer = host.call("POST", f"/v1/runs/{cancelled}/cancel")
    assert (answer.status, answer.document["status"]) == (200, "cancelled")
    assert error_code(answer_over_http(host, cancelled, "ask", 1)) == (409, "interrupt_already_resolved")
    assert event_types(host, cancelled)[-2:] == ["node.cancelled", "run.cancelled"]
    late = host.create("ask-chain", configurable={"runTimeoutMs": 50})
    await_status(host, late, "failed")
    assert error_code(answer_over_http(host, late, "ask", 1)) == (409, "interrupt_already_resolved")
    for run_id in (cancelled, late):
        assert "interrupt" not in host.snapshot(run_id)
        assert "interrupt.resolved" not in event_types(host, run_id)


@pytest.mark.rule("int-06")
@each_case(
    "body",
    b"",
    *b'{} [] null "yes" {"resumeValue":1,"locale":"de"} {"resumevalue":1} {"resumeValue":1,"resumeValue":2}'.split(),
    b'{"resumeValue":NaN}',
    b'{"resumeValue":}',
)
def test_an_answer_that_is_none_leaves_the_question_open(host: Host, body: bytes) -> None:
    run_id = host.create(register(host, CHAIN))
    path = f"/v1/runs/{run_id}/interrupts/ask"
    json_type = {"Content-Type": "application/json"}
    for key in (None, "wrong"):
        assert host.call("POST", path, body=body, key=key, headers=json_type).status == 401
    refused = host.call("POST", path, body=body, headers=json_type)
    assert error_code(refused) == (400, "validation_error")
    assert host.call("POST", path, body=body, headers={"Content-Type": "text/plain"}).status == 415
    assert host.call("POST", path).status == 415
    assert host.snapshot(run_id)["status"] == "waiting-input"
    assert answer_over_http(host, run_id, "ask", 1).status == 200


NAMES = [*"a/b a:b ask:pause 日本/é a%2Fb ?x=1&y#z .. . ../../x + '\"<>\\".split(" "), "a b", "\u2028", "n" * 128]


@pytest.mark.rule("wire-03")
def test_any_name_of_a_node_can_stand_in_the_path_and_a_colon_as_it_is(host: Host) -> None:
    run_id = host.create(register(host, flow("ask-names", [interrupt_node(name) for name in NAMES])))
    left = host.snapshot(run_id)["nodeStates"]
    assert set(left) == set(NAMES)
    for number, name in enumerate(NAMES):
        answer = answer_over_http(host, run_id, name, number)
        assert answer.status == 200, (name, answer.body)
        assert answer.document["nodeId"] == name
    outputs = host.snapshot(run_id)["outputs"]
    assert outputs == {name: {"output": number} for number, name in enumerate(NAMES)}
    assert answer_over_http(host, run_id, "n" * 129, 1).status == 404
    # Clients paste the id of a node into the path; a colon may stand there as it is.
    names = ["a:b", "ask:pause", ":", "a:", ":b", "a:b:c"]
    run_id = host.create(register(host, flow("ask-colons", [interrupt_node(name) for name in names])))
    for name in names:
        answer = host.call("POST", f"/v1/runs/{run_id}/interrupts/{name}", {"resumeValue": name})
        assert answer.status == 200, (name, answer.body)
    assert host.snapshot(run_id)["outputs"] == {name: {"output": name} for name in names}
    for path in ("interrupts/x:y/z", "interrupts/", f"x:y/interrupts/{names[0]}", "artifacts/x:y", ":interrupts"):
        assert error_code(host.call("POST", f"/v1/runs/{run_id}/{path}", {"resumeValue": 1})) == (404, "not_found")


@pytest.mark.rule("hide-01")
def test_a_question_and_an_answer_that_are_sensitive_are_not_shown(host: Host) -> None:
    secret = "hush-4711-hush"
    port = {"payload": {"type": "expression", "expression": "'pick one for ' + variables.secret"}}
    given = {"given": {"type": "connection", "nodeId": "ask", "outputKey": "output"}}
    last = node("last", "core.identity", inputs=given)
    ask = interrupt_node("ask", inputs=port, outputSensitivity={"output": True})
    variables = [variable("secret", sensitive=True)]
    document = flow("ask-secret", [ask, last], [edge("ask", "last")], variables)
    run_id = host.create(register(host, document), inputs={"secret": secret})
    shown = host.snapshot(run_id)
    assert shown["interrupt"]["data"] == {"customKind": "pick", "payload": "pick one for [REDACTED:secret]"}
    assert secret not in str(shown)
    assert answer_over_http(host, run_id, "ask", {"pin": "1234-5678"}).document["status"] == "completed"
    told = str(host.snapshot(run_id)) + str(host.log(run_id))
    assert secret not in told
    assert "1234-5678" not in told


def late_answers(host: Host, run_id: str, node_id: str, token: str) -> list[Answer]:
    """Both routes with a key, and the routes with a token."""
    body = {"resumeValue": {"action": "accept"}}
    return [
        host.call("POST", f"/v1/runs/{run_id}/interrupts/{node_id}", body),
        host.call("POST", f"/v1/runs/{run_id}/approvals/{node_id}", body),
        host.call("POST", f"/v1/interrupts/{token}", body, key=None),
        host.call("GET", f"/v1/interrupts/{token}", key=None),
        host.call("POST", f"/v1/host/weftwork/runs/{run_id}/interrupts/{node_id}/links", {}),
    ]


@pytest.mark.rule("int-06")
def test_every_answer_after_a_cancel_says_how_the_run_ended(host: Host) -> None:
    gate = node("gate", "core.approvalGate", config={"title": "May it?"})
    register(host, flow("late-child", [gate]))
    parent = flow("late-parent", [node("sub", "core.subWorkflow", config={"workflowId": "late-child"})])
    one, other = host.create("late-child"), host.create(register(host, parent))
    await_status(host, other, "waiting-approval")
    child: str = host.snapshot(other)["childRuns"][0]["runId"]
    tokens = {run_id: host.snapshot(run_id)["interrupt"]["interruptToken"] for run_id in (one, child)}
    for run_id in (one, other):
        cancel(host, run_id)
    for run_id, token in tokens.items():
        await_status(host, run_id, "cancelled")
        for answer in late_answers(host, run_id, "gate", token):
            assert error_code(answer) == (409, "interrupt_already_resolved")
            assert answer.document["details"] == {"runStatus": "cancelled"}
            assert "its run was cancelled" in answer.document["message"]
        page = host.call("GET", f"/v1/interrupts/{token}", key=None, headers={"Accept": "text/html"})
        assert (page.status, b"This question was withdrawn" in page.body) == (409, True)


@pytest.mark.rule("int-06")
@fails_without(
    "weftwork.engine.api.interrupts.answer_refusal",
    lambda status, run_status: ClientFault("interrupt_not_found", "No."),
)
async def test_without_its_status_a_cancelled_run_looks_like_one_that_never_asked() -> None:
    async with open_in_process(CHAIN) as inside:
        run_id = (await inside.call("POST", "/v1/runs", {"workflowId": "ask-chain"})).document["runId"]
        await inside.call("POST", f"/v1/runs/{run_id}/cancel", {})
        late = await inside.call("POST", f"/v1/runs/{run_id}/interrupts/ask", {"resumeValue": 1})
        assert (late.status, late.document.get("details")) == (409, {"runStatus": "cancelled"})


SLOW = """
import asyncio
import weftwork

released = asyncio.Event()

@weftwork.node("acme.slow")
async def slow(ctx: weftwork.Context) -> dict[str, str]:
    try:
        await asyncio.Event().wait()
    finally:
        await released.wait()

@weftwork.node("acme.release")
async def release(ctx: weftwork.Context) -> dict[str, str]:
    released.set()
    return {}
"""


@pytest.mark.rule("int-06")
def test_an_answer_to_a_run_that_is_being_cancelled_is_refused_alike(tmp_path: Path) -> None:
    (tmp_path / "slow_nodes.py").write_text(SLOW)
    gate = node("gate", "core.approvalGate", config={"title": "May it?"})
    flows = write_workflows(
        tmp_path / "flows", flow("both", [gate, node("slow", "acme.slow")]), flow("free", [node("n", "acme.release")])
    )
    with start_host(tmp_path, "--nodes", "slow_nodes", "--workflows", flows, cwd=tmp_path) as host:
        run_id = host.create("both")
        until(lambda: event_types(host, run_id).count("node.started") == 2, "both nodes to start")
        until(lambda: "interrupt" in host.snapshot(run_id), "the question")
        token = host.snapshot(run_id)["interrupt"]["interruptToken"]
        assert host.call("POST", f"/v1/runs/{run_id}/cancel").document["status"] == "cancelling"
        for answer in late_answers(host, run_id, "gate", token)[:3]:
            assert error_code(answer) == (409, "interrupt_already_resolved")
            assert answer.document["details"] == {"runStatus": "cancelling"}
        host.log(host.create("free"))
        await_status(host, run_id, "cancelled")
        assert "interrupt.resolved" not in event_types(host, run_id)


@pytest.mark.rule("int-06", "int-07")
def test_a_question_outlives_the_host(tmp_path: Path) -> None:
    folder = write_workflows(tmp_path / "workflows", CHAIN, LONG)
    with start_host(tmp_path, "--workflows", folder) as host:
        run_id, cancelled, answered = host.create("ask-chain"), host.create("ask-chain"), host.create("ask-long")
        cancel(host, cancelled)
        assert answer_over_http(host, answered, "ask", "before", **{"Idempotency-Key": "k"}).status == 200
        before, log = host.snapshot(run_id), events(host, run_id)
        assert host.stop() == 0
    with start_host(tmp_path, "--workflows", folder) as host:
        assert without_tokens(host.snapshot(run_id)) == without_tokens(before)
        assert events(host, run_id) == log
        assert error_code(answer_over_http(host, cancelled, "ask", 1)) == (409, "interrupt_already_resolved")
        assert error_code(answer_over_http(host, answered, "ask", 1)) == (409, "interrupt_already_resolved")
        assert answer_over_http(host, answered, "ask", "before", **{"Idempotency-Key": "k"}).status == 200
        assert answer_over_http(host, run_id, "ask", "after").document["status"] == "completed"
        assert host.snapshot(run_id)["outputs"] == {"last": {"given": "after"}}
        assert host.log(run_id)[: len(log)] == log
        host.kill()
    with start_host(tmp_path, "--workflows", folder) as host:
        assert error_code(answer_over_http(host, run_id, "ask", 1)) == (409, "interrupt_already_resolved")
        assert [each["resumeValue"] for each in payloads(host, answered, "interrupt.resolved")] == ["before"]


@each_case(
    "accept, page",
    (None, False),
    ("", False),
    ("*/*", False),
    ("application/json", False),
    ("text/html", True),
    ("TEXT/HTML", True),
    ("text/html;charset=utf-8", True),
    ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", True),
    ("application/json, text/html", True),
    ("application/json;q=0.9,text/html", True),
    ("application/json,text/html;q=0.9", False),
    ("text/html;q=0", False),
    ("text/html;q=0.000", False),
    ("text/html;q=1.000", True),
    ("text/html;q=2", False),
    ("text/html;q=x", False),
    ("text/html;q=", False),
    ("text/htm", False),
    (",,;;,text/html", True),
)
def test_a_page_is_for_those_who_prefer_it(accept: str | None, page: bool) -> None:
    assert prefers_html(accept) is page


@given(st.text(max_size=200))
def test_no_header_breaks_it(accept: str) -> None:
    assert isinstance(prefers_html(accept), bool)
