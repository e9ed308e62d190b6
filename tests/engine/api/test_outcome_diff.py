"""Runs compared by their outcome: equal whatever the order of their events, and in bounded memory and time."""

import asyncio
import json
from typing import Any

import msgspec
import pytest

from tests.engine.api.test_review import CHAIN, OTHER
from tests.harness.cases import fails_without
from tests.harness.definitions import edge, node, workflow
from tests.harness.engine_harness import CALLER, EngineHarness, fault_of, run_ready_tasks
from weftwork.engine.api import review
from weftwork.engine.api.keyring import Principal
from weftwork.engine.api.review import RunDiffs
from weftwork.protocol.json import schema
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.review import outcome_diff
from weftwork.protocol.run.batch import Batch
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.header import Owner, RunHeader, RunKey
from weftwork.protocol.run.projection import Projection, StateRow

PARALLEL = workflow(
    [node("left", "test.gate"), node("right", "test.gate"), node("end")], [edge("left", "end"), edge("right", "end")]
)
Completed = list[tuple[str, Any]]


async def outcomes(bench: EngineHarness, a: RunKey, b: RunKey, caller: Principal = CALLER) -> dict[str, Any]:
    made = await RunDiffs(bench.runtime, bench.executor).compare_outcomes(caller, a.run_id, b.run_id)
    document = json.loads(msgspec.json.encode(made))
    assert schema.check("run-outcome-diff", document) == []
    return document


async def stored(bench: EngineHarness, run_id: str, completed: Completed, rows: Any = (), **members: Any) -> RunKey:
    """An ended run in which nodes completed in this order with these outputs, and with rows of its state."""
    header = RunHeader(run_id, CALLER.partition, Owner("acme", "key_1"), "w", "d", 1_000)
    drafts: list[tuple[str, str | None, Any]] = [("run.started", None, {})]
    drafts += [("node.completed", node_id, {"nodeId": node_id, "outputs": each}) for node_id, each in completed]
    drafts.append(("run.completed", None, {"outputs": {}}))
    events = tuple(
        Event(run_id, at, f"{run_id}-{at}", kind, 1_000 + at, encode_stored(payload), node_id)
        for at, (kind, node_id, payload) in enumerate(drafts)
    )
    states = {node_id: StateRow("node", node_id, b'{"status":"completed","attempt":1}') for node_id, _ in completed}
    states |= {f"{row.kind}/{row.name}": row for row in rows}
    projection = Projection("completed", len(drafts) - 1, 1_000, 2_000, **members)
    await bench.store.log.create(header, first=Batch(events, projection, rows=tuple(states.values())))
    return header.key


def pointers(document: dict[str, Any]) -> list[str]:
    return [each["pointer"] for each in document["differences"]]


@pytest.mark.rule("diff-06")
async def test_the_order_in_which_branches_finish_is_no_difference() -> None:
    bench, keys = EngineHarness(), list[RunKey]()
    for order in (("left", "right"), ("right", "left")):
        keys.append(await bench.start(PARALLEL))
        await run_ready_tasks()
        for name in order:
            bench.gate_node.release(name)
            await run_ready_tasks()
        await bench.run_to_end(keys[-1])
    made = await RunDiffs(bench.runtime, bench.executor).compare(CALLER, keys[0].run_id, keys[1].run_id)
    assert made["divergedAtSeq"] is not None, "the events differ"
    document = await outcomes(bench, keys[0], keys[1])
    assert (document["same"], document["differences"], document["truncated"]) == (True, [], False)
    await bench.close()


@pytest.mark.rule("diff-06")
async def test_the_last_outputs_of_each_node_are_compared() -> None:
    bench = await EngineHarness().open()
    a = await stored(bench, "run-one-0000000000", [("n", {"x": 1}), ("m", {"y": 1}), ("n", {"x": 2})])
    b = await stored(bench, "run-two-0000000000", [("m", {"y": 1.0}), ("n", {"x": 2})])
    c = await stored(bench, "run-tri-0000000000", [("n", {"x": 2}), ("m", {"y": 1}), ("n", {"x": 1})])
    assert (await outcomes(bench, a, b))["same"] is True
    document = await outcomes(bench, a, c)
    assert document["differences"] == [{"pointer": "/nodes/n/outputs", "a": {"x": 2}, "b": {"x": 1}}]
    assert document["same"] is False
    assert pointers(await outcomes(bench, a, await stored(bench, "run-fou-0000000000", [("n", {"x": 2})]))) == [
        "/nodes/m/outputs",
        "/nodes/m/status",
    ]
    await bench.close()


