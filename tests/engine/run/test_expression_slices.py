"""No stretch of expression work holds the event loop for longer than its slice: counted in units between two yields."""

import asyncio
from typing import Any

import msgspec
import pytest

from tests.harness.cases import fails_without
from tests.harness.definitions import FULL, edge, node, workflow
from tests.harness.engine_harness import EngineHarness
from tests.harness.loop_meter import LoopMeter, ThreadWorkers, metered_loop
from weftwork.adapters.nodes.net.http_request import http_nodes
from weftwork.engine.run import next_commit, replay
from weftwork.engine.run.loop_share import LoopShare
from weftwork.engine.run.replay import load_state
from weftwork.ports.expression_workers import WorkerLost
from weftwork.ports.outbound import FetchFailed, OutboundRequest
from weftwork.protocol.expressions.budget import WorkBudget
from weftwork.protocol.limits import LOOP_SLICE_UNITS, ExpressionLimits, Limits
from weftwork.protocol.run.header import RunKey

SMALL = "inputs.l.map(x, x + 1.0).size() > 0"
"""About 370,000 units with 350 items, so two of them do not fit into a slice."""
ITEMS = list(range(350))
SHARING = 12 if FULL else 4
"""Runs that share a slice."""
LARGE = "inputs.l.map(x, x + 1.0).map(x, x).size() > 0"


class Refused:
    """An outbound client that keeps the requests and answers none."""

    def __init__(self) -> None:
        self.requests: list[OutboundRequest] = []

    async def fetch(self, request: OutboundRequest) -> Any:
        self.requests.append(request)
        raise FetchFailed("There is no network.", sent=False)


def ports(count: int, source: str) -> dict[str, Any]:
    return {f"p{at:02}": {"type": "expression", "expression": source} for at in range(count)}


def harness(limits: Limits | None = None) -> tuple[EngineHarness, ThreadWorkers, Refused]:
    client, workers = Refused(), ThreadWorkers()
    types: Any = http_nodes(client)  # type: ignore[arg-type]
    return EngineHarness(*types, limits=limits, expression_workers=workers), workers, client


CASES: dict[str, dict[str, Any]] = {
    "60 ports": node("a", "core.identity", inputs=ports(60, SMALL)),
    "60 ports of a waiting node": node("a", "test.gate", inputs=ports(60, SMALL)),
    "2 items with 30 inputs": node(
        "a", "core.flow.map", config={"items": [1, 2], "body": {"typeId": "core.identity", "inputs": ports(30, SMALL)}}
    ),
    "40 headers": node(
        "a",
        "core.http.request",
        config={"url": "https://x.example/", "headers": {f"x-{at}": f"{{{{{SMALL}}}}}" for at in range(40)}},
    ),
    "60 fields": node("a", "core.transform", config={"fields": {f"f{at}": SMALL for at in range(60)}}),
    "a template": node("a", "core.template", config={"template": f"{{{{{SMALL}}}}}" * 60}),
    "a question": node("a", "core.approvalGate", config={"title": f"{{{{{SMALL}}}}}" * 20, "artifactType": "x"}),
    "a filter": node("a", "core.filter", config={"items": [1] * 60, "expression": SMALL}),
}
FEW = node("a", "core.transform", config={"fields": {f"f{at}": SMALL for at in range(9)}})
"""Two fields more than the budget allows if they are large."""


async def run_metered(
    place: dict[str, Any], source: str = SMALL, items: list[int] = ITEMS
) -> tuple[EngineHarness, RunKey, LoopMeter, ThreadWorkers]:
    """A run of this node, up to its end or until it waits."""
    bench, workers, _ = harness()
    encoded = msgspec.json.encode(workflow([place])).replace(SMALL.encode(), source.encode())
    with metered_loop() as meter:
        key = await bench.start(msgspec.json.decode(encoded), inputs={"l": items})
        async with asyncio.timeout(60):
            while await bench.status(key) in ("pending", "running") and not bench.gate_node.waiting:
                await asyncio.sleep(0)
    return bench, key, meter, workers


def always(value: Any) -> Any:
    return lambda *_: value


@pytest.mark.parametrize("case", CASES)
@pytest.mark.rule("expr-12")
async def test_the_expressions_of_a_node_yield_to_the_loop(case: str) -> None:
    bench, key, meter, workers = await run_metered(CASES[case])
    codes = [each["error"]["code"] for each in await bench.payloads(key, "node.failed")]
    assert codes == (["fetch_failed"] if case == "40 headers" else [])
    assert not workers.jobs
    assert meter.total > 3 * LOOP_SLICE_UNITS
    assert meter.longest <= LOOP_SLICE_UNITS


@fails_without(LoopShare, "take", always(True))
async def test_a_slice_of_the_loop_is_a_limit() -> None:
    *_, meter, _ = await run_metered(CASES["60 ports"])
    assert meter.longest <= LOOP_SLICE_UNITS


@pytest.mark.parametrize("case", CASES)
@pytest.mark.rule("expr-12")
async def test_large_expressions_of_a_node_run_in_workers_and_share_a_budget(case: str) -> None:
    bench, key, meter, workers = await run_metered(CASES[case], LARGE, list(range(900)))
    (failed,) = await bench.payloads(key, "node.failed")
    within = failed["error"].get("details", {}).get("code", failed["error"]["code"])
    assert within == "expression_limit"
    assert "together exceed their limit of 20,000,000 units of work" in failed["error"]["message"]
    place = {"60 ports": "the input p06", "2 items": "p06/expression for the item with the index 0", "40": "x-14:"}
    wanted = next((text for name, text in place.items() if case.startswith(name)), "")
    assert wanted in failed["error"]["message"]
    # Both items of a map begin, and the second one finds the budget spent.
    assert len(workers.jobs) == (8 if case.startswith("2 items") else 7)
    assert meter.longest <= LOOP_SLICE_UNITS


