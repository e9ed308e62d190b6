"""From the page back to the answer: what somebody fills in is what the run gets."""

import json
import string
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.adapters.http.page.filled_form import answer, parse_form
from tests.adapters.http.page.sample_questions import approval, clarification, interrupt_document
from tests.harness.definitions import example_count
from weftwork.adapters.http.page.form_plan import is_malformed
from weftwork.protocol.json.caller_schema import check_value

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


@given(drawn=st.lists(schema_and_value(), min_size=1, max_size=6))
@settings(max_examples=example_count(200), deadline=None)
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


@given(drawn=st.lists(schema_and_value(), min_size=1, max_size=5), optional=st.sets(st.integers(0, 4)))
@settings(max_examples=example_count(100), deadline=None)
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


@given(value=JSON | TEXT)
@settings(max_examples=example_count(200), deadline=None)
def test_what_is_edited_and_left_as_it_is_comes_back_exactly(value: Any) -> None:
    question = approval(artifactData=value)
    form = parse_form(question)
    if value is None:
        form.fill("edit", None)
    assert exact(answer(question, form, "edit-accept")["editedArtifactData"]) == exact(value)


@pytest.mark.parametrize(
    "text", ["a\u202eb", "\ufeffx", "tab\there", "\u2028", "\r\n", "a\r\nb", "  ", "\n\nx\n", "\U000e0041"]
)
def test_hidden_characters_survive_an_edit(text: str) -> None:
    question = approval(artifactData=text)
    assert answer(question, parse_form(question), "edit-accept")["editedArtifactData"] == text
