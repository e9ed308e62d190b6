"""The conformance workflows with models, seen through the official client."""

import json
from typing import Any

import pytest
from openwop_client import CreateRunRequest, OpenwopClient
from openwop_client.types import RunEventDoc

from tests.interop.client_calls import ended, payloads, refused
from tests.live import TEST_KEY, Host

NODE = "structured-call"
CANARY = "response-canary-7f3a"
VALID = {"content": '{"valid": true}'}
CUT = {"stopReason": "max_tokens", "content": '{"partial'}
TOKENS = ["One", " two", " three", " four"]
STREAM = "conformance-stream-text"
REASONS = {"schema-violation", "parse-error"}


@pytest.fixture
def tester(host: Host) -> OpenwopClient:
    """With a key that may ask for mock providers."""
    return OpenwopClient(host.address, TEST_KEY, timeout=20)


def program(host: Host, *entries: Any) -> None:
    answer = host.call("POST", "/v1/host/sample/test/mock-ai/program", {"nodeId": NODE, "program": list(entries)})
    assert (answer.status, answer.document) == (200, {"ok": True, "count": len(entries)}), answer.body


def budget(host: Host) -> int:
    answer = host.call("GET", f"/v1/host/sample/test/mock-ai/last-dispatch-budget?nodeId={NODE}")
    assert answer.status == 200, answer.body
    return answer.document["maxTokens"]


def reliability(events: list[RunEventDoc]) -> list[str]:
    """What was told of the answers, in order."""
    return [each.type.removeprefix("envelope.") for each in events if each.type.startswith("envelope.")]


def calls(events: list[RunEventDoc]) -> int:
    """How often a model was asked."""
    return len(payloads(events, "provider.usage"))


def run(client: OpenwopClient, name: str, status: str) -> list[RunEventDoc]:
    run_id = client.runs_create(CreateRunRequest(f"conformance-envelope-{name}")).runId
    events = ended(client, run_id, status)
    assert all(each.payload["nodeId"] == NODE for each in events if each.type.startswith("envelope."))
    usage = payloads(events, "provider.usage")
    assert {(each["provider"], each["model"], each["nodeId"]) for each in usage} == {("mock", "mock-mini", NODE)}
    return events


def failure(client: OpenwopClient, events: list[RunEventDoc]) -> dict[str, Any]:
    """How the node failed; the run failed of it."""
    (failed,) = payloads(events, "node.failed")
    error = client.runs_get(events[0].runId).error
    assert error is not None
    assert (error.code, error.message) == (failed["error"]["code"], failed["error"]["message"])
    return failed["error"]


def value(events: list[RunEventDoc]) -> Any:
    (completed,) = payloads(events, "node.completed")
    return completed["outputs"]["data"]


def before(events: list[RunEventDoc], first: str, then: str) -> bool:
    types = [each.type for each in events]
    return types.index(first) < types.index(then)


def stream(**config: Any) -> CreateRunRequest:
    return CreateRunRequest(STREAM, configurable={"mockProvider": {"id": "stream-text", "config": config}})


@pytest.mark.rule("ai-04")
@pytest.mark.scenario("stream-text-fixture")
def test_stream_text(tester: OpenwopClient, host: Host) -> None:
    """Four tokens are four chunks, and the last one says that it is."""
    run_id = tester.runs_create(stream(tokens=TOKENS, delayMsPerToken=20)).runId
    chunks = list(tester.runs_events(run_id, stream_mode="messages"))
    assert {each.type for each in chunks} == {"ai.message.chunk"}
    told = [each.payload for each in chunks]
    assert [each["chunk"] for each in told] == TOKENS
    assert [each["isLast"] for each in told] == [False, False, False, True]
    assert {(each["nodeId"], each["runId"]) for each in told} == {("ai", run_id)}
    assert {each["meta"]["model"] for each in told} == {"mock-stream-text-v1"}
    assert told[-1]["meta"]["finishReason"] == "stop"
    assert told[-1]["meta"]["usage"] == {"promptTokens": 1, "completionTokens": 4, "totalTokens": 5}
    assert all("finishReason" not in each["meta"] and "usage" not in each["meta"] for each in told[:3])
    # Those who come late see the same.
    late = list(tester.runs_events(run_id, stream_mode="messages"))
    assert [each.payload for each in late] == told
    events = ended(tester, run_id, "completed")
    text = "".join(TOKENS)
    assert events[-1].payload["outputs"]["ai"] == {
        "text": text,
        "content": text,
        "model": "mock-stream-text-v1",
        "finishReason": "stop",
        "usage": {"inputTokens": 1, "outputTokens": 4, "totalTokens": 5},
    }
    assert [each["chunk"] for each in payloads(events, "output.chunk")] == TOKENS
    assert calls(events) == 1


