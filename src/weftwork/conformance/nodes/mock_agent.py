"""The node type core.conformance.mock-agent: emits the events of an agent as its config says. For tests of hosts."""

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

SUMMARY: Final = "The mock agent has considered what it was asked."
MAX_ITEMS: Final = 1_000
_AGENT_ID_SCHEMA: Final = {"type": "string", "minLength": 3, "maxLength": 256}
_RATIO_SCHEMA: Final = {"type": "number", "minimum": 0, "maximum": 1}


def _check(config: dict[str, Any]) -> list[Violation]:
    found: list[Violation] = []
    for index, tool in enumerate(config.get("mockToolCalls", ())):
        if ("result" in tool) is ("error" in tool):
            found.append(Violation(f"/mockToolCalls/{index}", "required", "must have either a result or an error"))
    return found


@waiting_node(
    MOCK_AGENT,
    "Says what an agent would say, from its config.",
    outputs=fixed_ports(decision=any_value("The decision, as a person has let it pass if one was asked.")),
    config=closed_object(
        agentId={
            **_AGENT_ID_SCHEMA,
            "description": "Who it is; else the agent of the node, else an id of the host's.",
        },
        mockReasoning={
            "description": "What it thinks: true for a fixed text.",
            "anyOf": [
                {"type": "boolean"},
                closed_object(
                    "summary",
                    summary=typed("string", "In one line."),
                    trace=typed("string", "In full."),
                    tokenCount=typed("integer", "What it took.", minimum=0),
                    streamChunks=typed("array", "Said piece by piece.", maxItems=MAX_ITEMS, items={"type": "string"}),
                ),
            ],
        },
        mockToolCalls={
            "type": "array",
            "maxItems": MAX_ITEMS,
            "description": "The tools that it calls, each with a result or an error.",
            "items": closed_object(
                "toolId",
                toolId=typed("string", "The tool.", minLength=1),
                arguments=any_value("What it is given."),
                result=any_value("What it returns."),
                error={
                    **closed_object(
                        "error",
                        "message",
                        error=typed("string", "Its code.", minLength=1),
                        message=typed("string", "Its text.", minLength=1),
                        details=typed("object", "More about it."),
                    ),
                    "description": "How it fails.",
                },
                durationMs=typed("integer", "How long it took.", minimum=0),
            ),
        },
        mockHandoff={
            **closed_object(
                "toAgentId",
                toAgentId={**_AGENT_ID_SCHEMA, "description": "The agent that goes on."},
                reason=typed("string", "Why."),
                context=any_value("What it is given."),
            ),
            "description": "Hands over to another agent.",
        },
        mockDecision={
            **closed_object(
                "decision",
                decision=any_value("The decision."),
                confidence={**_RATIO_SCHEMA, "description": "How sure it is."},
                reasoning=typed("string", "Why."),
            ),
            "description": "What it decides.",
        },
        mockConfidence={**_RATIO_SCHEMA, "description": "Decides something, and is so sure of it."},
    ),
    check_config=_check,
    notes="""
Only a host with `--conformance` has this type. It emits `agent.reasoning.delta`, `agent.reasoned`, pairs of
`agent.toolCalled` and `agent.toolReturned`, `agent.handoff` and `agent.decided`, in this order, as far as its config
has them. `reasoningVerbosity` of the run's `configurable` says how much is told of the reasoning: `summary`, `full` or
`off`.

A decision whose confidence is below 0.7, or below `escalationThreshold` of the run's `configurable`, waits for a
person, as with [core.orchestrator.supervisor](core.orchestrator.supervisor.md).
""",
    example_config={"mockReasoning": True, "mockDecision": {"decision": {"next": "done"}, "confidence": 0.9}},
)
async def mock_agent(call: NodeCall, context: NodeContext) -> NodeOutcome:
    """agent-02 (RFC 0023 B): reasoning, tool calls, a handoff and a decision, in this order, as the config has them."""
    config = call.config
    agent: dict[str, Any] = {**(call.agent or {})}
    agent_id: str = config.get("agentId") or agent.get("agentId") or f"host:mock-agent:{call.node_id}"
    decided = _mock_decision(config)
    said = tuple(_events(call, context, agent_id, decided))
    if decided is None:
        return Completed({}, said)
    least = escalation_threshold(call.configurable)
    confidence: float = decided.get("confidence", least)
    if confidence >= least:
        return Completed({"decision": decided["decision"]}, said)
    found = await ratify_decision(call, context, agent_id, (confidence, least), decided["decision"], said=said)
    return found if isinstance(found, Failed | Suspended) else Completed({"decision": found})


