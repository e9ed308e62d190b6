"""What a definition may not say about a built-in node: refused with the place and the rule."""

from typing import Any

import pytest

from tests.engine.nodes.fakes import TYPES
from weftwork.adapters.nodes.map import NO_BODIES
from weftwork.protocol import schema

BODY = {"typeId": "core.noop"}
ASK = {"kind": "custom", "data": {"customKind": "x"}}

REFUSED: list[tuple[str, dict[str, Any], str, str]] = [
    ("core.end", {"x": 1}, "/x", "additionalProperties"),
    ("core.parallel", {"branches": []}, "/branches", "additionalProperties"),
    ("core.conditional", {}, "", "required"),
    ("core.conditional", {"expression": ""}, "/expression", "minLength"),
    ("core.conditional", {"expression": True}, "/expression", "type"),
    ("core.conditional", {"expression": "x" * 2_049}, "/expression", "maxLength"),
    ("core.conditional", {"condition": "x", "expression": "x"}, "/condition", "additionalProperties"),
    ("core.switch", {"expression": "x"}, "", "required"),
    ("core.switch", {"expression": "x", "cases": {}}, "/cases", "minProperties"),
    ("core.switch", {"expression": "x", "cases": []}, "/cases", "type"),
    ("core.switch", {"expression": "x", "cases": {"value": 1}}, "/cases/value", "propertyNames"),
    ("core.switch", {"expression": "x", "cases": {"output": 1}}, "/cases/output", "propertyNames"),
    ("core.switch", {"expression": "x", "cases": {"": 1}}, "/cases/", "propertyNames"),
    ("core.switch", {"expression": "x", "cases": {"a": 1}, "default": "output"}, "/default", "not"),
    ("core.switch", {"expression": "x", "cases": dict.fromkeys(map(str, range(101)))}, "/cases", "maxProperties"),
    ("core.loop", {}, "", "minProperties"),
    ("core.loop", {"times": -1}, "/times", "minimum"),
    ("core.loop", {"times": 1.5}, "/times", "type"),
    ("core.loop", {"times": 1_000_001}, "/times", "maximum"),
    ("core.loop", {"times": 1, "while": ""}, "/while", "minLength"),
    ("core.merge", {"mode": "last"}, "/mode", "enum"),
    ("core.setVariable", {"value": 1}, "", "required"),
    ("core.setVariable", {"name": ""}, "/name", "minLength"),
    ("core.getVariable", {"name": "x", "fallback": 1}, "/fallback", "additionalProperties"),
    ("core.channelWrite", {"value": 1}, "", "required"),
    ("core.channelWrite", {"channelName": "x", "reducer": "vendor.a.b"}, "/reducer", "enum"),
    ("core.channelWrite", {"channelName": "x", "ttlMs": 0}, "/ttlMs", "minimum"),
    ("core.channelWrite", {"channelName": "x", "ttlMs": 31_536_000_001}, "/ttlMs", "maximum"),
    ("core.channelWrite", {"channelName": "x", "ttlMs": 1, "reducer": "counter"}, "/reducer", "enum"),
    ("core.channelWrite", {"channelName": "x", "maxSize": 0}, "/maxSize", "minimum"),
    ("core.channelWrite", {"channelName": "x" * 257}, "/channelName", "maxLength"),
    ("core.transform", {}, "", "minProperties"),
    ("core.transform", {"expression": "x", "fields": {"a": "x"}}, "", "maxProperties"),
    ("core.transform", {"fields": {}}, "/fields", "minProperties"),
    ("core.transform", {"fields": {"a": 1}}, "/fields/a", "type"),
    ("core.template", {}, "", "required"),
    ("core.template", {"template": 1}, "/template", "type"),
    ("core.wait", {"until": "2027-01-01"}, "/until", "pattern"),
    ("core.wait", {"until": "2027-01-01T00:00:00"}, "/until", "pattern"),
    ("core.wait", {"until": "2027-13-01T00:00:00Z"}, "/until", "pattern"),
    ("core.wait", {"until": 1}, "/until", "type"),
    ("core.log", {}, "", "required"),
    ("core.log", {"message": "x", "level": "trace"}, "/level", "enum"),
    ("core.log", {"message": "x", "fields": {"a": 1}}, "/fields/a", "type"),
    ("core.artifact.emit", {}, "", "required"),
    ("core.artifact.emit", {"artifactType": "x", "artifactId": "a/b"}, "/artifactId", "pattern"),
    ("core.interrupt", {"kind": "custom"}, "", "required"),
    ("core.interrupt", {**ASK, "kind": "approval"}, "/kind", "enum"),
    ("core.interrupt", {**ASK, "data": {}}, "/data", "required"),
    ("core.interrupt", {**ASK, "data": {"customKind": "x", "text": 1}}, "/data/text", "additionalProperties"),
    ("core.interrupt", {**ASK, "key": "x" * 257}, "/key", "maxLength"),
    ("core.filter", {"items": [1]}, "", "required"),
    ("core.filter", {"expression": "x", "items": {}}, "/items", "type"),
    ("core.aggregate", {}, "", "required"),
    ("core.aggregate", {"operation": "median"}, "/operation", "enum"),
    ("core.flow.map", {"items": []}, "", "required"),
    ("core.flow.map", {"body": BODY, "items": 1}, "/items", "type"),
    ("core.flow.map", {"body": BODY, "concurrency": 0}, "/concurrency", "minimum"),
    ("core.flow.map", {"body": BODY, "concurrency": 65}, "/concurrency", "maximum"),
    ("core.flow.map", {"body": {}}, "/body", "required"),
    ("core.flow.map", {"body": {**BODY, "workflowId": "x"}}, "/body/workflowId", "not"),
    *(("core.flow.map", {"body": {"typeId": each}}, "/body/typeId", "not") for each in NO_BODIES),
    ("core.flow.map", {"body": {"typeId": "No"}}, "/body/typeId", "pattern"),
    ("core.flow.map", {"body": {**BODY, "config": []}}, "/body/config", "type"),
    ("core.flow.map", {"body": {**BODY, "inputs": {"a": {}}}}, "/body/inputs/a", "required"),
    ("core.flow.map", {"body": {**BODY, "inputs": {"a": {"type": "static"}}}}, "/body/inputs/a", "required"),
    (
        "core.flow.map",
        {"body": {**BODY, "inputs": {"a": {"type": "expression", "value": 1, "expression": "x"}}}},
        "/body/inputs/a/value",
        "additionalProperties",
    ),
    (
        "core.flow.map",
        {"body": {**BODY, "inputs": {"a": {"type": "variable", "variableName": "x"}}}},
        "/body/inputs/a/type",
        "enum",
    ),
]


