"""A map on its own, and a body that the test lets go."""

import asyncio
from collections.abc import Mapping
from typing import Any

from tests.adapters.nodes.fake_context import TYPES, FakeContext, node_call, outcome_of
from weftwork.ports.node_outcome import Completed, NodeOutcome
from weftwork.ports.nodes import NodeCall

MAP = "core.flow.map"


def map_body(type_id: str, inputs: Mapping[str, Any] | None = None, **config: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"typeId": type_id, "config": config}
    return {"body": found if inputs is None else {**found, "inputs": inputs}}


class GatedBody:
    """A body that waits until the test lets its item go."""

    def __init__(self) -> None:
        self.waiting: dict[int, asyncio.Future[NodeOutcome]] = {}
        self.cancelled: list[int] = []
        self.max_waiting = 0

    async def __call__(self, given: NodeCall) -> NodeOutcome:
        item = given.inputs["input"]
        gate = self.waiting[item] = asyncio.get_running_loop().create_future()
        self.max_waiting = max(self.max_waiting, len(self.waiting))
        try:
            return await gate
        except asyncio.CancelledError:
            self.cancelled.append(item)
            raise
        finally:
            del self.waiting[item]

    def open(self, item: int, outcome: NodeOutcome | None = None) -> None:
        self.waiting[item].set_result(outcome or Completed({"output": item * 10}))


def start_map(config: dict[str, Any], items: list[Any], context: FakeContext) -> "asyncio.Task[NodeOutcome]":
    return asyncio.create_task(outcome_of(TYPES[MAP], node_call(config, {"items": items}, context.scope), context))
