"""Waiting for people: deadlines, reminders, and runs that nobody has in memory meanwhile."""

import asyncio
from typing import Any

import msgspec
import pytest

from tests.engine.decide.test_answers import GATE, asked, asks
from tests.harness.cases import fails_without
from tests.harness.definitions import edge, node, variable, workflow
from tests.harness.engine_harness import ANSWERER, EngineHarness, WrappedLog, run_ready_tasks
from weftwork.engine.decide.inputs import AnswerReceived
from weftwork.engine.decide.interrupts import answer_interrupt
from weftwork.engine.run.live_run import LiveRun
from weftwork.ports.node_outcome import Completed, NodeOutcome, Suspended
from weftwork.ports.nodes import InstantNode, NodeCall
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.ports.storage.run_queries import InterruptQuery
from weftwork.protocol.limits import Limits
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.run.interrupts import Interrupt, answer_refusal
from weftwork.protocol.workflow.node_types import NodeDeclaration

DAY = 86_400_000
PICK = {"customKind": "pick"}


async def times(bench: EngineHarness, key: RunKey, kind: str) -> list[int]:
    return [event.timestamp for event in await bench.events(key) if event.type == kind]


async def pass_time(bench: EngineHarness, milliseconds: int) -> None:
    """Let so much time pass, and every clock of the host strike on the way."""
    until = bench.clock.now() + milliseconds
    await run_ready_tasks()
    while bench.clock.next_wake is not None and bench.clock.next_wake <= until:
        await bench.advance(max(0, bench.clock.next_wake - bench.clock.now()))
    await bench.advance(until - bench.clock.now())


@pytest.mark.rule("int-17")
async def test_an_approval_that_nobody_gives_for_thirty_days_is_a_rejection() -> None:
    bench, key = await asked("approval", timeout_ms=30 * DAY)
    began = bench.clock.now()
    await pass_time(bench, 30 * DAY - 1)
    assert await bench.status(key) == "waiting-approval"
    await pass_time(bench, 1)
    await bench.run_to_end(key)
    (resolved,) = await bench.payloads(key, "interrupt.resolved")
    same = {"nodeId": "ask", "interruptId": "ask.1", "kind": "approval"}
    assert resolved == {**same, "outcome": "rejected", "reason": "timeout"}
    assert await bench.payloads(key, "approval.received") == [{"nodeId": "ask", "action": "timeout"}]
    assert await times(bench, key, "interrupt.resolved") == [began + 30 * DAY]
    assert (await refused_after(bench, key)) == (409, "interrupt_already_resolved")


async def refused_after(bench: EngineHarness, key: RunKey) -> tuple[int, str]:
    stored = await bench.answer(key, {"action": "accept"})
    rows = [msgspec.json.decode(row.value) for row in stored.rows if row.kind == "interrupt"]
    fault = answer_refusal(rows[-1]["status"], stored.projection.status)
    return fault.status, fault.code


@pytest.mark.rule("int-17")
async def test_of_other_kinds_the_node_decides_when_the_time_is_up() -> None:
    bench, key = await asked("custom", timeout_ms=1000)
    await pass_time(bench, 1000)
    await bench.run_to_end(key)
    (resolved,) = await bench.payloads(key, "interrupt.resolved")
    assert resolved == {"nodeId": "ask", "interruptId": "ask.1", "kind": "custom", "reason": "timeout"}
    assert (await bench.payload(key, "run.failed"))["error"]["code"] == "interrupt_timeout"


@pytest.mark.rule("int-16")
@fails_without("weftwork.protocol.fold.state.InterruptState.due", None)
async def test_an_answer_after_the_deadline_is_late_whether_the_timer_was_faster_or_not() -> None:
    bench, key = await asked("approval", timeout_ms=1000)
    due = bench.clock.now() + 1000
    state = await bench.state(key)
    for at, code in ((due - 1, None), (due, "interrupt_already_resolved"), (due + 1, "interrupt_already_resolved")):
        decided = answer_interrupt(state, AnswerReceived("ask", {"action": "accept"}, ANSWERER, at))
        assert (decided.refusal.code if decided.refusal is not None else None) == code
    await bench.crash()
    bench.clock.advance(1000)
    after = bench.successor()
    assert await refused_after(after, key) == (409, "interrupt_already_resolved")
    assert (await after.payloads(key, "approval.received"))[0]["action"] == "timeout"


@pytest.mark.rule("int-18")
async def test_people_are_reminded_and_what_came_due_while_nobody_was_there_is_said_once() -> None:
    bench, key = await asked("approval", timeout_ms=10 * DAY, remind_after_ms=(DAY, 2 * DAY, 3 * DAY, 11 * DAY))
    began = bench.clock.now()
    await pass_time(bench, DAY)
    assert await times(bench, key, "weftwork.interrupt.reminder") == [began + DAY]
    await bench.crash()
    bench.clock.advance(5 * DAY)
    bench = await bench.take_over()
    await run_ready_tasks()
    said = await bench.payloads(key, "weftwork.interrupt.reminder")
    assert [each["number"] for each in said] == [1, 3]
    assert said[0] == {"nodeId": "ask", "interruptId": "ask.1", "number": 1}
    (row,) = [each for each in (await bench.stored_run(key)).rows if each.kind == "interrupt"]
    assert msgspec.json.decode(row.value)["remindersSent"] == 3
    await pass_time(bench, 5 * DAY)
    await bench.run_to_end(key)
    assert len(await bench.payloads(key, "weftwork.interrupt.reminder")) == 2
    assert (await bench.payloads(key, "approval.received"))[0]["action"] == "timeout"


