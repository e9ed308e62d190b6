"""The node type core.flow.map: runs a node type or a workflow once for each item of a list.

Theory of node types as bodies. A few workers draw indices from one iterator. The result of an item is handed over to be
recorded at once. A worker processes items for a slice of time, then waits until all results that it handed over are
durable. An item that waits takes longer than a slice, so after a crash at most `concurrency` of such items run twice;
items that complete at once share a commit. The event loop is held for the slices of all workers together. Results are
sorted by index at the end, so nothing depends on which worker was faster.

Theory of workflows as bodies. The map keeps nothing itself. Children are started in the order of the items, so their
number says which item is next; how many are open says how many may be started. So a call costs as much as it starts,
and only the last one looks at all of them. A child that ends badly fails the map, and the host cancels those that are
open then.
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
"""Child runs that are open at a time; they need no memory while they wait for people."""
DEFAULT_CONCURRENCY: Final = 8
SLICE_SECONDS: Final = 0.002
"""Seconds for which all workers together may hold the event loop before they let others run."""
RECORD_BATCH: Final = 128
"""Items that all workers together hand over to be recorded at a time; each of them costs the loop something too."""
MAX_START_BYTES: Final = 4 * 2**20
"""What children that are started together may be given; the next ones are started when one of them has ended."""
YIELD_EVERY: Final = 16
"""Children that are made up before others may use the event loop."""
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
"""Maps, types that would only fail as a body, and one that reads what the definition does not show to be read."""
_BODY_CHANGES_RUN: Final = Failed(
    "map_body_effect", "The body of a map must not change the run, and this one would.", retryable=False
)
_BODY_STARTS_RUNS: Final = Failed(
    "map_body_effect", "The body of a map must not start runs, and this one would.", retryable=False
)
_BODY_WAITS: Final = Failed(
    "map_body_suspended", "The body of a map must not wait for an answer, and this one would.", retryable=False
)


class ItemInputs:
    """What the body is given for each item; without a table of inputs that is the item alone, under one name."""

    def __init__(self, call: NodeCall, items: list[Any], alone: str) -> None:
        self._items = items
        self._default_port = alone
        self._port_values: dict[str, Any] | None = call.config["body"].get("inputs")
        self._evaluate = call.scope.evaluate
        # Without the list itself: an expression over one item must not cost as much as all of them.
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
        left = [index for index in range(len(items)) if index not in self._results]
        self._pending: Iterator[int] = iter(left)
        self._stopped: dict[int, Failed | Suspended] = {}
        self._workers = min(call.config.get("concurrency", DEFAULT_CONCURRENCY), len(left))

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
            # A worker that is cancelled from below ends without an error.
            raise RuntimeError("a map ended before its items")
        return Completed({"results": [self._results[index] for index in range(count)], "count": count})

    async def _worker(self, group: asyncio.TaskGroup) -> None:
        clock = asyncio.get_running_loop().time
        most = RECORD_BATCH // self._workers
        while True:
            ends = clock() + SLICE_SECONDS / self._workers
            handed: list[asyncio.Task[None]] = []
            for index in self._pending:
                output = await self._perform(index)
                if isinstance(output, Failed | Suspended):
                    # The others finish what they do: what touches the world is not cut off because its neighbour
                    # failed, and the question is asked when nothing is under way any more.
                    self._stopped[index] = output
                    break
                if _is_cancelled():
                    return
                handed.append(group.create_task(self._record(index, output)))
                if clock() >= ends or len(handed) >= most or self._is_stopping:
                    break
            await asyncio.gather(*handed)
            if not handed or self._is_stopping:
                return

    @property
    def _is_stopping(self) -> bool:
        """Whether no more items are to be begun."""
        return bool(self._stopped)

    async def _record(self, index: int, output: Any) -> None:
        await self._context.record_item(index, output)
        self._results[index] = output

    async def _perform(self, index: int) -> Any:
        """The output of an item; or Failed or Suspended, after which no more are begun."""
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
                    # What an answer of a model came to is told, whatever becomes of the item.
                    if isinstance(effect, EmitEvent):
                        self._context.emit_event(effect)
                return _item_failed(index, outcome)
            case Suspended(interrupt, _):
                # Nobody knows whether such an item happened, so a person is asked.
                return outcome if is_outcome_interrupt(interrupt.data) else _item_failed(index, _BODY_WAITS)
            case AwaitsChildren():
                return _item_failed(index, _BODY_STARTS_RUNS)
            case _:  # pragma: no cover
                assert_never(outcome)


def _is_cancelled() -> bool:
    """Whether the worker was told to stop, which an item may have swallowed."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


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
        return raised_failure(fault)
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


