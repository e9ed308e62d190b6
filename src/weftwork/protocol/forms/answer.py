"""Reads a submitted form: converts the text of each field to a value, and builds the answer."""

import math
import re
from collections.abc import Callable
from typing import Any, Final

from jsonschema_rs import ValidationError

from weftwork.protocol.errors import ClientFault, HostFault, invalid
from weftwork.protocol.forms.fields import FormField
from weftwork.protocol.forms.plan import FormButton, FormPlan, page_plan
from weftwork.protocol.json.caller_schema import check_value
from weftwork.protocol.json.decoder import MAX_INTEGER, decode
from weftwork.protocol.json.pointers import printable_token
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.json.values import ABSENT

JSON_SUFFIX: Final = ".json"
"""Suffix of the checkbox that marks the text of a `free` field as JSON."""
_NUMBER: Final = re.compile(r"[+-]?(?:\d{1,400}(?:\.\d{0,400})?|\.\d{1,400})(?:[eE][+-]?\d{1,4})?")
_WHOLE: Final = re.compile(r"[+-]?\d{1,17}")
ACTION_FIELD: Final = "action"
"""The `name` attribute of every submit button; its value is the action."""
_ANSWER_POINTER: Final = "/resumeValue"


def resume_value(question: dict[str, Any], fields: list[tuple[str, str]]) -> Any:
    """Convert a submitted form to the `resumeValue` that resolveInterruptByToken accepts.

    Only the fields of the pressed button are read. Raises ClientFault: `forbidden` if the page has no buttons, else a
    validation error. Its `pointer` and `field` name the first wrong field, and `violations` lists all of them.
    """
    plan = page_plan(question)
    if plan.closed_reason:
        raise ClientFault("forbidden", plan.closed_reason)
    sent: dict[str, list[str]] = {}
    for name, text in fields:
        sent.setdefault(name, []).append(text)
    button = _pressed_button(plan, sent.pop(ACTION_FIELD, []))
    field_names: set[str] = set()
    for field in (field for button in plan.buttons for field in button.fields):
        field_names |= {field.name, field.name + JSON_SUFFIX} if field.control == "free" else {field.name}
    if not sent.keys() <= field_names:
        raise invalid("The form has a field that is not on the page. Open the link again.", _ANSWER_POINTER)

    def read(field: FormField) -> Any:
        return read_field(field, sent.get(field.name, []), field.name + JSON_SUFFIX in sent)

    def pointer(field: FormField) -> str:
        return _ANSWER_POINTER + "".join(f"/{printable_token(str(name))}" for name in field.path)

    value = build_answer(button, read, pointer)
    if plan.schema is not None:
        violations = schema_violations(plan.schema, value, _ANSWER_POINTER)
        if violations:
            raise invalid(f"The answer does not match its schema: {violations[0].message}.", violations[0].pointer)
    return value


class UnreadableField(Exception):
    """The submitted text is not a valid value of its field. The message is a predicate: "must be a number"."""


def read_field(field: FormField, sent: list[str], as_json: bool = False) -> Any:
    """The value of a field, or ABSENT for an empty field that is left out. Raises UnreadableField."""
    filled = sent if field.control == "several" else [text for text in sent if text.strip()]
    if len(filled) > 1 and field.control != "several":
        raise UnreadableField("was sent more than once")
    if not filled and field.empty == "refuse":
        raise UnreadableField("is still empty")
    empty: dict[str, Any] = {"omit": ABSENT, "null": None, "list": list[Any](), "text": ""}
    value = _value(field, filled, as_json) if filled else empty[field.empty]
    if value is ABSENT:
        return value
    if field.schema is not None and (violations := schema_violations(field.schema, value, "")):
        raise UnreadableField(violations[0].message)
    return value


def schema_violations(schema: dict[str, Any], value: Any, at: str) -> list[Violation]:
    """Check a value against a schema, with pointers below `at`.

    Returns nothing if the schema itself is invalid: the engine validates the answer again and reports that.
    """
    try:
        return check_value(schema, value, at)
    except (HostFault, ValidationError):
        return []


def _value(field: FormField, sent: list[str], as_json: bool) -> Any:
    if field.control == "several":
        if len(set(sent)) < len(sent):
            raise UnreadableField("was sent more than once")
        return [_option(field, text) for text in sorted(sent, key=_option_index)]
    text = sent[0]
    if field.control == "choice":
        return _option(field, text)
    if field.control == "number":
        return _number(text.strip(), field.is_integer)
    if field.control == "json" or as_json:
        return _json(text)
    return text


def _option_index(text: str) -> int:
    return int(text) if re.fullmatch(r"[0-9]{1,4}", text) else -1


def _option(field: FormField, text: str) -> Any:
    index = _option_index(text)
    if not 0 <= index < len(field.options) or text != str(index):
        raise UnreadableField("must be one of the options")
    return field.options[index].value


def _number(text: str, whole: bool) -> int | float:
    if not text.isascii() or _NUMBER.fullmatch(text) is None:
        raise UnreadableField("must be a number")
    value = int(text) if _WHOLE.fullmatch(text) else float(text)
    if not math.isfinite(value) or (isinstance(value, int) and abs(value) > MAX_INTEGER):
        raise UnreadableField("is too large a number")
    if isinstance(value, float) and value.is_integer() and abs(value) <= MAX_INTEGER:
        value = int(value)
    if whole and not isinstance(value, int):
        raise UnreadableField("must be a whole number")
    return value


def _json(text: str) -> Any:
    try:
        return decode(text.encode())
    except ClientFault as fault:
        reason = fault.message[0].lower() + fault.message[1:].rstrip(".")
        raise UnreadableField(f"is not valid JSON: {reason}") from None


def _pressed_button(plan: FormPlan, actions: list[str]) -> FormButton:
    if not actions and len(plan.buttons) == 1:
        # A browser may submit a form with a single button without naming the button.
        return plan.buttons[0]
    pressed = [each for each in plan.buttons if [each.action] == actions]
    if not pressed:
        raise invalid("Press one of the buttons of the form.", f"{_ANSWER_POINTER}/{ACTION_FIELD}", field=ACTION_FIELD)
    return pressed[0]


def build_answer(button: FormButton, read: Callable[[FormField], Any], pointer: Callable[[FormField], str]) -> Any:
    """The answer that a button sends: `read` gives the value of a field or ABSENT, or raises UnreadableField.

    Raises a validation error whose `violations` list every wrong field, each with its `pointer`.
    """
    answer, violations = button.base, list[dict[str, str]]()
    for field in button.fields:
        try:
            value = read(field)
        except UnreadableField as error:
            message = f"{field.subject} {error}."
            violations.append({"pointer": pointer(field), "field": field.name, "message": message})
            continue
        if value is not ABSENT:
            answer = _set_path(answer, field.path, value)
    if violations:
        first = violations[0]
        raise invalid(first["message"], first["pointer"], field=first["field"], violations=violations)
    return answer


def _set_path(answer: Any, path: tuple[str | int, ...], value: Any) -> Any:
    """The answer with the value at the path. The given answer stays as it is."""
    if not path:
        return value
    step, *rest = path
    if isinstance(step, int):
        return [*answer[:step], _set_path(answer[step], tuple(rest), value), *answer[step + 1 :]]
    return {**answer, step: _set_path(answer.get(step), tuple(rest), value)}
