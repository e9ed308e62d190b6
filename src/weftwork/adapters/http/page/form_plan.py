"""The plan of a form: which buttons there are, which fields belong to each, and what pressing one sends.

The page is drawn from the plan and the answer is read by it, so the two cannot disagree. A plan is made of any
question: one that is not as the rules say is asked for with a field for free text.
"""

from typing import Any, Final, Literal

import msgspec

from weftwork.adapters.http.page.form_fields import (
    FormField,
    OptionBudget,
    field_for,
    object_fields,
    resolve_refs,
    with_numbers,
)
from weftwork.adapters.http.page.markup import HIDDEN_CHARACTERS, json_text
from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.people.approvals import AUTH_REQUIRED, MAX_TEXT
from weftwork.protocol.people.interrupt_validation import check_interrupt
from weftwork.protocol.privacy.secret_matcher import MARKER_PREFIX
from weftwork.protocol.run.interrupts import NON_BLOCKING_KINDS, Interrupt
from weftwork.protocol.workflow.orchestration import ratification_schema

Tone = Literal["go", "stop", "plain"]

SEND: Final = "send"
MAX_EDITABLE: Final = 50_000
"""Characters of what can be edited on the page."""
_COMMENT_FIELD: Final = FormField(
    "comment",
    "Comment",
    "text",
    ("comment",),
    {"type": "string", "maxLength": MAX_TEXT},
    "omit",
    "Goes along with your decision.",
)


class FormButton(msgspec.Struct, frozen=True):
    """One button. The answer is `base` with the values of the fields put in at their paths."""

    action: str
    label: str
    fields: tuple[FormField, ...] = ()
    base: Any = None
    tone: Tone = "go"
    aside: str = ""
    """What it is for, if it stands apart from the others, with its fields."""


_REJECT_BUTTON: Final = FormButton("reject", "Reject", (), {"action": "reject"}, "stop")


class FormPlan(msgspec.Struct, frozen=True):
    """How a question is answered. Without buttons it can only be read, and `closed_reason` says why."""

    buttons: tuple[FormButton, ...] = ()
    schema: dict[str, Any] | None = None
    """What the whole answer must fit."""
    closed_reason: str = ""
    is_malformed: bool = False
    """The question is not as the rules say: it is shown as it is."""


def plan_for(question: dict[str, Any]) -> FormPlan:
    """The plan of any question, as inspectInterruptByToken shows it.

    What holds a marker of something hidden is never sent back as if it were the value.
    """
    try:
        plan = FormPlan((_free_text_button(),), is_malformed=True) if is_malformed(question) else _build_plan(question)
    except (AttributeError, KeyError, TypeError):
        # A schema that is none, which no question has that this host asked.
        plan = FormPlan((_free_text_button(),), is_malformed=True)
    if question.get("intent") == "inspect":
        reason = "This link only shows the question. It cannot be answered with it."
        return msgspec.structs.replace(plan, closed_reason=reason)
    return plan


def is_malformed(question: dict[str, Any]) -> bool:
    """Whether the question is not built as this host asks.

    Its schemas were checked when it was asked: doing so again for each view would cost the host more than the link
    is worth to whoever has it.
    """
    kind, data, schema = question.get("kind"), question.get("data"), question.get("resumeSchema")
    if (
        not isinstance(kind, str)
        or kind in NON_BLOCKING_KINDS
        or not is_object(data)
        or not (schema is None or is_object(schema))
    ):
        return True
    try:
        return bool(check_interrupt(Interrupt(kind, "key", _without_schemas(data))))
    except (ValueError, TypeError, RecursionError):
        # Not JSON at all.
        return True


def _without_schemas(data: dict[str, Any]) -> dict[str, Any]:
    """The data of a question without the schemas in it, if they are objects."""

    def without(given: Any, schema: str) -> Any:
        if not is_object(given):
            return given
        return {name: each for name, each in given.items() if name != schema or not is_object(each)}

    kept = without(data, "outcomeSchema")
    if is_array(listed := data.get("questions")):
        kept["questions"] = [without(each, "schema") for each in listed]
    return kept


def _build_plan(question: dict[str, Any]) -> FormPlan:
    data: dict[str, Any] = question["data"]
    schema: dict[str, Any] | None = question.get("resumeSchema")
    match question["kind"]:
        case "approval":
            return _approval_plan(data)
        case "clarification":
            return FormPlan((_clarification_button(data["questions"]),), schema)
        case "external-event":
            return FormPlan((_event_button(data["correlation"], schema),), schema)
        case "low-confidence" if "decision" in data:
            decided = _ratification_buttons(data["decision"])
            # Of a question without a schema nobody knows what a no would mean.
            return FormPlan((*decided, _REJECT_BUTTON) if schema == ratification_schema() else decided, schema)
        case _:
            schema = schema if schema is not None else data.get("outcomeSchema")
            return FormPlan((_answer_button(schema),), schema)


