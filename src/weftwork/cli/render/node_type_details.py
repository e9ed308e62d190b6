"""A node type as text: its purpose, effect, inputs, outputs and config, and an example node."""

import json
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
_EXAMPLE_START: Final = "```json\n"
_EXAMPLE_END: Final = "\n```"


def node_type_lines(node: dict[str, Any]) -> Iterator[str]:
    yield from align(_head(node))
    description = _split_description(node)[0].strip()
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
    """An example node: the one at the end of its description, or one built from its schemas."""
    source = _split_description(node)[1]
    try:
        described_node = as_object(json.loads(source)) if source else {}
    except ValueError:
        described_node = {}
    # The required inputs, each with a static value.
    values = as_object(SchemaText(node.get("inputs")).sample())
    inputs = {name: {"type": "static", "value": value} for name, value in values.items()}
    return {
        "id": "example",
        "typeId": node.get("typeId"),
        "name": "Example",
        "position": {"x": 0, "y": 0},
        "config": described_node.get("config", as_object(SchemaText(node.get("config")).sample())),
        "inputs": described_node.get("inputs", inputs),
    }


def _split_description(node: dict[str, Any]) -> tuple[str, str]:
    """The description of a node type without the example at its end, and the example. A description without one is
    unchanged, and the example is empty."""
    whole = str(node.get("description") or "")
    before, start, example = whole.rstrip().partition(_EXAMPLE_START)
    if not start or not example.endswith(_EXAMPLE_END):
        return whole, ""
    return before, example.removesuffix(_EXAMPLE_END)


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
        yield "concurrency", f"at most {clean(node['concurrency'])} per host"
    requires = node.get("requires")
    if is_array(requires) and requires:
        yield "requires", clean(", ".join(map(str, requires)))
    yield from _model_needs(node)
    yield "source", clean(node.get("source") or "built-in")


def _model_needs(node: dict[str, Any]) -> Iterator[tuple[str, str]]:
    required = node.get("requiredModelCapabilities")
    if is_array(required) and required:
        yield "model needs", clean(", ".join(map(str, required)))
    fallback = as_object(node.get("fallbackModel"))
    if fallback:
        yield "fallback model", clean(f"{fallback.get('provider', '?')}/{fallback.get('model', '?')}")


def _members(schema: SchemaText, anything: str) -> Iterator[str]:
    if schema.description():
        yield f"  {clean(schema.description())}"
    rows = [[clean(cell, _MAX_CELL) for cell in row] for row in schema.rows()]
    if rows:
        yield from align(rows, "  ")
        if schema.is_open:
            yield "  other members are allowed"
    else:
        yield f"  {anything}" if schema.is_open else "  none"
