"""The node type core.flow.map: runs a node type or a workflow once for each item of a list.

Node types as bodies (`MapItems`): `concurrency` workers take indexes from one shared iterator. Each result is submitted
for recording as soon as its item completes. A worker processes items for one time slice, then waits until all results
that it submitted are durable. An item that waits takes longer than a slice, so after a crash at most `concurrency` such
items run twice; items that complete at once share a commit. The slices of all workers together bound how long the map
blocks the event loop. Results are ordered by index at the end, so they do not depend on which worker was faster.

Workflows as bodies (`map_children`): the map has no state of its own. Child runs are started in the order of the items,
so the number of children is the index of the next item, and the number of open children limits how many can be started.
The cost of a call is therefore proportional to the number of children that it starts; only the last call reads all of
them. A child that fails or is cancelled fails the map, and the host then cancels the open children.
"""

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any, Final, assert_never

from weftwork.adapters.nodes import schemas
from weftwork.adapters.nodes.call_inputs import input_value
from weftwork.adapters.nodes.runs.sub_workflow import child_failure, hidden_output_failure
from weftwork.adapters.nodes.schemas import Schema, waiting_node
from weftwork.ports.node_outcome import (
    AwaitsChildren,
    Completed,
    EmitEvent,
    Failed,
    NewChild,
    NodeOutcome,
    StartChild,
    Suspended,
    raised_failure,
)
from weftwork.ports.nodes import NodeCall, NodeContext
from weftwork.protocol.expressions.faults import ExpressionFault
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.json.values import is_array
from weftwork.protocol.run.child_runs import SUB_WORKFLOW, ChildState
from weftwork.protocol.run.effects import is_outcome_interrupt

MAX_ITEMS: Final = 100_000
MAX_CONCURRENCY: Final = 64
MAX_OPEN_CHILDREN: Final = 1_000
"""The maximum of `concurrency` for child runs. They use no memory while they wait for people."""
DEFAULT_CONCURRENCY: Final = 8
SLICE_SECONDS: Final = 0.002
"""Seconds for which all workers together may block the event loop before other tasks run."""
RECORD_BATCH: Final = 128
"""Results that all workers together submit for recording before they wait, because each one also costs loop time."""
MAX_START_BYTES: Final = 4 * 2**20
"""Total size of the inputs of children that one call starts. The next children start when one of these has ended."""
YIELD_EVERY: Final = 16
"""Number of children that are prepared before the map yields to the event loop."""
MAP_ID: Final = "core.flow.map"

EXCLUDED_BODIES: Final = [
    MAP_ID,
    "core.flow.iterator",
    "core.setVariable",
    "core.channelWrite",
    "core.log",
    "core.artifact.emit",
    "conformance.artifact.emit",
    "core.getVariable",
    "core.interrupt",
    "core.clarificationGate",
    "core.conversationGate",
    "core.approvalGate",
    "core.chat.approvalGate",
    "core.hitl.approval-request",
    "core.hitl.ask-user",
    "core.hitl.form-request",
    SUB_WORKFLOW,
    "core.orchestrator.supervisor",
    "core.dispatch",
    "core.conformance.mock-agent",
]
"""Types that cannot be a body: maps, types that would always fail there, and core.getVariable, because the definition
would not show which variable it reads."""
_BODY_CHANGES_RUN: Final = Failed(
    "map_body_effect",
    "The body of a map must not set variables or write channels, log lines or artifacts. Use a body with a workflowId.",
    retryable=False,
)
_BODY_STARTS_RUNS: Final = Failed(
    "map_body_effect", "The body of a map must not start child runs. Use a body with a workflowId.", retryable=False
)
_BODY_WAITS: Final = Failed(
    "map_body_suspended",
    "The body of a map must not request an interrupt. Use a body with a workflowId.",
    retryable=False,
)


class ItemInputs:
    """The inputs of the body for each item: `body.inputs`, or without them only the item, as `default_port`."""

    def __init__(self, call: NodeCall, items: list[Any], default_port: str) -> None:
        self._items = items
        self._default_port = default_port
        self._port_values: dict[str, Any] | None = call.config["body"].get("inputs")
        self._evaluate = call.scope.evaluate
        # Without the list: otherwise each expression would cost time proportional to all items.
        self._ports = {name: value for name, value in call.inputs.items() if value is not items}

    def for_item(self, index: int) -> dict[str, Any]:
        """Raises ExpressionFault."""
        item = self._items[index]
        if self._port_values is None:
            return {self._default_port: item}
        names = {"ports": self._ports, "item": item, "index": index}
        return {
            name: port["value"] if port["type"] == "static" else self._evaluate(port["expression"], names)
            for name, port in self._port_values.items()
        }