def _approval_plan(data: dict[str, Any]) -> FormPlan:
    refine = FormField("refine", "What should change?", "text", ("refineFeedback", "text"), _COMMENT_FIELD.schema)
    feedback = {"action": "refine", "refineFeedback": {"scope": "whole"}}
    edit = _editable_field("edit", "Your version", data.get("artifactData"), ("editedArtifactData",))
    edit_aside = "Change it yourself and approve what you have changed."
    ask = FormField("ask", "Your question", "text", ("question",), _COMMENT_FIELD.schema)
    ask_aside = "Ask before you decide. The decision stays open."
    choices = [
        FormButton("accept", "Approve", (_COMMENT_FIELD,), {"action": "accept"}),
        FormButton("reject", "Reject", (_COMMENT_FIELD,), {"action": "reject"}, "stop"),
        FormButton(
            "refine", "Ask for changes", (refine,), feedback, "plain", "Send it back and say what should change."
        ),
        FormButton("edit-accept", "Approve with my changes", (edit,), {"action": "edit-accept"}, "plain", edit_aside),
        FormButton("ask", "Ask a question", (ask,), {"action": "ask"}, "plain", ask_aside),
    ]
    offered = [each for each in choices if each.action in data["actions"]]
    artifact = json_text(data.get("artifactData"))
    if len(artifact) > MAX_EDITABLE or MARKER_PREFIX in artifact:
        offered = [each for each in offered if each.action != "edit-accept"]
    closed = "" if offered else "This cannot be edited here: it is too long, or part of it is hidden."
    if data.get("profile") == AUTH_REQUIRED:
        closed = "This decision takes an account: a link is not enough for it."
    return FormPlan(tuple(offered), closed_reason=closed)


def _clarification_button(questions: list[dict[str, Any]]) -> FormButton:
    fields: list[FormField] = []
    budget = OptionBudget()
    for index, each in enumerate(questions):
        schema = each.get("schema", {"type": "string"})
        schema = resolve_refs(schema, schema)
        fields.append(field_for(f"f{index}", each["question"], schema, ("answers", each["id"]), "refuse", budget))
    return FormButton(SEND, "Send answers" if len(fields) > 1 else "Send answer", with_numbers(fields), {"answers": {}})


def _event_button(correlation: dict[str, Any], schema: dict[str, Any] | None) -> FormButton:
    # Whoever sends the event knows what belongs to it.
    is_hidden = MARKER_PREFIX in json_text(correlation)
    found = object_fields(schema, correlation) if schema is not None and not is_hidden else None
    if found is not None:
        return FormButton(SEND, "Send the event", found.fields, found.base)
    field = _editable_field("answer", "The event", None if is_hidden else correlation, ())
    return FormButton(SEND, "Send the event", (field,))


def _ratification_buttons(decision: Any) -> tuple[FormButton, ...]:
    is_hidden = MARKER_PREFIX in json_text(decision)
    field = _editable_field("edit", "The decision as it should be", None if is_hidden else decision, ())
    if is_hidden:
        return (FormButton("edit", "Send my version", (field,)),)
    changed = FormButton("edit", "Send my version", (field,), None, "plain", "Change the decision first.")
    ratified = FormButton("ratify", "Confirm this decision", (), decision)
    return (ratified, changed) if len(json_text(decision)) <= MAX_EDITABLE else (ratified,)


def _answer_button(schema: dict[str, Any] | None) -> FormButton:
    if schema is None:
        return _free_text_button()
    found = object_fields(schema, {})
    if found is not None:
        return FormButton(SEND, "Send answer", found.fields, found.base)
    return FormButton(
        SEND, "Send answer", (field_for("answer", "Your answer", resolve_refs(schema, schema), (), "refuse"),)
    )


def _free_text_button() -> FormButton:
    return FormButton(SEND, "Send answer", (FormField("answer", "Your answer", "free"),))


def _editable_field(name: str, label: str, value: Any, path: tuple[str, ...]) -> FormField:
    """A field that holds what is there already: a plain text as such, anything else as JSON."""
    if isinstance(value, str) and not HIDDEN_CHARACTERS.search(value) and value.strip():
        return FormField(name, label, "text", path, value=value)
    hint = "This is JSON: keep its quotes, commas and brackets."
    return FormField(name, label, "json", path, hint=hint, value="" if value is None else json_text(value))
