"""Routes of runs: create, list, read, cancel, pause, resume, delete, artifacts, and the tree of child runs."""

from collections.abc import Awaitable, Callable
from typing import Any, Final

from weftwork.adapters.http.message import Request, Response, json_response, replay_headers
from weftwork.adapters.http.snapshots import SnapshotCache
from weftwork.engine.api.interrupts import Interrupts
from weftwork.engine.api.keyring import Principal
from weftwork.engine.api.lineage.run_trees import RunTrees
from weftwork.engine.api.retention import Retention
from weftwork.engine.api.review import LookBack
from weftwork.engine.api.run_control import ControlOutcome, RunControl
from weftwork.engine.api.runs import Runs
from weftwork.ports.storage.run_queries import RunQuery
from weftwork.protocol.errors import invalid
from weftwork.protocol.run.child_runs import DEFAULT_TREE_RUNS, MAX_TREE_RUNS
from weftwork.protocol.run.header import STATUSES
from weftwork.protocol.run.projection import AT_SEQUENCE
from weftwork.protocol.timestamps import iso
from weftwork.protocol.wire import idempotency
from weftwork.protocol.wire.route import MAX_PAGE
from weftwork.protocol.wire.v1.paths import PATHS

_RUN_PATH: Final = PATHS["getRun"][1]
_EVENTS_PATH: Final = PATHS["streamRunEvents"][1]
MAX_SEQUENCE_DIGITS: Final = 16


class RunRoutes:
    """createRun, listRuns, getRun, deleteRun, cancelRun, bulkCancelRuns, pauseRun, resumeRun, getArtifact,
    getRunAncestry, getRunTree."""

    def __init__(
        self,
        service: Runs,
        interrupts: Interrupts,
        retention: Retention,
        control: RunControl,
        run_trees: RunTrees,
        snapshots: SnapshotCache,
        look_back: LookBack,
    ) -> None:
        self._runs = service
        self._interrupts = interrupts
        self._retention = retention
        self._control = control
        self._run_trees = run_trees
        self._snapshots = snapshots
        self._look_back = look_back

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
        """kin-11: all runs of the tenant, or the child runs of one run."""
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
        caller, run_id = request.caller, request.params["runId"]
        sequence = _look_back(request)
        if sequence is not None:
            return await self._earlier_run(caller, run_id, sequence)
        document = await self._runs.get_run(caller, run_id)
        if document is None:
            return Response(200, large=await self._snapshots.document(caller, run_id))
        return json_response(200, self._interrupts.with_tokens(caller, document))

    async def _earlier_run(self, caller: Principal, run_id: str, sequence: int) -> Response:
        """look-01: without tokens, because an interrupt of the past cannot be answered."""
        earlier = await self._look_back.run_after(caller, run_id, sequence)
        document = await self._look_back.document(earlier)
        if document is None:
            return Response(200, large=await self._snapshots.earlier(self._look_back, earlier))
        return json_response(200, document)

    async def delete_run(self, request: Request) -> Response:
        replayed = await self._retention.delete_run(request.caller, request.run_id, request.idempotency_key)
        return Response(204, b"", replay_headers(replayed))

    async def cancel_run(self, request: Request) -> Response:
        return _control_response(200, await _control(request, self._control.cancel_run))

    async def bulk_cancel(self, request: Request) -> Response:
        document = await request.json()
        outcome = await self._control.cancel_runs(request.caller, document, request.idempotency_key)
        return json_response(200, {"results": outcome.results}, replay_headers(outcome.replayed))

    async def pause_run(self, request: Request) -> Response:
        return _control_response(202, await _control(request, self._control.pause_run), "pausedAt")

    async def resume_run(self, request: Request) -> Response:
        return _control_response(202, await _control(request, self._control.resume_run), "resumedAt")

    async def get_artifact(self, request: Request) -> Response:
        run_id, artifact_id = request.run_id, request.params["artifactId"]
        return json_response(200, await self._control.get_artifact(request.caller, run_id, artifact_id))

    async def ancestry(self, request: Request) -> Response:
        return json_response(200, await self._run_trees.ancestry(request.caller, request.run_id))

    async def tree(self, request: Request) -> Response:
        limit = request.query_integer("limit", 1, MAX_TREE_RUNS, DEFAULT_TREE_RUNS)
        return json_response(200, await self._run_trees.tree(request.caller, request.run_id, limit))


def _look_back(request: Request) -> int | None:
    """The event after which the run is shown. A number that no event can have is refused like any that is too large."""
    text = request.query(AT_SEQUENCE)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit()):
        raise invalid(f"{AT_SEQUENCE} must be the sequence of an event, which is 0 or larger.", parameter=AT_SEQUENCE)
    return int(text) if len(text) <= MAX_SEQUENCE_DIGITS else 10**MAX_SEQUENCE_DIGITS


def _statuses(request: Request) -> tuple[str, ...]:
    names = [name for value in request.query_values("status") for name in value.split(",")]
    if any(name not in STATUSES for name in names):
        message = f"status must be one or more of {', '.join(STATUSES)}."
        raise invalid(message, parameter="status", supported=list(STATUSES))
    return tuple(dict.fromkeys(names))


async def _control(
    request: Request, operation: Callable[[Principal, str, Any, str | None], Awaitable[ControlOutcome]]
) -> ControlOutcome:
    """Apply an operation to the run in the path. The body of the request is optional."""
    document = await request.json(optional=True)
    return await operation(request.caller, request.run_id, document, request.idempotency_key)


def _control_response(status: int, outcome: ControlOutcome, time_member: str = "") -> Response:
    body = {"runId": outcome.run_id, "status": outcome.status}
    if time_member:
        body[time_member] = iso(outcome.at)
    return json_response(status, body, replay_headers(outcome.replayed))
