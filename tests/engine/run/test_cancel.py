"""Cancelling: what the caller is told, what stops, and that every request gets an answer."""

import asyncio
from typing import Any

import msgspec
import pytest

from tests.engine.nodes.test_waiting_nodes import UncancellableNode
from tests.harness.definitions import edge, node, workflow
from tests.harness.engine_harness import CALLER, EngineHarness, run_ready_tasks, until, waiting_node_type
from weftwork.engine.api.idempotency import IdempotencyClaim
from weftwork.engine.decide.inputs import CancelRequested
from weftwork.engine.nodes import node_runner
from weftwork.engine.run.pending_commit import RunNotLive
from weftwork.ports.storage.event_log import EventLog, StoreUnavailable
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.run.header import RunHeader, RunKey

GATE = workflow([node("a", "test.gate"), node("b")], [edge("a", "b")])
ASKED = "weftwork.run.cancel-requested"


async def waiting(bench: EngineHarness, document: dict[str, Any] = GATE, **request: Any) -> RunKey:
    key = await bench.start(document, **request)
    await until(lambda: bench.gate_node.waiting)
    return key


@pytest.mark.rule("run-03")
async def test_a_cancel_really_stops_a_waiting_node() -> None:
    bench = EngineHarness()
    key = await waiting(bench)
    assert await bench.cancel(key, "enough") == "cancelling"
    assert await bench.status(key) == "cancelling"
    await bench.run_to_end(key)
    assert bench.gate_node.cancelled == ["a"]
    assert (await bench.event_types(key))[2:] == [ASKED, "node.cancelled", "run.cancelled"]
    assert await bench.payloads(key, "run.cancelled") == [{"reason": "enough"}]
    stored = await bench.stored_run(key)
    assert {row.name: row.value for row in stored.rows} == {"a": b'{"attempt":1,"status":"cancelled"}'}
    assert (stored.projection.current_node, stored.projection.error) == (None, None)


@pytest.mark.rule("run-03")
async def test_a_run_that_waits_for_nothing_is_cancelled_at_once() -> None:
    bench = EngineHarness()
    key = await bench.start(GATE, at_once=False)
    assert await bench.cancel(key) == "cancelled"
    assert await bench.event_types(key) == ["run.started", "run.cancelled"]
    assert bench.gate_node.calls == []


@pytest.mark.rule("run-03")
async def test_cancelling_twice_or_after_the_end_changes_nothing() -> None:
    bench = EngineHarness()
    key = await waiting(bench)
    assert await bench.cancel(key) == "cancelling"
    assert await bench.cancel(key) in ("cancelling", "cancelled")
    await bench.run_to_end(key)
    log = await bench.event_types(key)
    assert await bench.cancel(key) == "cancelled"
    assert await bench.event_types(key) == log
    assert log.count(ASKED) == 1
    done = await bench.start(workflow([node("a")]))
    await bench.run_to_end(done)
    assert await bench.cancel(done) == "completed"
    assert await bench.cancel(CALLER.run("run-gone")) is None


async def test_many_cancels_at_once_are_all_answered() -> None:
    bench = EngineHarness()
    key = await waiting(bench)
    answers = await asyncio.gather(*(bench.cancel(key, f"r{n}") for n in range(20)))
    assert set(answers) <= {"cancelling", "cancelled"}
    await bench.run_to_end(key)
    assert (await bench.event_types(key)).count(ASKED) == 1


async def test_a_node_that_ends_as_the_cancel_comes_counts_as_it_ended() -> None:
    bench = EngineHarness()
    key = await waiting(bench)
    bench.gate_node.release("a")
    assert await bench.cancel(key) in ("cancelling", "cancelled")
    await bench.run_to_end(key)
    kinds = await bench.event_types(key)
    assert kinds[-1] == "run.cancelled"
    assert kinds.count("node.completed") + kinds.count("node.cancelled") == 1
    assert kinds.count("node.started") == 1


