"""Maps over workflows: each item is a child run.

The map has no state of its own. Child runs are started in the order of the items, so the number of children is the
index of the next item, and the number of open children limits how many can be started. The cost of a call is therefore
proportional to the number of children that it starts; only the last call reads all of them. A child that fails or is
cancelled fails the map, and the host then cancels the open children.

With `onError: collect`, a child that fails is an entry of the results. An item whose child cannot be started is
recorded, in the commit that starts the children before it, so children and records together still count the items in
order.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from weftwork.adapters.nodes.flow.map_body import DEFAULT_CONCURRENCY, ItemInputs, collects_errors, item_failure
from weftwork.adapters.nodes.runs.sub_workflow import child_failure, hidden_output_failure
from weftwork.ports.node_outcome import (
    AwaitsChildren,
    Completed,
    EmitEvent,
    Failed,
    NewChild,
    NodeEffect,
    NodeOutcome,
    StartChild,
    StepFailed,
    raised_failure,
)
from weftwork.ports.nodes import NodeCall, NodeContext
from weftwork.protocol.expressions.faults import ExpressionFault
from weftwork.protocol.run.child_runs import ChildState
from weftwork.protocol.run.map_items import ItemError, collected_entry, collected_outputs, item_error
from weftwork.protocol.run.payloads import MapItem

MAX_OPEN_CHILDREN: Final = 1_000
"""The maximum of `concurrency` for child runs. They use no memory while they wait for people."""
MAX_START_BYTES: Final = 4 * 2**20
"""Total size of the inputs of children that one call starts. The next children start when one of these has ended."""
MAX_ITEMS_PER_COMMIT: Final = MAX_OPEN_CHILDREN
"""Children and recorded errors in one commit."""
YIELD_EVERY: Final = 16
"""Number of children that are prepared before the map yields to the event loop."""


async def map_children(call: NodeCall, context: NodeContext, items: list[Any]) -> NodeOutcome:
    """kin-13 (readings, Map): each item is a child run, with a limit of open ones; results keep the items' order."""
    children = call.children
    collects = collects_errors(call)
    if call.failed_children and not collects:
        return _first_failed(children)
    inputs = ItemInputs(call, context, items, "item")
    room: int = call.config.get("concurrency", DEFAULT_CONCURRENCY) - call.open_children
    while room > 0 and (next_index := len(children) + len(context.recorded_items)) < len(items):
        begun = await _begin_items(call, context, inputs, range(next_index, len(items)), room)
        if isinstance(begun, Failed):
            return begun
        if any(isinstance(each, NewChild) for _, each in begun):
            return AwaitsChildren(tuple(_effect(*each) for each in begun))
        # No child was started, so there is no commit for these records.
        await asyncio.gather(*(context.record_item(*each) for each in begun))
        if next_index not in context.recorded_items:
            # The run was paused or stopped, so nothing was recorded. On resume the node is called again.
            return AwaitsChildren()
    if call.open_children:
        return AwaitsChildren()
    output: str | None = call.config["body"].get("output")
    if not collects:
        return _results(output, children)
    return _collect_children(output, children, context.recorded_items, len(items))


async def _begin_items(
    call: NodeCall, context: NodeContext, inputs: ItemInputs, indexes: range, room: int
) -> list[tuple[int, NewChild | ItemError]] | Failed:
    """Up to `room` children to start. If a child cannot be started, the map fails, or with `onError: collect` its item
    has an error."""
    begun: list[tuple[int, NewChild | ItemError]] = []
    input_bytes = 0
    for index in indexes:
        child = await _new_child(call, context, inputs, index)
        if not isinstance(child, Failed):
            begun.append((index, child))
            input_bytes += child.input_bytes
            room -= 1
        elif collects_errors(call):
            begun.append((index, item_error(child.code, child.message)))
        else:
            return item_failure(index, child)
        if not room or input_bytes > MAX_START_BYTES or len(begun) >= MAX_ITEMS_PER_COMMIT:
            break
        if len(begun) % YIELD_EVERY == 0:
            await context.turn()
    return begun


def _effect(index: int, begun: NewChild | ItemError) -> NodeEffect:
    return StartChild(begun) if isinstance(begun, NewChild) else EmitEvent.of(MapItem(index, error=begun.error))


async def _new_child(call: NodeCall, context: NodeContext, inputs: ItemInputs, index: int) -> NewChild | Failed:
    body: dict[str, Any] = call.config["body"]
    output: str | None = body.get("output")
    try:
        variables = await inputs.for_item(index)
    except (StepFailed, ExpressionFault) as fault:
        return raised_failure(fault)
    returned = () if output is None else (output,)
    return await context.prepare_child(
        str(index), body["workflowId"], {}, variables, variables=returned, outputs=output is None
    )


def _results(output: str | None, children: Mapping[str, ChildState]) -> NodeOutcome:
    results: list[Any] = []
    for index in range(len(children)):
        child = children[str(index)]
        result = _child_result(output, child)
        if isinstance(result, Failed):
            return item_failure(index, result, child)
        results.append(result)
    return Completed({"results": results, "count": len(results)})


def _collect_children(
    output: str | None, children: Mapping[str, ChildState], recorded: Mapping[int, Any], count: int
) -> NodeOutcome:
    """The entries of all items, in order. An item without a child has a recorded error."""
    entries: list[dict[str, Any]] = []
    for index in range(count):
        child = children.get(str(index))
        if child is None:
            entries.append(collected_entry(recorded[index]))
            continue
        result = _child_result(output, child) if child.status == "completed" else child_failure(child)
        if isinstance(result, Failed):
            result = item_error(result.code, result.message, child.error)
        entries.append(collected_entry(result, child.run_id))
    return Completed(collected_outputs(entries))


def _child_result(output: str | None, child: ChildState) -> Any:
    """The result of a completed child: the variable `output`, or without a name all outputs. Failed if it is hidden."""
    is_hidden = child.outputs is None if output is None else output in child.hidden
    if is_hidden:
        return hidden_output_failure(child, [output or "outputs"])
    return child.outputs if output is None else child.variables.get(output)


def _first_failed(children: Mapping[str, ChildState]) -> Failed:
    """The failure of the first child, by index, that has failed or was cancelled."""
    for index, child in enumerate(children.values()):
        if child.has_ended and child.status != "completed":
            return item_failure(index, child_failure(child), child)
    raise RuntimeError("a map has failed children, but no child has failed")
