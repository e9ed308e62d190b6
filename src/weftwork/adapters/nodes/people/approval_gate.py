"""The node type core.approvalGate: people decide whether a run goes on."""

from typing import Any, Final

from weftwork.adapters.nodes.call_inputs import fail_on_expression_fault, render, truncate_utf8
from weftwork.adapters.nodes.data.artifacts import derive_artifact_id
from weftwork.adapters.nodes.people.interrupt_request import (
    KEY_CONFIG,
    KEY_NOTES,
    RESUME_SCHEMA_CONFIG,
    TIMEOUT_CONFIG,
    check_interrupt_config,
    resolve_or_suspend,
)
from weftwork.adapters.nodes.schemas import (
    Schema,
    any_value,
    closed_object,
    fixed_ports,
    integer,
    name_string,
    one_of,
    port_schema,
    reference_notes,
    template_string,
    typed,
)
from weftwork.ports.node_outcome import Completed, Failed, NodeOutcome
from weftwork.ports.nodes import InstantNode, NodeCall, NodeType
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.json.values import ABSENT
from weftwork.protocol.people.approvals import ACTIONS, AUTH_REQUIRED, GRANTING_ACTIONS, MAX_NAME, QUORUM_NOT_REACHED
from weftwork.protocol.people.interrupt_validation import MAX_TIMEOUT_MS
from weftwork.protocol.run.interrupts import TIMEOUT_REASON, Resolution
from weftwork.protocol.workflow.node_types import NodeDeclaration

DEFAULT_TITLE: Final = "Approval needed"
DEFAULT_ACTIONS: Final = ["accept", "reject"]
MAX_TITLE: Final = 1_024
MAX_DESCRIPTION: Final = 8_192
MAX_APPROVERS: Final = 100


@fail_on_expression_fault
def _approval(call: NodeCall) -> NodeOutcome:
    given = _input_or_config(call, "artifactData")
    config = call.config
    artifact_id = _input_or_config(call, "artifactId")
    data: dict[str, Any] = {
        "artifactId": derive_artifact_id(call.node_id, call.visit) if artifact_id is ABSENT else artifact_id,
        "artifactType": config.get("artifactType", "approval"),
        "title": truncate_utf8(render(call, config.get("title", DEFAULT_TITLE)), MAX_TITLE) or DEFAULT_TITLE,
        "actions": config.get("actions", DEFAULT_ACTIONS),
        **{member: config[member] for member in VOTING_CONFIG if member in config},
    }
    if "description" in config:
        data["description"] = truncate_utf8(render(call, config["description"]), MAX_DESCRIPTION)
    if given is not ABSENT:
        data["artifactData"] = given
    found = resolve_or_suspend(call, "approval", data)
    if not isinstance(found, Resolution):
        return found
    return rejection_failure(found) or Completed(_decision_outputs(found, given))


def _input_or_config(call: NodeCall, member: str) -> Any:
    return call.inputs[member] if member in call.inputs else call.config.get(member, ABSENT)


def rejection_failure(resolution: Resolution) -> Failed | None:
    """node-06 (readings, Timeouts of interrupts): a rejection fails its node, and time that is up is a rejection."""
    if resolution.timed_out:
        message = "It was not decided in time, which counts as a rejection."
        return Failed("interrupt_rejected", message, {"reason": TIMEOUT_REASON}, retryable=False)
    if resolution.value["action"] != "reject":
        return None
    reason = QUORUM_NOT_REACHED if resolution.reason == QUORUM_NOT_REACHED else "rejected"
    details = {"reason": reason, "decidedBy": _decided_by(resolution), "feedback": _feedback(resolution)}
    said = {member: value for member, value in details.items() if value is not None}
    return Failed("interrupt_rejected", "The approval was refused.", said, retryable=False)


def _decision_outputs(resolution: Resolution, given: Any) -> dict[str, Any]:
    value: dict[str, Any] = resolution.value
    action = value["action"]
    found = {
        "decidedBy": _decided_by(resolution),
        "feedback": _feedback(resolution),
        "refineFeedback": value.get("refineFeedback"),
        "votes": dict(resolution.votes) or None,
    }
    outputs = {"action": action, "approved": action in GRANTING_ACTIONS}
    outputs |= {member: each for member, each in found.items() if each is not None}
    artifact = value.get("editedArtifactData", given) if action == "edit-accept" else given
    return outputs if artifact is ABSENT else {**outputs, "artifactData": artifact}


def _decided_by(resolution: Resolution) -> str | None:
    return resolution.value.get("decidedBy", resolution.by)


def _feedback(resolution: Resolution) -> str | None:
    return resolution.value.get("feedback", resolution.value.get("comment"))


