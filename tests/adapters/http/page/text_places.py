"""Every place of a question where a text stands."""

import copy
from collections.abc import Iterator
from typing import Any

FIXED = {
    "actions",
    "rejectionPolicy",
    "type",
    "format",
    "pattern",
    "required",
    "$ref",
    "$defs",
    "intent",
    "kind",
    "action",
}
"""Members whose texts are words of the protocol or of JSON Schema: others would make it another question."""
TextPath = tuple[str | int, ...]


def text_paths(question: dict[str, Any]) -> list[TextPath]:
    """The paths of all texts, and of all objects whose members somebody has named."""
    return list(_texts(question, ()))


def _texts(value: Any, path: TextPath) -> Iterator[TextPath]:
    if isinstance(value, str):
        yield path
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _texts(inner, (*path, place))
    elif isinstance(value, dict):
        if path and path[-1] in ("artifactData", "properties", "correlation", "decision", "payload"):
            yield (*path, "*")
        for name, inner in value.items():
            if name not in FIXED or (path and path[-1] == "properties"):
                yield from _texts(inner, (*path, name))


def with_text(question: dict[str, Any], place: TextPath, text: str) -> dict[str, Any]:
    """The question with another text there; `*` renames the first member."""
    changed = copy.deepcopy(question)
    holder: Any = changed
    for step in place[:-1]:
        holder = holder[step]
    if place[-1] == "*":
        first = next(iter(holder))
        members = {text if name == first else name: inner for name, inner in holder.items()}
        holder.clear()
        holder.update(members)
    else:
        holder[place[-1]] = text
    return changed


def with_text_everywhere(question: dict[str, Any], text: str) -> dict[str, Any]:
    """The question with that text and a number in all its places; names last, since they lead to others."""
    changed = question
    found = sorted(text_paths(question), key=lambda path: (path[-1] == "*", -len(path)))
    for number, place in enumerate(found):
        changed = with_text(changed, place, f"{text} {number}")
    return changed
