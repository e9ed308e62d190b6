"""Schemas from callers: what the dialect lets in and what it refuses, where, and that nothing is fetched."""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings

from tests.harness.definitions import example_count
from tests.protocol.json.caller_schemas import errors_of, schemas
from tests.protocol.json.test_schema_inline import trap
from weftwork.protocol.json import caller_schema
from weftwork.protocol.json.caller_schema import SchemaAnalysis, analyze_schema, check_caller_schema, check_value

DRAFT = "https://json-schema.org/draft/2020-12/schema"


def refused(document: Any, at: str = "") -> list[tuple[str, str]]:
    return [(each.pointer, each.rule) for each in check_caller_schema(document, at)]


@pytest.mark.rule("schema-03")
@pytest.mark.parametrize(
    "document",
    [
        {},
        {"$schema": DRAFT},
        {"$schema": f"{DRAFT}#", "$comment": "c", "title": "t", "description": "d", "x-order": [1], "format": "email"},
        {"type": "object", "properties": {"a": {"type": ["string", "null"]}, "$id": True}, "required": ["a"]},
        {"properties": {"$ref": {"type": "string"}}, "additionalProperties": False, "propertyNames": {"maxLength": 3}},
        {"patternProperties": {"^x-": {"type": "integer"}}, "minProperties": 1, "maxProperties": 3},
        {"dependentRequired": {"a": ["b"]}, "dependentSchemas": {"a": {"required": ["b"]}}},
        {"items": {"$ref": "#/$defs/a"}, "$defs": {"a": {"$ref": "#/$defs/b-1._"}, "b-1._": {"const": 1}}},
        {"prefixItems": [True, False], "contains": {}, "minContains": 1, "maxContains": 2, "uniqueItems": True},
        {"allOf": [{}], "anyOf": [True], "oneOf": [{"not": False}], "if": {}, "then": {}, "else": {}},
        {"enum": [None, {"$ref": "https://example.org"}], "const": {"unknown": 1}, "default": {"$id": 1}},
        {"minimum": 0, "maximum": 9.5, "exclusiveMinimum": -1, "exclusiveMaximum": 10, "multipleOf": 0.5},
        {"minLength": 0, "maxLength": 9, "pattern": r"^[^@\s]+@[^@\s]+\.[a-z]{2,10}$", "examples": ["a"]},
        {"readOnly": True, "writeOnly": False, "deprecated": True},
    ],
)
def test_the_dialect(document: dict[str, Any]) -> None:
    assert check_caller_schema(document, "/configurableSchema") == []


OUTSIDE = """$id $anchor $dynamicRef $dynamicAnchor $recursiveRef $recursiveAnchor $vocabulary unevaluatedItems
unevaluatedProperties contentMediaType contentEncoding contentSchema definitions dependencies additionalItems
minimun id extends nullable""".split()


@pytest.mark.rule("schema-03")
@pytest.mark.parametrize("keyword", [*OUTSIDE, "$schema", "$defs"])
def test_every_other_keyword_is_refused_by_name(keyword: str) -> None:
    assert refused({"items": {keyword: {}}}, "/channels/c/schema") == [
        (f"/channels/c/schema/items/{keyword}", "keyword")
    ]
    if keyword in OUTSIDE:
        assert refused({keyword: True}) == [(f"/{keyword}", "keyword")]
        assert refused({"$defs": {"a": {"anyOf": [{keyword: 1}]}}}) == [(f"/$defs/a/anyOf/0/{keyword}", "keyword")]


