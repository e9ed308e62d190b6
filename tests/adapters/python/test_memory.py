"""A call of a node leaves nothing behind that only the search for circles would find."""

import asyncio
import gc
import logging
import weakref
from typing import Any

import pytest

import weftwork
from tests.adapters.python.fake_node_host import FakeNodeHost
from weftwork.adapters.python.calls.invocation import Invocation

seen: list["weakref.ref[Invocation]"] = []


def see(ctx: Any) -> None:
    seen.append(weakref.ref(ctx._invocation))


def zero() -> float:
    return 1 / 0


def undone() -> None:
    raise weftwork.NotDone


@weftwork.node("acme.fine")
async def fine(ctx: weftwork.Context) -> Any:
    see(ctx)
    return await ctx.step("a", lambda: 1)


@weftwork.node("acme.fine-plain")
def fine_plain(ctx: weftwork.PlainContext) -> Any:
    see(ctx)
    return ctx.step("a", lambda: 1)


@weftwork.node("acme.heard", heartbeat_timeout=60)
async def heard(ctx: weftwork.Context) -> None:
    see(ctx)
    raise weftwork.NodeError("no", "No.")


@weftwork.node("acme.fails")
async def fails(ctx: weftwork.Context) -> None:
    see(ctx)
    raise weftwork.NodeError("no", "No.")


@weftwork.node("acme.fails-plain")
def fails_plain(ctx: weftwork.PlainContext) -> None:
    see(ctx)
    raise weftwork.NodeError("no", "No.")


@weftwork.node("acme.asks")
async def asks(ctx: weftwork.Context) -> None:
    see(ctx)
    await ctx.interrupt("why")


@weftwork.node("acme.asks-plain")
def asks_plain(ctx: weftwork.PlainContext) -> None:
    see(ctx)
    ctx.interrupt("why")


@weftwork.node("acme.step-fails")
async def step_fails(ctx: weftwork.Context) -> None:
    see(ctx)
    await ctx.step("zero", zero)


@weftwork.node("acme.step-fails-plain")
def step_fails_plain(ctx: weftwork.PlainContext) -> None:
    see(ctx)
    ctx.step("zero", zero)


@weftwork.node("acme.undone")
async def not_done(ctx: weftwork.Context) -> None:
    see(ctx)
    await ctx.step("undone", undone)


CALLED = [
    *(fine, fine_plain, heard, fails, fails_plain, asks, asks_plain),
    *(step_fails, step_fails_plain, not_done),
]


@pytest.mark.parametrize("function", CALLED, ids=lambda each: each.__name__)
async def test_nothing_of_a_call_stays(function: Any) -> None:
    async def story() -> None:
        stage = FakeNodeHost()
        await stage.enter(function)
        for _ in range(500):
            if seen[-1]() is None:
                return
            # The thread may still be on its way back.
            await asyncio.sleep(0.01)
        raise AssertionError("something holds on to the call")

    # Lines of the log are kept by whoever runs the tests, with what was raised.
    logging.disable()
    gc.collect()
    gc.disable()
    try:
        await story()
    finally:
        gc.enable()
        logging.disable(logging.NOTSET)
