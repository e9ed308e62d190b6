"""What exists to be checked against: node types that prove refusals, and what a published workflow expects."""

from typing import Final

from weftwork.ports.nodes import Failed, InstantNode, NodeCall, NodeType, Outcome, WriteChannel
from weftwork.protocol.node_type import NEVER_PROVIDED, NodeDeclaration


def _never_runs(call: NodeCall) -> Outcome:
    return Failed("host_invariant_broken", "A node ran although the host lacks a capability it requires.")


def duplicate_messages() -> tuple[WriteChannel, ...]:
    """Two messages, the second one written twice: what a channel with the reducer `message` keeps once."""
    texts = {"msg-1": "The first message.", "msg-2": "The second message."}
    return tuple(
        WriteChannel(
            "messages",
            {"messageId": each, "role": "assistant", "content": texts[each], "timestamp": _MESSAGES_AT},
            "message",
        )
        for each in ("msg-1", "msg-2", "msg-2")
    )


_MESSAGES_AT: Final = "2026-01-01T00:00:00.000Z"
"""Fixed: a node that answers at once knows no time, and equal runs write equal messages."""

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
