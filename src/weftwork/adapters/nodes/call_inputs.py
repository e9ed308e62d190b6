"""Reads the inputs of a node call, evaluates expressions and renders templates."""

from typing import Any

from weftwork.ports.node_outcome import Failed, StepFailed
from weftwork.ports.nodes import NodeCall


def input_value(call: NodeCall, name: str) -> Any:
    """The input `name`, else the config member `name`, else the input `input`. Raises StepFailed if all are absent."""
    for values, member in ((call.inputs, name), (call.config, name), (call.inputs, "input")):
        if member in values:
            return values[member]
    message = f"The node has no value: set the input {name}, the config {name} or the input input."
    raise StepFailed(Failed("node_input_missing", message, retryable=False))


def evaluate(call: NodeCall, source: str, **names: Any) -> Any:
    """Raises ExpressionFault."""
    return call.scope.evaluate(source, {"ports": call.inputs, **names})


def render(call: NodeCall, text: str) -> str:
    """Raises ExpressionFault."""
    return call.scope.render(text, {"ports": call.inputs})


def truncate_utf8(text: str, max_bytes: int) -> str:
    """The text, shortened to `max_bytes` bytes of UTF-8. A shortened text ends in `...`."""
    data = text.encode()
    return text if len(data) <= max_bytes else data[: max_bytes - 3].decode(errors="ignore") + "..."
