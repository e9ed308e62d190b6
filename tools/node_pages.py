"""Writes docs/reference/nodes/, one page for each node type, from the declarations.

With --check it writes nothing, lists the pages that are stale, missing or no longer needed, and exits with 1 if there
are any.
"""

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from weftwork.adapters.nodes.builtin import ALIASES
from weftwork.protocol.workflow.node_types import EFFECTS, EXECUTION, NodeDeclaration
from weftwork.wiring.node_types import builtin_node_types

FOLDER = Path("docs", "reference", "nodes")

RANGES = {
    ("minimum", "maximum"): "",
    ("minLength", "maxLength"): " characters",
    ("minItems", "maxItems"): " items",
    ("minProperties", "maxProperties"): " members",
}
READABLE = 40
"""Length up to which a pattern helps a reader more than the description of the member does."""
LISTED = 8
"""Number of excluded node types up to which they are listed instead of linked."""


def declarations() -> list[NodeDeclaration]:
    """The built-in node types, without aliases."""
    return [node.declaration for type_id, node in builtin_node_types().items() if type_id not in ALIASES]


def aliases(type_id: str) -> list[str]:
    known = builtin_node_types()
    return sorted(alias for alias, meant in ALIASES.items() if meant == type_id and alias in known)


def render(declaration: NodeDeclaration) -> str:
    """The page of a node type."""
    text = declaration.notes.strip()
    parts = [
        f"# {declaration.type_id}",
        "`make docs` generates this page from the declaration of the node type. All types: [Node types](../nodes.md).",
        declaration.title,
        _table(("property", "value"), _properties(declaration)),
        *([text] if text else []),
        f"## Inputs\n\n{_members(declaration.inputs, 'The node accepts any inputs.')}",
        f"## Outputs\n\n{_members(declaration.outputs, 'The outputs are not fixed.')}",
        f"## Config\n\n{_members(declaration.config, 'The config can have any members.')}",
        f"## Example\n\n```json\n{_written(example(declaration))}\n```",
    ]
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def _properties(declaration: NodeDeclaration) -> Iterator[list[str]]:
    yield ["effect", f"`{declaration.effect}`: {EFFECTS[declaration.effect]}"]
    name, meaning = EXECUTION[declaration.instant]
    yield ["execution", f"`{name}`: {meaning}"]
    if declaration.requires:
        yield ["required capabilities", _codes(declaration.requires)]
    if declaration.required_model_capabilities:
        yield ["required model capabilities", _codes(declaration.required_model_capabilities)]
    if declaration.fallback_model is not None:
        fallback = declaration.fallback_model
        yield ["fallback model", f"`{fallback.provider}/{fallback.model}`"]
    if declaration.branching:
        yield ["branching", "an edge from an output that the node did not return is skipped, except from `output`"]
    if declaration.gathers_edges:
        yield ["inputs", "the node gets the values of all incoming edges"]
    for kind, patterns in (("expressions", declaration.expressions), ("templates", declaration.templates)):
        yield from _config_places(kind, patterns)
    if names := aliases(declaration.type_id):
        yield ["aliases", _codes(names)]
    yield ["version", declaration.version]


def _config_places(kind: str, patterns: dict[str, tuple[str, ...]]) -> Iterator[list[str]]:
    """The members of the config that are expressions or templates, grouped by the names that these can also use."""
    for names in dict.fromkeys(patterns.values()):
        places = [pattern for pattern, given in patterns.items() if given == names]
        known = f"; additional names: {_codes(names)}" if names else ""
        yield [f"{kind} in config", f"{_codes(places)}{known}"]


def _codes(values: Iterable[object]) -> str:
    return ", ".join(f"`{value}`" for value in values)


def _members(schema: dict[str, Any], anything: str) -> str:
    rows = list(_rows(schema, ""))
    is_open = schema.get("additionalProperties", True) is not False
    parts = [schema["description"]] if "description" in schema else []
    if rows:
        parts.append(_table(("member", "type", "default", "constraints", "description"), rows))
        parts += ["Other members are allowed."] if is_open else []
    else:
        parts.append(anything if is_open else "None.")
    limits = [each for each in _constraints(schema) if rows]
    return "\n\n".join([*(each.strip() for each in parts), *([f"Constraints: {', '.join(limits)}."] if limits else [])])


