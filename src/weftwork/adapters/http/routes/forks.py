"""Routes of forks."""

from typing import Final

from weftwork.adapters.http.message import Request, Response, json_response, replay_headers
from weftwork.engine.api.forks import ForkOutcome, Forks
from weftwork.protocol.replay.fork_request import fork_document
from weftwork.protocol.wire.v1.paths import PATHS

_RUN_PATH: Final = PATHS["getRun"][1]
_EVENTS_PATH: Final = PATHS["streamRunEvents"][1]


class ForkRoutes:
    """forkRun, retryRun."""

    def __init__(self, forks: Forks) -> None:
        self._forks = forks

    async def fork_run(self, request: Request) -> Response:
        document = await request.json()
        outcome = await self._forks.fork_run(
            request.caller,
            request.params["runId"],
            document,
            key=request.idempotency_key,
            traceparent=request.caller_traceparent,
        )
        return _fork_response(outcome)

    async def retry_run(self, request: Request) -> Response:
        document = await request.json(optional=True)
        outcome = await self._forks.retry_run(
            request.caller,
            request.params["runId"],
            document,
            key=request.idempotency_key,
            traceparent=request.caller_traceparent,
        )
        return _fork_response(outcome)


def _fork_response(outcome: ForkOutcome) -> Response:
    status_url = _RUN_PATH.replace("{runId}", outcome.run_id)
    body = fork_document(outcome, _RUN_PATH, _EVENTS_PATH)
    return json_response(201, body, [*replay_headers(outcome.replayed), (b"location", status_url.encode())])