class SlowLog:
    """A log whose appends wait while the gate is shut."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self.gate = asyncio.Event()
        self.gate.set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    async def append(self, key: RunKey, expected: int, batch: Any) -> Any:
        await self.gate.wait()
        return await self._log.append(key, expected, batch)


async def test_a_caller_who_went_away_does_not_hurt_the_run() -> None:
    bench = EngineHarness(wrap=SlowLog)
    key = await waiting(bench)
    bench.log.gate.clear()
    asking = asyncio.create_task(bench.cancel(key))
    await run_ready_tasks()
    asking.cancel()
    await asyncio.wait((asking,))
    bench.log.gate.set()
    await bench.run_to_end(key)
    assert (await bench.event_types(key))[2:] == [ASKED, "node.cancelled", "run.cancelled"]


async def test_a_cancel_while_a_limit_ends_the_run_is_answered_by_the_end() -> None:
    stubborn = UncancellableNode()

    bench = EngineHarness(waiting_node_type("test.stubborn", stubborn.run))
    key = await bench.start(workflow([node("a", "test.stubborn")]), configurable={"runTimeoutMs": 100})
    await until(lambda: stubborn.end is not None)
    bench.clock.advance(101)
    await until(lambda: stubborn.told)
    asked = [asyncio.create_task(bench.control.cancel_run(CALLER, key.run_id, {}, "k")) for _ in range(2)]
    await run_ready_tasks()
    assert not any(task.done() for task in asked)
    assert stubborn.end is not None
    stubborn.end.set()
    outcomes = await asyncio.gather(*asked)
    assert [outcome.status for outcome in outcomes] == ["failed", "failed"]
    assert sorted(outcome.replayed for outcome in outcomes) == [False, True]
    assert (await bench.event_types(key))[2:] == ["cap.breached", "node.completed", "run.failed"]


async def test_a_node_stopped_before_its_first_step_ends_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_runner, "STOP_GRACE_S", 1_000.0)

    bench = EngineHarness()
    nodes = [node("a", "test.gate"), node("b", "test.gate")]
    key = await bench.start(workflow(nodes), configurable={"recursionLimit": 1})
    await bench.run_to_end(key)
    assert (await bench.event_types(key))[1:] == ["node.started", "cap.breached", "node.cancelled", "run.failed"]


async def test_a_cancel_is_answered_when_the_host_closes() -> None:
    bench = EngineHarness(wrap=SlowLog)
    key = await waiting(bench)
    bench.log.gate.clear()
    asking = [asyncio.create_task(bench.cancel(key)) for _ in range(2)]
    await run_ready_tasks()
    closing = asyncio.create_task(bench.close())
    await run_ready_tasks()
    bench.log.gate.set()
    await closing
    first, second = await asyncio.gather(*asking, return_exceptions=True)
    assert first == "cancelling"
    assert isinstance(second, StoreUnavailable)


async def test_a_run_that_is_over_sends_its_callers_to_the_store() -> None:
    bench = EngineHarness()
    key = await waiting(bench)
    live = bench.executor._live[key]
    bench.gate_node.release("a")
    await bench.run_to_end(key)
    with pytest.raises(RunNotLive):
        await live.request(CancelRequested(), None)


async def test_a_run_that_cannot_be_woken_cannot_be_cancelled_either() -> None:
    bench = EngineHarness()
    await bench.store.open()
    header = RunHeader("run-old", CALLER.partition, CALLER.owner, "gone", "0" * 64, 0)
    await bench.store.log.create(header)
    assert await bench.executor.recover() == 0
    with pytest.raises(ClientFault, match="cannot go on with the run: the definition") as refused:
        await bench.cancel(header.key)
    assert refused.value.code == "service_unavailable"


async def test_a_run_that_ends_while_it_is_being_woken_answers_with_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = EngineHarness()
    key = await waiting(bench)
    other = bench.successor()

    async def too_late(run: RunKey) -> None:
        bench.gate_node.release("a")
        await bench.run_to_end(key)

    monkeypatch.setattr(other.executor, "_load", too_late)
    assert await other.cancel(key) == "completed"


async def test_a_cancel_with_a_key_is_answered_word_for_word() -> None:
    bench = EngineHarness()
    key = await waiting(bench)
    first = await bench.control.cancel_run(CALLER, key.run_id, {"reason": "r"}, "k")
    await bench.run_to_end(key)
    again = await bench.control.cancel_run(CALLER, key.run_id, {"reason": "r"}, "k")
    assert (first.status, first.replayed, again.status, again.replayed) == ("cancelling", False, "cancelling", True)
    with pytest.raises(ClientFault) as caught:
        await bench.control.cancel_run(CALLER, key.run_id, {"reason": "other"}, "k")
    assert caught.value.code == "idempotency_key_mismatch"
    assert msgspec.json.encode(await bench.service.get_run(CALLER, key.run_id)).count(b"cancelled") >= 1


@pytest.mark.rule("idem-01")
async def test_a_record_of_an_older_version_answers_for_its_key() -> None:
    """Such a record of a cancel says when it was made nowhere but in its own row."""
    bench = EngineHarness()
    key = await bench.start(workflow([node("a", "test.gate")]))
    claim = IdempotencyClaim(bench.log, bench.clock, CALLER, f"cancelRun/{key.run_id}", "k", {})
    await bench.log.save_record(claim.make_record({"replayed": False, "run_id": key.run_id, "status": "cancelling"}))
    done = await bench.control.cancel_run(CALLER, key.run_id, {}, "k")
    assert (done.run_id, done.status, done.replayed) == (key.run_id, "cancelling", True)
    assert await bench.status(key) == "running"
    await bench.close()
