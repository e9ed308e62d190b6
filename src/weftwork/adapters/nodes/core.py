"""Built-in node types: core.noop, core.identity, core.fail, core.delay."""

from typing import Any, Final

from weftwork.adapters.nodes.conformance import duplicate_messages
from weftwork.ports.nodes import (
    Completed,
    Failed,
    InstantNode,
    NodeCall,
    NodeContext,
    NodeType,
    Outcome,
    WaitingNode,
)
from weftwork.protocol.node_type import NodeDeclaration

MAX_DELAY_MS: Final = 365 * 86_400_000
_LENGTH: Final[dict[str, Any]] = {"type": "number", "minimum": 0, "maximum": MAX_DELAY_MS}


def _noop(call: NodeCall) -> Outcome:
    return Completed({})


def _identity(call: NodeCall) -> Outcome:
    return Completed(call.inputs, duplicate_messages() if call.config.get("emitDuplicateMessageId") else ())


def _fail(call: NodeCall) -> Outcome:
    code = call.config.get("code", "conformance_test_failure")
    return Failed(code, call.config.get("message", "Intentional conformance failure"))


async def _delay(call: NodeCall, context: NodeContext) -> Outcome:
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


CORE: Final[tuple[NodeType, ...]] = (
    InstantNode(
        NodeDeclaration("core.noop", "Does nothing and completes.", config={"type": "object"}),
        _noop,
    ),
    InstantNode(
        NodeDeclaration(
            "core.identity",
            "Gives each input back as the output of the same name.",
            config={
                "type": "object",
                "properties": {
                    "emitDuplicateMessageId": {
                        "type": "boolean",
                        "description": "For conformance: also write two messages to the channel messages, one twice.",
                    }
                },
                "additionalProperties": False,
            },
        ),
        _identity,
    ),
    InstantNode(
        NodeDeclaration(
            "core.fail",
            "Fails with the configured code and message.",
            config={
                "type": "object",
                "properties": {
                    "code": {"type": "string", "pattern": "^[a-z][a-z0-9_]*$", "maxLength": 64},
                    "message": {"type": "string", "minLength": 1, "maxLength": 1024},
                },
                "additionalProperties": False,
            },
        ),
        _fail,
    ),
    WaitingNode(
        NodeDeclaration(
            "core.delay",
            "Waits for a number of milliseconds, counted from its start, then completes.",
            instant=False,
            inputs={"type": "object", "properties": {"delayMs": _LENGTH}},
            config={
                "type": "object",
                "properties": {"delayMs": _LENGTH, "ms": _LENGTH, "durationMs": _LENGTH},
                "additionalProperties": False,
            },
        ),
        _delay,
    ),
)
