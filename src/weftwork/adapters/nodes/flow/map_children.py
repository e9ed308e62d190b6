"""A map over child runs: one child for each item.

Theory. The map keeps nothing itself. Children are started in the order of the items, so their number says which item is
next; how many are open says how many may be started. So a call costs as much as it starts, and only the last one looks
at all of them. A child that ends badly fails the map, and the host cancels those that are open then.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from weftwork.adapters.nodes.call_inputs import expression_failure
from weftwork.adapters.nodes.flow.map_items import DEFAULT_CONCURRENCY, ItemInputs
from weftwork.adapters.nodes.runs.sub_workflow import child_failure, hidden_output_failure
from weftwork.ports.node_outcome import AwaitsChildren, Completed, Failed, NewChild, NodeOutcome, StartChild
from weftwork.ports.nodes import NodeCall, NodeContext
from weftwork.protocol.expressions.faults import ExpressionFault
from weftwork.protocol.run.child_runs import ChildState

MAX_START_BYTES: Final = 4 * 2**20
"""What children that are started together may be given; the next ones are started when one of them has ended."""
YIELD_EVERY: Final = 16
"""Children that are made up before others may use the event loop."""


async def map_children(call: NodeCall, context: NodeContext, items: list[Any]) -> NodeOutcome:
    """kin-13 (readings, Map): the items become child runs, a few at a time; results keep the items' order."""
    children = call.children
    if call.failed_children:
        return _first_failed(children)
    begun = len(children)
    room: int = call.config.get("concurrency", DEFAULT_CONCURRENCY) - call.open_children
    started: list[StartChild] = []
    weight = 0
    inputs = ItemInputs(call, items, "item")
    for index in range(begun, min(begun + room, len(items))):
        child = await _new_child(call, context, inputs, index)
        if isinstance(child, Failed):
            return _item_failed(index, child)
        started.append(StartChild(child))
        weight += child.input_bytes
        if weight > MAX_START_BYTES:
            break
        if len(started) % YIELD_EVERY == 0:
            await asyncio.sleep(0)
    if started or call.open_children:
        return AwaitsChildren(tuple(started))
    return _results(call.config["body"].get("output"), children)


async def _new_child(call: NodeCall, context: NodeContext, inputs: ItemInputs, index: int) -> NewChild | Failed:
    body: dict[str, Any] = call.config["body"]
    wanted: str | None = body.get("output")
    try:
        given = inputs.for_item(index)
    except ExpressionFault as fault:
        return expression_failure(fault)
    variables = () if wanted is None else (wanted,)
    return await context.prepare_child(
        str(index), body["workflowId"], {}, given, variables=variables, outputs=wanted is None
    )


def _results(wanted: str | None, children: Mapping[str, ChildState]) -> NodeOutcome:
    results: list[Any] = []
    for index in range(len(children)):
        child = children[str(index)]
        hidden = child.outputs is None if wanted is None else wanted in child.hidden
        if hidden:
            return _item_failed(index, hidden_output_failure(child, [wanted or "outputs"]), child)
        results.append(child.outputs if wanted is None else child.variables.get(wanted))
    return Completed({"results": results, "count": len(results)})


def _first_failed(children: Mapping[str, ChildState]) -> Failed:
    """The first by index of those that ended badly so far."""
    for index, child in enumerate(children.values()):
        if child.has_ended and child.status != "completed":
            return _item_failed(index, child_failure(child), child)
    raise RuntimeError("a child of a map failed, and none has")


def _item_failed(index: int, failed: Failed, child: ChildState | None = None) -> Failed:
    code = child.error["code"] if child is not None and child.error is not None else failed.code
    details: dict[str, Any] = {"index": index, "code": code}
    if child is not None:
        details["childRunId"] = child.run_id
    return Failed("map_item_failed", failed.message, details, failed.retryable)
