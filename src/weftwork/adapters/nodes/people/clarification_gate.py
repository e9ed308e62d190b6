"""The node type core.clarificationGate: asks a person what the run does not know."""

from typing import Any, Final

from weftwork.adapters.nodes.call_inputs import fail_on_expression_fault, render, truncate_utf8
from weftwork.adapters.nodes.people.interrupt_request import (
    KEY_CONFIG,
    KEY_NOTES,
    TIMED_OUT,
    TIMEOUT_CONFIG,
    check_interrupt_config,
    check_timeout_default,
    resolve_or_suspend,
)
from weftwork.adapters.nodes.schemas import (
    Schema,
    closed_object,
    fixed_ports,
    name_string,
    port_schema,
    reference_notes,
    template_string,
    typed,
)
from weftwork.ports.node_outcome import Completed, Failed, NodeOutcome
from weftwork.ports.nodes import InstantNode, NodeCall, NodeType
from weftwork.protocol.json.caller_schema import check_value
from weftwork.protocol.json.pointers import printable_token
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.people.interrupt_validation import MAX_QUESTIONS
from weftwork.protocol.run.interrupts import Resolution
from weftwork.protocol.workflow.node_types import NodeDeclaration

MAX_TEXT: Final = 8_192


@fail_on_expression_fault
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
    resolution = resolve_or_suspend(call, "clarification", {"questions": questions, **context})
    if not isinstance(resolution, Resolution):
        return resolution
    if not resolution.timed_out:
        return Completed({"answers": resolution.value["answers"]})
    # Those of a port are not known before.
    fits = "defaultAnswers" in config and not check_answers(questions, config["defaultAnswers"], "")
    return Completed({"answers": config["defaultAnswers"]}) if fits else TIMED_OUT


def _question_text(call: NodeCall, question: dict[str, Any]) -> str:
    return truncate_utf8(render(call, question["question"]), MAX_TEXT) or question["id"]


def questions_schema(question: Schema) -> Schema:
    """A list of questions, each of them with a text of this shape."""
    return typed(
        "array",
        "The questions.",
        minItems=1,
        maxItems=MAX_QUESTIONS,
        items=closed_object(
            "id",
            "question",
            id=name_string("The answer is found under this name."),
            question=question,
            schema=typed("object", "A JSON Schema that the answer must fit."),
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


def _check(config: dict[str, Any]) -> list[Violation]:
    # A port may bring the questions.
    questions = config.get("questions", [{"id": "id", "question": "?"}])
    violations = check_interrupt_config(config, "clarification", {"questions": questions}) + check_timeout_default(
        config, "defaultAnswers"
    )
    if violations or not {"questions", "defaultAnswers"} <= config.keys():
        return violations
    return check_answers(questions, config["defaultAnswers"], "/defaultAnswers")


CLARIFICATION_NODE: Final[NodeType] = InstantNode(
    NodeDeclaration(
        "core.clarificationGate",
        "Asks a person one or more questions, and waits for the answers.",
        interrupt_key_member="key",
        inputs=port_schema(
            questions={
                **questions_schema(name_string("The question.", MAX_TEXT)),
                "description": "Win over the config.",
            }
        ),
        outputs=fixed_ports(answers=typed("object", "The answers, by the id of their question.")),
        config=closed_object(
            questions=questions_schema(template_string("The question, with expressions in double braces.")),
            contextType=name_string("What the questions are about; the author's own word."),
            defaultAnswers=typed("object", "Taken when the time is up, by id; answers every question."),
            **TIMEOUT_CONFIG,
            **KEY_CONFIG,
        ),
        templates={"/questions/*/question": ()},
        check_config=_check,
        notes=reference_notes(
            f"""
Every question has to be answered, and each answer fits the `schema` of its question, if that has one. When the time is
up the node takes `defaultAnswers`. Without them it fails with `interrupt_timeout`; it does so too if a port brought
questions that they do not answer. Questions of a port that cannot be asked fail the node with `node_misused`, and no
questions at all with `node_input_missing`.

{KEY_NOTES}
""",
            "core.clarificationGate",
            {
                "questions": [
                    {"id": "when", "question": "When shall {{variables.order.id}} be delivered?"},
                    {"id": "amount", "question": "How many?", "schema": {"type": "integer", "minimum": 1}},
                ],
                "timeoutMs": 86_400_000,
                "defaultAnswers": {"when": "any day", "amount": 1},
            },
        ),
    ),
    _clarification,
)
