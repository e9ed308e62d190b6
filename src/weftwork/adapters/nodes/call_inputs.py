"""Reads the inputs of a node call: values and expressions."""

from typing import Any

from weftwork.ports.node_outcome import Failed, StepFailed
from weftwork.ports.nodes import NodeCall


def input_value(call: NodeCall, name: str) -> Any:
    """What the node works on: its port of that name, else its config, else the port `input`. Raises StepFailed."""
    for values, member in ((call.inputs, name), (call.config, name), (call.inputs, "input")):
        if member in values:
            return values[member]
    message = f"The node needs a value, as input {name}, config {name} or input input."
    raise StepFailed(Failed("node_input_missing", message, retryable=False))


def evaluate(call: NodeCall, source: str, **names: Any) -> Any:
    """Raises ExpressionFault."""
    return call.scope.evaluate(source, {"ports": call.inputs, **names})


def render(call: NodeCall, text: str) -> str:
    """Raises ExpressionFault."""
    return call.scope.render(text, {"ports": call.inputs})


def truncate_utf8(text: str, most: int) -> str:
    """The text in at most so many bytes of UTF-8; one that was longer ends in dots."""
    data = text.encode()
    return text if len(data) <= most else data[: most - 3].decode(errors="ignore") + "..."
