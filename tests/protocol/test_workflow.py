"""Workflow definitions: each check with the place it points at."""

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.protocol.definition import TYPES, edge, examples, node, plan_of, variable, workflow
from weftwork.protocol import canonical, schema
from weftwork.protocol import workflow as module
from weftwork.protocol.graph import plan_workflow
from weftwork.protocol.node_type import NEVER_PROVIDED, missing_capabilities
from weftwork.protocol.workflow import has_type, parse_workflow


def linked(node_id: str, output: str = "out", **more: Any) -> dict[str, Any]:
    return {"type": "connection", "nodeId": node_id, "outputKey": output, **more}


GOOD = workflow(
    [
        node("a", "core.identity", inputs={"x": {"type": "variable", "variableName": "v"}}, outputRole="primary"),
        node(
            "b", inputs={"y": linked("a", "x", optional=True)}, disabled=True, outputSensitivity={"p": True, "q": False}
        ),
        node("c", "core.fail", config={"code": "boom"}, inputs={"z": {"type": "static", "value": None}}),
    ],
    [edge("a", "b"), edge("b", "c", "any_failed", sourceOutput="o", targetInput="i")],
    [variable("v", defaultValue="x", sensitive=True), variable("n", "number", required=True)],
    settings={"timeout": 5},
)


def violations(document: dict[str, Any]) -> list[str]:
    parsed, found = parse_workflow(document, TYPES)
    assert (parsed is None) is bool(found)
    if parsed is not None:
        plan, found = plan_workflow(parsed)
        assert (plan is None) is bool(found)
    return [f"{each.pointer} {each.rule}" for each in found]


@pytest.mark.rule("wf-01")
def test_a_good_definition_is_read_whole() -> None:
    parsed, found = parse_workflow(GOOD, TYPES)
    assert parsed is not None
    assert found == []
    assert (parsed.id, parsed.version, parsed.timeout_ms) == ("sample", "1.0.0", 5)
    assert parsed.document is GOOD
    assert parsed.digest == canonical.digest(GOOD)
    a, b, c = parsed.nodes
    assert (a.primary, b.primary, a.disabled, b.disabled) == (True, False, False, True)
    assert b.sensitive_outputs == {"p"}
    assert (b.ports["y"].node_id, b.ports["y"].output_key, b.ports["y"].optional) == ("a", "x", True)
    assert c.config == {"code": "boom"}
    assert [(e.source_output, e.target_input, e.rule) for e in parsed.edges] == [
        ("output", "input", "all_success"),
        ("o", "i", "any_failed"),
    ]
    v, n = parsed.variables
    assert (v.has_default, v.default, v.sensitive, v.required) == (True, "x", True, False)
    assert (n.has_default, n.default, n.sensitive, n.required) == (False, None, False, True)


def changed(changes: dict[str, Any]) -> dict[str, Any]:
    """GOOD with other values at these pointers."""
    document = copy.deepcopy(GOOD)
    for pointer, value in changes.items():
        *parents, last = [int(token) if token.isdecimal() else token for token in pointer.split("/")[1:]]
        place: Any = document
        for step in parents:
            place = place[step]
        place[last] = value
    return document


LONG = "c" * 129
EXPRESSION = {"type": "expression", "expression": "1"}
CASES: dict[str, tuple[dict[str, Any], str]] = {
    "node id twice": (
        {"/nodes/1/id": "a"},
        "/nodes/1/id unique, /edges/0/targetNodeId reference, /edges/1/sourceNodeId reference",
    ),
    "long node id": ({"/nodes/2/id": LONG, "/edges/1/targetNodeId": LONG}, "/nodes/2/id maxLength"),
    "unknown type": ({"/nodes/1/typeId": "acme.gone"}, "/nodes/1/typeId known"),
    "bad config": ({"/nodes/2/config": {"code": 1}}, "/nodes/2/config/code type"),
    "config of a type without": ({"/nodes/0/config": {"x": 1}}, "/nodes/0/config/x additionalProperties"),
    "edge id twice": ({"/edges/1/id": "a-b"}, "/edges/1/id unique"),
    "edge from nowhere": ({"/edges/1/sourceNodeId": "gone"}, "/edges/1/sourceNodeId reference"),
    "edge to nowhere": ({"/edges/1/targetNodeId": "gone"}, "/edges/1/targetNodeId reference"),
    "connection to nowhere": ({"/nodes/1/inputs": {"a/b": linked("gone")}}, "/nodes/1/inputs/a~1b/nodeId reference"),
    "connection to a later node": ({"/nodes/0/inputs/x": linked("c")}, "/nodes/0/inputs/x/nodeId order"),
    "connection to itself": ({"/nodes/2/inputs/x": linked("c")}, "/nodes/2/inputs/x/nodeId order"),
    "variable twice": ({"/variables/1/name": "v"}, "/variables/1/name unique"),
    "default of another type": ({"/variables/1/defaultValue": True}, "/variables/1/defaultValue type"),
    "expression port": ({"/nodes/2/inputs/x": EXPRESSION}, "/nodes/2/inputs/x unsupported"),
    "edge condition": ({"/edges/1/condition": EXPRESSION}, "/edges/1/condition unsupported"),
    "retries": ({"/settings/maxRetries": 1}, "/settings/maxRetries unsupported"),
    "configurable schema": ({"/configurableSchema": {"type": "object"}}, "/configurableSchema unsupported"),
    "envelope contract": ({"/nodes/0/envelopeContract": {}}, "/nodes/0/envelopeContract unsupported"),
    "loop": ({"/edges": [*GOOD["edges"], edge("c", "b")]}, "/nodes/1 unsupported"),
    "loop of one": ({"/edges": [*GOOD["edges"], edge("c", "c")]}, "/nodes/2 unsupported"),
    "several at once": (
        {"/nodes/0/typeId": "gone.x", "/edges/0/id": "b-c", "/variables/1/name": "v"},
        "/nodes/0/typeId known, /edges/1/id unique, /variables/1/name unique",
    ),
}
"""What is wrong -> what to change in GOOD, and where the violations point, with the rule each breaks."""


