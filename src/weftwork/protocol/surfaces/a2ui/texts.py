"""Texts of A2UI components as plain texts: literals, bindings to the data model, and formats.

A surface is closed, so a text is resolved once, from the final data model. The functions that format a value have no
effect outside of it. Their pattern and their locale are dropped, and the value is shown as it is, which is a loss. No
other function is read, and nothing is evaluated: a template is split at its `${...}`, and each of them is a path or one
of these functions of a path.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from weftwork.protocol.json.values import is_object

FORMATS: Final = ("formatDate", "formatNumber", "formatCurrency")
"""Functions with a value and a pattern or a currency."""
UNFORMATTED: Final = "The format was dropped: the value is shown as it is."
EMPTY: Final = "The data model has no value at a path; the text is empty there."
_PATH: Final = re.compile(r"[A-Za-z0-9_~/.-]{1,256}")
_CALL: Final = re.compile(r"([A-Za-z]{1,20})\(\s{0,4}value:\s{0,4}\$\{\s{0,4}([A-Za-z0-9_~/.-]{1,256})\s{0,4}\}")
_CURRENCY: Final = re.compile(r"currency:\s{0,4}'([A-Za-z]{3})'")
_ONE: Final = re.compile(r"one:\s{0,4}'([^']{0,200})'")
_OTHER: Final = re.compile(r"other:\s{0,4}'([^']{0,200})'")

ValueAt = Callable[[str], Any]


class NotText(Exception):
    """The value is neither a literal, nor a binding to a text or number, nor a format of one."""


class ResolvedText(msgspec.Struct):
    text: str
    losses: list[str] = []


def resolve_text(value: Any, value_at: ValueAt) -> ResolvedText:
    """The plain text of a dynamic value. `value_at` reads the data model. Raises NotText."""
    resolved = ResolvedText("")
    resolved.text = _text(value, value_at, resolved)
    resolved.losses = list(dict.fromkeys(resolved.losses))
    return resolved


def _text(value: Any, value_at: ValueAt, resolved: ResolvedText) -> str:
    if isinstance(value, str):
        return value
    if not is_object(value):
        raise NotText
    path, call, args = value.get("path"), value.get("call"), value.get("args")
    if isinstance(path, str) and len(value) == 1:
        return _plain(value_at(path), resolved)
    if not is_object(args):
        raise NotText
    if call == "formatString":
        template = args.get("value")
        if not isinstance(template, str):
            raise NotText
        return "".join(_fill(template, value_at, resolved))
    if call not in FORMATS:
        raise NotText
    inner: Any = args.get("value")
    bound = inner.get("path") if is_object(inner) and len(inner) == 1 else None
    found = value_at(bound) if isinstance(bound, str) else inner
    currency = args.get("currency")
    return _formatted(found, currency if isinstance(currency, str) else None, resolved)


def _formatted(value: Any, currency: str | None, resolved: ResolvedText) -> str:
    resolved.losses.append(UNFORMATTED)
    text = _plain(value, resolved)
    return f"{text} {currency}" if currency and text else text


def _plain(value: Any, resolved: ResolvedText) -> str:
    if value is None:
        resolved.losses.append(EMPTY)
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    raise NotText


def _fill(template: str, value_at: ValueAt, resolved: ResolvedText) -> Iterator[str]:
    """The parts of a template, with the value of each `${...}`."""
    at = 0
    while (start := template.find("${", at)) >= 0:
        if start > at and template[start - 1] == "\\":
            yield f"{template[at : start - 1]}${{"
            at = start + 2
            continue
        end = _closing(template, start + 2)
        if end < 0:
            raise NotText
        yield template[at:start]
        yield _expression(template[start + 2 : end].strip(), value_at, resolved)
        at = end + 1
    yield template[at:]


def _closing(template: str, start: int) -> int:
    """The place of the brace that closes an expression; -1 if none does. An expression can have one other in it."""
    opening, closing = template.find("${", start), template.find("}", start)
    if 0 <= opening < closing:
        return template.find("}", closing + 1)
    return closing


def _expression(text: str, value_at: ValueAt, resolved: ResolvedText) -> str:
    if _PATH.fullmatch(text):
        return _plain(value_at(text), resolved)
    call = _CALL.match(text)
    if call is None or not text.endswith(")"):
        raise NotText
    value = value_at(call[2])
    if call[1] == "pluralize":
        one, other = _ONE.search(text), _OTHER.search(text)
        if other is None:
            raise NotText
        return one[1] if one is not None and value == 1 else other[1]
    if call[1] not in FORMATS:
        raise NotText
    currency = _CURRENCY.search(text)
    return _formatted(value, currency[1] if currency else None, resolved)
