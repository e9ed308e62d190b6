"""The wall clock is set back or forward, while the host runs and between two processes."""

import random
from itertools import pairwise
from typing import Any

import pytest

from tests.engine.run.test_loops import flaky
from tests.engine.run.test_parked_waits import ASK, IS_DOWN, LENGTH
from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import edge, example_count, node, workflow
from tests.harness.engine_harness import EngineHarness, run_ready_tasks
from tests.harness.scripted_model import ScriptedModel
from weftwork.engine.decide.inputs import VariablesOverwritten
from weftwork.engine.host import parked_clocks
from weftwork.engine.nodes import run_clock
from weftwork.protocol.run.header import TERMINAL_STATUSES, RunKey
from weftwork.protocol.run.run_time import MAX_LAG_MS
from weftwork.protocol.timestamps import iso
from weftwork.protocol.workflow.timed_waits import LONG_WAIT_MS

HOUR = 3_600_000
DAY = 24 * HOUR
SHORT = LONG_WAIT_MS - 100
"""A delay of this length stays in memory; a longer one is parked."""
LONG = 6 * HOUR

Document = dict[str, Any]


def delay(length: int, **more: Any) -> Document:
    return workflow([node("wait", "core.delay", config={"delayMs": length}, **more)])


def retry(length: int) -> Document:
    own = {"maxRetries": 1, "retryDelayMs": length, "retryMaxDelayMs": length}
    return workflow([node("a", "test.flaky", settings=own)])


def wait_for(length: int) -> Document:
    """A `core.wait` for an instant that the run computes from its start, so that the test may start at any time."""
    return workflow([node("wait", "core.wait", inputs={"until": {"type": "static", "value": iso(BEGIN + length)}})])


def approval(**settings: int) -> Document:
    config = {"title": "Pay?", **settings}
    return workflow([node("ask", "core.approvalGate", config=config)])


