"""The node type core.flow.map: runs a node type or a workflow once for each item of a list.

Node types as bodies (`MapItems`): `concurrency` workers take indexes from one shared iterator. Each result is submitted
for recording as soon as its item completes. A worker processes items for one time slice, then waits until all results
that it submitted are durable. An item that waits takes longer than a slice, so after a crash at most `concurrency` such
items run twice; items that complete at once share a commit. Workers take turns on the event loop with each other and
with other long work. Results are ordered by index at the end, so they do not depend on which worker was faster.

With `onError: collect`, an item that fails does not end the map: its error is recorded like a result, once no retry of
the map is left for it. `map_children` describes maps over workflows.
"""

import asyncio
from collections.abc import Iterator
from typing import Any, Final, assert_never

from weftwork.adapters.nodes import schemas
from weftwork.adapters.nodes.call_inputs import input_value
from weftwork.adapters.nodes.flow.map_body import DEFAULT_CONCURRENCY, ItemInputs, collects_errors, item_failure
from weftwork.adapters.nodes.flow.map_children import MAX_OPEN_CHILDREN, map_children
from weftwork.adapters.nodes.schemas import Schema, waiting_node
from weftwork.ports.node_outcome import (
    AwaitsChildren,
    AwaitsProvider,
    Completed,
    EmitEvent,
    Failed,
    NodeOutcome,
    StepFailed,
    Suspended,
    raised_failure,
)
from weftwork.ports.nodes import NodeCall, NodeContext
from weftwork.protocol.expressions.faults import ExpressionFault
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.json.values import is_array
from weftwork.protocol.run.child_runs import SUB_WORKFLOW
from weftwork.protocol.run.effects import is_outcome_interrupt
from weftwork.protocol.run.map_items import (
    ERROR_MODES,
    ON_ERROR,
    collected_entry,
    collected_outputs,
    item_error,
)

MAX_ITEMS: Final = 100_000
MAX_CONCURRENCY: Final = 64
SLICE_SECONDS: Final = 0.002
"""Seconds for which all workers together may block the event loop before the first of them takes a turn."""
TURN_SECONDS: Final = 0.001
"""Seconds for which a worker may block the event loop in its turn."""
RECORD_BATCH: Final = 128
"""Results that all workers together submit for recording before they wait, because each one also costs loop time."""
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

UNSETTLED: Final = object()
"""Marks an item that gets no record, because it runs again or ends the map."""


