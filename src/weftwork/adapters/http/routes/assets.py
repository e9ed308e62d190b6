"""Routes of assets: serve to anyone with a URL, list for a tenant, and upload.

An upload is streamed to the store as it arrives. It is stored completely or not at all.
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
"""Media types that are ignored. The last one is the default of some clients, such as `curl --data-binary`."""
_HEX: Final = re.compile(DIGEST_PATTERN[1:-1])
_ITEM: Final = re.compile(r"\s*([a-z0-9*_.-]+)=:([A-Za-z0-9+/=]*):\s*")


class AssetRoutes:
    """getAsset, getSampleAsset, listAssets, uploadAsset."""

    def __init__(
        self, assets: TenantAssets, limits: Limits, resource_policy: ResourcePolicy = DEFAULT_RESOURCE_POLICY
    ) -> None:
        self._assets = assets
        self._limits = limits
        self._resource_policy: ResourcePolicy = resource_policy

    async def serve(self, request: Request) -> Response | None:
        """media-30 (RFC 0055 C): the token is the only authentication."""
        download = await self._assets.find(request.params["token"])
        sha256, size = download.asset.sha256, download.asset.size
        tag = asset_etag(sha256)
        headers = asset_headers(download.media_type, download.name, sha256, download.max_age, self._resource_policy)
        if is_not_modified(request.header(b"if-none-match"), tag):
            return Response(304, b"", headers)
        only_head = request.scope["method"] == "HEAD"
        # RFC 9110, section 14.2: Range is defined for GET only.
        uses_range = not only_head and is_range_current(request.header(b"if-range"), tag)
        part = parse_byte_range(request.header(b"range"), size) if uses_range else None
        if part is not None and part == UNSATISFIABLE:
            extra = [(b"content-range", part.content_range(size)), (b"etag", tag.encode())]
            return Response(416, b"", [*ERROR_HEADERS, (b"accept-ranges", b"bytes"), *extra], b"text/plain")
        if part is not None:
            headers.append((b"content-range", part.content_range(size)))
        headers.append((b"traceparent", request.traceparent.encode()))
        status = 200 if part is None else 206
        await self._send(request, download, headers, status, part or ByteRange(0, size), only_head)
        return None

    async def _send(
        self, request: Request, download: Download, headers: Headers, status: int, part: ByteRange, only_head: bool
    ) -> None:
        """media-31 (host): sent at the client's pace, completely or aborted. The source is always closed."""
        source = await self._assets.open(download)
        try:
            length = part.stop - part.start
            await request.writer.start(status, [*headers, (b"content-length", b"%d" % length)])
            if not only_head:
                await request.run_until_disconnect(_stream_bytes(request, source, part.start, length))
            await request.writer.write(b"")
        finally:
            await source.close()

    async def list_assets(self, request: Request) -> Response:
        """media-36 (host): assets of the caller's tenant. Runs of other tenants do not exist for the caller."""
        limit = request.query_integer("limit", 1, MAX_PAGE, 50)
        run_id = request.query_id("runId", "runId must be the id of a run.")
        created_at, _, sha256 = (request.cursor(_CURSOR.fullmatch) or "").partition(".")
        after = AssetCursor(int(created_at), sha256) if created_at else None
        return json_response(200, await self._assets.list(request.caller, run_id, after, limit))

    async def upload(self, request: Request) -> Response:
        """media-33 (host): refused by its Content-Length before it is read, or when it passes the limit."""
        request.check_encoding()
        media_type = _content_type(request)
        if media_type == "multipart/form-data":
            # The boundaries and part headers of the form would become part of the asset.
            message = "Send the bytes of the file as the body, not a form. With curl: --data-binary @FILE, not -F."
            raise ClientFault("unsupported_media_type", message)
        request.max_body_bytes = self._limits.max_upload_bytes
        days = request.query_integer("days", 1, MAX_UPLOAD_DAYS, self._limits.upload_days)
        name = safe_file_name(request.query("name") or "")
        expected = _expected_digests(request)
        self._assets.check_upload_size(int(request.headers.get(b"content-length", b"0")))
        declared_type = "" if media_type in UNSPECIFIC_TYPES else media_type
        async with aclosing(_verified_chunks(request, expected)) as chunks:
            document = await self._assets.upload(request.caller, chunks, declared_type, name, days)
        return json_response(201, document, [(b"location", document["url"].encode())])


async def _stream_bytes(request: Request, source: BlobSource, start: int, length: int) -> None:
    async with aclosing(source.read(start, length)) as chunks:
        async for chunk in chunks:
            await request.writer.write_part(chunk)


def _content_type(request: Request) -> str:
    return request.headers.get(b"content-type", b"").split(b";")[0].strip().lower().decode("latin-1")


async def _verified_chunks(request: Request, expected: set[str]) -> AsyncGenerator[bytes, None]:
    """media-34 (RFC 9530): the body. Raises ClientFault at its end if it does not have the expected digest.

    The store keeps an upload only if its chunks end normally, so nothing is stored then.
    """
    actual = hashlib.sha256()
    size = 0
    async with aclosing(request.body_chunks()) as chunks:
        async for chunk in chunks:
            size += len(chunk)
            if expected:
                actual.update(chunk)
            yield chunk
    if not size:
        raise invalid("The body is empty. Send the bytes of the asset.")
    if expected and expected != {actual.hexdigest()}:
        raise invalid("The body does not have the expected SHA-256 digest. Send it again.")


def _expected_digests(request: Request) -> set[str]:
    """The digests in the query and in Content-Digest headers, as hexadecimal digits."""
    digests: set[str] = set()
    sha256 = request.query("sha256")
    if sha256 is not None:
        if _HEX.fullmatch(sha256) is None:
            raise invalid("sha256 must be 64 lowercase hexadecimal digits.", parameter="sha256")
        digests.add(sha256)
    lines = [value.decode("latin-1") for name, value in request.scope["headers"] if name == b"content-digest"]
    for item in ",".join(lines).split(",") if lines else ():
        digests |= _parse_digest(item)
    return digests


def _parse_digest(item: str) -> set[str]:
    """The SHA-256 digest in one member of a Content-Digest; empty for other algorithms. Raises ClientFault."""
    parts = _ITEM.fullmatch(item)
    try:
        digest = b64decode(parts[2], validate=True) if parts is not None else b""
    except binascii.Error:
        digest = b""
    if parts is None or (parts[1] == "sha-256" and len(digest) != 32):
        raise invalid("Content-Digest must have the form sha-256=:BASE64:", parameter="Content-Digest")
    return {digest.hex()} if parts[1] == "sha-256" else set()
