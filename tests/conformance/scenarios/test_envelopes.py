"""Scenarios of the envelope family, through the test endpoint of the gate and as documents that the host serves."""

import json
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest

from tests.live import OTHER_KEY, Host
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
from weftwork.protocol.json import schema

CLARIFICATION = "clarification.request"
SURFACE = "ui.a2ui-surface"
KINDS = (*UNIVERSAL, "media.image", "media.audio", "media.file", SURFACE)
SECRET = "sk-canary-0123456789abcdef"
CANARIES = [{"value": SECRET, "secretId": "model-key"}]
MARKER = "[REDACTED:model-key]"
CONFLICT = "envelope_correlation_conflict"


def discovery(host: Host) -> dict[str, Any]:
    return host.call("GET", "/.well-known/openwop", key=None).document


def kind_schema(host: Host, kind: str) -> dict[str, Any]:
    answer = host.call("GET", f"/schemas/envelopes/{kind}.schema.json", key=None)
    assert answer.status == 200, answer.body
    return answer.document


def objects_in(value: Any) -> Iterator[dict[str, Any]]:
    """Every object of a JSON value."""
    if isinstance(value, dict):
        yield value
        for each in value.values():
            yield from objects_in(each)
    elif isinstance(value, list):
        for each in value:
            yield from objects_in(each)


def nesting(schema: Any) -> int:
    """The number of levels of a schema without references."""
    if not isinstance(schema, dict):
        return 0
    inner = [*schema.get("properties", {}).values(), schema.get("items"), *schema.get("anyOf", ())]
    return 1 + max(map(nesting, inner), default=0)