@pytest.mark.rule("park-01")
async def test_a_run_that_waits_for_people_is_in_nobodys_memory_and_takes_no_place() -> None:
    bench = EngineHarness(asks(Interrupt("approval", "q", GATE)), limits=Limits(max_live_runs=1))
    document = workflow([node("ask", "test.ask"), node("end")], [edge("ask", "end")])
    keys = [await bench.start(document) for _ in range(20)]
    await run_ready_tasks()
    assert (bench.executor.live_count, bench.clock.next_wake) == (0, None)
    page = await bench.store.queries.list_interrupts(keys[0].partition, InterruptQuery())
    assert [each.run_id for each in page.interrupts] == [key.run_id for key in keys]
    assert await bench.answer(keys[3], {"action": "accept"}) == "completed"
    assert await bench.cancel(keys[4]) == "cancelled"
    assert bench.executor.live_count == 0
    page = await bench.store.queries.list_interrupts(keys[0].partition, InterruptQuery())
    assert len(page.interrupts) == 18


@pytest.mark.rule("park-02")
async def test_a_parked_run_ends_when_its_own_time_is_up() -> None:
    bench = EngineHarness(asks(Interrupt("custom", "q", PICK)))
    key = await bench.start(workflow([node("ask", "test.ask")]), configurable={"runTimeoutMs": 5000})
    await run_ready_tasks()
    assert bench.executor.live_count == 0
    await bench.crash()
    bench = bench.successor()
    assert await bench.executor.recover() == 0
    await pass_time(bench, 5001)
    await bench.run_to_end(key)
    assert (await bench.payload(key, "run.failed"))["error"]["code"] == "run_timeout"


async def test_a_run_that_works_elsewhere_stays_while_it_waits() -> None:
    bench = EngineHarness(asks(Interrupt("custom", "q", PICK, timeout_ms=1000)))
    key = await bench.start(workflow([node("ask", "test.ask"), node("gate", "test.gate")]))
    await run_ready_tasks()
    assert (await bench.status(key), bench.executor.live_count) == ("waiting-input", 1)
    await bench.release("gate")
    assert bench.executor.live_count == 0
    await pass_time(bench, 1000)
    await bench.run_to_end(key)


async def test_many_deadlines_strike_each_at_its_time() -> None:
    def work_of(call: NodeCall) -> NodeOutcome:
        if "q" in call.answers:
            return Completed({})
        return Suspended(Interrupt("custom", "q", PICK, timeout_ms=call.inputs["after"]))

    late = InstantNode(NodeDeclaration("test.late", "Asks.", inputs={"type": "object"}), work_of)
    after = {"after": {"type": "variable", "variableName": "after"}}
    document = workflow([node("ask", "test.late", inputs=after)], [], [variable("after", "number")])
    bench = EngineHarness(late)
    began = bench.clock.now()
    waits = [(at * 37) % 101 + 1 for at in range(60)]
    keys = [await bench.start(document, inputs={"after": each}) for each in waits]
    await pass_time(bench, 200)
    assert [(await times(bench, key, "interrupt.resolved"))[0] - began for key in keys] == waits
    assert bench.executor.live_count == 0


async def test_one_of_many_answers_at_once_counts_and_nothing_stays_in_memory() -> None:
    bench, key = await asked("custom")
    ends = await asyncio.gather(*(bench.answer(key, n) for n in range(64)), return_exceptions=True)
    assert len([each for each in ends if each == "completed"]) == 1
    assert (bench.executor.live_count, bench.executor._pending_requests) == (0, {})


async def test_a_host_that_parked_none_left_runs_that_are_parked_when_they_are_next_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as older:
        older.setattr("weftwork.engine.run.state_rows.is_parked", lambda state: False)
        older.setattr(LiveRun, "park_if_idle", lambda self: None)
        bench, key = await asked("custom", timeout_ms=1000)
        assert not (await bench.stored_run(key)).projection.parked
        await bench.crash()
    events = await bench.events(key)
    bench = bench.successor()
    assert await bench.executor.recover() == 1
    await run_ready_tasks()
    assert ((await bench.stored_run(key)).projection.parked, bench.executor.live_count) == (True, 0)
    assert await bench.events(key) == events
    page = await bench.store.queries.list_interrupts(key.partition, InterruptQuery())
    assert [each.interrupt_id for each in page.interrupts] == ["ask.1"]
    await pass_time(bench, 1000)
    await bench.run_to_end(key)


async def test_an_alarm_goes_on_when_its_store_was_away(monkeypatch: pytest.MonkeyPatch) -> None:
    class UnavailableDueRuns(WrappedLog):
        times = 2

        async def due_runs(self, until: int, limit: int) -> Any:
            if self.times:
                self.times -= 1
                raise StoreUnavailable("away")
            return await self._log.due_runs(until, limit)

    bench, key = await asked("custom", timeout_ms=500)
    bench = await bench.restart(wrap=UnavailableDueRuns)
    await pass_time(bench, 10_000)
    await bench.run_to_end(key)
    assert (await bench.payloads(key, "run.failed"))[0]["error"]["code"] == "interrupt_timeout"
