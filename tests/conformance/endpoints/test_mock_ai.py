"""The seam that programs the scripted provider, and what a run may ask for when it is created."""

import asyncio
from typing import Any

import pytest

from tests.adapters.providers.provider_calls import collect_answer, model_request
from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import node, workflow
from tests.live import KEY, OTHER_KEY, TEST_KEY, Host, InProcessHost, delays, open_in_process
from tests.live.envelopes import TEST, events_in_test_log, run_id
from weftwork.engine.api import runs
from weftwork.protocol.ids import Mode
from weftwork.protocol.json import schema
from weftwork.protocol.models.provider_settings import SCRIPTED_TYPE, ProviderSettings

PROGRAM = "/v1/host/sample/test/mock-ai/program"
BUDGET = "/v1/host/sample/test/mock-ai/last-dispatch-budget"


async def asked(inside: InProcessHost, partition: str, **more: Any) -> str:
    """A model call of a node in a run of this partition, as the engine makes it."""
    request = model_request(node="ask", partition=partition, **more)
    deltas, _ = await collect_answer(inside.host.models.find(request), request)
    return "".join(delta.text for delta in deltas)


def partition_of(inside: InProcessHost, key: str) -> str:
    principal = inside.host.keyring.authenticate(key)
    return principal.partition


@pytest.mark.rule("model-19")
async def test_a_tenant_programs_its_own_nodes_and_sees_their_budgets() -> None:
    async with open_in_process(test_seams=True) as inside:
        acme, other = partition_of(inside, KEY), partition_of(inside, OTHER_KEY)
        entries = [{"stopReason": "max_tokens", "content": "one", "acme.extra": 1}, {"content": "two"}]
        answer = await inside.call("POST", PROGRAM, {"nodeId": "ask", "program": entries})
        assert (answer.status, answer.document) == (200, {"ok": True, "count": 2})
        assert (await inside.call("GET", f"{BUDGET}?nodeId=ask")).document == {"maxTokens": None}
        assert await asked(inside, other, max_tokens=7) != "one"
        assert await asked(inside, acme, max_tokens=50) == "one"
        assert await asked(inside, acme, max_tokens=100, provider="mock") == "two"
        assert await asked(inside, acme) == ""
        assert (await inside.call("GET", f"{BUDGET}?nodeId=ask")).document == {"maxTokens": 4_096}
        assert await asked(inside, acme, max_tokens=100) == ""
        for key, budget in ((KEY, 100), (OTHER_KEY, 7)):
            assert (await inside.call("GET", f"{BUDGET}?nodeId=ask", key=key)).document == {"maxTokens": budget}
        # A new program takes the place of what is left.
        for texts in (["old", "older"], ["new"]):
            body = {"nodeId": "ask", "program": [{"content": text} for text in texts]}
            assert (await inside.call("POST", PROGRAM, body)).document["count"] == len(texts)
        assert [await asked(inside, acme), await asked(inside, acme)] == ["new", ""]


@pytest.mark.rule("seam-03")
async def test_a_reset_takes_nothing_from_other_tenants() -> None:
    async with open_in_process(test_seams=True) as inside:
        body = {"nodeId": "ask", "program": [{"content": "mine"}]}
        await inside.call("POST", PROGRAM, body)
        await inside.call("POST", "/v1/host/sample/test/reset", {}, key=OTHER_KEY)
        assert await asked(inside, partition_of(inside, KEY)) == "mine"
        await inside.call("POST", PROGRAM, body)
        await inside.call("POST", "/v1/host/sample/test/reset", {})
        assert await asked(inside, partition_of(inside, KEY)) != "mine"


async def test_without_tenants_apart_others_would_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_in_process(test_seams=True) as inside:
        programs = inside.programs
        told = partition_of(inside, OTHER_KEY)
        original = programs.program
        monkeypatch.setattr(programs, "program", lambda _, node, entries: original(told, node, entries))  # sabotage
        await inside.call("POST", PROGRAM, {"nodeId": "ask", "program": [{"content": "for acme"}]})
        assert await asked(inside, told) == "for acme"


