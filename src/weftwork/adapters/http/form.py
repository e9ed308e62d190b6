"""What comes back from the page: the fields of a form, and the answer they make."""

import re
from copy import deepcopy
from typing import Any, Final
from urllib.parse import unquote_to_bytes

from weftwork.adapters.http.form_field import Field
from weftwork.adapters.http.form_plan import Choice, Plan, plan_for
from weftwork.adapters.http.form_read import AS_JSON, Unreadable, read, unfit
from weftwork.protocol.decode import escape
from weftwork.protocol.errors import ClientFault, invalid
from weftwork.protocol.json_value import ABSENT

MAX_BODY: Final = 1_048_576
MAX_FIELDS: Final = 1_000
MAX_NAME: Final = 64
MAX_VALUE: Final = 65_536
"""Characters of one value."""
ACTION: Final = "action"
"""The name of the buttons."""
_AT: Final = "/resumeValue"
_ENCODED: Final = re.compile(rb"(?:[!#-$'-~]|%[0-9A-Fa-f]{2})*")
"""Printable ASCII without quotes, `%` only before two digits; `&` has been taken out before."""


def decode_form(body: bytes) -> list[tuple[str, str]]:
    """The fields of a body of the type application/x-www-form-urlencoded, in their order. Raises ClientFault.

    Strict: printable ASCII in pairs with a `=`, which stand for UTF-8 without NUL. Line ends become line feeds.
    """
    if len(body) > MAX_BODY:
        raise invalid(f"The form is larger than {MAX_BODY} bytes.")
    if body.count(b"&") >= MAX_FIELDS:
        raise invalid(f"The form has more than {MAX_FIELDS} fields.")
    return [_pair(pair) for pair in body.split(b"&")] if body else []


def resume_value(question: dict[str, Any], fields: list[tuple[str, str]]) -> Any:
    """The answer that a filled form stands for, as POST /v1/interrupts/{token} takes it. Raises ClientFault.

    Only fields that belong to the pressed button are read. Errors name the place in the answer and, as `field`, the
    name of the field; `violations` lists them all.
    """
    plan = plan_for(question)
    if plan.closed:
        raise ClientFault("forbidden", plan.closed)
    sent: dict[str, list[str]] = {}
    for name, text in fields:
        sent.setdefault(name, []).append(text)
    choice = _pressed(plan, sent.pop(ACTION, []))
    _check_names(plan, sent)
    value = _filled(choice, sent)
    if plan.schema is not None:
        wrong = unfit(plan.schema, value, _AT)
        if wrong:
            raise invalid(f"The answer does not fit what was asked: {wrong[0].message}.", wrong[0].pointer)
    return value


def _pair(pair: bytes) -> tuple[str, str]:
    name, equals, value = pair.partition(b"=")
    if not equals or not name or _ENCODED.fullmatch(pair) is None:
        raise invalid("The form is not as a browser sends it.")
    return _text(name, MAX_NAME), _text(value, MAX_VALUE)


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


def _pressed(plan: Plan, actions: list[str]) -> Choice:
    """The button. Where there is only one, a browser need not name it."""
    if not actions and len(plan.choices) == 1:
        return plan.choices[0]
    found = [each for each in plan.choices if [each.action] == actions]
    if not found:
        raise invalid("Press one of the buttons of the form.", f"{_AT}/{ACTION}", field=ACTION)
    return found[0]


def _check_names(plan: Plan, sent: dict[str, list[str]]) -> None:
    known: set[str] = set()
    for field in (field for choice in plan.choices for field in choice.fields):
        known |= {field.name, field.name + AS_JSON} if field.control == "free" else {field.name}
    if not sent.keys() <= known:
        raise invalid("The form has a field that was not asked for.", _AT)


def _filled(choice: Choice, sent: dict[str, list[str]]) -> Any:
    value, wrong = deepcopy(choice.base), list[tuple[Field, str]]()
    for field in choice.fields:
        try:
            found = read(field, sent.get(field.name, []), field.name + AS_JSON in sent)
        except Unreadable as error:
            wrong.append((field, str(error)))
            continue
        if found is not ABSENT:
            value = _put(value, field.path, found)
    if wrong:
        raise _refusal(wrong)
    return value


def _put(value: Any, path: tuple[str, ...], found: Any) -> Any:
    if not path:
        return found
    place = value
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = found
    return value


def _refusal(wrong: list[tuple[Field, str]]) -> ClientFault:
    listed = [
        {
            "pointer": _AT + "".join(f"/{escape(name)}" for name in field.path),
            "field": field.name,
            "message": f"{field.subject} {text}.",
        }
        for field, text in wrong
    ]
    first = listed[0]
    return invalid(first["message"], first["pointer"], field=first["field"], violations=listed)
