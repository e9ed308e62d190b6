"""Data flow: what a node is given. Taken from the fold and from nowhere else."""

from typing import Any

import msgspec

from weftwork.protocol.definition import Edge, Port
from weftwork.protocol.expression import ExpressionFault
from weftwork.protocol.json_value import ABSENT, Absent
from weftwork.protocol.scope import is_untrusted_output, names_for, output_of, reads_untrusted
from weftwork.protocol.state import RunState


class Missing(msgspec.Struct, frozen=True):
    """A required input had no value."""

    port: str
    source: str


class Broken(msgspec.Struct, frozen=True):
    """An expression of a port gave no value."""

    port: str
    code: str
    message: str


def resolve_inputs(state: RunState, node_id: str) -> dict[str, Any] | Missing | Broken:
    """data-03 (readings, Data flow): a port's own value wins; an edge fills a port that has none."""
    place = state.plan.nodes[node_id]
    resolved: dict[str, Any] = {}
    for name, port in place.node.ports.items():
        try:
            value = _port_value(state, node_id, port)
        except ExpressionFault as fault:
            return Broken(name, fault.code, fault.message)
        if not isinstance(value, Absent):
            resolved[name] = value
        elif not port.optional:
            source = port.variable or f"{port.node_id}.{port.output_key}"
            return Missing(name, source)
    for edge in _bringing(state, node_id):
        if edge.target_input in place.node.ports or edge.target_input in resolved:
            continue
        value = brought(state, edge)
        if not isinstance(value, Absent):
            resolved[edge.target_input] = value
    return resolved


def arrivals(state: RunState, node_id: str) -> list[tuple[Edge, Any]]:
    """data-07 (readings, Data flow): every value that the edges bring, in the order of the graph."""
    nodes = state.plan.nodes
    edges = sorted(nodes[node_id].incoming, key=lambda edge: (nodes[edge.source].index, edge.id))
    found = [(edge, brought(state, edge)) for edge in edges]
    return [(edge, value) for edge, value in found if not isinstance(value, Absent)]


def brought(state: RunState, edge: Edge) -> Any:
    """What an edge brings: nothing if it was not taken."""
    node = state.nodes.get(edge.source)
    if node is None:
        return ABSENT
    outputs = node.outputs if node.status == "completed" else None
    if edge in state.plan.nodes[edge.target].back:
        outputs = node.previous
    elif outputs is not None and state.settled.get(edge.id, "completed") != "completed":
        outputs = None
    return ABSENT if outputs is None else outputs.get(edge.source_output, ABSENT)


def untrusted_inputs(state: RunState, node_id: str) -> frozenset[str]:
    """trust-02 (RFC 0143): the ports whose value came from outside, or is made of something that did."""
    if state.untrusted is None:
        return frozenset()
    ports = state.plan.nodes[node_id].node.ports
    found = {name for name, port in ports.items() if _is_untrusted_port(state, node_id, port)}
    filled = set(ports)
    for edge in _bringing(state, node_id):
        if edge.target_input not in filled and not isinstance(brought(state, edge), Absent):
            filled.add(edge.target_input)
            if _brings_untrusted(state, edge):
                found.add(edge.target_input)
    return frozenset(found)


def arriving_untrusted(state: RunState, node_id: str) -> bool:
    """The same of all that the edges bring."""
    return any(_brings_untrusted(state, edge) for edge, _ in arrivals(state, node_id))


def _is_untrusted_port(state: RunState, node_id: str, port: Port) -> bool:
    known = state.untrusted
    if known is None or port.type == "static":
        return False
    if port.type == "variable":
        return known.is_variable(state.nodes[node_id].view, port.variable)
    if port.expression is not None:
        return reads_untrusted(state, node_id, port.expression.references)
    gives = output_of(state, node_id, port.node_id)
    return gives is not None and port.output_key in gives and is_untrusted_output(state, node_id, port.node_id)


def _brings_untrusted(state: RunState, edge: Edge) -> bool:
    node = state.nodes[edge.source]
    return node.distrusted if edge in state.plan.nodes[edge.target].back else node.untrusted


def _bringing(state: RunState, node_id: str) -> list[Edge]:
    """The edges that may fill ports, the one that wins first: what led back here in this round, then by id."""
    place = state.plan.nodes[node_id]
    edges = list(place.incoming) if len(place.incoming) < 2 else sorted(place.incoming, key=lambda edge: edge.id)
    if not place.back:
        return edges
    fired = state.fired.get(place.counts, frozenset()) if place.counts is not None else frozenset[str]()
    return [*sorted((edge for edge in place.back if edge.id in fired), key=lambda edge: edge.id), *edges]


def _port_value(state: RunState, node_id: str, port: Port) -> Any:
    if port.type == "static":
        return port.value
    if port.type == "variable":
        entry = state.nodes[node_id].view.get(port.variable)
        return entry[1] if entry is not None else ABSENT
    if port.expression is not None:
        return port.expression.evaluate(names_for(state, node_id, port.expression.references))
    outputs = output_of(state, node_id, port.node_id)
    return ABSENT if outputs is None else outputs.get(port.output_key, ABSENT)
