"""Ways in which something could happen twice through what an author writes around steps."""

import asyncio
from typing import Any

import pytest

import weftwork
from tests.testing.definitions import sequence
from weftwork.adapters.python.calls.steps import Steps
from weftwork.testing import run_workflow


@pytest.mark.parametrize("effect", ["once", "pure"])
def test_a_once_node_is_not_tried_again_because_a_step_of_it_was_not_done(effect: Any) -> None:
    paid: list[int] = []

    @weftwork.node("acme.pay", effect=effect)
    async def pay(ctx: weftwork.Context) -> None:
        paid.append(ctx.attempt)

        def mail() -> None:
            if ctx.attempt == 1:
                raise weftwork.NotDone

        await ctx.step("mail", mail)

    result = run_workflow(sequence("acme.pay", maxRetries=3, retryDelayMs=1), nodes=[pay])
    assert (paid, result.status) == (([1], "failed") if effect == "once" else ([1, 2], "completed"))


@pytest.mark.parametrize("guarded", [True, False])
def test_a_step_does_not_outlive_its_entry(monkeypatch: pytest.MonkeyPatch, guarded: bool) -> None:
    if not guarded:
        monkeypatch.setattr(Steps, "cancel_all", lambda self: [])
    sent: list[int] = []

    @weftwork.node("acme.spawns")
    async def spawns(ctx: weftwork.Context) -> None:
        attempt = ctx.attempt

        async def send() -> None:
            await asyncio.sleep(60)
            sent.append(attempt)

        task = asyncio.create_task(ctx.step("send", send))
        await asyncio.sleep(3600)
        await task

    answers = {"a": {"outcome": "failed"}}
    document = sequence("acme.spawns", "core.delay", maxRetries=1, retryDelayMs=1, timeoutMs=1000)
    document["nodes"][1] |= {"config": {"ms": 100_000}, "settings": {}}
    document["edges"][0]["triggerRule"] = "all_complete"
    run_workflow(document, nodes=[spawns], answers=answers)
    assert sent == ([] if guarded else [1])
