"""The plan of a form: which buttons there are, which fields belong to each, and what pressing one sends.

The page is drawn from the plan and the answer is read by it, so the two cannot disagree. A plan is made of any
question: one that is not as the rules say is asked for with a field for free text.
"""

from typing import Any, Final, Literal

import msgspec

from weftwork.adapters.http.page.display_text import HIDDEN_CHARACTERS, json_text
from weftwork.adapters.http.page.form_fields import Field, Room, field_for, fields_of, followed, numbered
from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.people.approvals import AUTH_REQUIRED, MAX_TEXT
from weftwork.protocol.people.interrupt_validation import check_interrupt
from weftwork.protocol.privacy.secret_matcher import redaction_marker
from weftwork.protocol.run.interrupts import NON_BLOCKING_KINDS, Interrupt
from weftwork.protocol.workflow.orchestration import ratification_schema

Tone = Literal["go", "stop", "plain"]

SEND: Final = "send"
MARKER: Final = redaction_marker("")[:-1]
"""How a text begins that stands for something hidden. What holds one is never sent back as if it were the value."""
MAX_EDITED: Final = 50_000
"""Characters of what can be edited on the page."""
_COMMENT: Final = Field(
    "comment",
    "Comment",
    "text",
    ("comment",),
    {"type": "string", "maxLength": MAX_TEXT},
    "omit",
    "Goes along with your decision.",
)


class Choice(msgspec.Struct, frozen=True):
    """One button. The answer is `base` with the values of the fields put in at their paths."""

    action: str
    label: str
    fields: tuple[Field, ...] = ()
    base: Any = None
    tone: Tone = "go"
    aside: str = ""
    """What it is for, if it stands apart from the others, with its fields."""


_REFUSAL: Final = Choice("reject", "Reject", (), {"action": "reject"}, "stop")


class Plan(msgspec.Struct, frozen=True):
    """How a question is answered. Without choices it only can be read, and `closed` says why."""

    choices: tuple[Choice, ...] = ()
    schema: dict[str, Any] | None = None
    """What the whole answer must fit."""
    closed: str = ""
    odd: bool = False
    """The question is not as the rules say: it is shown as it is."""


def plan_for(question: dict[str, Any]) -> Plan:
    """The plan of any question, as GET /v1/interrupts/{token} shows it."""
    try:
        plan = Plan((_free(),), odd=True) if is_odd(question) else _drawn(question)
    except (AttributeError, KeyError, TypeError):
        # A schema that is none, which no question has that this host asked.
        plan = Plan((_free(),), odd=True)
    if question.get("intent") == "inspect":
        return Plan(
            plan.choices, plan.schema, "This link only shows the question. It cannot be answered with it.", plan.odd
        )
    return plan


def is_odd(question: dict[str, Any]) -> bool:
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
        return bool(check_interrupt(Interrupt(kind, "key", _bare(data))))
    except (ValueError, TypeError, RecursionError):
        # Not JSON at all.
        return True


def _bare(data: dict[str, Any]) -> dict[str, Any]:
    """The data of a question without the schemas in it, if they are objects."""
    kept = {name: each for name, each in data.items() if name != "outcomeSchema" or not is_object(each)}
    if is_array(listed := data.get("questions")):
        kept["questions"] = [_unschemed(each) if is_object(each) else each for each in listed]
    return kept


def _unschemed(question: dict[str, Any]) -> dict[str, Any]:
    return {name: each for name, each in question.items() if name != "schema" or not is_object(each)}


def _drawn(question: dict[str, Any]) -> Plan:
    data: dict[str, Any] = question["data"]
    schema: dict[str, Any] | None = question.get("resumeSchema")
    match question["kind"]:
        case "approval":
            return _approval(data)
        case "clarification":
            return Plan((_clarification(data["questions"]),), schema)
        case "external-event":
            return Plan((_event(data["correlation"], schema),), schema)
        case "low-confidence" if "decision" in data:
            decided = _ratification(data["decision"])
            # Of a question without a schema nobody knows what a no would mean.
            return Plan((*decided, _REFUSAL) if schema == ratification_schema() else decided, schema)
        case _:
            schema = schema if schema is not None else data.get("outcomeSchema")
            return Plan((_answer(schema),), schema)


