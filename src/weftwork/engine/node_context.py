"""The host as a waiting node sees it."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from weftwork.engine.call import TOO_LARGE, wrong_inputs
from weftwork.engine.inputs import Input, NodeRecorded
from weftwork.engine.runtime import Runtime
from weftwork.ports.clock import Clock
from weftwork.ports.nodes import Completed, Failed, InstantNode, NodeCall, Outcome
from weftwork.protocol.state import NodeState
from weftwork.protocol.weight import is_too_large

MOST_ITEMS: Final = 128
"""Items of a node that go into one append."""


class Context:
    """Implements ports.nodes.NodeContext for one attempt of one node."""

    __slots__ = ("_call", "_durable", "_items", "_node", "_report", "_runtime", "started_at")

    def __init__(self, runtime: Runtime, report: Callable[[Input], None], call: NodeCall, node: NodeState) -> None:
        self._runtime = runtime
        self._report = report
        self._call = call
        self._node = node
        self._items: list[tuple[int, Any]] = []
        self._durable: asyncio.Future[None] | None = None
        self.started_at = node.started_at

    async def sleep_until(self, when: int) -> None:
        await self._runtime.clock.sleep_until(when)

    @property
    def items(self) -> Mapping[int, Any]:
        return self._node.items

    async def record(self, index: int, output: Any) -> None:
        if self._durable is None:
            loop = asyncio.get_running_loop()
            self._durable = loop.create_future()
            loop.call_soon(self._flush, self._durable)
        durable = self._durable
        self._items.append((index, output))
        if len(self._items) >= MOST_ITEMS:
            self._flush(durable)
        # Shielded: others wait for the same commit.
        await asyncio.shield(durable)

    def _flush(self, durable: asyncio.Future[None]) -> None:
        if self._durable is durable:
            items, self._items, self._durable = tuple(self._items), [], None
            self._report(NodeRecorded(self._call.node_id, items, durable, self._call.entered))

    async def perform(self, type_id: str, inputs: dict[str, Any], config: dict[str, Any], item: str) -> Outcome:
        node_type = self._runtime.types[type_id]
        wrong = wrong_inputs(node_type.declaration.inputs, inputs)
        if wrong is not None:
            return wrong
        call = NodeCall(self._call.run_id, f"{self._call.node_id}[{item}]", inputs, config, self._call.scope)
        if isinstance(node_type, InstantNode):
            outcome = node_type.run(call)
        else:
            outcome = await node_type.run(call, _Part(self._runtime))
        return TOO_LARGE if isinstance(outcome, Completed) and is_too_large(outcome.outputs) else outcome


class _Part:
    """A waiting node inside another one: it starts when it is called, and has no items of its own."""

    __slots__ = ("_runtime", "items", "started_at")

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self.items: Mapping[int, Any] = {}
        self.started_at = runtime.clock.now()

    async def sleep_until(self, when: int) -> None:
        await self._runtime.clock.sleep_until(when)

    async def record(self, index: int, output: Any) -> None:
        raise NotImplementedError("a node inside another one has no items")

    async def perform(self, type_id: str, inputs: dict[str, Any], config: dict[str, Any], item: str) -> Outcome:
        raise NotImplementedError("a node inside another one calls no others")


async def within(clock: Clock, work: Awaitable[Outcome], started_at: int, limit: int) -> Outcome:
    """node-13 (readings, Time limits): the outcome, or a failure once the attempt has had its time.

    A node that does not heed its end is left behind.
    """
    task = asyncio.ensure_future(work)
    timer = asyncio.ensure_future(clock.sleep_until(started_at + limit))
    task.add_done_callback(_heard)
    try:
        await asyncio.wait((task, timer), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        return Failed("node_timeout", f"The node did not end within {limit} ms.")
    except asyncio.CancelledError:
        # The run is to end. The node may still clean up, and what it did in the end counts.
        task.cancel()
        await asyncio.wait((task,))
        return task.result()
    finally:
        task.cancel()
        timer.cancel()


def _heard(task: "asyncio.Future[Outcome]") -> None:
    """Nobody asks a task that was left behind what it came to."""
    if not task.cancelled():
        task.exception()
