"""The route by which assets come in: the body goes to the store as it arrives, and is whole there or not at all."""

import binascii
import hashlib
import re
from base64 import b64decode
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, Final

from weftwork.adapters.http.message import Request, Response, json_response
from weftwork.engine.assets import DAY_MS, Assets, too_many_bytes
from weftwork.protocol.errors import ClientFault, invalid
from weftwork.protocol.limits import Limits
from weftwork.protocol.media.disposition import clean_name
from weftwork.protocol.media.reference import media_ref
from weftwork.protocol.media.sniff import UNKNOWN, settled
from weftwork.protocol.timestamp import iso
from weftwork.protocol.wire_v1_assets import DIGEST, MAX_DAYS

AT_ONCE: Final = 16
"""Uploads of one tenant that are under way at the same time: what they have sent so far is counted nowhere else."""
RETRY_SECONDS: Final = 1
UNSAID: Final = frozenset({"", UNKNOWN, "application/x-www-form-urlencoded"})
"""Media types that say nothing; the last one is what some programs send unasked."""

_HEX: Final = re.compile(DIGEST[1:-1])
_ITEM: Final = re.compile(r"\s*([a-z0-9*_.-]+)=:([A-Za-z0-9+/=]*):\s*")


class AssetUpload:
    """uploadAsset."""

    def __init__(self, assets: Assets, limits: Limits) -> None:
        self._assets = assets
        self._limits = limits
        self._busy: Counter[str] = Counter()

    async def upload(self, request: Request) -> Response:
        """media-33 (host): refused by its declared length before it is read, or where it passes the cap."""
        request.check_encoding()
        if _said(request) == "multipart/form-data":
            # What a form wraps around a file would become part of the asset, and nobody means that.
            raise ClientFault("unsupported_media_type", "Send the bytes themselves, not a form: --data-binary @FILE.")
        request.cap = self._limits.max_upload_bytes
        days = request.integer("days", 1, MAX_DAYS, self._limits.upload_days)
        name = clean_name(request.query("name") or "")
        expected = _expected(request)
        declared = request.headers.get(b"content-length")
        if declared is not None and int(declared) > request.cap:
            raise too_many_bytes(request.cap)
        partition = request.caller.partition
        if self._busy[partition] >= AT_ONCE:
            message = f"The tenant has {AT_ONCE} uploads under way."
            raise ClientFault("rate_limited", message, {"retryAfter": RETRY_SECONDS})
        self._busy[partition] += 1
        try:
            async with aclosing(_checked(request, expected)) as pieces:
                asset = await self._assets.take(partition, pieces, days * DAY_MS, request.cap)
        finally:
            self._busy[partition] -= 1
            if not self._busy[partition]:
                del self._busy[partition]
        media_type = settled(_declared(request), asset.media_type)
        until = self._assets.until(asset, days * DAY_MS)
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


async def _checked(request: Request, expected: set[str]) -> AsyncGenerator[bytes, None]:
    """media-34 (RFC 9530): the body; ends with a fault, so that nothing is kept, if it is not what was promised."""
    seen = hashlib.sha256()
    size = 0
    async with aclosing(request.pieces()) as pieces:
        async for piece in pieces:
            size += len(piece)
            if expected:
                seen.update(piece)
            yield piece
    if not size:
        raise invalid("The body is empty: send the bytes of the asset.")
    if expected and expected != {seen.hexdigest()}:
        raise invalid("The bytes that came are not those of the given digest; send them again.")


def _expected(request: Request) -> set[str]:
    """The digests that the caller has given, in hexadecimal digits."""
    found: set[str] = set()
    given = request.query("sha256")
    if given is not None:
        if _HEX.fullmatch(given) is None:
            raise invalid("sha256 takes 64 hexadecimal digits in lower case.", parameter="sha256")
        found.add(given)
    lines = [value.decode("latin-1") for name, value in request.scope["headers"] if name == b"content-digest"]
    for item in ",".join(lines).split(",") if lines else ():
        found |= _sha256(item)
    return found


def _sha256(item: str) -> set[str]:
    """Of one member of a Content-Digest; those of other algorithms say nothing here."""
    parts = _ITEM.fullmatch(item)
    try:
        digest = b64decode(parts[2], validate=True) if parts is not None else b""
    except binascii.Error:
        digest = b""
    if parts is None or (parts[1] == "sha-256" and len(digest) != 32):
        raise invalid("Content-Digest has the form sha-256=:BASE64:", parameter="Content-Digest")
    return {digest.hex()} if parts[1] == "sha-256" else set()


def _said(request: Request) -> str:
    """The media type that the caller has given, without parameters."""
    return request.headers.get(b"content-type", b"").split(b";")[0].strip().lower().decode("latin-1")


def _declared(request: Request) -> str:
    """The same; empty if it says nothing."""
    said = _said(request)
    return "" if said in UNSAID else said
