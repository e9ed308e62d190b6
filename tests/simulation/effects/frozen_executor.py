"""An executor that is frozen at a call to the store or before an effect, while another one takes over its run.

Each of the two has an event loop of its own: a process is frozen while its loop does not run. The store, the clock and
the world outside are shared. Frozen is what a SIGSTOP, a suspended machine or a paused container does.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import msgspec

from tests.harness.definitions import edge, node, workflow
from tests.harness.engine_harness import CALLER, EngineHarness, WrappedLog, run_ready_tasks
from tests.harness.external_system import ExternalSystem, answer_until_ended, effect_node_type
from tests.simulation.random_schedule import check_log
from weftwork.ports.node_outcome import Completed, NodeOutcome
from weftwork.ports.nodes import NodeCall, NodeContext, WaitingNode
from weftwork.ports.outbound import BEFORE_SENDING
from weftwork.ports.storage.run_queries import RunQuery
from weftwork.protocol.run.header import RunKey

T = TypeVar("T")

FROZEN_MS = 5_000
WRITES = ("create", "append")
ORDER = workflow(
    [node("first", "core.noop"), node("a", "test.pay"), node("last", "core.noop")],
    [edge("first", "a"), edge("a", "last")],
)


class FreezePoint(msgspec.Struct):
    """Freezes the process when it gets there for the `at`-th time."""

    at: int
    passed: int = 0
    name: str = ""
    """Where the process is frozen; empty before."""
    thaw: "asyncio.Future[None] | None" = None

    async def reach(self, name: str) -> None:
        self.passed += 1
        if self.passed == self.at:
            self.name = name
            self.thaw = asyncio.get_running_loop().create_future()
            await self.thaw


class FreezingLog(WrappedLog):
    """The store as the frozen process sees it: before and after each of its calls is a freeze point."""

    def __init__(self, log: Any, point: FreezePoint) -> None:
        super().__init__(log)
        self._point = point
        self.written_after = 0
        """Writes that succeeded after the freeze."""

    def __getattr__(self, name: str) -> Any:
        async def call(*arguments: Any) -> Any:
            await self._point.reach(f"before {name}")
            result = await getattr(self._log, name)(*arguments)
            self.written_after += bool(self._point.name) and name in WRITES
            await self._point.reach(f"after {name}")
            return result

        return call


class Process:
    """An executor on an event loop of its own."""

    def __init__(self, engine: EngineHarness) -> None:
        self.engine = engine
        self._runner = asyncio.Runner()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(work)

    def drive(self, point: FreezePoint | None = None) -> None:
        """Let it do all that it can do without time, or until it is frozen."""

        async def drive() -> None:
            for _ in range(20):
                await run_ready_tasks()
                if point is not None and point.name and point.thaw is not None and not point.thaw.done():
                    return

        self.run(drive())

    def close(self) -> None:
        self.run(self.engine.crash())
        self._runner.close()


class Connection:
    """What is between a node and the world: it takes some turns to connect, and is a freeze point."""

    def __init__(self, world: ExternalSystem, point: FreezePoint | None) -> None:
        self._world = world
        self._point = point

    async def send(self, key: str) -> Any:
        if self._point is not None:
            await self._point.reach("while it connects")
        # As the outbound client does, right before the first byte.
        if (check := BEFORE_SENDING.get()) is not None:
            await check()
        return await self._world.call(key)


def paying_node(connection: Connection, is_step: bool) -> WaitingNode:
    """A node whose effect must not happen twice: as a whole, or in a step."""

    async def whole(call: NodeCall, context: NodeContext) -> NodeOutcome:
        return Completed(await connection.send(context.effect_key()))

    async def step(call: NodeCall, context: NodeContext) -> NodeOutcome:
        return Completed(await context.step("x", "once", lambda: connection.send(context.effect_key("x"))))

    return effect_node_type("test.pay", step if is_step else whole, "pure" if is_step else "once")


def freeze_and_take_over(at: int, is_step: bool, thaws_early: bool) -> str:
    """Freeze the first executor at this point, let a second one take over, and thaw the first: after the second one has
    ended the run, or `thaws_early`, when it has taken it and done nothing yet. Returns the point, or an empty text if
    there are not so many. Raises AssertionError."""
    world, point = ExternalSystem(), FreezePoint(at)
    first = Process(
        EngineHarness(paying_node(Connection(world, point), is_step), wrap=lambda log: FreezingLog(log, point))
    )
    second = Process(
        first.engine.successor(types=(paying_node(Connection(world, None), is_step),), wrap=lambda log: log)
    )
    try:
        first.run(_begin(first.engine))
        first.drive(point)
        page = second.run(second.engine.store.queries.list_runs(CALLER.partition, RunQuery()))
        if not point.name or not page.runs:
            # Not reached, or no run is stored that the second one could take over.
            return point.name
        (key,) = (each.header.key for each in page.runs)
        first.engine.clock.advance(FROZEN_MS)
        if thaws_early:
            second.run(second.engine.store.ownership.take(key, second.engine.runtime.fence.epoch))
        else:
            second.run(_finish(second.engine, key, world))
        acts = len(world.received_keys)
        assert point.thaw is not None, "it is frozen"
        point.thaw.set_result(None)
        first.drive()
        first.engine.clock.advance(10_000)
        first.drive()
        assert len(world.received_keys) == acts, f"it acted after it had been replaced, frozen {point.name}"
        assert not first.engine.log.written_after, f"it wrote after it had been replaced, frozen {point.name}"
        assert first.engine.executor.live_count == 0, f"it still executes the run, frozen {point.name}"
        if thaws_early:
            second.run(_finish(second.engine, key, world))
        check_log(second.run(second.engine.events(key)))
        assert len(world.received_keys) == 1, f"{len(world.received_keys)} effects, frozen {point.name}"
        return point.name
    finally:
        for process in (first, second):
            process.close()


async def _begin(engine: EngineHarness) -> None:
    """Create the run in a task, because its creation may be frozen."""
    await engine.open()
    assert await engine.catalog.register(ORDER) == []
    asyncio.ensure_future(engine.service.create_run(CALLER, {"workflowId": ORDER["id"]})).add_done_callback(_ignore)


def _ignore(creation: "asyncio.Future[Any]") -> None:
    """A creation that is frozen may be refused, and nobody waits for it any more."""
    if not creation.cancelled():
        creation.exception()


async def _finish(engine: EngineHarness, key: RunKey, world: ExternalSystem) -> None:
    """Take over, and say truthfully what became of an effect with an unknown outcome."""

    def found_out(_: int) -> dict[str, Any]:
        happened = {"outcome": "done", "output": {"receipt": 1}}
        return happened if world.received_keys else {"outcome": "again"}

    await engine.executor.recover()
    await engine.executor._wake(key)
    await answer_until_ended(engine, key, found_out)
