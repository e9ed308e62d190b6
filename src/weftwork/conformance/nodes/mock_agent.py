"""The node type core.conformance.mock-agent: emits the agent events that its config describes. For conformance
tests."""

from typing import Any, Final

from weftwork.adapters.nodes.people.interrupt_request import default_interrupt_key
from weftwork.adapters.nodes.runs.supervisor import ratify_decision
from weftwork.adapters.nodes.schemas import any_value, closed_object, fixed_ports, typed, waiting_node
from weftwork.ports.node_outcome import Completed, EmitEvent, Failed, NodeOutcome, Suspended
from weftwork.ports.nodes import NodeCall, NodeContext
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.json.values import is_object
from weftwork.protocol.workflow.orchestration import MOCK_AGENT, escalation_threshold
from weftwork.protocol.workflow.run_options import reasoning_verbosity

SUMMARY: Final = "The mock agent has considered the request."
MAX_ITEMS: Final = 1_000
_AGENT_ID_SCHEMA: Final = {"type": "string", "minLength": 3, "maxLength": 256}
_RATIO_SCHEMA: Final = {"type": "number", "minimum": 0, "maximum": 1}


def _check(config: dict[str, Any]) -> list[Violation]:
    violations: list[Violation] = []
    for index, tool in enumerate(config.get("mockToolCalls", ())):
        if ("result" in tool) is ("error" in tool):
            violations.append(Violation(f"/mockToolCalls/{index}", "required", "must have either a result or an error"))
    return violations


@waiting_node(
    MOCK_AGENT,
    "Emits the events of an agent from its config.",
    outputs=fixed_ports(decision=any_value("The decision; if a person had to confirm it, the confirmed decision.")),
    config=closed_object(
        agentId={
            **_AGENT_ID_SCHEMA,
            "description": "Id of the agent. Defaults to the agent of the node, or to a generated id.",
        },
        mockReasoning={
            "description": "The reasoning; true for a fixed text.",
            "anyOf": [
                {"type": "boolean"},
                closed_object(
                    "summary",
                    summary=typed("string", "Summary of the reasoning."),
                    trace=typed("string", "Full text of the reasoning."),
                    tokenCount=typed("integer", "Number of tokens of the reasoning.", minimum=0),
                    streamChunks=typed(
                        "array",
                        "Chunks of the reasoning, each emitted as one delta.",
                        maxItems=MAX_ITEMS,
                        items={"type": "string"},
                    ),
                ),
            ],
        },
        mockToolCalls={
            "type": "array",
            "maxItems": MAX_ITEMS,
            "description": "Tool calls, each with a result or an error.",
            "items": closed_object(
                "toolId",
                toolId=typed("string", "Id of the tool.", minLength=1),
                arguments=any_value("Arguments of the call."),
                result=any_value("Result of the call."),
                error={
                    **closed_object(
                        "error",
                        "message",
                        error=typed("string", "Error code.", minLength=1),
                        message=typed("string", "Error message.", minLength=1),
                        details=typed("object", "Error details."),
                    ),
                    "description": "Error of the call.",
                },
                durationMs=typed("integer", "Duration of the call in milliseconds.", minimum=0),
            ),
        },
        mockHandoff={
            **closed_object(
                "toAgentId",
                toAgentId={**_AGENT_ID_SCHEMA, "description": "Id of the agent that takes over."},
                reason=typed("string", "Reason for the handoff."),
                context=any_value("Data for the next agent."),
            ),
            "description": "A handoff to another agent.",
        },
        mockDecision={
            **closed_object(
                "decision",
                decision=any_value("The decision."),
                confidence={**_RATIO_SCHEMA, "description": "Confidence of the decision."},
                reasoning=typed("string", "Reason for the decision."),
            ),
            "description": "The decision of the agent.",
        },
        mockConfidence={**_RATIO_SCHEMA, "description": "Confidence of a fixed decision, without mockDecision."},
    ),
    check_config=_check,
    notes="""
Only a host with `--conformance` has this type. It emits `agent.reasoning.delta`, `agent.reasoned`, pairs of
`agent.toolCalled` and `agent.toolReturned`, `agent.handoff` and `agent.decided`, in this order, for the members that
its config has. `reasoningVerbosity` in the run's `configurable` selects how much of the reasoning is recorded:
`summary`, `full` or `off`.

A decision whose confidence is below 0.7, or below `escalationThreshold` of the run's `configurable`, waits for a
person, as with [core.orchestrator.supervisor](core.orchestrator.supervisor.md).
""",
    example_config={"mockReasoning": True, "mockDecision": {"decision": {"next": "done"}, "confidence": 0.9}},
)
async def mock_agent(call: NodeCall, context: NodeContext) -> NodeOutcome:
    """agent-02 (RFC 0023 B): emit the configured reasoning, tool calls, handoff and decision, in this order."""
    config = call.config
    agent: dict[str, Any] = {**(call.agent or {})}
    agent_id: str = config.get("agentId") or agent.get("agentId") or f"host:mock-agent:{call.node_id}"
    mock = _mock_decision(config)
    events = tuple(_events(call, context, agent_id, mock))
    if mock is None:
        return Completed({}, events)
    threshold = escalation_threshold(call.configurable)
    confidence: float = mock.get("confidence", threshold)
    if confidence >= threshold:
        return Completed({"decision": mock["decision"]}, events)
    ratified = await ratify_decision(call, context, agent_id, (confidence, threshold), mock["decision"], events=events)
    return ratified if isinstance(ratified, Failed | Suspended) else Completed({"decision": ratified})


