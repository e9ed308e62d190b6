"""Routes of assets: served to anyone with a URL, listed for their tenant, and uploaded.

An upload is streamed to the store as it arrives. It is stored as a whole or not at all.
"""

import binascii
import hashlib
import re
from base64 import b64decode
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, Final

from weftwork.adapters.http.asgi import Headers
from weftwork.adapters.http.message import Request, Response, json_response
from weftwork.engine.media.assets import DAY_MS, LISTING_URL_MS, Assets, upload_too_large
from weftwork.ports.clock import Clock
from weftwork.ports.storage.assets import AssetCursor, AssetEntry, AssetQuery, StoredAsset
from weftwork.ports.storage.blobs import BlobSource
from weftwork.protocol.errors import ClientFault, invalid
from weftwork.protocol.limits import Limits
from weftwork.protocol.media.asset_headers import (
    DEFAULT_RESOURCE_POLICY,
    ERROR_HEADERS,
    UNSATISFIABLE,
    ByteRange,
    ResourcePolicy,
    asset_etag,
    asset_headers,
    is_not_modified,
    is_range_current,
    parse_byte_range,
    safe_file_name,
)
from weftwork.protocol.media.asset_references import AssetToken, media_ref
from weftwork.protocol.media.media_types import UNKNOWN_TYPE, resolve_media_type
from weftwork.protocol.timestamps import iso
from weftwork.protocol.wire.route import MAX_PAGE
from weftwork.protocol.wire.v1.assets import ASSET_CURSOR_PATTERN, DIGEST_PATTERN, MAX_UPLOAD_DAYS

DAY_SECONDS: Final = 86_400
"""How long whoever was served an asset may keep a copy: it never changes, but it may be deleted."""
_CURSOR: Final = re.compile(ASSET_CURSOR_PATTERN[1:-1])
MAX_CONCURRENT_UPLOADS: Final = 16
"""Uploads of one tenant that are under way at the same time: what they have sent so far is counted nowhere else."""
RETRY_SECONDS: Final = 1
UNSPECIFIC_TYPES: Final = frozenset({"", UNKNOWN_TYPE, "application/x-www-form-urlencoded"})
"""Media types that say nothing; the last one is what some programs send unasked."""
_HEX: Final = re.compile(DIGEST_PATTERN[1:-1])
_ITEM: Final = re.compile(r"\s*([a-z0-9*_.-]+)=:([A-Za-z0-9+/=]*):\s*")


