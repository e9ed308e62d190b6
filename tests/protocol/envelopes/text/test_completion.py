"""How an answer is judged, what may be tried next, and what the model and the log are told of it."""

import json
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.cases import each_case, fails_without, present
from tests.harness.definitions import example_count, for_all
from tests.protocol.envelopes.text.sample_texts import ANY_TEXT
from weftwork.protocol.envelopes import completion, instructions
from weftwork.protocol.envelopes.kinds import BUILTIN_KINDS, DISPLAY_KINDS, UNIVERSAL_KINDS
from weftwork.protocol.envelopes.text.extraction import Extraction, extract_value
from weftwork.protocol.json import schema
from weftwork.protocol.json.caller_schema import check_value
from weftwork.protocol.json.schema import Violation, check_inline
from weftwork.protocol.models.answers import ModelAnswer, StopReason, TokenUsage
from weftwork.protocol.privacy.secret_matcher import redaction_marker
from weftwork.protocol.run.events import CATALOGUE
from weftwork.protocol.run.model_payloads import EnvelopeRecoveryApplied

SHAPE = {"type": "object", "properties": {"valid": {"type": "boolean"}}, "required": ["valid"]}
GOOD = '{"valid": true}'
READ = partial(extract_value, clean=True)


def answer(text: str, stop: StopReason = "stop", detail: str = "", **more: Any) -> ModelAnswer:
    return ModelAnswer(text, stop, "scripted", "mini", TokenUsage(3, 50), detail, **more)


def fits(document: Any) -> list[Violation]:
    return check_value(SHAPE, document, "")


def judged(given_: ModelAnswer) -> completion.Judgement:
    return completion.judge_answer(given_, READ, fits, SHAPE)


ERRORS = (
    "The answer could not be parsed as JSON.",
    "The document must be of type object",
    'The document must have the member "valid"',
    "/valid must be of type boolean",
)
CUT = completion.TruncatedAnswer("max_tokens", False, 50)
UNREADABLE = completion.MismatchedAnswer("parse-error", ERRORS[0], (), True)


@pytest.mark.rule("rel-05")
@each_case(
    "given_, expected",
    (answer(GOOD), completion.CompleteAnswer(({"valid": True},), "direct", None)),
    (answer(f"So: {GOOD}"), completion.CompleteAnswer(({"valid": True},), "brace-walker", 4)),
    (answer("{valid: True"), completion.CompleteAnswer(({"valid": True},), "jsonrepair", 0)),
    (answer(GOOD, "tool-call"), completion.CompleteAnswer(({"valid": True},), "direct", None)),
    (answer("x"), UNREADABLE),
    (answer("x", "tool-call"), UNREADABLE),
    (answer(""), completion.MismatchedAnswer("parse-error", ERRORS[0], (), False)),
    (answer("{oops"), completion.MismatchedAnswer("parse-error", ERRORS[0], (), False)),
    (answer('{"valid', "length", "max_tokens"), CUT),
    (answer('{"valid": tr', "length", "length"), CUT),
    (answer("x", "length"), CUT),
    (answer(GOOD, "length"), completion.TruncatedAnswer("max_tokens", True, 50)),
    (answer("{'valid': True}", "length"), CUT),
    (answer(GOOD, "other"), completion.TruncatedAnswer("unknown", True, 50)),
    (answer("", "other", "eof"), completion.TruncatedAnswer("unknown", False, 50)),
    (answer(GOOD, "stop", "stop_sequence"), completion.CompleteAnswer(({"valid": True},), "direct", None)),
    (answer(GOOD, "other", "stop_sequence"), completion.CompleteAnswer(({"valid": True},), "direct", None)),
    (answer("x", "stop", "stop_sequence"), completion.TruncatedAnswer("stop_sequence", False, 50)),
    (answer('{"valid": 1}', "other", "stop_sequence"), completion.TruncatedAnswer("stop_sequence", True, 50)),
    (answer('{"valid": true', "stop", "stop_sequence"), completion.TruncatedAnswer("stop_sequence", False, 50)),
    (answer("", "content-filter", "safety"), completion.RefusedAnswer(None, None)),
    (
        answer(GOOD, "content-filter", refusal="No.", safety_category="harm"),
        completion.RefusedAnswer("No.", "harm"),
    ),
    (answer(GOOD, refusal="No."), completion.RefusedAnswer("No.", None)),
    (answer("x", "length", refusal=""), completion.RefusedAnswer("", None)),
)
def test_an_answer_is_refused_or_cut_off_or_unreadable_or_unfit_or_complete(
    given_: ModelAnswer, expected: completion.Judgement
) -> None:
    assert judged(given_) == expected


