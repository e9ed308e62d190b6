"""The node type core.orchestrator.supervisor: decides, tick by tick, what a run does next.

A person confirms or rejects a decision of low confidence before it is carried out."""

from typing import Any, Final

from msgspec import UNSET

from weftwork.adapters.nodes import schemas
from weftwork.adapters.nodes.call_inputs import evaluate, truncate_utf8
from weftwork.adapters.nodes.people.interrupt_request import default_interrupt_key
from weftwork.adapters.nodes.schemas import Schema, waiting_node
from weftwork.ports.node_outcome import Completed, EmitEvent, Failed, NodeOutcome, StepFailed, Suspended
from weftwork.ports.nodes import NodeCall, NodeContext
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.run.interrupts import Interrupt
from weftwork.protocol.run.payloads import ConfidenceEscalated, OrchestratorDecided
from weftwork.protocol.workflow.orchestration import (
    CONFIDENCE_FLOOR,
    DEFAULT_ESCALATION_THRESHOLD,
    ESCALATION_KIND,
    HOST_SUPERVISOR,
    SUPERVISOR,
    check_decision,
    decision_schema,
    escalation_threshold,
    orchestrator_id,
    ratification_schema,
    ratified_decision,
)

MAX_PLAN: Final = 1_000
PLAN_EXHAUSTED: Final = {"kind": "terminate", "reason": "plan-exhausted"}
MOCK_PLAN: Final = [{"kind": "next-worker", "nextWorkerIds": ["conformance-noop"]}]
PLAN_MEMBERS: Final = ("plan", "mockDispatchPlan", "mockDecisions")
DECISION_MEMBERS: Final = ("decision", *PLAN_MEMBERS, "mockPendingDecision")
MAX_QUESTION_BYTES: Final = 8_192
PROCEED: Final = "proceed"
STOP: Final = "stop"
DECISION_REFUSED: Final = Failed(
    "interrupt_rejected", "A person refused the decision.", {"reason": "rejected"}, retryable=False
)


async def ratify_decision(
    call: NodeCall,
    context: NodeContext,
    agent_id: str,
    doubt: tuple[float, float],
    decision: Any,
    resume_schema: dict[str, Any] | None = None,
    said: tuple[EmitEvent, ...] = (),
) -> Any:
    """orch-03 (OpenWOP interrupt, low-confidence): the decision that a person lets pass; or Failed, or Suspended.

    doubt: the confidence, and the threshold that it is below. said: along with the question.
    """
    observed, least = doubt
    data = {"agentId": agent_id, "threshold": least, "observed": observed, "decision": decision}
    asked = Interrupt("low-confidence", f"{default_interrupt_key(call)}:confidence", data, resume_schema)
    if asked.key not in call.answers:
        return Suspended(asked, said)
    found = ratified_decision((await context.ask(asked)).value, decision)
    return DECISION_REFUSED if found is None else found


def is_below_floor(decision: dict[str, Any]) -> bool:
    """orch-06 (RFC 0039 A): whether the decision says that it is less sure than it may be. No word of it is none."""
    return decision.get("confidence", CONFIDENCE_FLOOR) < CONFIDENCE_FLOOR


async def confirm_low_confidence(
    call: NodeCall, context: NodeContext, decision: dict[str, Any], cause: str | None
) -> Failed | Suspended | None:
    """orch-06 (RFC 0039 A): None once a person has said to go on with a decision below the floor."""
    workers: list[str] = decision.get("nextWorkerIds", [])
    what = f"run {', '.join(workers)}" if workers else "end the work"
    text = f"The supervisor wants to {what}, with a confidence of {decision['confidence']:g}. Go on?"
    schema = {"type": "string", "enum": [PROCEED, STOP]}
    question = {"id": "proceed", "question": truncate_utf8(text, MAX_QUESTION_BYTES), "schema": schema}
    asked = Interrupt(ESCALATION_KIND, f"{default_interrupt_key(call)}:floor", {"questions": [question]})
    if asked.key not in call.answers:
        return Suspended(asked, (EmitEvent.of(_escalation(call, decision), cause),))
    resolution = await context.ask(asked)
    # appr-05: a gate, though it has the form of a question; nothing from outside opens it.
    return None if resolution.value["answers"]["proceed"] == PROCEED and not resolution.untrusted else DECISION_REFUSED


def _escalation(call: NodeCall, decision: dict[str, Any]) -> ConfidenceEscalated:
    # A decision that ends the work names no worker.
    worker_id = decision["nextWorkerIds"][0] if "nextWorkerIds" in decision else UNSET
    return ConfidenceEscalated(decision["confidence"], CONFIDENCE_FLOOR, "clarify", call.run_id, decision, worker_id)


def _check(config: dict[str, Any]) -> list[Violation]:
    found = [member for member in DECISION_MEMBERS if member in config]
    return [Violation(f"/{member}", "not", f"only one of {found[0]} and {member} may be there") for member in found[1:]]


def _plan_schema(description: str) -> Schema:
    return schemas.typed("array", description, maxItems=MAX_PLAN, items=decision_schema())


