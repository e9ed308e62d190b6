"""Limits how many nodes run at once: per node type, per tenant, and for nodes that hold a thread."""

import asyncio
from collections import deque

import msgspec

from weftwork.protocol.limits import Limits
from weftwork.protocol.workflow.node_types import NodeDeclaration

Slots = tuple[tuple[str, int], ...]
"""Names of what is limited, with the limits."""


class ConcurrencyLimiter(msgspec.Struct, eq=False):
    """First come, first served, for each thing that is limited.

    Slots are acquired in order, those of the tenant first. So a node that waits for a second slot holds only one of
    its own tenant, and one tenant cannot block another by waiting.
    """

    _busy: dict[str, int] = {}
    _waiting: dict[str, deque[asyncio.Future[None]]] = {}

    async def acquire(self, slots: Slots) -> bool:
        """Acquire all slots; returns whether there was a wait. Holds none when it is cancelled."""
        waited = False
        taken: list[str] = []
        try:
            for name, most in slots:
                waited = await self._acquire(name, most) or waited
                taken.append(name)
        except BaseException:
            for name in taken:
                self._release(name)
            raise
        return waited

    def release(self, slots: Slots) -> None:
        for name, _ in slots:
            self._release(name)

    async def _acquire(self, name: str, most: int) -> bool:
        queue = self._waiting.get(name)
        if self._busy.get(name, 0) < most and not queue:
            self._busy[name] = self._busy.get(name, 0) + 1
            return False
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(name, deque()).append(mine)
        try:
            await mine
        except asyncio.CancelledError:
            if mine.done() and not mine.cancelled():
                # It held the slot already, handed over by a node that released it.
                self._release(name)
            elif mine in (queue := self._waiting.get(name, deque())):
                # It is gone where a release found it cancelled first.
                queue.remove(mine)
            raise
        return True

    def _release(self, name: str) -> None:
        queue = self._waiting.get(name)
        while queue:
            waiting = queue.popleft()
            if not waiting.done():
                # Handed over: the number of the busy ones stays.
                waiting.set_result(None)
                return
        self._waiting.pop(name, None)
        self._busy[name] -= 1
        if not self._busy[name]:
            del self._busy[name]


def slots_for(declaration: NodeDeclaration, partition: str, limits: Limits) -> Slots:
    """lim-12 (host): what a node has to wait for. A node that only waits itself counts for no limit of its tenant."""
    slots: Slots = ()
    if limits.max_nodes_per_tenant and not declaration.resumes_after_crash:
        slots += ((f"tenant:{partition}", limits.max_nodes_per_tenant),)
    if declaration.concurrency:
        slots += ((f"type:{declaration.type_id}", declaration.concurrency),)
    return slots + thread_slots(limits) if declaration.holds_thread else slots


def thread_slots(limits: Limits) -> Slots:
    """lim-12: what a plain function has to wait for, before anything is claimed for it."""
    return (("threads", limits.max_node_threads),)
