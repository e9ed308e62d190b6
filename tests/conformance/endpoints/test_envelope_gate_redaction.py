"""The seam on the gate: no secret leaves it, whatever becomes of the envelope; and trust is told from content."""

import json
from typing import Any

import pytest

from tests.live import Host
from tests.live.envelopes import (
    ACCEPT,
    PAYLOADS,
    TEST,
    UNIVERSAL,
    VENDOR,
    accept_envelope,
    envelope,
    events_in_test_log,
    run_id,
    spans,
)
from weftwork.protocol.envelopes.accept_request import MAX_SECRETS
from weftwork.protocol.json import schema

SECRET, OTHER = "sk-canary-7f3a9b", "sk-canary-other-551"
CANARIES = [{"value": SECRET, "secretId": "openai"}, {"value": OTHER, "secretId": "acme"}]
MARK, OTHER_MARK = "[REDACTED:openai]", "[REDACTED:acme]"
SURFACE = {
    "reasoning": SECRET,
    "catalogVersion": "0.9.1",
    "surface": {
        "title": SECRET,
        "components": [
            {"component": "text", "text": f"it is {SECRET}"},
            {"component": "field.select", "id": "s", "label": "L", "options": [{"value": SECRET, "label": "x"}]},
        ],
    },
}


def test_each_occurrence_is_replaced_and_counted(host: Host) -> None:
    questions = [{"id": "q1", "question": f"Is it {SECRET}?", "context": {"deep": [{"er": f"{SECRET}+{SECRET}"}]}}]
    outcome = accept_envelope(host, envelope("clarification.request", {"questions": questions}), byokCanaries=CANARIES)
    assert (outcome["status"], outcome["redactionCount"]) == ("accepted", 3)
    assert outcome["redactedPayload"] == {
        "questions": [{"id": "q1", "question": f"Is it {MARK}?", "context": {"deep": [{"er": f"{MARK}+{MARK}"}]}}]
    }


def test_each_secret_has_its_marker_and_old_ones_stay(host: Host) -> None:
    payload = {"code": "x", "message": f"{OTHER} {SECRET} [REDACTED:older]", "details": {"a": ["[REDACTED:openai]"]}}
    outcome = accept_envelope(host, envelope("error", payload), byokCanaries=CANARIES)
    assert outcome["redactionCount"] == 2
    assert outcome["redactedPayload"]["message"] == f"{OTHER_MARK} {MARK} [REDACTED:older]"
    assert outcome["redactedPayload"]["details"] == payload["details"]


@pytest.mark.rule("env-37")
def test_nothing_found_is_said_as_zero(host: Host) -> None:
    outcome = accept_envelope(host, envelope("error"), byokCanaries=CANARIES)
    assert (outcome["redactionCount"], outcome["redactedPayload"]) == (0, PAYLOADS["error"])
    empty = [{"value": "", "secretId": "x"}, {"value": "ambiguous", "secretId": ""}, {}, None, 5, {"value": 5}]
    for canaries in ([], empty):
        outcome = accept_envelope(host, envelope("error"), byokCanaries=canaries)
        assert (outcome["redactionCount"], outcome["redactedPayload"]) == (0, PAYLOADS["error"])
    for canaries in (None, "x", {"value": "ambiguous", "secretId": "x"}):
        assert "redactionCount" not in accept_envelope(host, envelope("error"), byokCanaries=canaries)


def test_so_many_secrets_are_looked_for(host: Host) -> None:
    canaries = [{"value": f"canary-{number:03}", "secretId": str(number)} for number in range(MAX_SECRETS + 1)]
    document = envelope("error", {"code": canaries[-2]["value"], "message": canaries[-1]["value"]})
    outcome = accept_envelope(host, document, byokCanaries=canaries)
    assert outcome["redactedPayload"] == {"code": "[REDACTED:63]", "message": canaries[-1]["value"]}


