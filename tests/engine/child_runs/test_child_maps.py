"""A map over child runs in real runs: order, bound, failures, restarts, cancellation."""

import asyncio
import random
from typing import Any

import pytest
from hypothesis import strategies as st

from tests.harness.cases import each_case
from tests.harness.definitions import for_all, node, variable
from tests.harness.engine_harness import EngineHarness, run, run_ready_tasks
from tests.harness.run_tree import (
    ACCEPT,
    approval_workflow,
    child_keys,
    completed_snapshot,
    ended_run,
    restart,
    sequence,
    snapshot_of,
    start_run,
)
from weftwork.adapters.nodes.flow import map as map_module
from weftwork.ports.node_outcome import Failed
from weftwork.protocol.fold.facts import NODE_CHANGES
from weftwork.protocol.limits import Limits
from weftwork.protocol.run.events import MAP_ITEM
from weftwork.protocol.run.header import TERMINAL_STATUSES

DECLARED = [variable("item", "number")]
GATED = approval_workflow("child", variables=DECLARED)
TWICE = {"value": {"type": "expression", "expression": "variables.item * 2.0"}}
DOUBLING = sequence(
    "child",
    node("twice", "core.setVariable", config={"name": "result"}, inputs=TWICE),
    variables=[*DECLARED, variable("result", "number")],
)


def mapping(items: list[Any], concurrency: int = 8, more: dict[str, Any] | None = None, **body: Any) -> dict[str, Any]:
    config = {"items": items, "concurrency": concurrency, "body": {"workflowId": "child", **body}}
    return sequence("parent", node("map", "core.flow.map", config=config, **(more or {})))


@pytest.mark.rule("kin-13")
async def test_a_list_is_worked_through_by_children() -> None:
    _, _, found = await ended_run(mapping(list(range(25)), 4, output="result"), DOUBLING)
    assert found["outputs"] == {"map": {"results": [2 * each for each in range(25)], "count": 25}}
    assert len(found["childRuns"]) == 25
    assert {each["status"] for each in found["childRuns"]} == {"completed"}
    _, _, found = await ended_run(mapping([3]), DOUBLING)
    assert found["outputs"]["map"]["results"] == [{"twice": {"output": 6}}]
    _, _, found = await ended_run(mapping([]), DOUBLING)
    assert (found["outputs"], "childRuns" in found) == ({"map": {"results": [], "count": 0}}, False)


async def test_a_child_that_fails_ends_the_map_and_those_that_are_open() -> None:
    bench = EngineHarness()
    held = sequence("child", node("hold", "test.gate"), variables=DECLARED)
    key = await start_run(bench, mapping(list(range(9)), 1, output="item"), held)
    for _ in range(2):
        await bench.release("hold")
    bench.gate_node.release("hold", Failed("down", "Down."))
    error = (await completed_snapshot(bench, key))["error"]
    line = await child_keys(bench, key)
    assert len(line) == 3
    assert error["code"] == "map_item_failed"
    assert error["details"] == {"index": 2, "code": "down", "childRunId": line[2].run_id}


@pytest.mark.rule("kin-08")
async def test_a_child_that_somebody_cancels_ends_the_others() -> None:
    bench = EngineHarness()
    key = await start_run(bench, mapping(list(range(9)), 3, {"settings": {"maxRetries": 3}}), GATED)
    line = await child_keys(bench, key)
    await bench.cancel(line[1])
    error = (await completed_snapshot(bench, key))["error"]
    await run_ready_tasks()
    assert (error["details"]["index"], error["details"]["code"]) == (1, "child_run_cancelled")
    assert await child_keys(bench, key) == line
    assert [(await snapshot_of(bench, each))["status"] for each in line] == ["cancelled"] * 3
    reasons = [(await bench.payloads(each, "run.cancelled"))[0].get("reason") for each in line]
    assert reasons == ["parent-failed", None, "parent-failed"]


