"""The gate as a whole: it says the same again, shows no secret, and no document makes it raise."""

import copy
import json
import random
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.harness.cases import each_case
from tests.harness.definitions import example_count
from tests.protocol.envelopes.sample_envelopes import (
    CANARY,
    CONTEXT_WITH_SECRETS,
    KINDS,
    PAYLOADS,
    PLAN,
    SECRETS,
    Json,
    check_no_canary,
    envelope,
    rules,
    with_value,
)
from weftwork.protocol.envelopes.gate import accept, explain
from weftwork.protocol.envelopes.gate_rules import Counter, Counters, EnvelopeContract, GateRules, RecordedOutcome
from weftwork.protocol.envelopes.kinds import DISPLAY_KINDS, UNIVERSAL_KINDS
from weftwork.protocol.envelopes.outcome import Accepted, Invalid, outcome_document

PIECES = st.sampled_from([*SECRETS.values(), "text", "", "[REDACTED:key]", f"[REDACTED:{CANARY}]", "é\u2028", "a.b"])
TEXTS = st.lists(PIECES, max_size=3).map(" ".join)
PLAIN = st.one_of(TEXTS, st.none(), st.booleans(), st.integers(-(2**60), 2**60), st.floats(allow_nan=False))
GRAPHS = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


def contexts() -> st.SearchStrategy[Json]:
    """Open places inside of payloads that are good, so that the whole gate is passed."""
    asking = {"id": "q", "question": "?"}
    return st.one_of(
        st.builds(lambda bag: envelope(payload={"code": "c", "message": "m", "details": {"bag": bag}}), GRAPHS),
        st.builds(
            lambda bag: envelope("clarification.request", {"questions": [{**asking, "context": {"bag": bag}}]}), GRAPHS
        ),
        st.builds(lambda notes: envelope(PLAN, {"steps": [], "notes": {"bag": notes}}, schemaVersion=2), GRAPHS),
        st.builds(lambda bag: envelope("vendor.any", {"bag": bag}), GRAPHS),
        st.builds(lambda text: with_value(envelope("ui.a2ui-surface"), "/payload/surface/title", text), TEXTS),
    )


def broken() -> st.SearchStrategy[Json]:
    """Documents of which some place was changed to something else, or got a member that nobody knows."""
    kinds = st.sampled_from([*UNIVERSAL_KINDS, *DISPLAY_KINDS])

    def change(kind: str, choice: int, name: str, value: Any, how: int) -> Json:
        document = envelope(kind)
        place = holders(document)[choice % len(holders(document))]
        if isinstance(place, list):
            place.append(value)
        elif how == 0 or not place:
            place[name] = value
        elif how == 1:
            place[sorted(place)[choice % len(place)]] = value
        else:
            del place[sorted(place)[choice % len(place)]]
        return document

    return st.builds(change, kinds, st.integers(0, 10**6), TEXTS, GRAPHS, st.integers(0, 2))


def holders(document: Any) -> list[Any]:
    found = [document]
    for each in found:
        found += [
            inner for inner in (each.values() if isinstance(each, dict) else each) if isinstance(inner, dict | list)
        ]
    return found


RULES = st.builds(
    rules,
    supported=st.sampled_from([None, frozenset[str](), frozenset({PLAN, "vendor.any"})]),
    contract=st.sampled_from([EnvelopeContract(), EnvelopeContract(accepts=frozenset({PLAN}))]),
    strict=st.booleans(),
    counters=st.sampled_from([Counters(), Counters(Counter(1, 1), Counter(0, 1), Counter(2, 1))]),
    secrets=st.just(CONTEXT_WITH_SECRETS),
    trust=st.sampled_from([None, "trusted", "untrusted"]),
    advances_approval=st.booleans(),
)


