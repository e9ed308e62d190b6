"""Who may execute: exactly one process per store."""

from typing import Protocol


class SeatTaken(Exception):
    """Another process holds the seat; the message says which."""


class Seat(Protocol):
    """The right to execute runs and to open the store for writing."""

    def take(self) -> None:
        """Take the seat or raise SeatTaken at once. Released by `release` and by the death of the process."""
        ...

    def release(self) -> None:
        """Give the seat up. Safe to call twice."""
        ...
