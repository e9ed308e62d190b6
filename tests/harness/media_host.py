"""Benches with assets, nodes that show media, and models that send them."""

import json
from base64 import b64encode
from typing import Any

import msgspec

from tests.harness.definitions import node, workflow
from tests.harness.engine_harness import EngineHarness
from weftwork.adapters.blobs.memory import MemoryBlobs
from weftwork.engine.sdk.generation import generate_envelope, generate_text
from weftwork.ports.media import OutgoingMedia
from weftwork.ports.models import Message, ModelRequest
from weftwork.ports.node_outcome import Completed, Failed, NodeOutcome
from weftwork.ports.nodes import Emission, NodeCall, NodeContext, WaitingNode
from weftwork.protocol.envelopes.gate_rules import OPEN_CONTRACT, EnvelopeContract
from weftwork.protocol.envelopes.outcome import outcome_document
from weftwork.protocol.limits import Limits
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.run.interrupts import Interrupt
from weftwork.protocol.wire.v1.assets import ASSET_PREFIX
from weftwork.protocol.workflow.node_types import NodeDeclaration

PNG = b"\x89PNG\r\n\x1a\n" + b"p" * 100
ONE_NODE_WORKFLOW = workflow([node("a", "test.show")])
SMALL_LIMITS = Limits(max_inline_media_bytes=len(PNG))


def emit_media_node(*sent: OutgoingMedia, asks: bool = False) -> WaitingNode:
    """A node that shows these, and gives what became of them."""

    async def body(call: NodeCall, context: NodeContext) -> NodeOutcome:
        shown = [msgspec.to_builtins(await context.emit_media(each)) for each in sent]
        if asks:
            await context.ask(Interrupt("custom", "k", {"customKind": "t", "payload": {}}))
        return Completed({"shown": shown})

    return WaitingNode(NodeDeclaration("test.show", "For one test.", effect="idempotent", instant=False), body)


def media_harness(*types: WaitingNode, limits: Limits | None = None, models: Any = None) -> EngineHarness:
    fresh = EngineHarness()
    blobs = MemoryBlobs(fresh.clock, fresh.ids)
    return EngineHarness(*types, limits=limits, models=models, blobs=blobs, clock=fresh.clock, ids=fresh.ids)


async def run_to_end(bench: EngineHarness) -> RunKey:
    key = await bench.start(ONE_NODE_WORKFLOW)
    await bench.run_to_end(key)
    return key


async def outputs(bench: EngineHarness, key: RunKey) -> list[Any]:
    return (await bench.payloads(key, "node.completed"))[0]["outputs"]["shown"]


async def log_bytes(bench: EngineHarness, key: RunKey) -> bytes:
    return b"\n".join([event.document for event in await bench.events(key)])


async def fetch_asset(bench: EngineHarness, url: str) -> bytes:
    assert bench.assets is not None
    _, asset = await bench.assets.open_token(url.partition(ASSET_PREFIX)[2])
    return await bench.assets.read(asset)


def model_node(want: str | None, contract: EnvelopeContract = OPEN_CONTRACT) -> WaitingNode:
    """A node that asks a model for a text, or for an envelope of a kind."""

    async def body(call: NodeCall, context: NodeContext) -> NodeOutcome:
        request = ModelRequest("test", "", (Message("user", "Draw."),))
        if want is None:
            found = await generate_text(context, call, request)
            return found if isinstance(found, Failed) else Completed({"shown": found.answer.text})
        result = await generate_envelope(context, call, request, want, contract)
        return result if isinstance(result, Failed) else Completed({"shown": result.accepted.payload})

    return WaitingNode(NodeDeclaration("test.show", "For one test.", effect="idempotent", instant=False), body)


def media_envelope(data: bytes, **more: Any) -> str:
    payload = {"base64": b64encode(data).decode(), "bytes": 1, "mimeType": "image/png", "alt": "A", **more}
    return json.dumps({"type": "media.image", "schemaVersion": 1, "payload": payload})


BIG = PNG + bytes(range(256)) * 30


def envelope_node(*documents: Any) -> WaitingNode:
    async def body(call: NodeCall, context: NodeContext) -> NodeOutcome:
        found = [
            outcome_document(await context.emit_envelope(each, Emission("0", at))) for at, each in enumerate(documents)
        ]
        return Completed({"shown": found})

    return WaitingNode(NodeDeclaration("test.show", "For one test.", effect="idempotent", instant=False), body)
