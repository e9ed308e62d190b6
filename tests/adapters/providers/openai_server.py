"""A small server with the chat completions API on a real socket, and providers that call it or a fake client."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any
from unittest import mock

import msgspec

from tests.adapters.outbound.peer import CountingPeer, Reply, listening_peer
from weftwork.adapters.outbound import exchange
from weftwork.adapters.outbound.client import GuardedClient
from weftwork.adapters.providers.openai_compatible.provider import OpenAICompatibleProvider
from weftwork.adapters.system.clock_and_ids import SystemClock
from weftwork.ports.clock import Clock
from weftwork.ports.models import ProviderContext
from weftwork.ports.outbound import Outbound
from weftwork.protocol.models.model_catalogue import STRUCTURED_OUTPUT, ModelInfo
from weftwork.protocol.models.provider_settings import ProviderSettings, ProviderTimeouts
from weftwork.protocol.net.outbound import FetchLimits
from weftwork.protocol.net.target import OutboundPolicy
from weftwork.testing import FakeOutbound, respond

KEY = "sk-canary-4711"
MODELS = (
    ModelInfo("tiny", frozenset({STRUCTURED_OUTPUT}), frozenset({"image", "audio", "document"}), 512),
    ModelInfo("plain"),
)


def provider_settings(base_url: str = "https://api.test/v1", **members: Any) -> ProviderSettings:
    defaults: dict[str, Any] = {"credential": "env:KEY", "models": MODELS}
    return ProviderSettings("acme", "openai-compatible", base_url, **{**defaults, **members})


def provider_context(
    outbound: Outbound, settings: ProviderSettings, clock: Clock | None = None, key: str | None = KEY
) -> ProviderContext:
    return ProviderContext(settings, outbound, clock or SystemClock(), lambda: 0.5, lambda: key)


def chunk(text: str | None = None, finish: str | None = None, **delta: Any) -> dict[str, Any]:
    """One chunk of a stream, as servers send it."""
    if text is not None:
        delta["content"] = text
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c-1", "object": "chat.completion.chunk", "created": 1, "model": "tiny-2", "choices": [choice]}


def usage(prompt: int, completion: int, **more: Any) -> dict[str, Any]:
    counts = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion, **more}
    return {**chunk(), "choices": [], "usage": counts}


def sse(*documents: Any, done: bool = True, end: bytes = b"\n\n") -> bytes:
    """The body of a stream. Bytes are sent as they are."""
    lines = [each if isinstance(each, bytes) else b"data: " + msgspec.json.encode(each) + end for each in documents]
    return b"".join(lines) + (b"data: [DONE]" + end if done else b"")


HELLO = sse(chunk("", role="assistant"), chunk("Hel"), chunk("lo"), chunk(finish="stop"), usage(7, 2))


def http(
    body: bytes, status: int = 200, content_type: str = "text/event-stream", headers: Mapping[str, str] | None = None
) -> bytes:
    lines = [f"HTTP/1.1 {status} Any", f"Content-Length: {len(body)}", f"Content-Type: {content_type}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


def in_pieces(*pieces: bytes) -> Reply:
    """A stream in HTTP chunks, each with a turn of the event loop after it."""

    async def reply(heard: Any, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        for piece in pieces:
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            await writer.drain()
            await asyncio.sleep(0)
        writer.write(b"0\r\n\r\n")

    return reply


@contextlib.asynccontextmanager
async def serving_provider(
    answer: bytes | Reply = b"", limits: FetchLimits | None = None, **members: Any
) -> AsyncIterator[tuple[OpenAICompatibleProvider, CountingPeer]]:
    """A provider that calls a server on this machine through the guarded client."""
    # No test here uses TLS, and loading the certificates of the system takes longer than the rest.
    no_tls = mock.patch.object(exchange.ssl, "create_default_context", return_value=None)
    async with listening_peer() as peer:
        peer.answer = answer or http(HELLO)
        key = members.pop("key", KEY)
        client = GuardedClient(OutboundPolicy(frozenset({peer.port}), http=True, private=True), limits)
        members.setdefault("timeouts", ProviderTimeouts(60, 60, 60, 60))
        settings = provider_settings(f"http://127.0.0.1:{peer.port}/v1", **members)
        try:
            with no_tls:
                yield OpenAICompatibleProvider(provider_context(client, settings, key=key)), peer
        finally:
            await client.close()


def fake_provider(answer: Any, **members: Any) -> OpenAICompatibleProvider:
    """A provider that gets each answer from a fake client."""
    outbound = FakeOutbound(lambda request: answer)
    return OpenAICompatibleProvider(provider_context(outbound, provider_settings(**members)))


def event_stream(body: bytes) -> Any:
    return respond(200, content=body, headers={"content-type": "text/event-stream"})
