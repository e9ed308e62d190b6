"""Schemas of the dialect and values for them, drawn at random; and a count of what a check found."""

import json
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
from hypothesis import strategies as st

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
