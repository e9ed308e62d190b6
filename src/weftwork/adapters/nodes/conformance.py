"""Node types that exist to be checked against: they prove refusals."""

from typing import Final

from weftwork.ports.nodes import Failed, InstantNode, NodeCall, NodeType, Outcome
from weftwork.protocol.node_type import NEVER_PROVIDED, NodeDeclaration


def _never_runs(call: NodeCall) -> Outcome:
    return Failed("host_invariant_broken", "A node ran although the host lacks a capability it requires.")


CONFORMANCE: Final[tuple[NodeType, ...]] = (
    InstantNode(
        NodeDeclaration(
            "conformance.requiresMissing",
            "Requires a runtime capability that no host provides.",
            requires=(NEVER_PROVIDED,),
            config={"type": "object"},
        ),
        _never_runs,
    ),
)
