"""Requests of nodes in Python: what comes back is content from outside, and so is all that is made of it."""

from typing import Any

import pytest

import weftwork
from tests.harness.child_workflows import start_run
from tests.harness.definitions import edge, node, workflow
from tests.harness.engine_harness import EngineHarness, run
from weftwork.adapters.python.calls.fetch import FetchResponse
from weftwork.adapters.python.calls.invocation import Invocation, NodeServices
from weftwork.adapters.python.declaration.decorator import node_of
from weftwork.adapters.python.node_runner import to_node_type
from weftwork.adapters.python.threads import ThreadPool
from weftwork.protocol.run.events import EXTERNAL_CONTENT
from weftwork.testing.fake_outbound import FakeOutbound

URL = "https://api.example.com/x"


@weftwork.node("acme.asks")
async def asks(ctx: weftwork.Context) -> dict[str, Any]:
    ctx.log.info("before")
    return {"output": (await ctx.fetch(URL)).json()}


@weftwork.node("acme.asks-plain")
def asks_plain(ctx: weftwork.PlainContext) -> dict[str, Any]:
    ctx.log.info("before")
    return {"output": ctx.fetch(URL).json()}


@weftwork.node("acme.asks-in-step")
async def asks_in_step(ctx: weftwork.Context) -> dict[str, Any]:
    ctx.log.info("before")

    async def send() -> Any:
        return (await ctx.fetch(URL)).json()

    return {"output": await ctx.step("send", send)}


@weftwork.node("acme.asks-nobody")
async def asks_nobody(ctx: weftwork.Context) -> dict[str, Any]:
    ctx.log.info("before")
    try:
        await ctx.fetch("https://api.example.com/nowhere")
    except weftwork.FetchError:
        return {"output": 0}
    raise AssertionError("there is nobody there")


def story(function: Any) -> list[tuple[str, str | None]]:
    async def scenario() -> list[tuple[str, str | None]]:
        answers = FakeOutbound(
            {URL: {"said": 1}, "https://api.example.com/nowhere": weftwork.FetchError("gone", False)}
        )
        found = node_of(function)
        assert found is not None
        made = to_node_type(found, NodeServices(ThreadPool(4, 4), answers))
        flow = workflow([node("f", made.declaration.type_id), node("after", "core.identity")], [edge("f", "after")])
        bench, key = await start_run(flow, bench=EngineHarness(made))
        events = await bench.run_to_end(key)
        return [(each.type, each.content_trust) for each in events]

    return run(scenario)


@pytest.mark.rule("trust-04")
@pytest.mark.parametrize("function", [asks, asks_plain, asks_in_step], ids=["async", "plain", "step"])
def test_what_a_node_fetches_is_untrusted(function: Any) -> None:
    told = story(function)
    assert told[-1] == ("run.completed", "untrusted")
    assert [trust for kind, trust in told if kind == "node.completed"] == ["untrusted", "untrusted"]
    assert ("log.appended", None) in told
    assert (EXTERNAL_CONTENT, "untrusted") in told


def test_a_request_that_nobody_answers_brings_nothing() -> None:
    assert {trust for _, trust in story(asks_nobody)} == {None}


def test_the_proof_goes_red_without_the_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    async def believed(self: Invocation, request: Any) -> Any:
        assert self.services.outbound is not None
        return FetchResponse(await self.services.outbound.fetch(request))

    monkeypatch.setattr(Invocation, "fetch", believed)
    assert story(asks)[-1] == ("run.completed", None)
