"""Administration by the operator on the machine itself, without an API key. Requests and responses are JSON."""

from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol

import msgspec

from weftwork.engine.api.keyring import Keyring
from weftwork.engine.api.retention import MAX_PER_CALL, Retention
from weftwork.engine.host.catalog import WorkflowCatalog
from weftwork.engine.media.asset_sweep import SweepResult
from weftwork.engine.signer import Signer
from weftwork.ports.hints import GONE, KEYS, SIGNING, Hints
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
"""Workflows in one response."""


_HINTS: Final = {
    "keys.create": KEYS,
    "keys.revoke": KEYS,
    "runs.prune": GONE,
    "signing.drop": SIGNING,
    "signing.rotate": SIGNING,
}
"""The hint that follows an operation."""


class CreateKey(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    tenant: str
    scopes: tuple[str, ...] | None = None
    mode: Mode = "live"
    label: str = ""
    expires_at: int | None = None


class RevokeKey(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    key_id: str


class DropSigningKey(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    kid: str


class EndedRunsFilter(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Selects runs that ended before an instant, in milliseconds since the epoch."""

    completed_before: int
    tenant: str | None = None
    limit: int = MAX_PER_CALL


class GetWorkflow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Selects a definition that a tenant can start."""

    tenant: str
    workflow_id: str
    version: str | None = None


class ListWorkflows(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Selects the workflows that a tenant can start, after an id."""

    tenant: str
    after: str | None = None


class AssetSweeper(Protocol):
    """Deletes unreferenced assets; see AssetSweep."""

    async def count(self) -> AssetUsage: ...

    async def prune(self, limit: int = ...) -> SweepResult: ...

    async def delete_strays(self) -> int: ...


class Administration:
    """Handles administration requests, both from the socket of a running host and directly on the store."""

    def __init__(
        self,
        keyring: Keyring,
        retention: Retention,
        catalog: WorkflowCatalog,
        signer: Signer,
        sweep: AssetSweeper | None = None,
        loop_report: Callable[[], dict[str, Any]] | None = None,
        hints: Hints | None = None,
        store_report: Callable[[], dict[str, Any]] | None = None,
    ) -> None:
        """`hints` are for administration next to a running host: its operations are then followed by a hint."""
        self._keyring = keyring
        self._sweeper = sweep
        self._loop_report = loop_report
        self._retention = retention
        self._catalog = catalog
        self._signer = signer
        self._hints = hints
        self._store_report = store_report
        self._operations: dict[str, tuple[Any, Callable[[Any], Awaitable[dict[str, Any]]]]] = {
            "assets.count": (Any, self._count_assets),
            "assets.prune": (Any, self._prune_assets),
            "keys.create": (CreateKey, self._create_key),
            "keys.list": (Any, self._list_keys),
            "keys.revoke": (RevokeKey, self._revoke_key),
            "loop.report": (Any, self._report_loop),
            "store.report": (Any, self._report_store),
            "runs.count": (EndedRunsFilter, self._count_runs),
            "runs.prune": (EndedRunsFilter, self._prune_runs),
            "signing.list": (Any, self._list_signing),
            "signing.rotate": (Any, self._rotate_signing),
            "signing.drop": (DropSigningKey, self._drop_signing),
            "workflows.get": (GetWorkflow, self._get_workflow),
            "workflows.list": (ListWorkflows, self._list_workflows),
        }
        """The type of the arguments and the handler of each operation."""

    async def handle(self, request: Any) -> dict[str, Any]:
        """The result, or an error document. Never raises for an invalid request."""
        try:
            operation_entry = self._operations.get(str(request.get("operation"))) if is_object(request) else None
            if operation_entry is None:
                raise invalid("Unknown operation.", "/operation")
            kind, operation = operation_entry
            result = await operation(msgspec.convert(request.get("arguments", {}), kind))
            hint = _HINTS.get(request["operation"])
            if self._hints is not None and hint is not None:
                self._hints.send(hint)
            return result
        except ClientFault as fault:
            return error_document(fault.code, fault.message, fault.details)
        except msgspec.ValidationError as error:
            return error_document("validation_error", str(error))
        except StoreUnavailable as error:
            return error_document("service_unavailable", f"The store is unavailable: {error}")
        except HostFault as error:
            return error_document("internal_error", str(error))

    async def _create_key(self, arguments: CreateKey) -> dict[str, Any]:
        key, row = await self._keyring.create(
            arguments.tenant, arguments.scopes, arguments.mode, arguments.label, arguments.expires_at
        )
        return {"key": key, **_key_document(row)}

    async def _list_keys(self, _: Any) -> dict[str, Any]:
        return {"keys": [_key_document(row) for row in self._keyring.all()]}

    async def _revoke_key(self, arguments: RevokeKey) -> dict[str, Any]:
        return _key_document(await self._keyring.revoke(arguments.key_id))

    async def _report_loop(self, _: Any) -> dict[str, Any]:
        """The times for which the event loop was blocked, since the start of the host."""
        if self._loop_report is None:
            raise HostFault("No host is running.")
        return self._loop_report()

    async def _report_store(self, _: Any) -> dict[str, Any]:
        """How the host has used its store; empty if the store does not count this."""
        return self._store_report() if self._store_report is not None else {}

    async def _count_runs(self, arguments: EndedRunsFilter) -> dict[str, Any]:
        return {"runs": await self._retention.count(arguments.completed_before, arguments.tenant)}

    async def _prune_runs(self, arguments: EndedRunsFilter) -> dict[str, Any]:
        """Delete at most `limit` runs. The caller repeats the request while the response says `more`."""
        limit = max(1, min(arguments.limit, MAX_PER_CALL))
        pruned = await self._retention.prune(arguments.completed_before, arguments.tenant, limit)
        return {"deleted": pruned.deleted, "more": pruned.more}

    async def _count_assets(self, _: Any) -> dict[str, Any]:
        usage = await self._require_sweeper().count()
        return {"assets": usage.count, "bytes": usage.size}

    async def _prune_assets(self, _: Any) -> dict[str, Any]:
        """Delete some assets. The caller repeats the request while the response says `more`; the last request also
        deletes blobs without an asset."""
        swept = await self._require_sweeper().prune()
        strays = 0 if swept.more else await self._require_sweeper().delete_strays()
        return {"deleted": swept.deleted, "freed": swept.freed, "strays": strays, "more": swept.more}

    def _require_sweeper(self) -> AssetSweeper:
        if self._sweeper is None:
            raise HostFault("This host stores no assets.")
        return self._sweeper

    async def _list_signing(self, _: Any) -> dict[str, Any]:
        return {"keys": [self._signing_key_document(row) for row in self._signer.all()]}

    async def _rotate_signing(self, _: Any) -> dict[str, Any]:
        return self._signing_key_document(await self._signer.rotate())

    async def _drop_signing(self, arguments: DropSigningKey) -> dict[str, Any]:
        dropped = await self._signer.drop(arguments.kid)
        return {"dropped": dropped.kid, "signs": self._signer.kid}

    def _signing_key_document(self, row: SigningKey) -> dict[str, Any]:
        """A signing key without its secret."""
        document: dict[str, Any] = {
            "kid": row.kid,
            "createdAt": iso(row.created_at),
            "signs": row.kid == self._signer.kid,
        }
        return {**document, "retiredAt": iso(row.retired_at)} if row.retired_at is not None else document

    async def _get_workflow(self, arguments: GetWorkflow) -> dict[str, Any]:
        definition = await self._catalog.read_definition(arguments.tenant, arguments.workflow_id, arguments.version)
        if definition is None:
            raise ClientFault("not_found", "There is no such workflow for this tenant.")
        # As text, because a nested definition could exceed the depth limit of the response.
        return {"definition": definition.decode()}

    async def _list_workflows(self, arguments: ListWorkflows) -> dict[str, Any]:
        workflows, more = await self._catalog.list_workflows(arguments.tenant, arguments.after, WORKFLOW_PAGE_SIZE)
        return {"workflows": [_workflow_document(each) for each in workflows], "more": more}


def _workflow_document(workflow: ListedWorkflow | Workflow) -> dict[str, Any]:
    if isinstance(workflow, Workflow):
        document = {"id": workflow.id, "version": workflow.version, "name": workflow.document["name"], "from": "file"}
        return {**document, "versions": [workflow.version]}
    registered = workflow.current
    document = {
        "id": registered.workflow_id,
        "version": registered.version,
        "name": registered.name,
        "from": "registered",
    }
    return {**document, "versions": list(workflow.versions)}


def _key_document(row: ApiKeyRow) -> dict[str, Any]:
    """An API key without the key itself and its digest."""
    document: dict[str, Any] = {
        "keyId": row.key_id,
        "tenant": row.tenant,
        "mode": row.mode,
        "scopes": list(row.scopes),
        "label": row.label,
        "createdAt": iso(row.created_at),
    }
    if row.expires_at is not None:
        document["expiresAt"] = iso(row.expires_at)
    if row.revoked_at is not None:
        document["revokedAt"] = iso(row.revoked_at)
    return document
