"""Routes for reviewing runs: annotations, the difference of two runs, and debug bundles, which are streamed."""

from typing import Final

from weftwork.adapters.http.message import JSON, Request, Response, json_response, replay_headers
from weftwork.engine.api.annotations import Annotations
from weftwork.engine.api.review import Bundles, BundleStream, RunDiffs
from weftwork.protocol.errors import invalid
from weftwork.protocol.review.annotations import MAX_ANNOTATIONS
from weftwork.protocol.wire.route import MAX_CURSOR
from weftwork.protocol.wire.v1.paths import path_for

_HEADERS: Final = [(b"content-type", JSON), (b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff")]


class ReviewRoutes:
    """createAnnotation, listAnnotations, diffRun."""

    def __init__(self, annotations: Annotations, run_diffs: RunDiffs) -> None:
        self._annotations = annotations
        self._run_diffs = run_diffs

    async def create_annotation(self, request: Request) -> Response:
        run_id = request.params["runId"]
        document = await request.json()
        said = await self._annotations.create(request.caller, run_id, document, request.idempotency_key)
        place = (b"location", path_for("listAnnotations", runId=run_id).encode())
        return Response(201, said.document, [*replay_headers(said.replayed), place])

    async def list_annotations(self, request: Request) -> Response:
        limit = request.query_integer("limit", 1, MAX_ANNOTATIONS, MAX_ANNOTATIONS)
        page = await self._annotations.page(request.caller, request.params["runId"], request.cursor(), limit)
        listed = b",".join([each.document for each in page.annotations])
        following = b',"nextCursor":"%b"' % page.annotations[-1].annotation_id.encode() if page.more else b""
        return Response(200, b'{"annotations":[%b]%b}' % (listed, following))

    async def diff_run(self, request: Request) -> Response:
        against = request.query_id("against", "against must be the id of a run.")
        if against is None:
            raise invalid("against must name the run to compare with.", parameter="against")
        return json_response(200, await self._run_diffs.compare(request.caller, request.params["runId"], against))


class BundleRoutes:
    """getDebugBundle."""

    def __init__(self, bundles: Bundles) -> None:
        self._bundles = bundles

    async def get_bundle(self, request: Request) -> Response | None:
        """bundle-05: nothing is sent before the run is found; from then on the document is whole, or broken off."""
        given = request.query("maxEvents")
        most = request.query_integer("maxEvents", 1, MAX_CURSOR, MAX_CURSOR) if given is not None else None
        pieces = await self._bundles.open(request.caller, request.params["runId"], most)
        await request.writer.start(200, [*_HEADERS, (b"traceparent", request.traceparent.encode())])
        if request.scope["method"] != "HEAD":
            await request.run_until_disconnect(_stream_chunks(request, pieces))
        await request.writer.write(b"")
        return None


async def _stream_chunks(request: Request, pieces: BundleStream) -> None:
    while (piece := await pieces.next_chunk()) is not None:
        # An empty piece says nothing: the next one may end the document.
        if piece:
            await request.writer.write_part(piece)
