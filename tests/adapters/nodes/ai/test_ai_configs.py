"""What the nodes that ask models take as config and inputs, and what they refuse, at its place."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.adapters.nodes.fake_context import TYPES
from weftwork.engine.nodes.node_call import check_node_inputs
from weftwork.protocol.workflow.node_config import check_config
from weftwork.protocol.workflow.node_types import NodeDeclaration
from weftwork.protocol.workflow.validation import parse_workflow

SCHEMA = {"type": "object", "required": ["valid"], "properties": {"valid": {"type": "boolean"}}}
TICKET = {"envelopeType": "vendor.example.ticket"}

REFUSED: list[tuple[str, dict[str, Any], str, str]] = [
    ("callPrompt", {"prompt": ""}, "/prompt", "minLength"),
    ("callPrompt", {"temperature": 2.1}, "/temperature", "maximum"),
    ("callPrompt", {"maxTokens": 0}, "/maxTokens", "minimum"),
    ("callPrompt", {"stopSequences": [""]}, "/stopSequences/0", "minLength"),
    ("callPrompt", {"expectsStreaming": 1}, "/expectsStreaming", "type"),
    ("callPrompt", {"messages": []}, "/messages", "additionalProperties"),
    ("chatCompletion", {"promptId": "x"}, "/promptId", "additionalProperties"),
    ("chatCompletion", {"provider": ""}, "/provider", "minLength"),
    ("structuredOutput", {}, "", "required"),
    ("structuredOutput", {"outputSchema": True}, "/outputSchema", "type"),
    ("structuredOutput", {"outputSchema": {"type": "thing"}}, "/outputSchema/type", "anyOf"),
    ("structuredOutput", {"outputSchema": {"$dynamicRef": "#x"}}, "/outputSchema/$dynamicRef", "keyword"),
    (
        "structuredOutput",
        {"outputSchema": {"properties": {"a": {"$id": "https://example.org/"}}}},
        "/outputSchema/properties/a/$id",
        "keyword",
    ),
    ("structuredOutput", {"outputSchema": {"$ref": "https://example.org/"}}, "/outputSchema/$ref", "$ref"),
    ("structuredOutput", {"outputSchema": SCHEMA, "retryOnInvalidJson": -1}, "/retryOnInvalidJson", "minimum"),
    ("generateEnvelope", {}, "", "required"),
    ("generateEnvelope", {"envelopeType": ""}, "/envelopeType", "minLength"),
    ("generateEnvelope", {**TICKET, "accepts": ["x"]}, "/accepts", "additionalProperties"),
]

TAKEN: list[tuple[str, dict[str, Any]]] = [
    ("callPrompt", {}),
    ("callPrompt", {"promptId": "x", "expectsStreaming": True, "systemPrompt": ""}),
    ("chatCompletion", {"systemPrompt": "Be kind.", "stopSequences": ["END"], "temperature": 2}),
    ("structuredOutput", {"outputSchema": {"$id": "https://example.org/it", "title": "It", **SCHEMA}}),
    (
        "structuredOutput",
        {"outputSchema": {"$schema": "https://json-schema.org/draft/2020-12/schema"}, "retryOnInvalidJson": 0},
    ),
    ("generateEnvelope", TICKET),
    ("generateEnvelope", {**TICKET, "systemPrompt": "", "maxTokens": 1}),
    ("generateEnvelope", {"envelopeType": "clarification.request", "userMessage": "Ask."}),
]

INPUTS: list[tuple[dict[str, Any], str]] = [
    ({"messages": []}, "/inputs/messages"),
    ({"messages": "Hello"}, "/inputs/messages"),
    ({"messages": [{"role": "tool", "content": "x"}]}, "/inputs/messages/0/role"),
    ({"messages": [{"role": "user"}]}, "/inputs/messages/0"),
    ({"messages": [{"role": "user", "content": 1}]}, "/inputs/messages/0/content"),
    ({"messages": [{"role": "user", "content": [{"text": "x"}]}]}, "/inputs/messages/0/content/0"),
]


@pytest.mark.parametrize(("kind", "config", "pointer", "rule"), REFUSED)
def test_a_config_is_refused_at_its_place(kind: str, config: dict[str, Any], pointer: str, rule: str) -> None:
    found = check_config(TYPES[f"core.ai.{kind}"].declaration, config, "/config")
    assert [(each.pointer, each.rule) for each in found] == [(f"/config{pointer}", rule)]


@pytest.mark.parametrize(("kind", "config"), TAKEN)
def test_a_config_is_taken(kind: str, config: dict[str, Any]) -> None:
    assert check_config(TYPES[f"core.ai.{kind}"].declaration, config, "") == []


@pytest.mark.parametrize("kind", ["chatCompletion", "structuredOutput"])
@pytest.mark.parametrize(("inputs", "pointer"), INPUTS)
def test_a_conversation_of_another_shape_is_refused(kind: str, inputs: dict[str, Any], pointer: str) -> None:
    found = check_node_inputs(TYPES[f"core.ai.{kind}"].declaration.inputs, inputs)
    assert found is not None
    assert (found.code, found.details) == ("node_config_invalid", {"pointer": pointer})


@pytest.mark.parametrize(
    ("kind", "ports"), [("callPrompt", {"text", "content"}), ("chatCompletion", {"content", "message"})]
)
def test_who_hides_an_answer_hides_it_under_each_of_its_names(kind: str, ports: set[str]) -> None:
    declaration = TYPES[f"core.ai.{kind}"].declaration
    for port in ports:
        assert hidden(declaration, port) == ports
        assert hidden(replace(declaration, equal_outputs=()), port) == {port}
    assert hidden(declaration, "usage") == {"usage"}


def hidden(declaration: NodeDeclaration, port: str) -> frozenset[str]:
    """What a definition hides that names this one."""
    node = {"id": "a", "typeId": declaration.type_id, "name": "A", "position": {"x": 0, "y": 0}, "config": {}}
    shown: dict[str, Any] = {"triggers": [], "variables": [], "metadata": {}, "settings": {}, "edges": []}
    document = {"id": "x", "name": "X", "version": "1", **shown, "nodes": [{**node, "inputs": {}}]}
    document["nodes"][0]["outputSensitivity"] = {port: True}
    parsed, found = parse_workflow(document, {declaration.type_id: declaration})
    assert parsed is not None, found
    return parsed.nodes[0].sensitive_outputs
