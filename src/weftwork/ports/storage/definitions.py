"""Workflow definitions: documents by digest, and which of them a tenant has registered under which name and version.

A document belongs to nobody; who knows its digest may have it. A registration belongs to a tenant, for its live
and its test keys alike. Registrations are only added: the last one of a workflow is its current version, and the
ones before it can still be found.

Atomicity: each call below is one transaction; all of it is durable when the call returns, or none of it.
Cancellation: cancelling the caller does not cancel a write; it may or may not have happened: read it back.
Every call raises StoreUnavailable when the store cannot take or give data.
"""

from typing import Final, Protocol

import msgspec

from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.protocol.run.batch import IdempotencyRecord

MAX_LISTED_VERSIONS: Final = 100
"""How many versions of one workflow a listing names."""


class WorkflowRegistration(msgspec.Struct, frozen=True):
    """One version of a workflow of a tenant. `name` and `description` are what lists show of the document."""

    tenant: str
    workflow_id: str
    version: str
    digest: str
    created_at: int
    name: str
    description: str | None = None


class ListedWorkflow(msgspec.Struct, frozen=True):
    """A workflow in a listing: its current version, and the newest MOST_VERSIONS versions, newest first."""

    current: WorkflowRegistration
    versions: tuple[str, ...]


class VersionRegistered(msgspec.Struct, frozen=True):
    """The registration is durable and is the current version of its workflow."""


class VersionExists(msgspec.Struct, frozen=True):
    """This version of the workflow was registered before: nothing was written, here is that registration."""

    registration: WorkflowRegistration


class RegistrationLimitReached(msgspec.Struct, frozen=True):
    """The tenant has as many registrations as it may have: nothing was written."""


class Definitions(Protocol):
    """Documents are content-addressed and append-only. Implementations are proved by `weftwork.testing.storage`."""

    async def put(self, digest: str, document: bytes) -> None:
        """Durable on return; putting the same digest again changes nothing."""
        ...

    async def get(self, digest: str) -> bytes | None:
        """The document, or None."""
        ...

    async def register(
        self, registration: WorkflowRegistration, document: bytes, most: int, record: IdempotencyRecord | None = None
    ) -> VersionRegistered | VersionExists | RegistrationLimitReached | SlotTaken:
        """Store the document and make it the current version of its workflow.

        With `record`: if its slot is taken, return SlotTaken. If the version is there, with whatever digest, return
        Known. If the tenant has `most` registrations, return Full. Looked at in this order.
        """
        ...

    async def find(self, tenant: str, workflow_id: str, version: str | None = None) -> WorkflowRegistration | None:
        """A version of a tenant's workflow, the current one unless told otherwise, or None."""
        ...

    async def workflows(self, tenant: str, after: str | None, limit: int) -> list[ListedWorkflow]:
        """The workflows of a tenant by id, those behind `after`, at most `limit`."""
        ...

    async def count(self) -> int:
        """How many workflows all tenants together have registered, whatever the number of their versions."""
        ...