BEGIN = EngineHarness().clock.now()
CHILD = {**delay(100 * DAY), "id": "child"}
PARENT = workflow([node("call", "core.subWorkflow", config={"workflowId": "child"}, settings={"timeoutMs": LONG})])
MAP = workflow(
    [
        node(
            "map",
            "core.flow.map",
            config={"body": {"typeId": "core.delay", "config": {"ms": LONG}}},
            inputs={"items": {"type": "static", "value": [1]}},
        )
    ]
)
WAITS: list[tuple[Document, int, str]] = [
    (delay(SHORT), SHORT, "node.completed"),
    (delay(LONG), LONG, "node.completed"),
    (wait_for(SHORT), SHORT, "node.completed"),
    (wait_for(LONG), LONG, "node.completed"),
    (retry(SHORT), SHORT, "node.completed"),
    (retry(LONG), LONG, "node.completed"),
    (delay(100 * DAY, settings={"timeoutMs": LONG}), LONG, "node.failed"),
    (workflow([node("gate", "test.gate", settings={"timeoutMs": LONG})]), LONG, "node.failed"),
    (workflow([node("gate", "test.gate")], settings={"timeout": LONG}), LONG + 1, "run.failed"),
    (
        workflow([node("wait", "core.delay", config={"ms": 100 * DAY})], settings={"timeout": LONG}),
        LONG + 1,
        "run.failed",
    ),
    (approval(timeoutMs=LONG), LONG, "interrupt.resolved"),
    (approval(remindAfterMs=[LONG]), LONG, "weftwork.interrupt.reminder"),  # type: ignore[arg-type]
    (PARENT, LONG, "node.failed"),
    (MAP, LONG, "node.completed"),
    (workflow([node("ask", "test.ask")]), LENGTH, "weftwork.provider.retried"),
    (workflow([node("ask", "test.ask", settings={"timeoutMs": LENGTH // 2})]), LENGTH // 2, "node.failed"),
]
"""Each kind of wait, its length, and the event at its end."""


async def begin(document: Document) -> tuple[EngineHarness, RunKey]:
    bench = await EngineHarness(flaky(1), ASK, models=ScriptedModel(IS_DOWN, "yes")).open()
    assert await bench.catalog.register(CHILD) == []
    return await bench.with_settled_run(document)


def passed(bench: EngineHarness) -> int:
    return bench.clock.monotonic_ns() // 1_000_000


async def wait_until(bench: EngineHarness, key: RunKey, kind: str, at_most: int = 200 * DAY) -> int:
    """The time that passes, on the monotonic clock, until the run has an event of this type."""
    start = passed(bench)
    while kind not in await bench.event_types(key):
        assert passed(bench) - start <= at_most, f"there is no {kind} after {passed(bench) - start} ms"
        await run_ready_tasks()
        if kind not in await bench.event_types(key):
            assert bench.clock.next_wake is not None, f"nothing happens any more, and there is no {kind}"
            bench.clock.advance(max(0, bench.clock.next_wake - bench.clock.now()))
            await run_ready_tasks()
    return passed(bench) - start


def check_length(waited: int, length: int, more: int = 1) -> None:
    """A parked run is woken a millisecond late, so that it is never woken too early."""
    assert length <= waited <= length + more, f"a wait of {length} ms took {waited} ms"


async def check_order(bench: EngineHarness, key: RunKey) -> None:
    times = [event.timestamp for event in await bench.events(key)]
    assert all(a <= b for a, b in pairwise(times)), "a timestamp is earlier than the one before"


def on_the_wall_clock(wall: int, last: int, elapsed: int) -> int:
    return wall


@pytest.mark.rule("time-01", "time-02")
@fails_without(run_clock, "run_time", on_the_wall_clock, match="took|there is no|earlier")
@each_case("shift", -HOUR, -DAY, -40 * DAY)
@each_case("document, length, end", *WAITS)
async def test_setting_the_clock_back_while_the_host_runs_does_not_lengthen_a_wait(
    document: Document, length: int, end: str, shift: int
) -> None:
    bench, key = await begin(document)
    await bench.advance(length // 3)
    bench.clock.shift(shift)
    check_length(length // 3 + await wait_until(bench, key, end, 2 * length), length)
    await check_order(bench, key)
    await bench.crash()


@pytest.mark.rule("time-02")
@fails_without(parked_clocks, "is_ahead", lambda origin, wall_origin: False, match="took|there is no")
@each_case("shift", -HOUR, -40 * DAY)
async def test_a_parked_run_is_woken_on_the_monotonic_clock(shift: int) -> None:
    bench, key = await begin(delay(LONG))
    assert bench.executor.live_count == 0, "the run is live"
    bench.clock.shift(shift)
    check_length(await wait_until(bench, key, "node.completed"), LONG)
    await check_order(bench, key)


@pytest.mark.rule("time-01")
@each_case("shift", HOUR, 4 * HOUR, DAY, 40 * DAY)
@each_case("document, length, end", *WAITS)
async def test_setting_the_clock_forward_while_the_host_runs_may_end_a_wait_early_and_never_late(
    document: Document, length: int, end: str, shift: int
) -> None:
    bench, key = await begin(document)
    await bench.advance(length // 3)
    bench.clock.shift(shift)
    waited = length // 3 + await wait_until(bench, key, end, 2 * length)
    assert max(length // 3, length - shift) <= waited <= length + 1
    await check_order(bench, key)
    await bench.crash()


@pytest.mark.rule("time-01", "time-02")
@fails_without(
    [run_clock, "run_time", on_the_wall_clock],
    [parked_clocks, "origin_at_start", lambda wall_origin, last_event_at, monotonic: wall_origin],
    match="took|there is no|earlier",
)
@each_case("shift", -HOUR, -DAY, -40 * DAY, HOUR, DAY)
@each_case("document, length, end", *WAITS)
async def test_after_a_restart_the_time_left_is_at_most_the_length_of_the_wait(
    document: Document, length: int, end: str, shift: int
) -> None:
    bench, key = await begin(document)
    await bench.advance(length // 3)
    await bench.crash()
    bench.clock.shift(shift)
    bench = await bench.take_over()
    if document is MAP:
        # The wait of an item is not in the log, so the item starts again.
        assert await wait_until(bench, key, end, 2 * length) <= length + 1
    else:
        left = min(max(length - length // 3 - shift, 0), length)
        check_length(await wait_until(bench, key, end), left)
    await check_order(bench, key)
    await bench.crash()


@pytest.mark.rule("time-02")
@fails_without(
    parked_clocks,
    "origin_at_start",
    lambda wall_origin, last_event_at, monotonic: wall_origin,
    match="took|there is no",
)
async def test_a_run_that_an_earlier_process_parked_is_found_at_the_start_although_the_clock_was_set_back() -> None:
    bench, key = await begin(delay(LONG))
    await bench.crash()
    bench.clock.shift(-40 * DAY)
    bench = await bench.take_over()
    await run_ready_tasks()
    assert bench.executor.live_count == 0, "the run was loaded at the start"
    check_length(await wait_until(bench, key, "node.completed"), LONG)
    await check_order(bench, key)


@pytest.mark.rule("time-01")
@each_case("shift", -HOUR, -40 * DAY)
async def test_runs_that_start_after_the_clock_was_set_back_use_the_new_time(shift: int) -> None:
    """Also waits for an instant on the new wall clock, and the runs parked before keep their own time."""
    bench, before = await begin(delay(LONG))
    await bench.advance(HOUR)
    bench.clock.shift(shift)
    now = bench.clock.now()
    until = workflow(
        [node("wait", "core.wait", inputs={"until": {"type": "static", "value": now + 2 * HOUR}})], id="w2"
    )
    short = {**delay(SHORT), "id": "w3"}
    keys = [await bench.start({**delay(2 * HOUR), "id": "w1"}), await bench.start(until), await bench.start(short)]
    await run_ready_tasks()
    for at, length in ((2, SHORT), (1, 2 * HOUR), (0, 2 * HOUR), (-1, LONG - HOUR)):
        await wait_until(bench, [*keys, before][at], "node.completed")
        check_length(passed(bench) - HOUR, length)
    assert (await bench.events(keys[1]))[-1].timestamp - now in range(2 * HOUR, 2 * HOUR + 2)
    for key in (before, *keys):
        await check_order(bench, key)


@pytest.mark.rule("time-02")
@fails_without(parked_clocks.ParkedClocks, "on_loaded", lambda self, run: None, match="took|there is no")
@each_case("shift", -HOUR, -40 * DAY)
async def test_a_run_that_a_request_loads_and_that_is_parked_again_keeps_its_time(shift: int) -> None:
    bench, key = await begin(delay(LONG))
    await bench.advance(HOUR)
    bench.clock.shift(shift)
    for _ in range(2):
        await bench.advance(HOUR)
        await bench.executor.request(key, VariablesOverwritten({}))
        await run_ready_tasks()
        assert bench.executor.live_count == 0
    check_length(3 * HOUR + await wait_until(bench, key, "node.completed"), LONG)
    await check_order(bench, key)


@pytest.mark.rule("time-01")
async def test_a_run_that_is_ahead_counts_its_next_wait_in_full() -> None:
    """After the clock was set back, the run is ahead of it, and so are the ends of its later waits."""
    names = [f"n{i}" for i in range(4)]
    lengths = [HOUR, SHORT, 2 * HOUR, SHORT]
    nodes = [node(name, "core.delay", config={"ms": length}) for name, length in zip(names, lengths, strict=True)]
    bench, key = await begin(workflow(nodes, [edge(*pair) for pair in pairwise(names)]))
    bench.clock.shift(-5 * DAY)
    await wait_until(bench, key, "run.completed", sum(lengths) + 10)
    check_length(passed(bench), sum(lengths), len(lengths))
    await check_order(bench, key)
    first, *_, last = await bench.events(key)
    check_length(last.timestamp - first.timestamp, sum(lengths), len(lengths))


async def wake_in(bench: EngineHarness) -> int:
    """The time until the host has something to do."""
    await run_ready_tasks()
    when = bench.clock.next_wake
    assert when is not None, "nothing happens any more"
    return max(0, when - bench.clock.now())


@pytest.mark.rule("time-01", "time-02")
@fails_without(run_clock, "run_time", on_the_wall_clock, match="late|earlier")
@fails_without(parked_clocks, "is_ahead", lambda origin, wall_origin: False, match="late|earlier")
async def test_the_clock_is_set_at_random() -> None:
    """No wait takes longer than its length since the last start of the host, and no timestamp decreases."""
    for seed in range(example_count(200)):
        dice = random.Random(seed)
        document, length, end = dice.choice(WAITS)
        bench, key = await begin(document)
        since, lives = 0, 1
        while end not in await bench.event_types(key):
            move = dice.random()
            if move < 0.4:
                bench.clock.shift(dice.choice([-40 * DAY, -DAY, -HOUR, -60_000, -150, -50, -1, 1, 3_000, HOUR, DAY]))
            elif move < 0.5:
                await bench.crash()
                bench = await bench.take_over()
                since, lives = 0, lives + 1
            else:
                step = min(dice.randrange(1, length // 2), await wake_in(bench))
                since += step
                await bench.advance(step)
            await run_ready_tasks()
            assert since <= length + MAX_LAG_MS + 10 * lives, f"seed {seed}: {end} is late"
            assert await bench.status(key) not in TERMINAL_STATUSES or end in await bench.event_types(key)
        await check_order(bench, key)
        await bench.crash()


@pytest.mark.rule("time-01")
async def test_an_approval_that_is_ahead_of_the_wall_clock_takes_an_answer_until_its_end() -> None:
    bench, key = await begin(approval(timeoutMs=LONG))
    bench.clock.shift(-DAY)
    await bench.advance(LONG - 10)
    assert await bench.status(key) == "waiting-approval"
    await bench.answer(key, {"action": "accept"})
    await bench.run_to_end(key)
    (resolved,) = await bench.payloads(key, "interrupt.resolved")
    assert resolved["outcome"] == "accepted"
    await check_order(bench, key)