class MapItems:
    """The items of one map, shared by its workers."""

    def __init__(self, call: NodeCall, context: NodeContext, items: list[Any]) -> None:
        self._context = context
        self._items = items
        self._inputs = ItemInputs(call, context, items, "input")
        self._body: dict[str, Any] = call.config["body"]
        self._results: dict[int, Any] = dict(context.recorded_items)
        pending = [index for index in range(len(items)) if index not in self._results]
        self._pending: Iterator[int] = iter(pending)
        self._stopped: dict[int, Failed | Suspended | AwaitsProvider] = {}
        self._is_ending = False
        self._collects = collects_errors(call)
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
        results = [self._results[index] for index in range(count)]
        if self._collects:
            return Completed(collected_outputs([collected_entry(each) for each in results]))
        return Completed({"results": results, "count": count})

    async def _worker(self, group: asyncio.TaskGroup) -> None:
        clock = asyncio.get_running_loop().time
        seconds, batch = SLICE_SECONDS / self._workers, RECORD_BATCH // self._workers
        has_more = True
        while has_more and not self._is_stopping:
            slice_end = clock() + seconds
            recording: list[asyncio.Task[None]] = []
            has_more = False
            for index in self._pending:
                has_more = True
                output = await self._perform(index)
                if isinstance(output, Failed | Suspended | AwaitsProvider):
                    output = self._settle(index, output)
                if _is_cancelled():
                    return
                if output is not UNSETTLED:
                    recording.append(group.create_task(self._record(index, output)))
                if clock() >= slice_end or len(recording) >= batch or self._is_stopping:
                    break
            if recording:
                await asyncio.gather(*recording)
            await self._context.turn()
            # Unlike the first slices of the workers, this one is not in the same iteration of the loop as the others.
            seconds, batch = TURN_SECONDS, RECORD_BATCH

    def _settle(self, index: int, outcome: Failed | Suspended | AwaitsProvider) -> Any:
        """The ItemError to record for an item that has failed; or UNSETTLED if the item runs again or ends the map."""
        if isinstance(outcome, Suspended | AwaitsProvider):
            self._stopped[index] = outcome
            self._is_ending = True
            return UNSETTLED
        if self._collects and not (outcome.retryable and self._context.has_retries_left):
            return item_error(outcome.code, outcome.message)
        # With `collect`, the other items are not held up: the retry of the map runs the items that have no record.
        self._stopped[index] = item_failure(index, outcome)
        self._is_ending = self._is_ending or not self._collects
        return UNSETTLED

    @property
    def _is_stopping(self) -> bool:
        """Whether no further items are started. Running items finish: an effect outside the run must not be cut off
        because another item failed, and the map waits for a person or a model provider only when no item runs any
        more."""
        return self._is_ending

    async def _record(self, index: int, output: Any) -> None:
        await self._context.record_item(index, output)
        self._results[index] = output

    async def _perform(self, index: int) -> Any:
        """The output of an item, or Failed, Suspended or AwaitsProvider."""
        body = self._body
        try:
            inputs = await self._inputs.for_item(index)
        except (StepFailed, ExpressionFault) as fault:
            return raised_failure(fault)
        outcome = await self._context.run_part(body["typeId"], inputs, body.get("config", {}), str(index))
        match outcome:
            case Completed(outputs, effects):
                return _BODY_CHANGES_RUN if effects else outputs.get("output", outputs)
            case Failed():
                for effect in outcome.effects:
                    # Events about model output are recorded even though the item failed.
                    if isinstance(effect, EmitEvent):
                        self._context.emit_event(effect)
                return outcome
            case Suspended(interrupt, _):
                # The outcome of the item's effect is unknown after a crash, so the interrupt asks a person.
                return outcome if is_outcome_interrupt(interrupt.data) else _BODY_WAITS
            case AwaitsProvider():
                return outcome
            case AwaitsChildren():
                return _BODY_STARTS_RUNS
            case _:  # pragma: no cover
                assert_never(outcome)


def _is_cancelled() -> bool:
    """Whether cancellation of this worker was requested, even if an item suppressed the CancelledError."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


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
        failed=schemas.typed("integer", "With `onError: collect`, the number of items that failed."),
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
        **{
            ON_ERROR: schemas.one_of(
                ERROR_MODES,
                "What an item that fails does: `fail` ends the map, `collect` adds its error to `results`.",
                default=ERROR_MODES[0],
            )
        },
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

With `onError: collect`, an item that fails does not end the map: the other items run, and the node completes. Each
entry of `results` is then an object, in the order of the items:

- `{"status": "completed", "output": ...}` with the result of the item
- `{"status": "failed", "error": {"code": ..., "message": ...}}`, and `childRunId` if the item is a child run

`failed` is the number of entries with an error. If the node has [retries](../../how-to/retries-and-time-limits.md), an
item of a `typeId` body with a retryable failure runs again with the next attempt of the map, without the items that
have ended, and counts as failed after the last attempt. Child runs are not started again: retries of their own nodes
apply. Messages of errors are shortened to 1,000 characters. The time limit of the map, a cancellation, and results that
are too large together still end the map itself. An entry counts as several values towards that limit, so a map that
collects errors has room for about 80,000 results, or 50,000 errors. If the outcome of an effect is unknown after a
crash, a person is asked, as without `onError`.
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
