"""A host whose providers call a model server: one provider for each fault, so that no fault affects another one."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterable
from typing import Any, Final

import msgspec

from tests.harness.definitions import node
from tests.live.host import KEY
from tests.live.in_process_host import InProcessHost
from tests.live.workflows import chain
from weftwork.adapters.outbound.client import GuardedClient
from weftwork.adapters.providers.openai_compatible.provider import openai_compatible_provider
from weftwork.adapters.system.clock_and_ids import SystemClock
from weftwork.app import Host
from weftwork.ports.models import ProviderContext
from weftwork.protocol.models.model_catalogue import STRUCTURED_OUTPUT, ModelInfo
from weftwork.protocol.models.provider_settings import OPENAI_COMPATIBLE_TYPE, ProviderSettings, ProviderTimeouts
from weftwork.protocol.net.target import OutboundPolicy
from weftwork.protocol.run.events import PROVIDER_WAITING
from weftwork.settings import Settings
from weftwork.testing.model_server import ModelServer

PROVIDER_KEY: Final = "sk-canary-provider-key-4711"
PROMPT: Final = "Canary prompt 0815: say hello to the model server."
SHORT: Final = ProviderTimeouts(connect=60, first_byte=0.2, idle=0.2, total=120)
"""For servers that are slow."""
SHORT_TOTAL: Final = ProviderTimeouts(connect=60, first_byte=60, idle=60, total=1.5)
"""For servers whose answer takes too long in total."""
LONG: Final = ProviderTimeouts(connect=60, first_byte=60, idle=60, total=120)
"""For all others: on a busy machine nothing may take too long by accident."""
SCHEMA: Final = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
TEXT_WORKFLOW, SCHEMA_WORKFLOW = "fault-text", "fault-schema"
ENDS: Final = {"run.completed", "run.failed", "run.cancelled"}


class EagerClock(SystemClock):
    """A clock on which a delay before a repeated call does not take time."""

    def __init__(self) -> None:
        super().__init__()
        self.delays: list[int] = []

    async def sleep(self, milliseconds: int) -> None:
        self.delays.append(milliseconds)
        await asyncio.sleep(0)


def context(
    name: str, model: str, server: ModelServer, timeouts: ProviderTimeouts = LONG, **options: object
) -> ProviderContext:
    """What a host would give to a provider with these settings, with a key and a clock of the test."""
    settings = ProviderSettings(
        name,
        OPENAI_COMPATIBLE_TYPE,
        base_url=server.base_url,
        credential="env:TEST_KEY",
        allow_private_network=True,
        timeouts=timeouts,
        models=(ModelInfo(model, frozenset({STRUCTURED_OUTPUT})),),
        options=options,
    )
    policy = OutboundPolicy(frozenset({int(server.base_url.split(":")[2].split("/")[0])}), http=True, private=True)
    return ProviderContext(settings, GuardedClient(policy), EagerClock(), lambda: 0.5, lambda: PROVIDER_KEY)


@contextlib.asynccontextmanager
async def open_host(contexts: Iterable[ProviderContext], **settings: Any) -> AsyncIterator[InProcessHost]:
    """A host with a provider for each context, and workflows that ask a model for a text and for a value."""
    contexts = list(contexts)
    host = Host(Settings(**{"store": "memory", **settings}), providers=map(openai_compatible_provider, contexts))
    await host.open()
    try:
        host.keyring.accept_for_process(KEY, "acme", None)
        config: dict[str, Any] = {"prompt": PROMPT}
        await host.register_fixture(chain(TEXT_WORKFLOW, [node("ask", "core.ai.callPrompt", config=config)]))
        config = {"prompt": PROMPT, "outputSchema": SCHEMA}
        await host.register_fixture(chain(SCHEMA_WORKFLOW, [node("ask", "core.ai.structuredOutput", config=config)]))
        yield InProcessHost(host)
    finally:
        await host.close()
        for each in contexts:
            await each.outbound.close()


class Outcome(msgspec.Struct, frozen=True):
    """How a run ended: `status` is completed, failed or waiting."""

    status: str
    code: str
    """The error code of a run that failed, or why it waits; the finish reason of the answer, if the run completed."""
    events: list[dict[str, Any]]

    def said(self) -> str:
        return json.dumps(self.events)


async def run_to_outcome(host: InProcessHost, workflow_id: str, provider: str) -> Outcome:
    """Start a run with this provider, and follow it until it ends or waits for the provider. A run that waits is
    cancelled."""
    body = {"workflowId": workflow_id, "configurable": {"ai.provider": provider}}
    answer = await host.call("POST", "/v1/runs", body)
    assert answer.status == 201, answer.body
    run_id, events = answer.document["runId"], list[dict[str, Any]]()
    while True:
        last = events[-1]["sequence"] if events else -1
        page = await host.call("GET", f"/v1/runs/{run_id}/events/poll?timeout=10&lastSequence={last}")
        events += page.document["events"]
        if waits := [event["payload"] for event in events if event["type"] == PROVIDER_WAITING]:
            assert (await host.call("POST", f"/v1/runs/{run_id}/cancel", {})).status == 200
            return Outcome("waiting", waits[0]["code"], events)
        if page.document["isComplete"]:
            return _outcome(events)


def _outcome(events: list[dict[str, Any]]) -> Outcome:
    (end,) = [event for event in events if event["type"] in ENDS]
    if end["type"] == "run.failed":
        return Outcome("failed", end["payload"]["error"]["code"], events)
    (answered, *_) = [event["payload"] for event in reversed(events) if event["type"] == "weftwork.model.answered"]
    return Outcome(end["type"].removeprefix("run."), answered["stop"], events)