@each_case(
    "body, pointer",
    ({"program": []}, ""),
    ({"nodeId": "ask"}, ""),
    ({"nodeId": "", "program": []}, "/nodeId"),
    ({"nodeId": "ask", "program": ["text"]}, "/program/0"),
    ({"nodeId": "ask", "program": [{"content": 1}]}, "/program/0/content"),
    ({"nodeId": "ask", "program": [{"delayMsPerToken": 5001}]}, "/program/0/delayMsPerToken"),
    ({"nodeId": "ask", "program": [{"content": "a", "chunks": ["b"]}]}, "/program"),
    ({"nodeId": "ask", "program": [{"mode": "envelope"}]}, "/program"),
    ({"nodeId": "ask", "program": [{}] * 1001}, "/program"),
    ([], ""),
)
async def test_a_program_that_cannot_be_played_is_refused(body: Any, pointer: str) -> None:
    async with open_in_process(test_seams=True) as inside:
        answer = await inside.call("POST", PROGRAM, body)
        assert (answer.status, answer.document["error"]) == (400, "validation_error")
        assert answer.document["details"]["pointer"] == pointer
        assert (await inside.call("GET", BUDGET)).status == 400


@pytest.mark.rule("model-19")
@pytest.mark.parametrize("seams", [False, True])
async def test_the_seam_needs_a_key_and_the_flag(seams: bool) -> None:
    async with open_in_process(test_seams=seams) as inside:
        for method, path in (("GET", PROGRAM), ("POST", PROGRAM), ("GET", BUDGET)):
            assert (await inside.call(method, path, key="nobody")).status == 401
            assert (await inside.call(method, path, headers={"authorization": ""})).status == 401
        assert (await inside.call("GET", PROGRAM)).status == (405 if seams else 404)
        assert (await inside.call("GET", f"{BUDGET}?nodeId=__probe__")).status == (200 if seams else 404)


@pytest.mark.rule("model-18")
@fails_without(runs, "check_selection", lambda *_: None, match="provider")
@each_case(
    "configurable, status, code, pointer",
    ({"ai.provider": "scripted", "ai.model": "m", "model": "n"}, 201, None, None),
    ({"ai": {"provider": "scripted"}, "promptOverrides": {"p": "text"}}, 201, None, None),
    ({"ai.provider": "mock"}, 400, "validation_error", "/configurable/ai.provider"),
    ({"ai": {"provider": "gone"}}, 400, "validation_error", "/configurable/ai/provider"),
    ({"ai.credentialRef": "cred-1"}, 403, "credential_forbidden", None),
    ({"model": ""}, 400, "validation_error", "/configurable/model"),
    ({"temperature": 2}, 201, None, None),
    ({"temperature": 2.01}, 400, "validation_error", "/configurable/temperature"),
    ({"temperature": -0.1}, 400, "validation_error", "/configurable/temperature"),
    ({"maxTokens": 0}, 400, "validation_error", "/configurable/maxTokens"),
    ({"maxTokens": 1.5}, 400, "validation_error", "/configurable/maxTokens"),
    ({"promptOverrides": {"p": 1}}, 400, "validation_error", "/configurable/promptOverrides/p"),
)
async def test_what_a_run_asks_of_models_is_checked_when_it_is_created(
    configurable: dict[str, Any], status: int, code: str | None, pointer: str | None
) -> None:
    scripted = ProviderSettings("scripted", SCRIPTED_TYPE)
    async with open_in_process(delays("short", 0), providers=(scripted,)) as inside:
        answer = await inside.call("POST", "/v1/runs", {"workflowId": "short", "configurable": configurable})
        assert (answer.status, answer.document.get("error")) == (status, code)
        assert answer.document.get("details", {}).get("pointer") == pointer
        assert b"cred-1" not in answer.body


@pytest.mark.rule("model-16")
@each_case(
    "mode, wanted, status, code",
    ("live", {"id": "stream-text"}, 403, "mock_provider_forbidden"),
    ("live", {"id": "stream-text", "config": {"tokens": 1}}, 403, "mock_provider_forbidden"),
    ("test", {"id": "nobody"}, 400, "unsupported_mock_provider"),
    ("test", {"id": "stream-text", "config": {"tokens": 1}}, 400, "validation_error"),
    ("test", {"id": "stream-text", "config": {"tokens": ["a"]}}, 201, None),
)
async def test_a_mock_is_for_test_keys_and_must_be_playable(
    mode: Mode, wanted: Any, status: int, code: str | None
) -> None:
    async with open_in_process(delays("short", 0)) as inside:
        inside.host.keyring.accept_for_process(TEST_KEY, "acme", None)
        body = {"workflowId": "short", "configurable": {"mockProvider": wanted}}
        answer = await inside.call("POST", "/v1/runs", body, key=KEY if mode == "live" else TEST_KEY)
        assert (answer.status, answer.document.get("error")) == (status, code)


