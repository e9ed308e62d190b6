"""Answering by token over HTTP: who is given which, what each opens, once, and what everybody else is told."""

import base64
import json
from typing import Any

import pytest

from tests.harness.cases import each_case
from tests.harness.definitions import edge
from tests.live import KEY, OTHER_KEY, TEST_KEY, Host, until
from tests.live.steering import (
    answer_over_http,
    assert_replayed,
    await_status,
    cancel,
    error_code,
    flow,
    interrupt_node,
    register,
)
from tests.live.tokens import (
    ACCEPT,
    answer_by_token,
    approval_workflow,
    comparable,
    get_interrupt,
    key_with,
    key_without,
    token_of,
)
from weftwork.protocol.json import schema

ASKS = flow("token-asks", [interrupt_node("ask")])
SECRET_GATE = approval_workflow("token-bearer", profile="openwop-interrupt-auth-required")
HOUR = 3_600_000


def payload_of(token: str) -> dict[str, Any]:
    return json.loads(base64.urlsafe_b64decode(token.partition(".")[0] + "=="))


def told(answer: Any) -> tuple[int, str]:
    assert schema.check("error-envelope", answer.document) == []
    assert (answer.headers["cache-control"], answer.headers["referrer-policy"]) == ("no-store", "no-referrer")
    return error_code(answer)


@pytest.mark.rule("tok-01", "tok-05")
def test_a_waiting_run_comes_with_what_opens_it(host: Host) -> None:
    run_id = host.create(register(host, ASKS))
    shown = host.snapshot(run_id)
    token = shown["interrupt"]["interruptToken"]
    assert shown["interrupt"]["callbackUrl"] == f"/v1/interrupts/{token}"
    assert shown["interrupt"]["tokenIntent"] == "resolve"
    assert shown["interrupts"] == [shown["interrupt"]]
    assert token != token_of(host, run_id), "each read has its own"
    seen = get_interrupt(host, token)
    assert seen.status == 200
    assert schema.check("interrupt-question", seen.document) == []
    asked = {name: value for name, value in shown["interrupt"].items() if "oken" not in name and name != "callbackUrl"}
    asked["workflowId"] = shown["workflowId"]
    assert seen.document == {**asked, "runId": run_id, "intent": "resolve", "expiresAt": seen.document["expiresAt"]}
    assert (seen.headers["cache-control"], seen.headers["referrer-policy"]) == ("no-store", "no-referrer")
    bare = get_interrupt(host, token, "HEAD")
    assert (bare.status, bare.body, bare.headers["content-length"]) == (200, b"", str(len(seen.body)))
    again = get_interrupt(host, token, **{"If-None-Match": "*", "If-Modified-Since": "Thu, 01 Jan 2099 00:00:00 GMT"})
    assert (again.status, again.body) == (200, seen.body)
    answer = answer_by_token(host, token, {"any": 1})
    assert (answer.status, answer.document) == (200, {"runId": run_id, "nodeId": "ask", "status": "completed"})
    assert schema.check("resolve-interrupt-response", answer.document) == []
    assert host.snapshot(run_id)["outputs"] == {"ask": {"output": {"any": 1}}}
    (resolved,) = [each for each in host.log(run_id) if each["type"] == "interrupt.resolved"]
    assert resolved["payload"]["resolvedBy"] == f"link:{payload_of(token)['jti']}"


@pytest.mark.rule("tok-05")
def test_a_key_that_may_not_answer_is_given_a_token_to_look_with(host: Host) -> None:
    run_id = host.create(register(host, ASKS))
    reader, poor = key_with(host, "runs:read"), key_without(host, "approvals:respond")
    for key in (reader, poor):
        lists = (f"/v1/runs/{run_id}/interrupts", f"/v1/host/weftwork/interrupts?runId={run_id}")
        rows = [host.snapshot(run_id, key)["interrupt"]]
        rows += [row for path in lists for row in host.call("GET", path, key=key).document["interrupts"]]
        assert [row["tokenIntent"] for row in rows] == ["inspect"] * 3
        for row in rows:
            token = row["interruptToken"]
            assert payload_of(token)["intent"] == "inspect"
            assert get_interrupt(host, token).document["intent"] == "inspect"
            assert told(answer_by_token(host, token, 1)) == (403, "forbidden")
    assert host.call("GET", f"/v1/runs/{run_id}", key=key_with(host, "approvals:respond")).status == 403
    assert host.snapshot(run_id)["status"] == "waiting-input"
    cancel(host, run_id)


