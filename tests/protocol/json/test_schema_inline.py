"""Schemas of node authors: clear errors, nothing fetched; and the opinion of a second validator."""

import copy
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jsonschema
import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from referencing import Registry, Resource

from weftwork.protocol.errors import HostFault
from weftwork.protocol.json import schema

DOCUMENTS: dict[str, list[Any]] = json.loads(Path(__file__).with_name("schema_examples.json").read_text("utf-8"))[
    "documents"
]

AGENT = "https://openwop.dev/spec/v1/agent-ref.schema.json"
SHAPES = {
    "oneOf": [
        {
            "type": "object",
            "required": ["type", "r"],
            "properties": {
                "type": {"const": "circle"},
                "r": {"type": "number"},
                "ink": {"enum": ["red", "blue"]},
            },
        },
        {
            "type": "object",
            "required": ["type"],
            "properties": {"type": {"enum": ["square"]}, "side": {"$ref": "#/$defs/side"}},
        },
        {"type": "string", "minLength": 2},
    ],
    "$defs": {"side": {"anyOf": [{"type": "integer", "minimum": 1}, {"const": "unit"}]}},
}  # fmt: skip


@pytest.mark.parametrize(
    ("document", "at", "rule", "message"),
    [
        ({"type": "circle", "r": "wide"}, "/r", "type", "must be of type number"),
        ({"type": "circle"}, "", "required", 'must have the member "r"'),
        ({"type": "circle", "r": 1, "ink": "teal"}, "/ink", "enum", 'must be one of: "red", "blue"'),
        ({"type": "square", "side": 0}, "/side", "minimum", "must be 1 or more"),
        ("x", "", "minLength", "needs 2 or more characters"),
        ({"type": "line"}, "", "oneOf", "must fit exactly one of the allowed forms"),
        (7, "", "oneOf", "must fit exactly one of the allowed forms"),
    ],
)
def test_a_choice_reports_the_form_that_was_meant(document: Any, at: str, rule: str, message: str) -> None:
    found = schema.check_inline(SHAPES, document, "/nodes/3/config")
    assert found == [schema.Violation(f"/nodes/3/config{at}", rule, message)]


@pytest.mark.parametrize(
    ("rules", "document", "at", "message"),
    [
        ({"const": {"a": None}}, 1, "", 'must be one of: {"a":null}'),
        ({"enum": list(range(30))}, 99, "", "must be one of the 30 values that the schema lists"),
        ({"type": ["string", "null"]}, 1, "", "must be of type null or string"),
        ({"exclusiveMinimum": 1}, 1, "", "must be more than 1"),
        ({"exclusiveMaximum": 1.5}, 2, "", "must be less than 1.5"),
        ({"multipleOf": 2}, 3, "", "must be a multiple of 2"),
        ({"minProperties": 1}, {}, "", "needs 1 or more members"),
        ({"maxProperties": 0}, {"a": 1}, "", "takes 0 or fewer members"),
        ({"contains": {"const": 1}}, [2], "", "holds none of the items it needs, or too many"),
        ({"propertyNames": {"pattern": "^a"}}, {"b": 1}, "/b", "has a name that must match the pattern ^a"),
        ({"properties": {"a/b": False}}, {"a/b": 1}, "/a~1b", "is not allowed here"),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, "", 'must have the member "b"'),
        ({"prefixItems": [True], "unevaluatedItems": False}, [1, 2], "", "breaks the rule unevaluatedItems"),
        ({"oneOf": [True, {"minimum": 0}]}, 1, "", "must fit exactly one of the allowed forms"),
        ({"anyOf": [{"minimum": 3}, {"multipleOf": 4}]}, 1, "", "fits none of the allowed forms"),
        ({"$ref": AGENT}, {}, "", 'must have the member "agentId"'),
    ],
)  # fmt: skip
def test_messages_say_what_is_right(rules: dict[str, Any], document: Any, at: str, message: str) -> None:
    (found,) = schema.check_inline(rules, document, "")
    assert (found.pointer, found.message) == (at, message)


def test_a_broken_schema_is_the_fault_of_the_host() -> None:
    with pytest.raises(HostFault, match="does not compile at '/properties/a/type'"):
        schema.check_inline({"properties": {"a": {"type": "text"}}}, {}, "")


def test_a_pattern_that_needs_backtracking_is_refused() -> None:
    for pattern in ("^(?=a)", r"(a)\1"):
        with pytest.raises(HostFault, match="does not compile at '/pattern'"):
            schema.check_inline({"pattern": pattern}, "a", "")
    assert len(schema.check_inline({"pattern": "^(a+)+$"}, "a" * 5000 + "!", "")) == 1


