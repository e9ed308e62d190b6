"""Replays of functions in Python: everything that the context offers is the same again."""

import asyncio
from typing import Any

import weftwork
from tests.engine.replay.replay_harness import check_equal, replay
from tests.harness.definitions import edge, node, workflow
from tests.harness.engine_harness import EngineHarness, run_ready_tasks
from weftwork.adapters.python.declaration.node_discovery import nodes_from_functions
from weftwork.adapters.python.node_runner import PythonNodes
from weftwork.adapters.python.threads import ThreadPool
from weftwork.testing.fake_outbound import FakeOutbound

CALLS: list[str] = []


async def outside(name: str) -> str:
    CALLS.append(name)
    return f"{name} {len(CALLS)}"


def outside_thread(name: str) -> str:
    CALLS.append(name)
    return f"{name} {len(CALLS)}"


@weftwork.node("test.many")
async def many(ctx: Any) -> dict[str, Any]:
    ctx.log.info("begins", at=str(ctx.now()))
    found = [await ctx.step("one", outside, "one", effect="once")]
    ctx.emit("acme.work.done", {"found": found})
    version = await ctx.get_version("change", -1, 3)
    both = await asyncio.gather(
        ctx.step("two", outside, "two", effect="once"), ctx.step("three", outside, "three", effect="idempotent")
    )
    answer = await ctx.interrupt("ask", custom_kind="test.ask")
    ctx.log.info("ends", at=str(ctx.now()))
    values = [version, *both, answer, ctx.random.random(), str(ctx.now()), ctx.idempotency_key]
    return {"values": [*found, *[str(each) for each in values]]}


@weftwork.node("test.plain")
def plain(ctx: Any) -> dict[str, Any]:
    ctx.log.info("plain")
    found = ctx.step("one", outside_thread, "one", effect="once")
    return {"values": [found, ctx.random.random(), str(ctx.now())]}


@weftwork.node("test.broken")
def broken(ctx: Any) -> dict[str, Any]:
    ctx.step("one", outside_thread, "one", effect="once")
    raise weftwork.NodeError("acme_broken", "It is broken.")


async def ended(engine: EngineHarness, key: Any) -> None:
    for _ in range(400):
        await run_ready_tasks()
        await asyncio.sleep(0.002)
        if await engine.status(key) in ("completed", "failed"):
            return
    raise AssertionError("the run does not end")


async def test_a_replay_of_python_nodes_is_its_source_and_calls_nothing() -> None:
    library = PythonNodes(nodes_from_functions([many, plain, broken]), ThreadPool(4, 4), FakeOutbound())
    document = workflow(
        [node("many", "test.many"), node("plain", "test.plain"), node("broken", "test.broken")],
        [edge("many", "plain"), edge("plain", "broken")],
    )
    engine, source = await EngineHarness(*library.types.values()).with_settled_run(document)
    for _ in range(100):
        await run_ready_tasks()
        if await engine.status(source) == "waiting-input":
            break
    engine.clock.advance(5_000)
    await engine.answer(source, {"yes": True}, "many")
    await ended(engine, source)
    assert (await engine.payload(source, "run.failed"))["error"]["code"] == "acme_broken"
    before = len(CALLS)
    engine.clock.advance(60_000)
    for from_seq in range(len(await engine.events(source))):
        await check_equal(engine, source, await replay(engine, source, from_seq))
    assert len(CALLS) == before
