"""Node types over lists, item by item: filter, aggregate."""

import asyncio
import math
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
"""Seconds for which a list may hold the event loop before others run."""
_ITEMS: Final = {"type": "array", "maxItems": MAX_ITEMS}
_INPUTS: Final = schemas.port_schema(
    items={**_ITEMS, "description": "The items; wins over the config."},
    input=schemas.any_value("The items, if neither the port `items` nor the config has them."),
)
_ITEMS_CONFIG: Final = {**_ITEMS, "description": "The items, if no port brings them."}
_COUNT: Final = schemas.typed("integer", "How many items that are.")


@waiting_node(
    "core.filter",
    "Keeps the items of a list for which an expression is true.",
    inputs=_INPUTS,
    outputs=schemas.fixed_ports(output=schemas.typed("array", "The items kept, in order."), count=_COUNT),
    config=schemas.closed_object(
        "expression",
        items=_ITEMS_CONFIG,
        expression=schemas.expression_string("True for the items to keep; knows `item` and `index`."),
    ),
    expressions={"/expression": ("item", "index")},
    notes="""
The items are the first of the port `items`, the config `items` and the port `input`; without any of them the node
fails with `node_input_missing`, and with `node_config_invalid` if they are no list. An expression that is neither
true nor false for an item fails the node with `condition_not_boolean`. `ports` holds the ports of the node without
the list.
""",
    example_config={"expression": "item.price < 10.0"},
    example_inputs={"items": {"type": "variable", "variableName": "offers"}},
)
async def _filter(call: NodeCall, context: NodeContext) -> NodeOutcome:
    items, verdicts = await _evaluate_items(call, call.config["expression"])
    wrong = next((index for index, verdict in enumerate(verdicts) if not isinstance(verdict, bool)), None)
    if wrong is not None:
        message = "The value of the expression is neither true nor false for an item."
        return Failed("condition_not_boolean", message, {"index": wrong}, retryable=False)
    kept = [item for item, verdict in zip(items, verdicts, strict=True) if verdict]
    return Completed({"output": kept, "count": len(kept)})


@waiting_node(
    "core.aggregate",
    "Computes one value from the items of a list.",
    inputs=_INPUTS,
    outputs=schemas.fixed_ports(output=schemas.any_value("What was computed."), count=_COUNT),
    config=schemas.closed_object(
        "operation",
        items=_ITEMS_CONFIG,
        operation=schemas.one_of(
            ("list", "count", "sum", "average", "min", "max"), "What is computed from the values."
        ),
        value=schemas.expression_string("The value of an item, instead of the item itself; knows `item` and `index`."),
    ),
    expressions={"/value": ("item", "index")},
    notes="""
The items are found as by `core.filter`. `list` gives the values as a list, `count` their number. The other operations
need numbers and fail with `aggregate_not_a_number` otherwise, or with `aggregate_overflow` if the result is too large
for one. Of no items, the sum is 0, and average, least and greatest are null.
""",
    example_config={"operation": "sum", "value": "item.price * item.amount"},
    example_inputs={"items": {"type": "variable", "variableName": "lines"}},
)
async def _aggregate(call: NodeCall, context: NodeContext) -> NodeOutcome:
    items, values = await _evaluate_items(call, call.config.get("value"))
    operation, count = call.config["operation"], len(items)
    if operation == "list":
        return Completed({"output": values, "count": count})
    if operation == "count":
        return Completed({"output": count, "count": count})
    wrong = next((index for index, value in enumerate(values) if not _is_number(value)), None)
    if wrong is not None:
        message = "An item has no number to compute with."
        return Failed("aggregate_not_a_number", message, {"index": wrong}, retryable=False)
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
    """Like the results of expressions: whole where it can be, and no integer that JSON readers would round."""
    if abs(value) > MAX_INTEGER:
        return float(value)
    return int(value) if float(value).is_integer() else value


async def _evaluate_items(call: NodeCall, source: str | None) -> tuple[list[Any], list[Any]]:
    """The items, and the value of the expression for each of them; the items again where there is none.

    Raises StepFailed, ExpressionFault.
    """
    items = input_value(call, "items")
    if not is_array(items) or len(items) > MAX_ITEMS:
        message = f"What the node works on is not a list of at most {MAX_ITEMS} items."
        raise StepFailed(Failed("node_config_invalid", message, retryable=False))
    if source is None:
        return items, items
    # Without the list itself: an expression over one item must not cost as much as all of them.
    names: dict[str, Any] = {"ports": {name: value for name, value in call.inputs.items() if value is not items}}
    clock = asyncio.get_running_loop().time
    values: list[Any] = []
    ends = clock() + SLICE_SECONDS
    for index, item in enumerate(items):
        values.append(call.scope.evaluate(source, {**names, "item": item, "index": index}))
        if clock() >= ends:
            await asyncio.sleep(0)
            ends = clock() + SLICE_SECONDS
    return items, values


LIST_NODES: Final[tuple[NodeType, ...]] = (_filter, _aggregate)
