"""Every storage port in memory behind one object."""

from weftwork.adapters.memory.annotations import MemoryAnnotations
from weftwork.adapters.memory.assets import MemoryAssets
from weftwork.adapters.memory.definitions import MemoryDefinitions
from weftwork.adapters.memory.event_log import MemoryEventLog
from weftwork.adapters.memory.keys import MemoryKeys, MemorySigningKeys
from weftwork.adapters.memory.open_state import Door
from weftwork.ports.storage.annotations import AnnotationStore
from weftwork.ports.storage.api_keys import ApiKeys
from weftwork.ports.storage.assets import AssetIndex
from weftwork.ports.storage.definitions import Definitions
from weftwork.ports.storage.event_log import EventLog
from weftwork.ports.storage.signing_keys import SigningKeys


class MemoryStore:
    """Same promises as a store on disk for as long as the object lives; it may be closed and opened again."""

    log: EventLog
    definitions: Definitions
    keys: ApiKeys
    signing: SigningKeys
    annotations: AnnotationStore
    assets: AssetIndex

    def __init__(self) -> None:
        self._door = Door()
        assets = MemoryAssets(self._door)
        self.assets = assets
        self.log = MemoryEventLog(self._door, assets)
        self.definitions = MemoryDefinitions(self._door, self.log)
        self.keys = MemoryKeys(self._door)
        self.signing = MemorySigningKeys(self._door)
        self.annotations = MemoryAnnotations(self._door, self.log, assets)

    async def open(self) -> None:
        self._door.open = True

    async def close(self) -> None:
        self._door.open = False
