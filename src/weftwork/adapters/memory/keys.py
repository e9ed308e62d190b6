"""The keys port in memory."""

import secrets

from weftwork.adapters.memory.door import Door
from weftwork.ports.keys import KeyRow


class MemoryKeys:
    """Implements ports.keys.Keys."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._salt = secrets.token_bytes(32)
        self._rows: dict[str, KeyRow] = {}

    async def salt(self) -> bytes:
        self._door.enter()
        return self._salt

    async def put(self, row: KeyRow) -> None:
        self._door.enter()
        self._rows[row.key_id] = row

    async def all(self) -> list[KeyRow]:
        self._door.enter()
        return sorted(self._rows.values(), key=lambda row: row.created_at)