VOTING_CONFIG: Final[dict[str, Schema]] = {
    "requiredApprovals": integer(1, MAX_APPROVERS, "How many have to accept.", default=1),
    "approversList": typed(
        "array",
        "Who may decide; if it is empty or absent, whoever may answer at all.",
        items={"type": "string", "minLength": 1, "maxLength": MAX_NAME},
        uniqueItems=True,
        maxItems=MAX_APPROVERS,
    ),
    "rejectionPolicy": one_of(
        ("single-veto", "majority"),
        "Whether one rejection ends it, or more than half of `requiredApprovals`.",
        default="single-veto",
    ),
    "override": typed(
        "boolean",
        "Whether a key with the scope `approvals:override` may decide in place of those who may.",
        default=False,
    ),
    "overrideBypassesQuorum": typed(
        "boolean", "Whether such a decision counts for all; otherwise it is one voice.", default=False
    ),
    "profile": one_of((AUTH_REQUIRED,), "With it, a decision needs a key; links only show what is asked."),
}
_ACTIONS_SCHEMA: Final[Schema] = typed(
    "array", "What may be answered.", items={"type": "string", "enum": list(ACTIONS)}, minItems=1, uniqueItems=True
)
_ARTIFACT_DATA_SCHEMA: Final = any_value("What is to be approved, shown with the question.")


def check_voting(data: dict[str, Any]) -> list[Violation]:
    """node-07 (host): a gate that could never have its decision is refused with its definition."""
    violations: list[Violation] = []
    if data.get("requiredApprovals", 1) > 1 and "accept" not in data["actions"]:
        violations.append(Violation("/actions", "contains", "needs accept where several have to accept"))
    if data.get("overrideBypassesQuorum") and not data.get("override"):
        violations.append(Violation("/overrideBypassesQuorum", "required", "means nothing without override"))
    return violations


def _check(config: dict[str, Any]) -> list[Violation]:
    data = {"artifactId": "id", "artifactType": "type", "title": "title", "actions": DEFAULT_ACTIONS}
    data |= {member: config[member] for member in ("actions", *VOTING_CONFIG) if member in config}
    return check_interrupt_config(config, "approval", data) or check_voting(data)


APPROVAL_NODE: Final[NodeType] = InstantNode(
    NodeDeclaration(
        "core.approvalGate",
        "Waits until people have decided whether the run goes on.",
        interrupt_key_member="key",
        inputs=port_schema(
            artifactData=any_value("What is to be approved; wins over the config."),
            artifactId=name_string("Its id; wins over the config.", MAX_NAME),
        ),
        untainted_outputs=("action", "approved", "decidedBy", "votes"),
        outputs=fixed_ports(
            action=typed("string", "`accept`, `edit-accept` or `refine`."),
            approved=typed("boolean", "Whether it was accepted; not so with `refine`."),
            artifactData=any_value("What was approved: as it was asked, or as it was edited."),
            decidedBy=typed("string", "Who decided."),
            feedback=typed("string", "What they said about it, if anything."),
            refineFeedback=typed("object", "What is to be done better, with `refine`."),
            votes=typed("object", "Name -> action, if several had to accept."),
        ),
        config=closed_object(
            title=template_string("The question, with expressions in double braces.", default=DEFAULT_TITLE),
            description=template_string("More about it, with expressions in double braces.", 0),
            artifactId=name_string("What is to be approved, by its id, instead of the id of the node.", MAX_NAME),
            artifactType=name_string("What kind of thing it is.", default="approval"),
            artifactData=_ARTIFACT_DATA_SCHEMA,
            actions={**_ACTIONS_SCHEMA, "default": DEFAULT_ACTIONS},
            **VOTING_CONFIG,
            **TIMEOUT_CONFIG,
            timeoutSec=integer(1, MAX_TIMEOUT_MS // 1000, "The same in seconds, instead of `timeoutMs`."),
            **RESUME_SCHEMA_CONFIG,
            **KEY_CONFIG,
        ),
        templates={"/title": (), "/description": ()},
        check_config=_check,
        notes=reference_notes(
            f"""
`accept`, `edit-accept` and `refine` complete the node. `reject` fails it with `interrupt_rejected`, whose details hold
the `reason` (`rejected`, `timeout` or `quorum-not-reached`), and who decided and what they said. Time that is up is a
rejection: nothing is ever approved by waiting. An edge with the trigger rule `any_failed` leads on from there. `ask`
keeps the question open. After `refine` the run goes on too, so an edge with a condition on `approved` usually leads
back.

With `requiredApprovals` each person has one voice, and the last one it takes decides. `edit-accept` is refused with the
definition then, and so are more approvals than `approversList` has names.

{KEY_NOTES}
""",
            "core.approvalGate",
            {
                "title": "Pay invoice {{ports.artifactData.number}}?",
                "artifactType": "invoice",
                "actions": ["accept", "reject"],
                "requiredApprovals": 2,
                "approversList": ["ada", "bob", "eve"],
                "timeoutMs": 259_200_000,
                "remindAfterMs": [86_400_000, 172_800_000],
            },
            {"artifactData": {"type": "variable", "variableName": "invoice"}},
        ),
    ),
    _approval,
)
