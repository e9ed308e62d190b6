"""Workflow definitions of many nodes, by shape."""

from collections.abc import Sequence
from typing import Any, Final

ROW: Final = 10
"""Nodes of one layer."""
_NOTHING: Final[dict[str, Any]] = {}

Json = dict[str, Any]


def definition(name: str, nodes: Sequence[Json], edges: Sequence[Json], **more: Any) -> Json:
    empty: Json = {"triggers": [], "variables": [], "metadata": {}, "settings": {}}
    return {"id": name, "name": name, "version": "1.0", "nodes": nodes, "edges": edges, **empty, **more}


def node(number: int, type_id: str = "core.noop", config: Json = _NOTHING, inputs: Json = _NOTHING) -> Json:
    place = {"x": 0, "y": 0}
    return {
        "id": f"n{number}",
        "typeId": type_id,
        "name": "n",
        "position": place,
        "config": config,
        "inputs": inputs,
    }


def edge(source: int, target: int, **more: Any) -> Json:
    return {"id": f"e{source}-{target}", "sourceNodeId": f"n{source}", "targetNodeId": f"n{target}", **more}


def _row(count: int) -> list[Json]:
    return [edge(number, number + 1) for number in range(count - 1)]


def chain(name: str, count: int, type_id: str = "core.noop") -> Json:
    """All in a row."""
    return definition(name, [node(number, type_id) for number in range(count)], _row(count))


def wide(name: str, count: int) -> Json:
    """One, then all others side by side, then one."""
    inner = range(1, count - 1)
    edges = [joined for number in inner for joined in (edge(0, number), edge(number, count - 1))]
    return definition(name, [node(number) for number in range(count)], edges)


def layered(name: str, count: int) -> Json:
    """Rows of ten; each node waits for two of the row before."""
    edges = [
        edge(above, number)
        for number in range(ROW, count)
        for above in (number - ROW, number - number % ROW - ROW + (number + 1) % ROW)
    ]
    return definition(name, [node(number) for number in range(count)], edges)


def computing(name: str, count: int) -> Json:
    """A row in which each node computes something from what the one before it gave.

    No two expressions are the same, here or in a definition of another name: the host keeps some that it has parsed.
    """
    nodes = [node(0, "core.transform", {"expression": "1.0"})]
    for number in range(1, count):
        before = f"n{number - 1}"
        config = {"expression": f"ports.input + (ports.more == '{name}' ? 0.0 : {number}.0)"}
        inputs = {
            "input": {"type": "connection", "nodeId": before, "outputKey": "output"},
            "more": {"type": "expression", "expression": f"nodes.{before}.outputs.output == '{name}' ? 0.0 : 1.0"},
        }
        nodes.append(node(number, "core.transform", config, inputs))
    return definition(name, nodes, _row(count))


def mapped(name: str) -> Json:
    """A list in the inputs, and an expression for each of its items."""
    body = {
        "typeId": "core.transform",
        "config": {"fields": {"label": "ports.input.name", "next": "ports.input.n + 1.0"}},
    }
    each = node(0, "core.flow.map", {"body": body}, {"items": {"type": "variable", "variableName": "items"}})
    items = {"name": "items", "type": "array", "required": True}
    return definition(name, [each], [], variables=[items])


def items(count: int) -> list[Json]:
    """What is mapped."""
    return [{"n": number, "name": f"item {number}"} for number in range(count)]


def looping(name: str, rounds: int) -> Json:
    """A loop with one node in its body."""
    head = node(0, "core.loop", {"times": rounds})
    edges = [edge(0, 1, sourceOutput="body"), edge(1, 0)]
    return definition(name, [head, node(1)], edges, settings={"maxLoopbackIterations": rounds})
