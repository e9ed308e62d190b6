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


def computed(text: str) -> dict[str, Any]:
    return {"type": "expression", "expression": text}


def first(type_id: str, **config: Any) -> dict[str, Any]:
    """Changes by which the first node has another type, and the second one takes nothing from it."""
    return {"/nodes/0": node("a", type_id, config=config), "/nodes/1/inputs": {}}


LONG = "c" * 129
DECLARED = {"/channels": {"c": {"reducer": "append"}}}
CONDITION = "/edges/1/condition"
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
    "expression that is none": ({"/nodes/2/inputs/x": computed("1 +")}, "/nodes/2/inputs/x/expression expression"),
    "expression over a later node": (
        {"/nodes/0/inputs/x": computed("nodes.c.outputs.x")},
        "/nodes/0/inputs/x/expression order",
    ),
    "expression over no node": (
        {"/nodes/2/inputs/x": computed("nodes.gone.outputs.x")},
        "/nodes/2/inputs/x/expression reference",
    ),
    "condition that is none": ({CONDITION: computed("nodes.")}, f"{CONDITION}/expression expression"),
    "condition over a later node": (
        {"/edges/0/condition": computed("nodes.c.outputs.x == 1")},
        "/edges/0/condition/expression order",
    ),
    "condition without its expression": ({CONDITION: {"type": "expression"}}, f"{CONDITION} required"),
    "condition without an operand": ({CONDITION: {"type": "equals", "left": "x"}}, f"{CONDITION} required"),
    "condition with a bad pattern": (
        {CONDITION: {"type": "regex", "left": "x", "right": "("}},
        f"{CONDITION}/right pattern",
    ),
    "condition with a pattern that is no text": (
        {CONDITION: {"type": "regex", "left": "x", "right": 1}},
        f"{CONDITION}/right pattern",
    ),
    "node settings": (
        {"/nodes/0/settings": {"maxRetries": -1, "timeoutMs": "1"}},
        "/nodes/0/settings/maxRetries minimum, /nodes/0/settings/timeoutMs type",
    ),
    "trigger twice": ({"/triggers": [{"id": "t", "type": "manual"}] * 2}, "/triggers/1/id unique"),
    "trigger at nowhere": (
        {"/triggers": [{"id": "t", "type": "manual", "nodeId": "gone"}]},
        "/triggers/0/nodeId reference",
    ),
    "channel named like a variable": ({"/channels": {"v": {"reducer": "append"}}}, "/variables/0/name unique"),
    "channel written as a variable": (
        DECLARED | first("core.setVariable", name="c", value=1),
        "/nodes/0/config/name reference",
    ),
    "channel with another reducer": (
        DECLARED | first("core.channelWrite", channelName="c", reducer="counter", value=1),
        "/nodes/0/config/reducer reference",
    ),
    "configurable schema that is none": ({"/configurableSchema": {"type": 1}}, "/configurableSchema/type anyOf"),
    "expression in a config": (
        first("core.transform", fields={"a/b": "1 +"}),
        "/nodes/0/config/fields/a~1b expression",
    ),
    "template in a config": (first("core.template", template="{{ 1 + }}"), "/nodes/0/config/template template"),
    "config that reads a later node": (
        first("core.transform", expression="nodes.c.outputs.x"),
        "/nodes/0/config/expression order",
    ),
    "edge from an output that is not given": (
        {**first("core.conditional", expression="true"), "/edges/0/sourceOutput": "yes"},
        "/edges/0/sourceOutput output",
    ),
    "connection to an output that is not given": (
        {"/nodes/0": node("a", "core.template", config={"template": "x"})},
        "/nodes/1/inputs/y/outputKey output",
    ),
    "sensitivity of an output that is not given": (
        {**first("core.template", template="x"), "/nodes/0/outputSensitivity": {"outputt": True}},
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
        first("core.flow.map", items=[], body={"typeId": "acme.gone"}),
        "/nodes/0/config/body/typeId known",
    ),
    "body of a body": (
        first("core.flow.map", items=[], body={"typeId": "core.flow.map"}),
        "/nodes/0/config/body/typeId not",
    ),
    "body with a bad config": (
        first("core.flow.map", body={"typeId": "core.fail", "config": {"code": 1}}),
        "/nodes/0/config/body/config/code type",
    ),
    "several at once": (
        {"/nodes/0/typeId": "gone.x", "/edges/0/id": "b-c", "/variables/1/name": "v"},
        "/nodes/0/typeId known, /edges/1/id unique, /variables/1/name unique",
    ),
}
"""What is wrong -> what to change in GOOD, and where the violations point, with the rule each breaks."""