@pytest.mark.rule("env-37")
def test_a_repeat_counts_the_same(host: Host) -> None:
    stores: list[dict[str, Any]] = [{}, {"persistedDedup": {"runId": run_id()}}]
    for store in stores:
        document = envelope("error", {"code": SECRET, "message": f"{SECRET}{SECRET}"})
        first = accept_envelope(host, document, byokCanaries=CANARIES, **store)
        assert first["redactionCount"] == 3
        assert accept_envelope(host, document, byokCanaries=CANARIES, **store) == first
    run: dict[str, Any] = {"persistedDedup": {"runId": run_id()}}
    document = envelope("error", {"code": "x", "message": SECRET})
    assert SECRET not in json.dumps(accept_envelope(host, document, **run))
    later = accept_envelope(host, document, byokCanaries=CANARIES, **run)
    assert (later["redactionCount"], later["redactedPayload"]["message"]) == (1, MARK)


@pytest.mark.parametrize("kind", [each for each in UNIVERSAL if each != "schema.response"])
def test_reasoning_is_taken_redacted_and_not_routed_on(host: Host, kind: str) -> None:
    plain = PAYLOADS[kind]
    run = run_id()
    outcome = accept_envelope(
        host,
        envelope(kind, {"reasoning": f"because {SECRET}", **plain}),
        byokCanaries=CANARIES,
        projectTo={"runId": run},
    )
    assert (outcome["status"], outcome["redactionCount"]) == ("accepted", 1)
    assert outcome["redactedPayload"] == {"reasoning": f"because {MARK}", **plain}
    bare = run_id()
    without = accept_envelope(host, envelope(kind), byokCanaries=CANARIES, projectTo={"runId": bare})
    assert (without["redactionCount"], without["redactedPayload"]) == (0, plain)
    assert [each["type"] for each in events_in_test_log(host, run)] == [
        each["type"] for each in events_in_test_log(host, bare)
    ]
    for wrong in (5, None, []):
        assert accept_envelope(host, envelope(kind, {"reasoning": wrong, **plain}))["status"] == "invalid"


HOSTILE: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (envelope("error", {"code": SECRET, "message": SECRET}, meta={"ts": "x"}), {}),
    (envelope("error", {"code": SECRET, "message": SECRET}, meta={"ts": SECRET}), {}),
    (envelope("error", {"code": SECRET, "message": SECRET}, extra=SECRET), {}),
    (envelope("error", {SECRET: SECRET, "code": 5}), {}),
    (envelope("clarification.request", {"questions": [{"id": SECRET, "question": {"a": SECRET}}]}), {}),
    (envelope("ui.a2ui-surface", SURFACE), {}),
    (envelope("ui.a2ui-surface", SURFACE), {"hostSupportedEnvelopes": []}),
    (envelope(VENDOR, {"steps": [SECRET]}), {"hostSupportedEnvelopes": []}),
    (envelope(VENDOR, {"steps": [SECRET]}), {"nodeAllowedKinds": ["vendor.a.b"]}),
    (envelope(VENDOR, {"steps": [{SECRET: [SECRET]}]}), {}),
    (envelope("error", {"code": "x", "message": SECRET}), {"counters": {"envelopesPerTurn": {"current": 1, "cap": 1}}}),
    (envelope("error", {"code": "x", "message": SECRET}), {"schemaVersionFloor": {"error": 9}}),
    (
        envelope("error", {"code": "x", "message": SECRET}),
        {"boundInterruptKind": "approval", "runTrustBoundary": "untrusted"},
    ),
    (envelope(VENDOR, {"steps": []}, type=f"vendor.acme.{SECRET}"), {}),
    (envelope("error", {"code": "x", "message": SECRET}, envelopeId=SECRET, correlationId=f"c:{SECRET}"), {}),
    (
        envelope(VENDOR, type=f"vendor.{SECRET}.x", envelopeId=SECRET, correlationId=f"d{SECRET}"),
        {"nodeAllowedKinds": []},
    ),
    (envelope("error", meta={"label": SECRET, "rendering": {"title": SECRET, "alt": SECRET}}), {}),
    (envelope("error", nodeId=SECRET), {"projectTo": {"runId": "secret-node"}}),
]


