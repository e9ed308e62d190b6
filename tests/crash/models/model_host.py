"""Hosts whose runs talk to a model that asks, and a person who answers it."""

import contextlib
import json
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.crash.client import CONNECTION_ERRORS
from tests.crash.restartable_host import RestartableHost
from tests.harness.definitions import edge, node
from tests.live import Host, until
from tests.live.steering import answer_over_http, events, flow
from tests.simulation.models import model_oracle as oracle
from weftwork.engine.sdk.generation import STRUCTURED_KIND
from weftwork.protocol.json import schema
from weftwork.protocol.run.events import Fact

PLAN, NOTE = "vendor.acme.plan", "vendor.acme.note"
PLAN_SCHEMA = {"type": "object", "required": ["steps"], "properties": {"steps": {"type": "array"}}}
CLARIFICATION = {"questions": [{"id": "who", "question": "Who?"}]}
MODEL_ENVELOPES: list[Any] = [
    {"type": "clarification.request", "correlationId": "1", "payload": CLARIFICATION},
    [
        {"type": "schema.request", "correlationId": "1", "payload": {"envelopeType": PLAN}},
        {"type": NOTE, "payload": {"text": "Aside."}},
    ],
    {"type": PLAN, "correlationId": "1", "payload": {"steps": ["pay"]}},
]
LONG_TEXT = "To be, or not to be, that is the question: whether it is nobler in the mind to suffer."
SCRIPT: dict[str, Any] = {
    "nodes": {
        "plan": [{"content": json.dumps(each), "delayMsPerToken": 1} for each in MODEL_ENVELOPES],
        "talk": [{"content": LONG_TEXT, "delayMsPerToken": 1}],
        "again": [{"content": '{"steps": 1}'}, {"content": '{"steps": [1]}'}],
    },
    "default": {"content": '{"steps": []}', "delayMsPerToken": 3},
}
MODEL_WORKFLOW = flow(
    "talks",
    [
        node(
            "plan",
            "core.ai.generateEnvelope",
            config={"envelopeType": PLAN, "userMessage": "Plan it."},
            envelopeContract={"accepts": [PLAN, NOTE], "artifacts": [NOTE, PLAN]},
        ),
        node("talk", "core.ai.callPrompt", config={"prompt": "Well?"}),
        node(
            "map",
            "core.flow.map",
            config={
                "items": [1, 2, 3],
                "concurrency": 2,
                "body": {
                    "typeId": "core.ai.structuredOutput",
                    "config": {"prompt": "Fill it.", "outputSchema": PLAN_SCHEMA},
                },
            },
        ),
        node("again", "core.ai.structuredOutput", config={"prompt": "Fill it.", "outputSchema": PLAN_SCHEMA}),
    ],
    [edge("plan", "again")],
    metadata={"envelopeKinds": {PLAN: {"version": 1, "schema": PLAN_SCHEMA}, NOTE: {"version": 1, "schema": {}}}},
)
TEXTS = [LONG_TEXT, '{"steps": []}', '{"steps": 1}', '{"steps": [1]}', *map(json.dumps, MODEL_ENVELOPES)]


class ModelHost(RestartableHost):
    workflows = (MODEL_WORKFLOW,)

    def __init__(self, folder: Path, sabotage: str | None = None) -> None:
        super().__init__(folder, sabotage)
        script = folder / "script.json"
        script.write_text(json.dumps(SCRIPT))
        self.arguments = ("--model-script", script)


class AnsweringClient:
    """Starts runs and answers what their models ask, for as long as there is a host."""

    def __init__(self) -> None:
        self.runs: list[str] = []

    def start_runs(self, host: Host, count: int) -> None:
        with contextlib.suppress(*CONNECTION_ERRORS):
            for _ in range(count):
                answer = host.call("POST", "/v1/runs", {"workflowId": "talks"})
                if answer.status == 201:
                    self.runs.append(answer.document["runId"])

    def run_until_host_gone(self, host: Host) -> None:
        """One run after the other, until the host dies: how many commits one takes depends on how busy it is."""
        for _ in range(5):
            if host.process.poll() is None:
                self.start_runs(host, 1)
                self.answer_until_ended(host)

    def answer_until_ended(self, host: Host) -> None:
        """Until all runs have ended, or the host has."""

        def look() -> bool:
            if host.process.poll() is not None:
                return True
            return all(tuple(self._advance_run(host, run_id) for run_id in self.runs))

        with contextlib.suppress(*CONNECTION_ERRORS):
            until(look, "the runs to end")

    def _advance_run(self, host: Host, run_id: str) -> bool:
        answer = host.call("GET", f"/v1/runs/{run_id}")
        status = answer.document.get("status") if answer.status == 200 else None
        if status == "waiting-input":
            answer_over_http(host, run_id, "plan", {"answers": {"who": "Ann"}})
        return status in ("completed", "failed", "cancelled")


def check_runs(host: Host, person: AnsweringClient, told: bool = True) -> None:
    """Every run comes to its end as if nothing had happened, and nothing in its log happened twice.

    `told`: the store told of all that it has stored.
    """
    person.answer_until_ended(host)
    for run_id in person.runs:
        log = events(host, run_id)
        assert log[-1]["type"] == "run.completed", log[-1]
        for each in log:
            assert schema.check_payload(each["type"], each["payload"]) == [], each
        check_log(log, told)


def check_log(log: list[dict[str, Any]], told: bool) -> None:
    nodes = {each["id"]: each for each in MODEL_WORKFLOW["nodes"]}
    facts = [Fact(each["sequence"], each["type"], each["payload"], 0, each.get("nodeId")) for each in log]
    causes: list[Any] = [SimpleNamespace(causation_id=each.get("causationId")) for each in log]
    oracle.check_records(causes, facts, nodes)
    oracle.check_answers(facts, TEXTS * 50)
    if told:
        oracle.check_chunks(facts, nodes)
    oracle.check_outputs(facts, nodes)
    found = Counter(each["payload"]["type"] for each in log if each["type"] == "weftwork.envelope.recorded")
    # A process that is new begins its script anew: then the model may ask, want and note the same once more.
    assert found.keys() == {"clarification.request", "schema.request", NOTE, PLAN, STRUCTURED_KIND}
    assert (found[PLAN], found[STRUCTURED_KIND]) == (1, 4), found
