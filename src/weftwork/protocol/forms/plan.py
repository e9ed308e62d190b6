"""The plan of a form: its buttons, the fields of each button, and the answer that each button sends.

Both the page and the reader of the submitted form use the plan, so the two cannot disagree. Every question has a plan:
a malformed question gets one field for free text.
"""

from typing import Any, Final, Literal

import msgspec

from weftwork.protocol.forms.fields import (
    FormField,
    OptionBudget,
    field_for,
    object_fields,
    resolve_refs,
    with_numbers,
)
from weftwork.protocol.forms.parts import part_fields
from weftwork.protocol.forms.visible_text import HIDDEN_CHARACTERS, json_text
from weftwork.protocol.json.values import ABSENT, is_array, is_object
from weftwork.protocol.people.approvals import AUTH_REQUIRED, MAX_TEXT
from weftwork.protocol.people.interrupt_validation import check_interrupt
from weftwork.protocol.privacy.secret_matcher import MARKER_PREFIX
from weftwork.protocol.run.interrupts import NON_BLOCKING_KINDS, Interrupt
from weftwork.protocol.workflow.orchestration import ratification_schema

Tone = Literal["go", "stop", "plain"]

SEND: Final = "send"
MAX_EDITABLE: Final = 50_000
"""Maximum length, in characters of JSON, of a value that the page offers for editing."""
_COMMENT_FIELD: Final = FormField(
    "comment",
    "Comment",
    "text",
    ("comment",),
    {"type": "string", "maxLength": MAX_TEXT},
    "omit",
    "Sent together with your decision.",
)


class FormButton(msgspec.Struct, frozen=True):
    """One button. Its answer is `base` with the value of each field set at the field's path."""

    action: str
    label: str
    fields: tuple[FormField, ...] = ()
    base: Any = None
    tone: Tone = "go"
    aside: str = ""
    """If set, the button and its fields are in a collapsed section with this summary."""


APPROVAL_LABELS: Final = {
    "accept": "Approve",
    "reject": "Reject",
    "refine": "Ask for changes",
    "edit-accept": "Approve with my changes",
    "ask": "Ask a question",
}
"""surf-70 (host): what the host calls each action of an approval. A surface chooses the labels of its buttons, so a
renderer shows this text too."""
_REJECT_BUTTON: Final = FormButton("reject", APPROVAL_LABELS["reject"], (), {"action": "reject"}, "stop")


class FormPlan(msgspec.Struct, frozen=True):
    """How a question can be answered."""

    buttons: tuple[FormButton, ...] = ()
    schema: dict[str, Any] | None = None
    """The schema of the whole answer."""
    closed_reason: str = ""
    """If set, the question can only be read, and this is the reason for the reader."""
    is_malformed: bool = False
    """The question does not have the form of its kind, so its data is shown as JSON."""


def page_plan(question: dict[str, Any]) -> FormPlan:
    """`plan_for` the page, whose form shows what is there already: it edits a value by fields, one for each part."""
    return plan_for(question, by_parts=True)


def plan_for(question: dict[str, Any], by_parts: bool = False) -> FormPlan:
    """The plan of a question, in the form that inspectInterruptByToken returns. Never raises for JSON.

    A value that contains a redaction marker is never offered for editing: an answer must not contain the marker in
    place of the redacted value.
    """
    try:
        plan = (
            FormPlan((_free_text_button(),), is_malformed=True)
            if is_malformed(question)
            else _build_plan(question, by_parts)
        )
    except (AttributeError, KeyError, TypeError):
        # An invalid schema. This host validates schemas before it records a question, so this data is not its own.
        plan = FormPlan((_free_text_button(),), is_malformed=True)
    if question.get("intent") == "inspect":
        reason = "This link only shows the question. You cannot answer with it."
        return msgspec.structs.replace(plan, closed_reason=reason)
    return plan