@pytest.mark.rule("schema-03")
@pytest.mark.parametrize(
    ("document", "at", "rule"),
    [
        (True, "", "type"),
        ([], "", "type"),
        ({"$schema": "http://json-schema.org/draft-07/schema#"}, "/$schema", "$schema"),
        ({"$schema": 1}, "/$schema", "$schema"),
        ({"type": "text"}, "/type", "anyOf"),
        ({"properties": {"a/b": {"minLength": -1}}}, "/properties/a~1b/minLength", "minimum"),
        ({"items": [{}]}, "/items", "type"),
        ({"items": "x"}, "/items", "type"),
        ({"allOf": {}}, "/allOf", "type"),
        ({"allOf": []}, "/allOf", "minItems"),
        ({"properties": []}, "/properties", "type"),
        ({"$defs": []}, "/$defs", "type"),
        ({"enum": 1}, "/enum", "type"),
        ({"required": ["a", "a"]}, "/required", "uniqueItems"),
        ({"pattern": 1}, "/pattern", "type"),
        ({"multipleOf": 0}, "/multipleOf", "exclusiveMinimum"),
        ({"$ref": 1}, "/$ref", "$ref"),
        *(({"$ref": target}, "/$ref", "$ref") for target in ("", "#", "#/", "#/$defs", "#/$defs/", "#/$defs/gone")),
        *(({"$ref": to, "$defs": {"a": {}}}, "/$ref", "$ref") for to in ("#a", "a", "#/$defs/a/not", "#/%24defs/a")),
        *(({"$ref": target}, "/$ref", "$ref") for target in ("https://example.org/a", "file:///etc/hostname", DRAFT)),
        ({"const": "x" * 4095}, "/const", "const"),
        ({"enum": [1, "x" * 4095]}, "/enum", "enum"),
        ({"enum": list(range(501))}, "/enum", "enum"),
        ({"description": "x" * 32_768}, "", "size"),
        ({"prefixItems": [{}] * 500}, "", "size"),
        ({"items": {"pattern": "(?=a)"}}, "/items/pattern", "pattern"),
        ({"pattern": r"(a)\1"}, "/pattern", "pattern"),
        ({"pattern": "("}, "/pattern", "pattern"),
        ({"pattern": "a" * 257}, "/pattern", "pattern"),
        ({"pattern": "((a{0,50}){0,50}){0,50}"}, "/pattern", "pattern"),
        ({"patternProperties": {"^(a": {}}}, "/patternProperties/^(a", "pattern"),
        ({"anyOf": [{"pattern": f"^{i}"} for i in range(33)]}, "", "pattern"),
        ({"anyOf": [{"pattern": f"[a-z]{{250}}{i}"} for i in range(9)]}, "", "pattern"),
    ],
)  # fmt: skip
def test_what_is_refused(document: Any, at: str, rule: str) -> None:
    assert refused(document, "/s") == [(f"/s{at}", rule)]


def nested(depth: int, leaf: Any, wrap: str = "items") -> Any:
    for _ in range(depth):
        leaf = {wrap: [leaf] if wrap in caller_schema.SUBSCHEMA_LIST_KEYWORDS else leaf}
    return leaf


@pytest.mark.rule("schema-03")
@pytest.mark.parametrize("wrap", ["items", "not", "allOf", "default"])
def test_depth_is_bounded_far_below_the_stack(wrap: str) -> None:
    assert refused(nested(31, {}, wrap)) == []
    assert [rule for _, rule in refused(nested(33, {}, wrap))] == ["depth"]
    assert [rule for _, rule in refused(nested(100_000, {}, wrap))] == ["depth"]


def test_many_violations_are_cut_off() -> None:
    assert len(check_caller_schema({f"k{i}": 1 for i in range(200)}, "")) == 50


