"""The host lock: at most one process per store executes runs."""

from typing import Protocol


class HostLocked(Exception):
    """Another process holds the lock; the message says which."""


class HostLock(Protocol):
    """The right to execute runs and to open the store for writing."""

    def acquire(self) -> None:
        """Take the lock, or raise HostLocked at once. Released by `release` and by the death of the process."""
        ...

    def release(self) -> None:
        """Release the lock. Safe to call twice."""
        ...
