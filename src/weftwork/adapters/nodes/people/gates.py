"""Node types that ask one question and wait: core.approvalGate, core.clarificationGate, core.interrupt."""

from typing import Any, Final

from weftwork.adapters.nodes import schemas
from weftwork.adapters.nodes.call_inputs import render, truncate_utf8
from weftwork.adapters.nodes.data.run_data import derive_artifact_id
from weftwork.adapters.nodes.people import interrupt_request
from weftwork.adapters.nodes.schemas import Schema, instant_node
from weftwork.ports.node_outcome import Completed, Failed, NodeOutcome
from weftwork.ports.nodes import NodeCall, NodeType
from weftwork.protocol.json import schema
from weftwork.protocol.json.caller_schema import check_value
from weftwork.protocol.json.pointers import printable_token
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.json.values import ABSENT
from weftwork.protocol.people.approvals import ACTIONS, AUTH_REQUIRED, GRANTING_ACTIONS, MAX_NAME, QUORUM_NOT_REACHED
from weftwork.protocol.people.interrupt_validation import MAX_QUESTIONS, MAX_TIMEOUT_MS
from weftwork.protocol.run.interrupts import TIMEOUT_REASON, Resolution

DEFAULT_TITLE: Final = "Approval needed"
DEFAULT_ACTIONS: Final = ["accept", "reject"]
MAX_TITLE: Final = 1_024
MAX_DESCRIPTION: Final = 8_192
MAX_APPROVERS: Final = 100
MAX_TEXT: Final = 8_192
SINGLE_INTERRUPT_KINDS: Final = ("approval", "clarification", "custom", "external-event", "low-confidence")
"""The kinds of single questions; those of conversations belong together, and to core.conversationGate."""
EXTERNAL_EVENT: Final = "external-event"

VOTING_CONFIG: Final[dict[str, Schema]] = {
    "requiredApprovals": schemas.integer(1, MAX_APPROVERS, "How many have to accept.", default=1),
    "approversList": schemas.typed(
        "array",
        "Who may decide; if it is empty or absent, whoever may answer at all.",
        items={"type": "string", "minLength": 1, "maxLength": MAX_NAME},
        uniqueItems=True,
        maxItems=MAX_APPROVERS,
    ),
    "rejectionPolicy": schemas.one_of(
        ("single-veto", "majority"),
        "Whether one rejection ends it, or more than half of `requiredApprovals`.",
        default="single-veto",
    ),
    "override": schemas.typed(
        "boolean",
        "Whether a key with the scope `approvals:override` may decide in place of those who may.",
        default=False,
    ),
    "overrideBypassesQuorum": schemas.typed(
        "boolean", "Whether such a decision counts for all; otherwise it is one voice.", default=False
    ),
    "profile": schemas.one_of((AUTH_REQUIRED,), "With it, a decision needs a key; links only show what is asked."),
}
_ACTIONS_SCHEMA: Final[Schema] = schemas.typed(
    "array", "What may be answered.", items={"type": "string", "enum": list(ACTIONS)}, minItems=1, uniqueItems=True
)


def check_voting(data: dict[str, Any]) -> list[Violation]:
    """node-07 (host): a gate that could never have its decision is refused with its definition."""
    violations: list[Violation] = []
    if data.get("requiredApprovals", 1) > 1 and "accept" not in data["actions"]:
        violations.append(Violation("/actions", "contains", "needs accept where several have to accept"))
    if data.get("overrideBypassesQuorum") and not data.get("override"):
        violations.append(Violation("/overrideBypassesQuorum", "required", "means nothing without override"))
    return violations


def _check_approval(config: dict[str, Any]) -> list[Violation]:
    data = {"artifactId": "id", "artifactType": "type", "title": "title", "actions": DEFAULT_ACTIONS}
    data |= {member: config[member] for member in ("actions", *VOTING_CONFIG) if member in config}
    return interrupt_request.check_interrupt_config(config, "approval", data) or check_voting(data)


