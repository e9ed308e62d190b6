"""Markup: the one place where text becomes HTML, in which it cannot deceive.

Elements are made by `element` alone. A child or attribute that is plain text is escaped there; only what `element`
itself has made goes in as it is.

Characters that steer a terminal, turn the direction of text around or take no space could make a question look like
another one. On the page they stand as marks, and in JSON that is edited as escapes, so that nothing is lost.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

HIDDEN_CHARACTERS: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\uffff\ud800-\udfff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)
"""Controls but tab and line feed, turns of direction, what has no width, lone surrogates, tags and non-characters.

The joiners U+200C and U+200D are left: scripts and emoji need them, and they hide nothing."""
CUT_MARK: Final = " […]"


def mark_hidden(text: str) -> str:
    """The text with a mark for each hidden character. Line ends become line feeds."""
    return HIDDEN_CHARACTERS.sub(lambda found: f"\u27e6U+{ord(found[0]):04X}\u27e7", text.replace("\r\n", "\n"))


def json_text(value: Any, indent: int | None = 2) -> str:
    """The value as JSON to read and edit, in which hidden characters stand as escapes."""
    try:
        text = json.dumps(value, indent=indent, ensure_ascii=False, default=repr)
    except (ValueError, TypeError, RecursionError):
        return "(no JSON)"
    return HIDDEN_CHARACTERS.sub(_json_escape, text)


def shorten(text: str, limit: int) -> str:
    """The text, or its beginning with a sign that it was cut."""
    return text if len(text) <= limit else text[:limit] + CUT_MARK


def _json_escape(match: re.Match[str]) -> str:
    # As two escapes beyond the first plane, which is what JSON knows.
    units = match[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


VOID_ELEMENTS: Final = frozenset({"input", "meta"})
_ENTITIES: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;", "`": "&#96;"})


class Markup(str):
    """HTML that was made here."""

    __slots__ = ()


Child = str | None
Attributes = Mapping[str, str | bool | None]


def escape(text: str) -> str:
    """The text as character data, good between tags and between the quotes of an attribute alike."""
    return mark_hidden(text).translate(_ENTITIES)


def element(name: str, attributes: Attributes, *children: Child) -> Markup:
    """One element. An attribute that is True stands without a value; one that is None or False is left out."""
    said = "".join(
        f" {key}" if value is True else f' {key}="{escape(value)}"'
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in VOID_ELEMENTS:
        return Markup(f"<{name}{said}>")
    return Markup(f"<{name}{said}>{join(children)}</{name}>")


def join(children: Iterable[Child]) -> Markup:
    """The children one after the other, escaped unless they are markup."""
    return Markup("".join(each if isinstance(each, Markup) else escape(each) for each in children if each is not None))