def _mock_decision(config: dict[str, Any]) -> dict[str, Any] | None:
    if "mockDecision" in config:
        return config["mockDecision"]
    if "mockConfidence" in config:
        return {"decision": {"kind": "mock"}, "confidence": config["mockConfidence"]}
    return None


def _events(call: NodeCall, context: NodeContext, agent_id: str, decided: dict[str, Any] | None) -> list[EmitEvent]:
    config = call.config
    events = _reasoning(config.get("mockReasoning"), agent_id, reasoning_verbosity(call.configurable))
    for number, tool in enumerate(config.get("mockToolCalls", ())):
        events += _tool_call(tool, agent_id, f"{default_interrupt_key(call)}:{number}", context.new_event_id())
    if "mockHandoff" in config:
        to = config["mockHandoff"]["toAgentId"]
        known = {"fromAgentId": agent_id, "toAgentId": to, "agentId": agent_id}
        refs = {"from": {**(call.agent or {}), "agentId": agent_id}, "to": {"agentId": to}}
        events.append(
            EmitEvent("agent.handoff", {**known, **refs, **_pick(config["mockHandoff"], "reason", "context")})
        )
    if decided is not None:
        events.append(EmitEvent("agent.decided", {"agentId": agent_id, **decided}))
    return events


def _reasoning(given: Any, agent_id: str, mode: str) -> list[EmitEvent]:
    """agent-03 (RFC 0024): pieces, numbered from 0, then the whole; of both what the run's verbosity lets through."""
    if given is None or given is False or mode == "off":
        return []
    known = {"agentId": agent_id, "verbosity": mode}
    details: dict[str, Any] = given if is_object(given) else {"summary": SUMMARY}
    chunks: list[str] = details.get("streamChunks", [])
    whole = details.get("trace", details["summary"]) if mode == "full" else details["summary"]
    said = {"summary": details["summary"], **_pick(details, "tokenCount")}
    if mode == "full":
        said |= _pick(details, "trace")
    deltas = [
        EmitEvent("agent.reasoning.delta", {**known, "delta": chunk, "sequence": number})
        for number, chunk in enumerate(chunks)
    ]
    return [*deltas, EmitEvent("agent.reasoned", {**known, "reasoning": "".join(chunks) or whole, **said})]


def _tool_call(tool: dict[str, Any], agent_id: str, call_id: str, event_id: str) -> list[EmitEvent]:
    """agent-04 (RFC 0002 B): a call and its return share an id, and the return points at the call."""
    known = {"agentId": agent_id, "toolName": tool["toolId"], "toolId": tool["toolId"], "callId": call_id}
    given = {"inputs": tool["arguments"], "arguments": tool["arguments"]} if "arguments" in tool else {}
    called = {**known, **given}
    returned: dict[str, Any] = {**known, **_pick(tool, "durationMs")}
    if "error" in tool:
        failed = tool["error"]
        returned |= {"status": "error", "error": {"code": failed["error"], **_pick(failed, "message", "details")}}
    else:
        returned |= {"status": "ok", "outcome": tool["result"], "result": tool["result"]}
    return [
        EmitEvent("agent.toolCalled", called, event_id=event_id),
        EmitEvent("agent.toolReturned", returned, causation_id=event_id),
    ]


def _pick(given: dict[str, Any], *members: str) -> dict[str, Any]:
    return {member: given[member] for member in members if member in given}