def _mock_decision(config: dict[str, Any]) -> dict[str, Any] | None:
    if "mockDecision" in config:
        return config["mockDecision"]
    if "mockConfidence" in config:
        return {"decision": {"kind": "mock"}, "confidence": config["mockConfidence"]}
    return None


def _events(call: NodeCall, context: NodeContext, agent_id: str, mock: dict[str, Any] | None) -> list[EmitEvent]:
    config = call.config
    events = _reasoning(config.get("mockReasoning"), agent_id, reasoning_verbosity(call.configurable))
    for number, tool in enumerate(config.get("mockToolCalls", ())):
        events += _tool_call(tool, agent_id, f"{default_interrupt_key(call)}:{number}", context.new_event_id())
    if "mockHandoff" in config:
        to = config["mockHandoff"]["toAgentId"]
        ids = {"fromAgentId": agent_id, "toAgentId": to, "agentId": agent_id}
        refs = {"from": {**(call.agent or {}), "agentId": agent_id}, "to": {"agentId": to}}
        events.append(EmitEvent("agent.handoff", {**ids, **refs, **_pick(config["mockHandoff"], "reason", "context")}))
    if mock is not None:
        events.append(EmitEvent("agent.decided", {"agentId": agent_id, **mock}))
    return events


def _reasoning(config: Any, agent_id: str, mode: str) -> list[EmitEvent]:
    """agent-03 (RFC 0024): deltas, numbered from 0, then the complete reasoning, both limited by the run's
    verbosity."""
    if config is None or config is False or mode == "off":
        return []
    common = {"agentId": agent_id, "verbosity": mode}
    details: dict[str, Any] = config if is_object(config) else {"summary": SUMMARY}
    chunks: list[str] = details.get("streamChunks", [])
    text = details.get("trace", details["summary"]) if mode == "full" else details["summary"]
    members = {"summary": details["summary"], **_pick(details, "tokenCount")}
    if mode == "full":
        members |= _pick(details, "trace")
    deltas = [
        EmitEvent("agent.reasoning.delta", {**common, "delta": chunk, "sequence": number})
        for number, chunk in enumerate(chunks)
    ]
    return [*deltas, EmitEvent("agent.reasoned", {**common, "reasoning": "".join(chunks) or text, **members})]


def _tool_call(tool: dict[str, Any], agent_id: str, call_id: str, event_id: str) -> list[EmitEvent]:
    """agent-04 (RFC 0002 B): a call event and its return event share a call id, and the return is caused by the
    call."""
    common = {"agentId": agent_id, "toolName": tool["toolId"], "toolId": tool["toolId"], "callId": call_id}
    arguments = {"inputs": tool["arguments"], "arguments": tool["arguments"]} if "arguments" in tool else {}
    called = {**common, **arguments}
    returned: dict[str, Any] = {**common, **_pick(tool, "durationMs")}
    if "error" in tool:
        error = tool["error"]
        returned |= {"status": "error", "error": {"code": error["error"], **_pick(error, "message", "details")}}
    else:
        returned |= {"status": "ok", "outcome": tool["result"], "result": tool["result"]}
    return [
        EmitEvent("agent.toolCalled", called, event_id=event_id),
        EmitEvent("agent.toolReturned", returned, causation_id=event_id),
    ]


def _pick(document: dict[str, Any], *members: str) -> dict[str, Any]:
    return {member: document[member] for member in members if member in document}
