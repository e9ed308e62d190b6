"""A whole exchange with a model, and a process that dies at any point of it: every handler runs once, nothing is said
twice, and the run ends as if nothing had happened."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from typing import Any

import msgspec
import pytest

from tests.harness.definitions import node, workflow
from tests.harness.engine_harness import EngineHarness, run, run_ready_tasks
from weftwork.engine.models import model_calls
from weftwork.ports.models import AnswerEnd, Delta, ModelRequest
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


class CrashingLog:
    """A log whose process dies at one of its appends: before it is written, or after."""

    def __init__(self, log: Any) -> None:
        self._log = log
        self.number = -1
        self.when = ""
        self.count = 0
        self.died = asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    async def append(self, *arguments: Any) -> Any:
        mine, self.count = self.count, self.count + 1
        if mine == self.number and self.when == "before":
            await self._die()
        found = await self._log.append(*arguments)
        if mine == self.number:
            await self._die()
        return found

    async def _die(self) -> None:
        self.died.set()
        await asyncio.get_running_loop().create_future()


async def lived(number: int, when: str) -> tuple[Counter[str], dict[str, Any], bool]:
    """What is in the log of a run whose process died there, its outputs, and whether it died."""
    bench = EngineHarness(wrap=CrashingLog, models=ReplayableModel())
    bench.log.number, bench.log.when = number, when
    dying = bench.log
    key = await bench.start(TASK, at_once=False)
    died = False
    for _ in range(300):
        if dying.died.is_set() and not died:
            died = True
            await bench.crash()
            bench = bench.successor()
            await bench.executor.recover()
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


def counted(found: Counter[str]) -> dict[str, int]:
    """Without what a second process adds of its own."""
    return {kind: count for kind, count in found.items() if kind != "run.resuming"}


def undisturbed() -> tuple[Counter[str], dict[str, Any]]:
    expected, outputs, _ = run(lambda: lived(-1, ""))
    assert outputs["payload"] == {"steps": ["pay"]}
    assert expected["weftwork.envelope.recorded"] == 4
    assert (expected["interrupt.requested"], expected["artifact.created"], expected["log.appended"]) == (1, 1, 1)
    assert expected["weftwork.model.answered"] == expected["provider.usage"] == 3
    return expected, outputs


def changed(expected: Counter[str], outputs: dict[str, Any]) -> list[tuple[int, str]]:
    """Where a process that died left another log than one that did not."""
    wrong: list[tuple[int, str]] = []
    for when in ("before", "after"):
        for number in range(40):
            found, given, died = run(lambda number=number, when=when: lived(number, when))
            if not died:
                assert number > 8
                break
            if (counted(found), given) != (counted(expected), outputs):
                wrong.append((number, when))
    return wrong


@pytest.mark.rule("env-26", "model-01")
def test_a_process_that_dies_anywhere_changes_nothing() -> None:
    assert changed(*undisturbed()) == []


@pytest.mark.rule("env-26")
def test_without_the_records_handlers_would_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    emit = model_calls.EntryModelCalls.emit_envelope

    async def forgetful(self: Any, document: Any, emission: Any) -> Any:
        self._state.envelopes.clear()
        return await emit(self, document, emission)

    expected = undisturbed()
    monkeypatch.setattr(model_calls.EntryModelCalls, "emit_envelope", forgetful)
    assert changed(*expected) != []
