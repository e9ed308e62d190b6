"""The node type core.orchestrator.supervisor: decides in each round what a run does next.

A person confirms or rejects a decision of low confidence before it is carried out.
"""

from functools import partial
from typing import Any, Final

from msgspec import UNSET

from weftwork.adapters.nodes import schemas
from weftwork.adapters.nodes.call_inputs import evaluate, truncate_utf8
from weftwork.adapters.nodes.people.interrupt_request import default_interrupt_key
from weftwork.adapters.nodes.schemas import Schema, waiting_node
from weftwork.ports.node_outcome import (
    UNTRUSTED_ANSWER,
    Completed,
    EmitEvent,
    Failed,
    NodeOutcome,
    StepFailed,
    Suspended,
)
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
    events: tuple[EmitEvent, ...] = (),
) -> Any:
    """orch-03 (OpenWOP interrupt, low-confidence): the decision that a person has accepted; or Failed, or Suspended.

    `doubt`: the confidence, and the threshold above it. `events`: emitted with the request of the interrupt.
    """
    observed, threshold = doubt
    data = {"agentId": agent_id, "threshold": threshold, "observed": observed, "decision": decision}
    interrupt = Interrupt("low-confidence", f"{default_interrupt_key(call)}:confidence", data, resume_schema)
    if interrupt.key not in call.answers:
        return Suspended(interrupt, events)
    ratified = ratified_decision((await context.ask(interrupt)).value, decision)
    return DECISION_REFUSED if ratified is None else ratified


def is_below_floor(decision: dict[str, Any]) -> bool:
    """orch-06 (RFC 0039 A): whether the confidence of the decision is below the floor. No confidence means no."""
    return decision.get("confidence", CONFIDENCE_FLOOR) < CONFIDENCE_FLOOR


async def confirm_low_confidence(
    call: NodeCall, context: NodeContext, decision: dict[str, Any], cause: str | None
) -> Failed | Suspended | None:
    """orch-06 (RFC 0039 A): None once a person has confirmed a decision below the floor."""
    workers: list[str] = decision.get("nextWorkerIds", [])
    action = f"run {', '.join(workers)}" if workers else "end the work"
    text = f"The supervisor wants to {action}, with a confidence of {decision['confidence']:g}. Proceed?"
    schema = {"type": "string", "enum": [PROCEED, STOP]}
    question = {"id": "proceed", "question": truncate_utf8(text, MAX_QUESTION_BYTES), "schema": schema}
    interrupt = Interrupt(ESCALATION_KIND, f"{default_interrupt_key(call)}:floor", {"questions": [question]})
    if interrupt.key not in call.answers:
        return Suspended(interrupt, (EmitEvent.of(_escalation(call, decision), cause),))
    resolution = await context.ask(interrupt)
    if resolution.untrusted:
        # appr-05: this clarification is an approval in effect, so an untrusted answer must not confirm it.
        return UNTRUSTED_ANSWER
    return None if resolution.value["answers"]["proceed"] == PROCEED else DECISION_REFUSED


def _escalation(call: NodeCall, decision: dict[str, Any]) -> ConfidenceEscalated:
    # A `terminate` decision has no workers.
    worker_id = decision["nextWorkerIds"][0] if "nextWorkerIds" in decision else UNSET
    return ConfidenceEscalated(decision["confidence"], CONFIDENCE_FLOOR, "clarify", call.run_id, decision, worker_id)


def _check(config: dict[str, Any]) -> list[Violation]:
    present = [member for member in DECISION_MEMBERS if member in config]
    return [Violation(f"/{member}", "not", f"cannot be combined with {present[0]}") for member in present[1:]]


def _plan_schema(description: str) -> Schema:
    return schemas.typed("array", description, maxItems=MAX_PLAN, items=decision_schema())


