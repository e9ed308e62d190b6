"""What somebody writes becomes the value that is asked for, or is refused with a reason."""

import json
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.answer.test_answer import GATE, asks, sent
from tests.cli.answer.test_answer_terminal import sit_down, talk
from tests.cli.foreign_host import ForeignHost
from tests.harness.cases import each_case
from weftwork.cli.answer.form import AnswerField, AnswerForm, InvalidAnswer, as_text, build_form
from weftwork.cli.render.schema_text import schema_problems

DEFINED = {"$defs": {"size": {"type": "integer", "minimum": 1}}, "type": "array", "items": {"$ref": "#/$defs/size"}}


@each_case(
    "schema, text, value",
    ({}, "3", 3),
    ({}, "blue", "blue"),
    ({}, '{"a": [1]}', {"a": [1]}),
    ({"type": "string"}, "3", "3"),
    ({"type": "string"}, "true", "true"),
    ({"type": "string"}, " as it is ", " as it is "),
    ({"type": "integer"}, "42", 42),
    ({"type": "number"}, "1.5", 1.5),
    ({"type": ["integer", "null"]}, "null", None),
    ({"type": "boolean"}, "y", True),
    ({"type": "boolean"}, "YES", True),
    ({"type": "boolean"}, "false", False),
    ({"type": "boolean"}, "n", False),
    ({"enum": ["red", "blue"]}, "blue", "blue"),
    ({"enum": ["red", "blue"]}, " 2 ", "blue"),
    ({"enum": ["2", "1"]}, "2", "2"),
    ({"enum": [3, 2, 1]}, "1", 1),
    ({"enum": [None, {"a": 1}, "x"]}, '{"a": 1}', {"a": 1}),
    ({"enum": [None, "x"]}, "null", None),
    ({"type": "array", "items": {"type": "string"}}, "a, b,3", ["a", "b", "3"]),
    ({"type": "array", "items": {"type": "string"}}, '["a, b"]', ["a, b"]),
    ({"type": "array"}, "1,x", [1, "x"]),
    (DEFINED, "1, 2", [1, 2]),
    ({"type": "object"}, '{"a": 1}', {"a": 1}),
)
def test_a_value_is_read_as_its_schema_wants(schema: dict[str, Any], text: str, value: Any) -> None:
    found = AnswerField("f", schema=schema).parse(text, by_number=True)
    assert (type(found), found) == (type(value), value)


@each_case(
    "schema, text, reason",
    ({"type": "integer"}, "1.5", "it must be"),
    ({"type": "integer"}, "many", "it must be"),
    ({"type": "integer", "maximum": 3}, "4", "3"),
    ({"type": "string", "minLength": 3}, "ab", "3"),
    ({"type": "boolean"}, "perhaps", "enter y or n"),
    ({"enum": ["red", "blue"]}, "3", "not one of the choices"),
    ({"enum": ["red", "blue"]}, "0", "not one of the choices"),
    ({"enum": ["red", "blue"]}, "²", "not one of the choices"),
    ({"enum": [1, 2, 4]}, "3", "not one of the choices"),
    ({"type": "array", "items": {"type": "integer"}}, "1,x", "it must be"),
    (DEFINED, "0", "it must be"),
    ({"type": "array", "maxItems": 1}, "1,2", "1"),
    ({"type": "object"}, "x", "it must be"),
    ({}, '{"a": 1, "a": 2}', "a"),
)
def test_what_does_not_fit_is_refused_with_a_reason(schema: dict[str, Any], text: str, reason: str) -> None:
    with pytest.raises(InvalidAnswer, match=reason):
        AnswerField("f", schema=schema).parse(text, by_number=True)


def test_a_place_counts_only_where_it_is_shown() -> None:
    with pytest.raises(InvalidAnswer):
        AnswerField("f", schema={"enum": ["red", "blue"]}).parse("2")


@pytest.mark.parametrize("schema", [{"type": "string", "pattern": "(a+)+$(?=x)"}, {"$ref": "http://x"}, {"type": 5}])
def test_a_schema_that_is_none_of_ours_is_left_to_the_host(schema: dict[str, Any]) -> None:
    assert schema_problems(schema, "anything") == []
    assert AnswerField("f", schema=schema).parse("x") == "x"


