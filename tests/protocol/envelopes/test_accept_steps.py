"""Every step of the gate is needed: without it something goes through that only it finds."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.protocol.envelopes.sample_envelopes import (
    CANARY,
    CONTEXT_WITH_SECRETS,
    Json,
    check_no_canary,
    envelope,
    rules,
)
from weftwork.protocol.envelopes import checks, gate
from weftwork.protocol.envelopes.accept_request import parse_accept_request
from weftwork.protocol.envelopes.gate import STEPS, GateContext, accept
from weftwork.protocol.envelopes.gate_rules import Counter, Counters, EnvelopeContract, GateRules, RecordedOutcome
from weftwork.protocol.envelopes.kinds import KindSet
from weftwork.protocol.envelopes.outcome import Accepted, Invalid, outcome_document


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


def test_the_canary_is_seen_where_redaction_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    document = envelope("vendor.any", {"bag": [CANARY]})
    check_no_canary(document, rules(secrets=CONTEXT_WITH_SECRETS))
    monkeypatch.setattr(gate, "STEPS", without("redaction"))
    with pytest.raises(AssertionError):
        check_no_canary(document, rules(secrets=CONTEXT_WITH_SECRETS))


def test_the_canary_is_seen_in_a_name_that_is_not_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    document = envelope("vendor.any", 1, envelopeId=CANARY)
    check_no_canary(document, rules(secrets=CONTEXT_WITH_SECRETS))
    monkeypatch.setattr(GateContext, "_mask_name", lambda self, text, longest: text)
    with pytest.raises(AssertionError):
        check_no_canary(document, rules(secrets=CONTEXT_WITH_SECRETS))


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


@pytest.mark.parametrize("given", [1e308, float("inf"), 2**53, -1, 0.5])
def test_a_counter_of_the_seam_is_a_number_that_every_reader_takes(given: float) -> None:
    counters = {"envelopesPerTurn": {"current": given, "cap": 1}}
    assert parse_accept_request({"counters": counters}, KindSet({}), True).rules.counters == Counters()


def test_what_was_recorded_before_its_id_came_to_hold_a_secret_is_known() -> None:
    name = f"order-{CANARY}"
    known = {name: RecordedOutcome("error", Accepted("error", "first", name, {}))}
    assert accept(envelope(correlationId=name), rules(find_recorded=known.get, secrets=CONTEXT_WITH_SECRETS)).repeated
