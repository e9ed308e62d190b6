"""Random graphs on the real engine: it ends as the bare fold does, its state is its log, its rows are its state."""

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.run.test_event_logs import check_caches, check_log
from tests.harness.definitions import edge, example_count, node, workflow
from tests.harness.engine_harness import run
from tests.simulation.fold_driver import (
    FoldedRun,
    choose_first,
    choose_last,
    choose_randomly,
    event_counts,
    final_state,
)
from tests.simulation.random_workflows import random_workflow, violations_of
from tests.simulation.run_driver import RunDriver, random_instant_types
from weftwork.engine.run import append
from weftwork.protocol.run.events import Fact

ASKING = {"core.interrupt": 1}


def walked(document: dict[str, Any]) -> FoldedRun:
    plan, violations = violations_of(document)
    assert plan is not None, violations
    return FoldedRun(plan).run(choose_first)


def timeless(facts: list[Fact]) -> list[Fact]:
    """Facts as a run without an engine has them: channel writes without their time, the start without its owner."""
    plain = [
        Fact(each.sequence, each.type, {k: v for k, v in each.payload.items() if k != "writtenAt"}, 0, each.node_id)
        for each in facts
    ]
    return [each for each in plain if each.type != "run.started"]


async def check_run(document: dict[str, Any], seed: int) -> None:
    dice = random.Random(seed)
    expected = walked(document)
    for choose in (choose_last, choose_randomly(seed)):
        gated = await RunDriver(random_instant_types(dice), dice.choice([1, 2, 16])).start(
            document, dice.random() < 0.5
        )
        state = await gated.finish(choose, lambda: dice.random() < 0.4)
        assert final_state(state) == final_state(expected.state)
        assert event_counts(timeless(await gated.facts())) == event_counts(timeless(expected.facts))
        check_log(await gated.engine.events(gated.key))
        await check_caches(gated.engine, gated.key)
        await gated.engine.crash()


@pytest.mark.rule("run-02", "fold-01", "data-05")
@settings(max_examples=example_count(15, 1200), deadline=None)
@given(st.integers(0, 2**48))
async def test_an_engine_ends_as_the_fold_alone_does(seed: int) -> None:
    document = random_workflow(random.Random(seed), more=ASKING)
    await check_run(document, seed)


@pytest.mark.rule("fold-01")
@settings(max_examples=example_count(10), deadline=None)
@given(st.integers(0, 2**48))
async def test_every_prefix_of_a_log_can_be_folded_and_goes_on_to_its_end(seed: int) -> None:
    document = random_workflow(random.Random(seed), 6, ASKING)

    gated = await RunDriver().start(document)
    whole = await gated.finish(choose_randomly(seed))
    for length in range(whole.last_sequence + 1):
        assert (await gated.folded(length)).last_sequence == length - 1
        assert (await gated.folded(length)).completed_at is None
    await gated.engine.crash()


LOOP = workflow(
    [node("a", "core.loop", config={"times": 2}), node("b"), node("c")],
    [edge("a", "b", sourceOutput="body"), edge("b", "a"), edge("a", "c", sourceOutput="done")],
)


def test_a_live_run_that_left_its_log_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = append.apply

    def apply(state: Any, fact: Fact) -> None:
        honest(state, fact)
        state.executions += fact.type == "node.completed"

    run(lambda: check_run(LOOP, 1))
    monkeypatch.setattr(append, "apply", apply)
    with pytest.raises(AssertionError):
        run(lambda: check_run(LOOP, 1))


async def test_a_row_that_was_not_written_again_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = append.BatchBuilder._rows

    def rows(self: append.BatchBuilder) -> Any:
        return tuple(row for row in honest(self) if row.name != "b")

    monkeypatch.setattr(append.BatchBuilder, "_rows", rows)
    with pytest.raises(AssertionError):
        await check_run(LOOP, 1)
