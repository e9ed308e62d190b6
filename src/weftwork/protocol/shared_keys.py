"""Keys that several nodes of a workflow ask under."""

from collections.abc import Sequence

from weftwork.protocol.definition import Node
from weftwork.protocol.schema import Violation


def check_keys(nodes: Sequence[Node]) -> list[Violation]:
    """int-20 (OpenWOP interrupt): who asks under one key gets one answer, so they ask the same, of the same people."""
    # A node without a key of its own is known by its id.
    first: dict[str, Node] = {node.id: node for node in nodes}
    violations: list[Violation] = []
    for index, node in enumerate(nodes):
        known = first.setdefault(node.shared_key, node) if isinstance(node.shared_key, str) else node
        if (known.declaration.type_id, known.config) != (node.declaration.type_id, node.config):
            text = f"is that of the node {known.id}, which asks something else: give it a key of its own"
            violations.append(Violation(f"/nodes/{index}/config/{node.declaration.asks_under}", "unique", text))
    return violations
