"""Declarations and configurations of all node types."""

import ast
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import weftwork.adapters.nodes as package
from tests.adapters.nodes.fake_context import TYPES
from tests.harness.cases import each_case
from weftwork.adapters.nodes.builtin import ALIASES, BUILTIN_TYPES, with_aliases
from weftwork.adapters.nodes.flow.map import EXCLUDED_BODIES
from weftwork.conformance.workflows import conformance_nodes
from weftwork.protocol.json import schema
from weftwork.protocol.models.prompt_templates import PromptTemplates
from weftwork.protocol.workflow.node_config import check_config
from weftwork.protocol.workflow.node_types import NodeDeclaration, describe_node_type

FOLDER = Path(inspect.getfile(package)).parent
OPEN_CONFIG = {"core.noop", "core.start", "local.sample.demo.uppercase", "conformance.requiresMissing"}
WRITTEN = [each.declaration for type_id, each in TYPES.items() if type_id not in ALIASES]

RESERVED = [
    *("core.start", "core.end", "core.conditional", "core.delay", "core.loop", "core.parallel", "core.merge"),
    *("core.setVariable", "core.getVariable", "core.interrupt", "core.identity", "core.channelWrite"),
    *("core.approvalGate", "core.clarificationGate", "core.conversationGate", "core.subWorkflow"),
]


def each_declaration(test: Any) -> Any:
    return each_case("declaration", *WRITTEN, ids=lambda declaration: declaration.type_id)(test)


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


BODY = {"typeId": "core.noop"}
FAN = {"fanOutPolicy": "parallel"}
ASK = {"kind": "custom", "data": {"customKind": "x"}}
QUESTION = {"id": "a", "question": "A?"}
ASKED = {"questions": [QUESTION]}
TWICE = {"questions": [QUESTION, QUESTION]}
DECISION = {"artifactId": "a", "artifactType": "t", "title": "T", "actions": ["accept"]}
EVENT = {"eventType": "paid"}
UNSURE = {"agentId": "agent", "threshold": 0.7, "observed": 0.5}
DEFAULTED = {**ASK, "timeoutMs": 1, "defaultValue": 1}
TIMES: list[tuple[dict[str, Any], str, str]] = [
    ({"timeoutMs": 0}, "/timeoutMs", "minimum"),
    ({"timeoutMs": 316_224_000_001}, "/timeoutMs", "maximum"),
    ({"timeoutMs": 1.5}, "/timeoutMs", "type"),
    ({"remindAfterMs": []}, "/remindAfterMs", "minItems"),
    ({"remindAfterMs": list(range(1, 18))}, "/remindAfterMs", "maxItems"),
    ({"remindAfterMs": [0]}, "/remindAfterMs/0", "minimum"),
    ({"remindAfterMs": [1, 3, 3]}, "/remindAfterMs", "items"),
    ({"remindAfterMs": [1, 5], "timeoutMs": 5}, "/remindAfterMs", "maximum"),
]
"""What no node that asks takes."""


