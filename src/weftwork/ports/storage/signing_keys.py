"""Keys that the host signs with, at rest."""

from typing import Protocol

import msgspec


class SigningKey(msgspec.Struct, frozen=True):
    """A secret by its id. The newest one that is not retired signs; every one that is kept verifies."""

    kid: str
    secret: bytes
    created_at: int
    retired_at: int | None = None

    def __repr__(self) -> str:
        """Without the secret, wherever it is shown."""
        return f"SigningKey({self.kid})"


class SigningKeys(Protocol):
    """Durable on return; raises StoreUnavailable."""

    async def put(self, key: SigningKey) -> None:
        """Insert or replace by kid."""
        ...

    async def drop(self, kid: str) -> bool:
        """Forget a key, so that nothing it signed counts any more; False when there is none."""
        ...

    async def all(self) -> list[SigningKey]:
        """Every key, oldest first."""
        ...