@pytest.mark.rule("wf-01", "wf-02", "wf-03")
@pytest.mark.parametrize("name", CASES)
def test_a_bad_definition_is_refused_with_every_violation(name: str) -> None:
    changes, expected = CASES[name]
    assert ", ".join(violations(changed(changes))) == expected


def test_nothing_is_refused_for_being_empty() -> None:
    assert violations(changed({"/settings/maxRetries": 0, "/configurableSchema": {}, "/channels": {}})) == []


@pytest.mark.rule("wf-03")
def test_a_connection_may_reach_over_nodes_in_between() -> None:
    assert violations(changed({"/nodes/2/inputs/x": linked("a")})) == []


@pytest.mark.rule("wf-01")
@pytest.mark.parametrize("name", ["id", "name", "version", "nodes", "edges", "triggers", "variables", "metadata"])
def test_shape_is_judged_by_the_schema_first(name: str) -> None:
    document = {key: value for key, value in GOOD.items() if key != name}
    assert violations(document) == [" required"]


@pytest.mark.parametrize(
    ("guard", "case"),
    [
        ("_check_edges", "edge id twice"),
        ("_check_ports", "connection to nowhere"),
        ("_check_variables", "variable twice"),
        ("_check_not_yet", "retries"),
    ],
)
def test_without_its_check_a_bad_definition_would_be_read(
    monkeypatch: pytest.MonkeyPatch, guard: str, case: str
) -> None:
    monkeypatch.setattr(module, guard, lambda *arguments: [])
    assert parse_workflow(changed(CASES[case][0]), TYPES)[1] == []


@pytest.mark.rule("wf-04")
@settings(max_examples=examples(100), deadline=None)
@given(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.just([]) | st.just({}),
    st.sampled_from(["string", "number", "boolean", "object", "array"]),
)
def test_a_value_has_its_declared_type(value: Any, name: str) -> None:
    kinds = {str: "string", int: "number", float: "number", bool: "boolean", dict: "object", list: "array"}
    assert has_type(value, name) is (kinds.get(type(value)) == name)


@pytest.mark.rule("node-01")
def test_what_a_node_lacks_is_named_in_declared_order() -> None:
    assert missing_capabilities(("b", "a", "c"), frozenset({"a"})) == ["b", "c"]
    assert missing_capabilities((), frozenset()) == []
    assert missing_capabilities(("a",), frozenset({"a", "b"})) == []


@pytest.mark.rule("node-02")
def test_one_capability_is_never_provided() -> None:
    assert missing_capabilities((NEVER_PROVIDED,), frozenset({NEVER_PROVIDED})) == [NEVER_PROVIDED]
    assert TYPES["conformance.requiresMissing"].requires == (NEVER_PROVIDED,)


def test_every_built_in_type_declares_schemas_that_compile() -> None:
    for type_id, declaration in TYPES.items():
        assert declaration.type_id == type_id
        for part in (declaration.inputs, declaration.outputs, declaration.config):
            assert schema.check_inline(part, {}, "") == []


def test_the_plan_knows_what_must_be_hidden() -> None:
    plan = plan_of(GOOD)
    assert (plan.sensitive, plan.guarded) == ({"v"}, True)
    assert plan_of(workflow([node("a")])).guarded is False
    assert plan_of(workflow([node("a", outputSensitivity={"p": True})])).guarded is True
