"""Turns of a model that are easily mistaken: look-alikes in texts, questions beside answers, wrong kinds."""

import json
import logging
from typing import Any

import pytest

from tests.harness.definitions import node, workflow
from tests.harness.engine_harness import EngineHarness, run, run_ready_tasks
from tests.harness.scripted_model import AnswerPiece, ScriptedModel
from weftwork.engine.models import model_calls
from weftwork.engine.sdk import generation
from weftwork.ports.models import AnswerEnd
from weftwork.protocol.models.answers import TokenUsage
from weftwork.protocol.run.header import TERMINAL_STATUSES, RunKey

SECRET = "swordfish-9000"
HIDES = [{"name": "word", "type": "string", "sensitive": True}]
PLAN, NOTE = "vendor.acme.plan", "vendor.acme.note"
KINDS = {name: {"version": 1, "schema": {"type": "object"}} for name in (PLAN, NOTE)}
ASKS = {"type": "clarification.request", "payload": {"questions": [{"id": "who", "question": "Who?"}]}}
TEXT = workflow([node("a", "core.ai.callPrompt", config={"prompt": "Well?"})])
TYPED = workflow(
    [
        node(
            "a",
            "core.ai.generateEnvelope",
            config={"envelopeType": PLAN, "userMessage": "Plan."},
            envelopeContract={"accepts": [PLAN, NOTE]},
        )
    ],
    metadata={"envelopeKinds": KINDS},
)


def plan(step: str) -> dict[str, Any]:
    return {"type": PLAN, "payload": {"step": step}}


async def ended(bench: EngineHarness, key: RunKey) -> None:
    """Answer what is asked, and wait for the end."""
    for _ in range(200):
        status = await bench.status(key)
        if status in TERMINAL_STATUSES:
            return
        if status == "waiting-input":
            await bench.answer(key, {"answers": {"who": "Ann"}}, "a")
        await run_ready_tasks()
    raise AssertionError("the run does not end")


@pytest.mark.parametrize("kind", ["user.created", "vendor.z.z"])
async def test_what_only_looks_like_an_envelope_stays_text(kind: str) -> None:
    said = json.dumps({"type": kind, "payload": {"a": 1}})
    bench = EngineHarness(models=ScriptedModel(said))
    key = await bench.start(TEXT)
    await ended(bench, key)
    assert (await bench.payloads(key, "node.completed"))[0]["outputs"]["text"] == said
    assert await bench.payloads(key, "weftwork.envelope.recorded") == []


@pytest.mark.parametrize("documents", [[ASKS, plan("early")], [plan("early"), ASKS]])
async def test_what_stands_beside_a_question_was_made_without_its_answer(documents: list[Any]) -> None:
    model = ScriptedModel(json.dumps(documents), json.dumps(plan("late")))
    bench = EngineHarness(models=model)
    key = await bench.start(TYPED)
    await ended(bench, key)
    assert (await bench.payloads(key, "node.completed"))[0]["outputs"]["payload"] == {"step": "late"}
    assert "Ann" in model.requests[1].messages[-1].content


async def test_a_kind_that_was_not_wanted_comes_to_an_end_that_is_told() -> None:
    model = ScriptedModel(*[json.dumps({"type": NOTE, "payload": {}})] * 9)
    bench = EngineHarness(models=model)
    key = await bench.start(TYPED)
    await ended(bench, key)
    kinds = await bench.event_types(key)
    assert kinds[-4:] == ["envelope.retry.exhausted", "cap.breached", "node.failed", "run.failed"]
    assert (await bench.payloads(key, "envelope.retry.exhausted"))[0]["finalReason"] == "type-mismatch"
    assert len(model.requests) == bench.runtime.limits.schema_rounds + 1


@pytest.mark.parametrize("guarded", [True, False])
async def test_calls_of_tools_and_names_of_models_hold_no_secret(
    guarded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not guarded:
        monkeypatch.setattr(model_calls.EntryModelCalls, "redact_tool_calls", lambda self, calls: calls)
    tools = ({"id": "1", "name": "send", "arguments": {"to": SECRET}},)
    said: list[AnswerPiece] = ["a ", "b", AnswerEnd("stop", TokenUsage(1, 1), f"m-{SECRET}", tool_calls=tools)]
    bench = EngineHarness(models=ScriptedModel(said))
    document = workflow([node("a", "core.ai.callPrompt", config={"prompt": "Well?"})], variables=HIDES)
    key = await bench.start(document, inputs={"word": SECRET})
    await ended(bench, key)
    chunk = (await bench.payloads(key, "output.chunk"))[-1]
    assert chunk["meta"]["toolCalls"][0]["name"] == "send"
    assert any(SECRET.encode() in event.payload for event in await bench.events(key)) is not guarded


async def test_what_a_provider_raises_is_not_repeated_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    class RaisingModel(ScriptedModel):
        def find(self, request: Any) -> Any:
            raise KeyError(f"key {SECRET}")

    with caplog.at_level(logging.DEBUG):
        bench = EngineHarness(models=RaisingModel())
        key = await bench.start(TEXT)
        await ended(bench, key)
        assert (await bench.payloads(key, "node.failed"))[0]["error"]["code"] == "provider_unavailable"
    (told,) = [each for each in caplog.records if each.message == "provider raised"]
    assert "KeyError in " in told.__dict__["error"]
    assert SECRET not in str([each.__dict__ for each in caplog.records])


async def test_the_end_of_all_attempts_is_told_of_an_item_too() -> None:
    body = {"typeId": "core.ai.structuredOutput", "config": {"outputSchema": {"type": "object"}, "prompt": "?"}}
    items = {"items": {"type": "static", "value": [1]}}
    bench = EngineHarness(models=ScriptedModel(*["[]"] * 9))
    key = await bench.start(workflow([node("a", "core.flow.map", config={"body": body}, inputs=items)]))
    await ended(bench, key)
    assert len(await bench.payloads(key, "envelope.retry.exhausted")) == 1


def test_turns_have_a_bound_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> int:
        model = ScriptedModel(*[json.dumps([ASKS])] * 9)
        bench = EngineHarness(models=model)
        key = await bench.start(TYPED)
        await ended(bench, key)
        assert await bench.status(key) == "failed"
        return len(model.requests)

    assert run(work) == 4
    monkeypatch.setattr(generation, "MAX_TURNS", 2)
    assert run(work) == 2
