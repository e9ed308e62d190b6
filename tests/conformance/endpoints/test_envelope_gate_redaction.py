"""The seam on the gate: no secret leaves it, whatever becomes of the envelope; and trust is told from content."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.harness.cases import each_case
from tests.harness.definitions import node
from tests.live import Host, InProcessHost, open_in_process, start_host
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
from tests.live.steering import await_status, flow, register
from weftwork.protocol.envelopes import gate as acceptor
from weftwork.protocol.envelopes.accept_request import MAX_SECRETS
from weftwork.protocol.envelopes.outcome import Invalid

SECRET, OTHER_SECRET = "sk-canary-7f3a9b", "sk-canary-other-551"
CANARIES = [{"value": SECRET, "secretId": "openai"}, {"value": OTHER_SECRET, "secretId": "acme"}]
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


def test_each_secret_has_its_marker_and_old_ones_stay(host: Host) -> None:
    payload = {"code": "x", "message": f"{OTHER_SECRET} {SECRET} [REDACTED:older]", "details": {"a": [MARK, SECRET]}}
    outcome = accept_envelope(host, envelope("error", payload), byokCanaries=CANARIES)
    assert outcome["redactionCount"] == 3
    shown = {"code": "x", "message": f"{OTHER_MARK} {MARK} [REDACTED:older]", "details": {"a": [MARK, MARK]}}
    assert outcome["redactedPayload"] == shown


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


@each_case(
    "own, boundary, stands",
    (None, "untrusted", "untrusted"),
    (None, "odd", "trusted"),
    ("trusted", "untrusted", "trusted"),
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


PLAN = {"type": "object", "required": ["steps"], "properties": {"steps": {"type": "array"}}}
OTHER = {"type": "object"}
RECORDED = "weftwork.envelope.recorded"


def speaking(name: str, **contract: Any) -> dict[str, Any]:
    """One node that asks a model for a plan."""
    config = {"envelopeType": VENDOR, "userMessage": "Plan.", "provider": "mock", "model": "mock-mini"}
    kinds = {VENDOR: {"schema": PLAN}, "vendor.acme.other": {"schema": OTHER}}
    talk = node("talk", "core.ai.generateEnvelope", config=config)
    if contract:
        talk["envelopeContract"] = contract
    return flow(name, [talk], metadata={"envelopeKinds": kinds})


def program(*envelopes: dict[str, Any]) -> dict[str, Any]:
    return {"nodeId": "talk", "program": [{"content": json.dumps(each)} for each in envelopes]}


def events_of(host: Host, run: str) -> list[Any]:
    path = f"/v1/runs/{run}/events?streamMode=debug"
    return host.call("GET", path, headers={"Accept": "application/json"}).document["events"]


LIVE: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    ("plan", envelope(VENDOR), {}, "completed"),
    ("asks", envelope("clarification.request"), {}, "waiting-input"),
    ("error", envelope("error"), {}, "completed"),
    ("gated", envelope("vendor.acme.other", {"x": 1}), {"accepts": [VENDOR], "refusalMode": "fail-node"}, "failed"),
]


@pytest.mark.rule("env-32")
@pytest.mark.parametrize(("name", "document", "contract", "status"), LIVE, ids=[each[0] for each in LIVE])
def test_what_is_projected_is_what_a_run_records(
    host: Host, name: str, document: dict[str, Any], contract: dict[str, Any], status: str
) -> None:
    assert host.call("POST", f"{TEST}/mock-ai/program", program(document)).status == 200
    run = host.create(register(host, speaking(f"speaks-{name}", **contract)))
    await_status(host, run, status)
    record = next(event for event in events_of(host, run) if event["type"] == RECORDED)
    live = [event for event in events_of(host, run) if event.get("causationId") == record["causationId"]]
    assert live[0] == record
    # In a run ids are made by the engine.
    document = {**document, **{name: record["payload"][name] for name in ("correlationId", "envelopeId")}}
    other = run_id()
    body = {"nodeAllowedKinds": contract["accepts"]} if contract else {}
    accept_envelope(host, document, projectTo={"runId": other, "nodeId": "talk"}, **body)
    seen = events_in_test_log(host, other)
    alike, real = ([event for event in each if event["type"] != "node.failed"] for each in (seen, live))
    shown = [(event["type"], event["payload"], event["contentTrust"]) for event in alike]
    assert shown == [(event["type"], event["payload"], event["contentTrust"]) for event in real]
    failed = [event["payload"]["error"] for event in seen if event["type"] == "node.failed"]
    assert failed == [event["payload"]["error"] for event in live if event["type"] == "node.failed"]
    assert bool(failed) is (status == "failed")


@pytest.mark.rule("env-36")
def test_the_record_of_a_real_run_counts_and_outlives_the_process(tmp_path: Path) -> None:
    document = envelope(VENDOR)
    with start_host(tmp_path, "--test-seams") as host:
        assert host.call("POST", f"{TEST}/mock-ai/program", program(document)).status == 200
        run = host.create(register(host, speaking("recorded")))
        await_status(host, run, "completed")
        before = events_of(host, run)
        host.kill()
    record = next(event["payload"] for event in before if event["type"] == RECORDED)
    document = {**document, **{name: record[name] for name in ("correlationId", "envelopeId")}}
    again = {**document, "envelopeId": "another", "payload": {"steps": []}}
    conflict = {**document, "type": "error", "payload": PAYLOADS["error"]}
    with start_host(tmp_path, "--test-seams") as host:
        body = {"persistedDedup": {"runId": run}, "hostSupportedEnvelopes": [], "byokCanaries": []}
        outcome = accept_envelope(host, again, **body)
        assert (outcome["status"], outcome["envelopeId"]) == ("accepted", document["envelopeId"])
        assert outcome["redactedPayload"] == document["payload"]
        assert "envelope_correlation_conflict" in accept_envelope(host, conflict, **body)["reason"]
        assert accept_envelope(host, again, key="key-of-other", **body)["status"] == "gated"
        assert (
            accept_envelope(host, envelope(VENDOR), projectTo={"runId": run}, persistedDedup={"runId": run})["status"]
            == "accepted"
        )
        assert events_of(host, run) == before


async def both(inside: InProcessHost) -> tuple[str, str]:
    """How the seam and a run judge an envelope."""
    document = envelope(VENDOR)
    outcome = await inside.call("POST", ACCEPT, {"envelope": document})
    await inside.call("POST", f"{TEST}/mock-ai/program", program(*[document] * 8))
    created = await inside.call("POST", "/v1/runs", {"workflowId": "both"})
    run = created.document["runId"]
    while True:
        found = (await inside.call("GET", f"/v1/runs/{run}")).document
        if found["status"] in ("completed", "failed"):
            return outcome.document["status"], found["status"]
        await asyncio.sleep(0.01)


async def test_a_gate_that_is_broken_is_broken_for_both(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> list[tuple[str, str]]:
        async with open_in_process(speaking("both"), test_seams=True) as inside:
            whole = await both(inside)
            refusal = Invalid("envelope_invalid", "sabotage")
            steps = (*acceptor.STEPS, ("sabotage", lambda case: refusal))
            monkeypatch.setattr(acceptor, "STEPS", steps)
            return [whole, await both(inside)]

    assert (await work()) == [("accepted", "completed"), ("invalid", "failed")]
