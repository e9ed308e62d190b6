"""The route of debug bundles: one document, written while it is made."""

from typing import Final

from weftwork.adapters.http.message import JSON, Request, Response
from weftwork.engine.bundle import Bundles, Pieces
from weftwork.protocol.route import MAX_CURSOR

_HEADERS: Final = [
    (b"content-type", JSON),
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
]


class BundleRoutes:
    """getDebugBundle."""

    def __init__(self, bundles: Bundles) -> None:
        self._bundles = bundles

    async def get_bundle(self, request: Request) -> Response | None:
        """bundle-05: nothing is sent before the run is found; from then on the document is whole, or broken off."""
        given = request.query("maxEvents")
        most = request.integer("maxEvents", 1, MAX_CURSOR, MAX_CURSOR) if given is not None else None
        pieces = await self._bundles.begin(request.caller, request.params["runId"], most)
        await request.out.start(200, [*_HEADERS, (b"traceparent", request.traceparent.encode())])
        if request.scope["method"] != "HEAD":
            await request.while_there(_write(request, pieces))
        await request.out.write(b"")
        return None


async def _write(request: Request, pieces: Pieces) -> None:
    while (piece := await pieces.next()) is not None:
        # An empty piece says nothing: the next one may end the document.
        if piece:
            await request.out.part(piece)
