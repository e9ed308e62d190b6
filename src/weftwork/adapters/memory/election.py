"""The election in memory: a count of the elections, and the process that was elected last.

A process is an instance of `MemoryElection`. A store has one; a test makes more of them over the same `Elections`, to
let several simulated processes share the store.
"""

import asyncio

from weftwork.adapters.memory.port import OpenState
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.ports.storage.host_lock import HostLocked


class Elections:
    """The elections of one store."""

    def __init__(self) -> None:
        self.epoch = 0
        self.elected: MemoryElection | None = None

    def next_epoch(self) -> int:
        self.epoch += 1
        return self.epoch


class MemoryElection:
    """Implements ports.storage.election.Election."""

    def __init__(self, state: OpenState, elections: Elections) -> None:
        self._state = state
        self._elections = elections
        self.lost = asyncio.Event()

    async def take(self, force: bool = False) -> int:
        if not self._state.is_open:
            raise StoreUnavailable("the store is closed")
        elections = self._elections
        if elections.elected not in (None, self):
            if not force:
                raise HostLocked("another process executes the runs of this store")
            elections.elected.lost.set()
        elections.elected = self
        return elections.next_epoch()

    async def release(self) -> None:
        if self._elections.elected is self:
            self._elections.elected = None
