"""The ports of API keys and of signing keys in memory."""

import secrets

from weftwork.adapters.memory.open_state import OpenState
from weftwork.ports.storage.api_keys import ApiKeyRow
from weftwork.ports.storage.signing_keys import SigningKey


class MemoryKeys:
    """Implements ports.storage.api_keys.ApiKeys."""

    def __init__(self, state: OpenState) -> None:
        self._state = state
        self._salt = secrets.token_bytes(32)
        self._rows: dict[str, ApiKeyRow] = {}

    async def salt(self) -> bytes:
        self._state.check_open()
        return self._salt

    async def put(self, row: ApiKeyRow) -> None:
        self._state.check_open()
        self._rows[row.key_id] = row

    async def all(self) -> list[ApiKeyRow]:
        self._state.check_open()
        return sorted(self._rows.values(), key=lambda row: row.created_at)


class MemorySigningKeys:
    """Implements ports.storage.signing_keys.SigningKeys."""

    def __init__(self, state: OpenState) -> None:
        self._state = state
        self._keys: dict[str, SigningKey] = {}

    async def put(self, key: SigningKey) -> None:
        self._state.check_open()
        self._keys[key.kid] = key

    async def drop(self, kid: str) -> bool:
        self._state.check_open()
        return self._keys.pop(kid, None) is not None

    async def all(self) -> list[SigningKey]:
        self._state.check_open()
        return sorted(self._keys.values(), key=lambda key: key.created_at)
