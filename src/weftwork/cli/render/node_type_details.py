"""A node type for people: what it does, what it takes and gives, and how a node of it may stand in a definition."""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from weftwork.cli.console.documents import as_object
from weftwork.cli.console.table import align
from weftwork.cli.console.text import clean
from weftwork.cli.render.schema_text import SchemaText
from weftwork.protocol.json.values import is_array
from weftwork.protocol.workflow.node_types import EFFECTS, EXECUTION

_MAX_CELL: Final = 120
_SECTIONS: Final = (("inputs", "any"), ("outputs", "not fixed"), ("config", "any members"))
_EXAMPLE: Final = re.compile(r"```json\n(.*?)\n```\s*\Z", re.DOTALL)
"""A description may end with an example."""


def node_type_lines(node: dict[str, Any]) -> Iterator[str]:
    """Line by line."""
    yield from align(_head(node))
    description = _EXAMPLE.sub("", str(node.get("description") or "")).strip()
    if description and description != node.get("title"):
        yield ""
        yield from (clean(line) for line in description.splitlines())
    for part, anything in _SECTIONS:
        yield ""
        yield part
        yield from _members(SchemaText(node.get(part)), anything)
    yield ""
    yield "example"
    text = json.dumps(example(node), indent=2).replace('{\n    "x": 0,\n    "y": 0\n  }', '{"x": 0, "y": 0}')
    yield from (f"  {line}" for line in text.splitlines())


def example(node: dict[str, Any]) -> dict[str, Any]:
    """A node of this type: the one that its description ends with, or one that the schemas give."""
    described = _EXAMPLE.search(str(node.get("description") or ""))
    try:
        given = as_object(json.loads(described[1])) if described else {}
    except ValueError:
        given = {}
    # The inputs that must be there, each with a fixed value.
    values = as_object(SchemaText(node.get("inputs")).sample())
    inputs = {name: {"type": "static", "value": value} for name, value in values.items()}
    return {
        "id": "example",
        "typeId": node.get("typeId"),
        "name": "Example",
        "position": {"x": 0, "y": 0},
        "config": given.get("config", as_object(SchemaText(node.get("config")).sample())),
        "inputs": given.get("inputs", inputs),
    }


def _head(node: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "type", clean(node.get("typeId", "?"))
    for member in ("version", "title"):
        if node.get(member):
            yield member, clean(node[member])
    effect = node.get("effect")
    if effect:
        meaning = EFFECTS.get(str(effect))
        yield "effect", f"{effect}: {meaning}" if meaning else clean(effect)
    if "instant" in node:
        yield "execution", ": ".join(EXECUTION[bool(node["instant"])])
    if node.get("concurrency"):
        yield "at once", f"{clean(node['concurrency'])} in a host"
    requires = node.get("requires")
    if is_array(requires) and requires:
        yield "needs", clean(", ".join(map(str, requires)))
    yield "from", clean(node.get("source") or "the package")


def _members(schema: SchemaText, anything: str) -> Iterator[str]:
    if schema.description():
        yield f"  {clean(schema.description())}"
    rows = [[clean(cell, _MAX_CELL) for cell in row] for row in schema.rows()]
    if rows:
        yield from align(rows, "  ")
        if schema.is_open:
            yield "  others may be there too"
    else:
        yield f"  {anything}" if schema.is_open else "  none"