def _check(config: dict[str, Any]) -> list[Violation]:
    body: dict[str, Any] = config["body"]
    whole_run = "workflowId" in body
    if whole_run is ("typeId" in body):
        what = "names a node type already; a body is one of the two" if whole_run else "must name typeId or workflowId"
        return [Violation("/body/workflowId" if whole_run else "/body", "not" if whole_run else "required", what)]
    if body.get("typeId") == SUB_WORKFLOW:
        return [Violation("/body/typeId", "not", "cannot be a body; name the workflow itself with body.workflowId")]
    surplus, what = ("config", "belongs to a node type") if whole_run else ("output", "belongs to a workflow")
    if surplus in body:
        return [Violation(f"/body/{surplus}", "not", f"{what}, and this body is none")]
    if not whole_run and config.get("concurrency", 1) > MAX_CONCURRENCY:
        return [Violation("/concurrency", "maximum", f"must be at most {MAX_CONCURRENCY} for a body with a typeId")]
    return []


def _port_value() -> Schema:
    """As in a definition, where `type` chooses the form; the two forms that make sense for one item."""
    chosen: dict[str, Schema] = {"type": {}}
    return {
        "type": "object",
        "required": ["type"],
        "properties": {"type": {"enum": ["static", "expression"], "description": "Which of the two it is."}},
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
                    expression=schemas.expression_string("Evaluated for each item, which it knows as `item`."),
                ),
            },
        ],
    }


@waiting_node(
    MAP_ID,
    "Runs a node type or a workflow once for each item of a list.",
    bodies=("/body",),
    inputs=schemas.port_schema(
        items=schemas.typed("array", "The items; wins over the config.", maxItems=MAX_ITEMS),
        input=schemas.any_value("The items, if neither the port `items` nor the config has them."),
    ),
    outputs=schemas.fixed_ports(
        results=schemas.typed("array", "What each item gave, in the order of the items."),
        count=schemas.typed("integer", "How many items there were."),
    ),
    config=schemas.closed_object(
        "body",
        items=schemas.typed("array", "The items, if no port brings them.", maxItems=MAX_ITEMS),
        body={
            **schemas.closed_object(
                typeId={
                    "type": "string",
                    "pattern": "^[a-z][a-zA-Z0-9._-]*$",
                    "maxLength": 256,
                    "not": {"enum": [each for each in EXCLUDED_BODIES if each != SUB_WORKFLOW]},
                    "description": "The node type to run. A body has this or `workflowId`, which "
                    f"takes the place of `{SUB_WORKFLOW}`.",
                },
                config=schemas.typed("object", "Its config, the same for every item."),
                inputs=schemas.keyed_object(
                    _port_value(),
                    "Input port or variable of the child -> value; without it, the port `input` or the "
                    "variable `item` gets the item.",
                    least=0,
                ),
                workflowId=schemas.path_id_string("The workflow to run, in a child run for each item."),
                output=schemas.name_string(
                    "The variable of the child that is the result; without it, that is its outputs."
                ),
            ),
            "description": "What is done with each item.",
        },
        concurrency=schemas.integer(
            1,
            MAX_OPEN_CHILDREN,
            f"So many items at a time; {MAX_CONCURRENCY} at most with a `typeId`.",
            default=DEFAULT_CONCURRENCY,
        ),
    ),
    expressions={"/body/inputs/*/expression": ("item", "index")},
    check_config=_check,
    notes="""
The items are the first of the port `items`, the config `items` and the port `input`; without any of them the node
fails with `node_input_missing`, and with `node_config_invalid` if they are no list. An item gives the output `output`
of the body, or all of its outputs by port if it has none of that name.

Each item is recorded when it is done. After a restart, items that were recorded are not run again. Items do not count
as node executions.

After an item that fails no more are begun; those that are under way end. Then the node fails with `map_item_failed`,
whose details hold the `index` of the item and the `code` it failed with. A body must not change the run
(`map_body_effect`) or wait for an answer (`map_body_suspended`); these are such codes too. Types that always do, and
maps, are refused with the definition. So is `core.getVariable`: an expression of the body's inputs can name the
variable.

With `workflowId` each item is a child run, as one of [core.subWorkflow](core.subWorkflow.md): `concurrency` of them are
open at a time, started in the order of the items, and nothing of the map is in memory while they work. The result of an
item is the variable `output` of its child, which is null if the child has no such variable, or the outputs of the child
by node id. After a child that fails or is cancelled, and after an item for which no child can be started, the map fails
at once with `map_item_failed`, and the children that are open are cancelled; its details hold the `index`, the `code`
and, if there is one, the `childRunId`. The map also fails so, with `child_output_hidden`, if a child keeps its result
hidden. Children are cancelled with the run. An attempt that is made after a failure starts with the first item again.

In expressions of the body, `item` is the item, `index` its place from 0 on, and `ports` holds the ports of the map
without the list.
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
        message = f"What is to be mapped is not a list of at most {MAX_ITEMS} items."
        return Failed("node_config_invalid", message, retryable=False)
    if "workflowId" in call.config["body"]:
        return await map_children(call, context, items)
    return await MapItems(call, context, items).run()