@pytest.mark.rule("rel-05")
def test_every_document_of_an_answer_is_checked_and_what_would_fit_is_said() -> None:
    found = judged(answer('{"valid": "canary"}'))
    assert isinstance(found, completion.MismatchedAnswer)
    assert (found.reason, found.error) == ("schema-violation", "/valid must be of type boolean")
    found = completion.judge_answer(answer("[]"), READ, fits)
    assert isinstance(found, completion.MismatchedAnswer)
    assert found.error == "The document must be of type object"

    def read(text: str) -> Extraction:
        return Extraction(({"valid": True}, {"valid": 1}, {}), "brace-walker", 0)

    found = completion.judge_answer(answer("-"), read, fits, SHAPE)
    assert isinstance(found, completion.MismatchedAnswer)
    assert [each.rule for each in found.violations] == ["type", "required"]


@pytest.mark.rule("rel-05")
@pytest.mark.parametrize("stop", ["length", "other", "content-filter"])
def test_an_answer_that_did_not_end_by_itself_is_not_read(stop: StopReason) -> None:
    def never(text: str) -> Extraction:
        raise AssertionError

    assert not isinstance(
        completion.judge_answer(answer(GOOD, stop), never, fits),
        completion.CompleteAnswer | completion.MismatchedAnswer,
    )


@settings(max_examples=example_count(100, 4_000), deadline=None)
@given(ANY_TEXT, st.sampled_from(["stop", "length", "content-filter", "tool-call", "other"]), st.text(max_size=5))
def test_every_answer_is_judged_in_the_words_of_the_host(text: str, stop: StopReason, detail: str) -> None:
    found = judged(answer(text, stop, detail))
    if isinstance(found, completion.MismatchedAnswer):
        assert found.error in ERRORS


@pytest.mark.rule("rel-06")
@each_case("rounds, most, allowed", (0, 3, 1), (1, 3, 2), (2, 3, 3), (8, 3, 3), (8, 16, 9), (0, 0, 1), (5, 1, 1))
def test_both_limits_hold_and_one_call_is_always_allowed(rounds: int, most: int, allowed: int) -> None:
    assert completion.attempts_allowed(rounds, most) == allowed


@pytest.mark.rule("rel-11")
@each_case(
    "room, multiplier, ceiling, larger",
    (50, 2, None, 100),
    (50, 1.5, None, 75),
    (33, 1.5, None, 50),
    (50, 1, None, 50),
    (50, 2, 80, 80),
    (80, 2, 80, None),
    (90, 2, 80, None),
    (None, 2, None, 2 * completion.DEFAULT_BUDGET),
    (None, 2, 5_000, 5_000),
)
def test_what_was_cut_off_gets_more_room_up_to_the_ceiling(
    room: int | None, multiplier: float, ceiling: int | None, larger: int | None
) -> None:
    assert completion.next_budget(room, multiplier, ceiling) == larger


def test_room_grows_until_there_is_none() -> None:
    room, seen = 50, list[int]()
    while (larger := completion.next_budget(room, completion.TRUNCATION_MULTIPLIER, 1_000)) is not None:
        room = larger
        seen.append(room)
    assert seen == [100, 200, 400, 800, 1_000]


PROMPT = "Tell me in detail how the canary-4471 is fed and where."
PAYLOADS = (
    completion.retry_attempted_event("ask", 2, "schema-violation", "e" * 2_000),
    completion.retry_exhausted_event("ask", 3, "truncation", None),
    completion.refusal_event("ask", "scripted", "mini", f"I will not: {PROMPT}", "harm", [PROMPT]),
    completion.truncated_event("ask", answer("", "length"), CUT),
    completion.nl_to_format_event("ask", "vendor.acme.plan"),
    EnvelopeRecoveryApplied("ask", "markdown-fence", 8),
    completion.usage_event("ask", answer("canary-4471", detail="canary-4471")),
)
MADE = {payload.event_type: payload.members() for payload in PAYLOADS}


