"""What the buttons of a surface send, and which of them work."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.harness.cases import each_case, fails_without
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json import schema
from weftwork.protocol.json.caller_schema import check_caller_schema, check_value
from weftwork.protocol.people.approvals import normalize_approval
from weftwork.protocol.run.interrupts import INTERRUPT_KINDS
from weftwork.protocol.surfaces import actions
from weftwork.protocol.surfaces.actions import (
    BoundSurface,
    answer_schema,
    check_binding,
    resolve_action,
    target_of,
)
from weftwork.protocol.surfaces.limits import RESERVED_FIELD_IDS
from weftwork.protocol.surfaces.surface import (
    Action,
    AnyComponent,
    Button,
    CheckboxField,
    DateField,
    Heading,
    Option,
    SelectField,
    Surface,
    TextField,
)

FIELDS: tuple[AnyComponent, ...] = (
    Heading(text="Your trip"),
    TextField(id="guest", label="Name", required=True),
    DateField(id="arrival", label="First night", required=True),
    SelectField(id="room", label="Room", options=(Option("r1", "River"), Option("r2", "Road"))),
    CheckboxField(id="breakfast", label="Breakfast", default=True),
)
BOOK = Button(id="book", label="Book", action=Action("resume"))
SAY = Button(id="say", label="Ask", action=Action("exchange"))
TRIP = Surface(components=(*FIELDS, BOOK, SAY))
GOOD: dict[str, Any] = {"guest": "Ada", "arrival": "2026-02-03", "room": "r2", "breakfast": False}
KINDS = ("custom", "clarification", "approval", "conversation.exchange")


def approval(*names: str, fields: tuple[AnyComponent, ...] = (), untrusted: bool = False) -> BoundSurface:
    buttons = tuple(Button(id=name, label=name, action=Action("resume")) for name in names)
    data = {"actions": ["accept", "reject", "refine", "edit-accept"]}
    return BoundSurface(Surface(components=(*fields, *buttons)), "approval", data, untrusted)


def clarification(*questions: dict[str, Any], fields: tuple[AnyComponent, ...]) -> BoundSurface:
    return BoundSurface(Surface(components=(*fields, BOOK)), "clarification", {"questions": list(questions)})


def refusal(bound: BoundSurface, action: str, values: Mapping[str, Any]) -> ClientFault:
    with pytest.raises(ClientFault) as refused:
        resolve_action(bound, action, values)
    return refused.value


@pytest.mark.rule("surf-07")
def test_a_button_sends_the_values_and_its_id() -> None:
    assert resolve_action(BoundSurface(TRIP, "custom"), "book", GOOD) == {**GOOD, "action": "book"}
    assert resolve_action(BoundSurface(TRIP, "conversation.exchange"), "say", GOOD) == {**GOOD, "action": "say"}


@pytest.mark.rule("surf-07")
@given(st.dictionaries(st.sampled_from(["action", "__proto__", "x", *GOOD]), st.text(max_size=3) | st.booleans()))
def test_no_value_replaces_the_pressed_button(more: dict[str, Any]) -> None:
    """Not even the value of a field with the id `action`, which only a surface of another host could have."""
    spoof = Surface(components=(TextField(id="action", label="x"), *FIELDS, BOOK))
    try:
        answer = resolve_action(BoundSurface(spoof, "custom"), "book", {**GOOD, **more}, drop_unknown=True)
    except ClientFault:
        return
    assert answer["action"] == "book"
    assert list(answer)[-1] == "action" or "action" in more
    assert set(answer) <= {"action", *GOOD}


@pytest.mark.rule("surf-07")
@each_case(
    "action, values, pointer",
    ("x", GOOD, "/actionId"),
    ("guest", GOOD, "/actionId"),
    ("book", {**GOOD, "more": "x"}, "/values/more"),
    ("book", {**GOOD, "action": "say"}, "/values/action"),
    ("book", {**GOOD, "guest": ""}, "/values/guest"),
    ("book", {**GOOD, "guest": " \n"}, "/values/guest"),
    ("book", {**GOOD, "guest": None}, "/values/guest"),
    ("book", {**GOOD, "guest": 7}, "/values/guest"),
    ("book", {**GOOD, "guest": "x" * 65_537}, "/values/guest"),
    ("book", {**GOOD, "arrival": "3.2.2026"}, "/values/arrival"),
    ("book", {**GOOD, "arrival": "2026-02-30"}, "/values/arrival"),
    ("book", {**GOOD, "room": "r3"}, "/values/room"),
    ("book", {**GOOD, "room": ["r1"]}, "/values/room"),
    ("book", {**GOOD, "breakfast": "yes"}, "/values/breakfast"),
)
def test_a_wrong_value_is_refused_at_its_place(action: str, values: dict[str, Any], pointer: str) -> None:
    fault = refusal(BoundSurface(TRIP, "custom"), action, values)
    assert (fault.code, (fault.details or {})["pointer"]) == ("validation_error", pointer)
    assert "Ada" not in fault.message


def test_every_wrong_value_is_listed() -> None:
    fault = refusal(BoundSurface(TRIP, "custom"), "book", {"room": "r3"})
    assert [each["field"] for each in (fault.details or {})["violations"]] == ["guest", "arrival", "room"]


def test_empty_optional_fields_are_left_out_and_a_checkbox_keeps_its_default() -> None:
    values = {"guest": "Ada", "arrival": "2026-02-03", "room": ""}
    answer = resolve_action(BoundSurface(TRIP, "custom"), "book", values)
    assert answer == {"guest": "Ada", "arrival": "2026-02-03", "breakfast": True, "action": "book"}


def test_a_form_may_contain_fields_of_the_page() -> None:
    values = {**GOOD, "csrf": "x"}
    assert "csrf" not in resolve_action(BoundSurface(TRIP, "custom"), "book", values, drop_unknown=True)


@pytest.mark.rule("surf-04")
@each_case(
    "kind, works",
    ("custom", "book"),
    ("clarification", "book"),
    ("conversation.exchange", "say"),
)
def test_a_button_whose_target_does_not_fit_is_inert(kind: str, works: str) -> None:
    data = {"questions": [{"id": name, "question": "?"} for name in GOOD]}
    bound = BoundSurface(TRIP, kind, data)
    for button in TRIP.buttons:
        if button.id == works:
            assert bound.inert_reason(button) is None
        else:
            assert refusal(bound, button.id, GOOD).message == bound.inert_reason(button)


@pytest.mark.rule("surf-04")
def test_no_other_kind_has_a_form_of_an_agent() -> None:
    assert [kind for kind in INTERRUPT_KINDS if target_of(kind) is not None] == [
        "approval",
        "clarification",
        *["custom", "conversation.exchange"],
    ]
    for kind in INTERRUPT_KINDS.keys() - set(KINDS):
        assert check_binding(BoundSurface(TRIP, kind))


@pytest.mark.rule("surf-04")
def test_an_approval_has_only_the_buttons_of_its_gate() -> None:
    bound = approval("accept", "pay")
    assert resolve_action(bound, "accept", {}) == {"action": "accept"}
    assert "does not offer" in refusal(bound, "pay", {}).message


@pytest.mark.rule("surf-05")
def test_untrusted_content_does_not_answer_an_approval() -> None:
    bound = approval("accept", untrusted=True)
    assert refusal(bound, "accept", {}).code == "untrusted_content_blocks_approval"
    for kind, action in (("custom", "book"), ("conversation.exchange", "say")):
        assert resolve_action(BoundSurface(TRIP, kind, is_untrusted=True), action, GOOD)["action"] == action


@pytest.mark.rule("surf-07")
def test_the_fields_of_an_approval_are_its_members() -> None:
    fields = (
        TextField(id="comment", label="Comment"),
        TextField(id="feedback", label="f"),
        TextField(id="sum", label="Sum"),
    )
    bound = approval("accept", "reject", "refine", "edit-accept", fields=fields)
    assert not check_binding(bound)
    answers = {
        "accept": ({"comment": "ok"}, {"comment": "ok"}),
        "reject": ({"feedback": "no"}, {"feedback": "no"}),
        "refine": ({"feedback": "less"}, {"refineFeedback": {"scope": "whole", "text": "less"}}),
        "edit-accept": ({"sum": "80"}, {"editedArtifactData": {"sum": "80"}}),
    }
    for action, (values, members) in answers.items():
        answer = resolve_action(bound, action, values)
        assert answer == {**members, "action": action}
        assert normalize_approval(bound.data, answer) == answer


@pytest.mark.rule("surf-07")
def test_the_fields_of_a_clarification_are_its_questions() -> None:
    questions = [{"id": "who", "question": "?"}, {"id": "sum", "question": "?", "schema": {"type": "integer"}}]
    questions += [
        {"id": "rate", "question": "?", "schema": {"type": "number"}},
        {"id": "ok", "question": "?", "schema": {"type": "boolean"}},
    ]
    questions += [{"id": "age", "question": "?", "schema": {"type": ["integer", "null"]}}]
    fields = tuple(TextField(id=each["id"], label="x") for each in questions)
    bound = clarification(*questions, fields=fields)
    assert not check_binding(bound)
    values = {"who": "7", "sum": " 80 ", "rate": "1.5", "ok": "true", "age": "41"}
    answer = resolve_action(bound, "book", values)
    assert answer == {"answers": {"who": "7", "sum": 80, "rate": 1.5, "ok": True, "age": 41}}
    assert resolve_action(bound, "book", {**values, "sum": "many"})["answers"]["sum"] == "many"


@pytest.mark.rule("surf-07")
def test_each_question_needs_an_answer_unless_it_takes_null() -> None:
    """Also if the field is not required: the host would refuse the answer, and could not name the field."""
    age = {"type": ["integer", "null"]}
    questions = [{"id": "who", "question": "?"}, {"id": "age", "question": "?", "schema": age}]
    fields = TextField(id="who", label="x"), TextField(id="age", label="x"), CheckboxField(id="ok", label="x")
    bound = clarification(*questions, {"id": "ok", "question": "?"}, fields=fields)
    assert [bound.must_fill_in(each) for each in fields] == [True, False, False]
    assert (refusal(bound, "book", {"who": " "}).details or {})["pointer"] == "/values/who"
    assert resolve_action(bound, "book", {"who": "Ada"}) == {"answers": {"who": "Ada", "age": None, "ok": False}}


@pytest.mark.rule("surf-04")
@each_case("action, field", ("refine", "feedback"), ("ask", "question"), ("ask", "feedback"))
def test_a_button_that_needs_a_text_needs_its_field(action: str, field: str) -> None:
    data = {"actions": ["accept", "refine", "ask"]}
    without = BoundSurface(approval("accept", action).surface, "approval", data)
    assert "no field for the text" in refusal(without, action, {}).message
    assert resolve_action(without, "accept", {}) == {"action": "accept"}
    filled = BoundSurface(approval(action, fields=(TextField(id=field, label="x"),)).surface, "approval", data)
    fault = refusal(filled, action, {field: " "})
    assert (fault.details or {})["pointer"] == f"/values/{field}"
    assert [each["field"] for each in (fault.details or {})["violations"]] == [field]
    answer = resolve_action(filled, action, {field: "Why?"})
    assert normalize_approval(data, answer)["action"] == action
    # Elsewhere the id of a button has no meaning.
    assert resolve_action(BoundSurface(filled.surface, "custom"), action, {}) == {"action": action}


@pytest.mark.rule("surf-06")
@each_case(
    "bound",
    BoundSurface(Surface(components=(*FIELDS, SAY)), "custom"),
    BoundSurface(Surface(components=FIELDS), "custom"),
    BoundSurface(Surface(components=(*FIELDS, BOOK)), "conversation.exchange"),
    approval("pay"),
    approval("accept", fields=(TextField(id="sum", label="Sum"),)),
    approval("refine"),
    approval("accept", fields=(CheckboxField(id="comment", label="x"),)),
    clarification({"id": "a", "question": "?"}, fields=(TextField(id="b", label="x"),)),
    clarification({"id": "a", "question": "?"}, {"id": "b", "question": "?"}, fields=(TextField(id="b", label="x"),)),
)
def test_a_surface_that_cannot_answer_is_refused(bound: BoundSurface) -> None:
    found = check_binding(bound, "/payload/surface")
    assert [each.pointer for each in found] == ["/payload/surface/components"]


CHOICE = SelectField(id="a", label="x", options=(Option("1", "One"), Option("big", "Big")))


@pytest.mark.rule("surf-06")
@fails_without(actions, "_has_answer", lambda *_: True)
@each_case(
    "field, schema",
    (TextField(id="a", label="x"), {"type": "array", "items": {"type": "string"}}),
    (TextField(id="a", label="x"), {"type": ["object", "null"]}),
    (DateField(id="a", label="x"), {"type": "integer"}),
    (CheckboxField(id="a", label="x"), {"type": "string"}),
    (CHOICE, {"type": "boolean"}),
    (CHOICE, {"enum": ["small", "medium"]}),
    (CHOICE, {"type": "integer", "minimum": 5}),
)
def test_a_field_whose_values_cannot_answer_its_question_is_refused(field: Any, schema: dict[str, Any]) -> None:
    found = check_binding(clarification({"id": "a", "question": "?", "schema": schema}, fields=(field,)))
    assert [(each.pointer, each.rule) for each in found] == [("/surface/components", "values")]


@pytest.mark.rule("surf-06")
@each_case(
    "field, schema",
    (TextField(id="a", label="x"), {"type": "string", "pattern": "^[0-9]{4}$"}),
    (TextField(id="a", label="x"), {"minLength": 3}),
    (DateField(id="a", label="x"), {"type": "string", "format": "date"}),
    (CheckboxField(id="a", label="x"), {"const": True}),
    (CHOICE, {"type": ["integer", "null"], "maximum": 1}),
    (CHOICE, {"type": "string", "enum": ["big", "small"]}),
    # The host asks such a question as free text.
    (CheckboxField(id="a", label="x"), {"type": "string", "$ref": "https://example.com/schema"}),
)
def test_a_field_that_may_answer_its_question_is_accepted(field: Any, schema: dict[str, Any]) -> None:
    assert check_binding(clarification({"id": "a", "question": "?", "schema": schema}, fields=(field,))) == []


@pytest.mark.rule("surf-08")
@given(
    st.fixed_dictionaries(
        {},
        optional={
            "guest": st.sampled_from(["Ada", "", " ", 7]),
            "arrival": st.sampled_from(["2026-02-03", "3 Feb", ""]),
            "room": st.sampled_from(["r1", "r3"]),
            "breakfast": st.booleans() | st.just("yes"),
            "more": st.just("x"),
        },
    ),
    st.sampled_from(["book", "say", "x"]),
)
def test_the_ordinary_routes_obey_the_same_rules(values: dict[str, Any], action: str) -> None:
    derived = answer_schema(TRIP, "resume")
    assert not check_caller_schema(derived, "")
    assert not schema.check_inline(derived, {**GOOD, "action": "book"}, "")
    try:
        answer = resolve_action(BoundSurface(TRIP, "custom"), action, values)
    except ClientFault:
        assert check_value(derived, {**values, "action": action}, "")
    else:
        assert not check_value(derived, answer, "")


@pytest.mark.rule("surf-08")
def test_a_form_of_many_required_fields_can_be_asked() -> None:
    texts = [TextField(id=f"text-{number}", label="x", required=True) for number in range(100)]
    dates = [DateField(id=f"date-{number}", label="x", required=True) for number in range(99)]
    derived = answer_schema(Surface(components=(*texts, *dates, BOOK)), "resume")
    assert check_caller_schema(derived, "") == []
    answer = {each.id: "Ada" for each in texts} | {each.id: "2026-02-03" for each in dates}
    assert check_value(derived, {**answer, "action": "book"}, "") == []
    assert check_value(derived, {**answer, "action": "book", "text-99": ""}, "")
    assert check_value(derived, {**answer, "action": "book", "date-98": "soon"}, "")


def test_a_form_of_a_few_required_fields_takes_long_answers() -> None:
    texts = [TextField(id=f"text-{number}", label="x", required=True) for number in range(8)]
    derived = answer_schema(Surface(components=(*texts, BOOK)), "resume")
    assert check_value(derived, {**{each.id: "x" * 4_000 for each in texts}, "action": "book"}, "") == []
    assert check_value(derived, {**{each.id: " " for each in texts}, "action": "book"}, "")


def test_the_reserved_ids_include_the_member_of_the_answer() -> None:
    assert "action" in RESERVED_FIELD_IDS
