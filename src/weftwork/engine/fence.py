"""The fence with which this process executes runs.

Theory: `ports/storage/ownership.py`. The fence is the epoch of the election that this process has won. It is known once
the store is open, and never changes afterwards: a process that is replaced ends.
"""

from weftwork.ports.storage.election import Election


class ExecutorFence:
    """Shared by everything that writes to runs in this process."""

    def __init__(self, epoch: int = 0) -> None:
        self.epoch = epoch
        """0 until this process has been elected."""

    async def take(self, election: Election, force: bool = False) -> None:
        """Become the executor of the store. Raises HostLocked and StoreUnavailable."""
        self.epoch = await election.take(force)