@pytest.mark.rule("diff-06")
async def test_error_nodes_and_channels_are_compared() -> None:
    bench = await EngineHarness().open()
    failed = StateRow("node", "n", b'{"status":"failed","attempt":3,"error":{"code":"x","message":"y"}}')
    other = StateRow("node", "n", b'{"status":"failed","attempt":1,"error":{"code":"z","message":"y"}}')
    channel, reversed_channel = (StateRow("channel", "c", value) for value in (b"[1,2]", b"[2,1]"))
    error = b'{"code":"x","message":"run-one-0000000000 failed"}'
    a = await stored(bench, "run-one-0000000000", [], [failed, channel], error=error)
    same = error.replace(b"run-one", b"run-two")
    b = await stored(bench, "run-two-0000000000", [], [failed, reversed_channel], error=same)
    c = await stored(bench, "run-tri-0000000000", [], [other, channel])
    assert (await outcomes(bench, a, b))["same"] is True
    assert pointers(await outcomes(bench, a, c)) == ["/error", "/nodes/n/error"]
    await bench.close()


@pytest.mark.rule("diff-06")
async def test_runs_that_have_not_ended_are_not_called_the_same() -> None:
    bench, live = await EngineHarness().with_settled_run(CHAIN, inputs={"word": "x"})
    also = await bench.start(CHAIN, inputs={"word": "x"})
    await run_ready_tasks()
    for other in (live, also):
        document = await outcomes(bench, live, other)
        assert (document["same"], document["differences"], document["truncated"]) == (None, [], True)
    bench.gate_node.release("b")
    assert await bench.run_to_end(also)
    assert (await outcomes(bench, live, also))["same"] is False
    await bench.close()


@pytest.mark.rule("diff-06")
async def test_what_was_not_compared_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = await EngineHarness().open()
    a = await stored(bench, "run-one-0000000000", [("n", {"x": "a" * 500})])
    b = await stored(bench, "run-two-0000000000", [("n", {"x": "b" * 500})])
    assert (await outcomes(bench, a, b))["same"] is False
    monkeypatch.setattr(outcome_diff, "MAX_OUTCOME_BYTES", 900)
    assert [(await outcomes(bench, a, b))[name] for name in ("same", "differences", "truncated")] == [None, [], True]
    monkeypatch.setattr(review, "MAX_OUTCOME_EVENTS", 1)
    assert [(await outcomes(bench, a, b))[name] for name in ("same", "differences", "truncated")] == [None, [], True]
    await bench.close()


@pytest.mark.rule("diff-06", "diff-04")
async def test_hidden_values_stay_hidden_and_runs_of_others_do_not_exist() -> None:
    bench = EngineHarness()
    keys = [await bench.start(CHAIN, inputs={"secret": f"canary-{n}", "word": f"say canary-{n}"}) for n in "ab"]
    await run_ready_tasks()
    document = await outcomes(bench, keys[0], keys[1])
    assert "canary" not in json.dumps(document)
    assert document["differences"] == []
    for pair, caller in (((keys[0], keys[1]), OTHER), ((keys[0], RunKey(CALLER.partition, "nobody")), CALLER)):
        assert (await fault_of(outcomes(bench, *pair, caller))).code == "not_found"
    await bench.close()


LONG = 20_000


async def _longest_hold(bench: EngineHarness, a: RunKey, b: RunKey) -> tuple[int, int]:
    """The most events that were read between two turns of another task, and the most bytes of a page."""
    honest, since, most_events, most_bytes, done = bench.log.read, 0, 0, 0, False

    async def read(*arguments: Any) -> Any:
        nonlocal since, most_events, most_bytes
        page = await honest(*arguments)
        since += len(page)
        most_events, most_bytes = max(most_events, since), max(most_bytes, sum(event.size for event in page))
        return page

    async def other_work() -> None:
        nonlocal since
        while not done:
            since = 0
            await asyncio.sleep(0)

    bench.log.read = read
    other = asyncio.create_task(other_work())
    diffs = RunDiffs(bench.runtime, bench.executor)
    made = await diffs.compare(CALLER, a.run_id, b.run_id)
    assert made["divergedAtSeq"] == LONG // 2 + 1
    assert (await diffs.compare_outcomes(CALLER, a.run_id, b.run_id))["same"] is False
    done = True
    await other
    return most_events, most_bytes


class HungrySleep:
    """asyncio without a turn for other tasks."""

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)

    @staticmethod
    async def sleep(_seconds: float) -> None:
        return


@pytest.mark.rule("diff-01", "diff-06")
@fails_without(review, "asyncio", HungrySleep())
async def test_long_runs_are_compared_page_by_page_between_other_work() -> None:
    bench = await EngineHarness().open()
    nodes = [(f"n{at % 50}", {"x": at}) for at in range(LONG)]
    a = await stored(bench, "run-one-0000000000", nodes)
    b = await stored(bench, "run-two-0000000000", [*nodes[: LONG // 2], ("more", {"x": "new"}), *nodes[LONG // 2 :]])
    events, size = await _longest_hold(bench, a, b)
    assert events <= 2 * review.DIFF_PAGE_EVENTS
    assert size <= review.DIFF_PAGE_BYTES + 1_000
    await bench.close()
