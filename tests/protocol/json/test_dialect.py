"""Schemas from callers: what the dialect lets in, and how values are judged: at a bounded cost, and never echoed."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import jsonschema_rs
import pytest
from hypothesis import assume
from hypothesis import strategies as st

from tests.harness.cases import each_case
from tests.harness.definitions import for_all
from tests.protocol.json.test_schema import trap
from weftwork.protocol.errors import HostFault
from weftwork.protocol.json import caller_schema
from weftwork.protocol.json.caller_schema import (
    SchemaAnalysis,
    analyze_schema,
    check_caller_schema,
    check_value,
    measure_value,
)
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.json.decoder import decode

LEAVES = st.sampled_from(
    [
        True,
        False,
        {},
        {"type": "string"},
        {"type": "integer", "minimum": 1},
        {"type": ["array", "null"]},
        {"enum": [1, "a", None]},
        {"const": {"a": 1}},
        {"pattern": "^a+$"},
        {"minLength": 1, "maxLength": 2},
        {"uniqueItems": True, "minItems": 1},
        {"required": ["a"]},
        {"maxProperties": 1},
        {"dependentRequired": {"a": ["b"]}},
        {"$ref": "#/$defs/one"},
        {"$ref": "#/$defs/two"},
    ]
)


def _larger(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    some = st.lists(inner, min_size=1, max_size=3)
    named = st.dictionaries(st.sampled_from("ab"), inner, min_size=1)
    return st.fixed_dictionaries(
        {},
        optional={
            **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), some),
            **dict.fromkeys(("items", "not", "contains", "additionalProperties", "if", "then", "else"), inner),
            **dict.fromkeys(("properties", "dependentSchemas"), named),
            "patternProperties": st.dictionaries(st.sampled_from(["^a", "b"]), inner, min_size=1),
            "propertyNames": inner,
        },
    )


SUBSCHEMAS = st.recursive(LEAVES, _larger, max_leaves=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 2) | st.sampled_from(["", "a", "aa", "abc"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


@st.composite
def schemas(draw: st.DrawFn) -> dict[str, Any]:
    root = draw(SUBSCHEMAS)
    leaf: dict[str, Any] = {"type": "integer"}
    two = draw(SUBSCHEMAS.filter(lambda found: "#/$defs/two" not in json.dumps(found)))
    return {"allOf": [root], "$defs": {"one": leaf, "two": two}}


def errors_of(schema: dict[str, Any], value: Any) -> int:
    def count(errors: Any) -> Iterator[int]:
        for error in errors:
            yield 1
            for branch in getattr(error.kind, "context", ()):
                yield from count(branch)

    return sum(count(jsonschema_rs.Draft202012Validator(schema, offline=True).iter_errors(value)))


DRAFT = "https://json-schema.org/draft/2020-12/schema"


def refused(document: Any, at: str = "") -> list[tuple[str, str]]:
    return [(each.pointer, each.rule) for each in check_caller_schema(document, at)]


@pytest.mark.rule("schema-03")
@each_case(
    "document",
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
)
def test_the_dialect(document: dict[str, Any]) -> None:
    assert check_caller_schema(document, "/configurableSchema") == []


OUTSIDE = """$id $anchor $dynamicRef $dynamicAnchor $recursiveRef $recursiveAnchor $vocabulary unevaluatedItems
unevaluatedProperties contentMediaType contentEncoding contentSchema definitions dependencies additionalItems
minimun id extends nullable""".split()


@pytest.mark.rule("schema-03")
@each_case("keyword", *OUTSIDE, "$schema", "$defs")
def test_every_other_keyword_is_refused_by_name(keyword: str) -> None:
    assert refused({"items": {keyword: {}}}, "/channels/c/schema") == [
        (f"/channels/c/schema/items/{keyword}", "keyword")
    ]
    if keyword in OUTSIDE:
        assert refused({keyword: True}) == [(f"/{keyword}", "keyword")]
        assert refused({"$defs": {"a": {"anyOf": [{keyword: 1}]}}}) == [(f"/$defs/a/anyOf/0/{keyword}", "keyword")]


@pytest.mark.rule("schema-03")
@each_case("document, at, rule",
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
)  # fmt: skip
def test_what_is_refused(document: Any, at: str, rule: str) -> None:
    assert refused(document, "/s") == [(f"/s{at}", rule)]


def nested(depth: int, leaf: Any, wrap: str = "items") -> Any:
    for _ in range(depth):
        leaf = {wrap: [leaf] if wrap in caller_schema.SUBSCHEMA_LIST_KEYWORDS else leaf}
    return leaf


@pytest.mark.rule("schema-03")
@each_case("wrap", "items", "not", "allOf", "default")
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
@each_case(
    "definitions",
    {"a": {"$ref": "#/$defs/a"}},
    {"a": {"items": {"$ref": "#/$defs/a"}}},
    {
        "a": {"not": {"$ref": "#/$defs/b"}},
        "b": {"properties": {"x": {"$ref": "#/$defs/c"}}},
        "c": {"$ref": "#/$defs/a"},
    },
)
def test_circles_are_refused(definitions: dict[str, Any]) -> None:
    (violation,) = check_caller_schema({"$defs": definitions}, "/s")
    assert violation.pointer.startswith("/s/$defs/")
    assert violation.message == "refers to itself, directly or through other definitions"


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
@for_all(100, schemas())
def test_every_schema_of_the_dialect_is_taken_and_weighs_what_it_stands_for(schema: dict[str, Any]) -> None:
    assert check_caller_schema(schema, "") == []
    found, plain = analyze_schema(schema, ""), analyze_schema(written_out(schema, schema["$defs"]), "")
    assert (found.steps_per_value, found.pattern_kib) == (plain.steps_per_value, plain.pattern_kib)
    assert found.has_choices == ("anyOf" in json.dumps(schema) or "oneOf" in json.dumps(schema))


@pytest.mark.rule("schema-04")
@for_all(50, schemas(), VALUES, full=3_000)
def test_the_work_is_within_weight_times_size(schema: dict[str, Any], value: Any) -> None:
    found = analyze_schema(schema, "")
    assume(not found.violations)
    values, characters = measure_value(value)
    assert errors_of(schema, value) <= found.steps_per_value * (values + characters // 64)


@pytest.mark.rule("schema-04")
@for_all(50, schemas(), VALUES, full=3_000)
def test_an_independent_validator_agrees(schema: dict[str, Any], value: Any) -> None:
    assert (check_value(schema, value, "") == []) == jsonschema.Draft202012Validator(schema).is_valid(value)


class Untouched:
    """Stands for the validator where a value must not reach it."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"the value was checked: {name}")


