"""Redaction: every known secret goes, wherever it stands, each one counted; nothing else changes."""

import copy
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.harness.cases import each_case
from tests.harness.definitions import example_count
from tests.protocol.envelopes.sample_envelopes import ABSENT, envelope, rules, with_secrets
from weftwork.protocol.envelopes.gate import accept
from weftwork.protocol.envelopes.gate_rules import RecordedOutcome
from weftwork.protocol.envelopes.outcome import Accepted, Gated, Invalid, outcome_document
from weftwork.protocol.privacy.secret_matcher import MAX_TEXT, SecretMatcher, redact_value

KEY, TOKEN = "sk-live-1f2e3d", "sk-live-1f2e3d-long"
HIDDEN, LONG = "[REDACTED:key]", "[REDACTED:token]"


@pytest.mark.rule("env-11")
@each_case(
    "value, shown, count",
    (KEY, HIDDEN, 1),
    (f"<{KEY}>", f"<{HIDDEN}>", 1),
    (f"{KEY}{KEY} {KEY}", f"{HIDDEN}{HIDDEN} {HIDDEN}", 3),
    (TOKEN, LONG, 1),
    (f"{KEY} {TOKEN}", f"{HIDDEN} {LONG}", 2),
    ([KEY, [KEY, {"a": KEY}]], [HIDDEN, [HIDDEN, {"a": HIDDEN}]], 3),
    ({KEY: {TOKEN: 1}}, {HIDDEN: {LONG: 1}}, 2),
    ({KEY: 1, f"{KEY} ": 2}, {HIDDEN: 1, f"{HIDDEN} ": 2}, 2),
    ({"a": '\n"' + KEY + "\\é"}, {"a": '\n"' + HIDDEN + "\\é"}, 1),
    (KEY[:-1], KEY[:-1], 0),
    (HIDDEN, HIDDEN, 0),
    ("[REDACTED:other]", "[REDACTED:other]", 0),
    (f"[REDACTED:{KEY}]", f"[REDACTED:{HIDDEN}]", 1),
    (f"[REDACTED:{KEY}", f"[REDACTED:{HIDDEN}", 1),
    (None, None, 0),
    (4711, 4711, 0),
    (True, True, 0),
    ([], [], 0),
    ({}, {}, 0),
)
def test_secrets_are_replaced_and_counted(value: Any, shown: Any, count: int) -> None:
    secrets = with_secrets(key=KEY, token=TOKEN)
    before = copy.deepcopy(value)
    assert redact_value(value, secrets) == (shown, count)
    assert value == before
    assert redact_value(shown, secrets) == (shown, 0)


def test_names_that_become_the_same_stay_apart() -> None:
    secrets = with_secrets(key=KEY)
    secrets.learn_secret("key", TOKEN)
    shown, count = redact_value({TOKEN: 1, KEY: 2, HIDDEN: 3}, secrets)
    assert (sorted(shown.values()), count) == ([1, 2, 3], 2)
    assert KEY not in str(shown)


def test_what_holds_no_secret_is_not_copied() -> None:
    value = {"a": [{"b": "c"}], "d": [KEY]}
    shown, _ = redact_value(value, with_secrets(key=KEY))
    assert shown["a"] is value["a"]
    assert redact_value(value["a"], with_secrets(key=KEY))[0] is value["a"]


@each_case("secret", "x", "]", "[", "RED", "REDACTED:", ":", "e", "é", "\n", '"', "\\", "a\nb", "\u2028")
def test_a_secret_of_any_length_is_found_and_no_marker_is_harmed(secret: str) -> None:
    secrets = with_secrets(k=secret)
    shown, count = redact_value([f"0{secret}0", "[REDACTED:0]"], secrets)
    assert shown == ["0[REDACTED:k]0", "[REDACTED:0]"]
    assert count == 1
    assert redact_value(shown, secrets) == (shown, 0)
    assert not secrets.is_absent_in_json(json.dumps([f"0{secret}0"], ensure_ascii=False).encode())


