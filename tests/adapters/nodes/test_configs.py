"""What a definition may not say about a built-in node: refused with the place and the rule."""

from typing import Any

import pytest

from tests.adapters.nodes.fake_context import TYPES
from weftwork.adapters.nodes.flow.map import EXCLUDED_BODIES
from weftwork.protocol.json import schema
from weftwork.protocol.workflow.node_config import check_config

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

REFUSED: list[tuple[str, dict[str, Any], str, str]] = [
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
]


@pytest.mark.parametrize(("type_id", "config", "pointer", "rule"), REFUSED)
def test_a_config_is_refused_at_its_place(type_id: str, config: dict[str, Any], pointer: str, rule: str) -> None:
    found = check_config(TYPES[type_id].declaration, config, "/config")
    assert [(each.pointer, each.rule) for each in found] == [(f"/config{pointer}", rule)]


def test_a_body_that_starts_runs_is_told_how_that_is_said() -> None:
    config = {"body": {"typeId": "core.subWorkflow", "config": {"workflowId": "x"}}}
    (found,) = check_config(TYPES["core.flow.map"].declaration, config, "/config")
    assert found.message == "cannot be a body; name the workflow itself with body.workflowId"


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
]


@pytest.mark.parametrize(("type_id", "config"), TAKEN)
def test_a_config_is_taken(type_id: str, config: dict[str, Any]) -> None:
    assert check_config(TYPES[type_id].declaration, config, "") == []


def test_more_items_than_a_list_may_have_are_refused() -> None:
    inputs = TYPES["core.flow.map"].declaration.inputs
    assert schema.check_inline(inputs, {"items": [0] * 100_000}, "") == []
    (found,) = schema.check_inline(inputs, {"items": [0] * 100_001}, "")
    assert (found.pointer, found.rule) == ("/items", "maxItems")
