"""Orchestration: what a supervisor may decide, and when its workers have done enough.

Sources: RFC 0006 (supervisor), RFC 0007 and 0022 (dispatch), RFC 0039 A (confidence floor), readings (Fan-out).
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final, Literal

import msgspec

from weftwork.protocol.json import schema
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.json.values import is_object
from weftwork.protocol.workflow.definition import Node

SUPERVISOR: Final = "core.orchestrator.supervisor"
HOST_SUPERVISOR: Final = "host:supervisor"
"""Who decides where the definition names no agent."""
MOCK_AGENT: Final = "core.conformance.mock-agent"
EXECUTION_MODEL_VERSION: Final = 2
"""The version of the execution model: its chain events, and the confidence floor."""
CONFIDENCE_FLOOR: Final = 0.5
"""orch-06 (RFC 0039 A): a decision of less confidence is not carried out before a person has said so."""
ESCALATION_KIND: Final = "clarification"
"""The kind of interrupt that asks that person."""
DEFAULT_ESCALATION_THRESHOLD: Final = 0.7
WORKER_ID_INTERPRETATION: Final = "workflow"
"""What the ids in a decision are ids of."""
DISPATCH_MODELS: Final = ("child-run",)
ASK_USER_ROUTINGS: Final = ("conversation", "clarification", "auto")
FanOut = Literal["sequential", "reject", "parallel"]
FAN_OUT_POLICIES: Final[tuple[FanOut, ...]] = ("sequential", "reject", "parallel")
JoinMode = Literal["wait-all", "quorum", "first", "race"]
JOIN_MODES: Final[tuple[JoinMode, ...]] = ("wait-all", "quorum", "first", "race")
DEFAULT_PARALLEL: Final = 16
MAX_PARALLEL: Final = 64


@cache
def decision_schema() -> dict[str, Any]:
    """orch-01 (RFC 0006 C): the closed union of decisions, to stand inside another schema."""
    document = schema.document("orchestrator-decision")
    return {name: part for name, part in document.items() if not name.startswith("$")}


def check_decision(document: Any) -> list[Violation]:
    """orch-01 (RFC 0006 C): what keeps a document from being a decision, by pointer."""
    return schema.check("orchestrator-decision", document)


def orchestrator_id(agent: Mapping[str, Any] | None) -> str:
    """orch-02 (RFC 0006): who decides, by the AgentRef of a supervisor's node."""
    return HOST_SUPERVISOR if agent is None else agent["agentId"]


def check_orchestrators(nodes: Sequence[Node]) -> list[Violation]:
    """orch-13 (run-event-payloads, runOrchestrator.decided): whoever decides in a run is one and the same agent."""
    deciding = [
        (index, node) for index, node in enumerate(nodes) if node.declaration.role == "supervisor" and not node.disabled
    ]
    known = {orchestrator_id(node.agent) for _, node in deciding[:1]}
    text = "a run has one orchestrator: every supervisor needs the agentId of the first one"
    return [
        Violation(f"/nodes/{index}/agent", "const", text)
        for index, node in deciding
        if orchestrator_id(node.agent) not in known
    ]


def escalation_threshold(configurable: Mapping[str, Any]) -> float:
    """orch-03 (OpenWOP run-options): the confidence below which a decision is asked about."""
    given = configurable.get("escalationThreshold", DEFAULT_ESCALATION_THRESHOLD)
    sound = isinstance(given, int | float) and not isinstance(given, bool) and 0 <= given <= 1
    return given if sound else DEFAULT_ESCALATION_THRESHOLD


def ratified_decision(answer: Any, pending: Any) -> Any:
    """orch-03 (OpenWOP interrupt, low-confidence): the decision that a person lets pass, or None for a refusal.

    That is the pending one, or another one that the answer is or holds.
    """
    if isinstance(answer, bool):
        return pending if answer else None
    if not is_object(answer):
        return pending if answer is None else answer
    said = answer.get("action", answer.get("decision"))
    if said in ("reject", "rejected"):
        return None
    if "action" in answer:
        return answer.get("decision", pending) if said == "accept" else answer
    if "decision" in answer and "kind" not in answer:
        return pending if said == "approved" else said
    return answer


def ratification_schema() -> dict[str, Any]:
    """What an answer about the decision of a supervisor must fit."""
    decision = {"$ref": "#/$defs/decision"}
    said = {"action": {"enum": ["accept", "reject"]}, "decision": decision}
    older = {"decision": {"anyOf": [decision, {"enum": ["approved", "rejected"]}]}}
    return {
        "anyOf": [
            decision,
            {"type": "object", "required": ["action"], "properties": said},
            {"type": "object", "required": ["decision"], "properties": {**older, "kind": False, "action": False}},
            {"type": "boolean"},
        ],
        "$defs": {"decision": decision_schema()},
    }


class JoinOutcome(msgspec.Struct, frozen=True):
    """How workers that run side by side came out: those that decide, in order, or the one that failed them all."""

    deciding: tuple[int, ...] = ()
    failed: int | None = None


def join_outcome(mode: JoinMode, quorum: int, total: int, ends: Sequence[tuple[int, str]]) -> JoinOutcome | None:
    """orch-07 (readings, Fan-out): what the ends of workers come to, of so many in all; None while it is open.

    ends: the place of each worker that has ended, and how, in the order in which they ended. One that was cancelled
    counts as one that failed. More ends never change what is decided.
    """
    needed = {"wait-all": total, "quorum": quorum}.get(mode, 1)
    completed: list[int] = []
    failed: list[int] = []
    for index, status in ends:
        (completed if status == "completed" else failed).append(index)
        if len(completed) == needed:
            return JoinOutcome(tuple(sorted(completed)))
        if mode == "wait-all":
            lost = len(completed) + len(failed) == total
        else:
            lost = mode == "race" or total - len(failed) < needed
        if failed and lost:
            return JoinOutcome(failed=min(failed))
    return None


def worker_mapping(config: Mapping[str, Any], direction: Literal["Input", "Output"], worker: str) -> dict[str, str]:
    """orch-08 (RFC 0022): the mapping of a worker; its own one replaces the one for all."""
    own: Mapping[str, dict[str, str]] = config.get(f"perWorker{direction}Mappings", {})
    return own.get(worker, config.get(f"{direction.lower()}Mapping", {}))


def map_worker_variables(mapping: Mapping[str, str], variables: Mapping[str, Any]) -> dict[str, Any]:
    """orch-08 (RFC 0022): this run's variables from a worker's; what that one has not set is left as it is."""
    return {name: variables[source] for name, source in mapping.items() if source in variables}