@pytest.mark.rule("int-06", "tok-04")
def test_a_token_is_good_for_one_answer(host: Host) -> None:
    run_id = host.create(register(host, ASKS))
    first, second = token_of(host, run_id), token_of(host, run_id)
    assert answer_by_token(host, first, 1).status == 200
    for token in (first, second):
        assert told(answer_by_token(host, token, 2)) == (409, "interrupt_already_resolved")
        assert told(get_interrupt(host, token)) == (409, "interrupt_already_resolved")
    assert host.snapshot(run_id)["outputs"] == {"ask": {"output": 1}}


@pytest.mark.rule("int-06", "tok-04")
def test_a_token_is_for_one_interrupt_and_no_later_one(host: Host) -> None:
    again = {"type": "expression", "expression": "nodes.ask.outputs.output == 'again'"}
    run_id = host.create(
        register(host, flow("token-again", [interrupt_node("ask")], [edge("ask", "ask", condition=again)]))
    )
    first = token_of(host, run_id)
    assert answer_by_token(host, first, "again").document["status"] == "waiting-input"
    assert told(answer_by_token(host, first, "again")) == (409, "interrupt_already_resolved")
    assert told(get_interrupt(host, first)) == (409, "interrupt_already_resolved")
    path = f"/v1/runs/{run_id}/interrupts/ask"
    refusals = {
        "ask.1": (409, "interrupt_already_resolved"),
        "ask.9": (404, "interrupt_not_found"),
        "": (400, "validation_error"),
    }
    for wrong, code in refusals.items():
        assert error_code(host.call("POST", f"{path}?interruptId={wrong}", {"resumeValue": 1})) == code
    assert get_interrupt(host, token_of(host, run_id)).document["interruptId"] == "ask.2"
    assert host.call("POST", f"{path}?interruptId=ask.2", {"resumeValue": "done"}).document["status"] == "completed"


@pytest.mark.rule("int-06", "tok-04")
def test_what_became_of_the_run_is_told(host: Host) -> None:
    register(host, ASKS)
    cancelled, late, deleted = (host.create(ASKS["id"]) for _ in "abc")
    gone, over = token_of(host, cancelled), token_of(host, late)
    lost = token_of(host, deleted)
    cancel(host, cancelled)
    timed = host.create(ASKS["id"], configurable={"runTimeoutMs": 300})
    up = token_of(host, timed)
    await_status(host, timed, "failed")
    assert answer_over_http(host, late, "ask", 1).status == 200
    cancel(host, deleted)
    until(lambda: host.call("DELETE", f"/v1/runs/{deleted}").status == 204, "the run to be deleted")
    for ask in (lambda token: get_interrupt(host, token), lambda token: answer_by_token(host, token, 1)):
        assert told(ask(gone)) == (409, "interrupt_already_resolved")
        assert told(ask(over)) == (409, "interrupt_already_resolved")
        assert told(ask(up)) == (409, "interrupt_already_resolved")
        assert told(ask(lost)) == (404, "interrupt_not_found")


LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def other(letter: str) -> str:
    return LETTERS[(LETTERS.index(letter) + 1) % 64]


