"""Runs with models that say anything at all, while everything around them breaks."""

import asyncio
import random
from collections.abc import AsyncGenerator
from itertools import pairwise
from typing import Any

import msgspec

from tests.harness.definitions import edge, node, variable, workflow
from tests.simulation.interrupts.interrupt_schedule import ACTION_WEIGHTS, InterruptSchedule
from tests.simulation.interrupts.interrupt_workflows import SECRET
from tests.simulation.models.model_oracle import check_envelopes
from tests.simulation.random_schedule import Weights
from weftwork.ports.models import AnswerEnd, Delta, ModelRequest, ProviderFault
from weftwork.protocol.media.message_parts import Modality
from weftwork.protocol.models.answers import TokenUsage
from weftwork.testing.deterministic import ManualClock

PLAN, NOTE, GHOST = "vendor.acme.plan", "vendor.acme.note", "vendor.acme.ghost"
STEPS = {"type": "object", "required": ["steps"], "properties": {"steps": {"type": "array"}}}
KINDS = {PLAN: {"version": 1, "schema": STEPS}, NOTE: {"version": 2, "schema": {}}}
SURFACE = {"catalogVersion": "0.9.1", "surface": {"components": [{"component": "text", "text": "Hello"}]}}
PAYLOADS: dict[str, list[Any]] = {
    PLAN: [{"steps": []}, {"steps": ["pay", SECRET]}, {"steps": [{"deep": [None, 1]}], SECRET: 1}, {"step": 1}, "x"],
    NOTE: [{"text": "Aside."}, {"reasoning": f"because {SECRET}"}, 7, None],
    GHOST: [{}],
    "error": [{"code": "no_data", "message": f"No {SECRET}."}, {"code": 1}],
    "schema.request": [{"envelopeType": PLAN}, {"envelopeType": NOTE}, {"envelopeType": GHOST}],
    "schema.response": [{"envelopeType": PLAN, "ack": True}],
    "clarification.request": [
        {"questions": [{"id": "a", "question": f"Is it {SECRET}?"}, {"id": "b", "question": "B?"}]},
        {"questions": [{"id": "a", "question": "A?", "schema": {"type": "string"}}]},
        {"questions": []},
    ],
    "ui.a2ui-surface": [SURFACE],
}
KIND_WEIGHTS = dict(zip(PAYLOADS, (9, 5, 1, 1, 3, 1, 4, 1), strict=True))
PLAIN_TEXT = "Well, it depends."
"""What is hidden once a node has said it that hides what it says, and an id that somebody may have used before."""
MODEL_ACTION_WEIGHTS: Weights = {
    **ACTION_WEIGHTS,
    "wake": 40,
    "answer": 40,
    "crash": 8,
    "kill": 8,
    "wrong": 2,
    "repeat": 2,
    "days": 0,
    "back": 1,
}


class RandomModel:
    """A model that outlives every process. What it says depends on nothing but chance; it remembers what it said."""

    name = "test"
    default_model = "test-1"
    names = ("test",)
    input_modalities: frozenset[Modality] = frozenset()

    def __init__(self, dice: random.Random, clock: ManualClock) -> None:
        self._rng = dice
        self._clock = clock
        self.answers: list[str] = []
        self.requests = 0
        self.is_deterministic = False
        """Whether it pulls itself together, so that the run comes to an end."""

    def modalities(self, model: str) -> frozenset[Modality]:
        return self.input_modalities

    def find(self, request: ModelRequest) -> "RandomModel":
        return self

    async def generate(self, request: ModelRequest) -> AsyncGenerator[Delta | AnswerEnd, None]:
        dice = self._rng
        self.requests += 1
        text, end = self._answer(request)
        self.answers.append(text)
        cuts = sorted(dice.randrange(len(text) + 1) for _ in range(dice.choice([0, 0, 1, 3, 8])))
        parts = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)] if text else []
        knows = dice.random() < 0.5
        for at, part in enumerate(parts):
            if dice.random() < 0.3:
                await self._wait()
            yield Delta(part, knows and at == len(parts) - 1 and isinstance(end, AnswerEnd))
        await self._wait()
        if isinstance(end, Exception):
            raise end
        if end is not None:
            yield end

    async def _wait(self) -> None:
        if self._rng.random() < 0.5:
            await asyncio.sleep(0)
        elif self._rng.random() < 0.3:
            await self._clock.sleep(self._rng.choice([1, 50]))

    def _answer(self, request: ModelRequest) -> tuple[str, AnswerEnd | Exception | None]:
        dice = self._rng
        end: AnswerEnd | Exception | None = AnswerEnd("stop", TokenUsage(1, dice.randrange(5)))
        if self.is_deterministic:
            return msgspec.json.encode({"type": PLAN, "payload": {"steps": []}, "steps": []}).decode(), end
        luck = dice.random()
        if luck < 0.03:
            return f"I cannot tell {SECRET}", AnswerEnd(
                "content-filter", TokenUsage(1, 1), refusal=f"No, not {SECRET}."
            )
        if luck < 0.06:
            away = ProviderFault("provider_unavailable", "It is away.")
            down = ProviderFault("provider_overloaded", "It is down.", wait_ms=dice.choice([1, 3_000, 10**9]))
            end = dice.choice([away, down, RuntimeError("bug"), None])
        elif luck < 0.13:
            end = dice.choice(
                [AnswerEnd("length", TokenUsage(1, 9), detail="max_tokens"), AnswerEnd("other", detail="stop_sequence")]
            )
        return self._text(), end

    def _text(self) -> str:
        dice = self._rng
        luck = dice.random()
        if luck < 0.12:
            return dice.choice(["", PLAIN_TEXT, f"The word is {SECRET}, I think.", '{"steps": [', '{"steps": []}'])
        documents = self._documents()
        text = msgspec.json.encode(documents[0] if len(documents) == 1 else documents).decode()
        if luck < 0.25:
            return f"Here it is:\n```json\n{text}\n```\nAnything else?"
        return text if luck < 0.95 else text[: dice.randrange(len(text))]

    def _documents(self) -> list[Any]:
        dice = self._rng
        count = dice.choices([1, 2, 3, 7], [12, 5, 2, 1])[0]
        found: list[Any] = []
        for _ in range(count):
            (kind,) = dice.choices(list(KIND_WEIGHTS), list(KIND_WEIGHTS.values()))
            document: dict[str, Any] = {"type": kind, "payload": dice.choice(PAYLOADS[kind])}
            if dice.random() < 0.4:
                document["correlationId"] = dice.choice(["c0", "c1", "c2", "c3", f"c-{SECRET}", PLAIN_TEXT, ""])
            if dice.random() < 0.2:
                document["schemaVersion"] = dice.choice([0, 1, 2, 3])
            found += self._pieces(document) if dice.random() < 0.1 else [document]
        return found

    def _pieces(self, document: dict[str, Any]) -> list[Any]:
        dice = self._rng
        text = msgspec.json.encode(document["payload"]).decode()
        middle, name = len(text) // 2, document.get("correlationId") or f"p{dice.randrange(3)}"
        first = {"isPartial": True, "index": 0, "total": 2}
        last = {"isPartial": False, "index": 1, "total": dice.choice([2, 2, 2, 3])}
        made = [
            {**document, "correlationId": name, "payload": text[:middle], "partial": first},
            {**document, "correlationId": name, "payload": text[middle:], "partial": last},
        ]
        return made if dice.random() < 0.8 else [dice.choice(made)]


