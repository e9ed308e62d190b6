"""Forms: their body, answers by kind and button, what is refused, and that what is filled in is what the run gets."""

import json
import string
from typing import Any
from urllib.parse import quote, quote_plus, urlencode

import pytest
from hypothesis import example
from hypothesis import strategies as st

from tests.adapters.http.page.page_tree import answer, parse, parse_form
from tests.adapters.http.page.sample_questions import (
    ACTIONS,
    CLARIFICATION,
    KINDS,
    REPORT_SCHEMA,
    approval,
    clarification,
    interrupt_document,
)
from tests.harness.cases import each_case
from tests.harness.definitions import for_all
from weftwork.adapters.http.page import form_body
from weftwork.adapters.http.page.pages import render_question
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.forms.answer import resume_value
from weftwork.protocol.forms.plan import is_malformed, plan_for
from weftwork.protocol.json.caller_schema import check_value
from weftwork.protocol.people.approvals import normalize_approval
from weftwork.protocol.people.interrupt_validation import normalize_answer
from weftwork.protocol.privacy.secret_matcher import MARKER_PREFIX
from weftwork.protocol.run.interrupts import InterruptState


@each_case(
    "action, filled, value",
    ("accept", {}, {"action": "accept"}),
    ("accept", {"comment": "Good.\nGo."}, {"action": "accept", "comment": "Good.\nGo."}),
    ("reject", {"comment": "No", "refine": "x", "ask": "y"}, {"action": "reject", "comment": "No"}),
    (
        "refine",
        {"refine": "Shorter", "comment": "x"},
        {"action": "refine", "refineFeedback": {"scope": "whole", "text": "Shorter"}},
    ),
    ("ask", {"ask": "Why?", "edit2": "no number"}, {"action": "ask", "question": "Why?"}),
)
def test_only_the_fields_of_the_pressed_button_count(action: str, filled: dict[str, str], value: Any) -> None:
    question = approval()
    form = parse_form(question)
    for name, text in filled.items():
        form.sent[name] = [text]
    found = answer(question, form, action)
    assert found == value
    assert normalize_approval(question["data"], found) == value


def test_a_text_is_edited_as_a_text() -> None:
    question = KINDS["approval of a text"]
    form = parse_form(question)
    form.sent["edit"] = ['{"not": "json"']
    assert answer(question, form, "edit-accept")["editedArtifactData"] == '{"not": "json"'


@each_case("actions", ["accept"], ["reject", "ask"], ["refine"], ["edit-accept"])
def test_there_is_a_button_for_each_allowed_action(actions: list[str]) -> None:
    tree = parse(render_question(approval(actions), "token"))
    assert sorted(each.get("value") for each in tree.named("button")) == sorted(actions)
    for action in set(ACTIONS) - set(actions):
        with pytest.raises(ClientFault):
            resume_value(approval(actions), [("action", action), ("comment", "")])


ANSWERS: dict[str, tuple[str, dict[str, Any], Any]] = {
    "external event": ("send", {}, {"order": "A-17"}),
    "external event with a schema": ("send", {"f1": 12.5}, {"order": "A-17", "amount": 12.5}),
    "custom": ("send", {"answer": "north"}, "north"),
    "custom with a schema": ("send", {"f0": "All is well", "f1": 3}, {"outcome": "ok", "count": 3, "key": "k-1"}),
    "custom with one value": ("send", {"answer": 5}, 5),
    "exchange": ("send", {"answer": "Hello\nyou"}, "Hello\nyou"),
    "low confidence": ("ratify", {}, {"queue": "refunds", "priority": 2}),
    "low confidence without a decision": ("send", {"answer": "[1]"}, "[1]"),
    "one question": ("send", {"f0": "blue"}, {"answers": {"q": "blue"}}),
}


@each_case("name", *ANSWERS)
def test_an_answer_of_each_kind_is_one_that_the_run_takes(name: str) -> None:
    question, (action, filled, value) = KINDS[name], ANSWERS[name]
    form = parse_form(question)
    for field, given_value in filled.items():
        form.fill(field, given_value)
    found = answer(question, form, action)
    assert found == value
    state = InterruptState("i", "n", question["kind"], "k", question["data"], 0, question.get("resumeSchema"))
    assert normalize_answer(state, found) == value


