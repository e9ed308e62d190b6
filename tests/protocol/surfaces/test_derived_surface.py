"""Surfaces that are derived from questions: they are valid, and answer as the form of the page does."""

import contextlib
import json
from typing import Any

import pytest
from hypothesis import strategies as st

from tests.adapters.http.page.sample_questions import (
    KINDS,
    PAYLOADS,
    approval,
    clarification,
    interrupt_document,
    text_paths,
    with_text,
)
from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import for_all
from tests.protocol.surfaces.test_stored import JSON, VALIDATOR
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.forms import derived_surface
from weftwork.protocol.forms.derived_surface import DerivedSurface, Underivable, derive_surface, derived_answer
from weftwork.protocol.json.caller_schema import check_value
from weftwork.protocol.people.approvals import ACTIONS, normalize_approval
from weftwork.protocol.surfaces.limits import MAX_ALL_OPTIONS, check_limits
from weftwork.protocol.surfaces.stored import CheckedSurface
from weftwork.protocol.surfaces.surface import DateField, SelectField, Text, TextField, surface_payload


def derived(question: dict[str, Any]) -> DerivedSurface:
    found = derive_surface(question)
    assert isinstance(found, DerivedSurface), found
    return found


def assert_valid(found: DerivedSurface | Underivable) -> None:
    if isinstance(found, Underivable):
        assert found.reason
        return
    payload = json.loads(json.dumps(surface_payload(found.surface)))
    assert VALIDATOR.is_valid(payload)
    assert check_limits(payload) == []
    assert found.surface.buttons


def texts(found: DerivedSurface) -> str:
    return "\n".join(each.text for each in found.surface.components if isinstance(each, Text))


@pytest.mark.rule("surf-21")
@pytest.mark.parametrize("name", list(KINDS))
def test_every_kind_of_question_has_a_surface(name: str) -> None:
    found = derived(KINDS[name])
    assert_valid(found)
    target = "exchange" if KINDS[name]["kind"] == "conversation.exchange" else "resume"
    assert {each.action.target for each in found.surface.buttons} == {target}


# No question has a lone surrogate: every source of values refuses it, and the log is UTF-8 (json-01).
TEXTS = st.sampled_from([each for each in PAYLOADS if "\ud800" not in each]) | st.text()


@pytest.mark.rule("surf-21")
@for_all(60, st.sampled_from(sorted(KINDS)), st.data())
def test_every_text_of_a_question_keeps_its_surface_valid(name: str, data: st.DataObject) -> None:
    question = KINDS[name]
    place = data.draw(st.sampled_from(text_paths(question)))
    assert_valid(derive_surface(with_text(question, place, data.draw(TEXTS))))


QUESTIONS = st.fixed_dictionaries(
    {"kind": st.sampled_from(["approval", "clarification", "custom", "external-event", "low-confidence"]) | JSON},
    optional={"data": JSON, "resumeSchema": JSON, "intent": JSON},
)


@for_all(150, QUESTIONS)
def test_no_question_makes_the_derivation_fail(question: dict[str, Any]) -> None:
    assert_valid(derive_surface(question))


LEAVES: Any = st.sampled_from(
    [
        {"type": "string"},
        {"type": "string", "format": "date"},
        {"type": "integer", "minimum": 0},
        {"type": "number"},
        {"type": "boolean"},
        {"enum": ["a", "b", 1, None, " "]},
        {"enum": ["true", True]},
        {"enum": ["x" * 2_000, "y"]},
        {"type": "array", "items": {"enum": ["a", "b, c"]}},
        {"type": "object"},
        {"const": 3},
    ]
)
SCHEMAS = st.dictionaries(st.text(max_size=20), LEAVES, max_size=60).map(
    lambda members: {"type": "object", "properties": members, "required": list(members)[::2]}
)


@for_all(100, SCHEMAS)
def test_every_schema_has_a_valid_surface(schema: dict[str, Any]) -> None:
    assert_valid(derive_surface(interrupt_document("custom", {"customKind": "x"}, resumeSchema=schema)))


