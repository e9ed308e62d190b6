"""Routes that steer single runs, and the one that fetches what a run has made."""

from weftwork.adapters.http.message import Request, Response, json_response, replay_headers
from weftwork.engine.control import Control
from weftwork.engine.steered import Steered
from weftwork.protocol.timestamp import iso


class SteeringRoutes:
    """pauseRun, resumeRun, getArtifact, setVariables."""

    def __init__(self, control: Control) -> None:
        self._control = control

    async def pause_run(self, request: Request) -> Response:
        document = await request.document(optional=True)
        key = request.header(b"idempotency-key")
        done = await self._control.pause_run(request.caller, request.params["runId"], document, key)
        return _answer(202, {"runId": done.run_id, "status": done.status, "pausedAt": iso(done.at)}, done)

    async def resume_run(self, request: Request) -> Response:
        document = await request.document(optional=True)
        key = request.header(b"idempotency-key")
        done = await self._control.resume_run(request.caller, request.params["runId"], document, key)
        return _answer(202, {"runId": done.run_id, "status": done.status, "resumedAt": iso(done.at)}, done)

    async def set_variables(self, request: Request) -> Response:
        run_id = request.params["runId"]
        status = await self._control.set_variables(request.caller, run_id, await request.document())
        return json_response(200, {"runId": run_id, "status": status})

    async def get_artifact(self, request: Request) -> Response:
        run_id, artifact_id = request.params["runId"], request.params["artifactId"]
        return json_response(200, await self._control.get_artifact(request.caller, run_id, artifact_id))


def _answer(status: int, body: dict[str, str], done: Steered) -> Response:
    return json_response(status, body, replay_headers(done.replayed))