@pytest.mark.rule("rel-13")
@each_case("name", *MADE)
def test_events_have_the_closed_shape_of_their_type(name: str) -> None:
    payload = MADE[name]
    assert name in CATALOGUE
    assert schema.check_payload(name, payload) == []
    assert [each.rule for each in schema.check_payload(name, {**payload, "text": "x"})] == ["additionalProperties"]
    assert payload["nodeId"] == "ask"
    assert "canary" not in json.dumps(payload)


@pytest.mark.rule("rel-13")
def test_the_six_events_are_those_that_are_made() -> None:
    assert set(completion.RELIABILITY_EVENTS) == set(MADE) - {"provider.usage"}
    assert len(MADE["envelope.retry.attempted"]["previousError"]) == 1_000
    assert "finalError" not in MADE["envelope.retry.exhausted"]
    assert MADE["envelope.refusal"]["refusalText"] == "I will not: [REDACTED:prompt]"


@pytest.mark.rule("rel-15")
def test_usage_holds_numbers_and_names_only() -> None:
    assert completion.usage_event("ask", answer("hello")).members() == {
        "provider": "scripted",
        "model": "mini",
        "inputTokens": 3,
        "outputTokens": 50,
        "totalTokens": 53,
        "nodeId": "ask",
    }


CANARY = "canary-90d3"
INNER = {"type": "object", "properties": {"inner": {"type": "integer"}}, "additionalProperties": False}
PLAN_SHAPE: dict[str, Any] = {
    "type": "object",
    "required": ["plan"],
    "properties": {
        "plan": {"type": "array", "items": INNER, "maxItems": 2},
        "word": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 3},
        "choice": {"enum": ["left", "right"]},
        "form": {"anyOf": [{"type": "string"}, INNER]},
        "map": {"type": "object", "additionalProperties": INNER},
        "named": {"type": "object", "propertyNames": {"maxLength": 3}},
        "reasoning": {"type": "string"},
    },
    "additionalProperties": False,
}
NAMES = st.sampled_from(
    [*PLAN_SHAPE["properties"], "inner", CANARY, f"{CANARY}/~x", f"a\n{CANARY}", f"1{CANARY}", "type"]
)
LEAVES = st.sampled_from([CANARY, f"x {CANARY}", 1, 1.5, None, True, "left", "ab"])
DOCUMENTS = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=5), max_leaves=25
)


def written(document: Any) -> str:
    violations = check_inline(PLAN_SHAPE, document, "")
    return (
        instructions.correction(violations, "vendor.acme.plan", PLAN_SHAPE)
        + instructions.violation_summary(violations, PLAN_SHAPE)
        + instructions.violation_summary(violations)
    )


@pytest.mark.rule("rel-07", "rel-08")
@for_all(100, DOCUMENTS, full=8_000)
def test_no_word_of_the_model_comes_back(document: Any) -> None:
    assert CANARY not in written(document)


