"""Which nodes of a masked history a replay must not call, because they would read masks instead of values."""

from collections import defaultdict

import msgspec

from weftwork.protocol.replay.history import MASK, Masked
from weftwork.protocol.run.events import Event
from weftwork.protocol.workflow.definition import Node
from weftwork.protocol.workflow.plan import Plan, plan_workflow


def nodes_behind_masks(plan: Plan, events: tuple[Event, ...], masked: Masked) -> frozenset[str]:
    """hist-02 (host): the nodes that a masked value can reach. They cannot be called with what they had.

    The plan knows where values go that are declared as sensitive. Credentials are masked wherever they appear, so the
    places of all masks count as declared here.
    """
    variables, outputs = {*masked.inputs}, defaultdict[str, set[str]](set)
    for event in events:
        if MASK not in event.payload:
            continue
        payload = msgspec.json.decode(event.payload)
        if event.type == "variable.changed":
            variables.add(payload["name"])
        if event.node_id is not None:
            outputs[event.node_id] |= payload.get("outputs", {}).keys()
    workflow = plan.workflow
    declared = msgspec.structs.replace(
        workflow,
        variables=tuple(
            [
                msgspec.structs.replace(each, sensitive=each.sensitive or each.name in variables)
                for each in workflow.variables
            ]
        ),
        nodes=tuple([_with_sensitive(each, outputs.get(each.id, set())) for each in workflow.nodes]),
    )
    changed, _ = plan_workflow(declared)
    assert changed is not None, "what is sensitive does not make a definition invalid"
    return changed.taint.nodes | (outputs.keys() & plan.nodes.keys())


def _with_sensitive(node: Node, outputs: set[str]) -> Node:
    return msgspec.structs.replace(node, sensitive_outputs=node.sensitive_outputs | outputs) if outputs else node


def take_over_outcomes(plan: Plan, nodes: frozenset[str]) -> Plan:
    """hist-02 (host): the plan for a replay that calls none of these nodes. They count as nodes with effects, whose
    recorded outcome a replay takes over."""
    changed = {node_id: plan.nodes[node_id] for node_id in nodes}
    for node_id, place in changed.items():
        declaration = msgspec.structs.replace(place.node.declaration, effect="idempotent")
        node = msgspec.structs.replace(place.node, declaration=declaration)
        changed[node_id] = msgspec.structs.replace(place, node=node)
    return msgspec.structs.replace(plan, nodes={**plan.nodes, **changed}) if changed else plan
