"""The definitions port in memory. No method waits for anything, so each of them is atomic on the event loop."""

from weftwork.adapters.memory.idempotency import MemoryIdempotencyRecords
from weftwork.adapters.memory.open_state import OpenState
from weftwork.ports.storage.definitions import (
    MAX_LISTED_VERSIONS,
    ListedWorkflow,
    RegistrationLimitReached,
    VersionExists,
    VersionRegistered,
    WorkflowRegistration,
)
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.protocol.run.batch import IdempotencyRecord

Versions = dict[str, WorkflowRegistration]
"""By version, in the order of registration."""


class MemoryDefinitions:
    """Implements ports.storage.definitions.Definitions. Shares its idempotency records with the other ports."""

    def __init__(self, state: OpenState, records: MemoryIdempotencyRecords) -> None:
        self._state = state
        self._records = records
        self._documents: dict[str, bytes] = {}
        self._tenants: dict[str, dict[str, Versions]] = {}

    async def put(self, digest: str, document: bytes) -> None:
        self._state.check_open()
        self._documents.setdefault(digest, document)

    async def get(self, digest: str) -> bytes | None:
        self._state.check_open()
        return self._documents.get(digest)

    async def register(
        self, registration: WorkflowRegistration, document: bytes, most: int, record: IdempotencyRecord | None = None
    ) -> VersionRegistered | VersionExists | RegistrationLimitReached | SlotTaken:
        self._state.check_open()
        taken = self._records.find_taken(record)
        if taken is not None:
            return taken
        new = registration
        own = self._tenants.get(new.tenant, {})
        known = own.get(new.workflow_id, {}).get(new.version)
        if known is not None:
            return VersionExists(known)
        if sum(map(len, own.values())) >= most:
            return RegistrationLimitReached()
        self._documents.setdefault(new.digest, document)
        self._tenants.setdefault(new.tenant, {}).setdefault(new.workflow_id, {})[new.version] = new
        self._records.put(record)
        return VersionRegistered()

    async def find(self, tenant: str, workflow_id: str, version: str | None = None) -> WorkflowRegistration | None:
        self._state.check_open()
        versions = self._tenants.get(tenant, {}).get(workflow_id, {})
        return _current(versions) if version is None else versions.get(version)

    async def workflows(self, tenant: str, after: str | None, limit: int) -> list[ListedWorkflow]:
        self._state.check_open()
        own = self._tenants.get(tenant, {})
        page = sorted(workflow_id for workflow_id in own if workflow_id > (after or ""))[: max(limit, 0)]
        return [listed for workflow_id in page if (listed := _listed(own[workflow_id])) is not None]

    async def count(self) -> int:
        self._state.check_open()
        return sum(map(len, self._tenants.values()))


def _current(versions: Versions) -> WorkflowRegistration | None:
    return next(reversed(versions.values()), None)


def _listed(versions: Versions) -> ListedWorkflow | None:
    current = _current(versions)
    return ListedWorkflow(current, tuple(versions)[: -MAX_LISTED_VERSIONS - 1 : -1]) if current is not None else None