class AssetRoutes:
    """getAsset, getSampleAsset, listAssets."""

    def __init__(
        self, assets: Assets, clock: Clock, limits: Limits, reach: ResourcePolicy = DEFAULT_RESOURCE_POLICY
    ) -> None:
        self._assets = assets
        self._clock = clock
        self._limits = limits
        self._reach: ResourcePolicy = reach

    async def serve(self, request: Request) -> Response | None:
        """media-30 (RFC 0055 C): the token is all that is asked for."""
        token, asset = await self._assets.open_token(request.params["token"])
        tag = asset_etag(asset.sha256)
        headers = asset_headers(token.media_type, token.name, asset.sha256, self._max_age(token), self._reach)
        if is_not_modified(request.header(b"if-none-match"), tag):
            return Response(304, b"", headers)
        only_head = request.scope["method"] == "HEAD"
        # A range is asked for with GET alone.
        counts = not only_head and is_range_current(request.header(b"if-range"), tag)
        part = parse_byte_range(request.header(b"range"), asset.size) if counts else None
        if part is not None and part == UNSATISFIABLE:
            said = [(b"content-range", part.content_range(asset.size)), (b"etag", tag.encode())]
            return Response(416, b"", [*ERROR_HEADERS, (b"accept-ranges", b"bytes"), *said], b"text/plain")
        if part is not None:
            headers.append((b"content-range", part.content_range(asset.size)))
        whole = ByteRange(0, asset.size)
        headers.append((b"traceparent", request.traceparent.encode()))
        await self._send(request, asset, headers, 200 if part is None else 206, part or whole, only_head)
        return None

    async def _send(
        self, request: Request, asset: StoredAsset, headers: Headers, status: int, part: ByteRange, only_head: bool
    ) -> None:
        """media-31 (host): at the pace of the client, whole or broken off; the bytes are let go of in every case."""
        source = await self._assets.open(asset)
        try:
            length = part.stop - part.start
            await request.writer.start(status, [*headers, (b"content-length", b"%d" % length)])
            if not only_head:
                await request.run_until_disconnect(_stream_bytes(request, source, part.start, length))
            await request.writer.write(b"")
        finally:
            await source.close()

    def _max_age(self, token: AssetToken) -> int:
        if token.expires_at is None:
            return DAY_SECONDS
        return min(DAY_SECONDS, max(0, token.expires_at - self._clock.now()) // 1000)

    async def list_assets(self, request: Request) -> Response:
        """media-36 (host): of the caller's tenant alone; another's run or cursor is one that is not there."""
        limit = request.query_integer("limit", 1, MAX_PAGE, 50)
        run_id = request.query_id("runId", "runId must be the id of a run.")
        after = _parse_cursor(request.query("cursor"))
        partition = request.caller.partition
        found = await self._assets.page(partition, AssetQuery(run_id, after, limit + 1))
        usage = await self._assets.usage(partition)
        used: dict[str, int] = {"assets": usage.count, "bytes": usage.size}
        if self._limits.max_asset_bytes_per_tenant:
            used["quota"] = self._limits.max_asset_bytes_per_tenant
        document: dict[str, Any] = {"assets": [self._describe(each) for each in found[:limit]], "usage": used}
        if len(found) > limit:
            last = found[limit - 1].asset.cursor
            document["nextCursor"] = f"{last.created_at}.{last.sha256}"
        return json_response(200, document)

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


class AssetUploadRoute:
    """uploadAsset."""

    def __init__(self, assets: Assets, limits: Limits) -> None:
        self._assets = assets
        self._limits = limits
        self._active_uploads: Counter[str] = Counter()

    async def upload(self, request: Request) -> Response:
        """media-33 (host): refused by its declared length before it is read, or where it passes the cap."""
        request.check_encoding()
        if _content_type(request) == "multipart/form-data":
            # What a form wraps around a file would become part of the asset, and nobody means that.
            raise ClientFault("unsupported_media_type", "Send the bytes themselves, not a form: --data-binary @FILE.")
        request.max_body_bytes = self._limits.max_upload_bytes
        days = request.query_integer("days", 1, MAX_UPLOAD_DAYS, self._limits.upload_days)
        name = safe_file_name(request.query("name") or "")
        expected = _expected_digests(request)
        declared = request.headers.get(b"content-length")
        if declared is not None and int(declared) > request.max_body_bytes:
            raise upload_too_large(request.max_body_bytes)
        partition = request.caller.partition
        if self._active_uploads[partition] >= MAX_CONCURRENT_UPLOADS:
            message = f"The tenant has {MAX_CONCURRENT_UPLOADS} uploads under way."
            raise ClientFault("rate_limited", message, {"retryAfter": RETRY_SECONDS})
        self._active_uploads[partition] += 1
        try:
            async with aclosing(_verified_chunks(request, expected)) as pieces:
                asset = await self._assets.put(partition, pieces, days * DAY_MS, request.max_body_bytes)
        finally:
            self._active_uploads[partition] -= 1
            if not self._active_uploads[partition]:
                del self._active_uploads[partition]
        media_type = resolve_media_type(_declared_type(request), asset.media_type)
        until = self._assets.url_expiry(asset, days * DAY_MS)
        url = self._assets.url(asset, media_type, name=name, expires_at=until)
        document: dict[str, Any] = {
            "mediaRef": media_ref(asset.sha256),
            "url": url,
            "bytes": asset.size,
            "mimeType": media_type,
            "sha256": asset.sha256,
            "expiresAt": iso(until),
        }
        if name:
            document["name"] = name
        return json_response(201, document, [(b"location", url.encode())])


def _parse_cursor(cursor: str | None) -> AssetCursor | None:
    if cursor is None:
        return None
    if _CURSOR.fullmatch(cursor) is None:
        raise invalid("cursor must be the nextCursor of a page.", parameter="cursor")
    created_at, _, sha256 = cursor.partition(".")
    return AssetCursor(int(created_at), sha256)


async def _stream_bytes(request: Request, source: BlobSource, start: int, length: int) -> None:
    async with aclosing(source.read(start, length)) as pieces:
        async for piece in pieces:
            await request.writer.write_part(piece)


async def _verified_chunks(request: Request, expected: set[str]) -> AsyncGenerator[bytes, None]:
    """media-34 (RFC 9530): the body; ends with a fault, so that nothing is kept, if it is not what was promised."""
    seen = hashlib.sha256()
    size = 0
    async with aclosing(request.body_chunks()) as pieces:
        async for piece in pieces:
            size += len(piece)
            if expected:
                seen.update(piece)
            yield piece
    if not size:
        raise invalid("The body is empty: send the bytes of the asset.")
    if expected and expected != {seen.hexdigest()}:
        raise invalid("The bytes that came are not those of the given digest; send them again.")


def _expected_digests(request: Request) -> set[str]:
    """The digests that the caller has given, in hexadecimal digits."""
    found: set[str] = set()
    given = request.query("sha256")
    if given is not None:
        if _HEX.fullmatch(given) is None:
            raise invalid("sha256 takes 64 hexadecimal digits in lower case.", parameter="sha256")
        found.add(given)
    lines = [value.decode("latin-1") for name, value in request.scope["headers"] if name == b"content-digest"]
    for item in ",".join(lines).split(",") if lines else ():
        found |= _parse_digest(item)
    return found


def _parse_digest(item: str) -> set[str]:
    """Of one member of a Content-Digest; those of other algorithms say nothing here."""
    parts = _ITEM.fullmatch(item)
    try:
        digest = b64decode(parts[2], validate=True) if parts is not None else b""
    except binascii.Error:
        digest = b""
    if parts is None or (parts[1] == "sha-256" and len(digest) != 32):
        raise invalid("Content-Digest has the form sha-256=:BASE64:", parameter="Content-Digest")
    return {digest.hex()} if parts[1] == "sha-256" else set()


def _content_type(request: Request) -> str:
    """The media type that the caller has given, without parameters."""
    return request.headers.get(b"content-type", b"").split(b";")[0].strip().lower().decode("latin-1")


def _declared_type(request: Request) -> str:
    """The same; empty if it says nothing."""
    said = _content_type(request)
    return "" if said in UNSPECIFIC_TYPES else said
