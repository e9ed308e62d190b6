"""Values that fit schemas."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.definitions import example_count
from weftwork.adapters.providers import schema_sample as sample_module
from weftwork.adapters.providers.schema_sample import MAX_ITEMS, sample_value
from weftwork.protocol.json.caller_schema import check_caller_schema, check_value

LEAVES: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.builds(lambda least: {"type": "string", "minLength": least}, st.integers(0, 20)),
    st.builds(lambda most: {"type": "string", "maxLength": most}, st.integers(0, 20)),
    st.builds(lambda least: {"type": "integer", "minimum": least}, st.integers(-9, 9)),
    st.builds(lambda least: {"type": "integer", "exclusiveMinimum": least}, st.integers(-9, 9)),
    st.builds(lambda most: {"type": "integer", "maximum": most}, st.integers(-9, 9)),
    st.builds(lambda least: {"type": "number", "exclusiveMinimum": least}, st.floats(-9, 9)),
    st.builds(lambda least: {"type": ["null", "number"], "minimum": least}, st.floats(-9, 9)),
    st.builds(
        lambda options: {"enum": options}, st.lists(st.integers() | st.text(), min_size=1, max_size=3, unique=True)
    ),
    st.builds(lambda value: {"const": value}, st.none() | st.booleans() | st.text()),
    st.sampled_from([{"type": "boolean"}, {"type": "null"}, {}, {"$ref": "#/$defs/Word"}]),
)


def objects(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    members = st.dictionaries(st.sampled_from("abcd"), inner, max_size=3)
    return members.flatmap(
        lambda given: st.builds(
            lambda names: {"type": "object", "properties": given, "required": names, "additionalProperties": False},
            st.lists(st.sampled_from(sorted(given)), unique=True) if given else st.just([]),
        )
    )


SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        objects(inner),
        st.builds(lambda items, least: {"type": "array", "items": items, "minItems": least}, inner, st.integers(0, 3)),
        st.builds(lambda first: {"anyOf": [first, {"type": "boolean"}]}, inner),
        st.builds(lambda first: {"allOf": [first]}, inner),
    ),
    max_leaves=8,
)


@settings(max_examples=example_count(300), deadline=None)
@given(SCHEMAS)
def test_a_sample_fits_its_schema_and_is_the_same_again(schema: dict[str, Any]) -> None:
    whole = {**schema, "$defs": {"Word": {"type": "string", "minLength": 3}}}
    if not check_caller_schema(whole, ""):
        assert check_value(whole, sample_value(whole), "") == []
        assert sample_value(whole) == sample_value(whole)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"default": [1], "type": "string"}, [1]),
        ({"examples": ["x", "y"]}, "x"),
        ({"type": "string", "format": "date-time"}, "2026-01-01T00:00:00Z"),
        ({"required": ["a"]}, {"a": "scripted"}),
        (
            {"type": "array", "prefixItems": [{"type": "boolean"}], "items": {"type": "integer"}, "minItems": 2},
            [True, 0],
        ),
        (
            {"allOf": [{"properties": {"a": {"const": 1}}, "required": ["a"]}, {"required": ["b"]}], "required": ["c"]},
            {"a": 1, "b": "scripted", "c": "scripted"},
        ),
        ({"$ref": "#/$defs/gone"}, "scripted"),
    ],
)
def test_a_sample_takes_what_the_schema_names(schema: dict[str, Any], value: Any) -> None:
    assert sample_value(schema) == value


def test_a_schema_cannot_make_a_sample_grow() -> None:
    deep: dict[str, Any] = {"type": "array", "minItems": 10**9, "items": {"$ref": "#"}}
    assert len(sample_value(deep)) == MAX_ITEMS
    assert len(sample_value({"type": "string", "minLength": 10**9})) == sample_module.MAX_LENGTH
    round_and_round = {"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}]}}}
    assert sample_value(round_and_round) == "scripted"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda x: (
            st.lists(x)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "type",
                        "properties",
                        "required",
                        "anyOf",
                        "items",
                        "minItems",
                        "minimum",
                        "enum",
                        "$ref",
                        "format",
                    ]
                ),
                x,
            )
        ),
    )
)
@settings(max_examples=example_count(200), deadline=None)
def test_what_is_no_schema_does_no_harm(written: Any) -> None:
    sample_value({"type": "object", "required": ["a"], "properties": {"a": written}})