ASK = workflow([node("ask", "core.ai.callPrompt", config={"prompt": "Well?", "maxTokens": 50})], id="ask")


async def outcome(inside: InProcessHost, key: str = KEY, **configurable: Any) -> Any:
    """The text that a run of ASK has for its node, or the code that it failed with."""
    body = {"workflowId": "ask", "configurable": configurable}
    created = await inside.call("POST", "/v1/runs", body, key=key)
    path = f"/v1/runs/{created.document['runId']}"
    while not (await inside.call("GET", f"{path}/events/poll?timeout=5", key=key)).document["isComplete"]:
        await asyncio.sleep(0)
    events = (await inside.call("GET", f"{path}/events", headers={"accept": "application/json"}, key=key)).document
    last = events["events"][-1]
    return (
        last["payload"]["error"]["code"] if last["type"] == "run.failed" else last["payload"]["outputs"]["ask"]["text"]
    )


@pytest.mark.rule("model-12")
@pytest.mark.rule("model-19")
async def test_a_run_is_told_what_was_programmed_until_the_reset() -> None:
    async with open_in_process(ASK, test_seams=True) as inside:
        assert (await outcome(inside)).endswith("You said: Well?")
        program = {
            "nodeId": "ask",
            "program": [{"content": "Very well."}, {"fault": {"code": "odd", "retryable": False}}],
        }
        assert (await inside.call("POST", PROGRAM, program)).status == 200
        assert await outcome(inside, maxTokens=70) == "Very well."
        assert (await inside.call("GET", f"{BUDGET}?nodeId=ask")).document == {"maxTokens": 70}
        assert await outcome(inside) == "odd"
        assert (await inside.call("GET", f"{BUDGET}?nodeId=ask")).document == {"maxTokens": 50}
        assert await outcome(inside) == ""
        assert (await inside.call("POST", "/v1/host/sample/test/reset", {})).status == 200
        assert (await outcome(inside)).endswith("You said: Well?")


@pytest.mark.rule("model-13")
async def test_a_run_with_a_test_key_is_answered_by_its_mock() -> None:
    async with open_in_process(ASK) as inside:
        inside.host.keyring.accept_for_process(TEST_KEY, "acme", None)
        mocks = [
            ({"id": "stream-text", "config": {"tokens": ["a", "b"]}}, "ab"),
            ({"id": "error", "config": {"code": "odd"}}, "odd"),
            ({"id": "usage-only"}, ""),
            ({"id": "tool-calls"}, ""),
        ]
        for mock, said in mocks:
            assert await outcome(inside, TEST_KEY, mockProvider=mock) == said


EMIT = f"{TEST}/emit-envelope-reliability"
REFUSAL = {"nodeId": "n", "provider": "p", "model": "m"}
GOOD: dict[str, dict[str, Any]] = {
    "envelope.retry.attempted": {"nodeId": "n", "attempt": 2, "reason": "schema-violation", "previousError": None},
    "envelope.retry.exhausted": {"nodeId": "n", "totalAttempts": 3, "finalReason": "x-host-acme-tired"},
    "envelope.refusal": {**REFUSAL, "refusalText": "No.", "safetyCategory": None},
    "envelope.truncated": {**REFUSAL, "stopReason": "max_tokens", "partialPayloadAvailable": True},
    "envelope.nlToFormat.engaged": {"nodeId": "n", "originalEnvelopeType": "error", "fallbackCalls": 1},
    "envelope.recovery.applied": {"nodeId": "n", "path": "markdown-fence", "byteOffset": 4},
}  # fmt: skip


def refused(host: Host, code: str, **body: Any) -> None:
    run = run_id()
    answer = host.call("POST", EMIT, {"runId": run, **body})
    assert (answer.status, answer.document["error"]["code"]) == (400, code), answer.body
    assert schema.check("seam-refusal", answer.document) == []
    assert events_in_test_log(host, run) == []
    assert b"canary" not in answer.body


