"""The seam on the gate: shapes, kinds, versions, contracts and limits, over real HTTP."""

from typing import Any

import pytest

from tests.live import Host
from tests.live.envelopes import (
    ACCEPT,
    PAYLOADS,
    UNIVERSAL,
    VENDOR,
    accept_envelope,
    envelope,
    events_in_test_log,
    run_id,
    spans,
)
from weftwork.protocol.json import schema

ASKS = "clarification.request"
CAPS = {"envelopesPerTurn": ("error", "envelopes"), "schemaRounds": ("schema.request", "schema")} | {
    "clarificationRounds": (ASKS, "clarification")
}


def types(events: list[Any]) -> list[str]:
    return [event["type"] for event in events]


@pytest.mark.rule("env-31")
@pytest.mark.parametrize("kind", [kind for kind in PAYLOADS if kind != VENDOR])
def test_a_good_envelope_is_accepted(host: Host, kind: str) -> None:
    document = envelope(kind)
    outcome = accept_envelope(host, document)
    assert schema.check("envelope-outcome", outcome) == []
    assert outcome == {
        "status": "accepted",
        "recordedEventIds": [],
        "envelopeId": document["envelopeId"],
        "normalizedMeta": {"contentTrust": "trusted"},
    }


def without(document: dict[str, Any], member: str) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name != member}


@pytest.mark.parametrize(
    "document",
    [
        *(without(envelope(ASKS), each) for each in ("type", "envelopeId", "correlationId", "payload", "meta")),
        envelope(ASKS, extra=1),
        envelope(ASKS, schemaVersion="1.0"),
        envelope(ASKS, schemaVersion=-1),
        envelope(ASKS, meta={"source": "robot"}),
        envelope(ASKS, meta={"acme": {}}),
        envelope(ASKS, partial=True),
        envelope(ASKS, type=""),
        envelope(ASKS, correlationId="c" * 129),
        envelope(ASKS, payload={}),
        envelope(ASKS, payload={"questions": []}),
        envelope(ASKS, payload={"questions": [{"id": "q"}]}),
        envelope("schema.response", payload={"envelopeType": VENDOR, "ack": False}),
        envelope("schema.response", payload={**PAYLOADS["schema.response"], "reasoning": "so"}),
        envelope("ui.a2ui-surface", payload={"catalogVersion": "0.9.1"}),
        None,
        [],
        "text",
        5,
        {},
    ],
)
def test_what_is_not_an_envelope_is_invalid_with_details(host: Host, document: Any) -> None:
    outcome = accept_envelope(host, document)
    assert outcome["status"] == "invalid"
    assert isinstance(outcome["details"], list)
    assert outcome["details"]
    for each in outcome["details"]:
        assert set(each) == {"instancePath", "schemaPath", "keyword", "message"}


@pytest.mark.parametrize("ts", ["yesterday", "2026-01-31", "2026-13-01T00:00:00Z", "", "2026-01-31 08:05:09Z"])
def test_a_time_that_is_none_names_the_standard(host: Host, ts: str) -> None:
    outcome = accept_envelope(host, envelope("error", meta={"ts": ts}))
    assert (outcome["status"], "ISO 8601" in outcome["reason"]) == ("invalid", True)


@pytest.mark.parametrize("display", ["markdown", "code", "card", "image", "audio", "file"])
def test_a_rendering_hint_is_optional_and_closed(host: Host, display: str) -> None:
    hint = {"display": display, "mimeType": "text/x", "lang": "py", "alt": "a", "title": "t"}
    assert accept_envelope(host, envelope("error", meta={"rendering": hint}))["status"] == "accepted"
    assert accept_envelope(host, envelope("error", meta={"rendering": {}}))["status"] == "accepted"
    for wrong in ({"display": "a2ui"}, {**hint, "size": 1}, {"lang": 5}, "markdown"):
        assert accept_envelope(host, envelope("error", meta={"rendering": wrong}))["status"] == "invalid"


@pytest.mark.parametrize("kind", UNIVERSAL)
def test_universal_kinds_pass_whatever_the_lists_say(host: Host, kind: str) -> None:
    body = {"hostSupportedEnvelopes": [], "nodeAllowedKinds": [VENDOR]}
    supported = {"hostSupportedEnvelopes": [VENDOR], "nodeAllowedKinds": []}
    first = accept_envelope(host, envelope(kind), **(supported if kind.startswith("schema.") else body))
    assert first["status"] == "accepted"
    bad = accept_envelope(host, envelope(kind, {"odd": 1}), **body)
    assert (bad["status"], bool(bad["details"])) == ("invalid", True)


