"""Reads the inputs of a node call: values and expressions, and the failures that they cause."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from weftwork.ports.node_outcome import Failed, NodeOutcome
from weftwork.ports.nodes import NodeCall
from weftwork.protocol.expressions.faults import ExpressionFault
from weftwork.protocol.json.values import ABSENT


def input_value(call: NodeCall, name: str) -> Any:
    """What the node works on: its port of that name, else its config, else the port `input`; or ABSENT."""
    if name in call.inputs:
        return call.inputs[name]
    if name in call.config:
        return call.config[name]
    return call.inputs.get("input", ABSENT)


def missing_input(name: str) -> Failed:
    message = f"The node needs a value, as input {name}, config {name} or input input."
    return Failed("node_input_missing", message, retryable=False)


def evaluate(call: NodeCall, source: str, **names: Any) -> Any:
    """Raises ExpressionFault."""
    return call.scope.evaluate(source, {"ports": call.inputs, **names})


def render(call: NodeCall, text: str) -> str:
    """Raises ExpressionFault."""
    return call.scope.render(text, {"ports": call.inputs})


def expression_failure(fault: ExpressionFault) -> Failed:
    """The same expression over the same run gives the same fault, so there is nothing to try again."""
    return Failed(fault.code, fault.message, retryable=False)


def fail_on_expression_fault(run: Callable[[NodeCall], NodeOutcome]) -> Callable[[NodeCall], NodeOutcome]:
    """A node type whose expressions may be at fault, which fails it."""

    @wraps(run)
    def judged(call: NodeCall) -> NodeOutcome:
        try:
            return run(call)
        except ExpressionFault as fault:
            return expression_failure(fault)

    return judged


def truncate_utf8(text: str, most: int) -> str:
    """The text in at most so many bytes of UTF-8; one that was longer ends in dots."""
    data = text.encode()
    return text if len(data) <= most else data[: most - 3].decode(errors="ignore") + "..."
