"""Fields: what a person fills in, chosen by the JSON Schema of the answer.

A schema decides only how something is asked. Whether the answer fits it is checked when the form comes back.
"""

from typing import Any, Final, Literal

import msgspec

from weftwork.adapters.http.form_hint import hint_of
from weftwork.adapters.http.page_text import json_text, short
from weftwork.protocol.json_value import is_array, is_object

Control = Literal["line", "text", "date", "email", "url", "number", "choice", "several", "json", "free"]
Empty = Literal["refuse", "omit", "null", "list"]
"""What a field that was left empty means: nothing that can be sent, no member, null, an empty list."""

SHORT_TEXT: Final = 120
"""Characters up to which a text is asked for in one line."""
MAX_OPTIONS: Final = 500
MAX_LISTED: Final = 1_000
"""Options of a whole form: a view of the page costs the host time, and takes a link only."""
MAX_LABEL: Final = 2_000
MAX_OPTION: Final = 300
_FORMATS: Final[dict[str, Control]] = {"date": "date", "email": "email", "uri": "url"}
_TYPES: Final[dict[str, Control]] = {"integer": "number", "number": "number"}


class Option(msgspec.Struct, frozen=True):
    """One of several answers. The form sends its place in the list, so any value can be one."""

    label: str
    value: Any


class Field(msgspec.Struct, frozen=True):
    """One thing to fill in."""

    name: str
    """In the form, and as id in the page."""
    label: str
    control: Control
    path: tuple[str, ...] = ()
    """Where its value stands in the answer; `()` is the answer itself."""
    schema: dict[str, Any] | None = None
    empty: Empty = "refuse"
    hint: str = ""
    options: tuple[Option, ...] = ()
    value: str = ""
    """What stands in it at first."""
    said: bool = False
    """Whether the label is the workflow's text."""
    number: int = 0
    """Its place among several questions; 0 if it is the only one, or one of the host's."""

    @property
    def whole(self) -> bool:
        """Whether a number must be a whole one."""
        return _type(self.schema or {})[0] == "integer"

    @property
    def subject(self) -> str:
        """How the host speaks of what is filled in: without the words of the workflow."""
        if not self.said:
            return f"“{self.label}”"
        return f"The answer to question {self.number}" if self.number else "Your answer"


def numbered(fields: list[Field]) -> tuple[Field, ...]:
    """The fields, each with its number if there are several."""
    if len(fields) < 2:
        return tuple(fields)
    return tuple(msgspec.structs.replace(field, number=number) for number, field in enumerate(fields, 1))


class Room:
    """How many options a form may still list. What is beyond it is written and not chosen."""

    def __init__(self, options: int = MAX_LISTED) -> None:
        self._left = options

    def options(self, schema: Any) -> list[Option]:
        """The options of a schema, if there is room for all of them."""
        found = options_of(schema, min(MAX_OPTIONS, self._left))
        self._left -= len(found)
        return found


def field_for(
    name: str, label: str, schema: dict[str, Any], path: tuple[str, ...], empty: Empty, room: Room | None = None
) -> Field:
    """The field for a value of this schema, a label of the workflow above it."""
    room = room or Room()
    kind, nullable = _type(schema)
    options = room.options(schema)
    control = "choice" if options else _control(schema, kind)
    if control == "several":
        options = room.options(schema["items"])
        control = "several" if options else "json"
        if options and empty == "refuse" and not nullable and schema.get("minItems", 0) < 1:
            empty = "list"
    return Field(
        name,
        short(label, MAX_LABEL),
        control,
        path,
        schema,
        "null" if nullable and empty == "refuse" else empty,
        hint_of(schema, control),
        tuple(options),
        said=True,
    )


def options_of(schema: Any, most: int = MAX_OPTIONS) -> list[Option]:
    """The answers among which a schema leaves the choice; none if it does not list them, or more than so many."""
    if not is_object(schema):
        return []
    if "const" in schema:
        listed = [(schema.get("title"), schema["const"])]
    elif is_array(schema.get("enum")):
        listed = [(None, value) for value in schema["enum"]]
    elif alternatives := _titled(schema):
        listed = alternatives
    elif _type(schema)[0] == "boolean":
        return [Option("Yes", True), Option("No", False)]
    else:
        return []
    if len(listed) > most:
        return []
    labels = [_label(title, value) for title, value in listed]
    if len(set(labels)) < len(labels):
        labels = [short(json_text(value, None), MAX_OPTION) for _, value in listed]
    return [Option(label, value) for label, (_, value) in zip(labels, listed, strict=True)]


def _titled(schema: dict[str, Any]) -> list[tuple[Any, Any]]:
    """The usual way to give options a title: alternatives that are one value each."""
    listed = schema.get("oneOf", schema.get("anyOf"))
    if not is_array(listed) or not all(is_object(each) and "const" in each for each in listed):
        return []
    return [(each.get("title"), each["const"]) for each in listed]


def _label(title: Any, value: Any) -> str:
    for text in (title, value):
        if isinstance(text, str) and text.strip():
            return short(text, MAX_OPTION)
    return short(json_text(value, None), MAX_OPTION)


def _type(schema: dict[str, Any]) -> tuple[str, bool]:
    """The one type that a schema asks for, or "", and whether null will do as well."""
    named = schema.get("type")
    listed = [each for each in named if each != "null"] if is_array(named) else [named]
    nullable = is_array(named) and "null" in named
    return (listed[0] if len(listed) == 1 and isinstance(listed[0], str) else ""), nullable


def _control(schema: dict[str, Any], kind: str) -> Control:
    """How a value is asked for that is not one of a few; several if each of a list may be."""
    if kind == "array":
        return "json" if {"prefixItems", "contains"} & schema.keys() or "items" not in schema else "several"
    listed: Any = schema.get("enum")
    if not kind and is_array(listed) and all(isinstance(each, str) for each in listed):
        # Too many to choose from, but each is a text.
        return "line"
    if kind != "string":
        return _TYPES.get(kind, "json")
    named = _FORMATS.get(str(schema.get("format")))
    if named is not None:
        return named
    longest: Any = schema.get("maxLength")
    if longest is not None:
        return "json" if longest < 1 else "line" if longest <= SHORT_TEXT else "text"
    return "line" if "pattern" in schema else "text"