@pytest.mark.rule("tok-02", "tok-04")
def test_all_that_leads_nowhere_is_refused_in_the_same_words(host: Host) -> None:
    """Forged, cut, swapped, of a run that is gone: byte for byte the same, for looking and for answering."""
    register(host, ASKS)
    first, second, deleted = (host.create(ASKS["id"]) for _ in "abc")
    one, two, lost = token_of(host, first), token_of(host, second), token_of(host, deleted)
    cancel(host, deleted)
    until(lambda: host.call("DELETE", f"/v1/runs/{deleted}").status == 204, "the run to be deleted")
    payload, signature = one.split(".")
    raised = payload_of(token_of(host, first, key_with(host, "runs:read"))) | {"intent": "resolve"}
    moved = payload_of(one) | {"tenant": "live:other"}
    forged, foreign = (
        base64.urlsafe_b64encode(json.dumps(each, separators=(",", ":")).encode()).decode().rstrip("=")
        for each in (raised, moved)
    )
    bad = [
        lost,
        f"{payload}.{two.split('.')[1]}",
        *(f"{start}.{signature}" for start in (forged, foreign, "", one)),
        *(f"{payload}{end}" for end in ("", ".", "." + "A" * 43)),
        *(one[:at] + other(one[at]) + one[at + 1 :] for at in (0, 7, 40, len(payload) - 1)),
        *(one[:at] + other(one[at]) + one[at + 1 :] for at in range(len(payload) + 1, len(one))),
        *(one[:-1], one + "A", one.replace(".", "%2E") + "x"),
        *("x", "%FF%FE", "%00", "A" * 3000, "..%2F.."),
    ]
    seen = {comparable(get_interrupt(host, token))[0::2] for token in bad}
    answered = {comparable(answer_by_token(host, token, 1))[0::2] for token in bad}
    # A body is looked at behind a signature that is good, and not before.
    untyped = {comparable(host.call("POST", f"/v1/interrupts/{each}", body=b"{", key=None))[0::2] for each in bad[1:]}
    assert seen == answered == untyped
    ((status, body),) = seen
    assert status == 404
    assert isinstance(body, bytes)
    assert json.loads(body)["error"] == "interrupt_not_found"
    assert get_interrupt(host, one.replace(".", "%2E")).status == 404, "a token has one text"
    assert answer_by_token(host, one, 1).status == 200
    assert answer_by_token(host, two, 1).status == 200


@pytest.mark.rule("idem-03", "tok-04")
def test_an_answer_may_be_sent_again_under_its_key(host: Host) -> None:
    run_id = host.create(register(host, ASKS))
    token, second = token_of(host, run_id), token_of(host, run_id)
    first, again = (answer_by_token(host, token, 1, **{"Idempotency-Key": "k"}) for _ in "ab")
    assert first.status == 200
    assert_replayed(first, again)
    assert told(answer_by_token(host, token, 2, **{"Idempotency-Key": "k"})) == (409, "idempotency_key_mismatch")
    assert told(answer_by_token(host, second, 1, **{"Idempotency-Key": "k"})) == (409, "interrupt_already_resolved")
    assert told(answer_by_token(host, token, 1, **{"Idempotency-Key": "other"})) == (409, "interrupt_already_resolved")


@pytest.mark.rule("int-06", "tok-04")
@each_case("body", b"", b"{}", b"[]", b'{"resumeValue":1,"x":2}', b'{"resumeValue":NaN}')
def test_an_answer_that_is_none_leaves_the_question_open_and_a_key_makes_no_difference(host: Host, body: bytes) -> None:
    run_id = host.create(register(host, ASKS))
    token = token_of(host, run_id)
    for key in (OTHER_KEY, TEST_KEY, "wrong", KEY):
        assert host.call("GET", f"/v1/interrupts/{token}", key=key).status == 200
    assert host.call("PUT", f"/v1/interrupts/{token}", key=None).status == 401
    other = host.call("DELETE", f"/v1/interrupts/{token}")
    assert (other.status, other.headers["allow"]) == (405, "GET, HEAD, POST")
    for kind, expected in (("application/json", 400), ("text/plain", 415), ("multipart/form-data; boundary=x", 415)):
        refused = host.call("POST", f"/v1/interrupts/{token}", body=body, key=None, headers={"Content-Type": kind})
        assert refused.status == expected, refused.body
    assert host.call("POST", f"/v1/interrupts/{token}", {"resumeValue": 1}, key=OTHER_KEY).status == 200