def test_stream_text_mixed_with_updates(tester: OpenwopClient) -> None:
    run_id = tester.runs_create(stream(tokens=TOKENS)).runId
    events = list(tester.runs_events(run_id, stream_mode=["updates", "messages"]))
    types = [each.type for each in events]
    assert types == ["run.started", *["ai.message.chunk"] * 4, "node.completed", "run.completed"]
    assert len({each.eventId for each in events}) == len(events)
    debug = [each.type for each in tester.runs_events(run_id, stream_mode="debug")]
    assert debug.count("output.chunk") == 4
    assert len(debug) >= len(types)


@pytest.mark.parametrize(
    ("config", "said", "meta"),
    [
        ({}, ["mock", " response"], {"finishReason": "stop", "completionTokens": 2}),
        ({"tokens": ["x"], "finishReason": "length"}, ["x"], {"finishReason": "length", "completionTokens": 1}),
        (
            {"tokens": ["a", "b"], "usage": {"promptTokens": 7, "completionTokens": 9}, "model": "other"},
            ["a", "b"],
            {"finishReason": "stop", "promptTokens": 7, "completionTokens": 9, "totalTokens": 16},
        ),
    ],
)
def test_stream_text_says_what_it_is_configured_to(
    tester: OpenwopClient, config: dict[str, Any], said: list[str], meta: dict[str, Any]
) -> None:
    run_id = tester.runs_create(stream(**config)).runId
    told = [each.payload for each in tester.runs_events(run_id, stream_mode="messages")]
    assert [each["chunk"] for each in told] == said
    last = told[-1]["meta"]
    assert last["model"] == config.get("model", "mock-stream-text-v1")
    assert {**last, **last["usage"]}.items() >= meta.items()


def test_a_mock_provider_is_for_test_keys(client: OpenwopClient) -> None:
    with refused(403, "mock_provider_forbidden"):
        client.runs_create(stream(tokens=TOKENS))


@pytest.mark.rule("ai-05")
@pytest.mark.parametrize("bad", [f"no JSON: {CANARY}", f'{{"valid": "{CANARY}"}}', f'{{"other": "{CANARY}"}}'])
@pytest.mark.scenario("envelope-retry-attempted")
def test_envelope_retry_attempted(client: OpenwopClient, host: Host, bad: str) -> None:
    program(host, {"content": bad}, VALID)
    events = run(client, "retry-attempted", "completed")
    assert reliability(events) == ["retry.attempted"]
    (again,) = payloads(events, "envelope.retry.attempted")
    assert (again["attempt"], again["reason"] in REASONS) == (2, True)
    assert CANARY not in json.dumps(again)
    assert (value(events), calls(events)) == ({"valid": True}, 2)
    assert events[-1].payload["outputs"][NODE]["data"] == {"valid": True}


@pytest.mark.rule("ai-05")
@pytest.mark.parametrize("bad", ["a", "I would rather tell you a story.", '{"valid": 1}'])
@pytest.mark.scenario("envelope-retry-exhausted")
def test_envelope_retry_exhausted(client: OpenwopClient, host: Host, bad: str) -> None:
    """Also where one more call is made to bring prose into form."""
    program(host, *[{"content": bad}] * 4)
    events = run(client, "retry-exhausted", "failed")
    (exhausted,) = payloads(events, "envelope.retry.exhausted")
    assert (exhausted["totalAttempts"], exhausted["finalReason"] in REASONS) == (3, True)
    assert [each["attempt"] for each in payloads(events, "envelope.retry.attempted")] == [2, 3]
    assert failure(client, events)["code"] == "envelope_invalid"
    assert before(events, "envelope.retry.exhausted", "node.failed")
    (breached,) = payloads(events, "cap.breached")
    assert (breached["kind"], breached["observed"] > breached["limit"]) == ("schema", True)
    assert before(events, "cap.breached", "run.failed")
    assert calls(events) == 3 + len(payloads(events, "envelope.nlToFormat.engaged"))


@pytest.mark.rule("ai-05")
@pytest.mark.scenario("envelope-truncated")
def test_envelope_truncated(client: OpenwopClient, host: Host) -> None:
    program(host, CUT, VALID)
    events = run(client, "truncated", "completed")
    assert reliability(events) == ["truncated", "retry.attempted"]
    (cut,) = payloads(events, "envelope.truncated")
    assert (cut["provider"], cut["model"], cut["stopReason"]) == ("mock", "mock-mini", "max_tokens")
    assert isinstance(cut["partialPayloadAvailable"], bool)
    (again,) = payloads(events, "envelope.retry.attempted")
    assert (again["attempt"], again["reason"]) == (2, "truncation")
    assert budget(host) > 50
    assert value(events) == {"valid": True}


