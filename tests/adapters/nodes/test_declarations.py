"""What every built-in node type declares about itself is complete, and true."""

import ast
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import weftwork.adapters.nodes as package
from tests.adapters.nodes.fake_context import TYPES
from weftwork.adapters.nodes.builtin import ALIASES, BUILTIN_TYPES, with_aliases
from weftwork.adapters.nodes.flow.control import BASIC_NODES
from weftwork.adapters.nodes.flow.map import EXCLUDED_BODIES
from weftwork.conformance.workflows import conformance_nodes
from weftwork.protocol.json import schema
from weftwork.protocol.models.prompt_templates import PromptTemplates
from weftwork.protocol.workflow.node_config import check_config
from weftwork.protocol.workflow.node_types import NodeDeclaration, describe_node_type

FOLDER = Path(inspect.getfile(package)).parent
OPEN_CONFIG = {"core.start", "local.sample.demo.uppercase"}
WRITTEN = [
    each.declaration
    for type_id, each in TYPES.items()
    if each not in BASIC_NODES and type_id not in (*ALIASES, "conformance.requiresMissing")
]

RESERVED = [
    *("core.start", "core.end", "core.conditional", "core.delay", "core.loop", "core.parallel", "core.merge"),
    *("core.setVariable", "core.getVariable", "core.interrupt", "core.identity", "core.channelWrite"),
    *("core.approvalGate", "core.clarificationGate", "core.conversationGate", "core.subWorkflow"),
]


def each_declaration(test: Any) -> Any:
    return pytest.mark.parametrize("declaration", WRITTEN, ids=lambda declaration: declaration.type_id)(test)


@pytest.mark.rule("node-05")
def test_the_reserved_types_are_there() -> None:
    assert set(RESERVED) <= TYPES.keys()


def test_ids_are_unique_and_can_stand_in_a_definition() -> None:
    ids = [each.declaration.type_id for each in (*BUILTIN_TYPES, *conformance_nodes(PromptTemplates()))]
    assert len(ids) == len(set(ids)) == len(TYPES)
    assert all(re.fullmatch("[a-z][a-zA-Z0-9._-]*", type_id) for type_id in ids)


@each_declaration
def test_schemas_compile(declaration: NodeDeclaration) -> None:
    for shape in (declaration.config, declaration.inputs, declaration.outputs):
        assert shape["type"] == "object"
        assert schema.check_inline(shape, [], "/here")[0].pointer == "/here"


@each_declaration
def test_configs_are_closed(declaration: NodeDeclaration) -> None:
    found = schema.check_inline(declaration.config, {"surplus": 1}, "")
    refused = any((each.pointer, each.rule) == ("/surplus", "additionalProperties") for each in found)
    assert refused == (declaration.type_id not in OPEN_CONFIG)


def undescribed(shape: Any, at: str = "") -> list[str]:
    """Members without a description, wherever they stand."""
    if not isinstance(shape, dict):
        return []
    found: list[str] = []
    members = dict(shape.get("properties", {}))
    if isinstance(shape.get("additionalProperties"), dict):
        members["*"] = shape["additionalProperties"] | {"description": "by name"}
    for name, member in members.items():
        if member and not member.get("description", "").endswith("."):
            found.append(f"{at}/{name}")
        found += undescribed(member, f"{at}/{name}")
    for part in (then["then"] for then in shape.get("allOf", [])):
        found += undescribed(part, at)
    return [each for each in found if not each.endswith("/*")]


@each_declaration
def test_every_member_says_what_it_is(declaration: NodeDeclaration) -> None:
    assert undescribed(declaration.config) == []
    assert undescribed(declaration.inputs) == []
    assert undescribed(declaration.outputs) == []
    assert declaration.title.endswith(".")


def test_a_member_that_says_nothing_is_seen() -> None:
    inner = {"type": "object", "properties": {"b": {"type": "string"}}, "description": "An object."}
    assert undescribed({"properties": {"a": inner}}) == ["/a/b"]
    assert undescribed({"additionalProperties": inner}) == ["/*/b"]
    assert undescribed({"allOf": [{"then": {"properties": {"c": {"type": "string"}}}}]}) == ["/c"]