@waiting_node(
    SUPERVISOR,
    "Decides what a run does next: which workers, a question, or the end.",
    role="supervisor",
    untainted_outputs=("kind", "iteration"),
    inputs=schemas.port_schema(decision=schemas.any_value("The decision; wins over the config.")),
    outputs=schemas.fixed_ports(
        decision=schemas.typed("object", "The decision."),
        kind=schemas.typed("string", "Its kind: `next-worker`, `ask-user` or `terminate`."),
        iteration=schemas.typed("integer", "The number of the tick, from 0 on."),
    ),
    config=schemas.closed_object(
        plan=_plan_schema("The decisions, one for each tick."),
        decision=schemas.expression_string("Gives the decision of each tick. `iteration` counts from 0."),
        confidence=schemas.expression_string(
            "Gives how sure that decision is, from 0 to 1; it knows it as `decision`."
        ),
        mockDispatchPlan=_plan_schema("The same as `plan`, in published workflows."),
        mockDecisions=_plan_schema("The same as `plan`, in published workflows."),
        mockPendingDecision={
            **decision_schema(),
            "description": "The same as a `plan` of one decision, in published workflows.",
        },
        mockConfidence=schemas.typed(
            "number", "How sure each decision of the plan is, in published workflows.", minimum=0, maximum=1
        ),
    ),
    expressions={"/decision": ("iteration",), "/confidence": ("iteration", "decision")},
    check_config=_check,
    notes=f"""
Each time that the run comes to this node is one tick: one decision, which becomes the event `runOrchestrator.decided`.
A [core.dispatch](core.dispatch.md) behind it carries the decision out, and an edge back from there makes the next tick.
After `terminate` the dispatch is skipped, so the loop ends, and with nothing else to do the run completes. How many
ticks there may be is said by `limits.maxLoopIterations` of the host and `maxLoopIterations` of the run.

A decision is one of these, and has no other members:

- `{{"kind": "next-worker", "nextWorkerIds": [...]}}`: run these workflows; maybe with a `confidence` from 0 to 1.
- `{{"kind": "ask-user", "prompt": "..."}}`: ask a person.
- `{{"kind": "terminate"}}`: the work is over; maybe with a `reason`, a `confidence` and `successCriteria`.

It comes from the port `decision`, which a node before this one fills, or from one member of the config: the expression
`decision`, or the `plan`. After the last decision of a plan the supervisor terminates. With none of them it runs
`conformance-noop` once. What is no decision fails the node with `decision_invalid`. How a node in Python decides, and
how answers come back, is shown in [A supervisor of your own](../../how-to/write-a-supervisor.md).

If `confidence` gives a number below {DEFAULT_ESCALATION_THRESHOLD:g}, or below `escalationThreshold` of the run's
`configurable`, nothing is decided yet: the run waits for a person, who is shown the decision. An answer is that
decision or another one, or `{{"action": "accept"}}`; `{{"action": "reject"}}` fails the node with
`interrupt_rejected`. A `terminate` whose own `confidence` is below the floor is asked about as
[core.dispatch](core.dispatch.md) asks.

The supervisor is known by the `agent` of its node, else as `{HOST_SUPERVISOR}`. A run has one orchestrator: several
supervisors of a workflow need the same `agentId`, or the workflow is refused.
""",
    example_config={
        "decision": (
            "variables.state == 'new' ? {'kind': 'next-worker', 'nextWorkerIds': ['search']}"
            " : {'kind': 'terminate', 'reason': 'goal-reached'}"
        )
    },
)
async def supervisor(call: NodeCall, context: NodeContext) -> NodeOutcome:
    """orch-02 (RFC 0006): each tick decides once, before the node completes, or not at all."""
    agent_id = orchestrator_id(call.agent)
    decision = _check_decision(_next_decision(call))
    confidence = _confidence(call, decision)
    least = escalation_threshold(call.configurable)
    if confidence is not None and confidence < least:
        decision = await ratify_decision(call, context, agent_id, (confidence, least), decision, ratification_schema())
        if isinstance(decision, Failed | Suspended):
            return decision
        _check_decision(decision)
    if decision["kind"] == "terminate" and is_below_floor(decision):
        # Nothing comes after it that could ask.
        refused = await confirm_low_confidence(call, context, decision, None)
        if refused is not None:
            return refused
    decided = EmitEvent.of(OrchestratorDecided(agent_id, decision), event_id=context.new_event_id())
    outputs = {"decision": decision, "kind": decision["kind"], "iteration": call.visit}
    return Completed(outputs, (decided,))


def _next_decision(call: NodeCall) -> Any:
    """What is about to be decided. Raises ExpressionFault."""
    config, tick = call.config, call.visit
    if "decision" in call.inputs:
        return call.inputs["decision"]
    if "decision" in config:
        return evaluate(call, config["decision"], iteration=tick)
    plan: list[Any] = next((config[member] for member in PLAN_MEMBERS if member in config), MOCK_PLAN)
    if "mockPendingDecision" in config:
        plan = [config["mockPendingDecision"]]
    return plan[tick] if tick < len(plan) else PLAN_EXHAUSTED


def _confidence(call: NodeCall, decision: dict[str, Any]) -> float | None:
    """orch-03 (OpenWOP interrupt, low-confidence): how sure it is, if it says so. Raises ExpressionFault."""
    config = call.config
    found: Any = None
    if "confidence" in config:
        found = evaluate(call, config["confidence"], iteration=call.visit, decision=decision)
    elif decision is not PLAN_EXHAUSTED:
        found = config.get("mockConfidence")
    sound = isinstance(found, int | float) and not isinstance(found, bool) and 0 <= found <= 1
    return found if sound else None


def _check_decision(decision: Any) -> dict[str, Any]:
    """The same decision. Raises StepFailed if it is none."""
    if not (wrong := check_decision(decision)):
        return decision
    message = f"What was decided is no decision: the value at the pointer {wrong[0].message}."
    raise StepFailed(Failed("decision_invalid", message, {"pointer": wrong[0].pointer}, retryable=False))
