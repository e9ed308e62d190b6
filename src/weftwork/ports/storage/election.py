"""The election: at most one process per store executes runs, and each of them has a higher epoch than the one before.

The lock says who may start. The epoch is what makes it safe: it is the fence of the runs that the process executes
(`ports/storage/ownership.py`). A process that was suspended, or cut off from the store, while another one was elected
can therefore not write to a run any more, although nothing has told it.
"""

import asyncio
from typing import Protocol


class Election(Protocol):
    """The right to execute the runs of a store. Implementations are proved by `weftwork.testing.storage`."""

    lost: asyncio.Event
    """Set once another process has been elected. Not set while that is only unknown: then this process continues, and
    each of its writes is checked."""

    async def take(self, force: bool = False) -> int:
        """Become the executor. Returns the epoch, which is durable: greater than 0 and than every epoch that `take` has
        ever returned for this store.

        Raises HostLocked (`ports/storage/host_lock.py`) at once if another process holds the lock; with `force`, that
        process is replaced, if the store can do this. Raises StoreUnavailable.
        """
        ...

    async def release(self) -> None:
        """Release the lock. Its death releases the lock of a process as well. Safe to call twice."""
        ...
