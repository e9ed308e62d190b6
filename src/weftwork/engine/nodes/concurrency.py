"""Limits how many nodes run concurrently: per node type, per tenant, and for nodes that hold a thread."""

import asyncio

import msgspec

from weftwork.protocol.fair_share import FairQueue
from weftwork.protocol.limits import Limits
from weftwork.protocol.workflow.node_types import NodeDeclaration

Slots = tuple[tuple[str, int], ...]
"""Names of limits with the number of their slots."""


class ConcurrencyLimiter(msgspec.Struct, eq=False):
    """A semaphore for each name. Tenants that wait for a slot get it in turns, each in the order of its requests.

    Slots are acquired one after the other, those of the tenant first. A node that waits for its second slot holds only
    a slot of its own tenant, so one tenant cannot block another by waiting.
    """

    _busy: dict[str, int] = {}
    _waiting: dict[str, FairQueue[asyncio.Future[None]]] = {}

    async def acquire(self, tenant: str, slots: Slots) -> bool:
        """Acquire all slots; returns whether that took a wait. When cancelled, it holds no slot."""
        waited = False
        acquired: list[str] = []
        try:
            for name, limit in slots:
                waited = await self._acquire(tenant, name, limit) or waited
                acquired.append(name)
        except BaseException:
            for name in acquired:
                self._release(name)
            raise
        return waited

    def release(self, slots: Slots) -> None:
        for name, _ in slots:
            self._release(name)

    async def _acquire(self, tenant: str, name: str, limit: int) -> bool:
        """lim-26 (host): the next free slot goes to the tenant whose turn it is, however many nodes others have."""
        queue = self._waiting.get(name)
        if self._busy.get(name, 0) < limit and not queue:
            self._busy[name] = self._busy.get(name, 0) + 1
            return False
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if queue is None:
            queue = self._waiting[name] = FairQueue()
        queue.add(tenant, mine)
        try:
            await mine
        except asyncio.CancelledError:
            if mine.done() and not mine.cancelled():
                # A release had already handed the slot over to this waiter.
                self._release(name)
            else:
                # A release that came first has already removed this waiter from the queue.
                queue.discard(tenant, mine)
            raise
        return True

    def _release(self, name: str) -> None:
        queue = self._waiting.get(name)
        while queue:
            _, waiting = queue.take()
            if not waiting.done():
                # The slot goes to the next waiter, so the number of busy slots does not change.
                waiting.set_result(None)
                return
        self._waiting.pop(name, None)
        self._busy[name] -= 1
        if not self._busy[name]:
            del self._busy[name]


def slots_for(declaration: NodeDeclaration, partition: str, limits: Limits) -> Slots:
    """lim-12 (host): the slots that a node needs. A node type that resumes after a crash, such as a delay, only waits
    and needs no slot of its tenant."""
    slots: Slots = ()
    if limits.max_nodes_per_tenant and not declaration.resumes_after_crash:
        slots += ((f"tenant:{partition}", limits.max_nodes_per_tenant),)
    if declaration.concurrency:
        slots += ((f"type:{declaration.type_id}", declaration.concurrency),)
    return slots + thread_slots(limits) if declaration.holds_thread else slots


def thread_slots(limits: Limits) -> Slots:
    """lim-12: the slot of a plain function, acquired before its effect is claimed."""
    return (("threads", limits.max_node_threads),)
