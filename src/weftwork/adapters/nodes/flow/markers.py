"""Node types that mark and join the paths of a run: start, end, parallel, merge."""

from typing import Any, Final

from weftwork.adapters.nodes.schemas import (
    any_value,
    closed_object,
    fixed_ports,
    one_of,
    port_schema,
    reference_notes,
    typed,
)
from weftwork.ports.node_outcome import Completed, NodeOutcome
from weftwork.ports.nodes import Arrival, InstantNode, NodeCall, NodeType
from weftwork.protocol.workflow.node_types import NodeDeclaration


def _pass_inputs(call: NodeCall) -> NodeOutcome:
    """Edges that name no ports lead from `output` to `input`; so that they carry on, `input` is given as both."""
    inputs = call.inputs
    return Completed({"output": inputs["input"], **inputs} if "input" in inputs else inputs)


def _merge(call: NodeCall) -> NodeOutcome:
    mode = call.config.get("mode", "object")
    values = [arrival.value for arrival in call.arrivals]
    if mode == "first":
        return Completed({"output": values[0]} if values else {})
    if mode == "array":
        return Completed({"output": values})
    merged: dict[str, Any] = {}
    for arrival in call.arrivals:
        merged[_merge_key(merged, arrival)] = arrival.value
    return Completed({"output": merged})


def _merge_key(taken: dict[str, Any], arrival: Arrival) -> str:
    """The id of the node; with the port, and then a number, if that is taken. Nothing that arrived is lost."""
    key = arrival.node_id if arrival.node_id not in taken else f"{arrival.node_id}.{arrival.port}"
    free, number = key, 2
    while free in taken:
        free, number = f"{key}.{number}", number + 1
    return free


def _marker(
    type_id: str,
    title: str,
    text: str,
    inputs: dict[str, Any] | None = None,
    config: dict[str, Any] | None = None,
) -> NodeType:
    """A node type that changes nothing and shows readers of a definition where they are."""
    handed = "Gives each input back as the output of the same name, and `input` also as `output`."
    declaration = NodeDeclaration(
        type_id,
        title,
        inputs=port_schema(input=any_value("Handed on to whatever follows.")),
        outputs=port_schema(output=any_value("The input `input`, if there is one.")),
        config=config if config is not None else closed_object(),
        notes=reference_notes(f"{handed}{text}", type_id, {}, inputs),
    )
    return InstantNode(declaration, _pass_inputs)


MARKER_NODES: Final[tuple[NodeType, ...]] = (
    _marker(
        "core.start",
        "Marks where a workflow begins, and hands its inputs on.",
        """
A workflow needs no start node: a run begins with every node that has no incoming edge.
""",
        {"order": {"type": "variable", "variableName": "order"}},
        typed("object", "Not read. It may describe what runs are started by."),
    ),
    _marker(
        "core.end",
        "Marks where a workflow ends, and hands its inputs on.",
        """
It does not stop anything: other branches go on, and the run ends when nothing is left to do. As a node without
outgoing edges it shows up in the outputs of the run.
""",
        {"total": {"type": "connection", "nodeId": "sum", "outputKey": "output"}},
    ),
    _marker(
        "core.parallel",
        "Marks where branches begin that run side by side, and hands its inputs on.",
        """
Every edge that leaves it begins a branch. Nodes that do not depend on each other run side by side with or without it.
`core.merge` brings branches together.
""",
    ),
    InstantNode(
        NodeDeclaration(
            "core.merge",
            "Brings branches together in one value.",
            gathers_edges=True,
            outputs=fixed_ports(output=any_value("What the edges brought, put together by the mode.")),
            config=closed_object(
                mode=one_of(("object", "array", "first"), "How the values are put together.", default="object")
            ),
            notes=reference_notes(
                """
Takes every value that an incoming edge brings, in the order of the graph; branches that were skipped bring none. What
the node's own `inputs` name is not looked at.

- `object`: an object by the id of the node each value comes from. Further values of the same node go under
  `<nodeId>.<targetInput>`, then under `<nodeId>.<targetInput>.2` and so on.
- `array`: a list of the values.
- `first`: the first value; no output at all if there is none.

When the node starts is decided by the trigger rule of its edges, as for any node: `all_success` waits for all
branches and is skipped with any of them, `none_failed` goes on with those that were not skipped.
""",
                "core.merge",
                {"mode": "array"},
            ),
        ),
        _merge,
    ),
)
