"""Exchanges with a model: requests, attempts, and a process that dies at any point: every handler runs once."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from typing import Any

import msgspec
import pytest

from tests.harness.cases import each_case, fails_without
from tests.harness.child_workflows import CrashingLog
from tests.harness.definitions import node, workflow
from tests.harness.engine_harness import EngineHarness, run_ready_tasks
from tests.harness.scripted_model import AnswerPiece, ScriptedModel
from weftwork.engine.models import model_calls
from weftwork.engine.sdk.answer_attempts import AnswerAttempts
from weftwork.engine.sdk.model_request import append_media, make_message, wrap_text_part
from weftwork.ports.models import AnswerEnd, Delta, Message, ModelRequest, UnresolvedMessage
from weftwork.protocol.media.message_parts import Modality
from weftwork.protocol.models.answers import TokenUsage
from weftwork.protocol.run.header import TERMINAL_STATUSES, RunKey

PLAN = {"type": "object", "required": ["steps"], "properties": {"steps": {"type": "array"}}}
ASKS = {"type": "clarification.request", "payload": {"questions": [{"id": "who", "question": "Who?"}]}}
WANTS = {"type": "schema.request", "payload": {"envelopeType": "vendor.acme.plan"}}
NOTE = {"type": "vendor.acme.note", "payload": {"text": "Aside."}}
GOOD = {"type": "vendor.acme.plan", "schemaVersion": 1, "payload": {"steps": ["pay"]}}
KINDS = {"vendor.acme.plan": {"version": 1, "schema": PLAN}, "vendor.acme.note": {"version": 1, "schema": {}}}
CONTRACT = {"accepts": ["vendor.acme.plan", "vendor.acme.note"], "artifacts": ["vendor.acme.note"]}
TASK = workflow(
    [
        node(
            "a",
            "core.ai.generateEnvelope",
            config={"envelopeType": "vendor.acme.plan", "userMessage": "Plan it."},
            envelopeContract=CONTRACT,
        )
    ],
    metadata={"envelopeKinds": KINDS},
)


class ReplayableModel:
    """A model that answers by what it was told, so that it says the same however often it is asked."""

    name = "test"
    default_model = "test-1"
    names = ("test",)
    input_modalities: frozenset[Modality] = frozenset()

    def __init__(self) -> None:
        self.requests: list[ModelRequest] = []

    def modalities(self, model: str) -> frozenset[Modality]:
        return self.input_modalities

    def find(self, request: ModelRequest) -> "ReplayableModel":
        return self

    async def generate(self, request: ModelRequest) -> AsyncGenerator[Delta | AnswerEnd, None]:
        self.requests.append(request)
        said = [message.content for message in request.messages if message.role == "assistant"]
        documents: list[Any] = [[ASKS], [WANTS, NOTE], [GOOD]][len(said)]
        if len(said) == 2 and "steps" not in request.system.split("vendor.acme.plan")[-1]:
            documents = [GOOD]
        text = msgspec.json.encode(documents).decode()
        yield Delta(text, True)
        await asyncio.sleep(0)
        yield AnswerEnd("stop", TokenUsage(1, 1))


async def lived(number: int, when: str) -> tuple[Counter[str], dict[str, Any], bool]:
    """What is in the log of a run whose process died there, its outputs, and whether it died."""
    bench = EngineHarness(wrap=lambda log: CrashingLog(log, number + 1, when == "after"), models=ReplayableModel())
    dying = bench.log
    key = await bench.start(TASK, at_once=False)
    died = False
    for _ in range(300):
        if dying.died.is_set() and not died:
            died = True
            bench = await bench.restart()
        status = await bench.status(key)
        if status in TERMINAL_STATUSES:
            break
        if status == "waiting-input" and (not dying.died.is_set() or died):
            await answered(bench, key)
        await run_ready_tasks()
    kinds = Counter(await bench.event_types(key))
    (ended,) = await bench.payloads(key, "run.completed")
    await bench.crash()
    return kinds, ended["outputs"]["a"], died


async def answered(bench: EngineHarness, key: RunKey) -> None:
    task = asyncio.create_task(bench.answer(key, {"answers": {"who": "Ann"}}, "a"))
    dying = asyncio.create_task(bench.log.died.wait() if hasattr(bench.log, "died") else asyncio.sleep(10))
    await asyncio.wait((task, dying), return_when=asyncio.FIRST_COMPLETED)
    dying.cancel()
    if not task.done():
        task.cancel()


@pytest.fixture
async def undisturbed() -> tuple[Counter[str], dict[str, Any]]:
    expected, outputs, _ = await lived(-1, "")
    assert outputs["payload"] == {"steps": ["pay"]}
    assert expected["weftwork.envelope.recorded"] == 4
    assert (expected["interrupt.requested"], expected["artifact.created"], expected["log.appended"]) == (1, 1, 1)
    assert expected["weftwork.model.answered"] == expected["provider.usage"] == 3
    return expected, outputs


emit = model_calls.EntryModelCalls.emit_envelope


async def forgetful(self: Any, document: Any, emission: Any) -> Any:
    self._state.envelopes.clear()
    return await emit(self, document, emission)


@pytest.mark.rule("env-26", "model-01")
@fails_without(model_calls.EntryModelCalls, "emit_envelope", forgetful, match="another log")
async def test_a_process_that_dies_anywhere_changes_nothing(undisturbed: tuple[Counter[str], dict[str, Any]]) -> None:
    for when in ("before", "after"):
        for number in range(40):
            found, given, died = await lived(number, when)
            if not died:
                assert number > 8
                break
            del found["run.resuming"]  # a second process adds it
            assert (found, given) == undisturbed, f"another log: {number} {when}"


SCHEMA = {"type": "object", "required": ["valid"], "properties": {"valid": {"type": "boolean"}}}
STRUCTURED = workflow([node("a", "core.ai.structuredOutput", config={"outputSchema": SCHEMA, "prompt": "Well?"})])
VALID = '{"valid": true}'
CUT: list[AnswerPiece] = ['{"val', AnswerEnd("length", TokenUsage(1, 1), detail="max_tokens")]
BAD = '{"valid": "canary-77"}'
PROSE = "It is valid, canary-77."


async def ended(*answers: Any) -> tuple[list[str], dict[str, Any], ScriptedModel, EngineHarness]:
    model = ScriptedModel(*answers)
    bench, key = await EngineHarness(models=model).with_run(STRUCTURED)
    events = await bench.run_to_end(key)
    told = [event.type for event in events if event.type.startswith(("envelope.", "cap.", "node."))]
    failed = await bench.payloads(key, "node.failed")
    refused = any(event.type == "envelope.refusal" for event in events)
    says = ("envelope.refusal",) if refused else ("weftwork.model.answered",)
    assert not any(b"canary-77" in event.payload for event in events if event.type not in says)
    return told[1:], failed[0]["error"] if failed else {}, model, bench


@pytest.mark.rule("rel-20")
async def test_every_attempt_is_told_and_what_is_cut_off_gets_more_room() -> None:
    told, _, model, _ = await ended(CUT, BAD, VALID)
    again = "envelope.retry.attempted"
    assert told == ["envelope.truncated", again, again, "node.completed"]
    rooms = [request.max_tokens for request in model.requests]
    assert rooms[0] is None
    assert rooms[1] == rooms[2]
    first, second, third = (request.system for request in model.requests)
    assert first == second
    assert third.startswith(first)
    assert third != first


@pytest.mark.rule("rel-21")
@each_case(
    "answers, code, total", ([BAD] * 3, "envelope_invalid", 3), ([PROSE] * 4, "envelope_invalid", 4), ([CUT] * 3, "", 3)
)
@fails_without(AnswerAttempts, "_may_retry", lambda self, judged, attempt: attempt < 9, match="where . = len")
async def test_the_end_of_all_attempts_is_told_before_the_node_fails(answers: list[Any], code: str, total: int) -> None:
    told, error, model, bench = await ended(*answers, *answers, VALID)
    assert len(model.requests) == total
    assert told[-3:] == ["envelope.retry.exhausted", "cap.breached", "node.failed"]
    assert error["code"] == (code or "envelope_truncation_unrecoverable")
    assert bench.runtime.limits.schema_rounds == 2


@pytest.mark.rule("rel-20")
async def test_a_refusal_is_final() -> None:
    refusal: list[AnswerPiece] = ["Sorry, canary-77.", AnswerEnd("stop", refusal="No, canary-77.", detail="safety")]
    told, error, model, _ = await ended(refusal, VALID)
    assert told == ["envelope.refusal", "node.failed"]
    assert (error["code"], len(model.requests)) == ("envelope_refusal", 1)


CHAT = workflow(
    [
        node(
            "a",
            "core.ai.callPrompt",
            config={"prompt": "Well?"},
            envelopeContract={"accepts": [], "refusalMode": "discard-and-warn"},
        )
    ],
    metadata={"envelopeKinds": {"vendor.acme.plan": {"schema": {}}}},
)


@pytest.mark.rule("env-08")
@each_case(
    "said, end",
    ('{"type": "schema.request", "payload": {"envelopeType": "vendor.acme.plan"}}', "run.failed"),
    ('{"type": "vendor.acme.plan", "payload": {}}', "run.completed"),
)
async def test_a_model_that_goes_on_and_on_is_asked_a_few_times(said: str, end: str) -> None:
    model = ScriptedModel(*[said] * 40)
    bench, key = await EngineHarness(models=model).with_run(CHAT)
    assert (await bench.run_to_end(key))[-1].type == end
    assert len(model.requests) == bench.runtime.limits.schema_rounds + 1
    breaches = [each["kind"] for each in await bench.payloads(key, "cap.breached")]
    assert breaches == (["schema"] if end == "run.failed" else [])


PART = {"type": "image", "mediaRef": "a"}
OTHER = {"type": "image", "mediaRef": "b"}
TEXT = {"type": "text", "text": "Look."}
USER = Message("user", "Look.")
MODEL = Message("assistant", "Yes?")


@pytest.mark.rule("media-52")
@each_case(
    "messages, text, parts",
    ([], "", (PART,)),
    ([USER], "Look.", (TEXT, PART)),
    ([MODEL], "", (PART,)),
    ([MODEL, Message("user", "")], "", (PART,)),
    ([MODEL, UnresolvedMessage("user", "Look.", (OTHER, TEXT))], "Look.", (OTHER, TEXT, PART)),
)
def test_media_stand_in_the_last_message_of_the_user(
    messages: list[Message], text: str, parts: tuple[Any, ...]
) -> None:
    *earlier, last = append_media(messages, [PART])
    assert earlier == [each for each in messages if each.role != "user"]
    assert last == UnresolvedMessage("user", text, parts)
    assert append_media(messages, []) == tuple(messages)


@pytest.mark.rule("ai-03")
def test_texts_alone_are_wrapped() -> None:
    odd: list[Any] = [PART, "text", {"type": "text", "text": 1}, {"type": "text"}]
    assert [wrap_text_part(each, str.upper) for each in [TEXT, *odd]] == [{**TEXT, "text": "LOOK."}, *odd]
    made = make_message("user", [TEXT, PART], str.upper)
    assert made == UnresolvedMessage("user", "LOOK.", ({**TEXT, "text": "LOOK."}, PART))
    assert make_message("user", "Look.", str.upper) == Message("user", "LOOK.")
    assert make_message("user", "Look.") == USER
