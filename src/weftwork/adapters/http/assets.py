"""The routes of assets that are there: served to whoever has a URL, listed for their tenant."""

import re
from contextlib import aclosing
from typing import Any, Final

from weftwork.adapters.http.asgi import Headers
from weftwork.adapters.http.message import Request, Response, json_response
from weftwork.engine.assets import SHOWN_MS, Assets
from weftwork.ports.assets import Asset, AssetPlace, AssetQuery, FoundAsset
from weftwork.ports.blobs import BlobSource
from weftwork.ports.clock import Clock
from weftwork.protocol.errors import invalid
from weftwork.protocol.limits import Limits
from weftwork.protocol.media.asset_headers import NEAR, REFUSED_HEADERS, Reach, asset_headers
from weftwork.protocol.media.byte_range import UNSATISFIABLE, ByteRange, byte_range, etag, has_already, still_holds
from weftwork.protocol.media.reference import media_ref
from weftwork.protocol.media.token import AssetToken
from weftwork.protocol.route import MAX_PAGE
from weftwork.protocol.timestamp import iso
from weftwork.protocol.wire_v1_assets import CURSOR

DAY_SECONDS: Final = 86_400
"""How long whoever was served an asset may keep a copy: it never changes, but it may be deleted."""

_CURSOR: Final = re.compile(CURSOR[1:-1])


class AssetRoutes:
    """getAsset, getSampleAsset, listAssets."""

    def __init__(self, assets: Assets, clock: Clock, limits: Limits, reach: Reach = NEAR) -> None:
        self._assets = assets
        self._clock = clock
        self._limits = limits
        self._reach: Reach = reach

    async def serve(self, request: Request) -> Response | None:
        """media-30 (RFC 0055 C): the token is all that is asked for."""
        token, asset = await self._assets.opened(request.params["token"])
        tag = etag(asset.sha256)
        headers = asset_headers(token.media_type, token.name, asset.sha256, self._max_age(token), self._reach)
        if has_already(request.header(b"if-none-match"), tag):
            return Response(304, b"", headers)
        only_head = request.scope["method"] == "HEAD"
        # A range is asked for with GET alone.
        counts = not only_head and still_holds(request.header(b"if-range"), tag)
        part = byte_range(request.header(b"range"), asset.size) if counts else None
        if part is not None and part == UNSATISFIABLE:
            said = [(b"content-range", part.content_range(asset.size)), (b"etag", tag.encode())]
            return Response(416, b"", [*REFUSED_HEADERS, (b"accept-ranges", b"bytes"), *said], b"text/plain")
        if part is not None:
            headers.append((b"content-range", part.content_range(asset.size)))
        whole = ByteRange(0, asset.size)
        headers.append((b"traceparent", request.traceparent.encode()))
        await self._send(request, asset, headers, 200 if part is None else 206, part or whole, only_head)
        return None

    async def _send(
        self, request: Request, asset: Asset, headers: Headers, status: int, part: ByteRange, only_head: bool
    ) -> None:
        """media-31 (host): at the pace of the client, whole or broken off; the bytes are let go of in every case."""
        source = await self._assets.source(asset)
        try:
            length = part.stop - part.start
            await request.out.start(status, [*headers, (b"content-length", b"%d" % length)])
            if not only_head:
                await request.while_there(_write(request, source, part.start, length))
            await request.out.write(b"")
        finally:
            await source.close()

    def _max_age(self, token: AssetToken) -> int:
        if token.expires_at is None:
            return DAY_SECONDS
        return min(DAY_SECONDS, max(0, token.expires_at - self._clock.now()) // 1000)

    async def list_assets(self, request: Request) -> Response:
        """media-36 (host): of the caller's tenant alone; another's run or cursor is one that is not there."""
        limit = request.integer("limit", 1, MAX_PAGE, 50)
        run_id = request.path_id("runId", "runId must be the id of a run.")
        after = _place(request.query("cursor"))
        partition = request.caller.partition
        found = await self._assets.page(partition, AssetQuery(run_id, after, limit + 1))
        usage = await self._assets.usage(partition)
        used: dict[str, int] = {"assets": usage.count, "bytes": usage.size}
        if self._limits.max_asset_bytes_per_tenant:
            used["quota"] = self._limits.max_asset_bytes_per_tenant
        document: dict[str, Any] = {"assets": [self._shown(each) for each in found[:limit]], "usage": used}
        if len(found) > limit:
            last = found[limit - 1].asset.place
            document["nextCursor"] = f"{last.created_at}.{last.sha256}"
        return json_response(200, document)

    def _shown(self, found: FoundAsset) -> dict[str, Any]:
        asset = found.asset
        return {
            "mediaRef": media_ref(asset.sha256),
            "bytes": asset.size,
            "mimeType": asset.media_type,
            "createdAt": iso(asset.created_at),
            "heldUntil": iso(asset.held_until),
            "runs": found.runs,
            "url": self._assets.url(asset, asset.media_type, expires_at=self._clock.now() + SHOWN_MS),
        }


def _place(cursor: str | None) -> AssetPlace | None:
    if cursor is None:
        return None
    if _CURSOR.fullmatch(cursor) is None:
        raise invalid("cursor must be the nextCursor of a page.", parameter="cursor")
    created_at, _, sha256 = cursor.partition(".")
    return AssetPlace(int(created_at), sha256)


async def _write(request: Request, source: BlobSource, start: int, length: int) -> None:
    async with aclosing(source.read(start, length)) as pieces:
        async for piece in pieces:
            await request.out.part(piece)