def doubling(levels: int, keyword: str = "allOf") -> dict[str, Any]:
    """A schema of `levels` definitions that stands for 2^levels."""
    definitions = {f"d{i}": {keyword: [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(levels)}
    return {"$ref": "#/$defs/d0", "$defs": {**definitions, f"d{levels}": {"type": "string"}}}


@pytest.mark.rule("schema-03")
@pytest.mark.parametrize("keyword", ["allOf", "anyOf", "oneOf"])
def test_doubling_by_reference_is_weighed_written_out(keyword: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert refused(doubling(10, keyword)) == []
    assert refused(doubling(12, keyword)) == [("", "size")]
    assert ("", "depth") in refused(doubling(40, keyword))
    monkeypatch.setattr(caller_schema, "MAX_STEPS_PER_VALUE", 10**9)  # sabotage
    assert refused(doubling(12, keyword)) == []
    assert analyze_schema(doubling(12, keyword), "").steps_per_value > 2**12


@pytest.mark.rule("schema-03")
@pytest.mark.parametrize(
    "definitions",
    [
        {"a": {"$ref": "#/$defs/a"}},
        {"a": {"items": {"$ref": "#/$defs/a"}}},
        {
            "a": {"not": {"$ref": "#/$defs/b"}},
            "b": {"properties": {"x": {"$ref": "#/$defs/c"}}},
            "c": {"$ref": "#/$defs/a"},
        },
    ],
)
def test_circles_are_refused(definitions: dict[str, Any]) -> None:
    (violation,) = check_caller_schema({"$defs": definitions}, "/s")
    assert violation.pointer.startswith("/s/$defs/")
    assert violation.message == "refers to itself, directly or by others"


def test_why_circles_are_refused() -> None:
    """One lets everything in without a word, and one takes twice the work for each level of the value."""
    assert jsonschema_rs.Draft202012Validator({"$ref": "#", "type": "string"}, offline=True).is_valid("x")
    nothing = jsonschema_rs.Draft202012Validator(
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}, offline=True
    )
    assert all(nothing.is_valid(value) for value in (1, "x", None, {}))
    circle = {"allOf": [{"items": {"$ref": "#"}}, {"items": {"$ref": "#"}}], "type": "array"}
    counts = [errors_of(circle, json.loads("[" * depth + "1" + "]" * depth)) for depth in (5, 6, 7, 8)]
    assert counts == [2**5, 2**6, 2**7, 2**8]


@pytest.mark.rule("schema-03")
def test_nothing_is_ever_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "string.json").write_text('{"type": "string"}')
    local = (tmp_path / "string.json").as_uri()
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with trap() as (remote, visits):
        for target in (remote, local):
            for keyword in ("$ref", "$dynamicRef", "$schema", "$id"):
                for document in ({keyword: target}, {"items": {keyword: target}}, {"$defs": {"a": {keyword: target}}}):
                    assert len(check_caller_schema(document, "")) == 1
    assert visits == []

    blank = SchemaAnalysis([], 1, 0, False)
    monkeypatch.setattr(caller_schema, "analyze_schema", lambda *_: blank)  # sabotage: the first guard is gone
    with trap() as (remote, visits):
        assert len(check_caller_schema({"items": {"$ref": remote}}, "")) == 1
        assert len(check_caller_schema({"items": {"$ref": local}}, "")) == 1
    assert visits == []

    def online(rules: Any, **_: Any) -> Any:
        return jsonschema_rs.Draft202012Validator(rules)

    monkeypatch.setattr(caller_schema, "Draft202012Validator", online)  # sabotage: the second too
    assert len(check_value({"items": {"$ref": local}}, [1], "")) == 1
    with trap() as (remote, visits):
        check_caller_schema({"items": {"$ref": remote}}, "")
    assert visits


def written_out(schema: Any, definitions: dict[str, Any]) -> Any:
    """The schema with each reference replaced by what it leads to."""
    if isinstance(schema, list):
        return [written_out(item, definitions) for item in schema]
    if not isinstance(schema, dict):
        return schema
    plain = {key: written_out(item, definitions) for key, item in schema.items() if key not in ("$ref", "$defs")}
    if "$ref" in schema:
        target = definitions[schema["$ref"].removeprefix("#/$defs/")]
        plain["allOf"] = [*plain.get("allOf", ()), written_out(target, definitions)]
    return plain


@pytest.mark.rule("schema-03")
@settings(max_examples=example_count(100), deadline=None)
@given(schemas())
def test_every_schema_of_the_dialect_is_taken_and_weighs_what_it_stands_for(schema: dict[str, Any]) -> None:
    assert check_caller_schema(schema, "") == []
    found, plain = analyze_schema(schema, ""), analyze_schema(written_out(schema, schema["$defs"]), "")
    assert (found.steps_per_value, found.pattern_kib) == (plain.steps_per_value, plain.pattern_kib)
    assert found.has_choices == ("anyOf" in json.dumps(schema) or "oneOf" in json.dumps(schema))