SCHEMAS = st.recursive(
    st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["string", "integer", "boolean", "array", "object", "null", "odd"]) | st.integers(),
            "enum": st.lists(st.none() | st.integers() | st.text(max_size=3), max_size=3),
            "const": st.none() | st.text(max_size=3),
            "default": st.none() | st.integers(),
            "description": st.text(max_size=9) | st.integers(),
            "minimum": st.integers(),
            "required": st.lists(st.text(max_size=2), max_size=2) | st.none(),
        },
    ),
    lambda inner: st.fixed_dictionaries(
        {"type": st.sampled_from(["object", "array"])},
        optional={
            "properties": st.dictionaries(st.text(max_size=2), inner, max_size=3),
            "items": inner,
            "$defs": inner,
        },
    ),
    max_leaves=5,
)


@given(SCHEMAS, st.text(max_size=8))
def test_whatever_is_written_it_is_a_value_that_fits_or_a_reason(schema: dict[str, Any], text: str) -> None:
    field = AnswerField("f", "words", schema)
    assert field.hint().isprintable()
    value, reason = read(field, text)
    assert reason.isprintable()
    if not reason:
        assert schema_problems(schema, value) == []
        json.dumps(value)


def read(field: AnswerField, text: str) -> tuple[Any, str]:
    try:
        return field.parse(text, by_number=True), ""
    except InvalidAnswer as unfit:
        return None, str(unfit) or "none"


@given(SCHEMAS, SCHEMAS, st.sampled_from(["custom", "clarification", "external-event", "low-confidence", "x"]))
def test_whatever_a_host_asks_there_is_a_form(schema: Any, data: Any, kind: str) -> None:
    listed = {"questions": [data, {"id": "a", "question": 5, "schema": data}], "correlation": data, "decision": data}
    form = build_form({"kind": kind, "data": listed, "resumeSchema": schema})
    assert form.fields or form.schema
    form.answer({field.name: 1 for field in form.fields})


@given(st.none() | st.booleans() | st.integers() | st.text(max_size=9) | st.lists(st.integers(), max_size=3))
def test_a_choice_that_is_written_as_shown_is_that_choice(value: Any) -> None:
    field = AnswerField("f", schema={"enum": [value, "another one"]})
    if str(as_text(value)).strip() == as_text(value) and as_text(value):
        assert field.parse(as_text(value)) == value


def fields(form: AnswerForm) -> list[tuple[str, bool]]:
    return [(each.name, each.required) for each in form.fields]


def test_a_clarification_is_asked_question_by_question() -> None:
    questions = [{"id": "a", "question": "A?", "schema": {"type": "integer"}}, {"id": "b", "question": "B?"}]
    form = build_form({"kind": "clarification", "data": {"questions": questions}})
    assert [(each.name, each.label, each.schema) for each in form.fields] == [
        ("a", "A?", {"type": "integer"}),
        ("b", "B?", {"type": "string"}),
    ]
    assert form.answer({"a": 1, "b": "x"}) == {"answers": {"a": 1, "b": "x"}}


def test_an_object_is_asked_member_by_member() -> None:
    schema = {
        "type": "object",
        "required": ["outcome", "key"],
        "properties": {
            "outcome": {"enum": ["done", "failed"], "description": "How it ended."},
            "output": {"$ref": "#/$defs/out"},
            "key": {"const": "k1"},
        },
        "$defs": {"out": {"type": "integer", "default": 3}},
    }
    form = build_form({"kind": "custom", "data": {}, "resumeSchema": schema})
    assert fields(form) == [("outcome", True), ("output", False)]
    assert form.fields[1].default == 3
    assert form.fields[1].parse("7") == 7
    assert form.answer({"outcome": "done"}) == {"key": "k1", "outcome": "done"}
    assert schema_problems(form.schema, form.answer({"outcome": "done"})) == []
    assert schema_problems(form.schema, form.answer({}))


def test_an_event_is_the_one_that_is_waited_for() -> None:
    question = {"kind": "external-event", "data": {"eventType": "paid", "correlation": {"order": 7}}}
    form = build_form(question)
    assert form.answer({"": {}}) == {"order": 7}
    assert form.answer({"": {"amount": 5}}) == {"order": 7, "amount": 5}
    assert form.fields[0].default == {}
    shape = {"type": "object", "properties": {"order": {}, "amount": {"type": "integer"}}}
    assert fields(build_form({**question, "resumeSchema": shape})) == [("amount", False)]


def test_a_decision_that_is_doubted_can_be_taken_as_it_is() -> None:
    data = {"agentId": "abc", "threshold": 0.9, "observed": 0.2, "decision": {"pay": True}}
    (field,) = build_form({"kind": "low-confidence", "data": data}).fields
    assert (field.name, field.default) == ("", {"pay": True})
    (field,) = build_form({"kind": "low-confidence", "data": {}}).fields
    assert field.default is msgspec.UNSET


