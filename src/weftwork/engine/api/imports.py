"""Imports of runs: a debug bundle of any OpenWOP host becomes a read-only run of the caller.

The run is created in one commit with its whole log, and the executor does not learn of it: the store has it as ended.
"""

import hashlib
from collections.abc import Mapping
from functools import partial

import msgspec

from weftwork.engine.api.idempotency import IdempotencyClaim, ReplayableOutcome, idempotent
from weftwork.engine.api.keyring import Principal
from weftwork.engine.api.review import DocumentThread
from weftwork.engine.host.catalog import WorkflowCatalog
from weftwork.engine.run.replay import RunTooLarge, load_state
from weftwork.engine.runtime import Runtime
from weftwork.engine.tenant_logs import TenantLogs
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.limits import QUOTA_EXCEEDED
from weftwork.protocol.media.media_types import resolve_media_type
from weftwork.protocol.review.bundle_import import Bundle, ImportedRun, PackedMedia, build_run, read_bundle
from weftwork.protocol.run.header import RunHeader, RunKey
from weftwork.protocol.run.imports import missing_definition, not_replayable
from weftwork.protocol.run.size_errors import limit_error


class ImportOutcome(ReplayableOutcome, frozen=True):
    """A run that was imported."""

    run_id: str
    status: str
    source_run_id: str
    event_count: int
    media_count: int = 0
    """Media that were packed with the bundle and are stored here."""


class Imports(msgspec.Struct, eq=False):
    """Imports of runs for callers. Raises ClientFault or StoreUnavailable."""

    _runtime: Runtime
    _thread: DocumentThread = msgspec.field(default_factory=DocumentThread)

    async def import_run(self, principal: Principal, data: bytes, key: str | None = None) -> ImportOutcome:
        """imp-01: import a bundle. Durable on return. With an idempotency key, the same key and bytes return the same
        run."""
        body = {"sha256": hashlib.sha256(data).hexdigest()}
        work = partial(self._import, principal, data)
        return await idempotent(self._runtime, principal, "importRun", key, body, ImportOutcome, work)

    async def _import(self, principal: Principal, data: bytes, claim: IdempotencyClaim) -> ImportOutcome | SlotTaken:
        runtime = self._runtime
        # One thread at a time decodes, checks and builds: a bundle takes about ten times its size in memory.
        bundle: Bundle = await self._thread.run(len(data), read_bundle, data, runtime.limits)
        run = principal.run(runtime.ids.run_id(claim.now))
        urls = await self._store_media(run, bundle.media)
        built: ImportedRun = await self._thread.run(
            len(data), build_run, bundle, run, principal.owner, claim.now, principal.mode, urls
        )
        if runtime.tenant_logs is not None:
            await _reserve_quota(runtime.tenant_logs, built)
        projection = built.first.projection
        outcome = ImportOutcome(
            run.run_id,
            projection.status,
            bundle.run["runId"],
            projection.last_sequence + 1,
            len(urls),
        )
        created = await runtime.log.create(built.header, (), claim.make_record(outcome), False, built.first)
        return created if isinstance(created, SlotTaken) else outcome

    async def _store_media(self, run: RunKey, media: tuple[PackedMedia, ...]) -> Mapping[str, str]:
        """imp-07: store the packed media as assets of the caller, and return their URLs here by those in the bundle.
        Media that are not packed stay as they are: this host never fetches the URLs of another one."""
        assets = self._runtime.assets
        if assets is None:
            return {}
        urls: dict[str, str] = {}
        for each in media:
            asset = await assets.put(run.partition, each.data)
            media_type = resolve_media_type(each.media_type, asset.media_type)
            urls[each.url] = assets.url(asset, media_type, run.run_id, each.name)
        return urls


async def _reserve_quota(logs: TenantLogs, built: ImportedRun) -> None:
    """size-03 (host): refuse a run for which the quota of its tenant has no room."""
    partition = built.header.partition
    for _ in range(2):
        # The second time, the logs are counted again, because runs may have been deleted.
        await logs.load(partition)
        if logs.reserve(partition, built.log_bytes) and logs.reserve_run(built.header, ()):
            return
    error = limit_error(QUOTA_EXCEEDED, logs.quota, logs.used(partition))
    raise ClientFault(error.code, error.message, msgspec.to_builtins(error.details))


async def check_replayable(runtime: Runtime, catalog: WorkflowCatalog, header: RunHeader, last_sequence: int) -> None:
    """imp-05: raises 409 if an imported run cannot be replayed here: the tenant has not registered the definition that
    its bundle names, or the log cannot be folded with it.

    The definition must be one that the tenant can start. A bundle could otherwise name the digest of a definition of
    another tenant, and a replay would execute it.
    """
    imported = header.imported
    if imported is None:
        return
    version, tenant = imported.definition_version, header.owner.tenant
    if not header.definition or not await catalog.has_definition(
        tenant, header.workflow_id, version, header.definition
    ):
        raise missing_definition(header, imported)
    plan = await catalog.pinned_plan(header.workflow_id, header.definition)
    try:
        state = await load_state(runtime.log, header, plan, runtime.limits.max_run_state_bytes, runtime.loop_share)
    except (StoreUnavailable, ClientFault):
        raise
    except RunTooLarge as reason:
        raise not_replayable(f"The imported run is too large for this host ({reason}).") from None
    except Exception:
        message = "The events of the imported run contradict the definition of its workflow, so it cannot be replayed."
        raise not_replayable(message) from None
    assert state.last_sequence == last_sequence
