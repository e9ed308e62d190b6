"""The bare server: a Starlette app that answers like a host and does none of a host's work.

A run is over the moment it is created; no workflow is looked up, nothing is validated, decided or resumed. What
is left is the price of HTTP in Python, or with `--store sqlite` of HTTP and one durable commit per run.
"""

import argparse
import secrets
import time
from datetime import UTC, datetime
from typing import Any, Final, Protocol

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bench.plan import KEY

_NODES: Final = {"one-step": ("a",), "three-step": ("a", "b", "c")}
MAX_RUNS: Final = 10_000
"""The newest are kept: a heap that grows would slow the bare server down, which nothing gains from."""
_BEARER = f"Bearer {KEY}"


class BareStore(Protocol):
    """Makes a run durable, if the variant stores runs."""

    async def store_run(self, run: dict[str, Any]) -> None: ...


class NoStore:
    async def store_run(self, run: dict[str, Any]) -> None:
        pass


def completed_run(workflow: str) -> dict[str, Any]:
    """A snapshot with the members and the size of ours; ids grow with time, as ours do, which spares a B-tree."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    nodes = _NODES[workflow]
    return {
        "runId": f"{time.time_ns():016x}{secrets.token_hex(5)}",
        "workflowId": workflow,
        "status": "completed",
        "createdAt": now,
        "tags": [],
        "startedAt": now,
        "completedAt": now,
        "owner": {"tenant": "bench", "principal": "key_0123456789abcdef"},
        "inputs": {},
        "variables": {},
        "nodeStates": {node: {"attempt": 1, "status": "completed"} for node in nodes},
        "metadata": {},
        "configurable": {},
        "engineVersion": "1",
        "eventLogSchemaVersion": 2,
        "outputs": {nodes[-1]: {}},
    }


class BareRuns:
    """The routes, over a dictionary of runs."""

    def __init__(self, store: BareStore) -> None:
        self._store = store
        self._runs: dict[str, dict[str, Any]] = {}

    async def ready(self, request: Request) -> Response:
        return _json(200, {"protocolVersion": "1.1"})

    async def create(self, request: Request) -> Response:
        if request.headers.get("authorization") != _BEARER:
            return _json(401, {"error": "unauthenticated", "message": "A key is needed."})
        wanted: dict[str, Any] = msgspec.json.decode(await request.body())
        run = completed_run(wanted["workflowId"])
        await self._store.store_run(run)
        self._runs[run["runId"]] = run
        if len(self._runs) > MAX_RUNS:
            del self._runs[next(iter(self._runs))]
        base = f"/v1/runs/{run['runId']}"
        body = {"runId": run["runId"], "status": "pending", "eventsUrl": f"{base}/events", "statusUrl": base}
        return _json(201, body, {"location": base})

    async def read(self, request: Request) -> Response:
        if request.headers.get("authorization") != _BEARER:
            return _json(401, {"error": "unauthenticated", "message": "A key is needed."})
        run = self._runs.get(request.path_params["run_id"])
        if run is None:
            return _json(404, {"error": "not_found", "message": "There is no such run."})
        return _json(200, run)


def _json(status: int, document: Any, headers: dict[str, str] | None = None) -> Response:
    # The encoder that our host uses, so that the difference is not one of JSON libraries.
    return Response(msgspec.json.encode(document), status, headers, "application/json")


def build(store: BareStore) -> Starlette:
    runs = BareRuns(store)
    return Starlette(
        routes=[
            Route("/v1/runs", runs.create, methods=["POST"]),
            Route("/v1/runs/{run_id}", runs.read, methods=["GET"]),
            Route("/.well-known/openwop", runs.ready, methods=["GET"]),
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--store", choices=["memory", "sqlite"], required=True)
    parser.add_argument("--file")
    parser.add_argument("--port", type=int, required=True)
    given = parser.parse_args()
    store: BareStore = NoStore()
    if given.store == "sqlite":
        from bench.subjects.bare_store import BareSqliteStore

        store = BareSqliteStore(given.file)
    uvicorn.run(
        build(store),
        port=given.port,
        loop="uvloop",
        http="httptools",
        ws="none",
        lifespan="off",
        access_log=False,
        log_level="warning",
        server_header=False,
        proxy_headers=False,
    )


if __name__ == "__main__":
    main()
