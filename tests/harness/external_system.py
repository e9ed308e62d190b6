"""A node with effects for the bench, the world it touches, and a person who finds out what happened there."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from tests.harness.engine_harness import EngineHarness, run_ready_tasks
from weftwork.ports.node_outcome import Completed, NodeOutcome
from weftwork.ports.nodes import NodeCall, NodeContext, WaitingNode
from weftwork.protocol.run.header import TERMINAL_STATUSES, RunKey
from weftwork.protocol.workflow.node_types import Effect, NodeDeclaration

NodeBody = Callable[[NodeCall, NodeContext], Awaitable[NodeOutcome]]


class ExternalSystem:
    """What is outside the host: it counts what reaches it, and outlives every process."""

    def __init__(self, blocked: bool = False) -> None:
        self.received_keys: list[str] = []
        self.entries = 0
        self.blocked_until: asyncio.Future[None] | None = (
            asyncio.get_running_loop().create_future() if blocked else None
        )
        """While set, whatever reaches the world does not come back before this is done."""

    def unblock(self) -> None:
        if self.blocked_until is not None:
            self.blocked_until.set_result(None)
            self.blocked_until = None

    async def call(self, key: str) -> Any:
        self.received_keys.append(key)
        if self.blocked_until is not None:
            await asyncio.shield(self.blocked_until)
        else:
            await asyncio.sleep(0)
        return {"receipt": len(self.received_keys)}

    def effect_node(self, effect: Effect = "once", type_id: str = "test.pay", **more: Any) -> WaitingNode:
        async def body(call: NodeCall, context: NodeContext) -> NodeOutcome:
            self.entries += 1
            return Completed(await self.call(context.effect_key()))

        return effect_node_type(type_id, body, effect, **more)

    def step_node(self, *names: str, effect: Effect = "once", type_id: str = "test.steps", **more: Any) -> WaitingNode:
        async def body(call: NodeCall, context: NodeContext) -> NodeOutcome:
            self.entries += 1
            outputs: dict[str, Any] = {}
            for name in names:
                outputs[name] = await context.step(name, effect, partial(self.call, context.effect_key(name)))
            return Completed(outputs)

        return effect_node_type(type_id, body, "pure", **more)


def effect_node_type(type_id: str, body: NodeBody, effect: Effect = "pure", **more: Any) -> WaitingNode:
    """A node type that does work of its own, and is executed again after a crash."""
    declared = NodeDeclaration(
        type_id, "For one test.", effect=effect, instant=False, resumes_after_crash=False, **more
    )
    return WaitingNode(declared, body)


async def answer(bench: EngineHarness, key: RunKey, value: Any, node_id: str = "a") -> Any:
    return await bench.answer(key, value, node_id)


async def answer_until_ended(bench: EngineHarness, key: RunKey, find_out: Callable[[int], Any | Awaitable[Any]]) -> int:
    """Go on to the end; a person answers each question by what can be found out. Returns how many there were."""
    asked = 0
    for _ in range(400):
        status = await bench.status(key)
        if status in TERMINAL_STATUSES:
            return asked
        if status == "waiting-input":
            found = find_out(asked)
            await answer(bench, key, await found if isinstance(found, Awaitable) else found)
            asked += 1
        await run_ready_tasks()
        if bench.clock.next_wake is not None:
            bench.clock.advance(bench.clock.next_wake - bench.clock.now())
    raise AssertionError(f"the run does not end: {await bench.event_types(key)}")
