"""Low-confidence decisions: a person confirms or rejects them before they are carried out."""

from typing import Any, Final

from msgspec import UNSET

from weftwork.adapters.nodes.call_inputs import truncate_utf8
from weftwork.adapters.nodes.people.interrupt_request import default_interrupt_key
from weftwork.ports.node_outcome import EmitEvent, Failed, Suspended
from weftwork.ports.nodes import NodeCall, NodeContext
from weftwork.protocol.run.interrupts import Interrupt
from weftwork.protocol.run.payloads import ConfidenceEscalated
from weftwork.protocol.workflow.orchestration import (
    CONFIDENCE_FLOOR,
    ESCALATION_KIND,
    ratified_decision,
)

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