@pytest.mark.rule("ai-05")
@pytest.mark.scenario("envelope-truncation-cap-exhaustion")
def test_envelope_truncation_cap_exhaustion(client: OpenwopClient, host: Host) -> None:
    program(host, *[CUT] * 16)
    events = run(client, "truncation-cap-exhaustion", "failed")
    (exhausted,) = payloads(events, "envelope.retry.exhausted")
    assert (exhausted["totalAttempts"], exhausted["finalReason"]) == (3, "truncation")
    assert len(payloads(events, "envelope.truncated")) == calls(events) == 3
    assert failure(client, events)["code"] == "envelope_truncation_unrecoverable"
    assert before(events, "envelope.retry.exhausted", "node.failed")
    (breached,) = payloads(events, "cap.breached")
    assert breached["kind"] == "schema"
    program(host)


@pytest.mark.rule("ai-05")
@pytest.mark.scenario("envelope-refusal-shape")
def test_envelope_refusal(client: OpenwopClient, host: Host) -> None:
    words = f"I will not do that, {CANARY}."
    program(host, {"stopReason": "safety", "refusalText": words}, VALID)
    events = run(client, "refusal", "failed")
    assert [each for each in reliability(events) if each != "retry.exhausted"] == ["refusal"]
    (refused,) = payloads(events, "envelope.refusal")
    assert (refused["provider"], refused["model"]) == ("mock", "mock-mini")
    error = failure(client, events)
    assert error["code"] == "envelope_refusal"
    assert CANARY not in json.dumps(error)
    assert CANARY not in json.dumps(events[-1].payload)
    assert calls(events) == 1
    program(host)


@pytest.mark.rule("ai-05")
@pytest.mark.scenario("envelope-recovery-applied")
def test_envelope_recovery_applied(client: OpenwopClient, host: Host) -> None:
    program(host, {"content": '```json\n{"result": "kept"}\n```'})
    events = run(client, "recovery-applied", "completed")
    assert reliability(events) == ["recovery.applied"]
    (applied,) = payloads(events, "envelope.recovery.applied")
    assert applied["path"] == "markdown-fence"
    assert applied.keys() <= {"nodeId", "path", "byteOffset"}
    assert (value(events), calls(events)) == ({"result": "kept"}, 1)


@pytest.mark.rule("ai-05")
@pytest.mark.scenario("envelope-nl-to-format-engaged")
def test_envelope_nl_to_format_engaged(client: OpenwopClient, host: Host) -> None:
    prose = [{"content": f"Once upon a time, number {number}."} for number in range(3)]
    program(host, *prose, {"content": '{"result": "coerced-ok"}'})
    events = run(client, "nl-to-format-engaged", "completed")
    assert reliability(events) == ["retry.attempted", "retry.attempted", "nlToFormat.engaged"]
    (engaged,) = payloads(events, "envelope.nlToFormat.engaged")
    assert engaged["originalEnvelopeType"]
    assert engaged["fallbackCalls"] == 1
    assert (value(events), calls(events)) == ({"result": "coerced-ok"}, 4)


@pytest.mark.rule("ai-05")
@pytest.mark.scenario("envelope-completion-distinguishes-truncation")
def test_truncation_and_violation_are_told_apart(client: OpenwopClient, host: Host) -> None:
    """A larger budget is for what was cut short, and for nothing else."""
    program(host, {"content": '{"valid": "no"}'}, VALID)
    events = run(client, "truncated", "completed")
    assert reliability(events) == ["retry.attempted"]
    assert payloads(events, "envelope.retry.attempted")[0]["reason"] in REASONS
    assert budget(host) == 50
    program(host, CUT, VALID)
    events = run(client, "truncated", "completed")
    assert payloads(events, "envelope.retry.attempted")[0]["reason"] == "truncation"
    assert 50 < budget(host) < 20_000


def test_a_program_that_is_used_up_is_an_empty_answer(client: OpenwopClient, host: Host) -> None:
    program(host, {"content": "nothing"})
    events = run(client, "retry-exhausted", "failed")
    assert failure(client, events)["code"] == "envelope_invalid"


def test_model_capability_insufficient(client: OpenwopClient) -> None:
    run_id = client.runs_create(CreateRunRequest("conformance-model-capability-insufficient")).runId
    events = ended(client, run_id, "failed")
    assert [each.type for each in events[1:3]] == ["model.capability.insufficient", "node.failed"]
    (refusal,) = payloads(events, "model.capability.insufficient")
    assert refusal["missingCapabilities"] == ["nonexistent-capability-9b3f"]
    (failed,) = payloads(events, "node.failed")
    assert failed["error"]["code"] == "capability_not_provided"
