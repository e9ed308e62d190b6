"""The batch of a request: it has the few events that follow at once, however slow the machine is."""

import asyncio
from itertools import pairwise
from typing import Any

import pytest

from tests.harness.cases import fails_without
from tests.harness.definitions import edge, node, workflow
from tests.harness.engine_harness import ANSWERER, EngineHarness, run_ready_tasks
from weftwork.engine.decide.inputs import AnswerReceived, CancelRequested
from weftwork.engine.run import next_commit
from weftwork.protocol.run.header import RunKey


def asks_and_continues(count: int) -> dict[str, Any]:
    """A question, and so many steps after its answer."""
    ask = node("ask", "core.interrupt", config={"kind": "custom", "data": {"customKind": "pick"}})
    names = ["ask", *(f"n{i}" for i in range(count))]
    return workflow([ask, *map(node, names[1:])], [edge(*pair) for pair in pairwise(names)])


async def waiting_on_a_slow_machine(document: dict[str, Any]) -> tuple[EngineHarness, RunKey, list[list[str]]]:
    """A run that waits for its answer, on a host whose every look at the clock is later than a batch may take; and the
    types of the events of each further batch."""
    bench = EngineHarness()
    honest, looks = bench.clock.monotonic_ns, iter(range(10**9))
    late = (next_commit.MAX_BATCH_MS + 1) * 1_000_000
    bench.clock.monotonic_ns = lambda: honest() + next(looks) * late  # type: ignore[method-assign]
    key = await bench.start(document)
    for _ in range(9):
        await run_ready_tasks()
    assert await bench.status(key) == "waiting-input"
    append, batches = bench.process_log.append, list[list[str]]()

    async def noted(run: RunKey, expected: int, batch: Any, *fence: Any) -> Any:
        batches.append([event.type for event in batch.events])
        return await append(run, expected, batch, *fence)

    bench.process_log.append = noted
    return bench, key, batches


def answer(key: RunKey, bench: EngineHarness, value: Any = 1) -> Any:
    return bench.executor.request(key, AnswerReceived("ask", value, ANSWERER, bench.clock.now()))


@pytest.mark.rule("int-06")
@fails_without(next_commit, "REQUEST_BATCH_EVENTS", 0)
async def test_an_answer_has_the_status_after_the_few_steps_that_follow_it() -> None:
    bench, key, batches = await waiting_on_a_slow_machine(asks_and_continues(3))
    assert await answer(key, bench) == "completed"
    (batch,) = batches
    assert (batch[0], batch[-1]) == ("interrupt.resolved", "run.completed")


@pytest.mark.rule("int-06")
@fails_without(next_commit, "REQUEST_BATCH_EVENTS", 0)
async def test_a_cancel_does_not_come_between_an_answer_and_what_follows_from_it() -> None:
    bench, key, _ = await waiting_on_a_slow_machine(asks_and_continues(1))
    told = await asyncio.gather(answer(key, bench), bench.executor.request(key, CancelRequested(None)))
    stored = await bench.stored_run(key)
    assert told[0] == stored.projection.status == "completed"
    assert told[1].projection.status == "completed"


@pytest.mark.rule("lim-24")
@fails_without(next_commit, "_may_take_longer", lambda work: True)
async def test_a_request_that_causes_much_gives_way_to_others() -> None:
    bench, key, batches = await waiting_on_a_slow_machine(asks_and_continues(60))
    assert await answer(key, bench) == "running"
    assert len(batches[0]) <= next_commit.REQUEST_BATCH_EVENTS + 4
    await bench.run_to_end(key)
    assert await bench.status(key) == "completed"


@pytest.mark.rule("lim-24")
@fails_without(next_commit, "REQUEST_BATCH_BYTES", 10**9)
async def test_a_large_request_gives_way_to_others() -> None:
    bench, key, batches = await waiting_on_a_slow_machine(asks_and_continues(1))
    assert await answer(key, bench, "x" * 70_000) == "running"
    assert batches[0] == ["interrupt.resolved"]
    await bench.run_to_end(key)
    assert await bench.status(key) == "completed"
