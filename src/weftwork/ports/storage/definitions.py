"""Workflow definitions: documents by digest, and the registrations of tenants by workflow id and version.

Documents are shared between tenants and found by their digest. A registration belongs to a tenant, for its live and
its test keys alike. Registrations are only added: the newest one of a workflow is its current version, and the earlier
ones can still be found.

Atomicity: each call is one transaction; all of it is durable when the call returns, or none of it.
Cancellation: cancelling the caller does not cancel a write. It may or may not have happened: read it back.
Every call raises StoreUnavailable when the store cannot read or write data.
"""

from typing import Final, Protocol

import msgspec

from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.protocol.run.batch import IdempotencyRecord

MAX_LISTED_VERSIONS: Final = 100
"""The number of versions of one workflow that a listing includes."""


class WorkflowRegistration(msgspec.Struct, frozen=True):
    """One version of a tenant's workflow. `name` and `description` are copied from the document for listings."""

    tenant: str
    workflow_id: str
    version: str
    digest: str
    created_at: int
    name: str
    description: str | None = None


class ListedWorkflow(msgspec.Struct, frozen=True):
    """A workflow in a listing: its current version, and at most MAX_LISTED_VERSIONS versions, newest first."""

    current: WorkflowRegistration
    versions: tuple[str, ...]


class VersionRegistered(msgspec.Struct, frozen=True):
    """The registration is durable and is the current version of its workflow."""


class VersionExists(msgspec.Struct, frozen=True):
    """This version of the workflow is already registered, as `registration`. Nothing was written."""

    registration: WorkflowRegistration


class RegistrationLimitReached(msgspec.Struct, frozen=True):
    """The tenant has reached its limit of registrations. Nothing was written."""


class Definitions(Protocol):
    """Documents are content-addressed and append-only. Implementations are proved by `weftwork.testing.storage`."""

    async def put(self, digest: str, document: bytes) -> None:
        """Store a document; durable on return. Storing the same digest again changes nothing."""
        ...

    async def get(self, digest: str) -> bytes | None: ...

    async def register(
        self, registration: WorkflowRegistration, document: bytes, most: int, record: IdempotencyRecord | None = None
    ) -> VersionRegistered | VersionExists | RegistrationLimitReached | SlotTaken:
        """Store the document and make it the current version of its workflow.

        Checked in this order: with `record`, if its slot is taken, return SlotTaken. If the version is registered, with
        this or another digest, return VersionExists. If the tenant has `most` registrations, return
        RegistrationLimitReached.
        """
        ...

    async def find(self, tenant: str, workflow_id: str, version: str | None = None) -> WorkflowRegistration | None:
        """The given version of a tenant's workflow, or its current version; None if it is not registered."""
        ...

    async def workflows(self, tenant: str, after: str | None, limit: int) -> list[ListedWorkflow]:
        """The workflows of a tenant in the order of their ids, after the id `after`, at most `limit`."""
        ...

    async def count(self) -> int:
        """The number of workflows of all tenants; a workflow with several versions counts once."""
        ...