def surface(*components: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {"catalogVersion": "0.9.1", "surface": {"components": list(components)}, **members}


BUTTON = {"component": "action.button", "id": "send", "label": "Send", "action": {"target": "resume"}}


@pytest.mark.scenario("ai-envelope-shape")
def test_ai_envelope_shape(host: Host) -> None:
    assert all(isinstance(kind, str) for kind in discovery(host)["supportedEnvelopes"])
    outer = host.call("GET", "/schemas/ai-envelope.schema.json", key=None).document
    for served in (outer, *(kind_schema(host, kind) for kind in UNIVERSAL)):
        jsonschema_rs.meta.validate(served)
        jsonschema_rs.validator_for(served)
    assert accept_envelope(host, envelope("error"))["status"] == "accepted"
    for bad in ({**envelope("error"), "extra": 1}, {"type": "error"}, envelope("error", schemaVersion="1.0")):
        outcome = accept_envelope(host, bad)
        assert outcome["status"] == "invalid"
        assert outcome["details"]
    gated = accept_envelope(host, envelope(VENDOR), hostSupportedEnvelopes=list(UNIVERSAL))
    assert (gated["status"], set(gated["allowedKinds"])) == ("gated", set(UNIVERSAL))
    full = {"envelopesPerTurn": {"current": 32, "cap": 32}}
    assert accept_envelope(host, envelope("error"), counters=full)["status"] == "breached"
    for trust in ("trusted", "untrusted"):
        outcome = accept_envelope(host, envelope("error", meta={"contentTrust": trust}))
        assert outcome["normalizedMeta"]["contentTrust"] == trust
    assert "ISO 8601" in accept_envelope(host, envelope("error", meta={"ts": "yesterday"}))["reason"]
    assert accept_envelope(host, envelope("error"), nodeAllowedKinds=[VENDOR])["status"] == "accepted"


@pytest.mark.scenario("aiEnvelope.universalKinds")
def test_universal_kinds(host: Host) -> None:
    assert set(UNIVERSAL) <= set(discovery(host)["supportedEnvelopes"])
    types: dict[str, list[str]] = {}
    for kind in UNIVERSAL:
        run = run_id()
        assert accept_envelope(host, envelope(kind), projectTo={"runId": run, "nodeId": "n"})["status"] == "accepted"
        types[kind] = [event["type"] for event in events_in_test_log(host, run)]
    assert types[CLARIFICATION].count("interrupt.requested") == 1
    assert "log.appended" in types["error"]
    assert "node.failed" not in types["error"]
    assert "log.appended" in types["schema.request"]
    missing = accept_envelope(host, envelope(CLARIFICATION, payload={}))
    assert missing["status"] == "invalid"
    assert missing["details"]
    assert discovery(host)["aiEnvelope"]["schemaResponseCounterPolicy"] in ("counted", "exempt")


@pytest.mark.scenario("aiEnvelope.schemaDrift")
def test_schema_drift(host: Host) -> None:
    document = discovery(host)
    assert document["envelopeStrictness"] in ("warn", "strict")
    assert document["schemaVersions"]
    floor: dict[str, Any] = {"schemaVersionFloor": {"error": 2}}
    run = run_id()
    below = envelope("error", schemaVersion=1)
    drifted = accept_envelope(host, below, envelopeStrictness="warn", projectTo={"runId": run}, **floor)
    assert drifted["status"] == "accepted"
    assert any(span["attributes"].get("envelope_schema_version_drift") for span in spans(host, run))
    for version, strictness in ((1, "strict"), (3, "warn"), (3, "strict")):
        document = envelope("error", schemaVersion=version)
        outcome = accept_envelope(host, document, envelopeStrictness=strictness, **floor)
        assert outcome["status"] == "invalid"
        assert "unknown_schema_version" in outcome["reason"]
        assert "/schemaVersion" in [each["instancePath"] for each in outcome["details"]]


@pytest.mark.scenario("aiEnvelope.correlationReplay")
def test_correlation_replay(host: Host) -> None:
    run, first = run_id(), envelope("error")
    store: dict[str, Any] = {"persistedDedup": {"runId": run}, "projectTo": {"runId": run}}
    outcome = accept_envelope(host, first, **store)
    events = events_in_test_log(host, run)
    again = accept_envelope(host, {**first, "envelopeId": "another-id"}, **store)
    assert again["envelopeId"] == outcome["envelopeId"] == first["envelopeId"]
    assert events_in_test_log(host, run) == events
    assert all(event["causationId"] == first["correlationId"] for event in events)
    other = {**first, "type": "schema.request", "payload": PAYLOADS["schema.request"]}
    assert CONFLICT in accept_envelope(host, other, **store)["reason"]
    planted = {"correlationId": first["correlationId"], "envelopeType": "error", "outcome": {"status": "gated"}}
    assert accept_envelope(host, first, priorCorrelations=[planted])["status"] == "gated"


@pytest.mark.scenario("aiEnvelope.contractRefusal")
def test_contract_refusal(host: Host) -> None:
    run = run_id()
    contract: dict[str, Any] = {"nodeAllowedKinds": ["vendor.acme.other"]}
    refused = accept_envelope(host, envelope(VENDOR), projectTo={"runId": run, "nodeId": "n"}, **contract)
    assert refused["status"] == "gated"
    assert "vendor.acme.other" in refused["allowedKinds"]
    assert accept_envelope(host, envelope("error"), **contract)["status"] == "accepted"
    (failed,) = events_in_test_log(host, run, "?type=node.failed")
    error = failed["payload"]["error"]
    assert (error["code"], error["details"]["refusedType"]) == ("envelope_contract_violation", VENDOR)
    assert error["details"]["acceptedTypes"] == refused["allowedKinds"]
    host_first = accept_envelope(host, envelope(VENDOR), hostSupportedEnvelopes=list(UNIVERSAL), **contract)
    assert host_first["gate"]["code"] == "unknown_envelope_kind"
    lenient = run_id()
    target = {"runId": lenient, "nodeId": "n", "refusalMode": "discard-and-warn"}
    accept_envelope(host, envelope(VENDOR), projectTo=target, **contract)
    assert not events_in_test_log(host, lenient, "?type=node.failed")
    assert [each["payload"]["level"] for each in events_in_test_log(host, lenient, "?type=log.appended")] == ["warn"]
    toggle, key = {"name": "host.aiEnvelope.supported", "value": False}, OTHER_KEY
    assert host.call("POST", f"{TEST}/capability-toggle", toggle, key=key).status == 200
    stacked = accept_envelope(host, envelope(VENDOR), key, hostSupportedEnvelopes=list(UNIVERSAL), **contract)
    assert (stacked["status"], stacked["reason"]) == ("invalid", "capability_required")
    assert host.call("POST", f"{TEST}/capability-toggle", {**toggle, "value": None}, key=key).status == 200
    assert accept_envelope(host, envelope(VENDOR), key, **contract)["status"] == "gated"


@pytest.mark.scenario("aiEnvelope.trustBoundaryPropagation", "a2ui-untrusted-blocks-approval")
def test_trust_boundary_propagation(host: Host) -> None:
    run, untrusted = run_id(), {"contentTrust": "untrusted"}
    gates: list[dict[str, Any]] = [{"approvalGateContext": True}, {"boundInterruptKind": "approval"}]
    accept_envelope(host, envelope(CLARIFICATION, meta=untrusted), projectTo={"runId": run, "nodeId": "n"})
    (asked,) = events_in_test_log(host, run, "?type=interrupt.requested")
    assert asked["contentTrust"] == "untrusted"
    for kind in (CLARIFICATION, SURFACE):
        for gate in gates:
            for meta, boundary in ((untrusted, {}), (None, {"runTrustBoundary": "untrusted"})):
                refused = accept_envelope(host, envelope(kind, meta=meta), **gate, **boundary)
                assert (refused["status"], refused["reason"]) == ("invalid", "untrusted_content_blocks_approval")
            assert accept_envelope(host, envelope(kind), **gate)["status"] == "accepted"
        assert accept_envelope(host, envelope(kind, meta=untrusted))["status"] == "accepted"
    explicit = accept_envelope(host, envelope("error", meta={"contentTrust": "trusted"}), runTrustBoundary="untrusted")
    assert explicit["normalizedMeta"]["contentTrust"] == "trusted"
    body = {"payload": {"text": "hello"}, "eventType": CLARIFICATION, **untrusted}
    wrapped = host.call("POST", f"{TEST}/llm-prompt-wrap", body).document["prompt"]
    assert wrapped.startswith("<UNTRUSTED ")
    assert wrapped.endswith("</UNTRUSTED>")
    assert f'type="{CLARIFICATION}"' in wrapped
    assert "hello" in wrapped


@pytest.mark.scenario("envelope-reasoning-secret-redaction")
def test_reasoning_secret_redaction(host: Host) -> None:
    run, target = run_id(), {"nodeId": "n"}
    payload = {"reasoning": f"the key is {SECRET}", "code": "c", "message": SECRET}
    outcome = accept_envelope(
        host, envelope("error", payload), byokCanaries=CANARIES, projectTo={"runId": run, **target}
    )
    assert (outcome["status"], outcome["redactionCount"]) == ("accepted", 2)
    assert outcome["redactedPayload"]["reasoning"] == f"the key is {MARKER}"
    clean = {"reasoning": "no key", **PAYLOADS["error"]}
    unchanged = accept_envelope(host, envelope("error", clean), byokCanaries=CANARIES)
    assert (unchanged["redactionCount"], unchanged["redactedPayload"]) == (0, clean)
    other = run_id()
    accept_envelope(host, envelope("error", {"code": "c", "message": "m"}), projectTo={"runId": other, **target})
    types = [[event["type"] for event in events_in_test_log(host, each)] for each in (run, other)]
    assert types[0] == types[1]
    bundle = host.call("POST", f"{TEST}/debug-bundle/export", {"runId": run}).document
    assert SECRET not in json.dumps([outcome, events_in_test_log(host, run), spans(host, run), bundle])


@pytest.mark.scenario("aiEnvelope.redaction")
def test_redaction(host: Host) -> None:
    run = run_id()
    payload = {"reasoning": SECRET, "code": "c", "message": SECRET, "details": {"deep": [{"text": f"x {SECRET} y"}]}}
    outcome = accept_envelope(host, envelope("error", payload), byokCanaries=CANARIES, projectTo={"runId": run})
    assert (outcome["status"], outcome["redactionCount"]) == ("accepted", 3)
    assert outcome["redactedPayload"]["reasoning"] == MARKER
    assert outcome["redactedPayload"]["details"] == {"deep": [{"text": f"x {MARKER} y"}]}
    clean = accept_envelope(host, envelope("error"), byokCanaries=CANARIES)
    assert (clean["redactionCount"], clean["redactedPayload"]) == (0, PAYLOADS["error"])
    marked = envelope("error", {"code": "c", "message": MARKER})
    assert accept_envelope(host, marked, byokCanaries=CANARIES)["status"] == "accepted"
    invalid = accept_envelope(host, envelope("error", {"code": 5, "message": SECRET}), byokCanaries=CANARIES)
    assert invalid["status"] == "invalid"
    bundle = host.call("POST", f"{TEST}/debug-bundle/export", {"runId": run}).document
    shown = json.dumps([outcome, invalid, events_in_test_log(host, run), spans(host, run), bundle])
    assert SECRET not in shown


@pytest.mark.scenario("aiEnvelope.capBreached")
def test_cap_breached(host: Host) -> None:
    limits = discovery(host)["limits"]
    kinds = {
        "envelopesPerTurn": ("error", "envelopes"),
        "schemaRounds": ("schema.request", "schema"),
        "clarificationRounds": (CLARIFICATION, "clarification"),
    }
    for name, (kind, cap_kind) in kinds.items():
        assert isinstance(limits[name], int)
        run, document = run_id(), envelope(kind)
        counters = {name: {"current": 4, "cap": 4}}
        outcome = accept_envelope(host, document, counters=counters, projectTo={"runId": run, "nodeId": "n"})
        assert (outcome["status"], outcome["capKind"]) == ("breached", cap_kind)
        assert f"{name} cap (4)" in outcome["reason"]
        (breach,) = events_in_test_log(host, run, "?type=cap.breached")
        assert (breach["payload"]["kind"], breach["payload"]["limit"]) == (cap_kind, 4)
        assert breach["payload"]["observed"] > 4
        assert breach["payload"].get("nodeId") == (None if cap_kind == "envelopes" else "n")
        assert breach["causationId"] == document["correlationId"]
        (failed,) = events_in_test_log(host, run, "?type=node.failed")
        assert failed["payload"]["error"]["code"] == "cap_breached"


@pytest.mark.scenario("envelope-reasoning-shape")
def test_reasoning_shape(host: Host) -> None:
    for kind in UNIVERSAL:
        declared = kind_schema(host, kind)["properties"].get("reasoning")
        if kind == "schema.response":
            assert declared is None
            continue
        assert declared["type"] == "string"
        with_reasoning = envelope(kind, {"reasoning": "because", **PAYLOADS[kind]})
        assert accept_envelope(host, with_reasoning)["status"] == "accepted"
        assert accept_envelope(host, envelope(kind))["status"] == "accepted"
        assert accept_envelope(host, envelope(kind, {"reasoning": 5, **PAYLOADS[kind]}))["status"] == "invalid"
    assert discovery(host)["envelopes"]["reasoning"]["supported"] is True


@pytest.mark.scenario("envelope-tier-one-subset-static")
def test_tier_one_subset(host: Host) -> None:
    forbidden = {"oneOf", "allOf", "not", "if", "then", "else", "dependencies", "prefixItems", "propertyNames"}
    for kind in UNIVERSAL:
        for each in objects_in(kind_schema(host, kind)):
            assert not forbidden & each.keys(), kind
        assert 2 <= nesting(kind_schema(host, kind)) <= 5, kind
    assert discovery(host)["envelopes"]["tierOneSubsetCompliance"] in ("strict", "warn", "off")


@pytest.mark.scenario("envelope-variant-discriminator-static")
def test_variant_discriminator(host: Host) -> None:
    for kind in KINDS:
        schema = kind_schema(host, kind)
        for each in objects_in(schema):
            assert "oneOf" not in each
            for branch in each.get("anyOf", ()):
                target = branch
                if "$ref" in branch:
                    assert branch["$ref"].startswith("#/$defs/")
                    target = schema["$defs"][branch["$ref"].removeprefix("#/$defs/")]
                names = [name for name, member in target["properties"].items() if len(member.get("enum", ())) == 1]
                assert set(names) & set(target["required"]), (kind, target)


@pytest.mark.scenario("envelope-rendering-hint")
def test_rendering_hint(host: Host) -> None:
    hint = {"display": "image", "mimeType": "image/png", "lang": "en", "alt": "A chart", "title": "Chart"}
    for good in (hint, {}, {"display": "markdown"}):
        assert accept_envelope(host, envelope("error", meta={"rendering": good}))["status"] == "accepted"
    for bad in ({"display": "a2ui"}, {"display": "video"}, {"more": 1}, "image"):
        assert accept_envelope(host, envelope("error", meta={"rendering": bad}))["status"] == "invalid"


@pytest.mark.scenario("a2ui-surface-shape")
def test_surface_shape(host: Host) -> None:
    field = {"component": "field.text", "id": "name", "label": "Name", "required": True}
    choice = {"component": "field.select", "id": "c", "label": "C", "options": [{"value": "a", "label": "A"}]}
    assert accept_envelope(host, envelope(SURFACE, surface(field, choice, BUTTON)))["status"] == "accepted"
    other_target = {**BUTTON, "action": {"target": "open"}}
    smuggled = {**BUTTON, "action": {"target": "resume", "url": "https://evil.example/"}}
    for bad in (other_target, smuggled, {"component": "script", "text": "x"}, {**choice, "options": []}):
        assert accept_envelope(host, envelope(SURFACE, surface(bad)))["status"] == "invalid", bad
    assert accept_envelope(host, envelope(SURFACE, {"surface": {"components": []}}))["status"] == "invalid"
    assert accept_envelope(host, envelope(SURFACE, surface(extra=1)))["status"] == "invalid"


@pytest.mark.scenario("a2ui-surface-degrades")
def test_surface_degrades(host: Host) -> None:
    without = accept_envelope(host, envelope(SURFACE), hostSupportedEnvelopes=list(UNIVERSAL))
    assert without["status"] == "gated"
    assert accept_envelope(host, envelope(SURFACE), nodeAllowedKinds=[VENDOR])["status"] == "gated"


@pytest.mark.scenario("a2ui-surface-version-refusal")
def test_surface_version_refusal(host: Host) -> None:
    schema = kind_schema(host, SURFACE)
    assert schema["properties"]["catalogVersion"]["enum"] == ["0.9.1"]
    references = [each["$ref"] for each in objects_in(schema) if isinstance(each.get("$ref"), str)]
    assert references
    assert all(each.startswith("#/") for each in references)
    other = accept_envelope(host, envelope(SURFACE, {**surface(BUTTON), "catalogVersion": "9.9.9"}))
    assert other["status"] == "invalid"


@pytest.mark.scenario("a2ui-surface-replay")
def test_surface_replay(host: Host) -> None:
    first = envelope(SURFACE)
    assert accept_envelope(host, first)["status"] == "accepted"
    other = accept_envelope(host, {**first, "type": "error", "payload": PAYLOADS["error"]})
    assert (other["status"], CONFLICT in other["reason"]) == ("invalid", True)


@pytest.mark.scenario("aiproviders-input-shape", "callai-multimodal")
def test_model_input(host: Host) -> None:
    offered = discovery(host)["aiProviders"]["input"]
    assert set(offered) == {"modalities", "maxBytesPerPart"}
    assert set(offered["modalities"]) <= {"text", "image", "audio", "document"}
    assert offered["maxBytesPerPart"] >= 1
    parts = {
        "image": {"type": "image", "mimeType": "image/png", "dataBase64": "iVBORw0KGgo="},
        "audio": {"type": "audio", "mimeType": "audio/mp3", "dataBase64": "AAAA"},
        "document": {"type": "file", "mimeType": "application/pdf", "dataBase64": "JVBERi0="},
        "video": {"type": "video", "mimeType": "video/mp4", "dataBase64": "AAAA"},
    }
    for modality, part in parts.items():
        answer = host.call("POST", "/v1/host/sample/ai/call", {"messages": [{"role": "user", "content": [part]}]})
        if modality in offered["modalities"]:
            assert answer.status == 200, answer.body
        else:
            assert (answer.status, answer.document["error"]) == (400, "unsupported_modality")
    empty = host.call("POST", "/v1/host/sample/ai/call", {"messages": []})
    assert (empty.status, empty.document["error"]) == (400, "validation_error")


@pytest.mark.scenario("media-url-inline-cap")
def test_media_url_and_inline_cap(host: Host) -> None:
    assert isinstance(discovery(host)["aiProviders"]["maxInlineMediaBytes"], int)
    body = {"contentBase64": "iVBORw0KGgo=", "contentType": "image/png"}
    put = host.call("POST", "/v1/host/sample/media/put", body)
    assert put.status == 201
    assert "/v1/host/sample/assets/" in put.document["url"]
    path = put.document["url"][put.document["url"].index("/v1/") :]
    served = host.call("GET", path, key=None)
    assert (served.status, len(served.body)) == (200, put.document["bytes"])
    assert host.call("GET", "/v1/host/sample/assets/never-minted", key=None).status == 404
    emitted = host.create("conformance-media-emit")
    events = host.log(emitted)
    assert [event for event in events if event["type"].startswith("media.")]
    for kind in ("media.image", "media.audio", "media.file"):
        assert kind_schema(host, kind)["required"] == ["bytes"]
    bundle = host.call("GET", f"/v1/runs/{emitted}/debug-bundle").document
    found = [each for each in objects_in(bundle["events"]) if "base64" in each]
    assert found == []


@pytest.mark.scenario("provider-usage")
def test_provider_usage(host: Host) -> None:
    """One event for each call of a model, with counts and without anything of the request."""
    secret = "sk-proj-0123456789abcdefghijklmn"
    override = {"conformance.stream-text-noop": f"Use {secret}"}
    run = host.create("conformance-stream-text", configurable={"promptOverrides": override})
    events = host.log(run)
    answered = [event for event in events if event["type"] == "weftwork.model.answered"]
    usage = [event["payload"] for event in events if event["type"] == "provider.usage"]
    assert len(usage) == len(answered) == 1
    for each in usage:
        assert schema.check_payload("provider.usage", each) == []
        assert {"provider", "model", "inputTokens", "outputTokens"} <= set(each)
        assert min(each["inputTokens"], each["outputTokens"]) >= 0
        assert secret not in json.dumps(each)
        assert not {name for name in each if "credential" in name.lower() or "key" in name.lower()}


@pytest.mark.scenario("envelope-refusal-shape")
def test_reliability_events(host: Host) -> None:
    path = f"{TEST}/emit-envelope-reliability"
    payload = {"nodeId": "n", "provider": "p", "model": "m", "refusalText": None}
    run = run_id()
    good = host.call("POST", path, {"runId": run, "type": "envelope.refusal", "payload": payload})
    assert (good.status, good.document["event"]["type"]) == (200, "envelope.refusal")
    leak = {**payload, "credentialRef": "x"}
    refused = host.call("POST", path, {"runId": run, "type": "envelope.refusal", "payload": leak})
    assert (refused.status, refused.document["error"]["code"]) == (400, "envelope_reliability_credential_leak")
    missing = host.call("POST", path, {"runId": run, "type": "envelope.refusal", "payload": {"nodeId": "n"}})
    assert (missing.status, missing.document["error"]["code"]) == (400, "invalid_argument")
    reliability = discovery(host)["envelopes"]["reliability"]
    assert {"envelope.retry.exhausted", "envelope.refusal"} <= set(reliability["events"])
    assert host.call("POST", ACCEPT, {}).document["error"]["code"] == "invalid_argument"