@pytest.mark.rule("kin-06")
async def test_children_of_a_map_are_cancelled_with_the_run() -> None:
    bench = EngineHarness()
    key = await start_run(bench, mapping(list(range(40)), 20), GATED)
    line = await child_keys(bench, key)
    assert (len(line), await bench.status(key)) == (20, "waiting-approval")
    await bench.cancel(key)
    await bench.run_to_end(key)
    for each in line:
        await bench.run_to_end(each)
        (told,) = await bench.payloads(each, "run.cancelled")
        assert (told["reason"], told["parentRunId"]) == ("parent-cancelled", key.run_id)
    assert await child_keys(bench, key) == line


async def test_a_map_that_is_tried_again_begins_with_the_first_item() -> None:
    bench = EngineHarness()
    held = sequence("child", node("hold", "test.gate"), variables=DECLARED)
    more = {"settings": {"maxRetries": 1, "retryDelayMs": 10}}
    key = await start_run(bench, mapping([1, 2], 1, more, output="item"), held)
    for outcome in (None, Failed("down", "Down."), None, None):
        await bench.release("hold", outcome)
        await bench.advance(1_000)
    found = await completed_snapshot(bench, key)
    assert found["outputs"]["map"]["results"] == [1, 2]
    assert [each["status"] for each in found["childRuns"]] == ["completed", "failed", "completed", "completed"]


@each_case(
    "limits, document, code, started",
    (Limits(max_descendants=5), DOUBLING, "child_limit_exceeded", 4),
    (Limits(), sequence("other", node("a")), "unknown_child_workflow", 0),
    (Limits(), sequence("child", node("a"), variables=[variable("item")]), "child_inputs_invalid", 0),
)
async def test_an_item_for_which_no_child_can_be_started_ends_the_map(
    limits: Limits, document: Any, code: str, started: int
) -> None:
    bench, key, ended = await ended_run(mapping(list(range(9)), 2), document, bench=EngineHarness(limits=limits))
    assert (ended["error"]["code"], ended["error"]["details"]["code"]) == ("map_item_failed", code)
    found = await child_keys(bench, key)
    assert started <= len(found) <= limits.max_descendants
    assert bool(found) == bool(started)
    for each in found:
        await bench.run_to_end(each)


async def lived(seed: int, crashes: bool = True) -> None:
    """Children wait for people, who answer in any order; the host dies and starts again in between."""
    dice = random.Random(seed)
    bench = EngineHarness()
    count, concurrency = dice.randint(1, 9), dice.randint(1, 4)
    key = await start_run(bench, mapping(list(range(count)), concurrency, output="item"), GATED)
    for _ in range(200):
        if await bench.status(key) in TERMINAL_STATUSES:
            break
        line = [each for each in await child_keys(bench, key) if await bench.status(each) not in TERMINAL_STATUSES]
        assert len(line) <= concurrency
        items = [(await bench.stored_run(each)).header.inputs["item"] for each in await child_keys(bench, key)]
        assert items == list(range(len(items))), "not the items, in their order"
        if line and dice.random() < 0.8:
            await bench.answer(dice.choice(line), ACCEPT)
        if crashes and dice.random() < 0.4:
            for _ in range(dice.randint(0, 40)):
                await asyncio.sleep(0)
            bench = await restart(bench, GATED)
        await run_ready_tasks()
        await bench.advance(300)
    found = await completed_snapshot(bench, key)
    assert found["status"] == "completed", found["error"]
    assert found["outputs"] == {"map": {"results": list(range(count)), "count": count}}
    assert len(await child_keys(bench, key)) == count
    started = await bench.payloads(key, "weftwork.child.started")
    assert [each["key"] for each in started] == [str(index) for index in range(count)]


@pytest.mark.rule("kin-13", "kin-02")
@for_all(25, st.integers(0, 2**32))
async def test_each_item_has_one_child_whatever_happens_to_the_host(seed: int) -> None:
    await lived(seed)


