"""core.conformance.mock-agent on its own: what it emits, in order, and when it waits for a person."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.adapters.nodes.fake_context import TYPES, FakeScope, node_call, run_node
from tests.adapters.nodes.runs.fake_runs import DispatchContext
from weftwork.ports.node_outcome import Completed, EmitEvent, Failed, InterruptPending, NodeOutcome, Suspended
from weftwork.protocol.json import schema
from weftwork.protocol.run.interrupts import Resolution
from weftwork.protocol.workflow.node_config import check_config
from weftwork.protocol.workflow.orchestration import MOCK_AGENT
from weftwork.wiring.node_types import builtin_node_types

AGENT = {"agentId": "core.lead", "modelClass": "reasoning"}
TOOL = {"toolId": "shop:find", "arguments": {"q": 1}, "result": [1], "durationMs": 3}
ERROR = {"toolId": "shop:buy", "error": {"error": "busy", "message": "Later.", "details": {"in": 3}}}


def act(
    config: dict[str, Any], agent: Any = AGENT, answer: Any = None, **configurable: Any
) -> tuple[NodeOutcome, list[Any]]:
    """What it comes to, and every event in order."""
    host = DispatchContext(FakeScope())
    host.resolved = {} if answer is None else {"node:confidence": Resolution(answer)}
    given = replace(node_call(config), agent=agent, configurable=configurable, answers=host.resolved)
    found: NodeOutcome
    try:
        found = run_node(MOCK_AGENT, given, host)
    except InterruptPending as asking:
        found = Suspended(asking.interrupt)
    events = [*host.said, *(found.effects if isinstance(found, Completed | Suspended) else ())]
    for each in events:
        assert isinstance(each, EmitEvent)
        assert schema.check_payload(each.type, each.payload) == []
        assert each.payload.get("agentId")
    return found, events


def kinds(events: list[EmitEvent]) -> list[str]:
    return [each.type.removeprefix("agent.") for each in events]


@pytest.mark.rule("agent-02")
def test_everything_comes_in_order() -> None:
    config = {
        "mockDecision": {"decision": {"next": "done"}, "confidence": 1, "reasoning": "It is enough."},
        "mockHandoff": {"toAgentId": "core.clerk", "reason": "done", "context": [1]},
        "mockToolCalls": [TOOL, ERROR],
        "mockReasoning": {"summary": "Looked.", "trace": "Looked at all.", "tokenCount": 4},
    }
    found, events = act(config)
    assert found == Completed({"decision": {"next": "done"}}, tuple(events))
    called = ["toolCalled", "toolReturned"]
    assert kinds(events) == ["reasoned", *called, *called, "handoff", "decided"]
    handoff, decided = events[-2].payload, events[-1].payload
    assert (handoff["fromAgentId"], handoff["toAgentId"], handoff["context"]) == ("core.lead", "core.clerk", [1])
    assert (handoff["from"], handoff["to"]) == (AGENT, {"agentId": "core.clerk"})
    assert decided == {"agentId": "core.lead", **config["mockDecision"]}
    assert {each.payload["agentId"] for each in events} == {"core.lead"}
    assert act({}) == (Completed({}), [])


@pytest.mark.rule("agent-04")
def test_a_tool_call_and_its_return_belong_together() -> None:
    _, events = act({"mockToolCalls": [TOOL, ERROR]})
    called, returned, _, failed = events
    assert returned.causation_id == called.event_id == "event"
    ids = [each.payload["callId"] for each in events]
    assert ids == ["node:0", "node:0", "node:1", "node:1"]
    assert called.payload["toolName"] == called.payload["toolId"] == "shop:find"
    assert (called.payload["arguments"], called.payload["inputs"]) == ({"q": 1}, {"q": 1})
    assert (returned.payload["status"], returned.payload["result"], returned.payload["outcome"]) == ("ok", [1], [1])
    assert returned.payload["durationMs"] == 3
    assert failed.payload["error"] == {"code": "busy", "message": "Later.", "details": {"in": 3}}
    assert not {"result", "outcome"} & failed.payload.keys()


@pytest.mark.rule("agent-03")
def test_reasoning_in_pieces_is_the_whole() -> None:
    chunks = ["One. ", "Two. ", "Three."]
    _, events = act({"mockReasoning": {"summary": "Counted.", "streamChunks": chunks}})
    assert kinds(events) == ["reasoning.delta"] * 3 + ["reasoned"]
    assert [(each.payload["sequence"], each.payload["delta"]) for each in events[:3]] == list(enumerate(chunks))
    assert (events[3].payload["reasoning"], events[3].payload["summary"]) == ("One. Two. Three.", "Counted.")


@pytest.mark.rule("agent-05")
def test_a_run_says_how_much_is_told_of_the_reasoning() -> None:
    config = {"mockReasoning": {"summary": "Short.", "trace": "Long."}}
    for given, told in (
        ({}, "Short."),
        ({"reasoningVerbosity": "full"}, "Long."),
        ({"reasoningVerbosity": 7}, "Short."),
    ):
        _, (event,) = act(config, **given)
        assert event.payload["reasoning"] == told
        assert ("trace" in event.payload) is (told == "Long.")
    assert act(config, reasoningVerbosity="off")[1] == []
    assert act({"mockReasoning": False})[1] == []
    _, (stub,) = act({"mockReasoning": True})
    assert stub.payload["reasoning"]


def test_who_speaks() -> None:
    for config, agent, name in (
        ({"agentId": "own"}, AGENT, "own"),
        ({}, AGENT, "core.lead"),
        ({}, None, "host:mock-agent:node"),
    ):
        _, (event,) = act({**config, "mockReasoning": True}, agent)
        assert event.payload["agentId"] == name


@pytest.mark.rule("agent-02")
def test_a_decision_of_low_confidence_is_told_and_waits() -> None:
    config = {"mockReasoning": True, "mockDecision": {"decision": "left", "confidence": 0.5}}
    found, events = act(config)
    assert isinstance(found, Suspended)
    assert kinds(events) == ["reasoned", "decided"]
    asked = found.interrupt
    assert (asked.kind, asked.resume_schema) == ("low-confidence", None)
    assert asked.data == {"agentId": "core.lead", "threshold": 0.7, "observed": 0.5, "decision": "left"}
    assert act(config, answer="right") == (Completed({"decision": "right"}), [])
    assert act(config, answer={"action": "accept"}) == (Completed({"decision": "left"}), [])
    refused, said = act(config, answer={"action": "reject"})
    assert isinstance(refused, Failed)
    assert (refused.code, said) == ("interrupt_rejected", [])
    for sure in (act(config, escalationThreshold=0.5), act({"mockConfidence": 0.7})):
        assert isinstance(sure[0], Completed)
    assert isinstance(act({"mockConfidence": 0.69})[0], Suspended)


def test_a_tool_either_returns_or_fails() -> None:
    declaration = TYPES[MOCK_AGENT].declaration
    for tool in ({"toolId": "x"}, {**TOOL, "error": ERROR["error"]}):
        (wrong,) = check_config(declaration, {"mockToolCalls": [TOOL, tool]}, "")
        assert (wrong.pointer, wrong.rule) == ("/mockToolCalls/1", "required")


def test_a_host_that_is_not_checked_does_not_have_it() -> None:
    assert MOCK_AGENT not in builtin_node_types(conformance=False)