def random_node(dice: random.Random, name: str) -> dict[str, Any]:
    kind = dice.choice(["typed", "typed", "typed", "text", "text", "filled", "map", "map"])
    settings = {"maxRetries": dice.choice([0, 1, 2]), "retryDelayMs": 1}
    if dice.random() < 0.2:
        settings["timeoutMs"] = dice.choice([20, 1_000])
    more: dict[str, Any] = {"settings": settings}
    if dice.random() < 0.7:
        contract: dict[str, Any] = {"refusalMode": dice.choice(["fail-node", "discard-and-warn"])}
        if dice.random() < 0.6:
            contract["accepts"] = dice.choice([[PLAN], [PLAN, NOTE]])
        contract["artifacts"] = [each for each in contract.get("accepts", [NOTE]) if dice.random() < 0.5]
        more["envelopeContract"] = contract
    asks: dict[str, tuple[str, dict[str, Any]]] = {
        "typed": ("generateEnvelope", {"envelopeType": PLAN, "userMessage": "Plan it."})
    }
    asks["text"] = (dice.choice(["callPrompt", "chatCompletion"]), {"prompt": "Is {{variables.hidden}} fine?"})
    asks["filled"] = ("structuredOutput", {"prompt": "Fill it.", "outputSchema": STEPS})
    if kind == "text" and dice.random() < 0.3:
        more["outputSensitivity"] = {"content": True}
    if kind != "map":
        return node(name, f"core.ai.{asks[kind][0]}", config=asks[kind][1], **more)
    body, config = asks[dice.choice(list(asks))]
    if "hidden" in str(config):
        config = {"prompt": "Well?"}
    config = {
        "items": [1, 2, 3],
        "concurrency": dice.choice([1, 2]),
        "body": {"typeId": f"core.ai.{body}", "config": config},
    }
    more.pop("envelopeContract", None)
    return node(name, "core.flow.map", config=config, **more)


def random_workflow(dice: random.Random) -> dict[str, Any]:
    """A small graph of nodes that ask models; some go round."""
    names = [f"n{index}" for index in range(dice.randint(1, 3))]
    nodes, edges = [random_node(dice, name) for name in names], []
    for before, after in pairwise(names):
        if dice.random() < 0.4:
            edges.append(edge(before, after, dice.choice(["all_success", "all_complete"])))
    variables = [variable("hidden", "string", sensitive=True), variable("n", "number", defaultValue=0)]
    if dice.random() < 0.3:
        port = {"value": {"type": "expression", "expression": "variables.n + 1.0"}}
        nodes.append(node("count", "core.setVariable", config={"name": "n"}, inputs=port))
        again = {"type": "expression", "expression": "variables.n < 3.0"}
        edges += [edge(names[-1], "count", "all_complete"), edge("count", names[-1], condition=again)]
    return workflow(nodes, edges, variables, metadata={"envelopeKinds": KINDS})


class ModelSchedule(InterruptSchedule):
    def __init__(self, rng: random.Random, weights: Weights | None = None, faults: bool = True) -> None:
        clock = ManualClock()
        self.model = RandomModel(rng, clock)
        super().__init__(rng, weights or MODEL_ACTION_WEIGHTS, faults, clock=clock, models=self.model)
        self.has_exact_times = False

    async def finish(self) -> None:
        self.model.is_deterministic = True
        await super().finish()

    async def check_end(self) -> None:
        await super().check_end()
        await check_envelopes(self)
