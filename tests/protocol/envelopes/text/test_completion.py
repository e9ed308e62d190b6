"""How an answer is judged, what may be tried next, and what the events about it hold."""

import json
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.definitions import example_count
from tests.protocol.envelopes.text.sample_texts import ANY_TEXT
from weftwork.protocol.envelopes import completion
from weftwork.protocol.envelopes.completion import (
    DEFAULT_BUDGET,
    RELIABILITY_EVENTS,
    CompleteAnswer,
    Judgement,
    MismatchedAnswer,
    RefusedAnswer,
    TruncatedAnswer,
    attempts_allowed,
    judge_answer,
    next_budget,
    nl_to_format_event,
    refusal_event,
    retry_attempted_event,
    retry_exhausted_event,
    truncated_event,
    usage_event,
)
from weftwork.protocol.envelopes.text.extraction import Extraction, extract_value
from weftwork.protocol.json import schema
from weftwork.protocol.json.caller_schema import check_value
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.models.answers import ModelAnswer, StopReason, TokenUsage
from weftwork.protocol.run.events import CATALOGUE
from weftwork.protocol.run.model_payloads import EnvelopeRecoveryApplied

SHAPE = {"type": "object", "properties": {"valid": {"type": "boolean"}}, "required": ["valid"]}
GOOD = '{"valid": true}'
READ = partial(extract_value, clean=True)


def answer(text: str, stop: StopReason = "stop", detail: str = "", **more: Any) -> ModelAnswer:
    return ModelAnswer(text, stop, "scripted", "mini", TokenUsage(3, 50), detail, **more)


def fits(document: Any) -> list[Violation]:
    return check_value(SHAPE, document, "")


def judged(given_: ModelAnswer) -> Judgement:
    return judge_answer(given_, READ, fits, SHAPE)


ERRORS = (
    "The answer could not be read as JSON.",
    "The document must be of type object",
    'The document must have the member "valid"',
    "/valid must be of type boolean",
)
CUT = TruncatedAnswer("max_tokens", False, 50)
UNREADABLE = MismatchedAnswer("parse-error", ERRORS[0], (), True)


@pytest.mark.rule("rel-05")
@pytest.mark.parametrize(
    ("given_", "expected"),
    [
        (answer(GOOD), CompleteAnswer(({"valid": True},), "direct", None)),
        (answer(f"So: {GOOD}"), CompleteAnswer(({"valid": True},), "brace-walker", 4)),
        (answer("{valid: True"), CompleteAnswer(({"valid": True},), "jsonrepair", 0)),
        (answer(GOOD, "tool-call"), CompleteAnswer(({"valid": True},), "direct", None)),
        (answer("x"), UNREADABLE),
        (answer("x", "tool-call"), UNREADABLE),
        (answer(""), MismatchedAnswer("parse-error", ERRORS[0], (), False)),
        (answer("{oops"), MismatchedAnswer("parse-error", ERRORS[0], (), False)),
        (answer('{"valid', "length", "max_tokens"), CUT),
        (answer('{"valid": tr', "length", "length"), CUT),
        (answer("x", "length"), CUT),
        (answer(GOOD, "length"), TruncatedAnswer("max_tokens", True, 50)),
        (answer("{'valid': True}", "length"), CUT),
        (answer(GOOD, "other"), TruncatedAnswer("unknown", True, 50)),
        (answer("", "other", "eof"), TruncatedAnswer("unknown", False, 50)),
        (answer(GOOD, "stop", "stop_sequence"), CompleteAnswer(({"valid": True},), "direct", None)),
        (answer(GOOD, "other", "stop_sequence"), CompleteAnswer(({"valid": True},), "direct", None)),
        (answer("x", "stop", "stop_sequence"), TruncatedAnswer("stop_sequence", False, 50)),
        (answer('{"valid": 1}', "other", "stop_sequence"), TruncatedAnswer("stop_sequence", True, 50)),
        (answer('{"valid": true', "stop", "stop_sequence"), TruncatedAnswer("stop_sequence", False, 50)),
        (answer("", "content-filter", "safety"), RefusedAnswer(None, None)),
        (answer(GOOD, "content-filter", refusal="No.", safety_category="harm"), RefusedAnswer("No.", "harm")),
        (answer(GOOD, refusal="No."), RefusedAnswer("No.", None)),
        (answer("x", "length", refusal=""), RefusedAnswer("", None)),
    ],
)
def test_an_answer_is_refused_or_cut_off_or_unreadable_or_unfit_or_complete(
    given_: ModelAnswer, expected: Judgement
) -> None:
    assert judged(given_) == expected


@pytest.mark.rule("rel-05")
def test_an_answer_that_does_not_fit_says_what_would() -> None:
    found = judged(answer('{"valid": "canary"}'))
    assert isinstance(found, MismatchedAnswer)
    assert (found.reason, found.error) == ("schema-violation", "/valid must be of type boolean")
    found = judge_answer(answer("[]"), READ, fits)
    assert isinstance(found, MismatchedAnswer)
    assert found.error == "The document must be of type object"


