"""The store in memory, and its ports for definitions and keys."""

import secrets

from weftwork.adapters.memory import run_ports
from weftwork.adapters.memory.assets import MemoryAssets
from weftwork.adapters.memory.election import Elections, MemoryElection
from weftwork.adapters.memory.port import MemoryIdempotencyRecords, MemoryPort, OpenState
from weftwork.adapters.memory.run_table import RunTable
from weftwork.ports.storage.api_keys import ApiKeyRow
from weftwork.ports.storage.definitions import (
    MAX_LISTED_VERSIONS,
    ListedWorkflow,
    RegistrationLimitReached,
    VersionExists,
    VersionRegistered,
    WorkflowRegistration,
)
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.ports.storage.signing_keys import SigningKey
from weftwork.ports.storage.store import Store
from weftwork.protocol.run.batch import IdempotencyRecord

Versions = dict[str, WorkflowRegistration]
"""The registrations of one workflow by version, in the order of registration."""


class MemoryDefinitions(MemoryPort):
    """Implements ports.storage.definitions.Definitions. Shares its idempotency records with the other ports."""

    def __init__(self, records: MemoryIdempotencyRecords) -> None:
        super().__init__(records.state)
        self._records = records
        self._documents: dict[str, bytes] = {}
        self._tenants: dict[str, dict[str, Versions]] = {}

    async def put(self, digest: str, document: bytes) -> None:
        self._documents.setdefault(digest, document)

    async def get(self, digest: str) -> bytes | None:
        return self._documents.get(digest)

    async def register(
        self, registration: WorkflowRegistration, document: bytes, most: int, record: IdempotencyRecord | None = None
    ) -> VersionRegistered | VersionExists | RegistrationLimitReached | SlotTaken:
        if (taken := self._records.find_taken(record)) is not None:
            return taken
        new = registration
        workflows = self._tenants.get(new.tenant, {})
        existing = workflows.get(new.workflow_id, {}).get(new.version)
        if existing is not None:
            return VersionExists(existing)
        if sum(map(len, workflows.values())) >= most:
            return RegistrationLimitReached()
        self._documents.setdefault(new.digest, document)
        self._tenants.setdefault(new.tenant, {}).setdefault(new.workflow_id, {})[new.version] = new
        self._records.put(record)
        return VersionRegistered()

    async def find(self, tenant: str, workflow_id: str, version: str | None = None) -> WorkflowRegistration | None:
        versions = self._tenants.get(tenant, {}).get(workflow_id, {})
        return _current(versions) if version is None else versions.get(version)

    async def workflows(self, tenant: str, after: str | None, limit: int) -> list[ListedWorkflow]:
        workflows = self._tenants.get(tenant, {})
        page = sorted(workflow_id for workflow_id in workflows if workflow_id > (after or ""))[: max(limit, 0)]
        return [listed for workflow_id in page if (listed := _listed(workflows[workflow_id])) is not None]

    async def count(self) -> int:
        return sum(map(len, self._tenants.values()))


def _current(versions: Versions) -> WorkflowRegistration | None:
    return next(reversed(versions.values()), None)


def _listed(versions: Versions) -> ListedWorkflow | None:
    current = _current(versions)
    return ListedWorkflow(current, tuple(versions)[: -MAX_LISTED_VERSIONS - 1 : -1]) if current is not None else None


class MemoryKeys(MemoryPort):
    """Implements ports.storage.api_keys.ApiKeys."""

    def __init__(self, state: OpenState) -> None:
        super().__init__(state)
        self._salt = secrets.token_bytes(32)
        self._rows: dict[str, ApiKeyRow] = {}

    async def salt(self) -> bytes:
        return self._salt

    async def put(self, row: ApiKeyRow) -> None:
        self._rows[row.key_id] = row

    async def all(self) -> list[ApiKeyRow]:
        return sorted(self._rows.values(), key=lambda row: row.created_at)


class MemorySigningKeys(MemoryPort):
    """Implements ports.storage.signing_keys.SigningKeys."""

    def __init__(self, state: OpenState) -> None:
        super().__init__(state)
        self._keys: dict[str, SigningKey] = {}

    async def put(self, key: SigningKey) -> None:
        self._keys[key.kid] = key

    async def drop(self, kid: str) -> bool:
        return self._keys.pop(kid, None) is not None

    async def all(self) -> list[SigningKey]:
        return sorted(self._keys.values(), key=lambda key: key.created_at)


class MemoryStore(Store):
    """A store with the guarantees of a store on disk while the object exists. It can be closed and opened again."""

    def __init__(self) -> None:
        self._state = OpenState()
        self.records = MemoryIdempotencyRecords(self._state)
        self.assets = MemoryAssets(self._state)
        self.elections = Elections()
        table = RunTable(self.records, self.assets, self.elections)
        self.log = run_ports.MemoryEventLog(table)
        self.ownership = run_ports.MemoryOwnership(table)
        self.election = MemoryElection(self._state, self.elections)
        self.queries = run_ports.MemoryRunQueries(table)
        self.child_runs = run_ports.MemoryChildRuns(table)
        self.forks = run_ports.MemoryForks(table)
        self.retention = run_ports.MemoryRunRetention(table)
        self.annotations = run_ports.MemoryAnnotations(table)
        self.definitions = MemoryDefinitions(self.records)
        self.keys = MemoryKeys(self._state)
        self.signing = MemorySigningKeys(self._state)

    async def open(self) -> None:
        self._state.is_open = True

    async def close(self) -> None:
        self._state.is_open = False
