"""Built-in node types: core.noop, core.identity, core.fail, core.delay."""

from typing import Any, Final

from weftwork.adapters.nodes.schemas import closed_object, port_schema, typed
from weftwork.ports.node_outcome import Completed, Failed, NodeOutcome, WriteChannel
from weftwork.ports.nodes import InstantNode, NodeCall, NodeContext, NodeType, WaitingNode
from weftwork.protocol.workflow.node_types import NodeDeclaration


def duplicate_messages() -> tuple[WriteChannel, ...]:
    """Two messages, the second one written twice: what a channel with the reducer `message` keeps once."""
    texts = {"msg-1": "The first message.", "msg-2": "The second message."}
    return tuple(
        WriteChannel(
            "messages",
            {"messageId": each, "role": "assistant", "content": texts[each], "timestamp": _MESSAGE_TIMESTAMP},
            "message",
        )
        for each in ("msg-1", "msg-2", "msg-2")
    )


_MESSAGE_TIMESTAMP: Final = "2026-01-01T00:00:00.000Z"
"""Fixed: a node that answers at once knows no time, and equal runs write equal messages."""


MAX_DELAY_MS: Final = 365 * 86_400_000
_DELAY_SCHEMA: Final[dict[str, Any]] = {"type": "number", "minimum": 0, "maximum": MAX_DELAY_MS}


def _noop(call: NodeCall) -> NodeOutcome:
    return Completed({})


def _identity(call: NodeCall) -> NodeOutcome:
    return Completed(call.inputs, duplicate_messages() if call.config.get("emitDuplicateMessageId") else ())


def _fail(call: NodeCall) -> NodeOutcome:
    code = call.config.get("code", "conformance_test_failure")
    return Failed(code, call.config.get("message", "Intentional conformance failure"))


async def _delay(call: NodeCall, context: NodeContext) -> NodeOutcome:
    """node-03 (OpenWOP fixtures): the first of inputs.delayMs, config.delayMs, config.ms, config.durationMs counts."""
    config = call.config
    spellings = (
        call.inputs.get("delayMs"),
        config.get("delayMs"),
        config.get("ms"),
        config.get("durationMs"),
    )
    length = next((value for value in spellings if value is not None), None)
    if length is None:
        return Failed("node_input_missing", "The node needs its length in milliseconds, as input or config delayMs.")
    await context.sleep_until(context.started_at + int(length))
    return Completed({})


BASIC_NODES: Final[tuple[NodeType, ...]] = (
    InstantNode(
        NodeDeclaration("core.noop", "Does nothing and completes.", config={"type": "object"}),
        _noop,
    ),
    InstantNode(
        NodeDeclaration(
            "core.identity",
            "Gives each input back as the output of the same name.",
            config=closed_object(
                emitDuplicateMessageId=typed(
                    "boolean", "For conformance: also write two messages to the channel messages, one twice."
                )
            ),
        ),
        _identity,
    ),
    InstantNode(
        NodeDeclaration(
            "core.fail",
            "Fails with the configured code and message.",
            config=closed_object(
                code={"type": "string", "pattern": "^[a-z][a-z0-9_]*$", "maxLength": 64},
                message={"type": "string", "minLength": 1, "maxLength": 1024},
            ),
        ),
        _fail,
    ),
    WaitingNode(
        NodeDeclaration(
            "core.delay",
            "Waits for a number of milliseconds, counted from its start, then completes.",
            instant=False,
            inputs=port_schema(delayMs=_DELAY_SCHEMA),
            config=closed_object(delayMs=_DELAY_SCHEMA, ms=_DELAY_SCHEMA, durationMs=_DELAY_SCHEMA),
        ),
        _delay,
    ),
)
