"""Every storage port in memory behind one object."""

from weftwork.adapters.memory.annotations import MemoryAnnotations
from weftwork.adapters.memory.assets import MemoryAssets
from weftwork.adapters.memory.child_runs import MemoryChildRuns
from weftwork.adapters.memory.definitions import MemoryDefinitions
from weftwork.adapters.memory.event_log import MemoryEventLog
from weftwork.adapters.memory.idempotency import MemoryIdempotencyRecords
from weftwork.adapters.memory.keys import MemoryKeys, MemorySigningKeys
from weftwork.adapters.memory.open_state import OpenState
from weftwork.adapters.memory.retention import MemoryRunRetention
from weftwork.adapters.memory.run_queries import MemoryRunQueries
from weftwork.adapters.memory.run_table import RunTable
from weftwork.ports.storage.store import Store


class MemoryStore(Store):
    """Same promises as a store on disk for as long as the object lives; it may be closed and opened again."""

    def __init__(self) -> None:
        self._state = OpenState()
        records = MemoryIdempotencyRecords(self._state)
        assets = MemoryAssets(self._state)
        table = RunTable(self._state, assets)
        self.log = MemoryEventLog(table, records)
        self.queries = MemoryRunQueries(table)
        self.child_runs = MemoryChildRuns(table)
        self.records = records
        self.retention = MemoryRunRetention(table, records)
        self.definitions = MemoryDefinitions(self._state, records)
        self.keys = MemoryKeys(self._state)
        self.signing = MemorySigningKeys(self._state)
        self.annotations = MemoryAnnotations(table, records, assets)
        self.assets = assets

    async def open(self) -> None:
        self._state.is_open = True

    async def close(self) -> None:
        self._state.is_open = False
