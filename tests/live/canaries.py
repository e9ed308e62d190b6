"""Canaries: secrets that models repeat wherever they can, and everything that a host shows of a run."""

import http.client
import json
import random
import string
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from tests.harness.definitions import edge, node, variable, workflow
from tests.live.host import KEY, TIMEOUT_SECONDS, Host
from tests.live.stream import Stream, frames

PLAN, NOTE = "vendor.acme.plan", "vendor.acme.note"
STEPS = {
    "type": "object",
    "required": ["steps"],
    "properties": {"steps": {"type": "array"}, "level": {"enum": ["low", "high"]}, "count": {"type": "integer"}},
}
KINDS = {PLAN: {"version": 1, "schema": STEPS}, NOTE: {"version": 1, "schema": {}}}
CONTRACTS: list[Any] = [
    None,
    {"accepts": [PLAN]},
    {"accepts": [PLAN], "refusalMode": "discard-and-warn"},
    {"accepts": [PLAN, NOTE], "artifacts": [PLAN, NOTE]},
]
PROGRAM = "/v1/host/sample/test/mock-ai/program"


def canary_workflows() -> list[dict[str, Any]]:
    """One for each way to ask a model: it hears the secret or not, and what the first node says is a secret too."""
    asks: dict[str, tuple[str, dict[str, Any]]] = {
        "text": ("callPrompt", {"prompt": "Well?"}),
        "chat": ("chatCompletion", {"prompt": "Well?"}),
        "hears": ("callPrompt", {"prompt": "Is {{variables.pw}} fine?"}),
        "fills": ("structuredOutput", {"prompt": "Fill it.", "outputSchema": STEPS}),
    }
    typed = ("generateEnvelope", {"envelopeType": PLAN, "userMessage": "Plan it."})
    asks |= {f"typed{at}": typed for at in range(len(CONTRACTS))}
    made: list[dict[str, Any]] = []
    for name, (kind, config) in asks.items():
        more: dict[str, Any] = {}
        if name.startswith("typed") and (contract := CONTRACTS[int(name[5:])]) is not None:
            more["envelopeContract"] = contract
        nodes = [
            node(f"{name}-first", "core.ai.callPrompt", config={"prompt": "?"}, outputSensitivity={"text": True}),
            node(name, f"core.ai.{kind}", config=config, **more),
        ]
        variables = [variable("pw", "object", sensitive=True)]
        made.append(
            workflow(
                nodes, [edge(*(each["id"] for each in nodes))], variables, id=name, metadata={"envelopeKinds": KINDS}
            )
        )
    return made


WORKFLOW_CHOICES = [*(each["id"] for each in canary_workflows()), "text", "typed3", "typed3"]
"""The workflows, some of them more than once: they are run more often."""


def canary(dice: random.Random) -> str:
    """Some can stand in a name, others have to be written differently in JSON."""
    text = "k" + "".join(dice.choices(string.ascii_lowercase + string.digits, k=dice.choice([14, 14, 14, 90])))
    return text if dice.random() < 0.6 else f"{text[:7]}{dice.choice(['é', chr(34), chr(92), ' ', chr(10)])}{text[7:]}"


def encoded_forms(secret: str) -> list[bytes]:
    """The secret, or the end of a long one, as it may stand in an answer of the host: as it is, in JSON, and in JSON
    that stands in JSON."""
    found = {secret, secret[-24:]}
    for _ in range(3):
        found |= {json.dumps(each, ensure_ascii=pure)[1:-1] for each in found for pure in (True, False)}
    return [each.encode() for each in found]


