"""Stored API keys: digests only."""

from typing import Protocol

import msgspec

from weftwork.protocol.ids import Mode


class ApiKeyRow(msgspec.Struct, frozen=True):
    """A stored API key. The key itself is shown once and never stored."""

    key_id: str
    digest: bytes
    tenant: str
    mode: Mode
    scopes: tuple[str, ...]
    label: str
    created_at: int
    expires_at: int | None = None
    revoked_at: int | None = None


class ApiKeys(Protocol):
    """Durable on return; raises StoreUnavailable."""

    async def salt(self) -> bytes:
        """32 random bytes, generated once per store and never changed."""
        ...

    async def put(self, row: ApiKeyRow) -> None:
        """Insert or replace by key id."""
        ...

    async def all(self) -> list[ApiKeyRow]:
        """Every key, including revoked and expired ones, oldest first."""
        ...
