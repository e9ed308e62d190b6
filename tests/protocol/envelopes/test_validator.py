"""DocumentValidator: every refusal says where and why, and repeats no word of what was sent."""

from typing import Any

import pytest

from tests.protocol.envelopes.sample_envelopes import CANARY, Json, envelope, rules
from weftwork.protocol.envelopes import validator as module
from weftwork.protocol.envelopes.gate import accept
from weftwork.protocol.envelopes.kinds import BUILTIN_KINDS, KindDefinition
from weftwork.protocol.envelopes.outcome import outcome_document
from weftwork.protocol.envelopes.validator import MAX_DETAILS, DocumentValidator, expand_tagged_unions

ANIMALS: Json = {
    "type": "object",
    "properties": {
        "pet": {
            "anyOf": [
                {"$ref": "#/$defs/cat"},
                {
                    "type": "object",
                    "required": ["kind", "barks"],
                    "properties": {"kind": {"type": "string", "enum": ["dog"]}, "barks": {"type": "boolean"}},
                },
            ]
        },
        "size": {"anyOf": [{"type": "integer"}, {"type": "string", "maxLength": 3}]},
    },
    "patternProperties": {"^n-": {"type": "integer"}},
    "additionalProperties": False,
    "$defs": {
        "cat": {
            "type": "object",
            "required": ["kind"],
            "properties": {"kind": {"type": "string", "enum": ["cat"]}, "lives": {"type": "integer"}},
            "additionalProperties": False,
        }
    },
}


@pytest.mark.rule("env-17")
@pytest.mark.parametrize(
    ("value", "place", "where", "keyword"),
    [
        ({"pet": {"kind": "cat", "lives": "x"}}, "/pet/lives", "#/$defs/cat/properties/lives/type", "type"),
        ({"pet": {"kind": "dog"}}, "/pet", "#/properties/pet/anyOf", "required"),
        ({"pet": {"kind": "cow"}}, "/pet/kind", "#/properties/pet/anyOf", "enum"),
        ({"pet": {}}, "/pet", "#/properties/pet/anyOf", "required"),
        ({"pet": 1}, "/pet", "#/properties/pet/anyOf", "type"),
        (
            {"pet": {"kind": "cat", CANARY: 1}},
            "/pet",
            "#/$defs/cat/additionalProperties",
            "additionalProperties",
        ),
        ({"size": "four"}, "/size", "#/properties/size/anyOf/1/maxLength", "maxLength"),
        ({"size": None}, "/size", "#/properties/size/anyOf", "anyOf"),
        ({f"n-{CANARY}": "x"}, "", "#/patternProperties/^n-/type", "type"),
        ({"7": 1}, "", "#/additionalProperties", "additionalProperties"),
    ],
)
def test_a_place_is_named_as_the_schema_names_it(value: Any, place: str, where: str, keyword: str) -> None:
    (detail,) = DocumentValidator(ANIMALS).error_details(value, "")
    assert (detail.instance_path, detail.keyword) == (place, keyword)
    assert detail.schema_path.startswith(where)
    assert CANARY not in str(detail)


def test_forms_without_one_tag_are_left_as_they_are() -> None:
    tagless: list[Json] = [
        {"anyOf": []},
        {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        {"anyOf": [{"$ref": "#/$defs/none"}]},
        {"anyOf": [{"type": "object", "properties": {"a": {"enum": ["x"]}}}]},
        {"anyOf": [{"type": "object", "required": ["a"], "properties": {"a": {"enum": ["x", "y"]}}}]},
        {"anyOf": [{"type": "object", "required": ["a"], "properties": {"a": {"enum": ["x"]}}}] * 2},
        {"anyOf": [{"type": "object", "required": ["a"], "properties": {"a": {"enum": [1]}}}]},
        {"anyOf": [True, {"type": "object"}]},
        {"allOf": [{}], "anyOf": [{"type": "object", "required": ["a"], "properties": {"a": {"enum": ["x"]}}}]},
    ]
    for schema in tagless:
        assert expand_tagged_unions(schema) == ({**schema, "$defs": {}}, {})


def test_a_schema_is_not_changed_by_being_explained() -> None:
    found = BUILTIN_KINDS.find("ui.a2ui-surface")
    assert found is not None
    before = str(found.schema)
    found.validator.error_details({}, "")
    assert str(found.schema) == before
    assert found.validator is found.validator


def test_so_many_places_are_named() -> None:
    many = {"surface": {"components": [{"component": "text"}] * 400}, "catalogVersion": "0.9.1"}
    found = BUILTIN_KINDS.find("ui.a2ui-surface")
    assert found is not None
    assert len(found.validator.error_details(many, "")) == MAX_DETAILS
    many["surface"] = {"components": [{"component": "text"}] * 9_000}
    assert len(found.validator.error_details(many, "")) == 1


@pytest.mark.rule("env-17")
@pytest.mark.parametrize("own", [True, False])
def test_a_name_that_the_sender_chose_is_not_shown(own: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    schema: Json = {
        "type": "object",
        "properties": {"list": {"type": "array", "items": {"type": "integer"}}},
        "additionalProperties": {"type": "object", "additionalProperties": {"type": "integer"}},
    }
    held = rules(kinds=BUILTIN_KINDS.with_kinds([KindDefinition("vendor.x", 1, schema, own)]))
    payload = {CANARY: {CANARY: CANARY}, "4711": {"0": "x"}, "list": [1, "x"]}
    outcome = outcome_document(accept(envelope("vendor.x", payload), held).outcome)
    places = {each["instancePath"] for each in outcome["details"]}
    assert places == {"/payload", "/payload/list/1"}
    assert CANARY not in str(outcome)
    assert "4711" not in str(outcome)
    monkeypatch.setattr(module.DocumentValidator, "_known_steps", lambda self, value, steps: steps)
    assert CANARY in str(accept(envelope("vendor.x", payload), held).outcome)


@pytest.mark.parametrize("own", [True, False])
def test_a_value_that_is_no_json_does_not_fit(own: bool) -> None:
    made = DocumentValidator({"type": "object"}, own)
    for value in ({1: 2}, b"bytes", "\ud800", object()):
        assert not made.is_valid(value) or not own
        assert made.error_details(value, "/payload")
