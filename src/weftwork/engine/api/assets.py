"""Assets for callers: upload them, list those of a tenant, and find the asset of a URL."""

from collections import Counter
from collections.abc import AsyncIterator
from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from weftwork.engine.api.keyring import Principal
from weftwork.engine.media.assets import DAY_MS, Assets, upload_too_large
from weftwork.ports.clock import Clock
from weftwork.ports.storage.assets import AssetCursor, AssetEntry, AssetQuery, StoredAsset
from weftwork.ports.storage.blobs import BlobSource
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.limits import Limits
from weftwork.protocol.media.asset_references import media_ref
from weftwork.protocol.media.media_types import resolve_media_type
from weftwork.protocol.timestamps import iso

MAX_CONCURRENT_UPLOADS: Final = 16
"""Concurrent uploads of one tenant. Bytes of uploads in progress do not count towards the quota, so their number is
limited."""
RETRY_SECONDS: Final = 1
DAY_SECONDS: Final = 86_400
"""How long a client may cache an asset. An asset never changes, but it may be deleted."""
LISTING_URL_MS: Final = 1_800_000
"""How long the URL of an asset in a listing is valid."""


class Download(msgspec.Struct, frozen=True):
    """The asset of a URL. Type and name come from the URL; clients may cache it for `max_age` seconds."""

    asset: StoredAsset
    media_type: str
    name: str
    max_age: int


class SignedAsset(msgspec.Struct, frozen=True):
    """A stored asset, and a token for it that is valid until `expires_at`."""

    size: int
    token: str
    expires_at: int


class ListedUsage(msgspec.Struct, frozen=True, rename="camel"):
    """The size of a tenant's assets: of one partition, and of all that count towards the quota, if there is one."""

    assets: int
    bytes: int
    quota: int | UnsetType = UNSET
    quota_used: int | UnsetType = UNSET


class TenantAssets(msgspec.Struct, eq=False):
    """Assets for callers. Raises ClientFault or StoreUnavailable."""

    _assets: Assets
    _clock: Clock
    _limits: Limits
    _active_uploads: Counter[str] = msgspec.field(default_factory=Counter[str])

    async def find(self, token: str) -> Download:
        """media-04: the asset of a token; every token without an asset gives the same error."""
        content, asset = await self._assets.open_token(token)
        left = DAY_SECONDS if content.expires_at is None else max(0, content.expires_at - self._clock.now()) // 1000
        return Download(asset, content.media_type, content.name, min(DAY_SECONDS, left))

    async def open(self, download: Download) -> BlobSource:
        """Open the bytes of an asset; the caller must close them. Raises StoreUnavailable if they are missing."""
        return await self._assets.open(download.asset)

    async def list(
        self, principal: Principal, run_id: str | None, after: AssetCursor | None, limit: int
    ) -> dict[str, Any]:
        """A page of the tenant's assets, or of those that a run refers to, and the usage of all the tenant's assets."""
        partition = principal.partition
        entries = await self._assets.page(partition, AssetQuery(run_id, after, limit + 1))
        usage = await self._assets.usage(partition)
        used = ListedUsage(usage.count, usage.size)
        if quota := self._limits.max_asset_bytes_per_tenant:
            used = ListedUsage(usage.count, usage.size, quota, await self._assets.quota_used(principal.tenant))
        described = [self._describe(each) for each in entries[:limit]]
        document: dict[str, Any] = {"assets": described, "usage": msgspec.to_builtins(used)}
        if len(entries) > limit:
            last = entries[limit - 1].asset.cursor
            document["nextCursor"] = f"{last.created_at}.{last.sha256}"
        return document

    def check_upload_size(self, size: int) -> None:
        """Refuse an upload by its declared length, before a byte of it is read."""
        if size > self._limits.max_upload_bytes:
            raise upload_too_large(self._limits.max_upload_bytes)

    async def upload(
        self, principal: Principal, pieces: AsyncIterator[bytes], declared_type: str, name: str, days: int
    ) -> dict[str, Any]:
        """Store bytes and hold them for at least `days`. Durable on return; nothing is stored if `pieces` raises."""
        partition = principal.partition
        if self._active_uploads[partition] >= MAX_CONCURRENT_UPLOADS:
            message = f"The tenant has reached the limit of {MAX_CONCURRENT_UPLOADS} concurrent uploads. Retry later."
            raise ClientFault("rate_limited", message, {"retryAfter": RETRY_SECONDS})
        self._active_uploads[partition] += 1
        try:
            asset = await self._assets.put(partition, pieces, days * DAY_MS, self._limits.max_upload_bytes)
        finally:
            self._active_uploads[partition] -= 1
            if not self._active_uploads[partition]:
                del self._active_uploads[partition]
        media_type = resolve_media_type(declared_type, asset.media_type)
        until = self._assets.url_expiry(asset, days * DAY_MS)
        document: dict[str, Any] = {
            "mediaRef": media_ref(asset.sha256),
            "url": self._assets.url(asset, media_type, name=name, expires_at=until),
            "bytes": asset.size,
            "mimeType": media_type,
            "sha256": asset.sha256,
            "expiresAt": iso(until),
        }
        return {**document, "name": name} if name else document

    @property
    def base(self) -> str:
        """The base of asset URLs."""
        return self._assets.base

    async def put(self, principal: Principal, data: bytes, declared_type: str, held_ms: int) -> SignedAsset:
        """Store bytes and hold them for `held_ms`. Durable on return."""
        asset = await self._assets.put(principal.partition, data, held_ms, self._limits.max_upload_bytes)
        media_type = resolve_media_type(declared_type, asset.media_type)
        until = self._assets.url_expiry(asset, held_ms)
        return SignedAsset(asset.size, self._assets.make_token(asset, media_type, expires_at=until), until)

    def _describe(self, entry: AssetEntry) -> dict[str, Any]:
        asset = entry.asset
        return {
            "mediaRef": media_ref(asset.sha256),
            "bytes": asset.size,
            "mimeType": asset.media_type,
            "createdAt": iso(asset.created_at),
            "heldUntil": iso(asset.held_until),
            "runs": entry.runs,
            "url": self._assets.url(asset, asset.media_type, expires_at=self._clock.now() + LISTING_URL_MS),
        }