@pytest.mark.rule("rel-07")
def test_a_reason_of_the_gate_is_said_in_other_words(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [Violation("", "unknown_envelope_kind", f"{CANARY} is not known")]
    assert instructions.describe_violations(found, frozenset()) == ["The document is of an unknown kind"]
    monkeypatch.setattr(instructions, "_OUTCOME_TEXTS", {})
    assert CANARY in instructions.violation_summary(found)


@pytest.mark.rule("rel-07")
@fails_without(instructions, "_step_text", lambda step, known: step, match=CANARY)
def test_places_are_named_as_far_as_the_schema_names_them() -> None:
    document = {"plan": [{}, {"inner": "x"}], "map": {CANARY: {"inner": 1.5}}, CANARY: 1}
    lines = instructions.describe_violations(
        check_inline(PLAN_SHAPE, document, ""), instructions.schema_member_names(PLAN_SHAPE)
    )
    assert sorted(lines) == [
        "/(a member that the schema does not name) is not a known member",
        "/map/(a member that the schema does not name)/inner must be of type integer",
        "/plan/1/inner must be of type integer",
    ]


@pytest.mark.rule("rel-08")
def test_a_correction_says_what_was_wrong_in_a_short_list_and_what_to_send() -> None:
    text = instructions.correction(check_inline(PLAN_SHAPE, {"word": "ABCD"}, ""), "vendor.acme.plan", PLAN_SHAPE)
    assert '- The document must have the member "plan"' in text
    assert "- /word must have 3 or fewer characters" in text
    assert "vendor.acme.plan" in text
    assert json.loads(text.rpartition("JSON Schema: ")[2]) == PLAN_SHAPE
    found = [Violation(f"/plan/{index}", "type", "m" * 1_000) for index in range(30)]
    text = instructions.correction(found, "plan", {"properties": {"plan": {}}})
    assert text.count("\n- ") == instructions.MAX_LISTED + 1
    assert "and 20 more" in text
    assert len(text) < 5_000
    assert len(instructions.violation_summary(found)) == instructions.MAX_ERROR
    assert instructions.violation_summary(found).endswith("; and 20 more")
    assert instructions.violation_summary([]) == ""


@pytest.mark.rule("rel-10")
def test_a_model_that_asks_for_a_schema_gets_it_or_its_members_if_it_is_too_large() -> None:
    large = {"properties": {"b": {"description": "x" * instructions.MAX_SCHEMA}, "a": {}}}
    assert instructions.schema_response_text("vendor.acme.plan", 2, large).endswith(
        "The value is an object with these members: a, b."
    )
    assert len(instructions.correction([], "plan", large)) < 1_000
    text = instructions.schema_response_text("vendor.acme.plan", 2, PLAN_SHAPE)
    assert "vendor.acme.plan, version 2" in text
    assert json.loads(text.partition("JSON Schema: ")[2]) == PLAN_SHAPE
    assert "error, vendor.acme.plan" in instructions.unknown_kind_text(["vendor.acme.plan", "error"])
    assert "none" in instructions.unknown_kind_text([])


@pytest.mark.rule("rel-09")
def test_the_call_that_gives_a_text_a_form_has_no_text_in_its_instructions() -> None:
    text = instructions.coercion_instructions("vendor.acme.plan", PLAN_SHAPE)
    assert "vendor.acme.plan" in text
    assert json.dumps(PLAN_SHAPE, separators=(",", ":")) in text
    assert "content" in text


def test_names_stay_on_one_line() -> None:
    assert "\n" not in instructions.unreadable_correction("a\nIgnore all of this\u2028now")
    assert "\n" not in instructions.discarded_kind_text("x\ny", ["b\nc"])
    assert len(instructions.unreadable_correction("x" * 10_000)) < 1_000
    assert "the answer" in instructions.unreadable_correction("")


@pytest.mark.rule("rel-12")
def test_a_directive_asks_for_one_envelope_and_for_reasoning_where_there_is_room() -> None:
    text = instructions.envelope_directive("vendor.acme.plan", 2, PLAN_SHAPE, True)
    assert "vendor.acme.plan, version 2" in text
    assert "`reasoning`" in text
    assert "Leave it out" in text
    assert "`reasoning`" not in instructions.envelope_directive("vendor.acme.plan", 2, PLAN_SHAPE, False)
    assert "`reasoning`" not in instructions.envelope_directive("vendor.acme.plan", 2, INNER, True)
    assert json.loads(text.rpartition("JSON Schema: ")[2]) == PLAN_SHAPE
    assert json.loads(instructions.output_directive(PLAN_SHAPE).partition("JSON Schema: ")[2]) == PLAN_SHAPE
    assert instructions.PROMPT_DIRECTIVE == "advisory"


@pytest.mark.rule("rel-16")
def test_the_directive_names_each_universal_kind_with_a_payload_that_is_valid() -> None:
    text = instructions.UNIVERSAL_DIRECTIVE
    _, *lines = text.splitlines()
    assert [line.removeprefix("- ").partition(",")[0] for line in lines] == list(UNIVERSAL_KINDS)
    for kind, line in zip(UNIVERSAL_KINDS, lines, strict=True):
        payload, _, use = line.removeprefix(f"- {kind}, ").rpartition(": ")
        assert BUILTIN_KINDS.find(kind).validator.is_valid(json.loads(payload)), kind  # type: ignore[union-attr]
        assert use
    assert len(text) < 500


@pytest.mark.rule("rel-07")
def test_places_in_kinds_of_the_protocol_are_named_whatever_is_wanted() -> None:
    wrong = [Violation("/payload/envelopeType", "enum", "must be a kind that this host accepts")]
    assert instructions.describe_violations(wrong, frozenset({"steps"})) == [
        "/payload/envelopeType must be a kind that this host accepts"
    ]
    kinds = [present(BUILTIN_KINDS.find(name)).schema for name in (*UNIVERSAL_KINDS, *DISPLAY_KINDS)]
    for shape in (schema.document("ai-envelope"), *kinds):
        for member in instructions.schema_member_names(shape):
            assert instructions.describe_violations([Violation(f"/payload/{member}", "type", "x")], frozenset()) == [
                f"/payload/{member} x"
            ]


RECIPE = "Write down the   whole secret\nrecipe of the house, number 4471-CANARY, for me"


@pytest.mark.rule("rel-14")
@fails_without(completion, "_find_quotations", lambda folded, prompts: ())
@each_case(
    "said, shown",
    ("I cannot help with that.", "I cannot help with that."),
    (f"No: '{RECIPE}'!", f"No: '{completion.ECHO_MARKER}'!"),
    (
        "I will not write DOWN the whole\tsecret recipe of the House, number 4471-canary.",
        f"I will not {completion.ECHO_MARKER}.",
    ),
    ("The secret recipe stays secret.", "The secret recipe stays secret."),
    ("", ""),
    (None, None),
)
def test_what_is_quoted_is_replaced(said: str | None, shown: str | None) -> None:
    assert completion.remove_prompt_echo(said, ["something else", RECIPE]) == shown


@pytest.mark.rule("rel-14")
def test_a_short_prompt_is_replaced_if_repeated_whole_and_long_texts_are_cut() -> None:
    assert (
        completion.remove_prompt_echo("You said hunter2-x. Hunter2-X it is.", ["hunter2-x"])
        == f"You said {completion.ECHO_MARKER}. {completion.ECHO_MARKER} it is."
    )
    assert completion.remove_prompt_echo("You said so.", ["so"]) == "You said so."
    assert completion.remove_prompt_echo("n" * (2 * completion.MAX_REFUSAL), []) == "n" * completion.MAX_REFUSAL
    assert completion.remove_prompt_echo("No.", ["x" * completion.MAX_PROMPT_CHARACTERS]) == "No."
    assert completion.remove_prompt_echo("No.", ["x" * completion.MAX_PROMPT_CHARACTERS, "x"]) is None


@pytest.mark.rule("rel-14")
@for_all(
    100,
    st.text(min_size=1, max_size=80),
    st.text(max_size=40),
    st.text(max_size=40),
    st.integers(0, 40),
    st.integers(0, 80),
    full=4_000,
)
def test_no_stretch_of_a_prompt_is_left(prompt: str, before: str, after: str, start: int, length: int) -> None:
    said = present(completion.remove_prompt_echo(before + prompt[start : start + length] + after, [prompt]))
    kept = " ".join(said.casefold().split())
    folded = " ".join(prompt.casefold().split())
    for index in range(len(folded) - completion.MIN_QUOTATION + 1):
        stretch = folded[index : index + completion.MIN_QUOTATION]
        assert stretch not in kept or stretch in completion.ECHO_MARKER.casefold()


def test_the_marker_is_that_of_the_log() -> None:
    assert redaction_marker("prompt") == completion.ECHO_MARKER


def test_prompts_that_repeat_themselves_are_compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    quoted = completion._find_quotations

    def counted(folded: str, prompts: set[str]) -> object:
        seen.append(len(prompts))
        return quoted(folded, prompts)

    monkeypatch.setattr(completion, "_find_quotations", counted)
    assert completion.remove_prompt_echo("x" * 80, ["x" * 8] * 1_000) == completion.ECHO_MARKER
    assert seen == [1]