@pytest.mark.parametrize(("document", "rules"), HOSTILE)
def test_no_outcome_event_span_or_bundle_holds_a_secret(
    host: Host, document: dict[str, Any], rules: dict[str, Any]
) -> None:
    body = {"byokCanaries": CANARIES, "projectTo": {"runId": run_id(), "nodeId": "talk"}, **rules}
    run = body["projectTo"]["runId"]
    outcomes = [accept_envelope(host, document, **body) for _ in range(2)]
    assert SECRET not in json.dumps(outcomes)
    bundle = host.call("POST", f"{TEST}/debug-bundle/export", {"runId": run})
    assert bundle.status == 200
    told = (events_in_test_log(host, run), spans(host, run), bundle.document)
    assert SECRET not in json.dumps(told)
    assert bool(told[0]) is (outcomes[-1]["status"] != "invalid")


@pytest.mark.parametrize(
    ("own", "boundary", "stands"),
    [
        (None, None, "trusted"),
        (None, "trusted", "trusted"),
        (None, "untrusted", "untrusted"),
        (None, "odd", "trusted"),
        ("trusted", "untrusted", "trusted"),
        ("untrusted", "trusted", "untrusted"),
        ("untrusted", None, "untrusted"),
    ],
)
def test_trust_is_told_of_the_envelope_then_of_the_run(
    host: Host, own: str | None, boundary: str | None, stands: str
) -> None:
    run = run_id()
    document = envelope("clarification.request", meta={"contentTrust": own} if own else None)
    body = {"runTrustBoundary": boundary} if boundary else {}
    outcome = accept_envelope(host, document, projectTo={"runId": run, "nodeId": "talk"}, **body)
    assert outcome["normalizedMeta"] == {"contentTrust": stands}
    assert {event["contentTrust"] for event in events_in_test_log(host, run)} == {stands}
    assert spans(host, run)[0]["attributes"]["envelope_content_trust"] == stands


@pytest.mark.parametrize("kind", ["ui.a2ui-surface", "clarification.request", VENDOR])
@pytest.mark.parametrize("gate", [{"approvalGateContext": True}, {"boundInterruptKind": "approval"}])
def test_untrusted_content_advances_no_approval(host: Host, kind: str, gate: dict[str, Any]) -> None:
    untrusted = {"contentTrust": "untrusted"}
    run = run_id()
    for meta, more in ((untrusted, {}), (None, {"runTrustBoundary": "untrusted"})):
        outcome = accept_envelope(host, envelope(kind, meta=meta), projectTo={"runId": run}, **gate, **more)
        assert (outcome["status"], outcome["reason"]) == ("invalid", "untrusted_content_blocks_approval")
        assert outcome["details"] == []
        assert accept_envelope(host, envelope(kind, meta=meta), **more)["status"] == "accepted"
    assert events_in_test_log(host, run) == []
    assert accept_envelope(host, envelope(kind), **gate)["status"] == "accepted"
    others: list[dict[str, Any]] = [{"approvalGateContext": False}, {"approvalGateContext": "yes"}]
    for other in (*others, {"boundInterruptKind": "custom"}):
        assert accept_envelope(host, envelope(kind, meta=untrusted), **other)["status"] == "accepted"


def test_a_schema_error_names_places_only(host: Host) -> None:
    outcome = accept_envelope(
        host, envelope("clarification.request", {"questions": [{"id": "", "question": SECRET, "x": 1}]})
    )
    assert SECRET not in json.dumps(outcome)
    assert {each["instancePath"] for each in outcome["details"]} == {
        "/payload/questions/0/id",
        "/payload/questions/0",
    }
    assert schema.check("envelope-outcome", outcome) == []
    assert host.call("POST", ACCEPT, {"envelope": SECRET}).document["status"] == "invalid"
