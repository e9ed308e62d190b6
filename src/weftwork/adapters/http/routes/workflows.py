"""Routes of workflow definitions."""

from urllib.parse import quote

from weftwork.adapters.http.message import Request, Response, json_response, replay_headers
from weftwork.engine.api.workflows import RegistrationOutcome, Workflows
from weftwork.protocol.errors import invalid
from weftwork.protocol.timestamps import iso
from weftwork.protocol.wire.route import MAX_PAGE
from weftwork.protocol.wire.v1.paths import path_for
from weftwork.protocol.workflow.registration import MAX_VERSION_LENGTH


class WorkflowRoutes:
    """listWorkflows, getWorkflow, registerWorkflow."""

    def __init__(self, workflows: Workflows) -> None:
        self._workflows = workflows

    async def list_workflows(self, request: Request) -> Response:
        limit = request.query_integer("limit", 1, MAX_PAGE, 50)
        return json_response(200, await self._workflows.list(request.caller, request.cursor(), limit))

    async def get_workflow(self, request: Request) -> Response:
        version = request.query("version")
        if version is not None and not 0 < len(version) <= MAX_VERSION_LENGTH:
            raise invalid(f"version must have 1 to {MAX_VERSION_LENGTH} characters.", parameter="version")
        return Response(200, await self._workflows.get(request.caller, request.params["workflowId"], version))

    async def register_workflow(self, request: Request) -> Response:
        document = await request.json()
        outcome = await self._workflows.register(request.caller, document, request.idempotency_key)
        return registration_response(outcome)


def registration_response(outcome: RegistrationOutcome) -> Response:
    body = {
        "workflowId": outcome.workflow_id,
        "version": outcome.version,
        "digest": outcome.digest,
        "createdAt": iso(outcome.created_at),
    }
    url = f"{path_for('getWorkflow', workflowId=outcome.workflow_id)}?version={quote(outcome.version, safe='')}"
    headers = [*replay_headers(outcome.replayed), (b"location", url.encode())]
    return json_response(201 if outcome.created else 200, body, headers)
