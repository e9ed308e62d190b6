"""The definitions port in memory."""

from weftwork.adapters.memory.door import Door


class MemoryDefinitions:
    """Implements ports.definitions.Definitions."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._documents: dict[str, bytes] = {}

    async def put(self, digest: str, document: bytes) -> None:
        self._door.enter()
        self._documents.setdefault(digest, document)

    async def get(self, digest: str) -> bytes | None:
        self._door.enter()
        return self._documents.get(digest)
