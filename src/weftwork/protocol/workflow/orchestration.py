"""Orchestration: decisions of a supervisor, their ratification by a person, and the join of its workers.

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
"""The orchestrator id of a supervisor without an agent in the definition."""
MOCK_AGENT: Final = "core.conformance.mock-agent"
AGENT_EVENT_EMITTERS: Final = frozenset({MOCK_AGENT})
"""The node types that emit events about the work of agents, such as `agent.reasoned` and `agent.decided`."""
EXECUTION_MODEL_VERSION: Final = 2
"""The version of the execution model, which includes chain events and the confidence floor."""
CONFIDENCE_FLOOR: Final = 0.5
"""orch-06 (RFC 0039 A): a decision with less confidence is carried out only after a person has approved it."""
ESCALATION_KIND: Final = "clarification"
"""The kind of interrupt that requests this approval."""
ADVERTISED_ESCALATION_KIND: Final = f"x-host-weftwork-{ESCALATION_KIND}"
"""orch-06 (readings, Confidence escalation): the kind in discovery. For the plain name, clients expect a run status
that the status enum does not have; for a name of the host, they accept any `waiting-*` status."""
DEFAULT_ESCALATION_THRESHOLD: Final = 0.7
WORKER_ID_INTERPRETATION: Final = "workflow"
"""The worker ids in a decision are ids of workflows."""
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
    """orch-01 (RFC 0006 C): the schema of a decision, a closed union, without `$` keywords for use in another
    schema."""
    document = schema.document("orchestrator-decision")
    return {name: part for name, part in document.items() if not name.startswith("$")}


def check_decision(document: Any) -> list[Violation]:
    """orch-01 (RFC 0006 C): the violations of a document that should be a decision."""
    return schema.check("orchestrator-decision", document)


def orchestrator_id(agent: Mapping[str, Any] | None) -> str:
    """orch-02 (RFC 0006): the orchestrator id of a supervisor: the agentId of its AgentRef, if it has one."""
    return HOST_SUPERVISOR if agent is None else agent["agentId"]


def check_orchestrators(nodes: Sequence[Node]) -> list[Violation]:
    """orch-13 (run-event-payloads, runOrchestrator.decided): all enabled supervisors of a workflow have the same
    agentId."""
    supervisors = [
        (index, node) for index, node in enumerate(nodes) if node.declaration.role == "supervisor" and not node.disabled
    ]
    first_id = {orchestrator_id(node.agent) for _, node in supervisors[:1]}
    text = "must have the agentId of the first supervisor, because a run has one orchestrator"
    return [
        Violation(f"/nodes/{index}/agent", "const", text)
        for index, node in supervisors
        if orchestrator_id(node.agent) not in first_id
    ]


def escalation_threshold(configurable: Mapping[str, Any]) -> float:
    """orch-03 (OpenWOP run-options): a decision below this confidence needs the approval of a person."""
    threshold = configurable.get("escalationThreshold", DEFAULT_ESCALATION_THRESHOLD)
    is_valid = isinstance(threshold, int | float) and not isinstance(threshold, bool) and 0 <= threshold <= 1
    return threshold if is_valid else DEFAULT_ESCALATION_THRESHOLD


def ratified_decision(answer: Any, pending: Any) -> Any:
    """orch-03 (OpenWOP interrupt, low-confidence): the decision that a person approved, or None if they rejected it.

    The result is `pending`, or another decision if the answer is or contains one.
    """
    if isinstance(answer, bool):
        return pending if answer else None
    if not is_object(answer):
        return pending if answer is None else answer
    verdict = answer.get("action", answer.get("decision"))
    if verdict in ("reject", "rejected"):
        return None
    if "action" in answer:
        return answer.get("decision", pending) if verdict == "accept" else answer
    if "decision" in answer and "kind" not in answer:
        return pending if verdict == "approved" else verdict
    return answer


def ratification_schema() -> dict[str, Any]:
    """The schema of the answers that `ratified_decision` reads."""
    decision = {"$ref": "#/$defs/decision"}
    with_action = {"action": {"enum": ["accept", "reject"]}, "decision": decision}
    without_action = {"decision": {"anyOf": [decision, {"enum": ["approved", "rejected"]}]}}
    return {
        "anyOf": [
            decision,
            {"type": "object", "required": ["action"], "properties": with_action},
            {
                "type": "object",
                "required": ["decision"],
                "properties": {**without_action, "kind": False, "action": False},
            },
            {"type": "boolean"},
        ],
        "$defs": {"decision": decision_schema()},
    }


class JoinOutcome(msgspec.Struct, frozen=True):
    """The result of parallel workers: the indexes of the workers whose results count, or of the one that failed the
    join."""

    deciding: tuple[int, ...] = ()
    failed: int | None = None


def join_outcome(mode: JoinMode, quorum: int, total: int, ends: Sequence[tuple[int, str]]) -> JoinOutcome | None:
    """orch-07 (readings, Fan-out): the outcome of a join of `total` workers, or None while it is undecided.

    ends: index and status of each worker that has ended, in the order in which they ended. A cancelled worker counts as
    failed. Once there is an outcome, further ends never change it.
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
    """orch-08 (RFC 0022): the variable mapping of a worker. A mapping for this worker replaces the general one."""
    own: Mapping[str, dict[str, str]] = config.get(f"perWorker{direction}Mappings", {})
    return own.get(worker, config.get(f"{direction.lower()}Mapping", {}))


def map_worker_variables(mapping: Mapping[str, str], variables: Mapping[str, Any]) -> dict[str, Any]:
    """orch-08 (RFC 0022): the variables that a worker returns to this run. Variables that it did not set are
    omitted."""
    return {name: variables[source] for name, source in mapping.items() if source in variables}
