"""Routes that look back at runs: annotations, and how two runs differ."""

from weftwork.adapters.http.message import Request, Response, json_response, replay_headers
from weftwork.engine.annotations import Annotations
from weftwork.engine.comparison import Comparison
from weftwork.protocol.annotation import MAX_ANNOTATIONS
from weftwork.protocol.errors import invalid


class ReviewRoutes:
    """createAnnotation, listAnnotations, diffRun."""

    def __init__(self, annotations: Annotations, comparison: Comparison) -> None:
        self._annotations = annotations
        self._comparison = comparison

    async def create_annotation(self, request: Request) -> Response:
        run_id = request.params["runId"]
        document = await request.document()
        said = await self._annotations.create(request.caller, run_id, document, request.header(b"idempotency-key"))
        place = (b"location", f"/v1/runs/{run_id}/annotations".encode())
        return Response(201, said.document, [*replay_headers(said.replayed), place])

    async def list_annotations(self, request: Request) -> Response:
        limit = request.integer("limit", 1, MAX_ANNOTATIONS, MAX_ANNOTATIONS)
        page = await self._annotations.page(request.caller, request.params["runId"], request.cursor(), limit)
        listed = b",".join([each.document for each in page.annotations])
        following = b',"nextCursor":"%b"' % page.annotations[-1].annotation_id.encode() if page.more else b""
        return Response(200, b'{"annotations":[%b]%b}' % (listed, following))

    async def diff_run(self, request: Request) -> Response:
        against = request.path_id("against", "against must be the id of a run.")
        if against is None:
            raise invalid("against must name the run to compare with.", parameter="against")
        return json_response(200, await self._comparison.compare(request.caller, request.params["runId"], against))
