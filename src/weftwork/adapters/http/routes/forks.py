"""Routes of forks."""

from weftwork.adapters.http.message import Request, Response, json_response, replay_headers
from weftwork.engine.api.lineage.forks import Forks
from weftwork.engine.api.lineage.retries import Retries
from weftwork.protocol.replay.fork_request import ForkOutcome, fork_document
from weftwork.protocol.wire.v1.paths import run_urls


class ForkRoutes:
    """forkRun, retryRun."""

    def __init__(self, forks: Forks, retries: Retries) -> None:
        self._forks = forks
        self._retries = retries

    async def fork_run(self, request: Request) -> Response:
        document = await request.json()
        outcome = await self._forks.fork_run(
            request.caller,
            request.run_id,
            document,
            key=request.idempotency_key,
            traceparent=request.caller_traceparent,
        )
        return _fork_response(outcome)

    async def retry_run(self, request: Request) -> Response:
        document = await request.json(optional=True)
        outcome = await self._retries.retry_run(
            request.caller,
            request.run_id,
            document,
            key=request.idempotency_key,
            traceparent=request.caller_traceparent,
        )
        return _fork_response(outcome)


def _fork_response(outcome: ForkOutcome) -> Response:
    urls = run_urls(outcome.run_id)
    headers = [*replay_headers(outcome.replayed), (b"location", urls["statusUrl"].encode())]
    return json_response(201, fork_document(outcome, urls), headers)
