"""What the buttons of a surface send: from a stored surface, the id of a button and values to one answer.

A surface is bound to the interrupt that its node requests. The kind of the interrupt decides which buttons work and
which form the answer has. Nothing in a request is trusted: the button and the fields come from the stored surface.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from weftwork.protocol.errors import ClientFault, invalid
from weftwork.protocol.json.caller_schema import check_caller_schema, check_value
from weftwork.protocol.json.pointers import printable_token
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.surfaces.limits import MAX_VALUE
from weftwork.protocol.surfaces.surface import (
    Button,
    CheckboxField,
    DateField,
    Field,
    SelectField,
    Surface,
    Target,
    TextField,
)
from weftwork.protocol.timestamps import is_date

ACTION: Final = "action"
"""The member of an answer that names the pressed button."""
UNTRUSTED_CODE: Final = "untrusted_content_blocks_approval"
APPROVAL_TEXTS: Final = ("comment", "feedback", "reason", "question")
"""Field ids that become members of the answer to an approval; other fields are members of the edited artifact."""
EDIT_ACTION: Final = "edit-accept"
REFINE_ACTION: Final = "refine"
NEEDED_TEXTS: Final[dict[str, tuple[str, ...]]] = {REFINE_ACTION: ("feedback",), "ask": ("question", "feedback")}
"""appr-02: the actions of an approval that need a text, and the ids of the fields that can hold it."""
DATE: Final = r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$"
_DATE_LENGTH: Final = 10
_SAMPLE_DATE: Final = "2026-01-31"
_FILLED: Final = r"[^ \t\r\n]"
_MAX_PATTERNS: Final = 8
"""Fields with a pattern in one schema. A check of patterns has a bounded cost, so with more of them the host would
refuse long answers (protocol.json.caller_schema). The schema of a larger form only bounds the lengths."""
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,15})(?:\.[0-9]{1,16})?")
_TYPED: Final = ("integer", "number", "boolean")
"""Types of answers that a text is converted to."""
_TEXT_TYPES: Final = frozenset({"string", *_TYPED})
_EMPTY: Final = "This field must be filled in."
_TARGETS: Final[dict[str, Target]] = {
    "custom": "resume",
    "clarification": "resume",
    "approval": "resume",
    "conversation.exchange": "exchange",
}
"""surf-04 (RFC 0102, action confinement): the kinds of interrupts to which a surface can be bound, and the target of
the buttons that answer them."""


class BoundSurface(msgspec.Struct, frozen=True):
    """A surface and the interrupt that its buttons answer."""

    surface: Surface
    kind: str
    """The kind of the interrupt."""
    data: dict[str, Any] = {}
    """The data of the interrupt."""
    is_untrusted: bool = False

    @property
    def blocked_reason(self) -> str | None:
        """surf-05 (RFC 0102, trust): why none of the buttons works; None if they do."""
        if self.kind == "approval" and self.is_untrusted:
            return "This form contains content from an untrusted source, so it cannot answer an approval."
        return None

    def inert_reason(self, button: Button) -> str | None:
        """surf-04: why this button does not work here; None if it does."""
        target = _TARGETS.get(self.kind)
        if button.action.target != target:
            where = "a conversation" if button.action.target == "exchange" else "a question"
            return f"This button belongs to {where}, and this form does not."
        if self.kind == "approval" and button.id not in self.data.get("actions", ()):
            return "This approval does not offer the action of this button."
        if self.kind == "approval" and button.id in NEEDED_TEXTS and not self.text_ids(button):
            return "This form has no field for the text that this button must send."
        return None

    def must_fill_in(self, field: Field) -> bool:
        """surf-07: whether the buttons need a value of this field. A clarification needs an answer to each question,
        unless the schema of the question allows null."""
        if _is_required(field) or self.kind != "clarification":
            return _is_required(field)
        return not isinstance(field, CheckboxField) and not _allows_null(_question_schemas(self.data).get(field.id))

    def text_ids(self, button: Button) -> list[str]:
        """The fields of the surface that can hold the text that a button of an approval needs."""
        needed = NEEDED_TEXTS.get(button.id, ()) if self.kind == "approval" else ()
        texts = {each.id for each in self.surface.fields if not isinstance(each, CheckboxField)}
        return [name for name in needed if name in texts]


def check_binding(bound: BoundSurface, at: str = "/surface") -> list[Violation]:
    """surf-06 (RFC 0102): why a person could not answer the interrupt with this surface. Empty if they can."""
    surface = bound.surface
    if all(bound.inert_reason(each) for each in surface.buttons):
        where = f"{at}/components"
        if bound.kind == "approval":
            offered = bound.data.get("actions", ())
            needs = [f"; {name} needs a field {ids[0]}" for name, ids in NEEDED_TEXTS.items() if name in offered]
            text = f"must have a button whose id is one of: {', '.join(offered)}{''.join(needs)}"
        else:
            text = f'must have a button with the target "{_TARGETS.get(bound.kind, "resume")}"'
        return [Violation(where, "action", text)]
    if bound.kind == "approval" and not any(_edits(bound, each) for each in surface.buttons):
        others = [each.id for each in surface.fields if each.id not in APPROVAL_TEXTS]
        if others:
            text = (
                f"must have only the fields {', '.join(APPROVAL_TEXTS)}, unless it has a button with the id "
                f"{EDIT_ACTION} that the approval offers; this one differs: {others[0]}"
            )
            return [Violation(f"{at}/components", "fields", text)]
    if bound.kind == "clarification":
        asked = _question_schemas(bound.data)
        if (ids := {each.id for each in surface.fields}) != asked.keys():
            names = ", ".join(printable_token(each) for each in sorted(ids ^ asked.keys())[:5])
            text = f"must have one field for each question, with the id of the question; these differ: {names}"
            return [Violation(f"{at}/components", "questions", text)]
    if (mismatch := _mismatch(bound)) is not None:
        return [Violation(f"{at}/components", "values", mismatch)]
    return []


def _mismatch(bound: BoundSurface) -> str | None:
    """surf-06: why a field has no value that the answer could have; None if all fields have one."""
    fields = bound.surface.fields
    if bound.kind == "approval":
        boxes = [each.id for each in fields if isinstance(each, CheckboxField) and each.id in APPROVAL_TEXTS]
        return f"must not have a check box for a text of the answer: {boxes[0]}" if boxes else None
    schemas = _question_schemas(bound.data) if bound.kind == "clarification" else {}
    wrong = next((each.id for each in fields if not _has_answer(each, schemas.get(each.id))), None)
    return wrong and f"must have fields whose values match the schemas of their questions; this one does not: {wrong}"


def _has_answer(field: Field, schema: Any) -> bool:
    """Whether a value of the field may match the schema of its question. Of texts, only the type is known before."""
    # A question whose schema the host does not support takes any answer.
    if not is_object(schema) or check_caller_schema(schema, ""):
        return True
    match field:
        case CheckboxField():
            values: list[Any] = [True, False]
        case SelectField():
            values = [_typed(each.value, schema) for each in field.options]
        case _:
            types = _types(schema)
            return not types or not types.isdisjoint({"string"} if isinstance(field, DateField) else _TEXT_TYPES)
    return any(not check_value(schema, each, "") for each in values)


def resolve_action(
    bound: BoundSurface, action_id: str, values: Mapping[str, Any], drop_unknown: bool = False
) -> dict[str, Any]:
    """surf-07 (readings, Resume value of a surface action): the answer that a button sends with these values.

    Raises ClientFault. `drop_unknown` drops values without a field, for forms whose submission may contain more.
    """
    button = find_button(bound.surface, action_id)
    if (reason := bound.blocked_reason) is not None:
        raise ClientFault(UNTRUSTED_CODE, f"{reason} Decide with the actions of the approval itself.")
    if (reason := bound.inert_reason(button)) is not None:
        raise invalid(reason, "/actionId")
    refuse_unknown_fields(bound.surface, values, drop_unknown)
    read = _read_values(bound, button, values)
    match bound.kind:
        case "clarification":
            schemas = _question_schemas(bound.data)
            typed = {name: _typed(value, schemas.get(name)) for name, value in read.items()}
            # Only questions that take null may have a field without a value.
            return {"answers": {each.id: typed.get(each.id) for each in bound.surface.fields}}
        case "approval":
            return _approval_answer(button.id, read)
        case _:
            # Last, so that no field can replace it.
            return {**read, ACTION: button.id}


def find_button(surface: Surface, action_id: str) -> Button:
    """surf-07: the button with this id. Raises ClientFault."""
    button = next((each for each in surface.buttons if each.id == action_id), None)
    if button is None:
        names = [each.id for each in surface.buttons]
        raise invalid("The form has no button with this id.", "/actionId", supported=names)
    return button


def refuse_unknown_fields(surface: Surface, values: Mapping[str, Any], drop_unknown: bool = False) -> None:
    """surf-07: raises ClientFault for a value without a field, unless unknown values are dropped."""
    known = [each.id for each in surface.fields]
    ids = set(known)
    unknown = [name for name in values if name not in ids]
    if unknown and not drop_unknown:
        pointer = f"/values/{printable_token(unknown[0])}"
        raise invalid("The form has no field with this id.", pointer, supported=known)


def answer_schema(surface: Surface, target: Target) -> dict[str, Any]:
    """surf-08 (host): the schema of what the buttons with this target send, so that an answer by any other route obeys
    the same rules."""
    buttons = [each.id for each in surface.buttons if each.action.target == target]
    with_pattern = [each for each in surface.fields if isinstance(each, DateField | TextField) and _needs_pattern(each)]
    has_patterns = len(with_pattern) <= _MAX_PATTERNS
    properties: dict[str, Any] = {each.id: _field_schema(each, has_patterns) for each in surface.fields}
    required = [each.id for each in surface.fields if not isinstance(each, CheckboxField) and each.required]
    return {
        "type": "object",
        "required": [ACTION, *required],
        "properties": {ACTION: {"type": "string", "enum": buttons}, **properties},
        "additionalProperties": False,
    }


def target_of(kind: str) -> Target | None:
    """surf-04: the target of the buttons that answer an interrupt of this kind; None if no surface can."""
    return _TARGETS.get(kind)


def _is_required(field: Field) -> bool:
    return not isinstance(field, CheckboxField) and field.required


def _needs_pattern(field: DateField | TextField) -> bool:
    return isinstance(field, DateField) or field.required


def _field_schema(field: Field, has_patterns: bool) -> dict[str, Any]:
    match field:
        case CheckboxField():
            return {"type": "boolean", "title": field.label}
        case SelectField():
            return {"type": "string", "title": field.label, "enum": [each.value for each in field.options]}
        case DateField():
            # The pattern is the rule. The other two tell clients which control to show and what to send.
            described = {"format": "date", "examples": [_SAMPLE_DATE]}
            form = {"pattern": DATE} if has_patterns else {"minLength": _DATE_LENGTH, "maxLength": _DATE_LENGTH}
            return {"type": "string", "title": field.label, **form, **described}
        case _:
            schema = {"type": "string", "title": field.label, "maxLength": MAX_VALUE}
            form = {"pattern": _FILLED} if has_patterns else {"minLength": 1}
            return {**schema, **form} if field.required else schema


def _read_values(bound: BoundSurface, button: Button, values: Mapping[str, Any]) -> dict[str, Any]:
    """The values by field id. A field without a value is left out; a checkbox then has its default."""
    read: dict[str, Any] = {}
    errors: dict[str, str] = {}
    for field in bound.surface.fields:
        value = values.get(field.id)
        if value is None or (isinstance(value, str) and not value.strip()):
            if isinstance(field, CheckboxField):
                read[field.id] = field.default
            elif bound.must_fill_in(field):
                errors[field.id] = _EMPTY
        else:
            read[field.id] = value
            if (error := value_error(field, value)) is not None:
                errors[field.id] = error
    texts = bound.text_ids(button)
    if texts and not any(name in read for name in texts):
        errors.setdefault(texts[0], _EMPTY)
    if errors:
        pointers = {name: f"/values/{printable_token(name)}" for name in errors}
        listed = [{"pointer": pointers[name], "field": name, "message": text} for name, text in errors.items()]
        first = listed[0]
        raise invalid(first["message"], first["pointer"], field=first["field"], violations=listed)
    return read


def value_error(field: Field, value: Any) -> str | None:
    """surf-07: why the value, which is not empty, does not fit the field; None if it does."""
    if isinstance(field, CheckboxField):
        return None if isinstance(value, bool) else "The value of this field must be true or false."
    if not isinstance(value, str):
        return "The value of this field must be a text."
    if isinstance(field, SelectField):
        return None if value in [each.value for each in field.options] else "The value must be one of the options."
    if isinstance(field, DateField):
        return None if is_date(value) else f"The value must be a date such as {_SAMPLE_DATE}."
    return None if len(value) <= MAX_VALUE else f"The value must have {MAX_VALUE} or fewer characters."


def _question_schemas(data: Mapping[str, Any]) -> dict[str, Any]:
    questions = data.get("questions")
    return {each["id"]: each.get("schema") for each in questions} if is_array(questions) else {}


def _types(schema: Any) -> set[str]:
    """The types that a schema lists; none if it takes any."""
    declared: Any = schema.get("type") if is_object(schema) else None
    return {each for each in (declared if is_array(declared) else [declared]) if isinstance(each, str)}


def _allows_null(schema: Any) -> bool:
    return is_object(schema) and not check_caller_schema(schema, "") and not check_value(schema, None, "")


def _typed(value: Any, schema: Any) -> Any:
    """A text as the number or truth value that the schema of its question expects. Other values stay as they are, and
    the question's own rules judge them."""
    types = _types(schema) - {"null"}
    expected = next(iter(types)) if len(types) == 1 else None
    if not isinstance(value, str) or expected not in _TYPED:
        return value
    text = value.strip()
    if expected == "boolean":
        return {"true": True, "false": False}.get(text.lower(), value)
    if _NUMBER.fullmatch(text) is None:
        return value
    return int(text) if "." not in text else float(text)


def _edits(bound: BoundSurface, button: Button) -> bool:
    return button.id == EDIT_ACTION and bound.inert_reason(button) is None


def _approval_answer(action: str, values: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = {name: value for name, value in values.items() if name in APPROVAL_TEXTS}
    if action == EDIT_ACTION:
        answer["editedArtifactData"] = {name: value for name, value in values.items() if name not in APPROVAL_TEXTS}
    if action == REFINE_ACTION and "feedback" in answer:
        answer["refineFeedback"] = {"scope": "whole", "text": answer.pop("feedback")}
    return {**answer, ACTION: action}
