"""Imports of runs: a debug bundle of any OpenWOP host becomes a read-only run of the caller.

The run is created in one commit with its whole log, and the executor does not learn of it: the store has it as ended.
"""

import hashlib
from collections.abc import Mapping
from functools import partial

import msgspec

from weftwork.engine.api.idempotency import IdempotencyClaim, idempotent
from weftwork.engine.api.keyring import Principal
from weftwork.engine.api.review import DocumentThread
from weftwork.engine.read_back import confirm_created
from weftwork.engine.runtime import Runtime
from weftwork.engine.tenant_logs import TenantLogs
from weftwork.ports.storage.event_log import OutcomeUnknown
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.limits import QUOTA_EXCEEDED
from weftwork.protocol.media.media_types import resolve_media_type
from weftwork.protocol.review.bundle_import import Bundle, ImportedRun, PackedMedia, build_run, read_bundle
from weftwork.protocol.run.batch import ReplayableOutcome
from weftwork.protocol.run.header import RunKey
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
        try:
            created = await runtime.log.create(built.header, (), claim.make_record(outcome), False, built.first)
        except OutcomeUnknown:
            created = await confirm_created(runtime.log, runtime.clock, run)
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
