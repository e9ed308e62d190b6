"""Node types that request one interrupt: core.approvalGate, core.clarificationGate, core.interrupt."""

from functools import partial
from typing import Any, Final

from weftwork.adapters.nodes import schemas
from weftwork.adapters.nodes.call_inputs import render, truncate_utf8
from weftwork.adapters.nodes.data.run_data import derive_artifact_id
from weftwork.adapters.nodes.people import interrupt_request
from weftwork.adapters.nodes.people.surface_form import (
    SURFACE_TEMPLATES,
    check_surface_config,
    form_payload,
    surface_config,
    surface_input,
)
from weftwork.adapters.nodes.schemas import Schema, instant_node
from weftwork.ports.node_outcome import TIMEOUT_BLOCKED, Completed, Failed, NodeOutcome
from weftwork.ports.nodes import NodeCall, NodeType
from weftwork.protocol.json import schema
from weftwork.protocol.json.caller_schema import check_value
from weftwork.protocol.json.pointers import printable_token
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.json.values import ABSENT
from weftwork.protocol.people.approvals import (
    ACTIONS,
    AUTH_REQUIRED,
    GRANTING_ACTIONS,
    MAX_NAME,
    QUORUM_NOT_REACHED,
    blocks_approval,
)
from weftwork.protocol.people.interrupt_validation import MAX_QUESTIONS, MAX_TIMEOUT_MS
from weftwork.protocol.run.interrupts import TIMEOUT_REASON, Resolution

DEFAULT_TITLE: Final = "Approval needed"
DEFAULT_ACTIONS: Final = ["accept", "reject"]
MAX_TITLE: Final = 1_024
MAX_DESCRIPTION: Final = 8_192
MAX_APPROVERS: Final = 100
MAX_TEXT: Final = 8_192
SINGLE_INTERRUPT_KINDS: Final = ("approval", "clarification", "custom", "external-event", "low-confidence")
"""The kinds that need only one interrupt. The kinds of conversations are used only by core.conversationGate."""
EXTERNAL_EVENT: Final = "external-event"

VOTING_CONFIG: Final[dict[str, Schema]] = {
    "requiredApprovals": schemas.integer(1, MAX_APPROVERS, "The number of people who must accept.", default=1),
    "approversList": schemas.typed(
        "array",
        "The people who can decide. If it is empty or absent, everyone who can answer interrupts can decide.",
        items={"type": "string", "minLength": 1, "maxLength": MAX_NAME},
        uniqueItems=True,
        maxItems=MAX_APPROVERS,
    ),
    "rejectionPolicy": schemas.one_of(
        ("single-veto", "majority"),
        "`single-veto`: one rejection is enough. `majority`: more than half of `requiredApprovals` must reject.",
        default="single-veto",
    ),
    "override": schemas.typed(
        "boolean",
        "Whether a key with the scope `approvals:override` can decide instead of the people in `approversList`.",
        default=False,
    ),
    "overrideBypassesQuorum": schemas.typed(
        "boolean",
        "Whether such a decision replaces all votes. Otherwise it counts as one vote. Requires `override`.",
        default=False,
    ),
    "profile": schemas.one_of(
        (AUTH_REQUIRED,), "With this profile, a decision requires an API key. Links only show the question."
    ),
}
_ACTIONS_SCHEMA: Final[Schema] = schemas.typed(
    "array", "The allowed actions.", items={"type": "string", "enum": list(ACTIONS)}, minItems=1, uniqueItems=True
)


def check_voting(data: dict[str, Any]) -> list[Violation]:
    """node-07 (host): a definition is refused if its gate could never be decided."""
    violations: list[Violation] = []
    if data.get("requiredApprovals", 1) > 1 and "accept" not in data["actions"]:
        violations.append(
            Violation("/actions", "contains", "must contain accept if requiredApprovals is greater than 1")
        )
    if data.get("overrideBypassesQuorum") and not data.get("override"):
        violations.append(Violation("/overrideBypassesQuorum", "required", "has no effect without override"))
    return violations


def _check_approval(config: dict[str, Any]) -> list[Violation]:
    data = {"artifactId": "id", "artifactType": "type", "title": "title", "actions": DEFAULT_ACTIONS}
    data |= {member: config[member] for member in ("actions", *VOTING_CONFIG) if member in config}
    violations = interrupt_request.check_interrupt_config(config, "approval", data) or check_voting(data)
    return violations or check_surface_config(config, "approval", data)


