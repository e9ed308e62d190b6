"""A host inside this process, without sockets: for proofs that have to take a guard away."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

from tests.live.host import KEY, OTHER_KEY, Answer
from weftwork.app import Host
from weftwork.conformance.endpoints.model_programs import ScriptedPrograms
from weftwork.settings import Settings


class InProcessHost:
    """Calls the ASGI application as a server would."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.app = host.build()

    @property
    def programs(self) -> ScriptedPrograms:
        """What the scripted provider of a host with test endpoints is programmed by."""
        found = self.host.script_player
        assert isinstance(found, ScriptedPrograms)
        return found

    async def call(
        self, method: str, path: str, document: Any = None, *, key: str = KEY, headers: Mapping[str, str] | None = None
    ) -> Answer:
        name, _, query = path.partition("?")
        encoded = document if isinstance(document, bytes) else json.dumps(document).encode()
        body = encoded if document is not None else b""
        sent = {"host": "localhost", "authorization": f"Bearer {key}", "content-length": str(len(body))}
        sent |= headers or {}
        if document is not None:
            sent.setdefault("content-type", "application/json")
        messages: list[Any] = []
        received = False

        async def receive() -> dict[str, Any]:
            nonlocal received
            if received:
                await asyncio.Event().wait()
            received = True
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            messages.append(message)

        scope = {
            "type": "http",
            "method": method,
            "path": name,
            "raw_path": name.encode(),
            "query_string": query.encode(),
            "headers": [(key.lower().encode(), value.encode()) for key, value in sent.items()],
        }
        await self.app(scope, receive, send)
        shown = {key.decode().lower(): value.decode() for key, value in messages[0]["headers"]}
        return Answer(messages[0]["status"], shown, b"".join(message["body"] for message in messages[1:]))

    async def run_log(self, workflow_id: str, *, key: str = KEY, **members: Any) -> list[dict[str, Any]]:
        """All events of a new run, once it has ended."""
        answer = await self.call("POST", "/v1/runs", {"workflowId": workflow_id, **members}, key=key)
        assert answer.status == 201, answer.body
        path, last = f"/v1/runs/{answer.document['runId']}/events/poll?timeout=15", -1
        events: list[dict[str, Any]] = []
        while True:
            page = (await self.call("GET", f"{path}&lastSequence={last}", key=key)).document
            events += page["events"]
            if page["isComplete"]:
                return events
            assert page["events"], "the run did not go on"
            last = events[-1]["sequence"]


@contextlib.asynccontextmanager
async def open_in_process(*workflows: dict[str, Any], **settings: Any) -> AsyncIterator[InProcessHost]:
    """A host, in memory unless told otherwise, with the keys of acme and of another tenant. All in it is bounded."""
    host = Host(Settings(**{"store": "memory", **settings}))
    await host.open()
    try:
        host.keyring.accept_for_process(KEY, "acme", None)
        host.keyring.accept_for_process(OTHER_KEY, "other", None)
        for workflow in workflows:
            await host.register_fixture(workflow)
        yield InProcessHost(host)
    finally:
        await host.close()