@pytest.mark.parametrize("kind", [VENDOR, "ui.a2ui-surface", "media.image"])
def test_a_kind_that_the_host_lacks_is_gated(host: Host, kind: str) -> None:
    outcome = accept_envelope(host, envelope(kind), hostSupportedEnvelopes=[*UNIVERSAL, "vendor.acme.other"])
    assert outcome["status"] == "gated"
    assert set(outcome["allowedKinds"]) == {*UNIVERSAL, "vendor.acme.other"}
    assert outcome["gate"]["refusedType"] == kind
    assert outcome["gate"]["code"] == "unknown_envelope_kind"
    assert accept_envelope(host, envelope(kind), hostSupportedEnvelopes=[kind])["status"] == "accepted"


def test_the_host_is_asked_before_the_node(host: Host) -> None:
    outcome = accept_envelope(
        host, envelope(VENDOR), hostSupportedEnvelopes=["vendor.a.b"], nodeAllowedKinds=["vendor.c.d"]
    )
    assert outcome["gate"]["code"] == "unknown_envelope_kind"
    outcome = accept_envelope(host, envelope(VENDOR), hostSupportedEnvelopes=[VENDOR], nodeAllowedKinds=["vendor.c.d"])
    assert (outcome["status"], outcome["gate"]["code"]) == ("gated", "envelope_contract_violation")
    assert set(outcome["allowedKinds"]) == {*UNIVERSAL, "vendor.c.d"}


@pytest.mark.parametrize("lists", [{"hostSupportedEnvelopes": []}, {"nodeAllowedKinds": ["vendor.c.d"]}])
@pytest.mark.rule("env-32")
def test_a_refused_kind_fails_its_node_or_is_set_aside(host: Host, lists: dict[str, Any]) -> None:
    run, document = run_id(), envelope(VENDOR)
    outcome = accept_envelope(host, document, projectTo={"runId": run, "nodeId": "talk"}, **lists)
    failed = events_in_test_log(host, run, "?type=node.failed")
    assert [event["payload"]["error"]["code"] for event in failed] == ["envelope_contract_violation"]
    assert failed[0]["payload"]["error"]["details"] == {
        "refusedType": VENDOR,
        "acceptedTypes": outcome["allowedKinds"],
    }
    other, target = run_id(), {"nodeId": "talk", "refusalMode": "discard-and-warn"}
    accept_envelope(host, envelope(VENDOR), projectTo={"runId": other, **target}, **lists)
    assert not events_in_test_log(host, other, "?type=node.failed")
    assert [event["payload"]["level"] for event in events_in_test_log(host, other, "?type=log.appended")] == ["warn"]


@pytest.mark.parametrize("strictness", ["warn", "strict", None, "odd"])
def test_drift_is_taken_or_refused_as_the_host_is_strict(host: Host, strictness: str | None) -> None:
    run, body = run_id(), {"schemaVersionFloor": {"error": 3}, "envelopeStrictness": strictness}
    for version in (0, 2, None):
        document = envelope("error", schemaVersion=version)
        if version is None:
            del document["schemaVersion"]
        outcome = accept_envelope(host, document, projectTo={"runId": run}, **body)
        if strictness == "strict":
            assert outcome["status"] == "invalid"
            assert "unknown_schema_version" in outcome["reason"]
            assert "/schemaVersion" in [each["instancePath"] for each in outcome["details"]]
        else:
            assert outcome["status"] == "accepted"
            shown = spans(host, run)[-1]
            assert shown["attributes"]["envelope_schema_version_drift"] is True
            assert shown["attributes"]["envelope_schema_version_floor"] == 3
            assert shown["attributes"]["envelope_correlation_id"] == document["correlationId"]
    same = accept_envelope(host, envelope("error", schemaVersion=3), projectTo={"runId": run}, **body)
    assert same["status"] == "accepted"
    assert (
        not {"envelope_schema_version_drift", "envelope_schema_version_floor"}
        & spans(host, run)[-1]["attributes"].keys()
    )
    above = accept_envelope(host, envelope("error", schemaVersion=4), **body)
    assert (above["status"], "unknown_schema_version" in above["reason"]) == ("invalid", True)
    assert "/schemaVersion" in [each["instancePath"] for each in above["details"]]


