"""Ids and random numbers, passed in so that tests control them."""

from typing import Protocol


class Ids(Protocol):
    """Mints ids. Each is unguessable: at least 80 random bits."""

    def run_id(self, now: int) -> str:
        """URL-safe, without `:` or `/`, at least 16 random characters; later ids sort after earlier ones."""
        ...

    def event_ids(self, count: int) -> list[str]:
        """`count` fresh ids of 1..128 ASCII characters that need no JSON escaping."""
        ...

    def token(self) -> str:
        """256 random bits, URL-safe, for API keys."""
        ...

    def secret(self, count: int) -> bytes:
        """`count` random bytes, for keys that the host signs with."""
        ...

    def trace_id(self) -> str:
        """32 lower-case hex digits, not all zero."""
        ...

    def random_fraction(self) -> float:
        """A random number from 0 to 1, used for jitter."""
        ...
