"""Limits how many child runs per second a tenant creates. Above the limit, the nodes that create them wait.

Theory. A token bucket that holds one second's worth, written as a virtual clock: each child moves the clock of its
tenant forward by the time of one child, and a node waits for as long as this clock is more than a second ahead. Nodes
are therefore served in the order in which they ask. A waiting node is cancelled like any other, and gives its turn
back. After a restart, nodes ask again, and all buckets are full.
"""

import asyncio
from typing import Final

import msgspec

from weftwork.ports.clock import Clock

BURST_NS: Final = 1_000_000_000
NS_PER_MS: Final = 1_000_000
MAX_IDLE_TENANTS: Final = 1024
"""From this number of tenants on, those with full buckets are forgotten."""


class ChildRate(msgspec.Struct, eq=False):
    """The buckets of all tenants. `_per_second` is the limit; 0 means none."""

    _clock: Clock
    _per_second: int
    _virtual: dict[str, int] = {}
    """The virtual clock of each partition, in nanoseconds on the monotonic clock."""

    async def take(self, partition: str) -> None:
        """lim-17 (host): return when the tenant may create one more child run."""
        if not self._per_second:
            return
        now = self._clock.monotonic_ns()
        step = BURST_NS // self._per_second
        virtual = self._virtual[partition] = max(self._virtual.get(partition, 0), now) + step
        if len(self._virtual) > MAX_IDLE_TENANTS:
            self._virtual = {name: each for name, each in self._virtual.items() if each > now}
        if (wait := virtual - now - BURST_NS) > 0:
            try:
                await self._clock.sleep(-(-wait // NS_PER_MS))
            except asyncio.CancelledError:
                self._virtual[partition] -= step
                raise