def test_a_decision_can_be_changed_before_it_is_confirmed() -> None:
    question = KINDS["low confidence"]
    form = parse_form(question)
    form.sent["edit0"] = ["returns"]
    assert answer(question, form, "edit") == {"queue": "returns", "priority": 2}
    assert answer(question, form, "ratify") == {"queue": "refunds", "priority": 2}


def test_free_text_is_json_only_if_its_box_says_so() -> None:
    question = KINDS["custom"]
    form = parse_form(question)
    form.sent["answer"] = ['{"a": 1}']
    assert answer(question, form) == '{"a": 1}'
    form.sent["answer.json"] = ["1"]
    assert answer(question, form) == {"a": 1}


def test_a_browser_need_not_name_the_only_button() -> None:
    question = KINDS["one question"]
    form = parse_form(question)
    form.fill("f0", "blue")
    assert answer(question, form, None) == {"answers": {"q": "blue"}}


def test_references_of_a_schema_are_followed() -> None:
    schema = {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"type": "boolean"}}}
    question = clarification(("q", "Yes?", schema))
    form = parse_form(question)
    form.fill("f0", True)
    assert answer(question, form) == {"answers": {"q": True}}
    assert parse_form(interrupt_document("custom", {"customKind": "c"}, resumeSchema=REPORT_SCHEMA)).names == [
        "f0",
        "f1",
        "f2",
        "f4",
    ]


def test_empty_means_null_where_null_is_allowed() -> None:
    question = clarification(("q", "How many?", {"type": ["integer", "null"]}))
    assert answer(question, parse_form(question)) == {"answers": {"q": None}}


def trip() -> dict[str, list[str]]:
    texts = ["Work", "2026-04-01", "ann@example.org", "1", "2", "0", "1", "3", "DE-123", "7.5", "{}"]
    return {f"f{place}": [text] for place, text in enumerate(texts)}


def pairs(sent: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(name, text) for name, texts in sent.items() for text in texts]


def test_a_whole_form() -> None:
    assert resume_value(CLARIFICATION, pairs(trip())) == {
        "answers": {
            "why": "Work",
            "day": "2026-04-01",
            "mail": "ann@example.org",
            "class": "second",
            "seats": 2,
            "extras": ["bicycle"],
            "insured": False,
            "city": "City 3",
            "code": "DE-123",
            "weight": 7.5,
            "rest": {},
        }
    }


@each_case(
    "field, text, pointer",
    ("f0", "", "/resumeValue/answers/why"),
    ("f0", " \n ", "/resumeValue/answers/why"),
    ("f3", "2", "/resumeValue/answers/class"),
    ("f3", "first", "/resumeValue/answers/class"),
    ("f3", "00", "/resumeValue/answers/class"),
    ("f4", "0", "/resumeValue/answers/seats"),
    ("f4", "1.5", "/resumeValue/answers/seats"),
    ("f4", "٣", "/resumeValue/answers/seats"),
    ("f4", "1" * 500, "/resumeValue/answers/seats"),
    ("f5", "7", "/resumeValue/answers/extras"),
    ("f8", "de-123", "/resumeValue/answers/code"),
    ("f9", "1e999", "/resumeValue/answers/weight"),
    ("f9", "nan", "/resumeValue/answers/weight"),
    ("f10", "{", "/resumeValue/answers/rest"),
    ("f10", "[]", "/resumeValue/answers/rest"),
    ("f10", '{"a": 1, "a": 2}', "/resumeValue/answers/rest"),
)
def test_what_does_not_fit_is_named(field: str, text: str, pointer: str) -> None:
    with pytest.raises(ClientFault) as refused:
        resume_value(CLARIFICATION, pairs({**trip(), field: [text]}))
    assert refused.value.code == "validation_error"
    details = refused.value.details or {}
    assert (details["pointer"], details["field"]) == (pointer, field)
    assert len(text.strip()) < 3 or text not in str(details) + refused.value.message