class SecretRepeatingModel:
    """What a model says that has heard of secrets."""

    def __init__(self, dice: random.Random, secrets: list[str]) -> None:
        self._dice = dice
        self._secrets = secrets

    def word(self) -> str:
        secret = self._dice.choice(self._secrets)
        return self._dice.choice([secret, secret, f"x{secret}", f"say {secret}{secret} now"])

    def value(self, depth: int = 0) -> Any:
        dice = self._dice
        luck = dice.random() if depth < 4 else 0.0
        if luck < 0.5:
            return dice.choice([self.word(), self.word(), None, 7, "plain"])
        if luck < 0.75:
            return [self.value(depth + 1) for _ in range(dice.randrange(4))]
        return {
            dice.choice([self.word(), "a", "b", "reasoning"]): self.value(depth + 1) for _ in range(dice.randrange(4))
        }

    def document(self) -> dict[str, Any]:
        dice, word = self._dice, self.word
        questions = [{"id": dice.choice(["a", word()]), "question": f"Is it {word()}?", "context": self.value()}]
        if dice.random() < 0.4:
            questions[0]["schema"] = {"type": "string", "title": word(), "enum": [word(), "no"]}
        payloads: dict[str, Any] = {
            PLAN: {"steps": [self.value()], word(): self.value(), "reasoning": word()},
            NOTE: self.value(),
            f"vendor.acme.{self._secrets[0]}": {},
            "error": {"code": word(), "message": word(), "details": {word(): 1}},
            "schema.request": {"envelopeType": dice.choice([PLAN, f"vendor.acme.{word()}"])},
            "clarification.request": {"questions": questions, "contextType": word()},
        }
        if dice.random() < 0.3:
            # One that does not fit: what is said about it must not repeat it.
            payloads[PLAN] = {"steps": word(), "level": word(), word(): 1, "count": word()}
        kind = dice.choice([PLAN, PLAN, NOTE, "clarification.request", *payloads])
        made: dict[str, Any] = {"type": kind, "payload": payloads[kind]}
        for name, often in (("correlationId", 0.3), ("envelopeId", 0.2), ("nodeId", 0.1), (word(), 0.04)):
            if dice.random() < often:
                made[name] = word()
        if dice.random() < 0.1:
            made["meta"] = {"source": word(), "ts": dice.choice(["2026-01-31T08:05:09Z", word()])}
        return made

    def entry(self) -> dict[str, Any]:
        """One answer, cut anywhere."""
        dice, text = self._dice, f"The word is {self.word()}, they say; {self.word()}."
        luck = dice.random()
        if luck < 0.7:
            documents = [self.document() for _ in range(dice.choice([1, 1, 2, 3]))]
            text = json.dumps(documents if len(documents) > 1 else documents[0], ensure_ascii=dice.random() < 0.5)
            text = dice.choice([text, text, f"So, {self.word()}:\n```json\n{text}\n```\n{self.word()}"])
        if dice.random() < 0.1:
            text = text[: dice.randrange(len(text))]
        cuts = sorted(dice.randrange(len(text) + 1) for _ in range(dice.choice([0, 1, 5])))
        made: dict[str, Any] = {
            "chunks": [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)],
            "stopReason": dice.choices(["end_turn", "max_tokens", self.word()[:64]], [10, 1, 1])[0],
        }
        if dice.random() < 0.1:
            made |= {"stopReason": "refusal", "refusalText": text, "safetyCategory": self.word()[:64]}
        return made


class HostOutputs:
    """All that a host shows of its runs, over one connection."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._connection = http.client.HTTPConnection("127.0.0.1", host.port, timeout=TIMEOUT_SECONDS)

    def close(self) -> None:
        self._connection.close()

    def call(self, method: str, path: str, document: Any = None, accept: str = "application/json") -> tuple[int, bytes]:
        headers = {"Authorization": f"Bearer {KEY}", "Accept": accept, "Content-Type": "application/json"}
        self._connection.request(method, path, None if document is None else json.dumps(document).encode(), headers)
        response = self._connection.getresponse()
        return response.status, response.read()

    def of(self, run_id: str, node_id: str, mode: str) -> Iterator[tuple[str, bytes]]:
        """Of a run that has ended or waits; of the modes of a stream this one."""
        run = f"/v1/runs/{run_id}"
        yield "snapshot", self.call("GET", run)[1]
        events = self.call("GET", f"{run}/events")[1]
        yield "events", events
        yield "poll", self.call("GET", f"{run}/events/poll?lastSequence=-1&timeout=1")[1]
        yield "bundle", self.call("GET", f"{run}/debug-bundle")[1]
        yield "spans", self.call("GET", f"/v1/host/sample/test/otel/spans?runId={run_id}")[1]
        yield "test events", self.call("GET", f"/v1/host/sample/test/runs/{run_id}/events")[1]
        yield "runs", self.call("GET", "/v1/runs?limit=5")[1]
        log = json.loads(events)["events"]
        # A secret that was cut in two would be found in no event.
        pieces = [each for each in log if each["type"] == "output.chunk"]
        yield "chunks", "".join(each["payload"]["chunk"] for each in pieces).encode()
        for each in log:
            if each["type"] == "artifact.created":
                yield (
                    "artifact",
                    self.call("GET", f"{run}/artifacts/{quote(each['payload']['artifactId'], safe='')}")[1],
                )
        if log[-1]["type"].startswith("run."):
            opened: Stream = self._host.stream(run_id, f"?streamMode={mode}")
            body = opened.finish()
            yield f"stream {mode}", body
            if mode == "messages":
                yield "messages", "".join(each.document["chunk"] for each in frames(body)).encode()
        else:
            inbox = self.call("GET", f"/v1/host/weftwork/interrupts?runId={run_id}")[1]
            yield "inbox", inbox
            yield "questions", self.call("GET", f"{run}/interrupts?status=all")[1]
            token = json.loads(inbox)["interrupts"][0]["interruptToken"]
            yield "question", self.call("GET", f"/v1/interrupts/{token}")[1]
            yield "page", self.call("GET", f"/v1/interrupts/{token}", accept="text/html")[1]
            status, body = self.call("POST", f"{run}/interrupts/{node_id}", {"resumeValue": {"answers": {"z": 1}}})
            assert status in (400, 422), body
            yield "error", body