class MapItems:
    """The items of one map, shared by its workers."""

    def __init__(self, call: NodeCall, context: NodeContext, items: list[Any]) -> None:
        self._context = context
        self._items = items
        self._inputs = ItemInputs(call, items, "input")
        self._body: dict[str, Any] = call.config["body"]
        self._results: dict[int, Any] = dict(context.recorded_items)
        pending = [index for index in range(len(items)) if index not in self._results]
        self._pending: Iterator[int] = iter(pending)
        self._stopped: dict[int, Failed | Suspended] = {}
        self._workers = min(call.config.get("concurrency", DEFAULT_CONCURRENCY), len(pending))

    async def run(self) -> NodeOutcome:
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._workers):
                    group.create_task(self._worker(group))
        except ExceptionGroup as raised:
            raise raised.exceptions[0] from None
        if self._stopped:
            failed = [index for index, each in self._stopped.items() if isinstance(each, Failed)]
            return self._stopped[min(failed or self._stopped)]
        count = len(self._items)
        if len(self._results) < count:
            # A worker whose awaited call raises CancelledError ends without an error of the task group.
            raise RuntimeError("a map ended before all of its items")
        return Completed({"results": [self._results[index] for index in range(count)], "count": count})

    async def _worker(self, group: asyncio.TaskGroup) -> None:
        clock = asyncio.get_running_loop().time
        batch = RECORD_BATCH // self._workers
        while True:
            slice_end = clock() + SLICE_SECONDS / self._workers
            recording: list[asyncio.Task[None]] = []
            for index in self._pending:
                output = await self._perform(index)
                if isinstance(output, Failed | Suspended):
                    # Running items finish: an effect outside the run must not be cut off because another item
                    # failed, and an interrupt is requested only when no item runs any more.
                    self._stopped[index] = output
                    break
                if _is_cancelled():
                    return
                recording.append(group.create_task(self._record(index, output)))
                if clock() >= slice_end or len(recording) >= batch or self._is_stopping:
                    break
            await asyncio.gather(*recording)
            if not recording or self._is_stopping:
                return

    @property
    def _is_stopping(self) -> bool:
        """Whether no further items are started."""
        return bool(self._stopped)

    async def _record(self, index: int, output: Any) -> None:
        await self._context.record_item(index, output)
        self._results[index] = output

    async def _perform(self, index: int) -> Any:
        """The output of an item; or Failed or Suspended, after which no further items are started."""
        body = self._body
        try:
            inputs = self._inputs.for_item(index)
        except ExpressionFault as fault:
            return _item_failed(index, raised_failure(fault))
        outcome = await self._context.run_part(body["typeId"], inputs, body.get("config", {}), str(index))
        match outcome:
            case Completed(outputs, effects):
                return _item_failed(index, _BODY_CHANGES_RUN) if effects else outputs.get("output", outputs)
            case Failed():
                for effect in outcome.effects:
                    # Events about model output are recorded even though the item failed.
                    if isinstance(effect, EmitEvent):
                        self._context.emit_event(effect)
                return _item_failed(index, outcome)
            case Suspended(interrupt, _):
                # The outcome of the item's effect is unknown after a crash, so the interrupt asks a person.
                return outcome if is_outcome_interrupt(interrupt.data) else _item_failed(index, _BODY_WAITS)
            case AwaitsChildren():
                return _item_failed(index, _BODY_STARTS_RUNS)
            case _:  # pragma: no cover
                assert_never(outcome)