@pytest.mark.rule("appr-06", "tok-05")
def test_a_gate_that_needs_a_key_is_only_shown_by_a_link(host: Host) -> None:
    run_id = host.create(register(host, SECRET_GATE))
    shown = host.snapshot(run_id)["interrupt"]
    assert (shown["tokenIntent"], payload_of(shown["interruptToken"])["intent"]) == ("inspect", "inspect")
    assert get_interrupt(host, shown["interruptToken"]).status == 200
    assert told(answer_by_token(host, shown["interruptToken"], ACCEPT)) == (403, "forbidden")
    path = f"/v1/runs/{run_id}/interrupts/gate"
    assert host.call("POST", path, {"resumeValue": ACCEPT}, key=None).status == 401
    poor = host.call("POST", path, {"resumeValue": ACCEPT}, key=key_without(host, "approvals:respond"))
    assert poor.document["details"] == {"scopeRequired": "approvals:respond"}
    assert host.snapshot(run_id)["status"] == "waiting-approval"
    assert host.call("POST", path, {"resumeValue": ACCEPT}).document["status"] == "completed"


@pytest.mark.rule("int-12")
def test_an_event_that_is_another_is_unprocessable(host: Host) -> None:
    run_id = host.create("conformance-interrupt-external-event")
    shown = host.snapshot(run_id)
    assert (shown["status"], shown["interrupt"]["kind"]) == ("waiting-external", "external-event")
    wrong, right = {"orderId": "x", "status": "completed"}, {"orderId": "fixture-order-1", "status": "completed"}
    token = shown["interrupt"]["interruptToken"]
    assert told(answer_by_token(host, token, wrong)) == (422, "validation_error")
    assert error_code(answer_over_http(host, run_id, shown["currentNodeId"], wrong)) == (422, "validation_error")
    assert host.snapshot(run_id)["status"] == "waiting-external"
    assert answer_by_token(host, token, {**right, "more": 1}).document["status"] == "completed"


@pytest.mark.rule("int-06")
def test_an_approval_can_be_answered_under_its_older_path(host: Host) -> None:
    register(host, approval_workflow("token-older"))
    for body in (ACCEPT, {"resumeValue": ACCEPT}, {"decision": "approved"}):
        run_id = host.create("token-older")
        path = f"/v1/runs/{run_id}/approvals/gate"
        assert host.call("POST", path, body, key=None).status == 401
        poor = key_without(host, "approvals:respond")
        assert error_code(host.call("POST", path, body, key=poor)) == (403, "forbidden")
        for wrong in ({}, [], "accept", {"resumeValue": ACCEPT, "more": 1}, {"action": "maybe"}, {"decision": "maybe"}):
            assert error_code(host.call("POST", path, wrong)) == (400, "validation_error")
        done, again = (host.call("POST", path, body, headers={"Idempotency-Key": "k"}) for _ in "ab")
        assert (done.status, done.document["status"]) == (200, "completed")
        assert_replayed(done, again)
        assert error_code(host.call("POST", path, body)) == (409, "interrupt_already_resolved")
    assert error_code(host.call("POST", f"/v1/runs/{run_id}/approvals/none", ACCEPT)) == (404, "interrupt_not_found")
    unknown = host.call("POST", "/v1/runs/01zzzzzzzzzzzzzzzzzzzzzzzz/approvals/gate", ACCEPT, key=OTHER_KEY)
    foreign = host.call("POST", f"/v1/runs/{run_id}/approvals/gate", ACCEPT, key=OTHER_KEY)
    assert comparable(foreign) == comparable(unknown)
    assert unknown.status == 404
