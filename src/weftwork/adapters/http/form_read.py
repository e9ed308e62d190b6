"""Reading a field: from the texts that a browser sends for it to the value that it stands for."""

import math
import re
from typing import Any, Final

from jsonschema_rs import ValidationError

from weftwork.adapters.http.form_field import Field
from weftwork.protocol.caller_schema import check_value
from weftwork.protocol.decode import MAX_INTEGER, decode
from weftwork.protocol.errors import ClientFault, HostFault
from weftwork.protocol.json_value import ABSENT
from weftwork.protocol.schema import Violation

AS_JSON: Final = ".json"
"""Ends the name of the box that says that a free text is JSON."""
_NUMBER: Final = re.compile(r"[+-]?(?:\d{1,400}(?:\.\d{0,400})?|\.\d{1,400})(?:[eE][+-]?\d{1,4})?")
_WHOLE: Final = re.compile(r"[+-]?\d{1,17}")


class Unreadable(Exception):
    """What was sent for a field stands for no value; the text says what would."""


def read(field: Field, sent: list[str], as_json: bool = False) -> Any:
    """The value, or ABSENT for a field that may be left empty. Raises Unreadable."""
    filled = sent if field.control == "several" else [text for text in sent if text.strip()]
    if len(filled) > 1 and field.control != "several":
        raise Unreadable("was sent more than once")
    value = _value(field, filled, as_json) if filled else _left_empty(field)
    if value is ABSENT:
        return value
    if field.schema is not None and (wrong := unfit(field.schema, value, "")):
        raise Unreadable(wrong[0].message)
    return value


def unfit(schema: dict[str, Any], value: Any, at: str) -> list[Violation]:
    """What keeps a value from fitting; nothing where only the host can say, since the schema is none."""
    try:
        return check_value(schema, value, at)
    except (HostFault, ValidationError):
        return []


def _left_empty(field: Field) -> Any:
    match field.empty:
        case "omit":
            return ABSENT
        case "null":
            return None
        case "list":
            return list[Any]()
        case "refuse":
            raise Unreadable("is still empty")


def _value(field: Field, sent: list[str], as_json: bool) -> Any:
    if field.control == "several":
        if len(set(sent)) < len(sent):
            raise Unreadable("was sent more than once")
        return [_option(field, text) for text in sorted(sent, key=_place)]
    text = sent[0]
    if field.control == "choice":
        return _option(field, text)
    if field.control == "number":
        return _number(text.strip(), field.whole)
    if field.control == "json" or as_json:
        return _json(text)
    return text


def _place(text: str) -> int:
    return int(text) if re.fullmatch(r"[0-9]{1,4}", text) else -1


def _option(field: Field, text: str) -> Any:
    place = _place(text)
    if not 0 <= place < len(field.options) or text != str(place):
        raise Unreadable("takes one of the answers that are offered")
    return field.options[place].value


def _number(text: str, whole: bool) -> int | float:
    if not text.isascii() or _NUMBER.fullmatch(text) is None:
        raise Unreadable("must be a number")
    value = int(text) if _WHOLE.fullmatch(text) else float(text)
    if not math.isfinite(value) or (isinstance(value, int) and abs(value) > MAX_INTEGER):
        raise Unreadable("is a number too large")
    if isinstance(value, float) and value.is_integer() and abs(value) <= MAX_INTEGER:
        value = int(value)
    if whole and not isinstance(value, int):
        raise Unreadable("must be a whole number")
    return value


def _json(text: str) -> Any:
    try:
        return decode(text.encode())
    except ClientFault as fault:
        said = fault.message[0].lower() + fault.message[1:].rstrip(".")
        raise Unreadable(f"is not JSON as it should be: {said}") from None
