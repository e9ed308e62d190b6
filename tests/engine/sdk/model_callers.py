"""Every way in which a workflow can call a model, as workflows of one node, with a host that shows what models get."""

import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import weftwork
from tests.harness.definitions import edge, node, workflow
from tests.live.in_process_host import InProcessHost, open_in_process
from tests.live.workflows import chain
from weftwork.ports.models import ModelRequest
from weftwork.protocol.json import schema

TICKET, BILL = "vendor.example.ticket", "vendor.example.bill"
SHAPE = {"type": "object", "required": ["title"], "properties": {"title": {"type": "string"}}}
STRICT = {**SHAPE, "additionalProperties": False}
VALUE = '{"title": "Lamp"}'
"""An answer that every caller accepts: a text, a value, and the payload of a ticket."""
HAS_VALUE = {"type": "notEquals", "left": "data", "right": None}
HAS_ERROR = {"type": "contains", "left": "error", "right": "code"}
MODULE = "tests.engine.sdk.model_callers"
SEAM = "/v1/host/sample/test/mock-ai/program"


@weftwork.node("acme.text")
async def text(ctx: weftwork.Context) -> Any:
    return await ctx.call_ai("Well?", system="You are brief.")


@weftwork.node("acme.value")
async def value(ctx: weftwork.Context) -> Any:
    return await ctx.call_ai("Well?", schema=STRICT)


@weftwork.node("acme.plain-value")
def plain_value(ctx: weftwork.PlainContext) -> Any:
    return ctx.call_ai("Well?", schema={"type": "object"})


@weftwork.node("acme.envelope")
async def envelope(ctx: weftwork.Context) -> Any:
    return await ctx.generate_envelope(TICKET, "Well?")


WRITER = "prompt:conformance.prompt.writer-system@1.0.0"
CONFIGS: dict[str, tuple[str, dict[str, Any]]] = {
    "prompt": ("core.ai.callPrompt", {"prompt": "Well?"}),
    "chat": ("core.ai.chatCompletion", {"prompt": "Well?"}),
    "loose": ("core.ai.structuredOutput", {"prompt": "Well?", "outputSchema": {"type": "object"}}),
    "strict": ("core.ai.structuredOutput", {"prompt": "Well?", "outputSchema": STRICT}),
    "typed": ("core.ai.generateEnvelope", {"userMessage": "Well?", "envelopeType": TICKET}),
    "mock": ("local.sample.demo.mock-ai", {"prompt": "Well?", "systemPromptRef": WRITER}),
    "py-text": ("acme.text", {}),
    "py-value": ("acme.value", {}),
    "py-plain": ("acme.plain-value", {}),
    "py-envelope": ("acme.envelope", {}),
}
TEXTS = ("prompt", "chat", "mock", "py-text")
VALUES = ("loose", "strict", "py-value", "py-plain")
ENVELOPES = ("typed", "py-envelope")
CALLERS = (*TEXTS, *VALUES, *ENVELOPES)
SURFACE_CONFIG = {"userMessage": "Well?", "envelopeType": "ui.a2ui-surface"}


def caller_workflows() -> list[dict[str, Any]]:
    """A workflow for each caller, and one that calls it for the single item of a map."""
    metadata = {"envelopeKinds": {kind: {"schema": SHAPE} for kind in (TICKET, BILL)}}
    found: list[dict[str, Any]] = []
    for name, (type_id, config) in CONFIGS.items():
        body = {"typeId": type_id, "config": config}
        found.append(chain(name, [node(name, type_id, config=config)], metadata=metadata))
        mapped = node(f"map-{name}", "core.flow.map", config={"items": [1], "body": {**body, "inputs": {}}})
        found.append(chain(f"map-{name}", [mapped], metadata=metadata))
    for name, config in (("surface", SURFACE_CONFIG), ("surface-output", {**SURFACE_CONFIG, "asks": False})):
        found.append(chain(name, [node(name, "core.ai.generateEnvelope", config=config)]))
    contract = {"accepts": ["ui.a2ui-surface"]}
    type_id, config = CONFIGS["typed"]
    found.append(chain("form", [node("form", type_id, config=config, envelopeContract=contract)], metadata=metadata))
    return [*found, branching_workflow()]