@pytest.mark.rule("env-33")
@pytest.mark.scenario("envelope-recovery-applied", "envelope-refusal-shape")
@pytest.mark.parametrize("kind", GOOD)
def test_an_event_that_fits_is_written(host: Host, kind: str) -> None:
    run = run_id()
    answer = host.call("POST", EMIT, {"runId": run, "type": kind, "payload": GOOD[kind], "correlationId": "c"})
    assert answer.status == 200, answer.body
    event = answer.document["event"]
    assert schema.check("emitted-event", answer.document) == []
    assert (event["type"], event["payload"], event["runId"]) == (kind, GOOD[kind], run)
    assert (event["nodeId"], event["causationId"], event["sequence"]) == ("n", "c", 0)
    host.call("POST", EMIT, {"runId": run, "type": kind, "payload": GOOD[kind], "nodeId": "other"})
    assert [each["nodeId"] for each in events_in_test_log(host, run)] == ["n", "other"]
    assert events_in_test_log(host, run)[0] == event
    assert events_in_test_log(host, run, key=OTHER_KEY) == []


@pytest.mark.rule("env-33", "env-35")
@pytest.mark.scenario("envelope-recovery-applied", "envelope-refusal-shape")
@pytest.mark.parametrize("kind", GOOD)
def test_a_payload_is_closed_and_whole(host: Host, kind: str) -> None:
    required = schema.document("run-event-payloads")["$defs"]
    index = required["_typeIndex"]["properties"][kind]["$ref"].rsplit("/", 1)[1]
    for member in required[index]["required"]:
        payload = {name: value for name, value in GOOD[kind].items() if name != member}
        refused(host, "invalid_argument", type=kind, payload=payload)
    code = "envelope_recovery_content_leak" if kind == "envelope.recovery.applied" else "invalid_argument"
    refused(host, code, type=kind, payload={**GOOD[kind], "text": "what was recovered"})


@pytest.mark.rule("env-33")
@pytest.mark.parametrize("kind", GOOD)
@pytest.mark.parametrize(
    "more",
    [
        {"credentialRef": "cred-1"},
        {"refusalText": "it is secret-canary-91"},
        {"x": {"deep": [{"credentialRef": None}]}},
        {"x": [["secret-canary-2"]]},
        {"secret-canary-3": 1},
    ],
)
def test_a_credential_is_refused_by_name(host: Host, kind: str, more: dict[str, Any]) -> None:
    refused(host, "envelope_reliability_credential_leak", type=kind, payload={**GOOD[kind], **more})


@pytest.mark.rule("env-35")
@each_case(
    "body",
    {"type": "envelope.accepted", "payload": REFUSAL},
    {"type": "node.failed", "payload": REFUSAL},
    {"type": "envelope.refusal"},
    {"payload": REFUSAL},
    {"type": 5, "payload": REFUSAL},
    {"type": "envelope.refusal", "payload": [REFUSAL]},
    {"type": "envelope.refusal", "payload": REFUSAL, "nodeId": ""},
    {"type": "envelope.refusal", "payload": REFUSAL, "correlationId": "c" * 129},
    {"type": "envelope.retry.attempted", "payload": {"nodeId": "n", "attempt": 17, "reason": "truncation"}},
    {"type": "envelope.retry.attempted", "payload": {"nodeId": "n", "attempt": 2, "reason": "bored"}},
)
def test_what_is_none_of_the_six_is_no_argument(host: Host, body: dict[str, Any]) -> None:
    refused(host, "invalid_argument", **body)


def test_a_run_id_is_one_that_could_be(host: Host) -> None:
    for run in ('"', "", "a/b", "x" * 129, 5, None):
        answer = host.call("POST", EMIT, {"runId": run, "type": "envelope.refusal", "payload": REFUSAL})
        assert (answer.status, answer.document["error"]["code"]) == (400, "invalid_argument")
    assert host.call("POST", EMIT, []).document["error"] == "validation_error"


@fails_without("weftwork.conformance.endpoints.envelopes._has_credential", lambda payload: False, match="200 == 400")
async def test_a_leak_is_not_written() -> None:
    async with open_in_process(test_seams=True) as inside:
        body = {"runId": "r", "type": "envelope.refusal", "payload": {**REFUSAL, "refusalText": "secret-canary-1"}}
        assert (await inside.call("POST", EMIT, body)).status == 400
