"""Records of items: results of single items of a node, several of which share one commit."""

import asyncio
from collections.abc import Callable
from typing import Any, Final

from weftwork.engine.inputs import Input, NodeRecorded

MOST_ITEMS: Final = 128
"""Items of a node that go into one append."""


class ItemRecords:
    """Of one entry of a node."""

    __slots__ = ("_durable", "_entered", "_items", "_node_id", "_report")

    def __init__(self, report: Callable[[Input], None], node_id: str, entered: int) -> None:
        self._report = report
        self._node_id = node_id
        self._entered = entered
        self._items: list[tuple[int, Any]] = []
        self._durable: asyncio.Future[None] | None = None

    async def record(self, index: int, output: Any) -> None:
        """See ports.nodes.NodeContext."""
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
            self._report(NodeRecorded(self._node_id, items, durable, self._entered))