@pytest.mark.rule("env-11")
@pytest.mark.rule("env-17")
@settings(max_examples=example_count(125, 10_000), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(contexts(), RULES)
def test_no_secret_in_an_outcome_whatever_the_payload(document: Json, held: GateRules) -> None:
    check_no_canary(document, held)


@pytest.mark.rule("env-11")
@pytest.mark.rule("env-17")
@settings(max_examples=example_count(125, 10_000), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(broken(), RULES)
def test_no_secret_in_an_outcome_whatever_is_broken(document: Json, held: GateRules) -> None:
    check_no_canary(document, held)


class Dice:
    """Payloads by chance, many in a second."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._texts = [*SECRETS.values(), "text", "", "[REDACTED:key]", f"[REDACTED:{CANARY}]", "é\u2028", "a.b"]

    def text(self) -> str:
        return "".join(self._chance.choices(self._texts, k=self._chance.randrange(4)))

    def value(self, depth: int = 0) -> Any:
        shape = self._chance.random()
        if depth > 4 or shape < 0.5:
            return self._chance.choice([self.text(), self.text(), None, True, self._chance.random(), -7])
        inner = [self.value(depth + 1) for _ in range(self._chance.randrange(4))]
        return inner if shape < 0.7 else {self.text(): each for each in inner}

    def document(self) -> Json:
        """One that is good but for what was put in at random places."""
        kind = self._chance.choice([*PAYLOADS, PLAN, "vendor.any"])
        document = envelope(
            kind, None if kind in PAYLOADS else {"steps": [self.text()], "notes": {"bag": self.value()}}
        )
        for _ in range(self._chance.randrange(3)):
            place = self._chance.choice(holders(document))
            if isinstance(place, list):
                place.append(self.value())
            elif place and self._chance.random() < 0.5:
                place[self._chance.choice(sorted(place))] = self.value()
            else:
                place[self._chance.choice(["details", "context", "reasoning", self.text()])] = self.value()
        return document

    def rules(self) -> GateRules:
        chance = self._chance
        return rules(
            supported=chance.choice([None, frozenset[str](), frozenset({PLAN, "vendor.any"})]),
            contract=chance.choice([EnvelopeContract(), EnvelopeContract(accepts=frozenset({PLAN}))]),
            counters=chance.choice([Counters(), Counters(Counter(1, 1))]),
            secrets=CONTEXT_WITH_SECRETS,
            trust=chance.choice([None, "untrusted"]),
            advances_approval=chance.random() < 0.2,
        )


@pytest.mark.rule("env-11")
@pytest.mark.rule("env-17")
@each_case("seed", *range(10))
def test_no_secret_in_ten_thousand_outcomes(seed: int) -> None:
    dice = Dice(seed)
    seen: set[str] = set()
    for _ in range(example_count(1_000)):
        document, held = dice.document(), dice.rules()
        check_no_canary(document, held)
        seen.add(outcome_document(accept(document, held).outcome)["status"])
    assert seen == {"accepted", "invalid", "gated", "breached"}


@pytest.mark.rule("env-10")
@settings(max_examples=example_count(125, 10_000), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(contexts() | broken(), RULES)
def test_the_gate_says_the_same_again(document: Json, held: GateRules) -> None:
    before = copy.deepcopy(document)
    first = accept(document, held)
    assert document == before
    assert accept(json.loads(json.dumps(document)), held) == first
    assert explain(document, held)[0] == first
    if isinstance(first.outcome, Invalid):
        return
    known = {first.correlation_id: RecordedOutcome(first.type, first.outcome)}
    again = accept(document, msgspec.structs.replace(held, find_recorded=known.get))
    assert (again.outcome, again.repeated) == (first.outcome, True)
    if isinstance(first.outcome, Accepted):
        redacted = accept({**document, "payload": first.outcome.payload}, held).outcome
        assert isinstance(redacted, Accepted)
        assert (redacted.payload, redacted.redactions) == (first.outcome.payload, 0)


ANYTHING = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers() | st.sampled_from([10**400, -(10**30), 2**63, 2**64]),
        st.floats(),
        st.text(st.characters(codec=None), max_size=5),
        st.sampled_from(["\ud800", "\x00", *KINDS.names, "2026-01-31T08:05:09Z", "x" * 300]),
    ),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(codec=None), max_size=3) | st.sampled_from(sorted(envelope())), inner)
    ),
    max_leaves=10,
)


@pytest.mark.rule("env-10")
@settings(max_examples=example_count(125, 10_000), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    ANYTHING,
    st.sampled_from(sorted(PAYLOADS)),
    st.sampled_from(["", "payload", "meta", "partial", "type", "correlationId"]),
)
def test_no_document_makes_it_raise(value: Any, kind: str, member: str) -> None:
    document = {**envelope(kind), member: value} if member else value
    held = rules(secrets=CONTEXT_WITH_SECRETS)
    verdict, _ = explain(document, held)
    assert verdict == accept(document, held)
    json.dumps(outcome_document(verdict.outcome))


@pytest.mark.rule("env-10")
def test_deep_and_wide_documents_do_not_make_it_raise() -> None:
    deep: Any = []
    inner = deep
    for _ in range(200_000):
        inner.append([])
        inner = inner[0]
    for document in (deep, envelope(payload=deep), envelope(meta={"a": deep}), envelope("vendor.any", deep)):
        assert isinstance(accept(document, rules(secrets=CONTEXT_WITH_SECRETS)).outcome, Invalid)
    wide = {str(number): [CANARY] for number in range(30_000)}
    outcome = accept(envelope("vendor.any", wide), rules(secrets=CONTEXT_WITH_SECRETS)).outcome
    assert isinstance(outcome, Accepted)
    assert outcome.redactions == 30_000
    assert isinstance(accept(envelope(payload=wide), rules()).outcome, Invalid)