def test_all_that_does_not_fit_is_named_at_once() -> None:
    with pytest.raises(ClientFault) as refused:
        resume_value(CLARIFICATION, pairs({**trip(), "f0": [""], "f4": ["99"]}))
    details = refused.value.details or {}
    assert [each["field"] for each in details["violations"]] == ["f0", "f4"]


@each_case(
    "sent",
    [("action", "maybe")],
    [("action", "accept"), ("action", "reject")],
    [("action", "accept"), ("action", "accept")],
    [("comment", "no button")],
    [("action", "accept"), ("comment", "a"), ("comment", "b")],
    [("action", "accept"), ("voter", "somebody else")],
    [("action", "accept"), ("override", "true"), ("reason", "because")],
    [("action", "refine"), ("refine", "")],
    [("action", "edit-accept"), ("edit", "{not json")],
    [("action", "ask"), ("ask", " ")],
    [("action", "accept"), ("comment", "x" * 10_001)],
)
def test_what_the_page_does_not_send_is_refused(sent: list[tuple[str, str]]) -> None:
    with pytest.raises(ClientFault) as refused:
        resume_value(approval(), sent)
    assert refused.value.code == "validation_error"


@each_case("question", {**approval(), "intent": "inspect"}, approval(profile="openwop-interrupt-auth-required"))
def test_what_only_can_be_read_takes_no_answer(question: dict[str, Any]) -> None:
    tree = parse(render_question(question, "token"))
    assert tree.named("form", "button") == []
    with pytest.raises(ClientFault) as refused:
        resume_value(question, [("action", "accept")])
    assert refused.value.code == "forbidden"


@each_case(
    "sent, value",
    ([("action", "ratify")], {"kind": "terminate"}),
    ([("action", "reject")], {"action": "reject"}),
    (
        [("action", "edit"), ("edit", '{"kind": "terminate", "reason": "no"}')],
        {"kind": "terminate", "reason": "no"},
    ),
)
def test_the_decision_of_a_supervisor_can_be_refused(sent: list[tuple[str, str]], value: Any) -> None:
    assert resume_value(KINDS["decision of a supervisor"], sent) == value
    with pytest.raises(ClientFault):
        resume_value(KINDS["low confidence"], [("action", "reject")])


MARKER = "[REDACTED:n.data]"


@each_case(
    "question, sent, value",
    (
        interrupt_document(
            "low-confidence", {"agentId": "a.b", "threshold": 0.5, "observed": 0.2, "decision": {"to": MARKER}}
        ),
        [("action", "edit"), ("edit", '"refunds"')],
        "refunds",
    ),
    (
        interrupt_document("external-event", {"eventType": "paid", "correlation": {"order": MARKER}}),
        [("answer", '{"order": 7}')],
        {"order": 7},
    ),
    (approval(artifactData={"iban": MARKER}), [("action", "accept")], {"action": "accept"}),
)
def test_a_marker_for_what_is_hidden_is_shown_and_never_filled_in(
    question: dict[str, Any], sent: list[tuple[str, str]], value: Any
) -> None:
    fields = [field for choice in plan_for(question).buttons for field in choice.fields]
    assert not [field for field in fields if MARKER in field.value]
    assert {"ratify", "edit-accept"}.isdisjoint(choice.action for choice in plan_for(question).buttons)
    assert MARKER in render_question(question, "token").decode()
    assert resume_value(question, sent) == value


def test_unless_it_is_not_known_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weftwork.protocol.forms.plan.MARKER_PREFIX", "\0")
    with pytest.raises(AssertionError):
        test_a_marker_for_what_is_hidden_is_shown_and_never_filled_in()


CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0\r")

NAMES = st.text(CHARACTERS, min_size=1, max_size=form_body.MAX_NAME)

PAIRS = st.lists(st.tuples(NAMES, st.text(CHARACTERS)), max_size=8)


