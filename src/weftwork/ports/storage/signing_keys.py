"""Stored signing keys of the host."""

from typing import Protocol

import msgspec


class SigningKey(msgspec.Struct, frozen=True):
    """A secret and its id. The newest key that is not retired signs; every stored key verifies."""

    kid: str
    secret: bytes
    created_at: int
    retired_at: int | None = None

    def __repr__(self) -> str:
        """Hides the secret from logs and tracebacks."""
        return f"SigningKey({self.kid})"


class SigningKeys(Protocol):
    """Durable on return; raises StoreUnavailable."""

    async def put(self, key: SigningKey) -> None:
        """Insert or replace by kid."""
        ...

    async def drop(self, kid: str) -> bool:
        """Delete a key, so that its signatures are no longer valid; False if there is no such key."""
        ...

    async def all(self) -> list[SigningKey]:
        """Every key, oldest first."""
        ...