def test_a_secret_longer_than_what_is_compared_of_texts_is_found_whole() -> None:
    long = "k" * (MAX_TEXT * 3)
    assert redact_value(f"<{long}> after", with_secrets(k=long)) == ("<[REDACTED:k]> after", 1)
    assert redact_value(f"<{long[:-1]}>", with_secrets(k=long))[1] == 0
    exact = "k" * MAX_TEXT
    assert redact_value(f"<{exact}> after", with_secrets(k=exact)) == ("<[REDACTED:k]> after", 1)


def test_a_sensitive_value_around_a_secret_or_a_marker_is_hidden_whole() -> None:
    secrets = with_secrets(key=KEY)
    secrets.learn_value("[REDACTED:header]", f"Bearer {KEY} of mine")
    assert redact_value(f"it is Bearer {KEY} of mine", secrets) == ("it is [REDACTED:header]", 1)
    assert redact_value(f"it is {KEY}", secrets) == (f"it is {HIDDEN}", 1)
    secrets = SecretMatcher()
    secrets.learn_value("[REDACTED:header]", "Bearer [REDACTED:key] of mine")
    assert secrets.mask("it is Bearer [REDACTED:key] of mine") == "it is [REDACTED:header]"


def test_the_first_id_of_a_secret_stays_and_a_secret_that_is_no_text_harms_nothing() -> None:
    secrets = with_secrets(half="\ud800", key=KEY)
    assert secrets.is_absent_in_json(b'"nothing"')
    assert secrets.is_absent("nothing")
    assert not secrets.is_absent(KEY)
    assert with_secrets(half="\ud800").is_absent_in_json(b'"nothing"')
    assert with_secrets(half="\ud800").is_absent("nothing")
    assert redact_value("text", with_secrets(k="")) == ("text", 0)
    assert with_secrets(k="").is_absent_in_json(b'"text"')
    secrets = with_secrets(first=KEY)
    secrets.learn_secret("second", KEY)
    assert secrets.mask(KEY) == "[REDACTED:first]"


def test_a_hostile_text_is_masked_in_one_go() -> None:
    secrets = with_secrets(**{f"k{length}": "a" * length for length in range(100, 1100, 100)})
    shown, count = redact_value("a" * 999 + "b" + "a" * 300_000, secrets)
    assert count == 1 + 300
    assert shown.startswith("[REDACTED:k900]" + "a" * 99 + "b")


@pytest.mark.rule("env-11")
def test_the_gate_counts_what_it_takes_out() -> None:
    payload = {"code": "c", "message": KEY, "details": {"deep": [f"{KEY} {KEY}"]}}
    held = rules(secrets=with_secrets(key=KEY))
    outcome = accept(envelope(payload=payload), held).outcome
    assert isinstance(outcome, Accepted)
    assert outcome.redactions == 3
    assert outcome.payload["details"] == {"deep": [f"{HIDDEN} {HIDDEN}"]}
    again = accept(envelope(payload=outcome.payload), held).outcome
    assert isinstance(again, Accepted)
    assert (again.payload, again.redactions) == (outcome.payload, 0)
    none = outcome_document(accept(envelope(), held).outcome)
    assert (none["redactionCount"], none["redactedPayload"]) == (0, envelope()["payload"])


@pytest.mark.rule("env-11")
def test_reasoning_is_redacted_like_the_rest() -> None:
    payload = {"questions": [{"id": "q", "question": "?", "context": {"c": [KEY]}}], "reasoning": f"because {KEY}"}
    outcome = accept(envelope("clarification.request", payload), rules(secrets=with_secrets(key=KEY))).outcome
    assert isinstance(outcome, Accepted)
    assert (outcome.payload["reasoning"], outcome.redactions) == (f"because {HIDDEN}", 2)


