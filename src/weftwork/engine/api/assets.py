"""Assets for callers: upload them, list those of a tenant, and find the one behind a URL."""

from collections import Counter
from collections.abc import AsyncIterator
from typing import Any, Final

import msgspec

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
"""Uploads of one tenant that are under way at the same time: what they have sent so far is counted nowhere else."""
RETRY_SECONDS: Final = 1
DAY_SECONDS: Final = 86_400
"""How long a caller may keep a copy of an asset: it never changes, but it may be deleted."""
LISTING_URL_MS: Final = 1_800_000
"""How long a URL lasts that comes with a listing."""


class Download(msgspec.Struct, frozen=True):
    """What a URL opens. Type and name are those of the URL; a copy may be kept for `max_age` seconds."""

    asset: StoredAsset
    media_type: str
    name: str
    max_age: int


class SignedAsset(msgspec.Struct, frozen=True):
    """Bytes that were kept, and the token that opens them until it expires."""

    size: int
    token: str
    expires_at: int


class TenantAssets(msgspec.Struct, eq=False):
    """Raises ClientFault or StoreUnavailable."""

    _assets: Assets
    _clock: Clock
    _limits: Limits
    _active_uploads: Counter[str] = msgspec.field(default_factory=Counter[str])

    async def find(self, token: str) -> Download:
        """media-04: what the token of a URL opens; the same fault for every token that opens nothing."""
        said, asset = await self._assets.open_token(token)
        left = DAY_SECONDS if said.expires_at is None else max(0, said.expires_at - self._clock.now()) // 1000
        return Download(asset, said.media_type, said.name, min(DAY_SECONDS, left))

    async def open(self, download: Download) -> BlobSource:
        """Its bytes; close them in every case. Raises StoreUnavailable if they are not where they should be."""
        return await self._assets.open(download.asset)

    async def list(
        self, principal: Principal, run_id: str | None, after: AssetCursor | None, limit: int
    ) -> dict[str, Any]:
        """A page of the tenant's assets, or of those that a run refers to, and what all of them take up."""
        partition = principal.partition
        found = await self._assets.page(partition, AssetQuery(run_id, after, limit + 1))
        usage = await self._assets.usage(partition)
        used: dict[str, int] = {"assets": usage.count, "bytes": usage.size}
        if self._limits.max_asset_bytes_per_tenant:
            used["quota"] = self._limits.max_asset_bytes_per_tenant
        document: dict[str, Any] = {"assets": [self._describe(each) for each in found[:limit]], "usage": used}
        if len(found) > limit:
            last = found[limit - 1].asset.cursor
            document["nextCursor"] = f"{last.created_at}.{last.sha256}"
        return document

    def check_upload_size(self, size: int) -> None:
        """Refuse an upload by its declared length, before a byte of it is read."""
        if size > self._limits.max_upload_bytes:
            raise upload_too_large(self._limits.max_upload_bytes)

    async def upload(
        self, principal: Principal, pieces: AsyncIterator[bytes], declared_type: str, name: str, days: int
    ) -> dict[str, Any]:
        """Keep bytes for at least so many days. Durable on return; nothing is kept if the pieces end with a fault."""
        partition = principal.partition
        if self._active_uploads[partition] >= MAX_CONCURRENT_UPLOADS:
            message = f"The tenant has {MAX_CONCURRENT_UPLOADS} uploads under way."
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
        """What URLs of assets begin with."""
        return self._assets.base

    async def put(self, principal: Principal, data: bytes, declared_type: str, held_ms: int) -> SignedAsset:
        """Keep bytes for so long. Durable on return."""
        asset = await self._assets.put(principal.partition, data, held_ms, self._limits.max_upload_bytes)
        media_type = resolve_media_type(declared_type, asset.media_type)
        until = self._assets.url_expiry(asset, held_ms)
        return SignedAsset(asset.size, self._assets.make_token(asset, media_type, expires_at=until), until)

    def _describe(self, found: AssetEntry) -> dict[str, Any]:
        asset = found.asset
        return {
            "mediaRef": media_ref(asset.sha256),
            "bytes": asset.size,
            "mimeType": asset.media_type,
            "createdAt": iso(asset.created_at),
            "heldUntil": iso(asset.held_until),
            "runs": found.runs,
            "url": self._assets.url(asset, asset.media_type, expires_at=self._clock.now() + LISTING_URL_MS),
        }