@pytest.mark.rule("schema-04")
@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        (
            {"items": {"allOf": [{"type": "integer"}] * 100}},
            [1] * 5_000,
            "is too large to be checked against its schema",
        ),
        ({"uniqueItems": True}, [[1]] * 60_000, "is too large to be checked against its schema"),
        ({"allOf": [{"maxLength": 9**9}] * 100}, "x" * 1_000_000, "is too large to be checked against its schema"),
        (
            {"items": {"pattern": "[ab]*a[ab]{80}c"}},
            ["ab" * 40_000],
            "has too much text for the patterns of its schema",
        ),
        ({"patternProperties": {"^a+$": {}}}, {"a" * 600_000: 1}, "has too much text for the patterns of its schema"),
    ],
)
def test_a_value_that_would_cost_too_much_is_refused_unread(
    schema: dict[str, Any], value: Any, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert check_caller_schema(schema, "") == []
    _, cost = caller_schema._compile_caller_schema(encode_stored(schema))  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(caller_schema, "_compile_caller_schema", lambda _: (Untouched(), cost))
    (violation,) = check_value(schema, value, "/configurable")
    assert (violation.pointer, violation.rule, violation.message) == ("/configurable", "size", message)
    monkeypatch.setattr(caller_schema, "MAX_STEPS", 10**12)  # sabotage
    monkeypatch.setattr(caller_schema, "MAX_PATTERN_WORK", 10**12)
    with pytest.raises(AssertionError, match="the value was checked"):
        check_value(schema, value, "/configurable")


@pytest.mark.rule("schema-04")
def test_usual_sizes_are_far_within_the_bounds() -> None:
    row = {
        "type": "object",
        "properties": {"id": {"pattern": "^[a-z0-9-]+$"}, "n": {"type": "number"}},
        "required": ["id"],
    }
    schema = {"type": "array", "items": row, "maxItems": 10_000}
    assert check_caller_schema(schema, "") == []
    assert check_value(schema, [{"id": f"row-{i}", "n": i} for i in range(5_000)], "") == []
    assert check_value({"properties": {"text": {"type": "string"}}}, {"text": "x" * 1_000_000}, "") == []


@pytest.mark.rule("schema-04")
def test_violations_point_below_the_value_and_of_a_large_one_the_first_is_named_or_that_it_does_not_fit() -> None:
    schema = {"properties": {"a/b": {"items": {"type": "integer", "enum": [1, 2]}}}, "additionalProperties": False}
    found = [(each.pointer, each.message) for each in check_value(schema, {"a/b": [1, "x"], "c": 1}, "/configurable")]
    assert found == [
        ("/configurable/a~1b/1", "must be of type integer"),
        ("/configurable/a~1b/1", "must be one of: 1, 2"),
        ("/configurable/c", "is not a known member"),
    ]
    value = [*range(4_000), "x", "y"]
    plain = {"items": {"type": "integer", "minimum": 0}}
    assert [each.pointer for each in check_value(plain, value, "/v")] == ["/v/4000"]
    choice = {"items": {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}]}}
    assert [(each.pointer, each.rule) for each in check_value(choice, value, "/v")] == [("/v", "schema")]
    assert check_value(choice, value[:4_000], "/v") == []


SECRET = "hunter2-"


@pytest.mark.rule("schema-04")
@for_all(100, schemas(), VALUES)
def test_no_value_is_ever_repeated(schema: dict[str, Any], value: Any) -> None:
    hidden = decode(encode_stored(value).replace(b'"a', b'"' + SECRET.encode()))
    assume(SECRET not in json.dumps(_names(hidden)))
    assert SECRET not in repr(check_value(schema, hidden, "/v"))


def _names(value: Any) -> Any:
    if isinstance(value, dict):
        return [*value, *map(_names, value.values())]
    return [_names(item) for item in value] if isinstance(value, list) else None


def test_messages_quote_a_schema_only_so_far() -> None:
    (violation,) = check_value({"const": "x" * 4_000}, 1, "")
    assert len(violation.message) == 300


def test_a_schema_that_was_not_checked_is_the_fault_of_the_host() -> None:
    with pytest.raises(HostFault):
        check_value({"$ref": "#"}, 1, "")


def test_equal_schemas_are_compiled_once_and_few_are_kept() -> None:
    cache = caller_schema._compile_caller_schema  # pyright: ignore[reportPrivateUsage]
    cache.cache_clear()
    assert check_caller_schema({"type": "string", "maxLength": 4321}, "") == []
    assert check_value({"maxLength": 4321, "type": "string"}, "a", "") == []
    assert (cache.cache_info().misses, cache.cache_info().hits) == (1, 1)
    for length in range(200):
        assert check_value({"maxLength": length}, "", "") == []
    assert cache.cache_info().currsize == cache.cache_info().maxsize == 128
