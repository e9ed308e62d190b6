"""Routes for reviewing runs: annotations, the difference between two runs, and the export and import of bundles."""

from typing import Final

from weftwork.adapters.http.message import JSON, Request, Response, json_response, replay_headers
from weftwork.engine.api.annotations import Annotations
from weftwork.engine.api.lineage.imports import Imports
from weftwork.engine.api.review import Bundles, BundleStream, RunDiffs
from weftwork.protocol.errors import ClientFault, invalid
from weftwork.protocol.review.annotations import MAX_ANNOTATIONS
from weftwork.protocol.review.bundle_import import MAX_IMPORT_BYTES
from weftwork.protocol.run.imports import ImportResponse
from weftwork.protocol.wire.route import MAX_CURSOR
from weftwork.protocol.wire.v1.paths import path_for

_HEADERS: Final = [(b"content-type", JSON), (b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff")]


class ReviewRoutes:
    """createAnnotation, listAnnotations, diffRun, diffRunOutcome."""

    def __init__(self, annotations: Annotations, run_diffs: RunDiffs) -> None:
        self._annotations = annotations
        self._run_diffs = run_diffs

    async def create_annotation(self, request: Request) -> Response:
        run_id = request.run_id
        document = await request.json()
        created = await self._annotations.create(request.caller, run_id, document, request.idempotency_key)
        location = (b"location", path_for("listAnnotations", runId=run_id).encode())
        return Response(201, created.document, [*replay_headers(created.replayed), location])

    async def list_annotations(self, request: Request) -> Response:
        limit = request.query_integer("limit", 1, MAX_ANNOTATIONS, MAX_ANNOTATIONS)
        page = await self._annotations.page(request.caller, request.run_id, request.cursor(), limit)
        documents = b",".join([each.document for each in page.annotations])
        next_cursor = b',"nextCursor":"%b"' % page.annotations[-1].annotation_id.encode() if page.more else b""
        return Response(200, b'{"annotations":[%b]%b}' % (documents, next_cursor))

    async def diff_run(self, request: Request) -> Response:
        return json_response(200, await self._run_diffs.compare(request.caller, *_compared_runs(request)))

    async def diff_outcome(self, request: Request) -> Response:
        return json_response(200, await self._run_diffs.compare_outcomes(request.caller, *_compared_runs(request)))


def _compared_runs(request: Request) -> tuple[str, str]:
    """The run of the path, and the run to compare with it."""
    against = request.query_id("against", "against must be the id of a run.")
    if against is None:
        raise invalid("The parameter against is required: the id of the run to compare with.", parameter="against")
    return request.run_id, against


class ImportRoutes:
    """importRun."""

    def __init__(self, imports: Imports) -> None:
        self._imports = imports

    async def import_run(self, request: Request) -> Response:
        """imp-01: the body is a bundle of up to MAX_IMPORT_BYTES. The limit of other bodies does not apply."""
        request.check_encoding()
        if request.media_type != JSON:
            raise ClientFault("unsupported_media_type", f"Send the bundle as Content-Type: {JSON.decode()}.")
        request.max_body_bytes = MAX_IMPORT_BYTES
        outcome = await self._imports.import_run(request.caller, await request.body(), request.idempotency_key)
        status_url = path_for("getRun", runId=outcome.run_id)
        counts = outcome.event_count, outcome.media_count
        body = ImportResponse(outcome.run_id, outcome.status, outcome.source_run_id, *counts, status_url)
        return json_response(201, body, [*replay_headers(outcome.replayed), (b"location", status_url.encode())])


class BundleRoutes:
    """getDebugBundle."""

    def __init__(self, bundles: Bundles) -> None:
        self._bundles = bundles

    async def get_bundle(self, request: Request) -> Response | None:
        """bundle-05: the status is sent after the run was found; then the document is complete, or it is aborted."""
        is_limited = request.query("maxEvents") is not None
        max_events = request.query_integer("maxEvents", 1, MAX_CURSOR, MAX_CURSOR) if is_limited else None
        bundle = await self._bundles.open(request.caller, request.run_id, max_events)
        await request.writer.start(200, [*_HEADERS, (b"traceparent", request.traceparent.encode())])
        if request.scope["method"] != "HEAD":
            await request.run_until_disconnect(_stream_chunks(request, bundle))
        await request.writer.write(b"")
        return None


async def _stream_chunks(request: Request, bundle: BundleStream) -> None:
    while (chunk := await bundle.next_chunk()) is not None:
        # An empty chunk is not the end of the bundle.
        if chunk:
            await request.writer.write_part(chunk)
