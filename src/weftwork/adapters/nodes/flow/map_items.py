"""The items of a map, and the workers that process them.

Theory. A few workers draw indices from one iterator. The result of an item is handed over to be recorded at once. A
worker processes items for a slice of time, then waits until all results that it handed over are durable. An item that
waits takes longer than a slice, so after a crash at most `concurrency` of such items run twice; items that complete at
once share a commit. The event loop is held for the slices of all workers together. Results are sorted by index at the
end, so nothing depends on which worker was faster.
"""

import asyncio
from collections.abc import Iterator
from typing import Any, Final, assert_never

from weftwork.adapters.nodes.call_inputs import expression_failure
from weftwork.ports.node_outcome import AwaitsChildren, Completed, EmitEvent, Failed, NodeOutcome, Suspended
from weftwork.ports.nodes import NodeCall, NodeContext
from weftwork.protocol.expressions.faults import ExpressionFault
from weftwork.protocol.run.effects import is_outcome_interrupt

DEFAULT_CONCURRENCY: Final = 8
SLICE_SECONDS: Final = 0.002
"""Seconds for which all workers together may hold the event loop before they let others run."""
RECORD_BATCH: Final = 128
"""Items that all workers together hand over to be recorded at a time; each of them costs the loop something too."""


class _ItemFailed(Exception):
    """An item that ends the map."""

    def __init__(self, index: int, code: str, message: str, retryable: bool) -> None:
        super().__init__(code)
        self.failed = Failed("map_item_failed", message, {"index": index, "code": code}, retryable)


class _ItemSuspended(Exception):
    """An item of which nobody knows whether it happened."""

    def __init__(self, asked: Suspended) -> None:
        super().__init__(asked.interrupt.key)
        self.suspended = asked


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
        self._suspended: dict[int, Suspended] = {}
        self._failed: dict[int, Failed] = {}
        self._workers = min(call.config.get("concurrency", DEFAULT_CONCURRENCY), len(left))

    async def run(self) -> NodeOutcome:
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._workers):
                    group.create_task(self._worker(group))
        except ExceptionGroup as raised:
            raise raised.exceptions[0] from None
        if self._failed:
            return self._failed[min(self._failed)]
        if self._suspended:
            return self._suspended[min(self._suspended)]
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
                try:
                    output = await self._perform(index)
                except _ItemSuspended as asks:
                    # The others finish what they do; the question is asked when nothing is under way any more.
                    self._suspended[index] = asks.suspended
                    break
                except _ItemFailed as failure:
                    # Here too: what touches the world is not cut off because its neighbour failed.
                    self._failed[index] = failure.failed
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
        return bool(self._suspended or self._failed)

    async def _record(self, index: int, output: Any) -> None:
        await self._context.record_item(index, output)
        self._results[index] = output

    async def _perform(self, index: int) -> Any:
        body = self._body
        try:
            inputs = self._inputs.for_item(index)
        except ExpressionFault as fault:
            failed = expression_failure(fault)
            raise _ItemFailed(index, failed.code, failed.message, failed.retryable) from None
        outcome = await self._context.run_part(body["typeId"], inputs, body.get("config", {}), str(index))
        match outcome:
            case Completed(outputs, effects):
                if effects:
                    message = "The body of a map must not change the run, and this one would."
                    raise _ItemFailed(index, "map_body_effect", message, retryable=False)
                return outputs.get("output", outputs)
            case Failed(code, message, _, retryable, effects):
                for effect in effects:
                    # What an answer of a model came to is told, whatever becomes of the item.
                    if isinstance(effect, EmitEvent):
                        self._context.emit_event(effect)
                raise _ItemFailed(index, code, message, retryable)
            case Suspended(interrupt, _):
                if is_outcome_interrupt(interrupt.data):
                    raise _ItemSuspended(outcome)
                message = "The body of a map must not wait for an answer, and this one would."
                raise _ItemFailed(index, "map_body_suspended", message, retryable=False)
            case AwaitsChildren():
                message = "The body of a map must not start runs, and this one would."
                raise _ItemFailed(index, "map_body_effect", message, retryable=False)
            case _:  # pragma: no cover
                assert_never(outcome)


def _is_cancelled() -> bool:
    """Whether the worker was told to stop, which an item may have swallowed."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
