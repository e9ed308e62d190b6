"""Every fault of a model server, in every form of a call: the run ends in a named state, its events say why, and
nothing leaks."""

import asyncio
import logging
import os
from typing import Final

import msgspec
import pytest

from tests.harness.cases import check_cases, fails_without
from tests.live.models.fault_host import (
    LONG,
    PROMPT,
    PROVIDER_KEY,
    SCHEMA_WORKFLOW,
    SHORT,
    SHORT_TOTAL,
    TEXT_WORKFLOW,
    Outcome,
    context,
    open_host,
    run_to_outcome,
)
from weftwork.protocol.models import provider_faults
from weftwork.protocol.models.provider_settings import ProviderTimeouts
from weftwork.testing.model_server import Fault, ModelReply, ModelServer, ServedRequest, ToolCall, faults

BOUND: Final = 120.0
"""Seconds for all faults together."""
TEXT: Final = "Hello from the model server."
SLOW_FAULTS: Final = {
    "slow first byte": faults.slow_first_byte(3600),
    "no response": faults.no_response(),
    "hang before the body": faults.hang_after(0),
    "hang in the middle": faults.hang_after(300),
    "one byte per second": faults.drip(1),
}
SILENT_FAULTS: Final = ("slow first byte", "no response", "hang before the body")
"""Faults whose response never begins."""
LONG_FAULTS: Final = {"many bytes per second": faults.drip(50)}
FAULTS: Final[dict[str, Fault]] = {
    **faults.ALL,
    **SLOW_FAULTS,
    **LONG_FAULTS,
    "redirect to itself": faults.redirect("/api"),
    "401 as server_error": faults.status(401, error_code="server_error"),
}
REPLIES: Final = {
    "no fault": ModelReply(TEXT),
    "refusal": ModelReply(refusal=f"I will not say: {PROMPT}"),
    "content filter": ModelReply("Hel", finish="content_filter"),
    "truncated": ModelReply('{"text": "Hel', finish="length"),
    "empty answer": ModelReply(""),
    "call of a tool with bad arguments": ModelReply(tool_calls=(ToolCall("add", '{"a": '),)),
    "unknown finish reason": ModelReply(TEXT, finish="because"),
}
MODELS: Final = [*REPLIES, *FAULTS]

STOP: Final = ("completed", "stop")
DOWN: Final = ("waiting", "provider_unavailable")
TIMED_OUT: Final = ("waiting", "provider_timed_out")
TOO_LONG: Final = ("failed", "provider_timed_out")
LIMITED: Final = ("waiting", "provider_rate_limited")
BROKEN: Final = ("failed", "provider_unavailable")
REFUSED: Final = ("failed", "envelope_refusal")

EXPECTED: Final[dict[str, tuple[str, str]]] = {
    "refusal": REFUSED,
    "content filter": REFUSED,
    "content filter before the answer": REFUSED,
    "truncated": ("completed", "length"),
    "call of a tool with bad arguments": ("completed", "tool-call"),
    "unknown finish reason": ("completed", "other"),
    "50 MB answer": ("completed", "length"),
    **dict.fromkeys(SLOW_FAULTS, TIMED_OUT),
    **dict.fromkeys(("cut before the body", "cut in the middle", "malformed JSON", "null", "a list"), BROKEN),
    **dict.fromkeys(("error in the stream", "invalid UTF-8", "missing finish reason", "HTML page"), BROKEN),
    **dict.fromkeys(("redirect", "redirect to itself", "not HTTP", "broken chunk", "endless headers"), BROKEN),
    **dict.fromkeys(("gzip bomb", "401", "401 as server_error", "403"), BROKEN),
    **dict.fromkeys(("400", "422"), ("failed", "invalid_request")),
    "404": ("failed", "model_not_supported"),
    "429, quota used up": ("failed", "provider_quota_exhausted"),
    "408": TIMED_OUT,
    "many bytes per second": TOO_LONG,
    **{name: LIMITED for name in faults.ALL if name.startswith("429") and "quota" not in name},
    **dict.fromkeys(("409", "500", "502", "503", "504", "529", "503, Retry-After in seconds"), DOWN),
}
"""The outcome of a streamed text; `completed` with stop for all others."""
SCHEMA_OUTCOMES: Final[dict[str, tuple[str, str]]] = {
    **dict.fromkeys(
        ("truncated", "unknown finish reason", "50 MB answer"), ("failed", "envelope_truncation_unrecoverable")
    ),
    **dict.fromkeys(("empty answer", "duplicated chunks", "re-ordered chunks"), ("failed", "envelope_invalid")),
    "call of a tool with bad arguments": ("failed", "envelope_invalid"),
}
"""Where a value has another outcome than a text."""
WHOLE_OUTCOMES: Final[dict[str, tuple[str, str]]] = {
    "error in the stream": DOWN,
    **dict.fromkeys(SILENT_FAULTS, TIMED_OUT),
    "re-ordered chunks": STOP,
    "missing finish reason": STOP,
    "50 MB answer": BROKEN,
    **dict.fromkeys(("duplicated chunks", "trailing garbage", "text/plain", "no content type"), BROKEN),
    **dict.fromkeys(("choices of another type", "deltas of another type", "no choices"), BROKEN),
    **dict.fromkeys(("Content-Length too large", "Content-Length too small"), BROKEN),
}
"""Where a response that is not streamed has another outcome."""


