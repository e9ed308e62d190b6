"""Runs that are too large to be loaded: they are set aside, and listed, cancelled, deleted or taken up again."""

from typing import Any

import msgspec
import pytest

from tests.harness.cases import each_case, fails_without
from tests.harness.child_workflows import child_keys, start_run
from tests.harness.definitions import node, variable, workflow
from tests.harness.engine_harness import CALLER, EngineHarness, WrappedLog, fault_of, run_ready_tasks, until
from tests.harness.retained_runs import retention_of
from weftwork.engine.host import run_loader
from weftwork.ports.storage.run_queries import InterruptQuery, RunQuery
from weftwork.protocol.limits import Limits
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.run.projection import run_snapshot, run_summary

BIG = "x" * 60_000
GIVEN = {"input": {"type": "variable", "variableName": "v"}}
LARGE = workflow(
    [*(node(f"n{index}", "core.identity", inputs=GIVEN) for index in range(4)), node("gate", "test.gate")],
    [],
    [variable("v", defaultValue=BIG)],
)
BY_LOG = Limits(max_run_log_bytes=100_000)
BY_STATE = Limits(max_run_state_bytes=100_000)
CODES = {"log": (BY_LOG, "run_log_too_large"), "state": (BY_STATE, "run_state_too_large")}


class CountingLog(WrappedLog):
    """Counts the events that the engine reads."""

    events = 0

    async def read(self, *given: Any) -> Any:
        events = await self._log.read(*given)
        CountingLog.events += len(events)
        return events


async def set_aside(limits: Limits, document: dict[str, Any] = LARGE) -> tuple[EngineHarness, RunKey]:
    """A run that was executed without these limits, on a host that has them."""
    bench, key = await EngineHarness().with_gated_run(document)
    bench = await bench.restart(limits=limits)
    await run_ready_tasks()
    return bench, key


@pytest.mark.rule("size-04")
@each_case("kind", *CODES)
async def test_a_run_that_is_too_large_is_set_aside_and_says_why(kind: str) -> None:
    limits, code = CODES[kind]
    bench, key = await set_aside(limits)
    assert bench.executor.live_count == 0
    assert (await bench.event_types(key))[-1] == "weftwork.run.set-aside"
    stored = await bench.stored_run(key)
    for document in (run_summary(stored), run_snapshot(stored)):
        error = msgspec.json.decode(document["error"])
        assert (document["status"], error["code"]) == ("running", code)
        assert all(word in error["message"] for word in ("set aside", "Cancel", "raise", "restart"))
    listed = await bench.service.list_runs(CALLER, RunQuery())
    assert [each["runId"] for each in listed["runs"]] == [key.run_id]


@pytest.mark.rule("size-04")
@each_case("kind", *CODES)
async def test_no_start_and_no_request_loads_it_again(kind: str) -> None:
    limits, code = CODES[kind]
    bench, key = await set_aside(limits)
    before = len(await bench.event_types(key))
    for _ in range(3):
        bench = await bench.restart(wrap=CountingLog)
        CountingLog.events = 0
        await run_ready_tasks()
        refused = await fault_of(bench.answer(key, "y", "gate"))
        assert (refused.code, (refused.details or {})["reason"]) == ("conflict", code)
        await bench.advance(10**9)
        assert CountingLog.events == 0
    assert len(await bench.event_types(key)) == before


@pytest.mark.rule("size-04")
@each_case("kind", *CODES)
async def test_a_host_with_higher_limits_takes_it_up(kind: str) -> None:
    bench, key = await set_aside(CODES[kind][0])
    bench = await bench.restart(limits=Limits())
    await until(lambda: bench.gate_node.waiting)
    await bench.run_to_end(key, release="gate")
    assert (await bench.event_types(key))[-1] == "run.completed"
    assert run_snapshot(await bench.stored_run(key)).get("error") is None


@pytest.mark.rule("size-04")
async def test_a_state_that_still_does_not_fit_is_recorded_with_its_new_size() -> None:
    bench, key = await set_aside(BY_STATE)
    bench = await bench.restart(limits=Limits(max_run_state_bytes=150_000))
    await run_ready_tasks()
    found = [each["error"]["details"] for each in await bench.payloads(key, "weftwork.run.set-aside")]
    assert [each["limit"] for each in found] == [100_000, 150_000]
    assert found[0]["observed"] < found[1]["observed"]


@pytest.mark.rule("size-04")
@fails_without(run_loader, "check_size", lambda *_: None)
async def test_a_log_that_is_too_large_is_not_even_read() -> None:
    bench, key = await EngineHarness().with_gated_run(LARGE)
    CountingLog.events = 0
    bench = await bench.restart(limits=BY_LOG, wrap=CountingLog)
    await run_ready_tasks()
    # The last event, for its timestamp.
    assert CountingLog.events == 1
    assert "weftwork.run.set-aside" in await bench.event_types(key)


@pytest.mark.rule("size-05")
@each_case("kind", *CODES)
async def test_it_can_be_cancelled_and_deleted(kind: str) -> None:
    bench, key = await set_aside(CODES[kind][0])
    await bench.control.cancel_run(CALLER, key.run_id, {"reason": "too large"}, "key-1")
    again = await bench.control.cancel_run(CALLER, key.run_id, {"reason": "too large"}, "key-1")
    assert again.status == "cancelled"
    assert await bench.status(key) == "cancelled"
    assert (await bench.payload(key, "run.cancelled"))["reason"] == "too large"
    assert run_snapshot(await bench.stored_run(key)).get("error") is None
    await retention_of(bench).delete_run(CALLER, key.run_id)
    assert await bench.store.log.read_run(key) is None


@pytest.mark.rule("size-05")
async def test_its_open_questions_are_closed_with_it() -> None:
    asked = node("ask", "core.interrupt", config={"kind": "custom", "key": "k", "data": {"customKind": "pin"}})
    document = workflow([*LARGE["nodes"][:4], asked], [], LARGE["variables"])
    bench, key = await EngineHarness().with_run(document)
    await run_ready_tasks()
    bench = await bench.restart(limits=BY_LOG)
    # A parked run is set aside when somebody asks for it.
    assert (await fault_of(bench.answer(key, "y", "ask"))).code == "conflict"
    bench = await bench.restart()
    await bench.cancel(key)
    rows = [row for row in (await bench.stored_run(key)).rows if row.kind == "interrupt"]
    assert [msgspec.json.decode(row.value)["status"] for row in rows] == ["cancelled"]

    page = await bench.store.queries.list_interrupts(key.partition, InterruptQuery())
    assert page.interrupts == ()


@pytest.mark.rule("size-05")
async def test_a_parent_and_children_learn_of_its_end() -> None:
    inner = workflow([node("hold", "test.gate")], id="inner")
    middle = workflow(
        [*LARGE["nodes"][:4], node("call", "core.subWorkflow", config={"workflowId": "inner"})],
        [],
        LARGE["variables"],
        id="middle",
    )
    outer = workflow([node("call", "core.subWorkflow", config={"workflowId": "middle"})], id="outer")
    bench, key = await start_run(outer, middle, inner)
    (middle_key,) = await child_keys(bench, key)
    (inner_key,) = await child_keys(bench, middle_key)
    bench = await bench.restart(limits=BY_LOG)
    assert (await fault_of(bench.control.pause_run(CALLER, middle_key.run_id, {}))).code == "conflict"
    await bench.cancel(middle_key)
    await bench.run_to_end(key)
    assert (await bench.status(middle_key), await bench.status(key)) == ("cancelled", "failed")
    await bench.run_to_end(inner_key)
    assert await bench.status(inner_key) == "cancelled"
