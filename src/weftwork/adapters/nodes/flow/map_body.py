"""What maps over node types and maps over workflows have in common: the inputs of an item, and its failure."""

from functools import partial
from typing import Any, Final

from weftwork.ports.node_outcome import Failed
from weftwork.ports.nodes import NodeCall, NodeContext
from weftwork.protocol.run.child_runs import ChildState
from weftwork.protocol.run.map_items import ON_ERROR

DEFAULT_CONCURRENCY: Final = 8


def collects_errors(call: NodeCall) -> bool:
    """Whether an item that fails becomes an entry of the results instead of ending the map."""
    return call.config.get(ON_ERROR) == "collect"


class ItemInputs:
    """The inputs of the body for each item: `body.inputs`, or without them only the item, as `default_port`."""

    def __init__(self, call: NodeCall, context: NodeContext, items: list[Any], default_port: str) -> None:
        self._context = context
        self._items = items
        self._default_port = default_port
        self._port_values: dict[str, Any] | None = call.config["body"].get("inputs")
        self._evaluate = call.scope.evaluate
        # Without the list: otherwise each expression would cost time proportional to all items.
        self._ports = {name: value for name, value in call.inputs.items() if value is not items}

    async def for_item(self, index: int) -> dict[str, Any]:
        """Raises ExpressionFault, StepFailed."""
        if self._port_values is None:
            return {self._default_port: self._items[index]}
        return await self._context.compute(partial(self._port_inputs, self._port_values, index))

    def _port_inputs(self, port_values: dict[str, Any], index: int) -> dict[str, Any]:
        names = {"ports": self._ports, "item": self._items[index], "index": index}
        return {
            name: port["value"] if port["type"] == "static" else self._evaluate(port["expression"], names)
            for name, port in port_values.items()
        }


def item_failure(index: int, failed: Failed, child: ChildState | None = None) -> Failed:
    """The failure of a map whose item has failed."""
    code = child.error["code"] if child is not None and child.error is not None else failed.code
    details: dict[str, Any] = {"index": index, "code": code}
    if child is not None:
        details["childRunId"] = child.run_id
    return Failed("map_item_failed", failed.message, details, failed.retryable)
