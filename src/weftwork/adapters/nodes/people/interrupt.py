"""The node type core.interrupt: waits for an answer or an event from outside the run."""

from typing import Any, Final

from weftwork.adapters.nodes.people.approval_gate import VOTING_CONFIG, check_voting, rejection_failure
from weftwork.adapters.nodes.people.clarification_gate import check_answers
from weftwork.adapters.nodes.people.interrupt_request import (
    KEY_CONFIG,
    KEY_NOTES,
    RESUME_SCHEMA_CONFIG,
    TIMED_OUT,
    TIMEOUT_CONFIG,
    check_interrupt_config,
    check_timeout_default,
    resolve_or_suspend,
)
from weftwork.adapters.nodes.schemas import (
    any_value,
    closed_object,
    fixed_ports,
    one_of,
    port_schema,
    reference_notes,
    typed,
)
from weftwork.ports.node_outcome import Completed, Failed, NodeOutcome
from weftwork.ports.nodes import InstantNode, NodeCall, NodeType
from weftwork.protocol.json import schema
from weftwork.protocol.json.caller_schema import check_value
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.run.interrupts import Resolution
from weftwork.protocol.workflow.node_types import NodeDeclaration

SINGLE_INTERRUPT_KINDS: Final = ("approval", "clarification", "custom", "external-event", "low-confidence")
"""The kinds of single questions; those of conversations belong together, and to core.conversationGate."""
EXTERNAL_EVENT: Final = "external-event"


def _interrupt(call: NodeCall) -> NodeOutcome:
    config, kind = call.config, call.config["kind"]
    data = config["data"]
    if kind == "custom" and "payload" in call.inputs:
        data = {**data, "payload": call.inputs["payload"]}
    if kind == EXTERNAL_EVENT and "correlation" in call.inputs:
        data = {**data, "correlation": call.inputs["correlation"]}
    if kind == EXTERNAL_EVENT and "correlation" not in data:
        message = "The node needs what the event has to hold, as input correlation or config data.correlation."
        return Failed("node_input_missing", message, retryable=False)
    resolution = resolve_or_suspend(call, kind, data)
    if not isinstance(resolution, Resolution):
        return resolution
    if kind == "approval" and (rejected := rejection_failure(resolution)) is not None:
        return rejected
    if not resolution.timed_out:
        return Completed({"output": resolution.value})
    return Completed({"output": config["defaultValue"]}) if "defaultValue" in config else TIMED_OUT


def _check(config: dict[str, Any]) -> list[Violation]:
    kind: str = config["kind"]
    data: dict[str, Any] = config["data"]
    if kind == EXTERNAL_EVENT and "correlation" not in data:
        # A port may bring it.
        data = {**data, "correlation": dict[str, Any]()}
    violations = check_interrupt_config(config, kind, data, inside=True) + check_timeout_default(config, "defaultValue")
    if not violations and kind == "approval":
        wrong = schema.check_inline({"properties": {**VOTING_CONFIG, **_UNSUPPORTED}}, data, "") or check_voting(data)
        violations = [Violation(f"/data{each.pointer}", each.rule, each.message) for each in wrong]
    return violations or _check_default_value(config)


def _check_default_value(config: dict[str, Any]) -> list[Violation]:
    if "defaultValue" not in config:
        return []
    value, at = config["defaultValue"], "/defaultValue"
    if config["kind"] == "approval":
        return [Violation(at, "not", "is not for approvals: time that is up is a rejection")]
    if config["kind"] == "clarification":
        wrong = schema.check_inline(_ANSWERS_SCHEMA, value, at)
        if wrong or (wrong := check_answers(config["data"]["questions"], value["answers"], f"{at}/answers")):
            return wrong
    return check_value(config["resumeSchema"], value, at) if "resumeSchema" in config else []


_UNSUPPORTED: Final = {"approverGroupRefs": False, "approverRoleRefs": False}
"""Nobody would enforce them here, and an author who names them counts on it."""
_ANSWERS_SCHEMA: Final = closed_object("answers", answers={"type": "object"})

INTERRUPT_NODE: Final[NodeType] = InstantNode(
    NodeDeclaration(
        "core.interrupt",
        "Asks somebody outside, or waits for an event there.",
        interrupt_key_member="key",
        inputs=port_schema(
            payload=any_value("Shown with a custom question; wins over the config."),
            correlation=typed("object", "What an event from outside has to hold; wins over the config."),
        ),
        outputs=fixed_ports(output=any_value("The answer.")),
        config=closed_object(
            "kind",
            "data",
            kind=one_of(SINGLE_INTERRUPT_KINDS, "What is asked for."),
            data=typed("object", "The question; its members depend on the kind."),
            **TIMEOUT_CONFIG,
            defaultValue=any_value("Taken as the answer when the time is up; not for approvals."),
            **RESUME_SCHEMA_CONFIG,
            **KEY_CONFIG,
        ),
        check_config=_check,
        notes=reference_notes(
            f"""
- `custom`: `data` holds `customKind`, your own word for what is asked, and maybe a `payload` that is shown with it. Any
  value is an answer.
- `external-event`: `data` holds `eventType` and `correlation`, an object. An answer is an object that has every member
  of `correlation` with an equal value; it may have others.
- `low-confidence`: `data` holds `agentId`, `threshold`, `observed` and maybe a `decision`. Any value is an answer.
- `approval`: `data` holds `artifactId`, `artifactType`, `title` and `actions`, and what else
  [core.approvalGate](core.approvalGate.md) takes. The output is the decision; a rejection fails the node with
  `interrupt_rejected`.
- `clarification`: `data` holds the `questions` of [core.clarificationGate](core.clarificationGate.md). The output is
  `{{"answers": …}}`.

The run waits until somebody answers. When the time is up the node takes `defaultValue`, where null is a value too;
without it the node fails with `interrupt_timeout`. An event from outside needs its `correlation` from the port or the
config; without both the node fails with `node_input_missing`.

{KEY_NOTES}
""",
            "core.interrupt",
            {
                "kind": "external-event",
                "data": {"eventType": "shop.order.paid"},
                "timeoutMs": 3_600_000,
                "defaultValue": {"paid": False},
            },
            {"correlation": {"type": "expression", "expression": "{'orderId': variables.order.id}"}},
        ),
    ),
    _interrupt,
)
