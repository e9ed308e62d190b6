"""Reads a submitted form: decodes its body, converts each field to a value, and builds the answer."""

import math
import re
from copy import deepcopy
from typing import Any, Final
from urllib.parse import unquote_to_bytes

from jsonschema_rs import ValidationError

from weftwork.adapters.http.page.form_fields import FormField
from weftwork.adapters.http.page.form_plan import FormButton, FormPlan, plan_for
from weftwork.protocol.errors import ClientFault, HostFault, invalid
from weftwork.protocol.json.caller_schema import check_value
from weftwork.protocol.json.decoder import MAX_INTEGER, decode
from weftwork.protocol.json.pointers import printable_token
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.json.values import ABSENT

JSON_SUFFIX: Final = ".json"
"""Ends the name of the box that says that a free text is JSON."""
_NUMBER: Final = re.compile(r"[+-]?(?:\d{1,400}(?:\.\d{0,400})?|\.\d{1,400})(?:[eE][+-]?\d{1,4})?")
_WHOLE: Final = re.compile(r"[+-]?\d{1,17}")
MAX_FORM_BYTES: Final = 1_048_576
MAX_FIELDS: Final = 1_000
MAX_NAME: Final = 64
MAX_VALUE: Final = 65_536
"""Characters of one value."""
ACTION_FIELD: Final = "action"
"""The name of the buttons."""
_ANSWER_POINTER: Final = "/resumeValue"
_ENCODED: Final = re.compile(rb"(?:[!#-$'-~]|%[0-9A-Fa-f]{2})*")
"""Printable ASCII without quotes, `%` only before two digits; `&` has been taken out before."""


def decode_form(body: bytes) -> list[tuple[str, str]]:
    """The fields of a body of the type application/x-www-form-urlencoded, in their order. Raises ClientFault.

    Strict: printable ASCII in pairs with a `=`, which stand for UTF-8 without NUL. Line ends become line feeds.
    """
    if len(body) > MAX_FORM_BYTES:
        raise invalid(f"The form is larger than {MAX_FORM_BYTES} bytes.")
    if body.count(b"&") >= MAX_FIELDS:
        raise invalid(f"The form has more than {MAX_FIELDS} fields.")
    fields: list[tuple[str, str]] = []
    for pair in body.split(b"&") if body else ():
        name, equals, value = pair.partition(b"=")
        if not equals or not name or _ENCODED.fullmatch(pair) is None:
            raise invalid("The form is not as a browser sends it.")
        fields.append((_text(name, MAX_NAME), _text(value, MAX_VALUE)))
    return fields


def _text(encoded: bytes, limit: int) -> str:
    try:
        text = unquote_to_bytes(encoded.replace(b"+", b" ")).decode("utf-8")
    except UnicodeDecodeError:
        raise invalid("The form is not valid UTF-8.") from None
    if "\0" in text:
        raise invalid("The form holds NUL.")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if len(text) > limit:
        raise invalid(f"A field of the form is longer than {limit} characters.")
    return text


def resume_value(question: dict[str, Any], fields: list[tuple[str, str]]) -> Any:
    """The answer that a filled form stands for, as resolveInterruptByToken takes it. Raises ClientFault.

    Only fields that belong to the pressed button are read. Errors name the place in the answer and, as `field`, the
    name of the field; `violations` lists them all.
    """
    plan = plan_for(question)
    if plan.closed_reason:
        raise ClientFault("forbidden", plan.closed_reason)
    sent: dict[str, list[str]] = {}
    for name, text in fields:
        sent.setdefault(name, []).append(text)
    choice = _pressed_button(plan, sent.pop(ACTION_FIELD, []))
    known: set[str] = set()
    for field in (field for button in plan.buttons for field in button.fields):
        known |= {field.name, field.name + JSON_SUFFIX} if field.control == "free" else {field.name}
    if not sent.keys() <= known:
        raise invalid("The form has a field that was not asked for.", _ANSWER_POINTER)
    value = _build_answer(choice, sent)
    if plan.schema is not None:
        wrong = schema_violations(plan.schema, value, _ANSWER_POINTER)
        if wrong:
            raise invalid(f"The answer does not fit what was asked: {wrong[0].message}.", wrong[0].pointer)
    return value


class UnreadableField(Exception):
    """What was sent for a field stands for no value; the text says what would."""


def read_field(field: FormField, sent: list[str], as_json: bool = False) -> Any:
    """The value, or ABSENT for a field that may be left empty. Raises Unreadable."""
    filled = sent if field.control == "several" else [text for text in sent if text.strip()]
    if len(filled) > 1 and field.control != "several":
        raise UnreadableField("was sent more than once")
    if not filled and field.empty == "refuse":
        raise UnreadableField("is still empty")
    empty: dict[str, Any] = {"omit": ABSENT, "null": None, "list": list[Any]()}
    value = _value(field, filled, as_json) if filled else empty[field.empty]
    if value is ABSENT:
        return value
    if field.schema is not None and (wrong := schema_violations(field.schema, value, "")):
        raise UnreadableField(wrong[0].message)
    return value


def schema_violations(schema: dict[str, Any], value: Any, at: str) -> list[Violation]:
    """What keeps a value from fitting; nothing where only the host can say, since the schema is none."""
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
    place = _option_index(text)
    if not 0 <= place < len(field.options) or text != str(place):
        raise UnreadableField("takes one of the answers that are offered")
    return field.options[place].value


def _number(text: str, whole: bool) -> int | float:
    if not text.isascii() or _NUMBER.fullmatch(text) is None:
        raise UnreadableField("must be a number")
    value = int(text) if _WHOLE.fullmatch(text) else float(text)
    if not math.isfinite(value) or (isinstance(value, int) and abs(value) > MAX_INTEGER):
        raise UnreadableField("is a number too large")
    if isinstance(value, float) and value.is_integer() and abs(value) <= MAX_INTEGER:
        value = int(value)
    if whole and not isinstance(value, int):
        raise UnreadableField("must be a whole number")
    return value


def _json(text: str) -> Any:
    try:
        return decode(text.encode())
    except ClientFault as fault:
        said = fault.message[0].lower() + fault.message[1:].rstrip(".")
        raise UnreadableField(f"is not JSON as it should be: {said}") from None


def _pressed_button(plan: FormPlan, actions: list[str]) -> FormButton:
    """The button. Where there is only one, a browser need not name it."""
    if not actions and len(plan.buttons) == 1:
        return plan.buttons[0]
    found = [each for each in plan.buttons if [each.action] == actions]
    if not found:
        raise invalid("Press one of the buttons of the form.", f"{_ANSWER_POINTER}/{ACTION_FIELD}", field=ACTION_FIELD)
    return found[0]


def _build_answer(choice: FormButton, sent: dict[str, list[str]]) -> Any:
    value, wrong = deepcopy(choice.base), list[dict[str, str]]()
    for field in choice.fields:
        try:
            found = read_field(field, sent.get(field.name, []), field.name + JSON_SUFFIX in sent)
        except UnreadableField as error:
            pointer = _ANSWER_POINTER + "".join(f"/{printable_token(name)}" for name in field.path)
            wrong.append({"pointer": pointer, "field": field.name, "message": f"{field.subject} {error}."})
            continue
        if found is not ABSENT:
            value = _set_path(value, field.path, found)
    if wrong:
        raise invalid(wrong[0]["message"], wrong[0]["pointer"], field=wrong[0]["field"], violations=wrong)
    return value


def _set_path(value: Any, path: tuple[str, ...], found: Any) -> Any:
    if not path:
        return found
    place = value
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = found
    return value