@instant_node(
    "core.approvalGate",
    "Waits until people accept or reject.",
    interrupt_key_member="key",
    inputs=schemas.port_schema(
        artifactData=schemas.any_value("The artifact to approve. Overrides the config."),
        artifactId=schemas.name_string("The id of the artifact. Overrides the config.", MAX_NAME),
        surface=surface_input("The form of the approval."),
    ),
    untainted_outputs=("action", "approved", "decidedBy", "votes"),
    outputs=schemas.fixed_ports(
        action=schemas.typed("string", "`accept`, `edit-accept` or `refine`."),
        approved=schemas.typed("boolean", "Whether the artifact was accepted. False with `refine`."),
        artifactData=schemas.any_value("The artifact, with the changes of the person after `edit-accept`."),
        decidedBy=schemas.typed("string", "The person who decided."),
        feedback=schemas.typed("string", "The comment of that person, if there is one."),
        refineFeedback=schemas.typed("object", "The requested improvements, with `refine`."),
        votes=schemas.typed(
            "object", "The action of each person who voted, by name. Present if several people had to accept."
        ),
    ),
    config=schemas.closed_object(
        title=schemas.template_string(
            "The question for the person, with expressions in double braces.", default=DEFAULT_TITLE
        ),
        description=schemas.template_string("A longer description, with expressions in double braces.", 0),
        artifactId=schemas.name_string(
            "The id of the artifact. The default is derived from the id of the node.", MAX_NAME
        ),
        artifactType=schemas.name_string("The type of the artifact, a name that you choose.", default="approval"),
        artifactData=schemas.any_value("The artifact to approve, which is shown with the question."),
        actions={**_ACTIONS_SCHEMA, "default": DEFAULT_ACTIONS},
        surface=surface_config("The form of the approval."),
        **VOTING_CONFIG,
        **interrupt_request.TIMEOUT_CONFIG,
        timeoutSec=schemas.integer(1, MAX_TIMEOUT_MS // 1000, "The timeout in seconds, instead of `timeoutMs`."),
        **interrupt_request.RESUME_SCHEMA_CONFIG,
        **interrupt_request.KEY_CONFIG,
    ),
    templates={"/title": (), "/description": (), **SURFACE_TEMPLATES},
    check_config=_check_approval,
    notes=f"""
The action of the person decides what happens:

- `accept`, `edit-accept`: the node completes with `approved` true.
- `refine`: the node completes with `approved` false. Usually an edge with a condition on `approved` then leads back to
  the node that makes the artifact.
- `reject`: the node fails with `interrupt_rejected`. The details contain the `reason` (`rejected`, `timeout` or
  `quorum-not-reached`), `decidedBy` and `feedback`.
- `ask`: the question is recorded, and the interrupt stays open.

A timeout counts as a rejection, so a missing answer never approves anything. To continue the run after a rejection, use
an edge with the trigger rule `any_failed`.

If `requiredApprovals` is greater than 1, each person has one vote, and a later vote of the same person replaces the
earlier one. `edit-accept` is then not allowed, and `requiredApprovals` cannot be greater than the number of names in
`approversList`; the host refuses such a definition.

`surface` is a [form](../../how-to/ask-with-a-form.md) that is shown with the question. The id of each button is an
action of the gate. The fields `comment`, `feedback`, `reason` and `question` become members of the answer; other fields
need a button `edit-accept`, and become the edited artifact. A button `refine` works only with a field `feedback`, and
`ask` only with a field `question`: its text is what the button sends. A form of
[untrusted content](../../concepts.md#trust), such as one that a model wrote about an uploaded file, is shown but its
buttons do not decide: a person decides with the buttons of the host.

{interrupt_request.APPROVAL_KEY_NOTES}
""",
    example_config={
        "title": "Pay invoice {{ports.artifactData.number}}?",
        "artifactType": "invoice",
        "actions": ["accept", "reject"],
        "requiredApprovals": 2,
        "approversList": ["ada", "bob", "eve"],
        "timeoutMs": 259_200_000,
        "remindAfterMs": [86_400_000, 172_800_000],
    },
    example_inputs={"artifactData": {"type": "variable", "variableName": "invoice"}},
)
def _approval(call: NodeCall) -> NodeOutcome:
    artifact = _input_or_config(call, "artifactData")
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
    if artifact is not ABSENT:
        data["artifactData"] = artifact
    resolution = interrupt_request.resolve_or_suspend(call, "approval", data, partial(form_payload, call))
    if not isinstance(resolution, Resolution):
        return resolution
    return rejection_failure(resolution) or Completed(_decision_outputs(resolution, artifact))


def _input_or_config(call: NodeCall, member: str) -> Any:
    return call.inputs[member] if member in call.inputs else call.config.get(member, ABSENT)


def rejection_failure(resolution: Resolution) -> Failed | None:
    """node-06 (readings, Timeouts of interrupts): a rejection fails the node, and a timeout counts as a rejection."""
    if resolution.timed_out:
        message = "The approval was not decided within its timeout, which counts as a rejection."
        return Failed("interrupt_rejected", message, {"reason": TIMEOUT_REASON}, retryable=False)
    if resolution.value["action"] != "reject":
        return None
    reason = QUORUM_NOT_REACHED if resolution.reason == QUORUM_NOT_REACHED else "rejected"
    details = {"reason": reason, "decidedBy": _decided_by(resolution), "feedback": _feedback(resolution)}
    present = {member: value for member, value in details.items() if value is not None}
    return Failed("interrupt_rejected", "The approval was rejected.", present, retryable=False)


def _decision_outputs(resolution: Resolution, artifact: Any) -> dict[str, Any]:
    value: dict[str, Any] = resolution.value
    action = value["action"]
    optional = {
        "decidedBy": _decided_by(resolution),
        "feedback": _feedback(resolution),
        "refineFeedback": value.get("refineFeedback"),
        "votes": dict(resolution.votes) or None,
    }
    outputs = {"action": action, "approved": action in GRANTING_ACTIONS}
    outputs |= {member: each for member, each in optional.items() if each is not None}
    if action == "edit-accept":
        artifact = value.get("editedArtifactData", artifact)
    return outputs if artifact is ABSENT else {**outputs, "artifactData": artifact}


def _decided_by(resolution: Resolution) -> str | None:
    return resolution.value.get("decidedBy", resolution.by)


def _feedback(resolution: Resolution) -> str | None:
    return resolution.value.get("feedback", resolution.value.get("comment"))


def questions_schema(question: Schema) -> Schema:
    """The schema of a list of questions; `question` is the schema of their texts."""
    return schemas.typed(
        "array",
        "The questions.",
        minItems=1,
        maxItems=MAX_QUESTIONS,
        items=schemas.closed_object(
            "id",
            "question",
            id=schemas.name_string("The id of the question, and the name of its answer in `answers`."),
            question=question,
            schema=schemas.typed("object", "A JSON Schema that the answer must match."),
        ),
    )


def check_answers(questions: list[dict[str, Any]], answers: dict[str, Any], at: str) -> list[Violation]:
    """Check answers, by question id, against the questions. The schemas of the questions must be valid."""
    ids = {each["id"] for each in questions}
    violations = [
        Violation(f"{at}/{printable_token(each)}", "reference", "is not the id of a question")
        for each in answers.keys() - ids
    ]
    for each in questions:
        place = f"{at}/{printable_token(each['id'])}"
        if each["id"] not in answers:
            violations.append(Violation(at, "required", "must have an answer to every question"))
        elif "schema" in each:
            violations += check_value(each["schema"], answers[each["id"]], place)
        elif answers[each["id"]] is None:
            violations.append(
                Violation(place, "type", "must not be null, unless the question has a schema that allows null")
            )
    return violations


def _check_clarification(config: dict[str, Any]) -> list[Violation]:
    # Without questions in the config, the input `questions` must have them; check the rest with a placeholder.
    questions = config.get("questions", [{"id": "id", "question": "?"}])
    violations = interrupt_request.check_interrupt_config(config, "clarification", {"questions": questions})
    violations += interrupt_request.check_timeout_default(config, "defaultAnswers")
    # The input `questions` may replace those of the config, and the form then has to fit them.
    kind = "clarification" if "questions" in config else None
    violations = violations or check_surface_config(config, kind, {"questions": questions})
    if violations or not {"questions", "defaultAnswers"} <= config.keys():
        return violations
    return check_answers(questions, config["defaultAnswers"], "/defaultAnswers")


@instant_node(
    "core.clarificationGate",
    "Asks a person one or more questions and waits for the answers.",
    interrupt_key_member="key",
    inputs=schemas.port_schema(
        questions={
            **questions_schema(schemas.name_string("The text of the question.", MAX_TEXT)),
            "description": "The questions. Overrides the config.",
        },
        surface=surface_input("The form of the questions."),
    ),
    outputs=schemas.fixed_ports(answers=schemas.typed("object", "The answers by question id.")),
    config=schemas.closed_object(
        questions=questions_schema(
            schemas.template_string("The text of the question, with expressions in double braces.")
        ),
        contextType=schemas.name_string("The subject of the questions, a name that you choose."),
        surface=surface_config("The form of the questions."),
        defaultAnswers=schemas.typed(
            "object", "The answers that the node uses after a timeout, by question id. They must answer every question."
        ),
        **interrupt_request.TIMEOUT_CONFIG,
        **interrupt_request.KEY_CONFIG,
    ),
    templates={"/questions/*/question": (), **SURFACE_TEMPLATES},
    check_config=_check_clarification,
    notes=f"""
The person must answer every question, and each answer must match the `schema` of its question, if it has one. After a
timeout the node uses `defaultAnswers`. It fails with `interrupt_timeout` if there are none, or if they do not answer
the questions of the input `questions`. If the questions of the input are invalid, the node fails with `node_misused`.
Without any questions it fails with `node_input_missing`.

`surface` is a [form](../../how-to/ask-with-a-form.md) with one field for each question. The id of the field is that of
the question.

{interrupt_request.KEY_NOTES}
""",
    example_config={
        "questions": [
            {"id": "when", "question": "When shall {{variables.order.id}} be delivered?"},
            {"id": "amount", "question": "How many?", "schema": {"type": "integer", "minimum": 1}},
        ],
        "timeoutMs": 86_400_000,
        "defaultAnswers": {"when": "any day", "amount": 1},
    },
)
def _clarification(call: NodeCall) -> NodeOutcome:
    config = call.config
    if "questions" in call.inputs:
        questions = call.inputs["questions"]
    elif "questions" in config:
        questions = [{**each, "question": _question_text(call, each)} for each in config["questions"]]
    else:
        message = "The node has no questions: set the input questions or the config questions."
        return Failed("node_input_missing", message, retryable=False)
    context = {"contextType": config["contextType"]} if "contextType" in config else {}
    data = {"questions": questions, **context}
    resolution = interrupt_request.resolve_or_suspend(call, "clarification", data, partial(form_payload, call))
    if not isinstance(resolution, Resolution):
        return resolution
    if not resolution.timed_out:
        return Completed({"answers": resolution.value["answers"]})
    # The questions of an input are not known when the definition is checked.
    is_valid = "defaultAnswers" in config and not check_answers(questions, config["defaultAnswers"], "")
    return Completed({"answers": config["defaultAnswers"]}) if is_valid else interrupt_request.TIMED_OUT


def _question_text(call: NodeCall, question: dict[str, Any]) -> str:
    return truncate_utf8(render(call, question["question"]), MAX_TEXT) or question["id"]


_UNSUPPORTED: Final = {"approverGroupRefs": False, "approverRoleRefs": False}
"""Refused, because this host would not enforce them, and an author who sets them relies on it."""
_ANSWERS_SCHEMA: Final = schemas.closed_object("answers", answers={"type": "object"})


def _check_interrupt(config: dict[str, Any]) -> list[Violation]:
    kind: str = config["kind"]
    data: dict[str, Any] = config["data"]
    if kind == EXTERNAL_EVENT and "correlation" not in data:
        # The input `correlation` can supply it.
        data = {**data, "correlation": dict[str, Any]()}
    violations = interrupt_request.check_interrupt_config(config, kind, data, inside=True)
    violations += interrupt_request.check_timeout_default(config, "defaultValue")
    if not violations and kind == "approval":
        in_data = schema.check_inline({"properties": {**VOTING_CONFIG, **_UNSUPPORTED}}, data, "") or check_voting(data)
        violations = [Violation(f"/data{each.pointer}", each.rule, each.message) for each in in_data]
    return violations or _check_default_value(config)


def _check_default_value(config: dict[str, Any]) -> list[Violation]:
    if "defaultValue" not in config:
        return []
    value, at = config["defaultValue"], "/defaultValue"
    if config["kind"] == "approval":
        return [Violation(at, "not", "is not allowed for approvals, because a timeout is a rejection")]
    if config["kind"] == "clarification":
        violations = schema.check_inline(_ANSWERS_SCHEMA, value, at)
        if not violations:
            violations = check_answers(config["data"]["questions"], value["answers"], f"{at}/answers")
        if violations:
            return violations
    return check_value(config["resumeSchema"], value, at) if "resumeSchema" in config else []


@instant_node(
    "core.interrupt",
    "Requests an interrupt and waits for its answer.",
    interrupt_key_member="key",
    inputs=schemas.port_schema(
        payload=schemas.any_value("The payload of a `custom` interrupt. Overrides `data.payload`."),
        correlation=schemas.typed(
            "object", "The members that an external event must have. Overrides `data.correlation`."
        ),
    ),
    outputs=schemas.fixed_ports(output=schemas.any_value("The answer to the interrupt.")),
    config=schemas.closed_object(
        "kind",
        "data",
        kind=schemas.one_of(SINGLE_INTERRUPT_KINDS, "The kind of the interrupt."),
        data=schemas.typed("object", "The data of the interrupt. Its members depend on the kind."),
        **interrupt_request.TIMEOUT_CONFIG,
        defaultValue=schemas.any_value("The output after a timeout. Not allowed for approvals."),
        **interrupt_request.RESUME_SCHEMA_CONFIG,
        **interrupt_request.KEY_CONFIG,
    ),
    check_config=_check_interrupt,
    notes=f"""
The members of `data` and the valid answers depend on the `kind`:

- `custom`: `data` has `customKind`, a name that you choose, and optionally a `payload`, which is shown to the person.
  Any value is a valid answer.
- `external-event`: `data` has `eventType` and the object `correlation`. A valid answer is an object that contains every
  member of `correlation` with an equal value; other members are allowed.
- `low-confidence`: `data` has `agentId`, `threshold`, `observed` and optionally a `decision`. Any value is a valid
  answer.
- `approval`: `data` has `artifactId`, `artifactType`, `title` and `actions`, and optionally `description`,
  `artifactData` and the voting members of [core.approvalGate](core.approvalGate.md). The output is the decision; a
  rejection fails the node with `interrupt_rejected`.
- `clarification`: `data` has the `questions` of [core.clarificationGate](core.clarificationGate.md). The output is
  `{{"answers": …}}`.

The run is suspended until the interrupt is answered. After a timeout the node returns `defaultValue`, which can be
null; without a `defaultValue` it fails with `interrupt_timeout`. A `low-confidence` decision about
[untrusted content](../../concepts.md#trust) takes no `defaultValue`: the node fails with
`untrusted_content_blocks_approval`. If an `external-event` has a `correlation` neither in
the input nor in the config, the node fails with `node_input_missing`.

{interrupt_request.APPROVAL_KEY_NOTES}
""",
    example_config={
        "kind": "external-event",
        "data": {"eventType": "shop.order.paid"},
        "timeoutMs": 3_600_000,
        "defaultValue": {"paid": False},
    },
    example_inputs={"correlation": {"type": "expression", "expression": "{'orderId': variables.order.id}"}},
)
def _interrupt(call: NodeCall) -> NodeOutcome:
    config, kind = call.config, call.config["kind"]
    data = config["data"]
    if kind == "custom" and "payload" in call.inputs:
        data = {**data, "payload": call.inputs["payload"]}
    if kind == EXTERNAL_EVENT and "correlation" in call.inputs:
        data = {**data, "correlation": call.inputs["correlation"]}
    if kind == EXTERNAL_EVENT and "correlation" not in data:
        message = "The node has no correlation: set the input correlation or the config data.correlation."
        return Failed("node_input_missing", message, retryable=False)
    resolution = interrupt_request.resolve_or_suspend(call, kind, data)
    if not isinstance(resolution, Resolution):
        return resolution
    if kind == "approval" and (rejected := rejection_failure(resolution)) is not None:
        return rejected
    if not resolution.timed_out:
        return Completed({"output": resolution.value})
    if "defaultValue" not in config:
        return interrupt_request.TIMED_OUT
    if blocks_approval(kind, call.scope.untrusted):
        return TIMEOUT_BLOCKED
    return Completed({"output": config["defaultValue"]})


GATE_NODES: Final[tuple[NodeType, ...]] = (_approval, _clarification, _interrupt)
