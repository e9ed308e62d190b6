"""The seam on the gate remembers: outcomes that are planted, recorded for a run, or were seen before."""

from typing import Any

import pytest

from tests.harness.cases import each_case
from tests.live import OTHER_KEY, TEST_KEY, Host, open_in_process
from tests.live.envelopes import ACCEPT, PAYLOADS, TEST, VENDOR, accept_envelope, envelope, events_in_test_log, run_id
from weftwork.conformance.endpoints import envelopes
from weftwork.conformance.endpoints.envelopes import BoundedMap

CONFLICT = "envelope_correlation_conflict"
PLANTED: list[dict[str, Any]] = [
    {"status": "accepted", "recordedEventIds": ["x"], "envelopeId": "the-first", "more": {"odd": [1]}},
    {"status": "gated", "reason": "r", "allowedKinds": []},
    {"status": "breached", "reason": "r", "capKind": "envelopes"},
    {"status": "invalid", "reason": "r", "details": []},
]


def plant(document: dict[str, Any], outcome: Any, kind: str | None = None) -> list[Any]:
    found = {"correlationId": document["correlationId"], "outcome": outcome, "envelopeType": kind or document["type"]}
    return [{"correlationId": "another", "outcome": {}, "envelopeType": "error"}, found]


@pytest.mark.rule("env-36")
@pytest.mark.parametrize("outcome", PLANTED, ids=lambda each: each["status"])
def test_a_planted_outcome_comes_back_as_it_is(host: Host, outcome: dict[str, Any]) -> None:
    document, run = envelope("error"), run_id()
    assert (
        accept_envelope(host, document, priorCorrelations=plant(document, outcome), projectTo={"runId": run}) == outcome
    )
    assert events_in_test_log(host, run) == []
    other = accept_envelope(host, document, priorCorrelations=plant(document, outcome, "schema.request"))
    assert (other["status"], CONFLICT in other["reason"]) == ("invalid", True)


@each_case("prior",
        None, 5, {}, "x", [None, 5, "x", [], {}],
        [{"correlationId": 5, "outcome": {"status": "gated"}, "envelopeType": "error"}],
        [{"correlationId": "ID", "outcome": 5, "envelopeType": "error"}],
        [{"correlationId": "ID", "outcome": {}, "envelopeType": "error"}],
        [{"correlationId": "ID", "outcome": {"status": "gated"}, "envelopeType": None}],
)  # fmt: skip
def test_what_is_planted_badly_is_not_there(host: Host, prior: Any) -> None:
    document = envelope("error")
    for each in prior if isinstance(prior, list) else ():
        if isinstance(each, dict) and each.get("correlationId") == "ID":
            each["correlationId"] = document["correlationId"]
    assert accept_envelope(host, document, priorCorrelations=prior)["status"] == "accepted"


@pytest.mark.rule("env-36")
def test_an_id_that_was_seen_conflicts_with_another_kind_and_bends_no_other_judgement(host: Host) -> None:
    first = envelope("ui.a2ui-surface")
    assert accept_envelope(host, first)["status"] == "accepted"
    again = {**first, "envelopeId": "another"}
    assert accept_envelope(host, again) == accept_envelope(host, first)
    assert accept_envelope(host, again)["envelopeId"] == first["envelopeId"]
    other = accept_envelope(host, {**first, "type": "error", "payload": PAYLOADS["error"]})
    assert (other["status"], CONFLICT in other["reason"]) == ("invalid", True)
    """The same id in calls with other rules: each is judged by its own."""
    document = envelope("clarification.request")
    assert accept_envelope(host, document)["status"] == "accepted"
    counters = {"clarificationRounds": {"current": 3, "cap": 3}}
    assert accept_envelope(host, document, counters=counters)["status"] == "breached"
    assert (
        accept_envelope(host, document, approvalGateContext=True, runTrustBoundary="untrusted")["status"] == "invalid"
    )
    meta = {**document["meta"], "contentTrust": "untrusted"}
    assert accept_envelope(host, {**document, "meta": meta})["normalizedMeta"] == {"contentTrust": "untrusted"}
    assert accept_envelope(host, document)["normalizedMeta"] == {"contentTrust": "trusted"}


def test_an_invalid_envelope_leaves_its_id_free(host: Host) -> None:
    document = envelope("error", payload={})
    assert accept_envelope(host, document)["status"] == "invalid"
    assert (
        accept_envelope(host, {**document, "type": "schema.request", "payload": PAYLOADS["schema.request"]})["status"]
        == "accepted"
    )