@contextmanager
def trap() -> Iterator[tuple[str, list[int]]]:
    """A listening socket that counts who comes and hangs up at once."""
    visits: list[int] = []
    server = socket.create_server(("127.0.0.1", 0))
    server.settimeout(10)

    def watch() -> None:
        while True:
            visitor, _ = server.accept()
            with visitor:
                if visitor.recv(1) == b"!":
                    return
                visits.append(1)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    address = server.getsockname()
    try:
        yield f"http://127.0.0.1:{address[1]}/string.json", visits
    finally:
        with socket.create_connection(address, timeout=10) as last:  # comes after all earlier visitors
            last.sendall(b"!")
        watcher.join(10)
        server.close()


def test_nothing_is_ever_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "string.json").write_text('{"type": "string"}')
    local = (tmp_path / "string.json").as_uri()
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with trap() as (remote, visits):
        for keyword in ("$ref", "$dynamicRef"):
            for target in (remote, local, "prompt-kind.schema.json"):
                with pytest.raises(HostFault, match="does not compile"):
                    schema.check_inline({"properties": {"a": {keyword: target}}}, {}, "")
    assert visits == []

    def online(rules: Any, **options: Any) -> Any:
        return jsonschema_rs.Draft202012Validator(rules, registry=options["registry"])

    monkeypatch.setattr(schema, "Draft202012Validator", online)  # sabotage
    assert len(schema.check_inline({"items": {"$ref": local}}, [1], "")) == 1
    with trap() as (remote, visits), pytest.raises(HostFault):
        schema.check_inline({"items": {"$ref": remote}}, [1], "")
    assert visits


def test_equal_schemas_are_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[Any] = []
    compile_schema = schema.compile_schema

    def counting(rules: Any) -> Any:
        compiled.append(rules)
        return compile_schema(rules)

    monkeypatch.setattr(schema, "compile_schema", counting)
    assert schema.check_inline({"type": "string", "maxLength": 4321}, "a", "") == []
    assert schema.check_inline({"maxLength": 4321, "type": "string"}, "b", "") == []
    assert len(compiled) == 1


SPARE_VALUES = st.one_of(
    st.sampled_from([None, True, 0, -1, 1, 1.0, 0.5, 100000]),
    st.sampled_from(["", "x", "X", "a.b", "core.b", "*", "eval", "public", "t" * 129, "t" * 257]),
    st.sampled_from([[], ["x", "x"], [1, 1.0], ["t"] * 101]),
    st.sampled_from([{}, {"type": "static"}, {"type": "variable", "variableName": "v"}]),
)
SPARE_NAMES = st.sampled_from(["extra", "type", "value", "version", "channel", "mode", "reason", "optional"])


@st.composite
def mutated(draw: st.DrawFn) -> tuple[str, Any]:
    name = draw(st.sampled_from(sorted(DOCUMENTS)))
    document = copy.deepcopy(draw(st.sampled_from(DOCUMENTS[name])))
    for _ in range(draw(st.integers(1, 3))):
        holder = draw(st.sampled_from(_containers(document)))
        if isinstance(holder, list):
            holder.append(copy.deepcopy(draw(SPARE_VALUES)))
        elif holder and draw(st.booleans()):
            member = draw(st.sampled_from(sorted(holder)))
            if draw(st.booleans()):
                del holder[member]
            else:
                holder[member] = copy.deepcopy(draw(SPARE_VALUES))
        else:
            holder[draw(SPARE_NAMES)] = copy.deepcopy(draw(SPARE_VALUES))
    return name, document


def _containers(document: Any) -> list[Any]:
    members = document.values() if isinstance(document, dict) else document
    below = [inner for each in members if isinstance(each, dict | list) for inner in _containers(each)]
    return [document, *below]


def _second_opinions() -> dict[str, jsonschema.Draft202012Validator]:
    schemas = {name: schema.document(name) for name in schema.names()}
    registry = Registry().with_resources((each["$id"], Resource.from_contents(each)) for each in schemas.values())
    return {name: jsonschema.Draft202012Validator(each, registry=registry) for name, each in schemas.items()}


SECOND_OPINIONS = _second_opinions()


@given(mutated())
@settings(max_examples=300, deadline=None)
def test_an_independent_validator_agrees(case: tuple[str, Any]) -> None:
    name, document = case
    assert (schema.check(name, document) == []) == SECOND_OPINIONS[name].is_valid(document)