@instant_node(
    "core.approvalGate",
    "Waits until people have decided whether the run goes on.",
    interrupt_key_member="key",
    inputs=schemas.port_schema(
        artifactData=schemas.any_value("What is to be approved; wins over the config."),
        artifactId=schemas.name_string("Its id; wins over the config.", MAX_NAME),
    ),
    untainted_outputs=("action", "approved", "decidedBy", "votes"),
    outputs=schemas.fixed_ports(
        action=schemas.typed("string", "`accept`, `edit-accept` or `refine`."),
        approved=schemas.typed("boolean", "Whether it was accepted; not so with `refine`."),
        artifactData=schemas.any_value("What was approved: as it was asked, or as it was edited."),
        decidedBy=schemas.typed("string", "Who decided."),
        feedback=schemas.typed("string", "What they said about it, if anything."),
        refineFeedback=schemas.typed("object", "What is to be done better, with `refine`."),
        votes=schemas.typed("object", "Name -> action, if several had to accept."),
    ),
    config=schemas.closed_object(
        title=schemas.template_string("The question, with expressions in double braces.", default=DEFAULT_TITLE),
        description=schemas.template_string("More about it, with expressions in double braces.", 0),
        artifactId=schemas.name_string("What is to be approved, by its id, instead of the id of the node.", MAX_NAME),
        artifactType=schemas.name_string("What kind of thing it is.", default="approval"),
        artifactData=schemas.any_value("What is to be approved, shown with the question."),
        actions={**_ACTIONS_SCHEMA, "default": DEFAULT_ACTIONS},
        **VOTING_CONFIG,
        **interrupt_request.TIMEOUT_CONFIG,
        timeoutSec=schemas.integer(1, MAX_TIMEOUT_MS // 1000, "The same in seconds, instead of `timeoutMs`."),
        **interrupt_request.RESUME_SCHEMA_CONFIG,
        **interrupt_request.KEY_CONFIG,
    ),
    templates={"/title": (), "/description": ()},
    check_config=_check_approval,
    notes=f"""
`accept`, `edit-accept` and `refine` complete the node. `reject` fails it with `interrupt_rejected`, whose details hold
the `reason` (`rejected`, `timeout` or `quorum-not-reached`), and who decided and what they said. Time that is up is a
rejection: nothing is ever approved by waiting. An edge with the trigger rule `any_failed` leads on from there. `ask`
keeps the question open. After `refine` the run goes on too, so an edge with a condition on `approved` usually leads
back.

With `requiredApprovals` each person has one voice, and the last one it takes decides. `edit-accept` is refused with the
definition then, and so are more approvals than `approversList` has names.

{interrupt_request.KEY_NOTES}
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
    found = interrupt_request.resolve_or_suspend(call, "approval", data)
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


def questions_schema(question: Schema) -> Schema:
    """A list of questions, each of them with a text of this shape."""
    return schemas.typed(
        "array",
        "The questions.",
        minItems=1,
        maxItems=MAX_QUESTIONS,
        items=schemas.closed_object(
            "id",
            "question",
            id=schemas.name_string("The answer is found under this name."),
            question=question,
            schema=schemas.typed("object", "A JSON Schema that the answer must fit."),
        ),
    )


def check_answers(questions: list[dict[str, Any]], answers: dict[str, Any], at: str) -> list[Violation]:
    """What keeps answers, by id, from being those to the questions. The schemas of these were checked."""
    ids = {each["id"] for each in questions}
    violations = [
        Violation(f"{at}/{printable_token(each)}", "reference", "answers no question") for each in answers.keys() - ids
    ]
    for each in questions:
        place = f"{at}/{printable_token(each['id'])}"
        if each["id"] not in answers:
            violations.append(Violation(at, "required", "must answer every question"))
        elif "schema" in each:
            violations += check_value(each["schema"], answers[each["id"]], place)
        elif answers[each["id"]] is None:
            violations.append(Violation(place, "type", "must not be null without a schema that says so"))
    return violations


def _check_clarification(config: dict[str, Any]) -> list[Violation]:
    # A port may bring the questions.
    questions = config.get("questions", [{"id": "id", "question": "?"}])
    violations = interrupt_request.check_interrupt_config(config, "clarification", {"questions": questions})
    violations += interrupt_request.check_timeout_default(config, "defaultAnswers")
    if violations or not {"questions", "defaultAnswers"} <= config.keys():
        return violations
    return check_answers(questions, config["defaultAnswers"], "/defaultAnswers")


@instant_node(
    "core.clarificationGate",
    "Asks a person one or more questions, and waits for the answers.",
    interrupt_key_member="key",
    inputs=schemas.port_schema(
        questions={
            **questions_schema(schemas.name_string("The question.", MAX_TEXT)),
            "description": "Win over the config.",
        }
    ),
    outputs=schemas.fixed_ports(answers=schemas.typed("object", "The answers, by the id of their question.")),
    config=schemas.closed_object(
        questions=questions_schema(schemas.template_string("The question, with expressions in double braces.")),
        contextType=schemas.name_string("What the questions are about; the author's own word."),
        defaultAnswers=schemas.typed("object", "Taken when the time is up, by id; answers every question."),
        **interrupt_request.TIMEOUT_CONFIG,
        **interrupt_request.KEY_CONFIG,
    ),
    templates={"/questions/*/question": ()},
    check_config=_check_clarification,
    notes=f"""
Every question has to be answered, and each answer fits the `schema` of its question, if that has one. When the time is
up the node takes `defaultAnswers`. Without them it fails with `interrupt_timeout`; it does so too if a port brought
questions that they do not answer. Questions of a port that cannot be asked fail the node with `node_misused`, and no
questions at all with `node_input_missing`.

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
        message = "The node needs its questions, as input questions or config questions."
        return Failed("node_input_missing", message, retryable=False)
    context = {"contextType": config["contextType"]} if "contextType" in config else {}
    resolution = interrupt_request.resolve_or_suspend(call, "clarification", {"questions": questions, **context})
    if not isinstance(resolution, Resolution):
        return resolution
    if not resolution.timed_out:
        return Completed({"answers": resolution.value["answers"]})
    # Those of a port are not known before.
    fits = "defaultAnswers" in config and not check_answers(questions, config["defaultAnswers"], "")
    return Completed({"answers": config["defaultAnswers"]}) if fits else interrupt_request.TIMED_OUT


def _question_text(call: NodeCall, question: dict[str, Any]) -> str:
    return truncate_utf8(render(call, question["question"]), MAX_TEXT) or question["id"]


_UNSUPPORTED: Final = {"approverGroupRefs": False, "approverRoleRefs": False}
"""Nobody would enforce them here, and an author who names them counts on it."""
_ANSWERS_SCHEMA: Final = schemas.closed_object("answers", answers={"type": "object"})


def _check_interrupt(config: dict[str, Any]) -> list[Violation]:
    kind: str = config["kind"]
    data: dict[str, Any] = config["data"]
    if kind == EXTERNAL_EVENT and "correlation" not in data:
        # A port may bring it.
        data = {**data, "correlation": dict[str, Any]()}
    violations = interrupt_request.check_interrupt_config(config, kind, data, inside=True)
    violations += interrupt_request.check_timeout_default(config, "defaultValue")
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


@instant_node(
    "core.interrupt",
    "Asks somebody outside, or waits for an event there.",
    interrupt_key_member="key",
    inputs=schemas.port_schema(
        payload=schemas.any_value("Shown with a custom question; wins over the config."),
        correlation=schemas.typed("object", "What an event from outside has to hold; wins over the config."),
    ),
    outputs=schemas.fixed_ports(output=schemas.any_value("The answer.")),
    config=schemas.closed_object(
        "kind",
        "data",
        kind=schemas.one_of(SINGLE_INTERRUPT_KINDS, "What is asked for."),
        data=schemas.typed("object", "The question; its members depend on the kind."),
        **interrupt_request.TIMEOUT_CONFIG,
        defaultValue=schemas.any_value("Taken as the answer when the time is up; not for approvals."),
        **interrupt_request.RESUME_SCHEMA_CONFIG,
        **interrupt_request.KEY_CONFIG,
    ),
    check_config=_check_interrupt,
    notes=f"""
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

{interrupt_request.KEY_NOTES}
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
        message = "The node needs what the event has to hold, as input correlation or config data.correlation."
        return Failed("node_input_missing", message, retryable=False)
    resolution = interrupt_request.resolve_or_suspend(call, kind, data)
    if not isinstance(resolution, Resolution):
        return resolution
    if kind == "approval" and (rejected := rejection_failure(resolution)) is not None:
        return rejected
    if not resolution.timed_out:
        return Completed({"output": resolution.value})
    return Completed({"output": config["defaultValue"]}) if "defaultValue" in config else interrupt_request.TIMED_OUT


GATE_NODES: Final[tuple[NodeType, ...]] = (_approval, _clarification, _interrupt)
