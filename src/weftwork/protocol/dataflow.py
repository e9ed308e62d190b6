"""Data flow: what a node is given. Taken from the fold and from nowhere else."""

from typing import Any

import msgspec

from weftwork.protocol.fold import RunState
from weftwork.protocol.workflow import Port


class Missing(msgspec.Struct, frozen=True):
    """A required input had no value."""

    port: str
    source: str


class _Absent:
    """No value, as distinct from null."""


_ABSENT = _Absent()


def resolve_inputs(state: RunState, node_id: str) -> dict[str, Any] | Missing:
    """data-03 (readings, Data flow): a port's own value wins; an edge fills a port that has none."""
    place = state.plan.nodes[node_id]
    resolved: dict[str, Any] = {}
    for name, port in place.node.ports.items():
        value = _port_value(state, port)
        if not isinstance(value, _Absent):
            resolved[name] = value
        elif not port.optional:
            source = port.variable or f"{port.node_id}.{port.output_key}"
            return Missing(name, source)
    for edge in sorted(place.incoming, key=lambda edge: edge.id):
        if edge.target_input in place.node.ports or edge.target_input in resolved:
            continue
        value = _output(state, edge.source, edge.source_output)
        if not isinstance(value, _Absent):
            resolved[edge.target_input] = value
    return resolved


def _port_value(state: RunState, port: Port) -> Any:
    if port.type == "static":
        return port.value
    if port.type == "variable":
        return state.variables.get(port.variable, _ABSENT)
    return _output(state, port.node_id, port.output_key)


def _output(state: RunState, node_id: str, key: str) -> Any:
    node = state.nodes.get(node_id)
    if node is None or node.status != "completed":
        return _ABSENT
    return node.outputs.get(key, _ABSENT)
