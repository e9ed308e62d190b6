"""Turns on the event loop: whose is next, what runs in between, and how much work one of them is."""

import asyncio
from collections import Counter
from typing import Any

import pytest

from tests.harness.cases import fails_without
from tests.harness.definitions import edge, node, workflow
from tests.harness.engine_harness import EngineHarness, run_ready_tasks, until
from weftwork.engine.decide.inputs import Step
from weftwork.engine.run import loop_share, next_commit
from weftwork.engine.run.live_run import IDLE_REST_NS, RESTED_BATCH_UNITS
from weftwork.engine.run.loop_share import LOOP_SLICE_UNITS, MAX_REST_S, MIN_REST_S, REST, LoopShare, TurnSchedule
from weftwork.protocol.limits import Limits


class Watch:
    """A clock that the work moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


async def order(demands: dict[str, list[float]], rounds: int) -> str:
    """The tenants whose slices are granted, when each tenant always has work that takes so long in turn."""
    schedule, now, granted = TurnSchedule(), 0.0, ""
    loop = asyncio.get_running_loop()
    for tenant in demands:
        schedule.add(tenant, loop.create_future())
    for _ in range(rounds):
        found = schedule.grant(now, is_serving=False)
        assert found is not None
        tenant, _ = found
        lengths = demands[tenant]
        lengths.append(taken := lengths.pop(0))
        schedule.add(tenant, loop.create_future())
        assert schedule.grant(now, is_serving=False) is None, "two slices at the same time"
        schedule.end(tenant, now, now + taken)
        now += taken
        granted += tenant
    return granted


@pytest.mark.rule("lim-24")
async def test_tenants_get_the_same_time_however_long_their_slices_are() -> None:
    assert await order({"a": [1.0], "b": [1.0], "c": [1.0]}, 9) == "abcabcabc"
    assert await order({"a": [4.0], "b": [1.0]}, 10) == "abbbbabbbb"
    found = Counter(await order({"a": [0.5, 7.0], "b": [1.0, 2.0]}, 200))
    assert found["a"] * 3.75 == pytest.approx(found["b"] * 1.5, rel=0.1)


@pytest.mark.rule("lim-24")
async def test_the_loop_rests_after_a_slice_while_requests_are_served() -> None:
    schedule, loop = TurnSchedule(), asyncio.get_running_loop()
    for taken, rest in ((0.0001, MIN_REST_S), (0.01, 0.01 * REST), (5.0, MAX_REST_S)):
        schedule.add("a", loop.create_future())
        assert schedule.grant(0.0, is_serving=False) is not None
        schedule.end("a", 0.0, taken)
        schedule.add("a", loop.create_future())
        assert schedule.delay(taken) == pytest.approx(rest)
        assert schedule.grant(taken + rest * 0.99, is_serving=True) is None
        # The requests have ended: nothing waits for them. And a rest is never longer.
        assert schedule.grant(taken + rest * (1.01 if rest == MIN_REST_S else 0.5), rest == MIN_REST_S) is not None
        schedule.end("a", 0.0, 0.0)


async def slices_per_iteration(share: LoopShare, takers: int = 5, slices: int = 6) -> tuple[list[int], str]:
    """How many slices ran in each iteration of the loop, and what ran, with a dot for each of them."""
    found, seen, running = [0], "", takers

    async def take(tenant: str) -> None:
        nonlocal running, seen
        for _ in range(slices):
            await share.turn(tenant)
            found[-1] += 1
            seen += tenant
        running -= 1

    tasks = [asyncio.create_task(take(chr(ord("a") + at))) for at in range(takers)]
    while running:
        await asyncio.sleep(0)
        found.append(0)
        seen += "."
    await asyncio.gather(*tasks)
    return found, seen


async def at_once(self: LoopShare, partition: str, units: int = 0, run: str = "") -> None:
    await asyncio.sleep(0)


@pytest.mark.rule("lim-24")
@fails_without(LoopShare, "turn", at_once)
async def test_an_iteration_of_the_loop_has_one_slice_and_everything_else_runs_in_between() -> None:
    found, seen = await slices_per_iteration(LoopShare(Watch()))
    assert max(found) == 1
    assert sum(found) == 30
    assert "".join(each for each in seen if each != ".") == "abcde" * 6
    assert len(found) <= 3 * 30, "turns that are wasted"


@pytest.mark.rule("lim-24")
async def test_a_slice_is_charged_what_it_took_and_not_what_ran_in_between() -> None:
    watch = Watch()
    share = LoopShare(watch)
    granted = ""
    until = asyncio.Event()

    async def take(tenant: str, taken: float) -> None:
        nonlocal granted
        while len(granted) < 20:
            await share.turn(tenant)
            watch.now += taken
            granted += tenant
        until.set()

    async def others() -> None:
        while not until.is_set():
            watch.now += 1.0
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(others())
        tasks.create_task(take("a", 0.003))
        tasks.create_task(take("b", 0.001))
    assert granted[:20] == "abbb" * 5


async def test_a_turn_that_nobody_wants_any_more_goes_to_the_next() -> None:
    share = LoopShare()
    waiting = [asyncio.create_task(share.turn("a")) for _ in range(4)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    waiting[2].cancel()
    await asyncio.wait(waiting, timeout=5)
    assert [each.cancelled() for each in waiting] == [True, False, True, False]
    await run_ready_tasks()
    assert (share._is_pumping, share._schedule.is_waiting, share._schedule._runs) == (False, False, {})
    await share.turn("a")


async def test_slices_are_short_while_others_want_the_loop() -> None:
    watch = Watch()
    share = LoopShare(watch)
    await share.turn("a")
    assert not share.is_shared
    await asyncio.gather(*(share.turn("a", run="the same") for _ in range(3)))
    assert not share.is_shared
    await asyncio.gather(share.turn("a", run="one"), share.turn("a", run="another"))
    assert share.is_shared
    await share.turn("a")
    assert share.is_shared, "the other one may be waiting for the store"
    watch.now += 1.0
    await share.turn("a")
    assert not share.is_shared
    share.is_serving = lambda: True
    # The slice is over before the clock moves.
    await run_ready_tasks()
    watch.now += 1.0
    await share.turn("a")
    assert share.is_shared


async def test_expressions_of_one_iteration_share_its_room() -> None:
    share = LoopShare()
    assert share.take("a", LOOP_SLICE_UNITS - 10)
    assert not share.is_full
    assert not share.take("b", 11)
    assert share.is_full
    await asyncio.sleep(0)
    assert not share.is_full
    assert share.take("a", 3 * LOOP_SLICE_UNITS)
    await share.turn("a", LOOP_SLICE_UNITS)
    assert not share.take("b", 1)
    share.give_back(LOOP_SLICE_UNITS)
    assert share.take("b", 1)


async def turns_of_a_tenant_that_also_evaluates(evaluations: int) -> Counter[str]:
    """The turns of two tenants that want as many as they can get, with slices of a millisecond. The first one evaluates
    small expressions in between, for a millisecond in each iteration of the loop."""
    watch = Watch()
    share = LoopShare(watch)
    granted: Counter[str] = Counter()

    async def take(tenant: str) -> None:
        while granted.total() < 100:
            await share.turn(tenant)
            watch.now += 0.001
            granted[tenant] += 1

    async def evaluate() -> None:
        done = 0
        while granted.total() < 100:
            if done < evaluations * granted["a"] and share.take("a", round(0.001 / loop_share.UNIT_S)):
                done += 1
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as tasks:
        for each in (take("a"), take("b"), evaluate()):
            tasks.create_task(each)
    return granted


@pytest.mark.rule("lim-24")
@fails_without(TurnSchedule, "charge", lambda self, tenant, taken: None)
async def test_expressions_without_a_wait_count_as_turns_while_others_wait() -> None:
    found = await turns_of_a_tenant_that_also_evaluates(evaluations=1)
    assert found["b"] > 1.7 * found["a"]


async def test_expressions_cost_nothing_while_nothing_else_waits() -> None:
    share = LoopShare(Watch())
    for _ in range(100):
        assert share.take("a", LOOP_SLICE_UNITS)
        share.charge("a", LOOP_SLICE_UNITS)
        await asyncio.sleep(0)
    _, seen = await slices_per_iteration(share, takers=2)
    assert "".join(each for each in seen if each != ".") == "ab" * 6


def looping(rounds: int) -> dict[str, Any]:
    edges = [edge("loop", "body", sourceOutput="body"), edge("body", "loop")]
    body = node("body", "core.transform", config={"expression": "1.0 + 1.0"})
    head = node("loop", "core.loop", config={"times": rounds})
    return workflow([head, body], edges, settings={"maxLoopbackIterations": rounds})


async def largest_batches(runs: int) -> list[int]:
    """The largest batches of so many runs that loop at the same time, after their first ones."""
    sizes: dict[str, list[int]] = {}
    bench = EngineHarness()
    honest = bench.process_log.append

    async def append(run: Any, expected: int, batch: Any, *fence: Any) -> Any:
        sizes.setdefault(run.run_id, []).append(len(batch.events))
        return await honest(run, expected, batch, *fence)

    bench.process_log.append = append
    keys = [await bench.start(looping(300)) for _ in range(runs)]
    for key in keys:
        await bench.run_to_end(key)
        assert await bench.status(key) == "completed"
    return [max(each[2:]) for each in sizes.values()]


@pytest.mark.rule("lim-24")
async def test_runs_that_loop_together_work_in_small_batches_and_one_alone_in_large_ones() -> None:
    most = next_commit.SHARED_BATCH_EVENTS + 4
    assert all(size <= most for size in await largest_batches(4))
    assert (await largest_batches(1))[0] > 2 * most


@pytest.mark.rule("lim-24")
@fails_without(loop_share.TurnSchedule, "is_shared", lambda self, now, is_serving: False)
async def test_batches_are_small_because_others_wait() -> None:
    assert all(size <= next_commit.SHARED_BATCH_EVENTS + 4 for size in await largest_batches(4))


async def yields_between_rounds(monkeypatch: pytest.MonkeyPatch) -> int:
    """The turns that one run took which loops."""
    turns = 0
    honest = LoopShare.turn

    async def counted(self: LoopShare, partition: str, units: int = 0, run: str = "") -> None:
        nonlocal turns
        turns += 1
        await honest(self, partition, units, run)

    with monkeypatch.context() as patch:
        patch.setattr(LoopShare, "turn", counted)
        bench = EngineHarness()
        key = await bench.start(looping(300))
        await bench.run_to_end(key)
        assert len(await bench.event_types(key)) > 1200
    return turns


@pytest.mark.rule("lim-24")
async def test_a_run_that_continues_takes_turns_and_a_short_one_takes_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await yields_between_rounds(monkeypatch) >= 3

    async def refused(self: LoopShare, partition: str, units: int = 0, run: str = "") -> None:
        raise AssertionError("a run of one step took a turn")

    monkeypatch.setattr(LoopShare, "turn", refused)
    bench = EngineHarness()
    key = await bench.start(workflow([node("a", "core.noop")]))
    await bench.run_to_end(key)
    assert await bench.status(key) == "completed"


async def batches_of_idle_runs(count: int, rest_ns: int, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """Runs that have used up their free batches are idle for so long, and then get an input in the same iteration. How
    many turns they took for it, and how much of the iteration's room was taken."""
    bench = EngineHarness(limits=Limits(max_live_runs=4 * count))
    waiting = workflow([node("gate", "test.gate")])
    runs = [bench.executor._live.get(await bench.start(waiting)) for _ in range(count)]
    await run_ready_tasks()
    turns = 0
    honest = LoopShare.turn

    async def counted(self: LoopShare, partition: str, units: int = 0, run: str = "") -> None:
        nonlocal turns
        turns += 1
        await honest(self, partition, units, run)

    share = bench.runtime.loop_share
    with monkeypatch.context() as patch:
        patch.setattr(LoopShare, "turn", counted)
        for each in runs:
            assert each is not None
            each._needs_turn = True
            each._idle_since = each.clock.monotonic_ns() - rest_ns
            each.send(Step())
        await asyncio.sleep(0)
        taken = share._taken
        await until(lambda: all(each is not None and each._driver is None for each in runs))
    await bench.executor.close()
    return turns, taken


@pytest.mark.rule("lim-24")
@fails_without(LoopShare, "take", lambda *_: True, match="at once")
async def test_a_run_that_was_idle_needs_no_turn_unless_many_wake_up_together(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (await batches_of_idle_runs(1, IDLE_REST_NS, monkeypatch))[0] == 0
    assert (await batches_of_idle_runs(1, IDLE_REST_NS - 1, monkeypatch))[0] == 1
    room = LOOP_SLICE_UNITS // RESTED_BATCH_UNITS
    turns, taken = await batches_of_idle_runs(room + 5, IDLE_REST_NS, monkeypatch)
    assert turns == 5, "all runs at once"
    assert taken <= LOOP_SLICE_UNITS
