"""Answers by kind and button, and what is refused: by the words of the form alone."""

from typing import Any

import pytest

from tests.adapters.http.page.filled_form import answer, parse_form
from tests.adapters.http.page.page_tree import parse
from tests.adapters.http.page.sample_questions import (
    ACTIONS,
    CLARIFICATION,
    KINDS,
    REPORT_SCHEMA,
    approval,
    clarification,
    interrupt_document,
)
from weftwork.adapters.http.page.form_answer import resume_value
from weftwork.adapters.http.page.form_plan import plan_for
from weftwork.adapters.http.page.pages import render_question
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.people.approvals import normalize_approval
from weftwork.protocol.people.interrupt_validation import normalize_answer
from weftwork.protocol.run.interrupts import InterruptState


@pytest.mark.parametrize(
    ("action", "filled", "value"),
    [
        ("accept", {}, {"action": "accept"}),
        ("accept", {"comment": "Good.\nGo."}, {"action": "accept", "comment": "Good.\nGo."}),
        ("reject", {"comment": "No", "refine": "x", "ask": "y"}, {"action": "reject", "comment": "No"}),
        (
            "refine",
            {"refine": "Shorter", "comment": "x"},
            {"action": "refine", "refineFeedback": {"scope": "whole", "text": "Shorter"}},
        ),
        ("edit-accept", {"edit": '{"a": [1]}'}, {"action": "edit-accept", "editedArtifactData": {"a": [1]}}),
        ("ask", {"ask": "Why?", "edit": "{"}, {"action": "ask", "question": "Why?"}),
    ],
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


@pytest.mark.parametrize("actions", [["accept"], ["reject", "ask"], ["refine"], ["edit-accept"]])
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


@pytest.mark.parametrize("name", ANSWERS)
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
    form.sent["edit"] = [form.sent["edit"][0].replace("refunds", "returns")]
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


WRONG: list[tuple[str, str, str]] = [
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
]


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


@pytest.mark.parametrize(("field", "text", "pointer"), WRONG)
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


@pytest.mark.parametrize(
    "sent",
    [
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
    ],
)
def test_what_the_page_does_not_send_is_refused(sent: list[tuple[str, str]]) -> None:
    with pytest.raises(ClientFault) as refused:
        resume_value(approval(), sent)
    assert refused.value.code == "validation_error"


@pytest.mark.parametrize(
    "question", [{**approval(), "intent": "inspect"}, approval(profile="openwop-interrupt-auth-required")]
)
def test_what_only_can_be_read_takes_no_answer(question: dict[str, Any]) -> None:
    tree = parse(render_question(question, "token"))
    assert tree.named("form", "button") == []
    with pytest.raises(ClientFault) as refused:
        resume_value(question, [("action", "accept")])
    assert refused.value.code == "forbidden"


@pytest.mark.parametrize(
    ("sent", "value"),
    [
        ([("action", "ratify")], {"kind": "terminate"}),
        ([("action", "reject")], {"action": "reject"}),
        (
            [("action", "edit"), ("edit", '{"kind": "terminate", "reason": "no"}')],
            {"kind": "terminate", "reason": "no"},
        ),
    ],
)
def test_the_decision_of_a_supervisor_can_be_refused(sent: list[tuple[str, str]], value: Any) -> None:
    assert resume_value(KINDS["decision of a supervisor"], sent) == value
    with pytest.raises(ClientFault):
        resume_value(KINDS["low confidence"], [("action", "reject")])


MARKER = "[REDACTED:n.data]"


@pytest.mark.parametrize(
    ("question", "sent", "value"),
    [
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
    ],
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
    question = interrupt_document("external-event", {"eventType": "paid", "correlation": {"order": MARKER}})
    monkeypatch.setattr("weftwork.adapters.http.page.form_plan.MARKER_PREFIX", "\0")
    with pytest.raises(AssertionError):
        test_a_marker_for_what_is_hidden_is_shown_and_never_filled_in(question, [], None)