def _is_cancelled() -> bool:
    """Whether cancellation of this worker was requested, even if an item suppressed the CancelledError."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def map_children(call: NodeCall, context: NodeContext, items: list[Any]) -> NodeOutcome:
    """kin-13 (readings, Map): each item is a child run, with a limit of open ones; results keep the items' order."""
    children = call.children
    if call.failed_children:
        return _first_failed(children)
    next_index = len(children)
    room: int = call.config.get("concurrency", DEFAULT_CONCURRENCY) - call.open_children
    starts: list[StartChild] = []
    input_bytes = 0
    inputs = ItemInputs(call, items, "item")
    for index in range(next_index, min(next_index + room, len(items))):
        child = await _new_child(call, context, inputs, index)
        if isinstance(child, Failed):
            return _item_failed(index, child)
        starts.append(StartChild(child))
        input_bytes += child.input_bytes
        if input_bytes > MAX_START_BYTES:
            break
        if len(starts) % YIELD_EVERY == 0:
            await asyncio.sleep(0)
    if starts or call.open_children:
        return AwaitsChildren(tuple(starts))
    return _results(call.config["body"].get("output"), children)


async def _new_child(call: NodeCall, context: NodeContext, inputs: ItemInputs, index: int) -> NewChild | Failed:
    body: dict[str, Any] = call.config["body"]
    output: str | None = body.get("output")
    try:
        variables = inputs.for_item(index)
    except ExpressionFault as fault:
        return raised_failure(fault)
    returned = () if output is None else (output,)
    return await context.prepare_child(
        str(index), body["workflowId"], {}, variables, variables=returned, outputs=output is None
    )


def _results(output: str | None, children: Mapping[str, ChildState]) -> NodeOutcome:
    results: list[Any] = []
    for index in range(len(children)):
        child = children[str(index)]
        hidden = child.outputs is None if output is None else output in child.hidden
        if hidden:
            return _item_failed(index, hidden_output_failure(child, [output or "outputs"]), child)
        results.append(child.outputs if output is None else child.variables.get(output))
    return Completed({"results": results, "count": len(results)})


def _first_failed(children: Mapping[str, ChildState]) -> Failed:
    """The failure of the first child, by index, that has failed or was cancelled."""
    for index, child in enumerate(children.values()):
        if child.has_ended and child.status != "completed":
            return _item_failed(index, child_failure(child), child)
    raise RuntimeError("a map has failed children, but no child has failed")


def _item_failed(index: int, failed: Failed, child: ChildState | None = None) -> Failed:
    code = child.error["code"] if child is not None and child.error is not None else failed.code
    details: dict[str, Any] = {"index": index, "code": code}
    if child is not None:
        details["childRunId"] = child.run_id
    return Failed("map_item_failed", failed.message, details, failed.retryable)


def _check(config: dict[str, Any]) -> list[Violation]:
    body: dict[str, Any] = config["body"]
    whole_run = "workflowId" in body
    if whole_run is ("typeId" in body):
        what = "cannot be combined with typeId" if whole_run else "must have typeId or workflowId"
        return [Violation("/body/workflowId" if whole_run else "/body", "not" if whole_run else "required", what)]
    if body.get("typeId") == SUB_WORKFLOW:
        return [Violation("/body/typeId", "not", "cannot be a body; name the workflow in body.workflowId instead")]
    if whole_run and "config" in body:
        return [Violation("/body/config", "not", "is allowed only with typeId")]
    if not whole_run and "output" in body:
        return [Violation("/body/output", "not", "is allowed only with workflowId")]
    if not whole_run and config.get("concurrency", 1) > MAX_CONCURRENCY:
        return [Violation("/concurrency", "maximum", f"must be at most {MAX_CONCURRENCY} for a body with typeId")]
    return []


def _port_value() -> Schema:
    """The schema of a port value in a definition, reduced to the types `static` and `expression`."""
    chosen: dict[str, Schema] = {"type": {}}
    return {
        "type": "object",
        "description": "The value of one input port or variable.",
        "required": ["type"],
        "properties": {
            "type": {"enum": ["static", "expression"], "description": "Whether the value is fixed or an expression."}
        },
        "allOf": [
            {
                "if": {"required": ["type"], "properties": {"type": {"const": "static"}}},
                "then": schemas.closed_object(
                    "value", **chosen, value=schemas.any_value("The same value for every item.")
                ),
            },
            {
                "if": {"required": ["type"], "properties": {"type": {"const": "expression"}}},
                "then": schemas.closed_object(
                    "expression",
                    **chosen,
                    expression=schemas.expression_string(
                        "An expression that is evaluated for each item. It can use `item` and `index`."
                    ),
                ),
            },
        ],
    }


