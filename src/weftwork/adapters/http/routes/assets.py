"""Routes of assets: served to anyone with a URL, listed for their tenant, and uploaded.

An upload is streamed to the store as it arrives. It is stored as a whole or not at all.
"""

import binascii
import hashlib
import re
from base64 import b64decode
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final

from weftwork.adapters.http.asgi import Headers
from weftwork.adapters.http.message import Request, Response, json_response
from weftwork.engine.api.assets import Download, TenantAssets
from weftwork.ports.storage.assets import AssetCursor
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
from weftwork.protocol.media.media_types import UNKNOWN_TYPE
from weftwork.protocol.wire.route import MAX_PAGE
from weftwork.protocol.wire.v1.assets import ASSET_CURSOR_PATTERN, DIGEST_PATTERN, MAX_UPLOAD_DAYS

_CURSOR: Final = re.compile(ASSET_CURSOR_PATTERN[1:-1])
UNSPECIFIC_TYPES: Final = frozenset({"", UNKNOWN_TYPE, "application/x-www-form-urlencoded"})
"""Media types that say nothing; the last one is what some programs send unasked."""
_HEX: Final = re.compile(DIGEST_PATTERN[1:-1])
_ITEM: Final = re.compile(r"\s*([a-z0-9*_.-]+)=:([A-Za-z0-9+/=]*):\s*")


class AssetRoutes:
    """getAsset, getSampleAsset, listAssets, uploadAsset."""

    def __init__(self, assets: TenantAssets, limits: Limits, reach: ResourcePolicy = DEFAULT_RESOURCE_POLICY) -> None:
        self._assets = assets
        self._limits = limits
        self._reach: ResourcePolicy = reach

    async def serve(self, request: Request) -> Response | None:
        """media-30 (RFC 0055 C): the token is all that is asked for."""
        found = await self._assets.find(request.params["token"])
        sha256, size = found.asset.sha256, found.asset.size
        tag = asset_etag(sha256)
        headers = asset_headers(found.media_type, found.name, sha256, found.max_age, self._reach)
        if is_not_modified(request.header(b"if-none-match"), tag):
            return Response(304, b"", headers)
        only_head = request.scope["method"] == "HEAD"
        # A range is asked for with GET alone.
        counts = not only_head and is_range_current(request.header(b"if-range"), tag)
        part = parse_byte_range(request.header(b"range"), size) if counts else None
        if part is not None and part == UNSATISFIABLE:
            said = [(b"content-range", part.content_range(size)), (b"etag", tag.encode())]
            return Response(416, b"", [*ERROR_HEADERS, (b"accept-ranges", b"bytes"), *said], b"text/plain")
        if part is not None:
            headers.append((b"content-range", part.content_range(size)))
        headers.append((b"traceparent", request.traceparent.encode()))
        await self._send(request, found, headers, 200 if part is None else 206, part or ByteRange(0, size), only_head)
        return None

    async def _send(
        self, request: Request, found: Download, headers: Headers, status: int, part: ByteRange, only_head: bool
    ) -> None:
        """media-31 (host): at the pace of the client, whole or broken off; the bytes are let go of in every case."""
        source = await self._assets.open(found)
        try:
            length = part.stop - part.start
            await request.writer.start(status, [*headers, (b"content-length", b"%d" % length)])
            if not only_head:
                await request.run_until_disconnect(_stream_bytes(request, source, part.start, length))
            await request.writer.write(b"")
        finally:
            await source.close()

    async def list_assets(self, request: Request) -> Response:
        """media-36 (host): of the caller's tenant alone; another's run or cursor is one that is not there."""
        limit = request.query_integer("limit", 1, MAX_PAGE, 50)
        run_id = request.query_id("runId", "runId must be the id of a run.")
        created_at, _, sha256 = (request.cursor(_CURSOR.fullmatch) or "").partition(".")
        after = AssetCursor(int(created_at), sha256) if created_at else None
        return json_response(200, await self._assets.list(request.caller, run_id, after, limit))

    async def upload(self, request: Request) -> Response:
        """media-33 (host): refused by its declared length before it is read, or where it passes the cap."""
        request.check_encoding()
        said = _content_type(request)
        if said == "multipart/form-data":
            # What a form wraps around a file would become part of the asset, and nobody means that.
            raise ClientFault("unsupported_media_type", "Send the bytes themselves, not a form: --data-binary @FILE.")
        request.max_body_bytes = self._limits.max_upload_bytes
        days = request.query_integer("days", 1, MAX_UPLOAD_DAYS, self._limits.upload_days)
        name = safe_file_name(request.query("name") or "")
        expected = _expected_digests(request)
        self._assets.check_upload_size(int(request.headers.get(b"content-length", b"0")))
        async with aclosing(_verified_chunks(request, expected)) as pieces:
            document = await self._assets.upload(
                request.caller, pieces, "" if said in UNSPECIFIC_TYPES else said, name, days
            )
        return json_response(201, document, [(b"location", document["url"].encode())])


async def _stream_bytes(request: Request, source: BlobSource, start: int, length: int) -> None:
    async with aclosing(source.read(start, length)) as pieces:
        async for piece in pieces:
            await request.writer.write_part(piece)


def _content_type(request: Request) -> str:
    return request.headers.get(b"content-type", b"").split(b";")[0].strip().lower().decode("latin-1")


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