def always_valid(payload: Any) -> Any:
    return CheckedSurface()


@pytest.mark.rule("surf-21")
@fails_without(derived_surface, "check_stored", always_valid)
def test_a_question_that_does_not_fit_says_why() -> None:
    long = [(f"q{number}", "x" * 5_000, None) for number in range(50)]
    found = derive_surface(clarification(*long))
    assert isinstance(found, Underivable)
    assert "50000 or fewer characters" in found.reason


def test_a_text_is_never_shown_in_part() -> None:
    shown = texts(derived(approval(artifactData="x" * 10_001)))
    assert "too long" in shown
    assert "xxx" not in shown


def test_an_approval_has_the_actions_of_the_gate_and_the_names_of_its_answer() -> None:
    found = derived(approval())
    assert [each.id for each in found.surface.buttons] == list(ACTIONS)
    assert [each.id for each in found.surface.fields] == ["comment", "feedback", "editedArtifactData", "question"]
    assert "Espresso machine" in texts(found)


def test_richer_controls_become_text_fields_and_say_what_to_write() -> None:
    found = derived(KINDS["clarification"])
    kinds = {each.id: type(each) for each in found.surface.fields}
    assert [name for name, kind in kinds.items() if kind is SelectField] == ["class", "insured", "city"]
    assert [name for name, kind in kinds.items() if kind is DateField] == ["day"]
    assert kinds["extras"] is kinds["seats"] is kinds["rest"] is TextField
    assert "Any of these, separated by commas: bicycle, meal, quiet zone" in texts(found)
    assert "A whole number from 1 to 9" in texts(found)


FILLED = {
    "why": "Work",
    "day": "2026-04-01",
    "mail": "ada@example.org",
    "class": "second",
    "seats": "2",
    "extras": "meal, bicycle",
    "insured": "true",
    "city": "City 3",
    "code": "AB-123",
    "weight": "12.5",
    "rest": '{"a": 1}',
}


@pytest.mark.rule("surf-22")
def test_texts_are_converted_to_what_the_question_expects() -> None:
    answer = derived_answer(derived(KINDS["clarification"]), "send", FILLED)
    assert answer == {
        "answers": {
            **FILLED,
            "seats": 2,
            "extras": ["bicycle", "meal"],
            "insured": True,
            "weight": 12.5,
            "rest": {"a": 1},
        }
    }


@pytest.mark.rule("surf-22")
@each_case(
    "action, values, answer",
    ("accept", {}, {"action": "accept"}),
    ("accept", {"comment": "Good", "feedback": "x"}, {"action": "accept", "comment": "Good"}),
    ("refine", {"feedback": "Shorter"}, {"action": "refine", "refineFeedback": {"scope": "whole", "text": "Shorter"}}),
    ("edit-accept", {"editedArtifactData": '{"a": 1}'}, {"action": "edit-accept", "editedArtifactData": {"a": 1}}),
    ("ask", {"question": "Why?"}, {"action": "ask", "question": "Why?"}),
)
def test_a_button_of_an_approval_sends_its_answer(action: str, values: dict[str, str], answer: Any) -> None:
    question = approval()
    found = derived_answer(derived(question), action, values)
    assert found == answer
    assert normalize_approval(question["data"], found) == answer