@pytest.mark.rule("rel-05")
def test_every_document_of_an_answer_is_checked() -> None:
    def read(text: str) -> Extraction:
        return Extraction(({"valid": True}, {"valid": 1}, {}), "brace-walker", 0)

    found = judge_answer(answer("-"), read, fits, SHAPE)
    assert isinstance(found, MismatchedAnswer)
    assert [each.rule for each in found.violations] == ["type", "required"]


@pytest.mark.rule("rel-05")
@pytest.mark.parametrize("stop", ["length", "other", "content-filter"])
def test_an_answer_that_did_not_end_by_itself_is_not_read(stop: StopReason) -> None:
    def never(text: str) -> Extraction:
        raise AssertionError

    assert not isinstance(judge_answer(answer(GOOD, stop), never, fits), CompleteAnswer | MismatchedAnswer)


@settings(max_examples=example_count(200), deadline=None)
@given(ANY_TEXT, st.sampled_from(["stop", "length", "content-filter", "tool-call", "other"]), st.text(max_size=5))
def test_every_answer_is_judged_in_the_words_of_the_host(text: str, stop: StopReason, detail: str) -> None:
    found = judged(answer(text, stop, detail))
    if isinstance(found, MismatchedAnswer):
        assert found.error in ERRORS


@pytest.mark.rule("rel-06")
@pytest.mark.parametrize(
    ("rounds", "most", "allowed"), [(0, 3, 1), (1, 3, 2), (2, 3, 3), (8, 3, 3), (8, 16, 9), (0, 0, 1), (5, 1, 1)]
)
def test_both_limits_hold_and_one_call_is_always_allowed(rounds: int, most: int, allowed: int) -> None:
    assert attempts_allowed(rounds, most) == allowed


@pytest.mark.rule("rel-11")
@pytest.mark.parametrize(
    ("room", "multiplier", "ceiling", "larger"),
    [
        (50, 2, None, 100),
        (50, 1.5, None, 75),
        (33, 1.5, None, 50),
        (50, 1, None, 50),
        (50, 2, 80, 80),
        (80, 2, 80, None),
        (90, 2, 80, None),
        (None, 2, None, 2 * DEFAULT_BUDGET),
        (None, 2, 5_000, 5_000),
    ],
)
def test_what_was_cut_off_gets_more_room_up_to_the_ceiling(
    room: int | None, multiplier: float, ceiling: int | None, larger: int | None
) -> None:
    assert next_budget(room, multiplier, ceiling) == larger


def test_room_grows_until_there_is_none() -> None:
    room, seen = 50, list[int]()
    while (larger := next_budget(room, completion.TRUNCATION_MULTIPLIER, 1_000)) is not None:
        room = larger
        seen.append(room)
    assert seen == [100, 200, 400, 800, 1_000]


PROMPT = "Tell me in detail how the canary-4471 is fed and where."
PAYLOADS = (
    retry_attempted_event("ask", 2, "schema-violation", "e" * 2_000),
    retry_exhausted_event("ask", 3, "truncation", None),
    refusal_event("ask", "scripted", "mini", f"I will not: {PROMPT}", "harm", [PROMPT]),
    truncated_event("ask", answer("", "length"), CUT),
    nl_to_format_event("ask", "vendor.acme.plan"),
    EnvelopeRecoveryApplied("ask", "markdown-fence", 8),
    usage_event("ask", answer("canary-4471", detail="canary-4471")),
)
MADE = {payload.event_type: payload.members() for payload in PAYLOADS}


@pytest.mark.rule("rel-13")
@pytest.mark.parametrize("name", MADE)
def test_events_have_the_closed_shape_of_their_type(name: str) -> None:
    payload = MADE[name]
    assert name in CATALOGUE
    assert schema.check_payload(name, payload) == []
    assert [each.rule for each in schema.check_payload(name, {**payload, "text": "x"})] == ["additionalProperties"]
    assert payload["nodeId"] == "ask"
    assert "canary" not in json.dumps(payload)


@pytest.mark.rule("rel-13")
def test_the_six_events_are_those_that_are_made() -> None:
    assert set(RELIABILITY_EVENTS) == set(MADE) - {"provider.usage"}
    assert len(MADE["envelope.retry.attempted"]["previousError"]) == 1_000
    assert "finalError" not in MADE["envelope.retry.exhausted"]
    assert MADE["envelope.refusal"]["refusalText"] == "I will not: [REDACTED:prompt]"


@pytest.mark.rule("rel-15")
def test_usage_holds_numbers_and_names_only() -> None:
    assert usage_event("ask", answer("hello")).members() == {
        "provider": "scripted",
        "model": "mini",
        "inputTokens": 3,
        "outputTokens": 50,
        "totalTokens": 53,
        "nodeId": "ask",
    }