@each_declaration
def test_the_example_is_a_node_of_its_type(declaration: NodeDeclaration) -> None:
    assert declaration.example_config is not None
    assert check_config(declaration, declaration.example_config, "/config") == []
    document = schema.document("workflow-definition")
    ports = {"$ref": f"{document['$id']}#/$defs/PortValue"}
    for port in declaration.example_inputs.values():
        assert schema.check_inline(ports, port, "") == []
    body = declaration.example_config.get("body")
    if body:
        assert schema.check_inline(TYPES[body["typeId"]].declaration.config, body["config"], "") == []


def at(shape: dict[str, Any], pointer: str) -> list[dict[str, Any]]:
    """The schemas that a pointer pattern leads to."""
    found = [shape]
    for step in pointer.split("/")[1:]:
        found = [*found, *(part["then"] for each in found for part in each.get("allOf", []))]
        if step == "*":
            found = [
                inner
                for each in found
                if isinstance(inner := each.get("items", each.get("additionalProperties")), dict)
            ]
        else:
            found = [each["properties"][step] for each in found if step in each.get("properties", {})]
    return found


@each_declaration
def test_expressions_are_where_the_declaration_says(declaration: NodeDeclaration) -> None:
    for pointer in (*declaration.expressions, *declaration.templates):
        (place,) = at(declaration.config, pointer)
        # Beside a template something else may stand, which is no text.
        kinds = [place["type"]] if isinstance(place["type"], str) else place["type"]
        assert ("string" in kinds, "maxLength" in place) == (True, True)
        assert kinds == ["string"] or pointer in declaration.templates


@each_declaration
def test_variables_are_mapped_where_the_declaration_says(declaration: NodeDeclaration) -> None:
    for pointer in (*declaration.input_mappings, *declaration.output_mappings):
        (place,) = at(declaration.config, pointer)
        assert (place["type"], place["additionalProperties"]["type"]) == ("object", "string")


def codes_in(source: str) -> set[str]:
    """The codes that are written out where something fails."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Failed":
            found |= {str(given.value) for given in node.args[:1] if isinstance(given, ast.Constant)}
    return found


def test_every_code_a_node_may_fail_with_stands_in_some_notes() -> None:
    codes: set[str] = set()
    for path in FOLDER.rglob("*.py"):
        if path.name != "samples.py":
            codes |= codes_in(path.read_text("utf-8"))
    assert {"switch_no_match", "map_item_failed", "map_body_effect"} <= codes
    told = "\n".join(declaration.notes for declaration in WRITTEN)
    assert [code for code in sorted(codes) if f"`{code}`" not in told] == []


def test_an_alias_is_the_same_type_under_another_name() -> None:
    types = with_aliases(each for each in BUILTIN_TYPES if each.declaration.type_id not in ALIASES)
    for alias, type_id in ALIASES.items():
        same, meant = types[alias], types[type_id]
        assert same.run is meant.run
        assert type(same) is type(meant)
        assert describe_node_type(same.declaration)["description"] == f"Same as `{type_id}`."
        assert same.declaration.type_id == alias
        assert same.declaration.config is meant.declaration.config
        assert same.declaration.branching == meant.declaration.branching
        assert same.declaration.gathers_edges == meant.declaration.gathers_edges
    assert not ALIASES.keys() & set(ALIASES.values())


def test_what_can_never_be_the_body_of_a_map_is_refused() -> None:
    """Also under its other names."""
    declared = {type_id: each.declaration for type_id, each in TYPES.items()}
    told = {
        type_id
        for type_id, each in declared.items()
        if each.bodies or each.sets_variable or each.reads_variable or each.writes_channel or each.input_mappings
    }
    assert told < set(EXCLUDED_BODIES) <= TYPES.keys()
    assert {alias for alias, type_id in ALIASES.items() if type_id in EXCLUDED_BODIES} < set(EXCLUDED_BODIES)