def branching_workflow() -> dict[str, Any]:
    """A value leads to one node, an error of the model to another."""
    type_id, config = CONFIGS["strict"]
    nodes = [node("branch", type_id, config=config), node("value"), node("error")]
    edges = [edge("branch", "error", condition=HAS_ERROR), edge("branch", "value", condition=HAS_VALUE)]
    return workflow(nodes, edges, id="branch", name="branch", version="1.0")


class CallerHost:
    """A host with these workflows; `requests` holds what its models were asked since the last start of a run."""

    def __init__(self, inside: InProcessHost) -> None:
        self.inside = inside
        self.requests: list[ModelRequest] = []
        take = inside.programs.take

        def recording(request: ModelRequest) -> Any:
            self.requests.append(request)
            return take(request)

        inside.programs.take = recording  # type: ignore[method-assign]

    async def start(self, name: str, *answers: str) -> str:
        self.requests.clear()
        program = {"nodeId": name, "program": [{"content": each} for each in answers]}
        assert (await self.inside.call("POST", SEAM, program)).status == 200
        created = await self.inside.call("POST", "/v1/runs", {"workflowId": name})
        assert created.status == 201, created.body
        return created.document["runId"]

    async def wait_for_interrupt(self, run_id: str, after: int = -1) -> dict[str, Any]:
        """The first request of an interrupt after this sequence."""
        for _ in range(100):
            page = await self._page(run_id, after)
            found = [each for each in page["events"] if each["type"] == "interrupt.requested"]
            if found:
                return found[0]
            assert not page["isComplete"], f"the run asks nothing: {page['events'][-1]}"
            after = page["events"][-1]["sequence"] if page["events"] else after
        raise AssertionError("the run asks nothing")

    async def answer(self, run_id: str, node_id: str, answers: dict[str, Any]) -> None:
        path = f"/v1/runs/{run_id}/interrupts/{node_id}"
        given = await self.inside.call("POST", path, {"resumeValue": {"answers": answers}})
        assert given.status == 200, given.body

    async def log(self, run_id: str) -> list[dict[str, Any]]:
        """All events of a run, once it has ended."""
        events: list[dict[str, Any]] = []
        for _ in range(100):
            page = await self._page(run_id, events[-1]["sequence"] if events else -1)
            events += page["events"]
            if page["isComplete"]:
                for event in events:
                    assert schema.check_payload(event["type"], event["payload"]) == [], event
                return events
            assert events[-1]["type"] != "node.suspended", f"the run waits: {events[-1]}"
        raise AssertionError(f"the run does not end: {events[-1]}")

    async def run(self, name: str, *answers: str) -> list[dict[str, Any]]:
        return await self.log(await self.start(name, *answers))

    async def _page(self, run_id: str, last: int) -> dict[str, Any]:
        path = f"/v1/runs/{run_id}/events/poll?lastSequence={last}&timeout=15"
        return (await self.inside.call("GET", path)).document


@contextlib.asynccontextmanager
async def open_callers(**settings: Any) -> AsyncIterator[CallerHost]:
    more = {"test_seams": True, "conformance": True, "nodes": (MODULE,), **settings}
    async with open_in_process(*caller_workflows(), **more) as inside:
        yield CallerHost(inside)


def sent(kind: str, payload: Any, **members: Any) -> str:
    return json.dumps({"type": kind, "payload": payload, **members})


def of(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [each["payload"] for each in events if each["type"] == kind]


def recorded(events: list[dict[str, Any]]) -> list[str]:
    """The kinds of the envelopes that were recorded, without that of structured values."""
    kinds = [each["type"] for each in of(events, "weftwork.envelope.recorded")]
    return [kind for kind in kinds if not kind.startswith("vendor.weftwork.")]


def outputs(events: list[dict[str, Any]], name: str) -> dict[str, Any]:
    assert events[-1]["type"] == "run.completed", events[-1]
    found = events[-1]["payload"]["outputs"][name]
    return found["results"][0] if name.startswith("map-") else found
