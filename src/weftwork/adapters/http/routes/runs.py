"""Routes of runs: create, list, read, cancel, pause, resume, set variables, delete, and the tree of child runs."""

from typing import Final

from weftwork.adapters.http.message import Request, Response, json_response, replay_headers
from weftwork.engine.api.interrupts import Interrupts
from weftwork.engine.api.retention import Retention
from weftwork.engine.api.run_control import BulkCancel, ControlOutcome, RunControl
from weftwork.engine.api.run_tree import RunTrees
from weftwork.engine.api.runs import Runs
from weftwork.ports.storage.event_log import RunQuery
from weftwork.protocol.errors import invalid
from weftwork.protocol.run.child_runs import DEFAULT_TREE_RUNS, MAX_TREE_RUNS
from weftwork.protocol.run.header import STATUSES
from weftwork.protocol.timestamps import iso
from weftwork.protocol.wire import idempotency
from weftwork.protocol.wire.route import MAX_PAGE
from weftwork.protocol.wire.v1.paths import PATHS

_RUN_PATH: Final = PATHS["getRun"][1]
_EVENTS_PATH: Final = PATHS["streamRunEvents"][1]


class RunRoutes:
    """createRun, listRuns, getRun, cancelRun."""

    def __init__(self, service: Runs, interrupts: Interrupts) -> None:
        self._runs = service
        self._interrupts = interrupts

    async def create_run(self, request: Request) -> Response:
        document = await request.json()
        outcome = await self._runs.create_run(
            request.caller,
            document,
            key=request.idempotency_key,
            exclusive=idempotency.parse_dedup(request.header(b"x-dedup")),
            traceparent=request.caller_traceparent,
        )
        status_url = _RUN_PATH.replace("{runId}", outcome.run_id)
        body = {
            "runId": outcome.run_id,
            "status": outcome.status,
            "eventsUrl": _EVENTS_PATH.replace("{runId}", outcome.run_id),
            "statusUrl": status_url,
        }
        return json_response(201, body, [*replay_headers(outcome.replayed), (b"location", status_url.encode())])

    async def list_runs(self, request: Request) -> Response:
        """kin-11: of all runs, or of those that one run has started."""
        query = RunQuery(
            statuses=_statuses(request),
            workflow_id=request.query("workflowId"),
            tags=tuple(request.query_values("tag")),
            before=request.cursor(),
            limit=request.query_integer("limit", 1, MAX_PAGE, 50),
            parent=request.query_id("parentRunId", "parentRunId must be the id of a run."),
        )
        return json_response(200, await self._runs.list_runs(request.caller, query))

    async def get_run(self, request: Request) -> Response:
        found = await self._runs.get_run(request.caller, request.params["runId"])
        return json_response(200, self._interrupts.with_tokens(request.caller, found))

    async def cancel_run(self, request: Request) -> Response:
        document = await request.json(optional=True)
        key = request.idempotency_key
        outcome = await self._runs.cancel_run(request.caller, request.params["runId"], document, key)
        body = {"runId": outcome.run_id, "status": outcome.status}
        return json_response(200, body, replay_headers(outcome.replayed))


class RunControlRoutes:
    """pauseRun, resumeRun, getArtifact."""

    def __init__(self, control: RunControl) -> None:
        self._control = control

    async def pause_run(self, request: Request) -> Response:
        document = await request.json(optional=True)
        key = request.idempotency_key
        done = await self._control.pause_run(request.caller, request.params["runId"], document, key)
        return _control_response(202, {"runId": done.run_id, "status": done.status, "pausedAt": iso(done.at)}, done)

    async def resume_run(self, request: Request) -> Response:
        document = await request.json(optional=True)
        key = request.idempotency_key
        done = await self._control.resume_run(request.caller, request.params["runId"], document, key)
        return _control_response(202, {"runId": done.run_id, "status": done.status, "resumedAt": iso(done.at)}, done)

    async def get_artifact(self, request: Request) -> Response:
        run_id, artifact_id = request.params["runId"], request.params["artifactId"]
        return json_response(200, await self._control.get_artifact(request.caller, run_id, artifact_id))


class RunCleanupRoutes:
    """bulkCancelRuns, deleteRun."""

    def __init__(self, bulk: BulkCancel, retention: Retention) -> None:
        self._bulk = bulk
        self._retention = retention

    async def bulk_cancel(self, request: Request) -> Response:
        document = await request.json()
        outcome = await self._bulk.cancel_runs(request.caller, document, request.idempotency_key)
        return json_response(200, {"results": outcome.results}, replay_headers(outcome.replayed))

    async def delete_run(self, request: Request) -> Response:
        key = request.idempotency_key
        replayed = await self._retention.delete_run(request.caller, request.params["runId"], key)
        return Response(204, b"", replay_headers(replayed))


class RunTreeRoutes:
    """getRunAncestry, getRunTree."""

    def __init__(self, run_trees: RunTrees) -> None:
        self._run_trees = run_trees

    async def ancestry(self, request: Request) -> Response:
        return json_response(200, await self._run_trees.ancestry(request.caller, request.params["runId"]))

    async def tree(self, request: Request) -> Response:
        limit = request.query_integer("limit", 1, MAX_TREE_RUNS, DEFAULT_TREE_RUNS)
        return json_response(200, await self._run_trees.tree(request.caller, request.params["runId"], limit))


def _statuses(request: Request) -> tuple[str, ...]:
    wanted = [name for value in request.query_values("status") for name in value.split(",")]
    if any(name not in STATUSES for name in wanted):
        raise invalid("status takes the names of run statuses.", parameter="status", supported=list(STATUSES))
    return tuple(dict.fromkeys(wanted))


def _control_response(status: int, body: dict[str, str], done: ControlOutcome) -> Response:
    return json_response(status, body, replay_headers(done.replayed))
