"""Node types that process the items of a list: filter, aggregate."""

import asyncio
import math
from functools import partial
from typing import Any, Final

from weftwork.adapters.nodes import schemas
from weftwork.adapters.nodes.call_inputs import input_value
from weftwork.adapters.nodes.schemas import waiting_node
from weftwork.ports.node_outcome import Completed, Failed, NodeOutcome, StepFailed
from weftwork.ports.nodes import NodeCall, NodeContext, NodeType
from weftwork.protocol.json.decoder import MAX_INTEGER
from weftwork.protocol.json.values import is_array

MAX_ITEMS: Final = 100_000
SLICE_SECONDS: Final = 0.002
"""Seconds for which a list may block the event loop before other tasks run."""
_ITEMS: Final = {"type": "array", "maxItems": MAX_ITEMS}
_INPUTS: Final = schemas.port_schema(
    items={**_ITEMS, "description": "The items. Overrides the config."},
    input=schemas.any_value("The items, if neither the input `items` nor the config has them."),
)
_ITEMS_CONFIG: Final = {**_ITEMS, "description": "The items, if no input has them."}


@waiting_node(
    "core.filter",
    "Keeps the items of a list for which an expression is true.",
    inputs=_INPUTS,
    outputs=schemas.fixed_ports(
        output=schemas.typed("array", "The items for which the expression is true, in their original order."),
        count=schemas.typed("integer", "The number of items in `output`."),
    ),
    config=schemas.closed_object(
        "expression",
        items=_ITEMS_CONFIG,
        expression=schemas.expression_string(
            "The condition for keeping an item. It can use `item` and `index`, which counts from 0."
        ),
    ),
    expressions={"/expression": ("item", "index")},
    notes="""
The items are the input `items`, else the config member `items`, else the input `input`. Without any of them the node
fails with `node_input_missing`; if the value is not a list, it fails with `node_config_invalid`. If the expression is
neither true nor false for an item, the node fails with `condition_not_boolean`, and the details contain the `index` of
the item. In the expression, `ports` contains the inputs of the node without the list.
""",
    example_config={"expression": "item.price < 10.0"},
    example_inputs={"items": {"type": "variable", "variableName": "offers"}},
)
async def _filter(call: NodeCall, context: NodeContext) -> NodeOutcome:
    items, verdicts = await _evaluate_items(call, context, call.config["expression"])
    invalid = next((index for index, verdict in enumerate(verdicts) if not isinstance(verdict, bool)), None)
    if invalid is not None:
        message = f"The value of config expression is neither true nor false for the item with the index {invalid}."
        return Failed("condition_not_boolean", message, {"index": invalid}, retryable=False)
    kept = [item for item, verdict in zip(items, verdicts, strict=True) if verdict]
    return Completed({"output": kept, "count": len(kept)})


@waiting_node(
    "core.aggregate",
    "Computes one value from the items of a list.",
    inputs=_INPUTS,
    outputs=schemas.fixed_ports(
        output=schemas.any_value("The result of the operation."),
        count=schemas.typed("integer", "The number of items."),
    ),
    config=schemas.closed_object(
        "operation",
        items=_ITEMS_CONFIG,
        operation=schemas.one_of(
            ("list", "count", "sum", "average", "min", "max"), "The operation on the values of the items."
        ),
        value=schemas.expression_string(
            "An expression for the value of an item; the default is the item. It can use `item` and `index`, which "
            "counts from 0."
        ),
    ),
    expressions={"/value": ("item", "index")},
    notes="""
The items are the input `items`, else the config member `items`, else the input `input`, as for
[core.filter](core.filter.md). `list` returns the list of values, and `count` returns their number. The other operations
need numbers: if a value is not a number, the node fails with `aggregate_not_a_number`, and if the result is too large
for a number, with `aggregate_overflow`. For an empty list, the sum is 0, and average, minimum and maximum are null.
""",
    example_config={"operation": "sum", "value": "item.price * item.amount"},
    example_inputs={"items": {"type": "variable", "variableName": "lines"}},
)
async def _aggregate(call: NodeCall, context: NodeContext) -> NodeOutcome:
    items, values = await _evaluate_items(call, context, call.config.get("value"))
    operation, count = call.config["operation"], len(items)
    if operation == "list":
        return Completed({"output": values, "count": count})
    if operation == "count":
        return Completed({"output": count, "count": count})
    invalid = next((index for index, value in enumerate(values) if not _is_number(value)), None)
    if invalid is not None:
        message = f"The value of the item with the index {invalid} is not a number, which {operation} needs."
        return Failed("aggregate_not_a_number", message, {"index": invalid}, retryable=False)
    output = _compute(operation, values)
    if output is not None and not math.isfinite(output):
        return Failed("aggregate_overflow", "The result is too large for a number.", retryable=False)
    return Completed({"output": output, "count": count})


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _compute(operation: str, values: list[Any]) -> Any:
    if not values:
        return 0 if operation == "sum" else None
    match operation:
        case "min":
            return min(values)
        case "max":
            return max(values)
        case "sum":
            return _json_number(sum(values))
        case _:
            return _json_number(sum(values) / len(values))


def _json_number(value: float) -> float:
    """The value as expressions return numbers: an integer if it is whole and JSON readers would not round it."""
    if abs(value) > MAX_INTEGER:
        return float(value)
    return int(value) if float(value).is_integer() else value


async def _evaluate_items(call: NodeCall, context: NodeContext, source: str | None) -> tuple[list[Any], list[Any]]:
    """The items, and the value of the expression for each item. Without an expression, an item is its own value.

    Raises StepFailed, ExpressionFault.
    """
    items = input_value(call, "items")
    if not is_array(items) or len(items) > MAX_ITEMS:
        message = f"The items are not a list, or the list has more than {MAX_ITEMS:,} items."
        raise StepFailed(Failed("node_config_invalid", message, retryable=False))
    if source is None:
        return items, items
    # Without the list: otherwise each expression would cost time proportional to all items.
    names: dict[str, Any] = {"ports": {name: value for name, value in call.inputs.items() if value is not items}}
    clock = asyncio.get_running_loop().time
    values: list[Any] = []
    slice_end = clock() + SLICE_SECONDS
    for index, item in enumerate(items):
        evaluate = partial(call.scope.evaluate, source, {**names, "item": item, "index": index})
        values.append(await context.compute(evaluate))
        if clock() >= slice_end:
            await context.turn()
            slice_end = clock() + SLICE_SECONDS
    return items, values


LIST_NODES: Final[tuple[NodeType, ...]] = (_filter, _aggregate)