def code_of(body: bytes) -> str | None:
    try:
        form_body.decode_form(body)
    except ClientFault as fault:
        return fault.code
    return None


def refused(body: bytes) -> bool:
    code = code_of(body)
    assert code in (None, "validation_error")
    return code is not None


@for_all(100, pairs=PAIRS, way=st.sampled_from([quote, quote_plus]), full=4_000)
def test_what_is_encoded_comes_back(pairs: list[tuple[str, str]], way: object) -> None:
    assert form_body.decode_form(urlencode(pairs, quote_via=way).encode()) == pairs  # pyright: ignore[reportArgumentType, reportCallIssue]


@for_all(250, body=st.binary(max_size=200) | st.text("a=&%+0fFé;\n", max_size=60).map(str.encode), full=10_000)
def test_any_body_is_read_or_refused(body: bytes) -> None:
    refused(body)


def test_line_ends_are_line_feeds() -> None:
    assert form_body.decode_form(b"a=1%0D%0A2%0D3%0A4") == [("a", "1\n2\n3\n4")]


def test_the_order_and_repetitions_are_kept() -> None:
    assert form_body.decode_form(b"b=1&a=2&b=3&c=") == [("b", "1"), ("a", "2"), ("b", "3"), ("c", "")]
    assert form_body.decode_form(b"") == []


@each_case(
    "body",
    b"a",
    b"&",
    b"a=1&",
    b"=1",
    b"a=1&&b=2",
    b"a=%",
    b"a=%4",
    b"a=%zz",
    b"a=%ff",
    b"a=%c0%80",
    b"a=%ed%a0%80",
    b"a=%f4%90%80%80",
    b"a=%00",
    b"%00=a",
    b"a=\xc3\xa9",
    b"a=1 2",
    b"a=1\n",
    b'a="x"',
    b"%ff=a",
    b'{"resumeValue": 1}',
    b"--boundary\r\ncontent-disposition: form-data",
)
def test_what_is_no_form_is_refused(body: bytes) -> None:
    assert refused(body)


@each_case(
    "fits, too_much",
    (b"&".join([b"a=1"] * form_body.MAX_FIELDS), b"&".join([b"a=1"] * (form_body.MAX_FIELDS + 1))),
    (b"a" * form_body.MAX_NAME + b"=1", b"a" * (form_body.MAX_NAME + 1) + b"=1"),
    (b"a=" + b"x" * form_body.MAX_VALUE, b"a=" + b"x" * (form_body.MAX_VALUE + 1)),
    (b"a=" + b"%F0%9F%99%82" * form_body.MAX_VALUE, b"a=" + b"%F0%9F%99%82" * (form_body.MAX_VALUE + 1)),
    (b"a=1", b"a=1&" + b"b" * form_body.MAX_FORM_BYTES),
)
def test_bounds(fits: bytes, too_much: bytes) -> None:
    assert not refused(fits)
    assert refused(too_much)


TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]) | st.just("\n"), min_size=1, max_size=40)
TEXT = TEXT.filter(lambda text: bool(text.strip()))
LINE = st.text(string.printable.strip() + "äß漢🙂", min_size=1, max_size=20)
NUMBERS = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.none() | st.booleans() | NUMBERS | LINE
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(LINE, inner, max_size=3))
OPTIONS = st.lists(LINE | st.integers(-99, 99), min_size=1, max_size=12, unique_by=str)


def exact(value: Any) -> str:
    """JSON text in which 5.0 is 5, and true is not 1."""

    def plain(each: Any) -> Any:
        if isinstance(each, dict):
            return {name: plain(inner) for name, inner in each.items()}
        if isinstance(each, list):
            return [plain(inner) for inner in each]
        return int(each) if isinstance(each, float) and each.is_integer() else each

    return json.dumps(plain(value), sort_keys=True)