def _approval(data: dict[str, Any]) -> Plan:
    actions = data["actions"]
    choices = [
        Choice("accept", "Approve", (_COMMENT,), {"action": "accept"}),
        Choice("reject", "Reject", (_COMMENT,), {"action": "reject"}, "stop"),
        Choice(
            "refine",
            "Ask for changes",
            (Field("refine", "What should change?", "text", ("refineFeedback", "text"), _COMMENT.schema),),
            {"action": "refine", "refineFeedback": {"scope": "whole"}},
            "plain",
            "Send it back and say what should change.",
        ),
        Choice(
            "edit-accept",
            "Approve with my changes",
            (_edited("edit", "Your version", data.get("artifactData"), ("editedArtifactData",)),),
            {"action": "edit-accept"},
            "plain",
            "Change it yourself and approve what you have changed.",
        ),
        Choice(
            "ask",
            "Ask a question",
            (Field("ask", "Your question", "text", ("question",), _COMMENT.schema),),
            {"action": "ask"},
            "plain",
            "Ask before you decide. The decision stays open.",
        ),
    ]
    offered = [each for each in choices if each.action in actions]
    artifact = json_text(data.get("artifactData"))
    if len(artifact) > MAX_EDITED or MARKER in artifact:
        offered = [each for each in offered if each.action != "edit-accept"]
    closed = "This decision takes an account: a link is not enough for it." if _needs_key(data) else ""
    return Plan(
        tuple(offered),
        closed=closed or ("" if offered else "This cannot be edited here: it is too long, or part of it is hidden."),
    )


def _needs_key(data: dict[str, Any]) -> bool:
    return data.get("profile") == AUTH_REQUIRED


def _clarification(questions: list[dict[str, Any]]) -> Choice:
    fields, room = list[Field](), Room()
    for index, each in enumerate(questions):
        schema = each.get("schema", {"type": "string"})
        schema = followed(schema, schema)
        fields.append(field_for(f"f{index}", each["question"], schema, ("answers", each["id"]), "refuse", room))
    return Choice(SEND, "Send answers" if len(fields) > 1 else "Send answer", numbered(fields), {"answers": {}})


def _event(correlation: dict[str, Any], schema: dict[str, Any] | None) -> Choice:
    if MARKER in json_text(correlation):
        # Whoever sends the event knows what belongs to it.
        return Choice(SEND, "Send the event", (_edited("answer", "The event", None, ()),))
    found = fields_of(schema, correlation) if schema is not None else None
    if found is not None:
        return Choice(SEND, "Send the event", found.fields, found.base)
    field = _edited("answer", "The event", correlation, ())
    return Choice(SEND, "Send the event", (field,))


def _ratification(decision: Any) -> tuple[Choice, ...]:
    if MARKER in json_text(decision):
        return (Choice("edit", "Send my version", (_edited("edit", "The decision as it should be", None, ()),)),)
    field = _edited("edit", "The decision as it should be", decision, ())
    changed = Choice("edit", "Send my version", (field,), None, "plain", "Change the decision first.")
    ratified = Choice("ratify", "Confirm this decision", (), decision)
    return (ratified, changed) if len(json_text(decision)) <= MAX_EDITED else (ratified,)


def _answer(schema: dict[str, Any] | None) -> Choice:
    if schema is None:
        return _free()
    found = fields_of(schema, {})
    if found is not None:
        return Choice(SEND, "Send answer", found.fields, found.base)
    return Choice(SEND, "Send answer", (field_for("answer", "Your answer", followed(schema, schema), (), "refuse"),))


def _free() -> Choice:
    return Choice(SEND, "Send answer", (Field("answer", "Your answer", "free"),))


def _edited(name: str, label: str, value: Any, path: tuple[str, ...]) -> Field:
    """A field that holds what is there already: a plain text as such, anything else as JSON."""
    if isinstance(value, str) and not HIDDEN_CHARACTERS.search(value) and value.strip():
        return Field(name, label, "text", path, value=value)
    hint = "This is JSON: keep its quotes, commas and brackets."
    return Field(name, label, "json", path, hint=hint, value="" if value is None else json_text(value))