@waiting_node(
    SUPERVISOR,
    "Decides what a run does next: run workers, ask a person, or end.",
    role="supervisor",
    untainted_outputs=("kind", "iteration"),
    inputs=schemas.port_schema(decision=schemas.any_value("The decision. Overrides the config.")),
    outputs=schemas.fixed_ports(
        decision=schemas.typed("object", "The decision."),
        kind=schemas.typed("string", "The kind of the decision: `next-worker`, `ask-user` or `terminate`."),
        iteration=schemas.typed("integer", "The number of the round, counted from 0."),
    ),
    config=schemas.closed_object(
        plan=_plan_schema("A fixed plan: one decision for each round."),
        decision=schemas.expression_string(
            "An expression for the decision of each round. `iteration` is the number of the round, counted from 0."
        ),
        confidence=schemas.expression_string(
            "An expression for the confidence of the decision, from 0 to 1. It can use `decision` and `iteration`."
        ),
        mockDispatchPlan=_plan_schema("The name of `plan` in some published workflows."),
        mockDecisions=_plan_schema("The name of `plan` in some published workflows."),
        mockPendingDecision={
            **decision_schema(),
            "description": "A plan of one decision, as in some published workflows.",
        },
        mockConfidence=schemas.typed(
            "number",
            "The confidence of each decision of the plan, as in some published workflows.",
            minimum=0,
            maximum=1,
        ),
    ),
    expressions={"/decision": ("iteration",), "/confidence": ("iteration", "decision")},
    check_config=_check,
    notes=f"""
Each execution of this node is one round and makes one decision, which is recorded as the event
`runOrchestrator.decided`. A [core.dispatch](core.dispatch.md) after the supervisor carries the decision out, and an
edge back from there begins the next round. After a `terminate` decision the dispatch is skipped, so the loop ends. The
number of rounds is limited by `limits.maxLoopIterations` of the host and `maxLoopIterations` of the run.

A decision has one of these forms:

| decision | meaning | optional members |
|---|---|---|
| `{{"kind": "next-worker", "nextWorkerIds": [...]}}` | run these workflows | `confidence` from 0 to 1 |
| `{{"kind": "ask-user", "prompt": "..."}}` | ask a person | |
| `{{"kind": "terminate"}}` | end | `reason`, `confidence`, `successCriteria` |

The decision comes from the input `decision`, which an earlier node sets, or from one config member: the expression
`decision`, or the `plan`. After the last decision of a plan, the supervisor terminates. Without any of them it runs the
workflow `conformance-noop` once. If the value is not a valid decision, the node fails with `decision_invalid`.
[Write a supervisor](../../how-to/write-a-supervisor.md) shows how a Python node decides, and how answers get back to
the supervisor.

If the value of `confidence` is below {DEFAULT_ESCALATION_THRESHOLD:g}, or below `escalationThreshold` in `configurable`
of the run, the run requests an interrupt that shows the decision to a person. The person answers with
`{{"action": "accept"}}`, with the same or another decision, or with `{{"action": "reject"}}`, which fails the node with
`interrupt_rejected`. A `terminate` decision whose own member `confidence` is below {CONFIDENCE_FLOOR:g} is confirmed by
a person as in [core.dispatch](core.dispatch.md).

The agent id of the supervisor is the `agent` of its node, or `{HOST_SUPERVISOR}`. A run has one orchestrator: if a
workflow has several supervisors with different agent ids, the host refuses it.
""",
    example_config={
        "decision": (
            "variables.state == 'new' ? {'kind': 'next-worker', 'nextWorkerIds': ['search']}"
            " : {'kind': 'terminate', 'reason': 'goal-reached'}"
        )
    },
)
async def supervisor(call: NodeCall, context: NodeContext) -> NodeOutcome:
    """orch-02 (RFC 0006): each round makes at most one decision, before the node completes."""
    agent_id = orchestrator_id(call.agent)
    decision = _check_decision(await context.compute(partial(_next_decision, call)))
    confidence = await context.compute(partial(_confidence, call, decision))
    threshold = escalation_threshold(call.configurable)
    if confidence is not None and confidence < threshold:
        doubt = (confidence, threshold)
        decision = await ratify_decision(call, context, agent_id, doubt, decision, ratification_schema())
        if isinstance(decision, Failed | Suspended):
            return decision
        _check_decision(decision)
    if decision["kind"] == "terminate" and is_below_floor(decision):
        # The dispatch, which confirms other decisions, is skipped after `terminate`.
        refused = await confirm_low_confidence(call, context, decision, None)
        if refused is not None:
            return refused
    decided = EmitEvent.of(OrchestratorDecided(agent_id, decision), event_id=context.new_event_id())
    outputs = {"decision": decision, "kind": decision["kind"], "iteration": call.visit}
    return Completed(outputs, (decided,))


def _next_decision(call: NodeCall) -> Any:
    """The decision of this round, not yet validated. Raises ExpressionFault."""
    config, iteration = call.config, call.visit
    if "decision" in call.inputs:
        return call.inputs["decision"]
    if "decision" in config:
        return evaluate(call, config["decision"], iteration=iteration)
    plan: list[Any] = next((config[member] for member in PLAN_MEMBERS if member in config), MOCK_PLAN)
    if "mockPendingDecision" in config:
        plan = [config["mockPendingDecision"]]
    return plan[iteration] if iteration < len(plan) else PLAN_EXHAUSTED


def _confidence(call: NodeCall, decision: dict[str, Any]) -> float | None:
    """orch-03 (OpenWOP interrupt, low-confidence): a valid confidence, or None. Raises ExpressionFault."""
    config = call.config
    confidence: Any = None
    if "confidence" in config:
        confidence = evaluate(call, config["confidence"], iteration=call.visit, decision=decision)
    elif decision is not PLAN_EXHAUSTED:
        confidence = config.get("mockConfidence")
    is_number = isinstance(confidence, int | float) and not isinstance(confidence, bool)
    return confidence if is_number and 0 <= confidence <= 1 else None


def _check_decision(decision: Any) -> dict[str, Any]:
    """Return the decision. Raises StepFailed if it is invalid."""
    if not (violations := check_decision(decision)):
        return decision
    first = violations[0]
    message = f"The decision is invalid: the value at the pointer {first.message}."
    raise StepFailed(Failed("decision_invalid", message, {"pointer": first.pointer}, retryable=False))