@pytest.mark.parametrize(("type_id", "config", "pointer", "rule"), REFUSED)
def test_a_config_is_refused_at_its_place(type_id: str, config: dict[str, Any], pointer: str, rule: str) -> None:
    found = schema.check_inline(TYPES[type_id].declaration.config, config, "/config")
    assert [(each.pointer, each.rule) for each in found] == [(f"/config{pointer}", rule)]


TAKEN: list[tuple[str, dict[str, Any]]] = [
    ("core.start", {"anything": 1}),
    ("core.trigger.schedule", {"cron": "0 9 * * *"}),
    ("core.end", {}),
    ("core.switch", {"expression": "x", "cases": {"null": None, "list": [1], "text": "a"}, "default": "text"}),
    ("core.loop", {"times": 0}),
    ("core.loop", {"while": "true"}),
    ("core.merge", {}),
    ("core.flow.merge", {"mode": "first"}),
    ("core.setVariable", {"name": "x", "value": None}),
    ("core.channelWrite", {"channelName": "events", "reducer": "append", "ttlMs": 200, "value": "a"}),
    ("core.channelWrite", {"channelName": "events", "ttlMs": 200}),
    ("core.wait", {}),
    ("core.wait", {"until": "2027-01-01T00:00Z"}),
    ("core.wait", {"until": "2027-01-01T00:00:00.123456789-23:59"}),
    ("core.template", {"template": ""}),
    ("core.interrupt", {**ASK, "key": "mine", "data": {"customKind": "x", "payload": None}}),
    ("core.flow.map", {"body": {**BODY, "inputs": {}}}),
    ("core.flow.map", {"body": {**BODY, "inputs": {"a": {"type": "static", "value": None}}}, "items": []}),
]


@pytest.mark.parametrize(("type_id", "config"), TAKEN)
def test_a_config_is_taken(type_id: str, config: dict[str, Any]) -> None:
    assert schema.check_inline(TYPES[type_id].declaration.config, config, "") == []


def test_more_items_than_a_list_may_have_are_refused() -> None:
    inputs = TYPES["core.flow.map"].declaration.inputs
    assert schema.check_inline(inputs, {"items": [0] * 100_000}, "") == []
    (found,) = schema.check_inline(inputs, {"items": [0] * 100_001}, "")
    assert (found.pointer, found.rule) == ("/items", "maxItems")
