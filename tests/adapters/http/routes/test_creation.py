"""Creating runs over HTTP: one key, one outcome, also over restarts; inputs, options and limits on loops."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from tests.harness.cases import each_case
from tests.harness.definitions import edge, node, variable
from tests.live import KEY, OTHER_KEY, TEST_KEY, Answer, Host, open_in_process, start_host
from tests.live.steering import assert_replayed, error_code, flow, payloads, register
from weftwork.engine.api.idempotency import IdempotencyClaim
from weftwork.protocol.json import schema

BODY = {"workflowId": "conformance-idempotent", "inputs": {"nonce": "a"}}
REPLAY = "openwop-idempotent-replay"


def create(host: Host, key: str, body: Any = BODY, caller: str = KEY) -> Answer:
    return host.call("POST", "/v1/runs", body, key=caller, headers={"Idempotency-Key": key})


@pytest.mark.rule("idem-02", "idem-03")
def test_many_creates_at_once_with_one_key_make_one_run(host: Host) -> None:
    body = {**BODY, "tags": ["at-once"]}
    with ThreadPoolExecutor(64) as pool:
        answers = list(pool.map(lambda _: create(host, "parallel", body), range(64)))
    assert {answer.status for answer in answers} == {201}
    assert len({answer.body for answer in answers}) == 1
    assert sorted(answer.headers.get(REPLAY, "") for answer in answers) == [""] + ["true"] * 63
    runs = host.call("GET", "/v1/runs?tag=at-once").document["runs"]
    assert [run["runId"] for run in runs] == [answers[0].document["runId"]]


@pytest.mark.rule("idem-02")
def test_the_proof_sees_a_missing_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = resources.files("weftwork.conformance").joinpath("fixtures")
    document = json.loads(folder.joinpath("conformance-idempotent.json").read_bytes())

    async def at_once() -> list[Answer]:
        async with open_in_process(document) as inside:
            headers = {"idempotency-key": "parallel"}
            return await asyncio.gather(*(inside.call("POST", "/v1/runs", BODY, headers=headers) for _ in range(8)))

    honest = asyncio.run(at_once())
    assert len({answer.body for answer in honest}) == 1
    assert sorted(answer.headers.get(REPLAY, "") for answer in honest) == [""] + ["true"] * 7

    async def forgets(*_: Any) -> None:
        return None

    monkeypatch.setattr(IdempotencyClaim, "find_outcome", forgets)
    slots = iter(range(100))
    monkeypatch.setattr("weftwork.engine.api.idempotency.idempotency.record_key", lambda *_: f"slot-{next(slots)}")
    answers = asyncio.run(at_once())
    assert len({answer.body for answer in answers}) == 8
    assert all(REPLAY not in answer.headers for answer in answers)


@pytest.mark.rule("idem-03")
def test_another_body_under_the_same_key_is_a_conflict_that_names_no_run(host: Host) -> None:
    first = create(host, "one-body")
    for other in ({**BODY, "inputs": {"nonce": "b"}}, {**BODY, "tags": []}, {}, {"workflowId": "gone"}):
        answer = create(host, "one-body", other)
        assert (answer.status, answer.document["error"]) == (409, "idempotency_key_mismatch")
        assert first.document["runId"] not in answer.body.decode()
        assert "runId" not in answer.body.decode()
        assert REPLAY not in answer.headers
    assert create(host, "one-body").body == first.body


@pytest.mark.rule("idem-03")
def test_bodies_are_compared_by_their_meaning(host: Host) -> None:
    first = create(host, "spelling", {"workflowId": "conformance-idempotent", "inputs": {"nonce": "é", "n": 1}})
    text = b' { "inputs" : {"n":1.0, "nonce":"\\u00e9"},"workflowId":"conformance-idempotent"}'
    headers = {"Idempotency-Key": "spelling", "Content-Type": "application/json"}
    again = host.call("POST", "/v1/runs", headers=headers, body=text)
    assert (again.status, again.body, again.headers[REPLAY]) == (201, first.body, "true")


@pytest.mark.rule("idem-02")
def test_a_key_belongs_to_its_tenant_mode_and_operation(host: Host) -> None:
    made = [create(host, "shared-key", caller=caller) for caller in (KEY, OTHER_KEY, TEST_KEY)]
    assert all(answer.status == 201 and REPLAY not in answer.headers for answer in made)
    assert len({answer.document["runId"] for answer in made}) == 3
    runs = [host.create("conformance-cancellable") for _ in range(2)]
    for run_id in runs:
        answer = host.call("POST", f"/v1/runs/{run_id}/cancel", {}, headers={"Idempotency-Key": "shared-key"})
        assert (answer.status, answer.document["runId"]) == (200, run_id)
        assert REPLAY not in answer.headers


@pytest.mark.rule("idem-02", "run-03")
def test_a_repeated_cancel_is_answered_word_for_word(host: Host) -> None:
    run_id = host.create("conformance-cancellable")
    path = f"/v1/runs/{run_id}/cancel"
    key = {"Idempotency-Key": "stop-it"}
    first = host.call("POST", path, {"reason": "enough"}, headers=key)
    assert (first.status, first.document["status"]) == (200, "cancelling")
    log = host.log(run_id)
    assert log[-1]["type"] == "run.cancelled"
    assert_replayed(first, host.call("POST", path, {"reason": "enough"}, headers=key))
    other = host.call("POST", path, {"reason": "other"}, headers=key)
    assert error_code(other) == (409, "idempotency_key_mismatch")
    plain = host.call("POST", path)
    assert (plain.status, plain.document) == (200, {"runId": run_id, "status": "cancelled"})
    assert host.log(run_id) == log


@pytest.mark.rule("idem-04")
@each_case("key", "", " ", "a b", "x" * 256, "é", "tab\there", "\x7f")
def test_a_key_outside_the_grammar_is_refused(host: Host, key: str) -> None:
    for path in ("/v1/runs", "/v1/runs/nowhere/cancel"):
        answer = host.call("POST", path, BODY, headers={"Idempotency-Key": key})
        assert (answer.status, answer.document["error"]) == (400, "validation_error")


@pytest.mark.rule("idem-04")
@each_case("key", "!", "~" * 255, '"quoted"', "a:b/c%00")
def test_a_key_is_taken_when_a_run_is_made_and_not_for_a_refusal_or_a_read(host: Host, key: str) -> None:
    assert create(host, key, {"workflowId": "gone"}).status == 400
    first, again = create(host, key), create(host, key)
    assert_replayed(first, again)
    path = f"/v1/runs/{first.document['runId']}"
    assert host.call("GET", path, headers={"Idempotency-Key": key}).status == 200


@pytest.mark.rule("idem-01")
@pytest.mark.parametrize("end", [Host.stop, Host.kill])
def test_a_key_is_remembered_over_a_restart(tmp_path: Path, end: Any) -> None:
    with start_host(tmp_path, "--conformance") as host:
        first = create(host, "remember-me")
        run_id = host.create("conformance-cancellable")
        path = f"/v1/runs/{run_id}/cancel"
        cancelled = host.call("POST", path, {}, headers={"Idempotency-Key": "remember-me"})
        end(host)
    with start_host(tmp_path, "--conformance") as host:
        again = create(host, "remember-me")
        assert (again.status, again.body, again.headers[REPLAY]) == (201, first.body, "true")
        answer = host.call("POST", path, {}, headers={"Idempotency-Key": "remember-me"})
        assert (answer.status, answer.body, answer.headers[REPLAY]) == (200, cancelled.body, "true")
        retention = host.call("GET", "/.well-known/openwop").document["idempotency"]["layer1RetentionSeconds"]
        assert retention == 86_400
        assert b"remember-me" not in b"".join(file.read_bytes() for file in host.data.glob("weftwork.db*"))


@pytest.mark.rule("dedup-01")
def test_one_live_run_per_scope_when_that_is_enforced(host: Host) -> None:
    body = {"workflowId": "conformance-cancellable", "scopeId": "chat-1"}
    enforce = {"X-Dedup": "enforce"}
    first = host.call("POST", "/v1/runs", body, headers=enforce)
    assert first.status == 201
    run_id = first.document["runId"]
    refused = host.call("POST", "/v1/runs", body, headers=enforce)
    assert (refused.status, refused.document["error"]) == (409, "run_already_active")
    details = refused.document["details"]
    assert (details["activeRunId"], details["activeHost"]) == (run_id, "cloud")
    assert refused.headers["retry-after"] == str(details["retryAfter"])
    others = [
        host.call("POST", "/v1/runs", {**body, "scopeId": "chat-2"}, headers=enforce),
        host.call("POST", "/v1/runs", body, headers=enforce, key=OTHER_KEY),
        host.call("POST", "/v1/runs", body, headers=enforce, key=TEST_KEY),
    ]
    assert [answer.status for answer in others] == [201] * 3
    host.call("POST", f"/v1/runs/{run_id}/cancel")
    host.log(run_id)
    assert host.call("POST", "/v1/runs", body, headers=enforce).status == 201


@pytest.mark.rule("dedup-01")
def test_many_creates_at_once_in_one_scope_leave_one(host: Host) -> None:
    body = {"workflowId": "conformance-cancellable", "scopeId": "crowd"}
    enforce = {"X-Dedup": "enforce"}
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: host.call("POST", "/v1/runs", body, headers=enforce), range(16)))
    assert sorted(answer.status for answer in answers) == [201] + [409] * 15


@pytest.mark.rule("dedup-01")
@each_case("value", "", "true", "Enforce", "enforce, enforce")
def test_any_other_value_of_the_header_is_refused(host: Host, value: str) -> None:
    answer = host.call("POST", "/v1/runs", BODY, headers={"X-Dedup": value})
    assert (answer.status, answer.document["details"]["parameter"]) == (400, "X-Dedup")


VALUES: dict[str, Any] = {"string": "text", "number": 1.5, "boolean": True, "object": {"a": 1}, "array": [1]}
TYPED = flow("opt-typed", [node("n")], None, [variable(f"a/{kind}", kind) for kind in VALUES])


def create_with(host: Host, workflow_id: str, **members: Any) -> Answer:
    return host.call("POST", "/v1/runs", {"workflowId": workflow_id, **members}, key=KEY)


@pytest.mark.rule("data-04")
@each_case("wanted", *VALUES)
@each_case("given", *VALUES, "null")
def test_an_input_has_the_type_of_its_variable(host: Host, wanted: str, given: str) -> None:
    answer = create_with(host, register(host, TYPED), inputs={f"a/{wanted}": VALUES.get(given), "other": None})
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
@each_case(
    "configurable, pointer",
    (None, "/configurable"),
    ({}, "/configurable"),
    ({"tone": "loud"}, "/configurable/tone"),
    ({"tone": "warm", "more": 1}, "/configurable"),
    ({"tone": "warm", "deep": []}, "/configurable/deep"),
    ({"tone": "warm", "deep": {"a/b": [1, "x"]}}, "/configurable/deep/a~1b/1"),
    ({"tone": "warm", "recursionLimit": 6}, "/configurable/recursionLimit"),
    ({"tone": "warm", "recursionLimit": 0}, "/configurable/recursionLimit"),
)
def test_options_are_those_that_the_workflow_allows(
    host: Host, configurable: dict[str, Any] | None, pointer: str
) -> None:
    given = {"tone": "cold", "deep": {"a/b": [1], "c": None}, "recursionLimit": 1}
    allowed = create_with(host, register(host, CHOOSY), configurable=given)
    assert host.snapshot(allowed.document["runId"])["configurable"] == given
    members = {} if configurable is None else {"configurable": configurable}
    refused = create_with(host, CHOOSY["id"], **members, tags=["choosy"])
    assert error_code(refused) == (400, "validation_error")
    assert refused.document["details"]["pointer"].startswith(pointer)
    assert "loud" not in refused.body.decode()
    assert host.call("GET", "/v1/runs?tag=choosy").document["runs"] == []


ADDED = {"value": {"type": "expression", "expression": "variables.n + 1.0"}}
ROUNDS = [variable("n", "number", defaultValue=0), variable("most", "number", defaultValue=1000)]


def looping(workflow_id: str, **settings: Any) -> dict[str, Any]:
    """Two nodes that go round until there have been `most` rounds."""
    again = {"type": "expression", "expression": "variables.n < variables.most"}
    nodes = [node("work"), node("count", "core.setVariable", config={"name": "n"}, inputs=ADDED)]
    edges = [edge("work", "count"), edge("count", "work", condition=again)]
    return flow(workflow_id, nodes, edges, ROUNDS, settings=settings)


@pytest.mark.rule("lim-03", "lim-04")
@each_case("limit", 1, 2, 7, 8)
def test_each_round_counts_for_the_recursion_limit(host: Host, limit: int) -> None:
    workflow_id = register(host, looping("opt-loops", maxLoopbackIterations=500))
    for most, status in ((4, "failed" if limit < 8 else "completed"), (1000, "failed")):
        run_id = host.create(workflow_id, inputs={"most": most}, configurable={"recursionLimit": limit})
        log = host.log(run_id)
        assert host.snapshot(run_id)["status"] == status
        assert host.snapshot(run_id)["variables"]["n"] == min(most, limit // 2)
    assert [event["type"] for event in log].count("node.started") == limit
    assert [event["type"] for event in log[-2:]] == ["cap.breached", "run.failed"]
    (breach,) = payloads(host, run_id, "cap.breached")
    assert (breach["kind"], breach["limit"], breach["observed"]) == ("node-executions", limit, limit + 1)
    assert breach["nodeId"] == ("work" if limit % 2 == 0 else "count")
    assert host.snapshot(run_id)["error"]["code"] == "recursion_limit_exceeded"


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
