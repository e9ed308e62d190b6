"""Runs that ask: how a test starts one, looks at it, and answers."""

from typing import Any

import msgspec
import pytest

from tests.harness.engine_harness import EngineHarness, run_ready_tasks
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json import schema
from weftwork.protocol.people.approvals import Answerer
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.run.projection import run_snapshot

ADA, BOB, EVE = (Answerer(f"key_{name}", frozenset({name})) for name in ("ada", "bob", "eve"))


async def start_run(document: dict[str, Any], **request: Any) -> tuple[EngineHarness, RunKey]:
    bench = EngineHarness()
    key = await bench.start(document, **request)
    await run_ready_tasks()
    return bench, key


async def snapshot_of(bench: EngineHarness, key: RunKey) -> dict[str, Any]:
    return msgspec.json.decode(msgspec.json.encode(run_snapshot(await bench.stored_run(key))))


async def answer_refusal(
    bench: EngineHarness, key: RunKey, value: Any, node_id: str, by: Answerer = ADA
) -> tuple[int, str]:
    with pytest.raises(ClientFault) as caught:
        await bench.answer(key, value, node_id, by)
    return caught.value.status, caught.value.code


async def completed_outputs(bench: EngineHarness, key: RunKey) -> dict[str, Any]:
    """Of a run that completes; every payload on the way fits its schema."""
    for event in await bench.run_to_end(key):
        assert schema.check_payload(event.type, msgspec.json.decode(event.payload)) == []
    (completed,) = await bench.payloads(key, "run.completed")
    return completed["outputs"]
