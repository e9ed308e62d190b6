"""Assets: stores bytes, finds them for their tenant, and makes and verifies the signed URLs that serve them."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final, TypeVar

import msgspec

from weftwork.engine.signer import Signer
from weftwork.ports.clock import Clock
from weftwork.ports.fault_points import fault_point
from weftwork.ports.storage.assets import AssetEntry, AssetIndex, AssetQuery, AssetUsage, QuotaReached, StoredAsset
from weftwork.ports.storage.blobs import Blob, Blobs, BlobSource
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.ids import partitions_of_tenant
from weftwork.protocol.limits import Limits
from weftwork.protocol.media.asset_references import (
    ASSET_TOKEN_PURPOSE,
    AssetToken,
    decode_asset_token,
    encode_asset_token,
    media_ref_digest,
    signed_bytes,
)
from weftwork.protocol.media.media_types import SNIFF_BYTES, sniff_media_type

log = logging.getLogger("weftwork.assets")

DAY_MS: Final = 86_400_000
DEFAULT_HOLD_MS: Final = 3_600_000
"""How long a new asset is kept until the commit that refers to it."""


T = TypeVar("T")
WaitForStore = Callable[[], Awaitable[None]]
"""Waits before the next attempt at a store that is unavailable."""


class BytesMissing(StoreUnavailable):
    """An asset has a row and no bytes. Waiting does not help; storing the same bytes again repairs the asset."""


async def retry_store(work: Callable[[], Awaitable[T]], wait: WaitForStore | None) -> T:
    """Repeat the work while the store is unavailable; without `wait`, raise StoreUnavailable at once.

    Raises BytesMissing at once as well, because waiting does not bring the bytes back.
    """
    while True:
        try:
            return await work()
        except BytesMissing:
            raise
        except StoreUnavailable:
            if wait is None:
                raise
            await wait()


def upload_too_large(cap: int) -> ClientFault:
    return ClientFault("payload_too_large", f"The upload is larger than the limit of {cap} bytes.", {"limit": cap})


def asset_not_found() -> ClientFault:
    """media-04 (RFC 0055 C): one error for assets that do not exist, belong to another tenant, or have a forged URL, so
    that a caller cannot distinguish the cases."""
    return ClientFault("not_found", "There is no such asset.")


class Assets(msgspec.Struct, eq=False):
    """Stores and serves assets. `base` is the URL from which assets are served, without a slash at the end; it is set
    once the host listens."""

    _rows: AssetIndex
    _blobs: Blobs
    _signer: Signer
    _clock: Clock
    _limits: Limits
    base: str
    prefixes: tuple[str, ...]
    """Paths below which assets are served, by their tokens. New URLs have the first one."""
    unconfirmed_keys: list[str] = []
    """Keys of blobs that may have no row in the index; the next sweep checks them."""

    async def put(
        self,
        partition: str,
        pieces: AsyncIterator[bytes] | bytes,
        held_ms: int = DEFAULT_HOLD_MS,
        cap: int | None = None,
        away: WaitForStore | None = None,
    ) -> StoredAsset:
        """Store bytes and hold them for at least `held_ms`. Durable on return. Bytes that the partition already has are
        stored once.

        `away` waits before a retry when the store is unavailable; without it, StoreUnavailable is raised. Raises
        ClientFault for more bytes than `cap`, or beyond the quota of the tenant.
        """
        sink = await self._blobs.sink(partition)
        head = b""
        try:
            async for piece in _chunks_of(pieces):
                if cap is not None and sink.size + len(piece) > cap:
                    raise upload_too_large(cap)
                if len(head) < SNIFF_BYTES:
                    head += piece[: SNIFF_BYTES - len(head)]
                await sink.write(piece)
            blob = await sink.commit()
        finally:
            await sink.discard()
        fault_point("asset.kept")
        return await self._write_row(partition, blob, sniff_media_type(head), held_ms, away)

    async def _write_row(
        self, partition: str, blob: Blob, media_type: str, held_ms: int, away: WaitForStore | None
    ) -> StoredAsset:
        """Write the row of a blob. With `away` it retries while the store is unavailable, because the bytes are stored
        and need not be sent again."""
        while True:
            now = self._clock.now()
            row = StoredAsset(partition, blob.sha256, blob.key, blob.size, media_type, now, now + held_ms)
            try:
                asset = await self._rows.add(row, self._limits.max_asset_bytes_per_tenant)
            except QuotaReached as reached:
                await self._blobs.delete(blob.key)
                text = f"The tenant's assets have reached the limit of {reached.quota} bytes."
                advice = "Delete runs that are not needed and prune assets, or raise `max_asset_bytes_per_tenant`."
                details = {"quota": reached.quota, "used": reached.used}
                raise ClientFault("payload_too_large", f"{text} {advice}", details) from None
            except StoreUnavailable:
                if away is None:
                    self.unconfirmed_keys.append(blob.key)
                    raise
                await away()
                continue
            fault_point("asset.written")
            return asset if asset.key == blob.key else await self._deduplicate(asset, blob)

    async def _deduplicate(self, asset: StoredAsset, blob: Blob) -> StoredAsset:
        """Delete the new blob, because the asset already has these bytes. If the old blob is missing, the asset gets
        the new one instead."""
        source = await self._blobs.source(asset.key)
        if source is None:
            log.warning("missing bytes of an asset restored", extra={"key": asset.key})
            return await self._rows.rekey(asset.partition, asset.sha256, blob.key) or asset
        await source.close()
        await self._blobs.delete(blob.key)
        return asset

    async def find(self, partition: str, ref: object) -> StoredAsset | None:
        """media-04 (RFC 0091): the asset of a mediaRef, if the partition has it."""
        digest = media_ref_digest(ref)
        entry = await self._rows.find(partition, digest) if digest is not None else None
        return entry.asset if entry is not None else None

    async def is_served(self, partition: str, sha256: str) -> bool:
        """Whether a URL without expiry opens this asset: the partition has it, and a run refers to it."""
        entry = await self._rows.find(partition, sha256)
        return entry is not None and entry.runs > 0

    async def hold(self, asset: StoredAsset, held_ms: int = DEFAULT_HOLD_MS) -> StoredAsset | None:
        """Keep an asset from being swept for at least `held_ms`; None if it does not exist any more."""
        return await self._rows.hold(asset.partition, asset.sha256, self._clock.now() + held_ms)

    def url_expiry(self, asset: StoredAsset, held_ms: int) -> int:
        """When a URL for `held_ms` expires: never later than that, even if another caller holds the asset longer."""
        return min(asset.held_until, self._clock.now() + held_ms)

    async def open(self, asset: StoredAsset) -> BlobSource:
        """Open the bytes of an asset. Raises BytesMissing if the blob does not exist, and StoreUnavailable."""
        source = await self._blobs.source(asset.key)
        if source is None:
            log.error("bytes of an asset are missing", extra={"key": asset.key})
            raise BytesMissing("the bytes of an asset are missing")
        return source

    async def read(self, asset: StoredAsset) -> bytes:
        """All bytes of an asset. Callers check its size first, because everything is held in memory."""
        source = await self.open(asset)
        try:
            return b"".join([piece async for piece in source.read(0, source.size)])
        finally:
            await source.close()

    def url(
        self,
        asset: StoredAsset,
        media_type: str,
        run_id: str = "",
        name: str = "",
        expires_at: int | None = None,
        prefix: str | None = None,
    ) -> str:
        """media-03 (RFC 0055 C): an absolute URL that serves the asset until `expires_at`. Without it, the URL is valid
        as long as a run refers to the asset, and equal arguments give equal URLs."""
        token = self.make_token(asset, media_type, run_id, name, expires_at)
        return self.base + (self.prefixes[0] if prefix is None else prefix) + token

    def make_token(
        self, asset: StoredAsset, media_type: str, run_id: str = "", name: str = "", expires_at: int | None = None
    ) -> str:
        kid = self._signer.kid
        token = AssetToken(asset.partition, bytes.fromhex(asset.sha256), run_id, media_type, name, expires_at)
        return encode_asset_token(kid, token, self._signer.sign(ASSET_TOKEN_PURPOSE, signed_bytes(kid, token)))

    async def open_token(self, text: str) -> tuple[AssetToken, StoredAsset]:
        """media-04: the asset of a token. Checks the form, the signature, the expiry and the existence, in this order.

        Raises the same ClientFault for each of them.
        """
        token = self.verify_token(text)
        if token is None or token.is_expired(self._clock.now()):
            raise asset_not_found()
        entry = await self._rows.find(token.partition, token.sha256.hex())
        if entry is None or (token.expires_at is None and not entry.runs):
            raise asset_not_found()
        return token, entry.asset

    def verify_token(self, text: str) -> AssetToken | None:
        """The content of a token, or None if its form or its signature is invalid."""
        parts = decode_asset_token(text)
        if parts is None:
            return None
        token, kid, signature = parts
        return token if self._signer.verify(ASSET_TOKEN_PURPOSE, kid, signed_bytes(kid, token), signature) else None

    async def page(self, partition: str, query: AssetQuery) -> list[AssetEntry]:
        return await self._rows.page(partition, query)

    async def usage(self, partition: str) -> AssetUsage:
        return await self._rows.usage(partition)

    async def quota_used(self, tenant: str) -> int:
        """The bytes that count towards the quota: those of the tenant's test and live keys together."""
        return sum([(await self._rows.usage(partition)).size for partition in partitions_of_tenant(tenant)])


async def _chunks_of(pieces: AsyncIterator[bytes] | bytes) -> AsyncIterator[bytes]:
    if isinstance(pieces, bytes):
        yield pieces
        return
    async for piece in pieces:
        yield piece
        await asyncio.sleep(0)