async def collected(seed: int) -> None:
    """Some items have no child because they are no numbers, and people accept or reject the others; hosts die."""
    dice = random.Random(seed)
    bench = EngineHarness()
    items = [dice.choice([number, "no number"]) for number in range(dice.randint(1, 12))]
    document = mapping(items, dice.randint(1, 4), output="item")
    document["nodes"][0]["config"]["onError"] = "collect"
    key = await start_run(bench, document, GATED)
    accepted: set[Any] = set()
    for _ in range(300):
        if await bench.status(key) in TERMINAL_STATUSES:
            break
        for child in await child_keys(bench, key):
            if await bench.status(child) not in TERMINAL_STATUSES and dice.random() < 0.5:
                item = (await bench.stored_run(child)).header.inputs["item"]
                accepts = dice.random() < 0.5
                await bench.answer(child, ACCEPT if accepts else {"action": "reject"})
                accepted |= {item} if accepts else set()
        if dice.random() < 0.4:
            for _ in range(dice.randint(0, 40)):
                await asyncio.sleep(0)
            bench = await restart(bench, GATED)
        await run_ready_tasks()
        await bench.advance(300)
    found = await completed_snapshot(bench, key)
    assert found["status"] == "completed", found["error"]
    outputs = found["outputs"]["map"]
    codes = [each["error"]["code"] if "error" in each else each["output"] for each in outputs["results"]]
    wanted: dict[Any, str] = {"no number": "child_inputs_invalid"}
    assert codes == [wanted.get(each, each if each in accepted else "interrupt_rejected") for each in items]
    assert (outputs["count"], outputs["failed"]) == (len(items), len(items) - len(accepted))
    started = [int(each["key"]) for each in await bench.payloads(key, "weftwork.child.started")]
    recorded = [each["index"] for each in await bench.payloads(key, "weftwork.map.item")]
    assert started == [index for index, each in enumerate(items) if each != "no number"]
    assert recorded == [index for index, each in enumerate(items) if each == "no number"]


@pytest.mark.rule("node-16", "kin-13")
@for_all(25, st.integers(0, 2**32))
async def test_each_item_has_one_entry_whatever_happens_to_the_host(seed: int) -> None:
    await collected(seed)


def test_items_without_a_record_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(NODE_CHANGES, MAP_ITEM, lambda *given: None)
    with pytest.raises(AssertionError):
        [run(lambda seed=seed: collected(seed)) for seed in range(5)]


@pytest.mark.rule("node-16")
async def test_a_map_that_collects_starts_again_with_the_first_item_after_its_time_is_up() -> None:
    """Records of items without a child are forgotten together with the children."""
    bench = EngineHarness()
    more = {"settings": {"maxRetries": 1, "retryDelayMs": 10, "timeoutMs": 1_000}}
    document = mapping([1, "no number", 3], 1, more, output="item")
    document["nodes"][0]["config"]["onError"] = "collect"
    key = await start_run(bench, document, GATED)
    (first,) = await child_keys(bench, key)
    await bench.answer(first, ACCEPT)
    await run_ready_tasks()
    for passed in (1_000, 100):
        await bench.advance(passed)
    for _ in range(2):
        await run_ready_tasks()
        (child,) = [each for each in await child_keys(bench, key) if await bench.status(each) not in TERMINAL_STATUSES]
        await bench.answer(child, ACCEPT)
    results = (await completed_snapshot(bench, key))["outputs"]["map"]["results"]
    assert [each["status"] for each in results] == ["completed", "failed", "completed"]
    assert [each["index"] for each in await bench.payloads(key, "weftwork.map.item")] == [1, 1]


def test_a_map_that_forgets_what_it_started_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = map_module.map_children

    async def forgetting(call: Any, context: Any, items: Any) -> Any:
        if call.open_children > 1:
            items = [*items, None]
        return await plain(call, context, items)

    monkeypatch.setattr("weftwork.adapters.nodes.flow.map.map_children", forgetting)
    with pytest.raises(AssertionError):
        [run(lambda seed=seed: lived(seed, crashes=False)) for seed in range(30)]