@pytest.mark.rule("env-36")
def test_a_run_keeps_its_first_outcome_also_a_refusal_and_writes_its_events_once(host: Host) -> None:
    run, document = run_id(), envelope(VENDOR)
    body: dict[str, Any] = {"persistedDedup": {"runId": run}}
    first = accept_envelope(host, document, projectTo={"runId": run, "nodeId": "talk"}, **body)
    events = events_in_test_log(host, run)
    assert first["status"] == "accepted"
    again = {**document, "envelopeId": "another", "payload": {"steps": ["other"]}}
    assert accept_envelope(host, again, projectTo={"runId": run, "nodeId": "talk"}, **body) == first
    assert accept_envelope(host, again, hostSupportedEnvelopes=[], **body) == first
    assert accept_envelope(host, again, counters={"envelopesPerTurn": {"current": 9, "cap": 1}}, **body) == first
    planted = plant(document, {"status": "gated"})
    assert accept_envelope(host, again, priorCorrelations=planted, **body) == first
    assert events_in_test_log(host, run) == events
    other = accept_envelope(host, {**document, "type": "error", "payload": PAYLOADS["error"]}, **body)
    assert (other["status"], CONFLICT in other["reason"]) == ("invalid", True)
    elsewhere: dict[str, Any] = {"persistedDedup": {"runId": run_id()}}
    assert accept_envelope(host, again, hostSupportedEnvelopes=[], **elsewhere)["status"] == "gated"
    counters = {"envelopesPerTurn": {"current": 1, "cap": 1}}
    refusals: list[dict[str, Any]] = [{"hostSupportedEnvelopes": []}, {"counters": counters}]
    for refused in refusals:
        document = envelope(VENDOR)
        body: dict[str, Any] = {"persistedDedup": {"runId": run_id()}}
        first = accept_envelope(host, document, **body, **refused)
        assert first["status"] in ("gated", "breached")
        assert accept_envelope(host, document, **body) == first
    run, document = run_id(), envelope("clarification.request")
    first = accept_envelope(host, document, projectTo={"runId": run, "nodeId": "talk"})
    events = events_in_test_log(host, run)
    assert accept_envelope(host, document, projectTo={"runId": run, "nodeId": "talk"}) == first
    assert events_in_test_log(host, run) == events
    other = run_id()
    accept_envelope(host, document, projectTo={"runId": other, "nodeId": "talk"})
    assert [event["type"] for event in events_in_test_log(host, other)] == [event["type"] for event in events]


@pytest.mark.parametrize("key", [OTHER_KEY, TEST_KEY])
def test_nobody_sees_the_memory_of_others(host: Host, key: str) -> None:
    run, document = run_id(), envelope("error")
    body: dict[str, Any] = {"persistedDedup": {"runId": run}, "projectTo": {"runId": run}}
    accept_envelope(host, document, **body)
    other = {**document, "type": "schema.request", "payload": PAYLOADS["schema.request"]}
    assert accept_envelope(host, other, key=key)["status"] == "accepted"
    assert accept_envelope(host, other, key=key, persistedDedup={"runId": run})["status"] == "accepted"
    assert events_in_test_log(host, run, key=key) == []
    assert events_in_test_log(host, run) != []


@pytest.mark.rule("env-34", "env-36")
async def test_a_reset_forgets_everything() -> None:
    async def work() -> list[Any]:
        async with open_in_process(test_seams=True) as inside:
            document = envelope("error")
            other = {**document, "type": "schema.request", "payload": PAYLOADS["schema.request"]}
            body = {"persistedDedup": {"runId": "r"}, "projectTo": {"runId": "r"}}
            await inside.call("POST", ACCEPT, {"envelope": document, **body})
            toggle = {"name": "host.aiEnvelope.supported", "value": False}
            off = await inside.call("POST", f"{TEST}/capability-toggle", toggle)
            refused = await inside.call("POST", ACCEPT, {"envelope": other})
            await inside.call("POST", f"{TEST}/reset", {})
            free = await inside.call("POST", ACCEPT, {"envelope": other, **body})
            events = await inside.call("GET", f"{TEST}/runs/r/events")
            return [off.document, refused.document["reason"], free.document["status"], len(events.document["events"])]

    overlay = {"overlay": {"host.aiEnvelope.supported": False}}
    assert (await work()) == [overlay, "capability_required", "accepted", 2]