@each_case(
    "type_id, config, pointer, rule",
    ("core.end", {"x": 1}, "/x", "additionalProperties"),
    ("core.parallel", {"branches": []}, "/branches", "additionalProperties"),
    ("core.conditional", {}, "", "required"),
    ("core.conditional", {"expression": ""}, "/expression", "minLength"),
    ("core.conditional", {"expression": True}, "/expression", "type"),
    ("core.conditional", {"expression": "x" * 2_049}, "/expression", "maxLength"),
    ("core.conditional", {"condition": "x", "expression": "x"}, "/condition", "additionalProperties"),
    ("core.dispatch", {"fanOutPolicy": "both"}, "/fanOutPolicy", "enum"),
    ("core.dispatch", {"workerDispatchModel": "node"}, "/workerDispatchModel", "enum"),
    ("core.dispatch", {"joinMode": "first"}, "/joinMode", "not"),
    ("core.dispatch", {"maxParallel": 2, "fanOutPolicy": "sequential"}, "/maxParallel", "not"),
    ("core.dispatch", {**FAN, "maxParallel": 65}, "/maxParallel", "maximum"),
    ("core.dispatch", {**FAN, "joinMode": "any"}, "/joinMode", "enum"),
    ("core.dispatch", {**FAN, "joinMode": "quorum"}, "/quorum", "required"),
    ("core.dispatch", {**FAN, "joinMode": "race", "quorum": 1}, "/quorum", "required"),
    ("core.dispatch", {**FAN, "joinMode": "quorum", "quorum": 0}, "/quorum", "minimum"),
    ("core.dispatch", {"iterationCap": 0}, "/iterationCap", "minimum"),
    ("core.dispatch", {"perWorkerInputMappings": {"a": {"b": 1}}}, "/perWorkerInputMappings/a/b", "type"),
    ("core.orchestrator.supervisor", {"plan": [{"kind": "ask-user"}]}, "/plan/0", "required"),
    ("core.orchestrator.supervisor", {"plan": [], "decision": "1"}, "/plan", "not"),
    ("core.orchestrator.supervisor", {"mockConfidence": 2}, "/mockConfidence", "maximum"),
    ("core.conformance.mock-agent", {"mockToolCalls": [{"toolId": "x"}]}, "/mockToolCalls/0", "required"),
    ("core.conformance.mock-agent", {"mockHandoff": {"toAgentId": "x"}}, "/mockHandoff/toAgentId", "minLength"),
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
    *(("core.interrupt", {**ASK, "kind": each}, "/kind", "enum") for each in ("", "conversation.start", "other")),
    ("core.interrupt", {**ASK, "data": {}}, "/data", "required"),
    ("core.interrupt", {**ASK, "data": {"customKind": "x", "text": 1}}, "/data/text", "additionalProperties"),
    ("core.interrupt", {**ASK, "key": "x" * 257}, "/key", "maxLength"),
    *(("core.interrupt", {**ASK, **more}, pointer, rule) for more, pointer, rule in TIMES),
    ("core.interrupt", {**ASK, "resumeSchema": {"$ref": "https://x"}}, "/resumeSchema/$ref", "$ref"),
    ("core.interrupt", {**ASK, "defaultValue": 1}, "/defaultValue", "required"),
    ("core.interrupt", {**DEFAULTED, "resumeSchema": {"type": "string"}}, "/defaultValue", "type"),
    ("core.interrupt", {**DEFAULTED, "kind": "approval", "data": DECISION}, "/defaultValue", "not"),
    ("core.interrupt", {**DEFAULTED, "kind": "clarification", "data": ASKED}, "/defaultValue", "type"),
    (
        "core.interrupt",
        {**DEFAULTED, "kind": "clarification", "data": ASKED, "defaultValue": {"answers": {"b": 1, "a": 2}}},
        "/defaultValue/answers/b",
        "reference",
    ),
    ("core.interrupt", {"kind": "approval", "data": {**DECISION, "title": ""}}, "/data/title", "minLength"),
    ("core.interrupt", {"kind": "approval", "data": {**DECISION, "actions": ["edit"]}}, "/data/actions/0", "enum"),
    ("core.interrupt", {"kind": "approval", "data": {**DECISION, "actions": ["ask"]}}, "/data/actions", "contains"),
    ("core.interrupt", {"kind": "approval", "data": {**DECISION, "profile": "other"}}, "/data/profile", "enum"),
    *(
        ("core.interrupt", {"kind": "approval", "data": {**DECISION, each: ["a"]}}, f"/data/{each}", "falseSchema")
        for each in ("approverGroupRefs", "approverRoleRefs")
    ),
    ("core.interrupt", {"kind": "clarification", "data": {"questions": []}}, "/data/questions", "minItems"),
    ("core.interrupt", {"kind": "clarification", "data": TWICE}, "/data/questions", "uniqueItems"),
    ("core.interrupt", {"kind": "external-event", "data": {}}, "/data", "required"),
    ("core.interrupt", {"kind": "external-event", "data": {**EVENT, "more": 1}}, "/data/more", "additionalProperties"),
    ("core.interrupt", {"kind": "low-confidence", "data": {**UNSURE, "observed": 2}}, "/data/observed", "maximum"),
    *(("core.approvalGate", more, pointer, rule) for more, pointer, rule in TIMES),
    ("core.approvalGate", {"timeoutMs": 1000, "timeoutSec": 1}, "/timeoutSec", "not"),
    ("core.approvalGate", {"timeoutSec": 2, "remindAfterMs": [2000]}, "/remindAfterMs", "maximum"),
    ("core.approvalGate", {"actions": []}, "/actions", "minItems"),
    ("core.approvalGate", {"actions": ["accept", "accept"]}, "/actions", "uniqueItems"),
    ("core.approvalGate", {"actions": ["edit"]}, "/actions/0", "enum"),
    ("core.approvalGate", {"actions": ["ask"]}, "/actions", "contains"),
    ("core.approvalGate", {"actions": ["accept", "edit-accept"], "requiredApprovals": 2}, "/actions", "contains"),
    ("core.approvalGate", {"actions": ["reject", "refine"], "requiredApprovals": 2}, "/actions", "contains"),
    ("core.approvalGate", {"requiredApprovals": 0}, "/requiredApprovals", "minimum"),
    ("core.approvalGate", {"requiredApprovals": 2, "approversList": ["a"]}, "/requiredApprovals", "maximum"),
    ("core.approvalGate", {"approversList": ["a", "a"]}, "/approversList", "uniqueItems"),
    ("core.approvalGate", {"approversList": [""]}, "/approversList/0", "minLength"),
    ("core.approvalGate", {"rejectionPolicy": "none"}, "/rejectionPolicy", "enum"),
    ("core.approvalGate", {"overrideBypassesQuorum": True}, "/overrideBypassesQuorum", "required"),
    ("core.approvalGate", {"profile": "openwop-interrupt-quorum"}, "/profile", "enum"),
    ("core.approvalGate", {"resumeSchema": {"type": "text"}}, "/resumeSchema/type", "anyOf"),
    ("core.approvalGate", {"title": ""}, "/title", "minLength"),
    *(("core.clarificationGate", {**ASKED, **more}, pointer, rule) for more, pointer, rule in TIMES),
    ("core.clarificationGate", {"questions": []}, "/questions", "minItems"),
    ("core.clarificationGate", {"questions": [QUESTION] * 51}, "/questions", "maxItems"),
    ("core.clarificationGate", {"questions": [{"id": "a"}]}, "/questions/0", "required"),
    ("core.clarificationGate", {"questions": [{**QUESTION, "x": 1}]}, "/questions/0/x", "additionalProperties"),
    ("core.clarificationGate", TWICE, "/questions", "uniqueItems"),
    (
        "core.clarificationGate",
        {"questions": [{**QUESTION, "schema": {"pattern": "(a)\\1"}}]},
        "/questions/0/schema/pattern",
        "pattern",
    ),
    ("core.clarificationGate", {**ASKED, "defaultAnswers": {"a": 1}}, "/defaultAnswers", "required"),
    ("core.clarificationGate", {**ASKED, "timeoutMs": 1, "defaultAnswers": {}}, "/defaultAnswers", "required"),
    ("core.clarificationGate", {**ASKED, "timeoutMs": 1, "defaultAnswers": {"a": None}}, "/defaultAnswers/a", "type"),
    (
        "core.clarificationGate",
        {**ASKED, "timeoutMs": 1, "defaultAnswers": {"a": 1, "b/c": 1}},
        "/defaultAnswers/b~1c",
        "reference",
    ),
    (
        "core.clarificationGate",
        {"questions": [{**QUESTION, "schema": {"type": "string"}}], "timeoutMs": 1, "defaultAnswers": {"a": 1}},
        "/defaultAnswers/a",
        "type",
    ),
    *(("core.conversationGate", more, pointer, rule) for more, pointer, rule in TIMES),
    ("core.conversationGate", {"lifecycle": "other"}, "/lifecycle", "enum"),
    ("core.conversationGate", {"turnCount": 0}, "/turnCount", "minimum"),
    ("core.conversationGate", {"turnCount": 101}, "/turnCount", "maximum"),
    ("core.conversationGate", {"prompts": []}, "/prompts", "minItems"),
    ("core.conversationGate", {"prompts": ["a", "b"], "turnCount": 1}, "/prompts", "maxItems"),
    ("core.conversationGate", {"outcomeSchema": {"type": "object", "x": 1}}, "/outcomeSchema/x", "keyword"),
    (
        "core.conversationGate",
        {"outcomeSchema": {"type": "integer"}, "mockAutoResume": True},
        "/mockAutoResume",
        "not",
    ),
    ("core.conversationGate", {"channel": ""}, "/channel", "minLength"),
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
    ("core.flow.map", {"body": {"workflowId": "a/b"}}, "/body/workflowId", "pattern"),
    ("core.flow.map", {"body": {"workflowId": "x", "config": {}}}, "/body/config", "not"),
    ("core.flow.map", {"body": {**BODY, "output": "x"}}, "/body/output", "not"),
    ("core.flow.map", {"body": {"workflowId": "x", "output": ""}}, "/body/output", "minLength"),
    ("core.flow.map", {"body": {"workflowId": "x"}, "concurrency": 1_001}, "/concurrency", "maximum"),
    *(("core.flow.map", {"body": {"typeId": each}}, "/body/typeId", "not") for each in EXCLUDED_BODIES),
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
    ("core.subWorkflow", {}, "", "required"),
    ("core.subWorkflow", {"workflowId": ""}, "/workflowId", "pattern"),
    ("core.subWorkflow", {"workflowId": "x", "version": "1"}, "/version", "additionalProperties"),
    ("core.subWorkflow", {"workflowId": "x", "waitForCompletion": None}, "/waitForCompletion", "type"),
    ("core.subWorkflow", {"workflowId": "x", "onChildFailure": "ignore"}, "/onChildFailure", "enum"),
    ("core.subWorkflow", {"workflowId": "x", "inputMapping": {"a": 1}}, "/inputMapping/a", "type"),
    ("core.subWorkflow", {"workflowId": "x", "inputMapping": {"": "a"}}, "/inputMapping/", "propertyNames"),
    ("core.subWorkflow", {"workflowId": "x", "outputMapping": {"a": ""}}, "/outputMapping/a", "minLength"),
    ("core.subWorkflow", {"workflowId": "x", "propagateCancellation": 1}, "/propagateCancellation", "type"),
    ("core.subWorkflow", {"workflowId": "x", "outputAttestation": {}}, "/outputAttestation", "capability"),
    (
        "core.subWorkflow",
        {"workflowId": "x", "waitForCompletion": False, "outputMapping": {"a": "b"}},
        "/outputMapping",
        "not",
    ),
)
def test_a_config_is_refused_at_its_place(type_id: str, config: dict[str, Any], pointer: str, rule: str) -> None:
    found = check_config(TYPES[type_id].declaration, config, "/config")
    assert [(each.pointer, each.rule) for each in found] == [(f"/config{pointer}", rule)]


