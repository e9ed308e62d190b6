"""Writes docs/reference/nodes/, one page for each node type, from the declarations; with --check it only says which
pages are stale, missing or left over."""

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from weftwork.adapters.nodes.builtin import ALIASES
from weftwork.protocol.workflow.node_types import NodeDeclaration
from weftwork.wiring.node_types import builtin_node_types

FOLDER = Path("docs", "reference", "nodes")

EFFECTS = {
    "pure": "changes nothing outside the run, and may simply run again after a crash",
    "idempotent": "touches the world, and may be asked to do so again after a crash",
    "once": "touches the world, and is not started a second time after a crash",
}
KINDS = {
    True: "`instant`: done as soon as it starts, unless it asks for an answer",
    False: "`waiting`: takes its time, while other nodes go on",
}
RANGES = {
    ("minimum", "maximum"): "",
    ("minLength", "maxLength"): " characters",
    ("minItems", "maxItems"): " items",
    ("minProperties", "maxProperties"): " members",
}
READABLE = 40
"""Characters of a pattern that tell a reader more than the description does."""


def declarations() -> list[NodeDeclaration]:
    """The node types that a host has, without their other names."""
    return [node.declaration for type_id, node in builtin_node_types().items() if type_id not in ALIASES]


def other_names(type_id: str) -> list[str]:
    known = builtin_node_types()
    return sorted(alias for alias, meant in ALIASES.items() if meant == type_id and alias in known)


def render(declaration: NodeDeclaration) -> str:
    """The page of a node type."""
    text = declaration.notes.strip()
    parts = [
        f"# {declaration.type_id}",
        "Made from the declaration of the node type by `make docs`. All types: [Node types](../nodes.md).",
        declaration.title,
        _table(("", ""), _facts(declaration)),
        *([text] if text else []),
        f"## Inputs\n\n{_members(declaration.inputs, 'Any inputs.')}",
        f"## Outputs\n\n{_members(declaration.outputs, 'Not fixed.')}",
        f"## Config\n\n{_members(declaration.config, 'Any members.')}",
        f"## Example\n\n```json\n{_written(example(declaration))}\n```",
    ]
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def _facts(declaration: NodeDeclaration) -> Iterator[list[str]]:
    yield ["effect", f"`{declaration.effect}`: {EFFECTS[declaration.effect]}"]
    yield ["kind", KINDS[declaration.instant]]
    yield ["needs", ", ".join(f"`{name}`" for name in declaration.requires) or "nothing"]
    if declaration.branching:
        yield ["edges", "an edge from an output that was not given counts as skipped, except from `output`"]
    if declaration.gathers_edges:
        yield ["takes", "every value that its edges bring"]
    for pattern, names in {**declaration.expressions, **declaration.templates}.items():
        kind = "expression" if pattern in declaration.expressions else "template"
        known = f"; also knows {', '.join(f'`{name}`' for name in names)}" if names else ""
        yield [kind, f"config `{pattern}`{known}"]
    if names := other_names(declaration.type_id):
        yield ["other names", ", ".join(f"`{name}`" for name in names)]
    yield ["version", declaration.version]


def _members(schema: dict[str, Any], anything: str) -> str:
    rows = list(_rows(schema, ""))
    is_open = schema.get("additionalProperties", True) is not False
    said = [schema["description"]] if "description" in schema else []
    if rows:
        said.append(_table(("member", "type", "default", "bounds", "meaning"), rows))
        said += ["Others may be there too."] if is_open else []
    else:
        said.append(anything if is_open else "None.")
    limits = [each for each in _bounds(schema) if rows]
    return "\n\n".join([*(each.strip() for each in said), *([f"Takes {' and '.join(limits)}."] if limits else [])])


def _rows(schema: dict[str, Any], prefix: str) -> Iterator[list[str]]:
    """A row for each member, and below it those of its own members."""
    required = schema.get("required", ())
    for name, shape in schema.get("properties", {}).items():
        path = f"{prefix}{name}"
        default = f"`{json.dumps(shape['default'])}`" if "default" in shape else "required" if name in required else ""
        yield [f"`{path}`", _type(shape), default, ", ".join(_bounds(shape)), shape.get("description", "")]
        yield from _rows(shape, f"{path}.")
    inner = schema.get("additionalProperties")
    if isinstance(inner, dict) and prefix:
        yield [f"`{prefix}*`", _type(inner), "", ", ".join(_bounds(inner)), inner.get("description", "")]
        yield from _rows(inner, f"{prefix}*.")
    for branch in schema.get("allOf", ()):
        yield from _rows({"properties": _own(branch.get("then", {}))}, prefix)
    if isinstance(schema.get("items"), dict):
        yield from _rows(schema["items"], f"{prefix.rstrip('.')}[].")


def _own(branch: dict[str, Any]) -> dict[str, Any]:
    """Members that only one form has; the one that chooses the form has no shape there."""
    return {name: shape for name, shape in branch.get("properties", {}).items() if shape not in ({}, True)}


def _type(shape: dict[str, Any]) -> str:
    if shape.get("not") == {}:
        return "refused"
    if "enum" in shape:
        return " or ".join(f"`{json.dumps(value)}`" for value in shape["enum"])
    for choice in ("anyOf", "oneOf"):
        if choice in shape:
            return " or ".join(dict.fromkeys(_type(each) for each in shape[choice]))
    named = shape.get("type", "any")
    if named == "array" and "type" in shape.get("items", {}):
        return f"array of {_type(shape['items'])}"
    return " or ".join(named) if isinstance(named, list) else named


def _bounds(shape: dict[str, Any]) -> Iterator[str]:
    for (least, most), unit in RANGES.items():
        low, high = shape.get(least), shape.get(most)
        if high is None:
            words = f"{low} or more" if low else ""
        elif low == high:
            words = f"exactly {low}"
        else:
            words = f"{low} to {high}" if low or (low == 0 and not unit) else f"up to {high}"
        if words:
            yield words + (unit.rstrip("s") if words == "exactly 1" else unit)
    if "pattern" in shape:
        yield f"matches `{shape['pattern']}`" if len(shape["pattern"]) <= READABLE else "of a fixed form"
    taken = shape.get("not", {}).get("enum", shape.get("propertyNames", {}).get("not", {}).get("enum", ()))
    if taken:
        yield f"not {' or '.join(f'`{value}`' for value in taken)}"


def example(declaration: NodeDeclaration) -> dict[str, Any]:
    """A node as it may stand in a definition: the one of the declaration, or one that the schemas give."""
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
    """A value for a schema: what the schema says itself, or something small of the right type."""
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
    """Exit status: 0 when all pages are up to date, or have been written; 1 when --check finds one that is not."""
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