def test_the_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(envelopes, "MAX_PAYLOAD_BYTES", 100)
    kept = BoundedMap[int](3)
    for number in range(5):
        kept.put(("p", "r", str(number)), number, 10)
    assert [kept.get(("p", "r", str(number))) for number in range(5)] == [None, None, 2, 3, 4]
    kept.put(("p", "r", "2"), 9, 10)
    assert kept.get(("p", "r", "2")) == 2
    kept.put(("p", "r", "large"), 5, 1000)
    assert (len(kept), kept.get(("p", "r", "large"))) == (1, 5)
    kept.put(("p", "r", "small"), 6, 1)
    assert (len(kept), kept.get(("p", "r", "large")), kept.get(("p", "r", "small"))) == (1, None, 6)
    kept.clear("q")
    assert len(kept) == 1
    kept.clear("p")
    assert len(kept) == 0


def piece(document: dict[str, Any], index: int, last: bool, payload: Any, total: int = -1) -> dict[str, Any]:
    return {**document, "payload": payload, "partial": {"isPartial": not last, "index": index, "total": total}}


@pytest.mark.rule("env-36")
def test_pieces_are_judged_when_they_are_whole(host: Host) -> None:
    """Nothing is recorded before, and no piece is taken for a repeat of another."""
    run, document = run_id(), envelope("error")
    body: dict[str, Any] = {"projectTo": {"runId": run}, "persistedDedup": {"runId": run}}
    texts = ['{"code":"x",', '"message":"sk-can', 'ary-1"}']
    for index in (1, 0):
        outcome = accept_envelope(host, piece(document, index, False, texts[index]), **body)
        assert (outcome["status"], outcome["recordedEventIds"]) == ("accepted", [])
    assert events_in_test_log(host, run) == []
    canaries = [{"value": "sk-canary-1", "secretId": "s"}]
    again = accept_envelope(host, piece(document, 0, False, texts[0]), **body)
    assert (again["status"], again["recordedEventIds"]) == ("accepted", [])
    whole = accept_envelope(host, piece(document, 2, True, texts[2]), byokCanaries=canaries, **body)
    assert (whole["status"], whole["redactionCount"]) == ("accepted", 1)
    assert whole["redactedPayload"] == {"code": "x", "message": "[REDACTED:s]"}
    assert [event["type"] for event in events_in_test_log(host, run)] == ["weftwork.envelope.recorded", "log.appended"]
    assert accept_envelope(host, document, byokCanaries=canaries, **body) == whole
    assert accept_envelope(host, piece(document, 2, True, texts[2]), byokCanaries=canaries, **body) == whole


@each_case(
    "parts",
    [(0, False, '{"code":'), (0, False, "1}")],
    [(0, False, '{"code":'), (1, True, '"x"')],
    [(0, False, {"code": "x"}), (1, True, {"code": 5})],
)
def test_pieces_that_make_no_envelope_are_invalid(host: Host, parts: list[Any]) -> None:
    document, run = envelope("error"), run_id()
    outcomes = [accept_envelope(host, piece(document, *part), projectTo={"runId": run}) for part in parts]
    assert [each["status"] for each in outcomes] == ["accepted", "invalid"]
    assert events_in_test_log(host, run) == []


PARTIALS: list[tuple[Any, str]] = [
    (True, "/partial"),
    (False, "/partial"),
    ({"isPartial": False, "index": "0", "total": 1}, "/partial/index"),
    ({"isPartial": 0, "index": 0, "total": 1}, "/partial/isPartial"),
]


@pytest.mark.rule("env-16")
def test_a_piece_is_held_to_what_can_be_said_of_it(host: Host) -> None:
    document = envelope(VENDOR)
    assert accept_envelope(host, piece(document, 0, False, "x"), hostSupportedEnvelopes=[])["status"] == "gated"
    above = {**piece(document, 1, False, "x"), "schemaVersion": 5}
    assert accept_envelope(host, above, schemaVersionFloor={VENDOR: 1})["status"] == "invalid"
    for partial, place in PARTIALS:
        outcome = accept_envelope(host, {**document, "partial": partial})
        details = [(each["instancePath"], each["keyword"]) for each in outcome["details"]]
        assert (outcome["status"], details) == ("invalid", [(place, "type")])
    assert (
        accept_envelope(host, piece(document, 2, False, "x"), counters={"envelopesPerTurn": {"current": 1, "cap": 1}})[
            "status"
        ]
        == "breached"
    )