def test_a_turn_of_a_conversation_fits_what_it_is_to_give() -> None:
    data = {"conversationId": "c", "prompt": "How many?", "outcomeSchema": {"type": "integer"}}
    (field,) = build_form({"kind": "conversation.exchange", "data": data}).fields
    assert field.parse("3") == 3
    with pytest.raises(InvalidAnswer):
        field.parse("three")


@each_case(
    "field, hint",
    (AnswerField("f"), ""),
    (AnswerField("f", required=False), "optional"),
    (AnswerField("f", schema={"type": "boolean"}), "y or n"),
    (AnswerField("f", schema={"type": "string", "maxLength": 5}), "up to 5 characters"),
    (AnswerField("f", schema={"type": "integer", "minimum": 1}), "integer, 1 or more"),
    (AnswerField("f", schema={"type": "array"}), "separated by commas, or a JSON array"),
    (AnswerField("f", schema={"type": "integer"}, default=3), "integer; default: 3"),
    (AnswerField("f", schema={"enum": ["a"]}), ""),
)
def test_what_may_be_written_is_said(field: AnswerField, hint: str) -> None:
    assert field.hint() == hint


@each_case("text", "36", "true", "null", '{"a": 1}', "yes, please")
@each_case(
    "kind, data", ("conversation.exchange", {"conversationId": "c", "prompt": "?"}), ("custom", {"customKind": "c"})
)
def test_what_is_written_without_a_schema_is_text(kind: str, data: dict[str, Any], text: str) -> None:
    form = build_form({"kind": kind, "data": data})
    (field,) = form.fields
    assert form.answer({"": field.parse(text)}) == text
    asked = build_form({"kind": "clarification", "data": {"questions": [{"id": "q", "question": "?"}]}})
    assert asked.field("q").parse(text) == text


def test_a_marker_for_what_is_hidden_is_not_sent_back() -> None:
    marker = "[REDACTED:n.data]"
    (field,) = build_form({"kind": "low-confidence", "data": {"decision": {"to": marker}}}).fields
    assert field.default is msgspec.UNSET
    event = build_form({"kind": "external-event", "data": {"correlation": {"order": marker}}})
    assert event.constants == {}
    assert event.answer({"": {"order": 7}}) == {"order": 7}


def editor(folder: Path, *texts: str) -> str:
    """An editor that writes these texts, one each time it is opened, and keeps what it was given."""
    script = folder / "editor.py"
    script.write_text(
        "import sys, pathlib\n"
        f"here, texts = pathlib.Path({str(folder)!r}), {list(texts)!r}\n"
        "file = pathlib.Path(sys.argv[1])\n"
        "seen = sorted(here.glob('seen*'))\n"
        "(here / f'seen{len(seen)}').write_bytes(file.read_bytes())\n"
        "file.write_text(texts[len(seen)], 'utf-8')\n",
        "utf-8",
    )
    return f"{sys.executable} {script}"


def test_an_artifact_is_changed_in_an_editor(foreign: ForeignHost, tmp_path: Path) -> None:
    artifact = {"text": "Dear Ada\x9b1m\u202e", "who": "Zoë"}
    asks(foreign, {**GATE, "data": {**GATE["data"], "artifactData": artifact}})
    program = editor(tmp_path, '{"text": oops', '{"text": "Dear Grace"}')
    code = talk(
        sit_down(foreign, tmp_path, EDITOR=program, VISUAL=""),
        ("5) ask", "edit-accept\n"),
        ("Edit it again? [y/N]", "y\n"),
        ("Comment (optional) > ", "\n"),
        ("[y/N] > ", "y\n"),
    )
    assert code == 0
    assert sent(foreign) == {"action": "edit-accept", "editedArtifactData": {"text": "Dear Grace"}}
    first = (tmp_path / "seen0").read_text("utf-8")
    assert json.loads(first) == artifact
    assert "Zoë" in first
    assert all(each.isprintable() or each == "\n" for each in first)


def test_an_artifact_that_is_not_changed_is_not_sent(foreign: ForeignHost, tmp_path: Path) -> None:
    asks(foreign, {**GATE, "data": {**GATE["data"], "artifactData": "Dear Ada"}})
    terminal = sit_down(foreign, tmp_path, EDITOR=editor(tmp_path, "Dear Ada\n", "Dear Bob\n"), VISUAL="")
    code = talk(
        terminal,
        ("5) ask", "edit-accept\n"),
        ("nothing was changed; choose an action again.", "edit-accept\n"),
        ("Comment (optional) > ", "\n"),
        ("[y/N] > ", "y\n"),
    )
    assert code == 0
    assert sent(foreign)["editedArtifactData"] == "Dear Bob"
