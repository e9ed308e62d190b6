"""Routes that steer runs: cancelling many of them, deleting one."""

from weftwork.adapters.http.message import Request, Response, json_response, replay_headers
from weftwork.engine.bulk_cancel import BulkCancel
from weftwork.engine.retention import Retention


class ControlRoutes:
    """bulkCancelRuns, deleteRun."""

    def __init__(self, bulk: BulkCancel, retention: Retention) -> None:
        self._bulk = bulk
        self._retention = retention

    async def bulk_cancel(self, request: Request) -> Response:
        document = await request.document()
        outcome = await self._bulk.cancel_runs(request.caller, document, request.header(b"idempotency-key"))
        return json_response(200, {"results": outcome.results}, replay_headers(outcome.replayed))

    async def delete_run(self, request: Request) -> Response:
        key = request.header(b"idempotency-key")
        replayed = await self._retention.delete_run(request.caller, request.params["runId"], key)
        return Response(204, b"", replay_headers(replayed))
