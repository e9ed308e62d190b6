"""The keys port in memory.

The signing keys port in memory.
"""

import secrets

from weftwork.adapters.memory.open_state import Door
from weftwork.ports.storage.api_keys import ApiKeyRow
from weftwork.ports.storage.signing_keys import SigningKey


class MemoryKeys:
    """Implements ports.keys.Keys."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._salt = secrets.token_bytes(32)
        self._rows: dict[str, ApiKeyRow] = {}

    async def salt(self) -> bytes:
        self._door.enter()
        return self._salt

    async def put(self, row: ApiKeyRow) -> None:
        self._door.enter()
        self._rows[row.key_id] = row

    async def all(self) -> list[ApiKeyRow]:
        self._door.enter()
        return sorted(self._rows.values(), key=lambda row: row.created_at)


class MemorySigningKeys:
    """Implements ports.signing.SigningKeys."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._keys: dict[str, SigningKey] = {}

    async def put(self, key: SigningKey) -> None:
        self._door.enter()
        self._keys[key.kid] = key

    async def drop(self, kid: str) -> bool:
        self._door.enter()
        return self._keys.pop(kid, None) is not None

    async def all(self) -> list[SigningKey]:
        self._door.enter()
        return sorted(self._keys.values(), key=lambda key: key.created_at)
