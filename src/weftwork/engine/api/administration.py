"""Operations of the operator on the machine itself, without a key. Requests and answers are JSON."""

from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol

import msgspec

from weftwork.engine.api.keyring import Keyring
from weftwork.engine.api.retention import MAX_PER_CALL, Retention
from weftwork.engine.host.catalog import WorkflowCatalog
from weftwork.engine.media.asset_sweep import SweepResult
from weftwork.engine.signer import Signer
from weftwork.ports.storage.api_keys import ApiKeyRow
from weftwork.ports.storage.assets import AssetUsage
from weftwork.ports.storage.definitions import ListedWorkflow
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.ports.storage.signing_keys import SigningKey
from weftwork.protocol.errors import ClientFault, HostFault, error_document, invalid
from weftwork.protocol.ids import Mode
from weftwork.protocol.json.values import is_object
from weftwork.protocol.timestamps import iso
from weftwork.protocol.workflow.definition import Workflow

WORKFLOW_PAGE_SIZE: Final = 200
"""In one answer."""


class CreateKey(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Ask for a new key."""

    tenant: str
    scopes: tuple[str, ...] | None = None
    mode: Mode = "live"
    label: str = ""
    expires_at: int | None = None


class RevokeKey(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Ask for a key to stop working."""

    key_id: str


class DropSigningKey(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Ask for what a signing key has signed to count no more."""

    kid: str


class EndedRunsFilter(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Ask about runs that ended before an instant, in milliseconds since 1970."""

    completed_before: int
    tenant: str | None = None
    limit: int = MAX_PER_CALL


class GetWorkflow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Ask for a definition as a tenant sees it."""

    tenant: str
    workflow_id: str
    version: str | None = None


class ListWorkflows(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Ask for the workflows that a tenant can start, those behind an id."""

    tenant: str
    after: str | None = None


class AssetSweeper(Protocol):
    """What deletes assets; see AssetSweep."""

    async def count(self) -> AssetUsage: ...

    async def prune(self, limit: int = ...) -> SweepResult: ...

    async def delete_strays(self) -> int: ...


class Administration:
    """One answer per request, the same through the socket and straight on the store."""

    def __init__(
        self,
        keyring: Keyring,
        retention: Retention,
        catalog: WorkflowCatalog,
        signer: Signer,
        sweep: AssetSweeper | None = None,
    ) -> None:
        self._keyring = keyring
        self._sweeper = sweep
        self._retention = retention
        self._catalog = catalog
        self._signer = signer
        self._operations: dict[str, tuple[Any, Callable[[Any], Awaitable[dict[str, Any]]]]] = {
            "assets.count": (Any, self._count_assets),
            "assets.prune": (Any, self._prune_assets),
            "keys.create": (CreateKey, self._create_key),
            "keys.list": (Any, self._list_keys),
            "keys.revoke": (RevokeKey, self._revoke_key),
            "runs.count": (EndedRunsFilter, self._count_runs),
            "runs.prune": (EndedRunsFilter, self._prune_runs),
            "signing.list": (Any, self._list_signing),
            "signing.rotate": (Any, self._rotate_signing),
            "signing.drop": (DropSigningKey, self._drop_signing),
            "workflows.get": (GetWorkflow, self._get_workflow),
            "workflows.list": (ListWorkflows, self._list_workflows),
        }
        """What each operation takes, and what answers it."""

    async def handle(self, request: Any) -> dict[str, Any]:
        """The result, or an error envelope. Never raises for a bad request."""
        try:
            known = self._operations.get(str(request.get("operation"))) if is_object(request) else None
            if known is None:
                raise invalid("Unknown operation.", "/operation")
            kind, operation = known
            return await operation(msgspec.convert(request.get("arguments", {}), kind))
        except ClientFault as fault:
            return error_document(fault.code, fault.message, fault.details)
        except msgspec.ValidationError as error:
            return error_document("validation_error", str(error))
        except StoreUnavailable as error:
            return error_document("service_unavailable", f"The store cannot be used now: {error}")
        except HostFault as error:
            return error_document("internal_error", str(error))

    async def _create_key(self, wanted: CreateKey) -> dict[str, Any]:
        key, row = await self._keyring.create(
            wanted.tenant, wanted.scopes, wanted.mode, wanted.label, wanted.expires_at
        )
        return {"key": key, **_key_document(row)}

    async def _list_keys(self, _: Any) -> dict[str, Any]:
        return {"keys": [_key_document(row) for row in self._keyring.all()]}

    async def _revoke_key(self, wanted: RevokeKey) -> dict[str, Any]:
        return _key_document(await self._keyring.revoke(wanted.key_id))

    async def _count_runs(self, wanted: EndedRunsFilter) -> dict[str, Any]:
        return {"runs": await self._retention.count(wanted.completed_before, wanted.tenant)}

    async def _prune_runs(self, wanted: EndedRunsFilter) -> dict[str, Any]:
        """A slice of the work; ask again as long as there is more."""
        limit = max(1, min(wanted.limit, MAX_PER_CALL))
        pruned = await self._retention.prune(wanted.completed_before, wanted.tenant, limit)
        return {"deleted": pruned.deleted, "more": pruned.more}

    async def _count_assets(self, _: Any) -> dict[str, Any]:
        found = await self._require_sweeper().count()
        return {"assets": found.count, "bytes": found.size}

    async def _prune_assets(self, _: Any) -> dict[str, Any]:
        """A slice of the work; ask again as long as there is more. The last one clears away stray bytes too."""
        swept = await self._require_sweeper().prune()
        strays = 0 if swept.more else await self._require_sweeper().delete_strays()
        return {"deleted": swept.deleted, "freed": swept.freed, "strays": strays, "more": swept.more}

    def _require_sweeper(self) -> AssetSweeper:
        if self._sweeper is None:
            raise HostFault("Assets cannot be pruned here.")
        return self._sweeper

    async def _list_signing(self, _: Any) -> dict[str, Any]:
        return {"keys": [self._signing_key_document(row) for row in self._signer.all()]}

    async def _rotate_signing(self, _: Any) -> dict[str, Any]:
        return self._signing_key_document(await self._signer.rotate())

    async def _drop_signing(self, wanted: DropSigningKey) -> dict[str, Any]:
        dropped = await self._signer.drop(wanted.kid)
        return {"dropped": dropped.kid, "signs": self._signer.kid}

    def _signing_key_document(self, row: SigningKey) -> dict[str, Any]:
        """What is shown of a signing key: everything but its secret."""
        shown: dict[str, Any] = {"kid": row.kid, "createdAt": iso(row.created_at), "signs": row.kid == self._signer.kid}
        return {**shown, "retiredAt": iso(row.retired_at)} if row.retired_at is not None else shown

    async def _get_workflow(self, wanted: GetWorkflow) -> dict[str, Any]:
        found = await self._catalog.read_definition(wanted.tenant, wanted.workflow_id, wanted.version)
        if found is None:
            raise ClientFault("not_found", "There is no such workflow for this tenant.")
        # As text: a definition may be as deep as a request may be.
        return {"definition": found.decode()}

    async def _list_workflows(self, wanted: ListWorkflows) -> dict[str, Any]:
        found, more = await self._catalog.list_workflows(wanted.tenant, wanted.after, WORKFLOW_PAGE_SIZE)
        return {"workflows": [_workflow_document(each) for each in found], "more": more}


def _workflow_document(found: ListedWorkflow | Workflow) -> dict[str, Any]:
    if isinstance(found, Workflow):
        shown = {"id": found.id, "version": found.version, "name": found.document["name"], "from": "file"}
        return {**shown, "versions": [found.version]}
    of = found.current
    shown = {"id": of.workflow_id, "version": of.version, "name": of.name, "from": "registered"}
    return {**shown, "versions": list(found.versions)}


def _key_document(row: ApiKeyRow) -> dict[str, Any]:
    """What is shown of a key: everything but the key and its digest."""
    shown: dict[str, Any] = {
        "keyId": row.key_id,
        "tenant": row.tenant,
        "mode": row.mode,
        "scopes": list(row.scopes),
        "label": row.label,
        "createdAt": iso(row.created_at),
    }
    if row.expires_at is not None:
        shown["expiresAt"] = iso(row.expires_at)
    if row.revoked_at is not None:
        shown["revokedAt"] = iso(row.revoked_at)
    return shown
