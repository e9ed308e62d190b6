"""The gate, step by step: what passes, what does not and in which words, defaults, and that every step is needed."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import strategies as st

from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import for_all
from tests.protocol.envelopes.sample_envelopes import (
    ABSENT,
    CANARY,
    CONTEXT_WITH_SECRETS,
    PAYLOADS,
    PLAN,
    Json,
    accept_outcome,
    accept_recorded,
    check_no_canary,
    envelope,
    refusal_of,
    rules,
    with_meta,
    with_record,
    with_secrets,
    with_value,
)
from weftwork.protocol.envelopes import checks, gate
from weftwork.protocol.envelopes.accept_request import parse_accept_request
from weftwork.protocol.envelopes.gate import STEPS, GateContext, accept, explain
from weftwork.protocol.envelopes.gate_rules import (
    Counter,
    Counters,
    EnvelopeContract,
    GateRules,
    GateStep,
    RecordedOutcome,
)
from weftwork.protocol.envelopes.kinds import BUILTIN_KINDS, DISPLAY_KINDS, UNIVERSAL_KINDS, KindSet
from weftwork.protocol.envelopes.outcome import Accepted, Breached, EnvelopeOutcome, Gated, Invalid, outcome_document
from weftwork.protocol.envelopes.reassembly import MAX_ID, EnvelopeOrigin, derive_correlation_id, fill_defaults

FULL = Counter(3, 3)
SURFACE = "ui.a2ui-surface"

ID = "run-1:node-1:0"


@pytest.mark.rule("env-02")
@pytest.mark.rule("env-06")
@each_case("kind", *UNIVERSAL_KINDS, *DISPLAY_KINDS)
def test_a_good_envelope_is_accepted(kind: str) -> None:
    outcome = accept_outcome(envelope(kind))
    assert outcome == Accepted(kind, "env-1", "run-1:node-1:0", PAYLOADS[kind], schema_version=1)
    assert outcome_document(outcome) == {
        "status": "accepted",
        "recordedEventIds": [],
        "envelopeId": "env-1",
        "normalizedMeta": {"contentTrust": "trusted"},
        "redactedPayload": PAYLOADS[kind],
        "redactionCount": 0,
    }


@pytest.mark.rule("env-18")
def test_a_host_without_envelopes_takes_none() -> None:
    for document in (envelope(), {}, None):
        refusal = refusal_of(document, rules(envelopes_supported=False))
        assert refusal == Invalid("capability_required", "capability_required")


@pytest.mark.rule("env-12")
def test_a_kind_that_the_host_does_not_take() -> None:
    outcome = accept_outcome(envelope("vendor.other", {}), rules(supported=frozenset({PLAN})))
    assert outcome == Gated(
        "unknown_envelope_kind",
        "unknown_envelope_kind: this host does not accept envelopes of this kind",
        "vendor.other",
        (*UNIVERSAL_KINDS, PLAN),
        correlation_id=ID,
    )
    shown = outcome_document(outcome)
    assert (shown["status"], shown["allowedKinds"]) == ("gated", [*UNIVERSAL_KINDS, PLAN])
    assert shown["gate"] == {
        "refusedType": "vendor.other",
        "acceptedTypes": [*UNIVERSAL_KINDS, PLAN],
        "refusalMode": "fail-node",
        "code": "unknown_envelope_kind",
    }


@pytest.mark.rule("env-01")
@each_case("kind", *UNIVERSAL_KINDS)
def test_universal_kinds_pass_both_lists(kind: str) -> None:
    held = rules(supported=frozenset(), contract=EnvelopeContract(accepts=frozenset()))
    assert isinstance(accept_outcome(envelope(kind), held), Accepted)


@pytest.mark.rule("env-12")
@each_case("kind", *DISPLAY_KINDS)
def test_what_nobody_shows_is_kept_and_fails_no_node(kind: str) -> None:
    payload = with_value(PAYLOADS[kind], "/alt" if kind != SURFACE else "/reasoning", "it says hush-hush")
    held = rules(
        supported=frozenset(), contract=EnvelopeContract(accepts=frozenset()), secrets=with_secrets(key="hush-hush")
    )
    outcome = accept_outcome({**envelope(kind, payload), "meta": {**with_meta(contentTrust="untrusted")["meta"]}}, held)
    assert isinstance(outcome, Gated)
    assert outcome.refusal_mode == "discard-and-warn"
    assert outcome.content_trust == "untrusted"
    assert "[REDACTED:key]" in str(outcome.payload)
    assert "hush-hush" not in str(outcome)


@pytest.mark.rule("env-13")
@pytest.mark.parametrize("mode", ["fail-node", "discard-and-warn"])
def test_a_kind_that_the_node_does_not_take(mode: Any) -> None:
    held = rules(
        supported=frozenset({PLAN, SURFACE}), contract=EnvelopeContract(accepts=frozenset({PLAN}), refusal_mode=mode)
    )
    outcome = accept_outcome(envelope(SURFACE), held)
    assert isinstance(outcome, Gated)
    assert (outcome.code, outcome.refusal_mode) == ("envelope_contract_violation", mode)
    assert outcome.allowed == (*UNIVERSAL_KINDS, PLAN)
    assert outcome.payload is None
    assert isinstance(accept_outcome(envelope(PLAN, {"steps": []}, schemaVersion=2), held), Accepted)


@pytest.mark.rule("env-08")
@each_case(
    "kind, counter, name",
    ("clarification.request", "clarification", "clarificationRounds"),
    ("schema.request", "schema", "schemaRounds"),
    ("schema.response", "envelopes", "envelopesPerTurn"),
    ("error", "envelopes", "envelopesPerTurn"),
    ("media.image", "envelopes", "envelopesPerTurn"),
    (SURFACE, "envelopes", "envelopesPerTurn"),
)
def test_every_kind_has_its_counter(kind: str, counter: Any, name: str) -> None:
    for current, cap in ((3, 3), (4, 3), (0, 0)):
        held = rules(counters=Counters(**{counter: Counter(current, cap)}), trust="untrusted")
        outcome = accept_outcome(envelope(kind), held)
        assert outcome == Breached(counter, cap, current + 1, f"{name} cap ({cap}) breached", "untrusted", ID)
        assert isinstance(outcome, Breached)
        assert outcome.observed > outcome.limit
        shown = {"status": "breached", "reason": f"{name} cap ({cap}) breached", "capKind": counter}
        assert outcome_document(outcome) == shown
    others = {each: FULL for each in ("envelopes", "schema", "clarification") if each != counter}
    held = rules(counters=Counters(**{**others, counter: Counter(2, 3)}))
    assert isinstance(accept_outcome(envelope(kind), held), Accepted)


@pytest.mark.rule("env-08", "env-15")
def test_what_is_sent_again_is_not_counted_and_what_was_one_too_many_stays_so() -> None:
    known = {"run-1:node-1:0": RecordedOutcome("error", Accepted("error", "first", "run-1:node-1:0", {}))}
    held = rules(counters=Counters(envelopes=FULL), find_recorded=known.get)
    assert accept_recorded(envelope(), held) == known["run-1:node-1:0"].outcome
    assert isinstance(accept_outcome(envelope(correlationId="another"), held), Breached)
    first = Breached("envelopes", 2, 3, "the first time")
    known = {"run-1:node-1:0": RecordedOutcome("error", first)}
    held = rules(counters=Counters(envelopes=FULL), find_recorded=known.get, trust="untrusted", advances_approval=True)
    assert accept_recorded(envelope(), held) == first


@pytest.mark.rule("env-14")
@each_case(
    "own, run, found",
    (ABSENT, None, "trusted"),
    (ABSENT, "trusted", "trusted"),
    (ABSENT, "untrusted", "untrusted"),
    ("trusted", "untrusted", "trusted"),
    ("untrusted", "trusted", "untrusted"),
    ("untrusted", None, "untrusted"),
)
def test_trust(own: Any, run: Any, found: str) -> None:
    document = with_meta() if own is ABSENT else with_meta(contentTrust=own)
    outcome = accept_outcome(document, rules(trust=run))
    assert isinstance(outcome, Accepted)
    assert outcome.content_trust == found
    gate = accept_outcome(document, rules(trust=run, advances_approval=True))
    blocked = Invalid("untrusted_content_blocks_approval", "untrusted_content_blocks_approval")
    assert gate == (blocked if found == "untrusted" else outcome)


@pytest.mark.rule("env-15")
@each_case(
    "first",
    Accepted("error", "env-0", "run-1:node-1:0", {"code": "c"}, event_ids=("e-1",)),
    Gated("unknown_envelope_kind", "r", "error", ()),
    Breached("envelopes", 1, 2, "r"),
    Invalid("envelope_invalid", "r"),
)
def test_what_is_recorded_is_the_outcome(first: EnvelopeOutcome) -> None:
    held = with_record({"run-1:node-1:0": RecordedOutcome("error", first)})
    assert accept_recorded(envelope(envelopeId="env-9"), held) == first
    conflict = refusal_of(envelope("clarification.request"), held)
    assert conflict.code == "envelope_correlation_conflict"
    assert "envelope_correlation_conflict" in conflict.reason
    assert conflict.details[0].instance_path == "/correlationId"


@pytest.mark.rule("env-15")
def test_a_gate_that_was_closed_since_does_not_change_what_is_recorded() -> None:
    first = Accepted(PLAN, "env-0", "run-1:node-1:0", {"steps": []})
    held = rules(supported=frozenset(), find_recorded={"run-1:node-1:0": RecordedOutcome(PLAN, first)}.get)
    assert accept_recorded(envelope(PLAN, {"steps": []}), held) == first
    other = rules(supported=frozenset(), find_recorded={"run-1:node-1:0": RecordedOutcome("error", first)}.get)
    assert refusal_of(envelope(PLAN, {"steps": []}), other).code == "envelope_correlation_conflict"
    assert not accept(envelope(PLAN, {"steps": []}), other).repeated


BROKEN: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("capability", {}, {"envelopes_supported": False}),
    ("shape", {"extra": 1}, {}),
    ("kind", {}, {"supported": frozenset[str]()}),
    ("payload", {"payload": {"steps": 7}}, {}),
    ("contract", {}, {"contract": EnvelopeContract(accepts=frozenset())}),
    ("limits", {}, {"counters": Counters(envelopes=FULL)}),
    ("trust", {}, {"trust": "untrusted", "advances_approval": True}),
    ("dedup", {}, {"find_recorded": lambda correlation_id: RecordedOutcome("error", Invalid("c", "r"))}),
]
"""What each step objects to, in the order of the protocol."""


@pytest.mark.rule("env-09")
@each_case("first", *range(len(BROKEN)))
def test_the_first_thing_wrong_is_the_outcome(first: int) -> None:
    members: dict[str, Any] = {}
    held: dict[str, Any] = {}
    for _, in_document, in_rules in BROKEN[first:]:
        members |= in_document
        held |= in_rules
    if BROKEN[first][0] in ("kind", "contract", "limits"):
        # A conflict would win over being gated: it is about what may be recorded at all.
        del held["find_recorded"]
    _, said = explain({**envelope(PLAN, {"steps": []}, schemaVersion=2), **members}, rules(**held))
    assert (said[-1].step, said[-1].passed) == (BROKEN[first][0], False)
    assert [each.step for each in said] == [name for name, _ in STEPS][: len(said)]
    assert all(each.passed for each in said[:-1])


def test_the_steps_are_those_of_the_protocol() -> None:
    names = "capability shape kind payload contract limits redaction trust dedup"
    assert [name for name, _ in STEPS] == names.split()


def test_what_is_explained_is_what_is_judged() -> None:
    known = {"run-1:node-1:0": RecordedOutcome("error", Accepted("error", "e", "c", {}))}
    cases = [
        (envelope(), rules()),
        (envelope(), rules(find_recorded=known.get)),
        (envelope("vendor.any", {"k": "s3cr3t"}), rules(secrets=with_secrets(k="s3cr3t"))),
        (envelope(SURFACE), rules(supported=frozenset())),
        (envelope(schemaVersion=0), rules()),
        ({}, rules()),
    ]
    for document, held in cases:
        verdict, said = explain(document, held)
        assert verdict == accept(document, held)
        assert all(each.note for each in said)
    assert "older" in explain(envelope(schemaVersion=0), rules())[1][3].note
    assert "1" in explain(*cases[2])[1][6].note
    assert explain(*cases[1])[1][-1] == GateStep(
        "dedup", True, "The outcome was recorded earlier and is returned unchanged."
    )
    assert explain(*cases[0])[1][2].note == "The host accepts any kind."
    assert explain(envelope(), rules(supported=frozenset()))[1][2].note == "The host accepts this kind."


def without(name: str) -> tuple[tuple[str, Callable[[GateContext], Any]], ...]:
    return tuple((each, step) for each, step in STEPS if each != name)


def check_step(name: str) -> None:
    """One thing that only this step finds."""
    known = {"run-1:node-1:0": RecordedOutcome("error", Accepted("error", "first", "run-1:node-1:0", {}))}
    cases: dict[str, tuple[Json, GateRules, str]] = {
        "capability": (envelope(), rules(envelopes_supported=False), "invalid"),
        "shape": (envelope(extra=1), rules(), "invalid"),
        "kind": (envelope("vendor.any", 1), rules(supported=frozenset()), "gated"),
        "payload": (envelope(payload={}), rules(), "invalid"),
        "contract": (envelope("vendor.any", 1), rules(contract=EnvelopeContract(frozenset())), "gated"),
        "limits": (envelope(), rules(counters=Counters(Counter(1, 1))), "breached"),
        "redaction": (envelope("vendor.any", CANARY), rules(secrets=CONTEXT_WITH_SECRETS), "accepted"),
        "trust": (envelope(), rules(trust="untrusted", advances_approval=True), "invalid"),
        "dedup": (envelope(), rules(find_recorded=known.get), "accepted"),
    }
    document, held, status = cases[name]
    verdict = accept(document, held)
    shown = outcome_document(verdict.outcome)
    assert shown["status"] == status
    assert CANARY not in str(shown)
    assert verdict.repeated is (name == "dedup")


@pytest.mark.rule("env-09")
@pytest.mark.parametrize("name", [name for name, _ in STEPS])
def test_without_a_step_what_only_it_finds_goes_through(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check_step(name)
    monkeypatch.setattr(gate, "STEPS", without(name))
    with pytest.raises((AssertionError, KeyError)):
        check_step(name)


@fails_without(gate, "STEPS", without("redaction"))
def test_a_secret_in_a_payload_is_not_shown() -> None:
    check_no_canary(envelope("vendor.any", {"bag": [CANARY]}), rules(secrets=CONTEXT_WITH_SECRETS))


@fails_without(GateContext, "_mask_name", lambda self, text, longest: text)
def test_a_secret_in_a_name_is_not_shown() -> None:
    check_no_canary(envelope("vendor.any", 1, envelopeId=CANARY), rules(secrets=CONTEXT_WITH_SECRETS))


def test_without_the_bound_on_depth_a_deep_payload_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    deep: Any = 1
    for _ in range(100):
        deep = [deep]
    assert isinstance(accept(envelope("vendor.any", deep), rules()).outcome, Invalid)
    monkeypatch.setattr(checks, "MAX_DEPTH", 1_000)
    assert isinstance(accept(envelope("vendor.any", deep), rules()).outcome, Accepted)


@pytest.mark.parametrize("given", [1e300, 2**53, 2**60])
def test_a_version_is_a_number_that_every_reader_takes(given: float) -> None:
    for kind in ("vendor.any", "vendor.unknown"):
        assert accept(envelope(kind, 1, schemaVersion=given), rules()).schema_version < 2**53


@each_case("given", 1e308, float("inf"), 2**53, -1, 0.5)
def test_a_counter_of_the_seam_is_a_number_that_every_reader_takes(given: float) -> None:
    counters = {"envelopesPerTurn": {"current": given, "cap": 1}}
    assert parse_accept_request({"counters": counters}, KindSet({}), True).rules.counters == Counters()


def test_what_was_recorded_before_its_id_came_to_hold_a_secret_is_known() -> None:
    name = f"order-{CANARY}"
    known = {name: RecordedOutcome("error", Accepted("error", "first", name, {}))}
    assert accept(envelope(correlationId=name), rules(find_recorded=known.get, secrets=CONTEXT_WITH_SECRETS)).repeated


ORIGIN = EnvelopeOrigin("run-1", "plan", "0.0.0", 0, 1_700_000_000_000, "trusted")
UNTRUSTED = msgspec.structs.replace(ORIGIN, trust="untrusted")
BARE = {"type": "error", "payload": {"code": "c", "message": "m"}}


@pytest.mark.rule("env-20")
def test_a_bare_envelope_is_made_whole_and_keeps_what_the_model_says_but_for_its_trust() -> None:
    whole = fill_defaults(BARE, ORIGIN)
    assert whole["meta"] == {"source": "ai-generation", "ts": "2023-11-14T22:13:20.000Z"}
    assert whole["nodeId"] == "plan"
    assert isinstance(accept(whole, GateRules(BUILTIN_KINDS)).outcome, Accepted)
    assert fill_defaults(BARE, ORIGIN) == whole
    said: dict[str, Any] = {**BARE, "envelopeId": "mine", "correlationId": "c-1", "meta": {"contentTrust": "trusted"}}
    trusted, untrusted = fill_defaults(said, ORIGIN), fill_defaults(said, UNTRUSTED)
    assert trusted["correlationId"] != fill_defaults({**said, "correlationId": "c-2"}, ORIGIN)["correlationId"]
    assert (
        trusted["correlationId"] != fill_defaults(said, msgspec.structs.replace(ORIGIN, turn="0.0.1"))["correlationId"]
    )
    assert trusted["correlationId"] == fill_defaults(said, msgspec.structs.replace(ORIGIN, index=1))["correlationId"]
    assert trusted["envelopeId"] not in (
        "mine",
        fill_defaults(said, msgspec.structs.replace(ORIGIN, turn="9"))["envelopeId"],
    )
    assert (trusted["meta"]["contentTrust"], untrusted["meta"]["contentTrust"]) == ("trusted", "untrusted")


@pytest.mark.rule("env-20")
@each_case("document", None, 1, "x", [BARE], {"meta": 1}, {"type": 1, "correlationId": None})
def test_what_is_no_envelope_stays_none(document: Any) -> None:
    assert not isinstance(accept(fill_defaults(document, UNTRUSTED), GateRules(BUILTIN_KINDS)).outcome, Accepted)


@pytest.mark.rule("env-21")
@for_all(100, st.text(min_size=1, max_size=200), st.text(min_size=1, max_size=200), st.sampled_from(["error", "a.b"]))
def test_an_id_fits_and_tells_places_apart(one: str, other: str, kind: str) -> None:
    here, there = (msgspec.structs.replace(ORIGIN, node_id=node_id) for node_id in (one, other))
    assert 0 < len(derive_correlation_id(here, kind)) <= MAX_ID
    assert (derive_correlation_id(here, kind) == derive_correlation_id(there, kind)) is (one == other)
    assert derive_correlation_id(here, kind) != derive_correlation_id(here, f"{kind}x")
