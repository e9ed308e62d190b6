"""Definitions with one thing wrong, and where that is told."""

import copy
from typing import Any

from tests.harness.definitions import edge, node, variable, workflow


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


def with_changes(changes: dict[str, Any]) -> dict[str, Any]:
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
    "expression that is none": (
        {"/nodes/2/inputs/x": {"type": "expression", "expression": "1 +"}},
        "/nodes/2/inputs/x/expression expression",
    ),
    "expression over a later node": (
        {"/nodes/0/inputs/x": {"type": "expression", "expression": "nodes.c.outputs.x"}},
        "/nodes/0/inputs/x/expression order",
    ),
    "expression over no node": (
        {"/nodes/2/inputs/x": {"type": "expression", "expression": "nodes.gone.outputs.x"}},
        "/nodes/2/inputs/x/expression reference",
    ),
    "condition that is none": (
        {"/edges/1/condition": {"type": "expression", "expression": "nodes."}},
        "/edges/1/condition/expression expression",
    ),
    "condition over a later node": (
        {"/edges/0/condition": {"type": "expression", "expression": "nodes.c.outputs.x == 1"}},
        "/edges/0/condition/expression order",
    ),
    "condition without its expression": ({"/edges/1/condition": {"type": "expression"}}, "/edges/1/condition required"),
    "condition without an operand": (
        {"/edges/1/condition": {"type": "equals", "left": "x"}},
        "/edges/1/condition required",
    ),
    "condition with a bad pattern": (
        {"/edges/1/condition": {"type": "regex", "left": "x", "right": "("}},
        "/edges/1/condition/right pattern",
    ),
    "condition with a pattern that is no text": (
        {"/edges/1/condition": {"type": "regex", "left": "x", "right": 1}},
        "/edges/1/condition/right pattern",
    ),
    "node settings": (
        {"/nodes/0/settings": {"maxRetries": -1, "timeoutMs": "1"}},
        "/nodes/0/settings/maxRetries minimum, /nodes/0/settings/timeoutMs type",
    ),
    "trigger twice": (
        {"/triggers": [{"id": "t", "type": "manual"}, {"id": "t", "type": "event"}]},
        "/triggers/1/id unique",
    ),
    "trigger at nowhere": (
        {"/triggers": [{"id": "t", "type": "manual", "nodeId": "gone"}]},
        "/triggers/0/nodeId reference",
    ),
    "channel named like a variable": ({"/channels": {"v": {"reducer": "append"}}}, "/variables/0/name unique"),
    "channel written as a variable": (
        {
            "/channels": {"c": {"reducer": "append"}},
            "/nodes/0": node("a", "core.setVariable", config={"name": "c", "value": 1}),
            "/nodes/1/inputs": {},
        },
        "/nodes/0/config/name reference",
    ),
    "channel with another reducer": (
        {
            "/channels": {"c": {"reducer": "append"}},
            "/nodes/0": node("a", "core.channelWrite", config={"channelName": "c", "reducer": "counter", "value": 1}),
            "/nodes/1/inputs": {},
        },
        "/nodes/0/config/reducer reference",
    ),
    "configurable schema that is none": ({"/configurableSchema": {"type": 1}}, "/configurableSchema/type anyOf"),
    "expression in a config": (
        {"/nodes/0": node("a", "core.transform", config={"fields": {"a/b": "1 +"}})},
        "/nodes/0/config/fields/a~1b expression",
    ),
    "template in a config": (
        {"/nodes/0": node("a", "core.template", config={"template": "{{ 1 + }}"}), "/nodes/1/inputs": {}},
        "/nodes/0/config/template template",
    ),
    "config that reads a later node": (
        {"/nodes/0": node("a", "core.transform", config={"expression": "nodes.c.outputs.x"})},
        "/nodes/0/config/expression order",
    ),
    "edge from an output that is not given": (
        {
            "/nodes/0": node("a", "core.conditional", config={"expression": "true"}),
            "/nodes/1/inputs": {},
            "/edges/0/sourceOutput": "yes",
        },
        "/edges/0/sourceOutput output",
    ),
    "connection to an output that is not given": (
        {"/nodes/0": node("a", "core.template", config={"template": "x"})},
        "/nodes/1/inputs/y/outputKey output",
    ),
    "sensitivity of an output that is not given": (
        {
            "/nodes/0": node("a", "core.template", config={"template": "x"}, outputSensitivity={"outputt": True}),
            "/nodes/1/inputs": {},
        },
        "/nodes/0/outputSensitivity/outputt output",
    ),
    "what else is wrong beside an unknown type": (
        {
            "/nodes/1/typeId": "core.nop",
            "/nodes/2": node("c", "core.transform", config={"expression": "nodes.zz.outputs.x"}),
        },
        "/nodes/1/typeId known, /nodes/2/config/expression reference",
    ),
    "body of an unknown type": (
        {
            "/nodes/0": node("a", "core.flow.map", config={"items": [], "body": {"typeId": "acme.gone"}}),
            "/nodes/1/inputs": {},
        },
        "/nodes/0/config/body/typeId known",
    ),
    "body of a body": (
        {
            "/nodes/0": node("a", "core.flow.map", config={"items": [], "body": {"typeId": "core.flow.map"}}),
            "/nodes/1/inputs": {},
        },
        "/nodes/0/config/body/typeId not",
    ),
    "body with a bad config": (
        {
            "/nodes/0": node("a", "core.flow.map", config={"body": {"typeId": "core.fail", "config": {"code": 1}}}),
            "/nodes/1/inputs": {},
        },
        "/nodes/0/config/body/config/code type",
    ),
    "several at once": (
        {"/nodes/0/typeId": "gone.x", "/edges/0/id": "b-c", "/variables/1/name": "v"},
        "/nodes/0/typeId known, /edges/1/id unique, /variables/1/name unique",
    ),
}
"""What is wrong -> what to change in GOOD, and where the violations point, with the rule each breaks."""
