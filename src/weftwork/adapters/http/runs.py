"""Routes of runs."""

from weftwork.adapters.http.message import Request, Response, json_response, replay_headers
from weftwork.engine.interrupts import Interrupts
from weftwork.engine.service import Service
from weftwork.ports.eventlog import RunQuery
from weftwork.protocol import idempotency
from weftwork.protocol.errors import invalid
from weftwork.protocol.route import MAX_PAGE
from weftwork.protocol.run import STATUSES
from weftwork.protocol.trace import parse_traceparent


class RunRoutes:
    """createRun, listRuns, getRun, cancelRun."""

    def __init__(self, service: Service, interrupts: Interrupts) -> None:
        self._service = service
        self._interrupts = interrupts

    async def create_run(self, request: Request) -> Response:
        document = await request.document()
        outcome = await self._service.create_run(
            request.caller,
            document,
            key=request.header(b"idempotency-key"),
            exclusive=idempotency.parse_dedup(request.header(b"x-dedup")),
            traceparent=_traceparent(request),
        )
        base = f"/v1/runs/{outcome.run_id}"
        body = {
            "runId": outcome.run_id,
            "status": outcome.status,
            "eventsUrl": f"{base}/events",
            "statusUrl": base,
        }
        return json_response(201, body, [*replay_headers(outcome.replayed), (b"location", base.encode())])

    async def list_runs(self, request: Request) -> Response:
        """kin-11: of all runs, or of those that one run has started."""
        query = RunQuery(
            statuses=_statuses(request),
            workflow_id=request.query("workflowId"),
            tags=tuple(request.queries("tag")),
            before=request.cursor(),
            limit=request.integer("limit", 1, MAX_PAGE, 50),
            parent=request.path_id("parentRunId", "parentRunId must be the id of a run."),
        )
        return json_response(200, await self._service.list_runs(request.caller, query))

    async def get_run(self, request: Request) -> Response:
        found = await self._service.get_run(request.caller, request.params["runId"])
        return json_response(200, self._interrupts.with_tokens(request.caller, found))

    async def cancel_run(self, request: Request) -> Response:
        document = await request.document(optional=True)
        key = request.header(b"idempotency-key")
        outcome = await self._service.cancel_run(request.caller, request.params["runId"], document, key)
        body = {"runId": outcome.run_id, "status": outcome.status}
        return json_response(200, body, replay_headers(outcome.replayed))


def _traceparent(request: Request) -> str | None:
    header = request.header(b"traceparent")
    return header if parse_traceparent(header) is not None else None


def _statuses(request: Request) -> tuple[str, ...]:
    wanted = [name for value in request.queries("status") for name in value.split(",")]
    if any(name not in STATUSES for name in wanted):
        raise invalid("status takes the names of run statuses.", parameter="status", supported=list(STATUSES))
    return tuple(dict.fromkeys(wanted))