def test_the_refusal_of_a_sub_workflow_as_body_names_the_alternative() -> None:
    config = {"body": {"typeId": "core.subWorkflow", "config": {"workflowId": "x"}}}
    (found,) = check_config(TYPES["core.flow.map"].declaration, config, "/config")
    assert found.message == "cannot be a body; name the workflow in body.workflowId instead"


@each_case(
    "type_id, config",
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
    ("core.interrupt", {**DEFAULTED, "defaultValue": None}),
    ("core.interrupt", {"kind": "external-event", "data": EVENT, "timeoutMs": 60_000}),
    ("core.interrupt", {"kind": "external-event", "data": {**EVENT, "correlation": {"orderId": 1}}}),
    ("core.interrupt", {"kind": "low-confidence", "data": {**UNSURE, "decision": {"next": "a"}}}),
    ("core.interrupt", {"kind": "approval", "data": {**DECISION, "audience": {"groups": ["a"]}, "own": 1}}),
    ("core.interrupt", {**DEFAULTED, "kind": "clarification", "data": ASKED, "defaultValue": {"answers": {"a": 1}}}),
    ("core.approvalGate", {}),
    ("core.hitl.approval-request", {"actions": ["accept", "reject", "refine", "edit-accept", "ask"]}),
    ("core.chat.approvalGate", {"requiredApprovals": 3, "approversList": [], "rejectionPolicy": "majority"}),
    ("core.approvalGate", {"requiredApprovals": 2, "approversList": ["a", "b"], "timeoutSec": 1}),
    ("core.approvalGate", {"override": True, "overrideBypassesQuorum": True, "remindAfterMs": [1, 2]}),
    ("core.clarificationGate", {}),
    ("core.clarificationGate", {**ASKED, "timeoutMs": 5, "remindAfterMs": [1, 4], "defaultAnswers": {"a": 0}}),
    ("core.conversationGate", {}),
    ("core.conversationGate", {"prompts": ["a", "b"]}),
    ("core.conversationGate", {"outcomeSchema": {"type": "string"}, "mockAutoResume": True, "turnCount": 100}),
    ("core.subWorkflow", {"workflowId": "x"}),
    ("core.subWorkflow", {"workflowId": "x", "waitForCompletion": False, "outputMapping": {}, "inputMapping": {}}),
    ("core.flow.map", {"body": {"workflowId": "x", "inputs": {}, "output": "y"}, "concurrency": 1_000}),
    ("core.flow.map", {"body": {**BODY, "inputs": {}}}),
    ("core.flow.map", {"body": {**BODY, "inputs": {"a": {"type": "static", "value": None}}}, "items": []}),
)
def test_a_config_is_taken(type_id: str, config: dict[str, Any]) -> None:
    assert check_config(TYPES[type_id].declaration, config, "") == []


def test_more_items_than_a_list_may_have_are_refused() -> None:
    inputs = TYPES["core.flow.map"].declaration.inputs
    assert schema.check_inline(inputs, {"items": [0] * 100_000}, "") == []
    (found,) = schema.check_inline(inputs, {"items": [0] * 100_001}, "")
    assert (found.pointer, found.rule) == ("/items", "maxItems")