@pytest.mark.rule("surf-22")
@each_case(
    "action, values, pointer",
    ("sell", FILLED, "/actionId"),
    ("send", {**FILLED, "action": "x"}, "/values/action"),
    ("send", {**FILLED, "__proto__": {}}, "/values/__proto__"),
    ("send", {**FILLED, "class": "third"}, "/values/class"),
    ("send", {**FILLED, "class": "0"}, "/values/class"),
    ("send", {**FILLED, "extras": "meal, boat"}, "/values/extras"),
    ("send", {**FILLED, "extras": '["meal", 1]'}, "/values/extras"),
    ("send", {**FILLED, "extras": "meal,meal"}, "/values/extras"),
    ("send", {**FILLED, "extras": "[meal"}, "/values/extras"),
    ("send", {**FILLED, "seats": "two"}, "/values/seats"),
    ("send", {**FILLED, "seats": 2}, "/values/seats"),
    ("send", {**FILLED, "seats": ""}, "/values/seats"),
    ("send", {**FILLED, "why": "x" * 65_537}, "/values/why"),
    ("send", {**FILLED, "why": ["x"]}, "/values/why"),
    ("send", {**FILLED, "rest": "{"}, "/values/rest"),
)
def test_a_wrong_action_is_refused_at_its_place(action: str, values: dict[str, Any], pointer: str) -> None:
    with pytest.raises(ClientFault) as refused:
        derived_answer(derived(KINDS["clarification"]), action, values)
    assert refused.value.details is not None
    assert refused.value.details["pointer"] == pointer


def test_unknown_values_can_be_dropped() -> None:
    found = derived(KINDS["clarification"])
    answer = derived_answer(found, "send", {**FILLED, "more": 1, "action": "x"}, drop_unknown=True)
    assert answer == derived_answer(found, "send", FILLED)


@pytest.mark.rule("surf-22")
@for_all(100, st.sampled_from(sorted(KINDS)), st.dictionaries(st.text(max_size=8), JSON, max_size=4), st.data())
def test_no_values_make_the_conversion_fail(name: str, values: dict[str, Any], data: st.DataObject) -> None:
    question = KINDS[name]
    found = derived(question)
    action = data.draw(st.sampled_from([each.id for each in found.surface.buttons]) | st.text(max_size=8))
    known = {each.id: data.draw(JSON | st.just("1")) for each in found.surface.fields}
    with contextlib.suppress(ClientFault):
        answer = derived_answer(found, action, {**values, **known}, data.draw(st.booleans()))
        if found.plan.schema is not None:
            assert check_value(found.plan.schema, answer, "") == []


def test_more_options_than_a_surface_can_have_become_a_text_field() -> None:
    options = [f"option {number}" for number in range(200)]
    asked = [(f"q{number}", "Which?", {"enum": options}) for number in range(7)]
    found = derived(clarification(*asked))
    selects = [each for each in found.surface.fields if isinstance(each, SelectField)]
    assert sum(len(each.options) for each in selects) <= MAX_ALL_OPTIONS
    values = {each.id: "option 7" for each in found.surface.fields}
    assert derived_answer(found, "send", values) == {"answers": values}


def test_a_question_may_have_an_id_that_no_field_can_have() -> None:
    found = derived(clarification(("__proto__", "A?", None), ("a b", "B?", None), ("send", "C?", None)))
    assert [each.id for each in found.surface.fields] == ["f0", "f1", "f2"]
    answer = derived_answer(found, "send", {"f0": "a", "f1": "b", "f2": "c"})
    assert answer == {"answers": {"__proto__": "a", "a b": "b", "send": "c"}}


def test_the_form_of_a_surface_that_is_not_rendered_is_readable() -> None:
    answered = {"who": {"type": "string"}, "day": {"type": "string", "format": "date", "pattern": "^[0-9]{4}-.*$"}}
    schema = {"type": "object", "properties": {"action": {"enum": ["book"]}, **answered}}
    data = {"customKind": "ui.a2ui-surface", "payload": {"envelopeId": "env-1", "title": "A trip"}}
    found = derived(interrupt_document("custom", data, resumeSchema=schema))
    assert texts(found) == "A trip"
    # `action` can be no id of a field.
    assert [each.id for each in found.surface.fields] == ["f0", "who", "day"]
    answer = derived_answer(found, "send", {"f0": "book", "who": "Ada", "day": "2026-11-20"})
    assert answer == {"action": "book", "who": "Ada", "day": "2026-11-20"}
