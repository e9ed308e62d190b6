"""The seam beside the live path: the same envelope, the same judgement, the same events."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.harness.definitions import node
from tests.live import Host, InProcessHost, open_in_process, start_host
from tests.live.envelopes import ACCEPT, PAYLOADS, TEST, VENDOR, accept_envelope, envelope, events_in_test_log, run_id
from tests.live.steering import await_status, flow, register
from weftwork.protocol.envelopes import gate as acceptor
from weftwork.protocol.envelopes.outcome import Invalid

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
