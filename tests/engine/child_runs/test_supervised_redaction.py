"""Supervised runs that hide something: the words of the protocol stay, secrets do not."""

from typing import Any

import msgspec
import pytest

from tests.harness.child_workflows import child_keys, settle, start_run
from tests.harness.definitions import edge, node, variable, workflow
from tests.harness.engine_harness import EngineHarness, run
from weftwork.protocol.json import schema
from weftwork.protocol.privacy.redaction import Redactor

SECRET = "hunter2-hunter2"
WORKER = workflow([node("w")], id="worker-one")


def supervised(**config: Any) -> dict[str, Any]:
    return workflow(
        [node("lead", "core.orchestrator.supervisor", config=config), node("send", "core.dispatch")],
        [edge("lead", "send"), edge("send", "lead")],
        variables=[variable("shared", sensitive=True, defaultValue=SECRET)],
        id="supervised",
    )


async def logs(document: dict[str, Any]) -> tuple[EngineHarness, list[Any], str]:
    bench, key = await start_run(document, WORKER)
    for _ in range(5):
        await settle()
    events = [event for each in (key, *await child_keys(bench, key)) for event in await bench.events(each)]
    return bench, events, await bench.status(key)


READS = (
    "variables.shared == '' ? {'kind': 'terminate', 'reason': 'none'} : iteration > 1 ? {'kind': 'terminate',"
    " 'reason': 'enough'} : {'kind': 'next-worker', 'nextWorkerIds': ['worker-one']}"
)


@pytest.mark.rule("hide-03")
def test_a_decision_that_reads_a_secret_is_still_a_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    async def wrong() -> list[str]:
        _, events, status = await logs(supervised(decision=READS))
        assert status == "completed"
        decided = [msgspec.json.decode(each.payload) for each in events if each.type == "runOrchestrator.decided"]
        assert len(decided) == 3
        assert SECRET.encode() not in b"".join(event.payload for event in events)
        payloads = [(each.type, msgspec.json.decode(each.payload)) for each in events]
        return [kind for kind, payload in payloads if schema.check_payload(kind, payload)]

    assert run(wrong) == []
    monkeypatch.setattr(Redactor, "_without_protocol_words", lambda redactor, node_id, value: value)
    monkeypatch.setattr("weftwork.protocol.privacy.value_paths.FIXED_MEMBERS", frozenset())
    assert "runOrchestrator.decided" in run(wrong)


@pytest.mark.rule("hide-03")
def test_a_worker_that_is_named_by_a_secret_is_not_named_in_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    named = "{'kind': 'next-worker', 'nextWorkerIds': [variables.shared]}"

    async def shown() -> list[str]:
        _, events, status = await logs(supervised(decision=named))
        assert status == "failed"
        return [event.type for event in events if SECRET.encode() in event.payload]

    assert run(shown) == []
    monkeypatch.setattr("weftwork.protocol.privacy.value_paths.value_members", lambda kind, payload: ())
    assert "core.workflowChain.event" in run(shown)
