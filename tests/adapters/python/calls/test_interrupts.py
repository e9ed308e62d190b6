"""Questions: the node ends where it asks, whatever its code makes of that."""

import asyncio
import threading
from typing import Any

import pytest

import weftwork
from tests.adapters.python.fake_node_host import FakeNodeHost
from weftwork.ports.node_outcome import Completed, Failed, InterruptPending, Suspended


@weftwork.node("acme.ask")
async def ask(ctx: weftwork.Context, swallow: bool = False) -> Any:
    try:
        return await ctx.interrupt("colour", data={"of": "door"}, custom_kind="choice")
    except BaseException:
        if not swallow:
            raise
        return "swallowed"


def test_a_question_waits_for_its_answer() -> None:
    stage = FakeNodeHost()
    asked = stage.run(ask, visit=2)
    assert isinstance(asked, Suspended)
    assert asked.interrupt.kind == "custom"
    assert asked.interrupt.key == "n:2:colour"
    assert asked.interrupt.data == {"customKind": "choice", "payload": {"of": "door"}}
    stage.answers["n:2:colour"] = "red"
    assert stage.run(ask, visit=2) == Completed({"output": "red"})
    assert isinstance(stage.run(ask, visit=3), Suspended)


@pytest.mark.parametrize("key", ["weftwork.effect-unknown", "choice"])
def test_the_kinds_of_the_host_are_its_own(key: str) -> None:
    @weftwork.node("acme.forges")
    async def forges(ctx: weftwork.Context) -> None:
        await ctx.interrupt(key, custom_kind=None if key.startswith("weftwork") else "weftwork.effect-unknown")

    assert FakeNodeHost().run(forges) == Failed(
        "node_misused", "Custom kinds that begin with weftwork. are the host's own.", retryable=False
    )


def test_a_question_that_the_code_swallows_is_asked_all_the_same() -> None:
    assert isinstance(FakeNodeHost().run(ask, swallow=True), Suspended)


def test_after_a_question_every_call_asks_again() -> None:
    raised: list[type[BaseException]] = []

    @weftwork.node("acme.stubborn")
    async def stubborn(ctx: weftwork.Context) -> None:
        for call in (
            lambda: ctx.interrupt("first"),
            lambda: ctx.step("a", lambda: 1),
            lambda: ctx.get_version("change", 1, 2),
        ):
            try:
                await call()
            except BaseException as error:
                raised.append(type(error))
        raise KeyError("never mind")

    stage = FakeNodeHost()
    asked = stage.run(stubborn)
    assert isinstance(asked, Suspended)
    assert asked.interrupt.data == {"customKind": "first"}
    assert raised == [InterruptPending] * 3
    assert stage.recorded == {}


def test_a_question_beside_a_step_waits_for_the_step() -> None:
    release = threading.Event()

    @weftwork.node("acme.both")
    async def both(ctx: weftwork.Context) -> None:
        async def ask_soon() -> None:
            await asyncio.sleep(0)
            threading.Timer(0.05, release.set).start()
            await ctx.interrupt("ask")

        async with asyncio.TaskGroup() as group:
            group.create_task(ctx.step("slow", release.wait, 10))
            group.create_task(ask_soon())

    @weftwork.node("acme.gathered")
    async def gathered(ctx: weftwork.Context) -> None:
        await asyncio.gather(ctx.step("slow", release.wait, 10), ctx.interrupt("ask"))

    assert isinstance(FakeNodeHost().run(both), Suspended)
    release.set()
    stage = FakeNodeHost()
    assert isinstance(stage.run(gathered), Suspended)
    assert stage.recorded == {"slow": True}


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"key": "a:b"}, "The key of a question"),
        ({"key": ""}, "The key of a question"),
        ({"key": "a", "kind": "advice"}, "needs one of the kinds approval, clarification"),
        ({"key": "a", "data": object()}, "is not JSON"),
        ({"key": "a", "custom_kind": ""}, "A custom kind"),
    ],
)
def test_questions_that_cannot_be_asked(arguments: dict[str, Any], why: str) -> None:
    @weftwork.node("acme.wrong")
    async def wrong(ctx: weftwork.Context) -> None:
        await ctx.interrupt(**arguments)

    found = FakeNodeHost().run(wrong)
    assert isinstance(found, Failed)
    assert (found.code, found.retryable) == ("node_misused", False)
    assert why in found.message


def test_a_once_node_asks_nobody() -> None:
    @weftwork.node("acme.fire", effect="once")
    async def fire(ctx: weftwork.Context) -> None:
        await ctx.interrupt("ask")

    found = FakeNodeHost().run(fire)
    assert isinstance(found, Failed)
    assert found.code == "node_misused"
    assert "put its effect into a step" in found.message
