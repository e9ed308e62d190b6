"""The signing keys port in memory."""

from weftwork.adapters.memory.door import Door
from weftwork.ports.signing import SigningKey


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
