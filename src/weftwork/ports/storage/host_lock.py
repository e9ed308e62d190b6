"""Who may execute: exactly one process per store."""

from typing import Protocol


class HostLocked(Exception):
    """Another process holds the seat; the message says which."""


class HostLock(Protocol):
    """The right to execute runs and to open the store for writing."""

    def acquire(self) -> None:
        """Take the seat or raise SeatTaken at once. Released by `release` and by the death of the process."""
        ...

    def release(self) -> None:
        """Give the seat up. Safe to call twice."""
        ...
