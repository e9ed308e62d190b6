"""Records histories of runs of a real host, over its HTTP interface, for the tests of replays."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.live.host import KEY
from tests.live.in_process_host import InProcessHost
from weftwork.app import Host
from weftwork.protocol.replay.history import encode_history
from weftwork.settings import Settings

RECORDED_AT = 1_767_225_600_000
SETTLED = frozenset({"completed", "failed", "cancelled", "waiting-approval", "waiting-input", "waiting-external"})


async def record_run(
    file: Path,
    document: dict[str, Any],
    nodes: list[Callable[..., Any]],
    inputs: Mapping[str, Any],
    answers: Mapping[str, Any] | None = None,
) -> Path:
    """Start a run, answer its interrupts by node id, and record it where it has ended or has no answer. Bounded in
    time."""
    host = Host(Settings(store="memory"), nodes=nodes)

    async def register(opened: Host) -> None:
        assert await opened.catalog.register(document) == []

    await host.open(register)
    try:
        caller = InProcessHost(host)
        host.keyring.accept_for_process(KEY, "acme", None)
        created = await caller.call("POST", "/v1/runs", {"workflowId": document["id"], "inputs": dict(inputs)})
        assert created.status == 201, created.body
        path = f"/v1/runs/{created.document['runId']}"
        async with asyncio.timeout(20):
            snapshot = await _settled(caller, path, dict(answers or {}))
        page = (await caller.call("GET", f"{path}/events/poll")).document
        file.write_bytes(encode_history(snapshot, page["events"], document, {"name": "weftwork"}, RECORDED_AT))
    finally:
        await host.close()
    return file


async def _settled(caller: InProcessHost, path: str, answers: dict[str, Any]) -> dict[str, Any]:
    while True:
        snapshot = (await caller.call("GET", path)).document
        if snapshot["status"] in SETTLED:
            answered = False
            for each in snapshot.get("interrupts", []):
                if each["nodeId"] in answers:
                    answer = {"resumeValue": answers.pop(each["nodeId"])}
                    taken = await caller.call("POST", f"{path}/interrupts/{each['nodeId']}", answer)
                    assert taken.status == 200, taken.body
                    answered = True
            if not answered:
                return snapshot
        await asyncio.sleep(0)