@pytest.mark.parametrize("version", ["0.9.2", "1.0", "", "v0.9"])
def test_a_surface_of_another_catalogue_is_of_an_unknown_version(host: Host, version: str) -> None:
    payload = {**PAYLOADS["ui.a2ui-surface"], "catalogVersion": version}
    outcome = accept_envelope(host, envelope("ui.a2ui-surface", payload))
    assert (outcome["status"], "unknown_schema_version" in outcome["reason"]) == ("invalid", True)


@pytest.mark.rule("env-32")
@pytest.mark.parametrize("limit", CAPS)
def test_one_envelope_too_many(host: Host, limit: str) -> None:
    kind, cap_kind = CAPS[limit]
    run, document = run_id(), envelope(kind)
    counters = {limit: {"current": 32, "cap": 32}}
    outcome = accept_envelope(host, document, counters=counters, projectTo={"runId": run, "nodeId": "talk"})
    assert (outcome["status"], outcome["capKind"]) == ("breached", cap_kind)
    assert limit in outcome["reason"]
    assert "32" in outcome["reason"]
    events = events_in_test_log(host, run, f"?correlationId={document['correlationId']}")
    assert types(events) == ["weftwork.envelope.recorded", "cap.breached", "node.failed"]
    breach, failed = events[1]["payload"], events[2]["payload"]
    assert (breach["kind"], breach["limit"], breach["observed"]) == (cap_kind, 32, 33)
    assert breach.get("nodeId") == (None if cap_kind == "envelopes" else "talk")
    assert failed["error"]["code"] == "cap_breached"
    assert all(event["causationId"] == document["correlationId"] for event in events)
    under = accept_envelope(host, envelope(kind), counters={limit: {"current": 31, "cap": 32}})
    assert under["status"] == "accepted"
    others = {each: {"current": 9, "cap": 1} for each in CAPS if each != limit}
    if kind == "error":
        assert accept_envelope(host, envelope(kind), counters=others)["status"] == "accepted"


@pytest.mark.rule("env-32")
def test_each_kind_leaves_its_events(host: Host) -> None:
    found: dict[str, list[Any]] = {}
    for kind in (*UNIVERSAL, VENDOR):
        run, document = run_id(), envelope(kind)
        outcome = accept_envelope(host, document, projectTo={"runId": run, "nodeId": "talk"})
        found[kind] = events_in_test_log(host, run)
        assert outcome["recordedEventIds"] == [event["eventId"] for event in found[kind]]
        for event in found[kind]:
            assert schema.check("run-event", event) == []
            assert schema.check_payload(event["type"], event["payload"]) == []
            assert (event["causationId"], event["contentTrust"]) == (document["correlationId"], "trusted")
            assert (event["nodeId"], event["runId"]) == ("talk", run)
        assert "node.failed" not in types(found[kind])
    recorded = "weftwork.envelope.recorded"
    asked = found[ASKS]
    assert types(asked) == [recorded, "interrupt.requested", "clarification.requested", "node.suspended"]
    assert asked[1]["payload"]["kind"] == "clarification"
    assert schema.check("suspend-request", asked[1]["payload"]) == []
    assert [event["payload"]["level"] for event in found["error"] if event["type"] == "log.appended"] == ["error"]
    for kind in ("schema.request", "schema.response"):
        assert [event["payload"]["level"] for event in found[kind][1:]] == ["debug"]
    assert types(found[VENDOR]) == [recorded]


@pytest.mark.rule("env-32")
def test_questions_of_one_node_are_told_apart(host: Host) -> None:
    run = run_id()
    for _ in range(3):
        accept_envelope(host, envelope(ASKS), projectTo={"runId": run, "nodeId": "talk"})
    accept_envelope(host, envelope(ASKS), projectTo={"runId": run, "nodeId": "other"})
    asked = events_in_test_log(host, run, "?type=interrupt.requested")
    assert [event["interruptId"] for event in asked] == ["talk.1", "talk.2", "talk.3", "other.1"]


@pytest.mark.rule("env-35")
def test_only_a_missing_envelope_is_an_error(host: Host) -> None:
    for body in ({}, {"projectTo": {"runId": "r"}}):
        answer = host.call("POST", ACCEPT, body)
        assert (answer.status, answer.document["error"]["code"]) == (400, "invalid_argument")
        assert schema.check("seam-refusal", answer.document) == []
    answer = host.call("POST", ACCEPT, [1])
    assert (answer.status, answer.document["error"]) == (400, "validation_error")
    assert host.call("POST", ACCEPT, {"envelope": None}).status == 200
