"""Values against schemas from callers: at a bounded cost, as other validators judge, and never echoed."""

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import assume, given, settings

from tests.harness.definitions import example_count
from tests.protocol.json.caller_schemas import VALUES, errors_of, schemas
from weftwork.protocol.errors import HostFault
from weftwork.protocol.json import caller_schema
from weftwork.protocol.json.caller_schema import analyze_schema, check_caller_schema, check_value, measure_value
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.json.decoder import decode


@pytest.mark.rule("schema-04")
@settings(max_examples=example_count(150), deadline=None)
@given(schemas(), VALUES)
def test_the_work_is_within_weight_times_size(schema: dict[str, Any], value: Any) -> None:
    found = analyze_schema(schema, "")
    assume(not found.violations)
    values, characters = measure_value(value)
    assert errors_of(schema, value) <= found.steps_per_value * (values + characters // 64)


@pytest.mark.rule("schema-04")
@settings(max_examples=example_count(150), deadline=None)
@given(schemas(), VALUES)
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
            "holds too much text for the patterns of its schema",
        ),
        ({"patternProperties": {"^a+$": {}}}, {"a" * 600_000: 1}, "holds too much text for the patterns of its schema"),
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
def test_violations_point_below_where_the_value_stands() -> None:
    schema = {"properties": {"a/b": {"items": {"type": "integer", "enum": [1, 2]}}}, "additionalProperties": False}
    found = [(each.pointer, each.message) for each in check_value(schema, {"a/b": [1, "x"], "c": 1}, "/configurable")]
    assert found == [
        ("/configurable/a~1b/1", "must be of type integer"),
        ("/configurable/a~1b/1", "must be one of: 1, 2"),
        ("/configurable/c", "is not a member known here"),
    ]


@pytest.mark.rule("schema-04")
def test_of_a_large_value_the_first_violation_is_named_or_only_that_it_does_not_fit() -> None:
    value = [*range(4_000), "x", "y"]
    plain = {"items": {"type": "integer", "minimum": 0}}
    assert [each.pointer for each in check_value(plain, value, "/v")] == ["/v/4000"]
    choice = {"items": {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}]}}
    assert [(each.pointer, each.rule) for each in check_value(choice, value, "/v")] == [("/v", "schema")]
    assert check_value(choice, value[:4_000], "/v") == []


SECRET = "hunter2-"


@pytest.mark.rule("schema-04")
@settings(max_examples=example_count(100), deadline=None)
@given(schemas(), VALUES)
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
