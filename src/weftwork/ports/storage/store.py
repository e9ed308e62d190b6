"""The store: all storage ports over the same database, as the composition root needs them.

Calls of different ports are ordered like calls of one port: a write that a call has acknowledged is visible to every
call that starts later, on any port of the store.
"""

from typing import Protocol

from weftwork.ports.storage.annotations import AnnotationStore
from weftwork.ports.storage.api_keys import ApiKeys
from weftwork.ports.storage.assets import AssetIndex
from weftwork.ports.storage.child_runs import ChildRuns
from weftwork.ports.storage.definitions import Definitions
from weftwork.ports.storage.election import Election
from weftwork.ports.storage.event_log import EventLog
from weftwork.ports.storage.forks import Forks
from weftwork.ports.storage.idempotency import IdempotencyRecords
from weftwork.ports.storage.ownership import RunOwnership
from weftwork.ports.storage.retention import RunRetention
from weftwork.ports.storage.run_queries import RunQueries
from weftwork.ports.storage.signing_keys import SigningKeys


class Store(Protocol):
    """Implementations are proved by `weftwork.testing.storage`."""

    log: EventLog
    ownership: RunOwnership
    election: Election
    queries: RunQueries
    child_runs: ChildRuns
    forks: Forks
    records: IdempotencyRecords
    retention: RunRetention
    definitions: Definitions
    keys: ApiKeys
    signing: SigningKeys
    annotations: AnnotationStore
    assets: AssetIndex

    async def open(self) -> None:
        """Make the ports usable. Raises StoreUnavailable, or HostFault for data that this adapter must not use."""
        ...

    async def close(self) -> None:
        """Finish the writes that were accepted; afterwards every port raises StoreUnavailable. Safe to call twice."""
        ...