@fails_without(WorkBudget, "spend", lambda self, work: None)
async def test_without_a_budget_every_expression_would_be_evaluated() -> None:
    *_, workers = await run_metered(FEW, LARGE, list(range(900)))
    assert len(workers.jobs) == 7


@pytest.mark.rule("expr-12")
async def test_a_run_has_the_limit_of_work_with_which_it_was_created() -> None:
    small = Limits(expressions=ExpressionLimits(1_000_000, 100_000))
    bench, _, _ = harness(limits=small)
    key = await bench.execute(workflow([CASES["60 fields"]]), inputs={"l": ITEMS})
    (failed,) = await bench.payloads(key, "node.failed")
    # Members of a stored definition are sorted, so this is the fourth.
    assert (
        "/config/fields/f11: The expressions of the node together exceed their limit of 1,000,000"
        in (failed["error"]["message"])
    )
    assert (await bench.stored_run(key)).header.expression_limits == ExpressionLimits(1_000_000, 100_000)


async def test_many_runs_share_a_slice() -> None:
    bench, _, _ = harness()
    with metered_loop() as meter:
        keys = [
            await bench.start(workflow([CASES["60 fields"]]), inputs={"l": ITEMS}, at_once=False)
            for _ in range(SHARING)
        ]
        async with asyncio.timeout(60):
            while not all([await bench.status(key) == "completed" for key in keys]):
                await asyncio.sleep(0)
    assert meter.total > SHARING * 15_000_000
    assert meter.longest <= LOOP_SLICE_UNITS


CONDITION = "nodes.a.outputs.l.map(x, x + 1.0).size() >= 0"
LOOPING = workflow(
    [node("a", "core.identity", inputs={"l": {"type": "variable", "variableName": "l"}})],
    [edge("a", "a", condition={"type": "expression", "expression": CONDITION})],
    variables=[{"name": "l", "type": "array"}],
    settings={"maxLoopbackIterations": 20},
)


@fails_without(next_commit, "MAX_BATCH_UNITS", 2**60)
@pytest.mark.rule("expr-13")
async def test_the_conditions_of_a_loop_yield_between_rounds() -> None:
    bench, _, _ = harness()
    with metered_loop() as meter:
        key = await bench.execute(LOOPING, inputs={"l": ITEMS})
    assert await bench.status(key) == "failed"
    assert meter.total > 10 * LOOP_SLICE_UNITS
    assert meter.longest <= 2 * LOOP_SLICE_UNITS


@fails_without(replay, "MAX_UNITS_PER_TURN", 2**60)
@pytest.mark.rule("expr-13")
async def test_a_restart_does_not_repeat_the_work_of_conditions_at_once() -> None:
    bench, _, _ = harness()
    key = await bench.execute(LOOPING, inputs={"l": ITEMS})
    header = (await bench.stored_run(key)).header
    plan = await bench.catalog.pinned_plan(header.workflow_id, header.definition)
    with metered_loop() as meter:
        state = await load_state(bench.store.log, header, plan, share=LoopShare())
    assert state.is_terminal
    assert meter.total > 10 * LOOP_SLICE_UNITS
    assert meter.longest <= 2 * LOOP_SLICE_UNITS


async def test_an_iteration_has_room_for_one_slice() -> None:
    share = LoopShare()
    assert share.take("a", LOOP_SLICE_UNITS - 1)
    assert not share.is_full
    assert not share.take("b", 2)
    assert share.is_full
    assert not share.take("b", 1)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert share.take("b", 3 * LOOP_SLICE_UNITS)
    assert share.is_full


async def test_work_of_little_weight_needs_no_rest() -> None:
    share = LoopShare()
    for _ in range(5):
        assert share.take("a", LOOP_SLICE_UNITS // 3)
        await asyncio.sleep(0)
        await asyncio.sleep(0)


async def test_a_turn_reserves_room_and_what_is_given_back_is_free() -> None:
    share = LoopShare()
    await share.turn("a", LOOP_SLICE_UNITS)
    assert not share.take("b", 1)
    share.give_back(LOOP_SLICE_UNITS)
    assert share.take("b", LOOP_SLICE_UNITS // 2)
    share.charge("b", LOOP_SLICE_UNITS)
    assert share.is_full
    waiting = [asyncio.ensure_future(share.turn(name, LOOP_SLICE_UNITS)) for name in "abc"]
    async with asyncio.timeout(10):
        await asyncio.gather(*waiting)


async def test_a_node_whose_worker_is_lost_fails_with_a_code() -> None:
    class LostWorkers(ThreadWorkers):
        async def evaluate(self, partition: str, job: Any) -> Any:
            raise WorkerLost

    bench = EngineHarness(expression_workers=LostWorkers())
    source = {"expression": LARGE}
    key = await bench.execute(workflow([node("a", "core.transform", config=source)]), inputs={"l": list(range(900))})
    assert (await bench.payload(key, "node.failed"))["error"]["code"] == "expression_worker_lost"