def _rows(schema: dict[str, Any], prefix: str) -> Iterator[list[str]]:
    """A row for each member, followed by the rows of its members."""
    required = schema.get("required", ())
    for name, shape in schema.get("properties", {}).items():
        path = f"{prefix}{name}"
        default = f"`{json.dumps(shape['default'])}`" if "default" in shape else "required" if name in required else ""
        yield [f"`{path}`", _type(shape), default, ", ".join(_constraints(shape)), shape.get("description", "")]
        yield from _rows(shape, f"{path}.")
    inner = schema.get("additionalProperties")
    if isinstance(inner, dict) and prefix:
        yield [f"`{prefix}*`", _type(inner), "", ", ".join(_constraints(inner)), inner.get("description", "")]
        yield from _rows(inner, f"{prefix}*.")
    for branch in schema.get("allOf", ()):
        yield from _rows({"properties": _own(branch.get("then", {}))}, prefix)
    if isinstance(schema.get("items"), dict):
        yield from _rows(schema["items"], f"{prefix.rstrip('.')}[].")


def _own(branch: dict[str, Any]) -> dict[str, Any]:
    """Members that only one variant has; the member that selects the variant has no schema there."""
    return {name: shape for name, shape in branch.get("properties", {}).items() if shape not in ({}, True)}


def _type(shape: dict[str, Any]) -> str:
    if shape.get("not") == {}:
        return "not allowed"
    if "enum" in shape:
        return _codes(json.dumps(value) for value in shape["enum"])
    for choice in ("anyOf", "oneOf"):
        if choice in shape:
            return " or ".join(dict.fromkeys(_type(each) for each in shape[choice]))
    named = shape.get("type", "any")
    if named == "array" and "type" in shape.get("items", {}):
        return f"array of {_type(shape['items'])}"
    return " or ".join(named) if isinstance(named, list) else named


def _constraints(shape: dict[str, Any]) -> Iterator[str]:
    for (least, most), unit in RANGES.items():
        low, high = shape.get(least), shape.get(most)
        if high is None:
            words = f"{low:,} or more" if low else ""
        elif low == high:
            words = f"exactly {low:,}"
        else:
            words = f"{low:,} to {high:,}" if low or (low == 0 and not unit) else f"up to {high:,}"
        if words:
            yield words + (unit.rstrip("s") if words == "exactly 1" else unit)
    if "pattern" in shape:
        yield f"matches `{shape['pattern']}`" if len(shape["pattern"]) <= READABLE else "has a fixed format"
    excluded = shape.get("not", {}).get("enum", shape.get("propertyNames", {}).get("not", {}).get("enum", ()))
    if len(excluded) > LISTED and {*excluded} <= {*builtin_node_types()}:
        yield "a node type that can be a [map body](../nodes.md#built-in-node-types)"
    elif excluded:
        yield f"not {' or '.join(f'`{value}`' for value in excluded)}"


def example(declaration: NodeDeclaration) -> dict[str, Any]:
    """A node of this type as in a definition: the example of the declaration, or one that the schemas imply."""
    config = declaration.example_config
    return {
        "id": "example",
        "typeId": declaration.type_id,
        "name": "Example",
        "position": {"x": 0, "y": 0},
        "config": _sample(declaration.config) if config is None else config,
        "inputs": declaration.example_inputs,
    }


def _written(node: dict[str, Any]) -> str:
    text = json.dumps(node, indent=2, ensure_ascii=False)
    return text.replace('{\n    "x": 0,\n    "y": 0\n  }', '{"x": 0, "y": 0}')


def _sample(schema: dict[str, Any]) -> Any:
    """A value that matches a schema: its own example or default, or a small value of the right type."""
    for keyword in ("examples", "enum"):
        if schema.get(keyword):
            return schema[keyword][0]
    if "default" in schema or "const" in schema:
        return schema.get("default", schema.get("const"))
    if schema.get("type") == "object":
        members = schema.get("properties", {})
        wanted = schema.get("required") or list(members)[:1]
        return {name: _sample(members.get(name, {})) for name in wanted}
    if schema.get("type") in ("number", "integer"):
        return min(max(1000, schema.get("minimum", 1000)), schema.get("maximum", 1000))
    return {"boolean": True, "array": [], "string": "example"}.get(schema.get("type", ""), "example")


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    names = list(head)
    lines = [names, ["---"] * len(names), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |\n" for row in lines)


def main(arguments: list[str], root: Path) -> int:
    """Exit status: 0 if all pages are up to date or were written, 1 if --check finds a page that is not."""
    wanted = {f"{declaration.type_id}.md": render(declaration) for declaration in declarations()}
    folder = root / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    there = {page.name: page.read_text("utf-8") for page in folder.glob("*.md")}
    stale = sorted(name for name in wanted.keys() | there.keys() if wanted.get(name) != there.get(name))
    for name in stale:
        if "--check" in arguments:
            sys.stderr.write(f"{FOLDER / name} is stale: run `make docs`\n")
        elif name in wanted:
            (folder / name).write_text(wanted[name], "utf-8")
        else:
            (folder / name).unlink()
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Path(__file__).parents[1]))
