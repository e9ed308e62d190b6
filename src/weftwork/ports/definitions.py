"""Pinned workflow definitions, by digest: a run keeps the one it started with."""

from typing import Protocol


class Definitions(Protocol):
    """Content-addressed and append-only."""

    async def put(self, digest: str, document: bytes) -> None:
        """Durable on return; putting the same digest again changes nothing. Raises StoreUnavailable."""
        ...

    async def get(self, digest: str) -> bytes | None:
        """The document, or None."""
        ...
