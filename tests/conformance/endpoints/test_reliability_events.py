"""The seam that writes events about the reliability of answers: what fits and leaks nothing is written."""

import asyncio
from typing import Any

import pytest

from tests.live import OTHER_KEY, Host, open_in_process
from tests.live.envelopes import TEST, events_in_test_log, run_id
from weftwork.protocol.json import schema

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
@pytest.mark.parametrize(
    "body",
    [
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
    ],
)
def test_what_is_none_of_the_six_is_no_argument(host: Host, body: dict[str, Any]) -> None:
    refused(host, "invalid_argument", **body)


def test_a_run_id_is_one_that_could_be(host: Host) -> None:
    for run in ('"', "", "a/b", "x" * 129, 5, None):
        answer = host.call("POST", EMIT, {"runId": run, "type": "envelope.refusal", "payload": REFUSAL})
        assert (answer.status, answer.document["error"]["code"]) == (400, "invalid_argument")
    assert host.call("POST", EMIT, []).document["error"] == "validation_error"


def test_without_its_check_a_leak_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> int:
        async with open_in_process(test_seams=True) as inside:
            body = {"runId": "r", "type": "envelope.refusal", "payload": {**REFUSAL, "refusalText": "secret-canary-1"}}
            return (await inside.call("POST", EMIT, body)).status

    assert asyncio.run(work()) == 400
    monkeypatch.setattr("weftwork.conformance.endpoints.envelopes._has_credential", lambda payload: False)
    assert asyncio.run(work()) == 200