def is_malformed(question: dict[str, Any]) -> bool:
    """Whether the question does not have the form that this host gives to its kind.

    Schemas in the question are not checked again. They were validated when the question was recorded, and anyone with
    the link can request the page any number of times, so a view must stay cheap.
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

    def without(value: Any, schema_name: str) -> Any:
        if not is_object(value):
            return value
        return {name: each for name, each in value.items() if name != schema_name or not is_object(each)}

    bare = without(data, "outcomeSchema")
    if is_array(questions := data.get("questions")):
        bare["questions"] = [without(each, "schema") for each in questions]
    return bare


def _build_plan(question: dict[str, Any], by_parts: bool) -> FormPlan:
    data: dict[str, Any] = question["data"]
    schema: dict[str, Any] | None = question.get("resumeSchema")
    match question["kind"]:
        case "approval":
            return _approval_plan(data, by_parts)
        case "clarification":
            return FormPlan((_clarification_button(data["questions"]),), schema)
        case "external-event":
            return FormPlan((_event_button(data["correlation"], schema),), schema)
        case "low-confidence" if "decision" in data:
            # Only the schema of a supervisor defines a rejection; elsewhere it would be an answer like any other. Its
            # decisions have other members for each kind, so they are edited as a whole.
            is_supervisor = schema == ratification_schema()
            buttons = _ratification_buttons(data["decision"], by_parts and not is_supervisor)
            return FormPlan((*buttons, _REJECT_BUTTON) if is_supervisor else buttons, schema)
        case _:
            schema = schema if schema is not None else data.get("outcomeSchema")
            return FormPlan((_answer_button(schema),), schema)


def _approval_plan(data: dict[str, Any], by_parts: bool) -> FormPlan:
    refine = FormField("refine", "What should change?", "text", ("refineFeedback", "text"), _COMMENT_FIELD.schema)
    refine_aside = "Send it back and describe what should change."
    feedback = {"action": "refine", "refineFeedback": {"scope": "whole"}}
    edited = "editedArtifactData"
    fields, whole = _editable_fields("edit", "Your version", data.get("artifactData"), (edited,), by_parts)
    edit_base = {"action": "edit-accept", **({} if whole is ABSENT else {edited: whole})}
    edit_aside = "Edit it yourself and approve your version."
    ask = FormField("ask", "Your question", "text", ("question",), _COMMENT_FIELD.schema)
    ask_aside = "Ask a question before you decide. The approval stays open."
    buttons = [
        FormButton("accept", APPROVAL_LABELS["accept"], (_COMMENT_FIELD,), {"action": "accept"}),
        FormButton("reject", APPROVAL_LABELS["reject"], (_COMMENT_FIELD,), {"action": "reject"}, "stop"),
        FormButton("refine", APPROVAL_LABELS["refine"], (refine,), feedback, "plain", refine_aside),
        FormButton("edit-accept", APPROVAL_LABELS["edit-accept"], fields, edit_base, "plain", edit_aside),
        FormButton("ask", APPROVAL_LABELS["ask"], (ask,), {"action": "ask"}, "plain", ask_aside),
    ]
    offered = [each for each in buttons if each.action in data["actions"]]
    artifact = json_text(data.get("artifactData"))
    if len(artifact) > MAX_EDITABLE or MARKER_PREFIX in artifact:
        offered = [each for each in offered if each.action != "edit-accept"]
    closed = "" if offered else "You cannot edit this here: it is too long, or part of it is hidden."
    if data.get("profile") == AUTH_REQUIRED:
        closed = "This decision requires an account. A link is not enough."
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
    # The correlation is not asked for: it identifies the event, so the host adds it to the answer.
    is_redacted = MARKER_PREFIX in json_text(correlation)
    members = object_fields(schema, correlation) if schema is not None and not is_redacted else None
    if members is not None:
        return FormButton(SEND, "Send the event", members.fields, members.base)
    field = _editable_field("answer", "The event", None if is_redacted else correlation, ())
    return FormButton(SEND, "Send the event", (field,))


def _ratification_buttons(decision: Any, by_parts: bool) -> tuple[FormButton, ...]:
    is_redacted = MARKER_PREFIX in json_text(decision)
    field = _editable_field("edit", "Your version of the decision", None if is_redacted else decision, ())
    if is_redacted:
        return (FormButton("edit", "Send my version", (field,)),)
    fields, whole = _editable_fields("edit", field.label, decision, (), by_parts)
    base = None if whole is ABSENT else whole
    changed = FormButton("edit", "Send my version", fields, base, "plain", "Edit the decision before you send it.")
    ratified = FormButton("ratify", "Confirm this decision", (), decision)
    return (ratified, changed) if len(json_text(decision)) <= MAX_EDITABLE else (ratified,)


def _answer_button(schema: dict[str, Any] | None) -> FormButton:
    if schema is None:
        return _free_text_button()
    members = object_fields(schema, {})
    if members is not None:
        return FormButton(SEND, "Send answer", members.fields, members.base)
    return FormButton(
        SEND, "Send answer", (field_for("answer", "Your answer", resolve_refs(schema, schema), (), "refuse"),)
    )


def _free_text_button() -> FormButton:
    return FormButton(SEND, "Send answer", (FormField("answer", "Your answer", "free"),))


def _editable_fields(
    name: str, label: str, value: Any, path: tuple[str | int, ...], by_parts: bool
) -> tuple[tuple[FormField, ...], Any]:
    """One field for each part of a value, and the value itself, in which they replace the parts; else one field with
    the whole value, and ABSENT."""
    parts = part_fields(name, label, value, path) if by_parts else ()
    return (parts, value) if parts else ((_editable_field(name, label, value, path),), ABSENT)


def _editable_field(name: str, label: str, value: Any, path: tuple[str | int, ...]) -> FormField:
    """A field with an initial value: a string without hidden characters as text, any other value as JSON."""
    if isinstance(value, str) and not HIDDEN_CHARACTERS.search(value) and value.strip():
        return FormField(name, label, "text", path, value=value)
    hint = "This is JSON: keep its quotes, commas and brackets."
    return FormField(name, label, "json", path, hint=hint, value="" if value is None else json_text(value))