@pytest.mark.rule("env-11")
@pytest.mark.parametrize("member", ["type", "envelopeId", "correlationId"])
def test_a_secret_in_a_name_is_not_shown_either(member: str) -> None:
    document = {**envelope("vendor.any", {"a": 1}), member: f"x-{KEY}-" + "y" * 100}
    secrets = with_secrets(key=KEY)
    for held in (rules(secrets=secrets), rules(secrets=secrets, supported=frozenset())):
        verdict = accept(document, held)
        assert isinstance(verdict.outcome, Accepted | Gated)
        assert KEY not in str(verdict)
        assert KEY not in str(outcome_document(verdict.outcome))
    first = accept(document, rules(secrets=secrets)).outcome
    assert isinstance(first, Accepted)
    assert len(first.correlation_id) <= 128
    known = {first.correlation_id: RecordedOutcome(first.type, first)}
    again = accept(document, rules(secrets=secrets, find_recorded=known.get))
    assert (again.outcome, again.repeated) == (first, True)


def test_an_envelope_without_a_secret_is_not_searched_text_by_text(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[str] = []
    monkeypatch.setattr(SecretMatcher, "mask_counted", lambda self, text: (searched.append(text) or text, 0))
    held = rules(secrets=with_secrets(key=KEY))
    document = envelope("ui.a2ui-surface")
    outcome = accept(document, held).outcome
    assert isinstance(outcome, Accepted)
    assert outcome.payload is document["payload"]
    assert searched == []
    accept(envelope(envelopeId=KEY), held)
    assert KEY in searched


def test_a_long_name_is_not_cut_for_a_letter_that_only_json_writes() -> None:
    document = envelope("t" * 256, "a\nb", envelopeId="e" * 128)
    outcome = accept(document, rules(secrets=with_secrets(letter="n"))).outcome
    assert isinstance(outcome, Accepted)
    assert (outcome.type, outcome.envelope_id, outcome.payload) == ("t" * 256, "e" * 128, "a\nb")


@each_case("payload", {"bad": KEY}, {KEY: 1}, KEY, [KEY], {"code": KEY, "message": {KEY: KEY}})
def test_a_refusal_shows_no_secret(payload: Any) -> None:
    outcome = accept(envelope(payload=payload), rules(secrets=with_secrets(key=KEY))).outcome
    assert isinstance(outcome, Invalid)
    assert KEY not in str(outcome)
    shape = accept(envelope(**{KEY: KEY, "meta": ABSENT}), rules()).outcome
    assert isinstance(shape, Invalid)
    assert KEY not in str(shape)


SECRETS = st.text(st.sampled_from('ab[]"\\\né:RED'), min_size=1, max_size=12)
TEXTS = SECRETS | st.sampled_from(["", "[REDACTED:a]", "[REDACTED:z]", "[REDACTED:", "]"])
VALUES = st.recursive(
    TEXTS | st.integers(-3, 3) | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.rule("env-11")
@settings(max_examples=example_count(200, 8_000), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(VALUES, st.dictionaries(st.text("abc", min_size=1, max_size=3), SECRETS, max_size=4))
def test_redacted_values_stay_as_they_are(value: Any, secrets: dict[str, str]) -> None:
    made = with_secrets(**secrets)
    shown, count = redact_value(value, made)
    assert redact_value(shown, made) == (shown, 0)
    clear = json.dumps(value, ensure_ascii=False).encode()
    if made.is_absent_in_json(clear):
        assert count == 0
    if count == 0:
        assert shown == value


@settings(max_examples=example_count(200, 8_000), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text("ab", max_size=30), st.lists(st.text("ab", min_size=1, max_size=4), min_size=1, max_size=4, unique=True))
def test_the_leftmost_is_replaced_and_of_those_the_longest(text: str, secrets: list[str]) -> None:
    """One character after the other, in the plainest way."""
    made = with_secrets(**{f"k{index}": secret for index, secret in enumerate(secrets)})
    shown, at, count = "", 0, 0
    while at < len(text):
        found = max((each for each in secrets if text.startswith(each, at)), key=len, default=None)
        shown += text[at] if found is None else f"[REDACTED:k{secrets.index(found)}]"
        at += len(found or " ")
        count += found is not None
    assert made.mask_counted(text) == (shown, count)
