"""A node type for people: what it does, what it takes and gives, and how a node of it may stand in a definition."""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from weftwork.cli.console.table import align
from weftwork.cli.console.text import shown
from weftwork.cli.render.schema_text import Schema
from weftwork.protocol.json.values import is_array, is_object

_CELL: Final = 120
_EFFECTS: Final = {
    "pure": "pure: changes nothing outside the run, and may simply run again",
    "idempotent": "idempotent: touches the world, and may be asked to do so again with the same key",
    "once": "once: touches the world, and is never silently repeated",
}
_PARTS: Final = (("inputs", "any"), ("outputs", "not fixed"), ("config", "any members"))
_EXAMPLE: Final = re.compile(r"```json\n(.*?)\n```\s*\Z", re.DOTALL)
"""A description may end with an example."""


def sheet(node: dict[str, Any]) -> Iterator[str]:
    """Line by line."""
    yield from align([[name, text] for name, text in _head(node)])
    description = _EXAMPLE.sub("", str(node.get("description") or "")).strip()
    if description and description != node.get("title"):
        yield ""
        yield from (shown(line) for line in description.splitlines())
    for part, anything in _PARTS:
        yield ""
        yield part
        yield from _members(Schema(node.get(part)), anything)
    yield ""
    yield "example"
    text = json.dumps(example(node), indent=2).replace('{\n    "x": 0,\n    "y": 0\n  }', '{"x": 0, "y": 0}')
    yield from (f"  {line}" for line in text.splitlines())


def example(node: dict[str, Any]) -> dict[str, Any]:
    """A node of this type: the one that its description ends with, or one that the schemas give."""
    given = _given(str(node.get("description") or ""))
    return {
        "id": "example",
        "typeId": node.get("typeId"),
        "name": "Example",
        "position": {"x": 0, "y": 0},
        "config": given.get("config", _object(Schema(node.get("config")).sample())),
        "inputs": given.get("inputs", _ports(node)),
    }


def _given(description: str) -> dict[str, Any]:
    found = _EXAMPLE.search(description)
    try:
        return _object(json.loads(found[1])) if found else {}
    except ValueError:
        return {}


def _ports(node: dict[str, Any]) -> dict[str, Any]:
    """The inputs that must be there, each with a fixed value."""
    values = _object(Schema(node.get("inputs")).sample())
    return {name: {"type": "static", "value": value} for name, value in values.items()}


def _head(node: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "type", shown(node.get("typeId", "?"))
    for member in ("version", "title"):
        if node.get(member):
            yield member, shown(node[member])
    effect = node.get("effect")
    if effect:
        yield "effect", _EFFECTS.get(str(effect)) or shown(effect)
    if "instant" in node:
        yield "kind", "instant: done as soon as it starts" if node["instant"] else "waiting: takes its time"
    if node.get("concurrency"):
        yield "at once", f"{shown(node['concurrency'])} in a host"
    requires = node.get("requires")
    if is_array(requires) and requires:
        yield "needs", shown(", ".join(map(str, requires)))
    yield "from", shown(node.get("source") or "the package")


def _members(schema: Schema, anything: str) -> Iterator[str]:
    if schema.meaning():
        yield f"  {shown(schema.meaning())}"
    rows = [[shown(cell, _CELL) for cell in row] for row in schema.rows()]
    if rows:
        yield from align(rows, "  ")
        if schema.is_open:
            yield "  others may be there too"
    else:
        yield f"  {anything}" if schema.is_open else "  none"


def _object(value: Any) -> dict[str, Any]:
    return value if is_object(value) else {}
