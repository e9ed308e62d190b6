"""Routes about the host itself: discovery, OpenAPI, health, readiness."""

from collections.abc import Callable
from typing import Any

import msgspec

from weftwork.adapters.http.faults import shutting_down
from weftwork.adapters.http.message import JSON, Request, Response, json_response
from weftwork.engine.service import Service
from weftwork.protocol.capabilities import etag

_PUBLIC = (b"cache-control", b"public, max-age=300")


class Document:
    """A document that does not change while the host runs, with its validator."""

    def __init__(self, content: dict[str, Any], *extra: bytes, content_type: bytes = JSON) -> None:
        self._body = msgspec.json.encode(content)
        self._content_type = content_type
        self._etag = etag(self._body).encode()
        self._headers = [_PUBLIC, (b"etag", self._etag), *((name, self._etag) for name in extra)]

    async def serve(self, request: Request) -> Response:
        wanted = {tag.strip().removeprefix(b"W/") for tag in request.headers.get(b"if-none-match", b"").split(b",")}
        if self._etag in wanted or b"*" in wanted:
            return Response(304, b"", list(self._headers))
        return Response(200, self._body, list(self._headers), self._content_type)


class MetaRoutes:
    """getHealth, getReadiness."""

    def __init__(self, service: Service, draining: Callable[[], bool]) -> None:
        self._service = service
        self._draining = draining

    async def health(self, request: Request) -> Response:
        return json_response(200, {"status": "ok"})

    async def readiness(self, request: Request) -> Response:
        if self._draining():
            raise shutting_down()
        await self._service.ready()
        return json_response(200, {"status": "ready"})
