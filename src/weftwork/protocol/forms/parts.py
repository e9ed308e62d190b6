"""Fields for the parts of a value that a person may edit, such as the artifact of an approval: one field for each text,
number and truth value in it.

Everything that has no field stays as it is: names of members, the length of lists, null, and empty objects and lists. A
value that is not edited is sent back unchanged.
"""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from weftwork.protocol.forms.fields import FormField, Option
from weftwork.protocol.forms.visible_text import HIDDEN_CHARACTERS, json_text, readable_name, shorten
from weftwork.protocol.json.values import is_array, is_object

MAX_PARTS: Final = 60
"""A value with more parts is edited as JSON."""
_MAX_DEPTH: Final = 6
_MAX_LABEL: Final = 300
_LINE: Final = 120
"""Texts of up to this many characters get a field with one line."""
_TRUTH: Final = (Option("Yes", True), Option("No", False))

Path = tuple[str | int, ...]


def part_fields(name: str, label: str, value: Any, path: Path) -> tuple[FormField, ...]:
    """The fields of an object or a list, numbered; empty if the value has no parts or too many, or is neither.

    `path` leads to the value in the answer.
    """
    if not (is_object(value) or is_array(value)):
        return ()
    fields: list[FormField] = []
    for place, part in _parts(value, ()):
        if len(fields) == MAX_PARTS or len(place) > _MAX_DEPTH:
            return ()
        field = _field(f"{name}{len(fields)}", _label(place), part, (*path, *place))
        fields.append(msgspec.structs.replace(field, number=len(fields) + 1, part_of=label))
    return tuple(fields)


def _parts(value: Any, place: Path) -> Iterator[tuple[Path, Any]]:
    """The texts, numbers and truth values with the paths to them, in order. Stops below the greatest depth."""
    if len(place) > _MAX_DEPTH or not (is_object(value) or is_array(value)):
        if value is not None and not ((is_object(value) or is_array(value)) and not value):
            yield place, value
        return
    pairs = value.items() if is_object(value) else enumerate(value)
    for step, inner in pairs:
        yield from _parts(inner, (*place, step))


def _label(place: Path) -> str:
    """The way to a part in words: "Lines 2, item"."""
    words: list[str] = []
    for step in place:
        if isinstance(step, int):
            words[-1:] = [f"{words[-1]} {step + 1}" if words else str(step + 1)]
        else:
            words.append(readable_name(step).strip() or "?")
    first, *rest = words
    shown = [each[:1].lower() + each[1:] if each[1:].islower() or len(each) == 1 else each for each in rest]
    return shorten(", ".join([first, *shown]), _MAX_LABEL)


def _field(name: str, label: str, value: Any, path: Path) -> FormField:
    if isinstance(value, bool):
        chosen = "0" if value else "1"
        return FormField(name, label, "choice", path, None, options=_TRUTH, value=chosen, is_from_workflow=True)
    if isinstance(value, int | float):
        return FormField(name, label, "number", path, None, value=json_text(value, None), is_from_workflow=True)
    text = str(value)
    if HIDDEN_CHARACTERS.search(text) or (text and not text.strip()):
        # A field for text would change or drop what cannot be seen.
        hint = "This text has characters that cannot be seen. They are written as escapes: keep the quotes."
        schema = {"type": "string"}
        return FormField(name, label, "json", path, schema, hint=hint, value=json_text(text), is_from_workflow=True)
    control = "line" if len(text) <= _LINE and "\n" not in text else "text"
    return FormField(name, label, control, path, None, "text", value=text, is_from_workflow=True)
