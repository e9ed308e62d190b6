"""The fence with which this process executes runs.

Theory: `ports/storage/ownership.py`. The fence is the epoch of the election that this process has won. It is known once
the store is open, and never changes afterwards: a process that is replaced ends.
"""

from collections.abc import Callable
from typing import Final

from weftwork.ports.storage.election import Election
from weftwork.protocol.run.header import RunKey

MAX_PROOF_AGE_NS: Final = 1_000_000_000
"""An effect begins at most this long after the fence of its run was last found in the store."""


class ExecutorFence:
    """Shared by everything that writes to runs in this process."""

    def __init__(self, epoch: int = 0) -> None:
        self.epoch = epoch
        """0 until this process has been elected."""
        self.on_lost: Callable[[RunKey], None] = lambda run: None
        """Stops a run that another executor was found to have taken. Set by the executor."""

    async def take(self, election: Election, force: bool = False) -> None:
        """Become the executor of the store. Raises HostLocked and StoreUnavailable."""
        self.epoch = await election.take(force)
