"""Every storage port in memory behind one object."""

from weftwork.adapters.memory.annotations import MemoryAnnotations
from weftwork.adapters.memory.assets import MemoryAssets
from weftwork.adapters.memory.definitions import MemoryDefinitions
from weftwork.adapters.memory.event_log import MemoryEventLog
from weftwork.adapters.memory.keys import MemoryKeys, MemorySigningKeys
from weftwork.adapters.memory.open_state import OpenState
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
        self._state = OpenState()
        assets = MemoryAssets(self._state)
        self.assets = assets
        self.log = MemoryEventLog(self._state, assets)
        self.definitions = MemoryDefinitions(self._state, self.log)
        self.keys = MemoryKeys(self._state)
        self.signing = MemorySigningKeys(self._state)
        self.annotations = MemoryAnnotations(self._state, self.log, assets)

    async def open(self) -> None:
        self._state.is_open = True

    async def close(self) -> None:
        self._state.is_open = False