@waiting_node(
    MAP_ID,
    "Runs a node type or a workflow once for each item of a list.",
    bodies=("/body",),
    inputs=schemas.port_schema(
        items=schemas.typed("array", "The items. Overrides the config.", maxItems=MAX_ITEMS),
        input=schemas.any_value("The items, if neither the input `items` nor the config has them."),
    ),
    outputs=schemas.fixed_ports(
        results=schemas.typed("array", "The results, in the order of the items."),
        count=schemas.typed("integer", "The number of items."),
    ),
    config=schemas.closed_object(
        "body",
        items=schemas.typed("array", "The items, if no input has them.", maxItems=MAX_ITEMS),
        body={
            **schemas.closed_object(
                typeId={
                    "type": "string",
                    "pattern": "^[a-z][a-zA-Z0-9._-]*$",
                    "maxLength": 256,
                    "not": {"enum": [each for each in EXCLUDED_BODIES if each != SUB_WORKFLOW]},
                    "description": "The node type to run for each item. A body has either `typeId` or `workflowId`; "
                    f"use `workflowId` instead of the type `{SUB_WORKFLOW}`.",
                },
                config=schemas.typed("object", "The config of that node type, the same for every item."),
                inputs=schemas.keyed_object(
                    _port_value(),
                    "The values of the input ports of the node type, or of the variables of the child run. By default "
                    "the port `input` or the variable `item` gets the item.",
                    least=0,
                ),
                workflowId=schemas.path_id_string("The workflow to run. Each item is a child run."),
                output=schemas.name_string(
                    "The variable of the child run that is the result. The default is all outputs of the child run."
                ),
            ),
            "description": "The node type or workflow that runs for each item.",
        },
        concurrency=schemas.integer(
            1,
            MAX_OPEN_CHILDREN,
            f"The maximum number of items processed concurrently. With `typeId`, at most {MAX_CONCURRENCY}.",
            default=DEFAULT_CONCURRENCY,
        ),
    ),
    expressions={"/body/inputs/*/expression": ("item", "index")},
    check_config=_check,
    notes="""
The items are the input `items`, else the config member `items`, else the input `input`. Without any of them the node
fails with `node_input_missing`; if the value is not a list, it fails with `node_config_invalid`. In expressions of the
body, `item` is the item, `index` is its position, counted from 0, and `ports` contains the inputs of the map without
the list.

If the body has a `typeId`, the result of an item is the output `output` of that node type, or an object with all its
outputs if it has no output of that name. The host records each result when its item completes, and does not run
recorded items again after a restart. Items do not count as node executions.

If an item fails, the node starts no further items, waits for the running ones, and fails with `map_item_failed`. The
details contain the `index` of the item and its error `code`. If the body changes the run, for example sets a variable,
the node fails with `map_body_effect`; if the body requests an interrupt, with `map_body_suspended`. The host refuses a
definition whose body is a map or a node type that always does one of these. It also refuses `core.getVariable` as a
body: read the variable in an expression of `body.inputs` instead.

If the body has a `workflowId`, each item is a child run, as with [core.subWorkflow](core.subWorkflow.md). The map
starts the child runs in the order of the items, keeps up to `concurrency` of them open, and uses no memory while they
run. `body.output` names the variable of the child run that is the result of the item; the result is null if the child
run has no such variable. Without `body.output`, the result is an object with the outputs of the child run by node id.

If a child run fails or is cancelled, or cannot be started, the map fails at once with `map_item_failed` and cancels the
open child runs. The details contain the `index`, the `code` and, if there is a child run, its `childRunId`. If the
result of a child run is sensitive, the map fails in the same way, with the code `child_output_hidden`. Cancelling the
run cancels the child runs. A retry of the map starts again with the first item.
""",
    example_config={
        "body": {
            "typeId": "core.template",
            "config": {"template": "{{ports.name}} is number {{ports.place}}"},
            "inputs": {
                "name": {"type": "expression", "expression": "item.name"},
                "place": {"type": "expression", "expression": "index"},
            },
        },
        "concurrency": 4,
    },
    example_inputs={"items": {"type": "variable", "variableName": "people"}},
)
async def map_node(call: NodeCall, context: NodeContext) -> NodeOutcome:
    items = input_value(call, "items")
    if not is_array(items) or len(items) > MAX_ITEMS:
        message = f"The items are not a list, or the list has more than {MAX_ITEMS:,} items."
        return Failed("node_config_invalid", message, retryable=False)
    if "workflowId" in call.config["body"]:
        return await map_children(call, context, items)
    return await MapItems(call, context, items).run()
