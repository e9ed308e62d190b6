"""A finished run with message chunks, written through the store before a host opens it."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec

from weftwork.adapters.sqlite.store import SqliteStore
from weftwork.protocol.run.batch import Batch
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.header import Owner, RunHeader
from weftwork.protocol.run.projection import Projection
from weftwork.wiring.data_folder import DATABASE_FILE

SEEDED_RUN = "seeded-messages"
"""The id of the run; it belongs to the tenant acme."""
CHUNKS = ("Grüße", " ", "\u2028 ", "日本語", " \U0001f9f6", 'a\nb\r\n"c"', "data: x\n\nid: 99", "")
_START = 1_790_000_000_000


def seed_messages(data: Path) -> None:
    data.mkdir(mode=0o700, parents=True)
    asyncio.run(_write(data))


async def _write(data: Path) -> None:
    header = RunHeader(
        run_id=SEEDED_RUN,
        partition="live:acme",
        owner=Owner("acme", "seed"),
        workflow_id="conformance-noop",
        definition="none",
        created_at=_START,
    )
    events = _events()
    store = SqliteStore(data / DATABASE_FILE)
    await store.open()
    try:
        async with asyncio.timeout(120):
            await store.log.create(header)
            last = len(events) - 1
            projection = Projection("completed", last, _START, _START + last, executions=1)
            await store.log.append(header.key, -1, Batch(tuple(events), projection))
    finally:
        await store.close()


def _events() -> list[Event]:
    node = {"nodeId": "talk", "typeId": "core.noop", "attempt": 1}
    drafts: list[tuple[str, dict[str, Any]]] = [("run.started", {"workflowId": "conformance-noop", "inputs": {}})]
    drafts.append(("node.started", node))
    for at, text in enumerate(CHUNKS):
        last = at == len(CHUNKS) - 1
        chunk: dict[str, Any] = {"nodeId": "talk", "runId": SEEDED_RUN, "chunk": text, "isLast": last}
        drafts.append(("output.chunk", chunk | ({"meta": {"finishReason": "stop"}} if last else {})))
        if at == 3:
            drafts.append(("log.appended", {"level": "info", "message": "half"}))
    drafts += [("node.completed", {"nodeId": "talk", "outputs": {}}), ("run.completed", {"outputs": {}})]
    return [
        Event(
            SEEDED_RUN, at, f"{'e' * 20}{at:04}", kind, _START + at, msgspec.json.encode(payload), payload.get("nodeId")
        )
        for at, (kind, payload) in enumerate(drafts)
    ]