def expected_outcome(name: str, workflow: str, is_streamed: bool) -> tuple[str, str]:
    if not is_streamed and name in WHOLE_OUTCOMES:
        return WHOLE_OUTCOMES[name]
    found = EXPECTED.get(name, STOP)
    if workflow == SCHEMA_WORKFLOW and found[0] == "completed":
        return SCHEMA_OUTCOMES.get(name, found)
    return found


def reply_to(request: ServedRequest) -> ModelReply:
    name = request.model
    reply = REPLIES.get(name, ModelReply(TEXT, faults=(FAULTS[name],) if name in FAULTS else ()))
    if b'"response_format"' in request.content and reply.text == TEXT:
        reply = msgspec.structs.replace(reply, text=f'{{"text": "{TEXT}"}}')
    return reply


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def timeouts_for(model: str, is_streamed: bool) -> ProviderTimeouts:
    if model in LONG_FAULTS or (not is_streamed and model in SILENT_FAULTS):
        return SHORT_TOTAL
    return SHORT if model in SLOW_FAULTS else LONG


async def run_all(
    workflow: str, is_streamed: bool, server: ModelServer, models: list[str] = MODELS
) -> dict[str, Outcome]:
    """A run for each model, all at the same time on one host, each with a provider of its own."""
    contexts = [
        context(f"p{at}", model, server, timeouts_for(model, is_streamed), stream=is_streamed)
        for at, model in enumerate(models)
    ]
    async with asyncio.timeout(BOUND), open_host(contexts) as host:
        tasks = len(asyncio.all_tasks())
        runs = (run_to_outcome(host, workflow, each.settings.name) for each in contexts)
        outcomes = dict(zip(models, await asyncio.gather(*runs), strict=True))
        await settle(server, tasks)
        return outcomes


async def settle(server: ModelServer, tasks: int) -> None:
    """Wait until neither a connection nor a task of a run is left."""
    while server.open_connections or len(asyncio.all_tasks()) > tasks:
        await asyncio.sleep(0.01)


def check_outcome(name: str, outcome: Outcome, wanted: tuple[str, str]) -> None:
    assert (outcome.status, outcome.code) == wanted, outcome
    if outcome.status == "failed":
        (failed,) = [event["payload"]["error"] for event in outcome.events if event["type"] == "node.failed"]
        assert failed["code"] == outcome.code
        assert len(failed["message"]) > 20, "the message does not say why"
        assert PROMPT not in failed["message"], "the message quotes the prompt"
        assert "Error " not in failed["message"], "the message quotes the provider"
    assert PROVIDER_KEY not in outcome.said(), "the key is in the log of the run"


@pytest.mark.slow
@pytest.mark.parametrize("is_streamed", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("workflow", [TEXT_WORKFLOW, SCHEMA_WORKFLOW])
async def test_every_fault_has_its_outcome(workflow: str, is_streamed: bool, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    before = descriptors()
    with ModelServer(default=reply_to, key=PROVIDER_KEY) as server:
        outcomes = await run_all(workflow, is_streamed, server)
    check_cases(MODELS, lambda name: check_outcome(name, outcomes[name], expected_outcome(name, workflow, is_streamed)))
    written = "\n".join(str(vars(record)) for record in caplog.records)
    assert PROVIDER_KEY not in written
    assert PROMPT not in written
    assert descriptors() <= before, "a connection is still open"


@fails_without(
    provider_faults.FaultRow, "message", lambda row, provider: f"Error {PROVIDER_KEY} of {PROMPT}", match="quotes"
)
async def test_an_error_of_the_provider_is_not_quoted() -> None:
    with ModelServer(default=reply_to) as server:
        outcomes = await run_all(TEXT_WORKFLOW, True, server, ["401"])
    check_outcome("401", outcomes["401"], BROKEN)
