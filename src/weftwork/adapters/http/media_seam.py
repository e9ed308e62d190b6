"""The seam that keeps bytes for a while, as the conformance suite asks for it."""

from base64 import b64decode
from typing import Final

from weftwork.adapters.http.message import Request, Response, json_response
from weftwork.engine.assets import Assets
from weftwork.protocol import schema
from weftwork.protocol.errors import invalid
from weftwork.protocol.limits import Limits
from weftwork.protocol.media.reference import SAMPLE_ASSETS
from weftwork.protocol.media.sniff import settled
from weftwork.protocol.timestamp import iso

TTL_SECONDS: Final = 3_600


class MediaSeam:
    """putMedia."""

    def __init__(self, assets: Assets, limits: Limits) -> None:
        self._assets = assets
        self._limits = limits

    async def put(self, request: Request) -> Response:
        """media-38 (conformance seam): the URL has the path that the suite looks for, and ends with the time given."""
        document = await request.document()
        schema.require("media-put", document)
        try:
            data = b64decode(document["contentBase64"], validate=True)
        except ValueError:
            raise invalid("contentBase64 is no base64.", "/contentBase64") from None
        # A whole number may be written with a fraction of zero.
        held_ms = int(document.get("ttlSeconds", TTL_SECONDS)) * 1000
        asset = await self._assets.take(request.caller.partition, data, held_ms, self._limits.max_upload_bytes)
        media_type = settled(document["contentType"].split(";")[0].strip().lower(), asset.media_type)
        until = self._assets.until(asset, held_ms)
        token = self._assets.token(asset, media_type, expires_at=until)
        url = self._assets.base + SAMPLE_ASSETS + token
        answer = {"url": url, "bytes": asset.size, "token": token, "expiresAt": iso(until)}
        return json_response(201, answer, [(b"location", url.encode())])