@st.composite
def schema_and_value(draw: st.DrawFn) -> tuple[dict[str, Any], Any]:
    match draw(st.integers(0, 11)):
        case 0:
            value = draw(TEXT)
            return {"type": "string", "minLength": len(value)}, value
        case 1:
            value = draw(LINE)
            return {"type": "string", "maxLength": len(value) + draw(st.integers(0, 50))}, value
        case 2:
            return {"type": "string", "pattern": "^[A-Z]+$"}, draw(st.text("ABC", min_size=1))
        case 3:
            options = draw(OPTIONS)
            return {"enum": options}, draw(st.sampled_from(options))
        case 4:
            return {"type": "boolean"}, draw(st.booleans())
        case 5:
            value = draw(st.integers(-(2**53) + 1, 2**53 - 1))
            return {"type": "integer", "minimum": value, "maximum": value}, value
        case 6:
            value = draw(st.floats(allow_nan=False, allow_infinity=False))
            return {"type": "number", "minimum": value}, value
        case 7:
            options = draw(OPTIONS)
            chosen = draw(st.lists(st.sampled_from(options), max_size=4, unique_by=str))
            listed = [each for each in options if each in chosen]
            return {"type": "array", "items": {"enum": options}, "uniqueItems": True}, listed
        case 8:
            return {"type": "string", "format": "date"}, draw(st.dates().map(str))
        case 9:
            return {"type": "string", "format": "email"}, "ann@example.org"
        case 10:
            return {"type": ["object", "array"]}, draw(st.dictionaries(LINE, JSON, max_size=3))
        case _:
            return {}, draw(JSON)


@for_all(100, drawn=st.lists(schema_and_value(), min_size=1, max_size=6), full=4_000)
def test_what_is_filled_in_is_what_the_run_gets(drawn: list[tuple[dict[str, Any], Any]]) -> None:
    question = clarification(*((f"q/{place}~", f"Question {place}", schema) for place, (schema, _) in enumerate(drawn)))
    assert not is_malformed(question)
    form = parse_form(question)
    assert len(form.names) == len(drawn)
    for name, (_, value) in zip(form.names, drawn, strict=True):
        form.fill(name, value)
    found = answer(question, form)["answers"]
    assert exact(found) == exact({f"q/{place}~": value for place, (_, value) in enumerate(drawn)})
    for place, (schema, _) in enumerate(drawn):
        assert check_value(schema, found[f"q/{place}~"], "") == []


@for_all(
    50, drawn=st.lists(schema_and_value(), min_size=1, max_size=5), optional=st.sets(st.integers(0, 4)), full=2_000
)
def test_an_object_is_asked_for_member_by_member(drawn: list[tuple[dict[str, Any], Any]], optional: set[int]) -> None:
    properties = {f"m{place}": schema for place, (schema, _) in enumerate(drawn)}
    required = [f"m{place}" for place in range(len(drawn)) if place not in optional]
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    question = interrupt_document("custom", {"customKind": "c"}, resumeSchema=schema)
    form = parse_form(question)
    expected: dict[str, Any] = {}
    for place, (name, (_, value)) in enumerate(zip(form.names, drawn, strict=True)):
        if place not in optional:
            form.fill(name, value)
            expected[f"m{place}"] = value
    assert exact(answer(question, form)) == exact(expected)
    assert check_value(schema, answer(question, form), "") == []


@example(value={MARKER_PREFIX: None})
@for_all(100, value=JSON | TEXT, full=4_000)
def test_what_is_edited_and_left_as_it_is_comes_back_exactly(value: Any) -> None:
    question = approval(artifactData=value)
    form = parse_form(question)
    if MARKER_PREFIX in json.dumps(value):
        # It looks as if a part were hidden, so it cannot be edited.
        assert "edit-accept" not in [each.get("value") for each in form.form.named("button")]
        return
    if value is None:
        form.fill("edit", None)
    assert exact(answer(question, form, "edit-accept")["editedArtifactData"]) == exact(value)


@each_case("text", "a\u202eb", "\ufeffx", "tab\there", "\u2028", "\r\n", "a\r\nb", "  ", "\n\nx\n", "\U000e0041")
def test_hidden_characters_survive_an_edit(text: str) -> None:
    question = approval(artifactData=text)
    assert answer(question, parse_form(question), "edit-accept")["editedArtifactData"] == text
