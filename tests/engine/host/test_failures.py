"""When the store fails, a run waits and ends as it would have; when the host fails, it fails instead of hanging."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.harness.cases import present
from tests.harness.definitions import edge, node, variable, workflow
from tests.harness.engine_harness import CALLER, EngineHarness, WrappedLog, run_ready_tasks, until
from weftwork.engine.run import next_commit
from weftwork.ports.storage.event_log import RunCreated, SequenceConflict, StoreUnavailable
from weftwork.protocol.run.header import RunKey
from weftwork.testing.storage.samples import unfinished

DOWN = StoreUnavailable("no disk")
CONFLICT = SequenceConflict("somebody else")


class FlakyLog(WrappedLog):
    """A log that fails as told: `plan` maps the number of an append to what it does instead."""

    def __init__(self, log: Any) -> None:
        super().__init__(log)
        self.plan: dict[int, str] = {}
        self.appends = 0
        self.reads_down = 0

    async def append(self, key: RunKey, expected: int, batch: Any, *fence: Any) -> Any:
        self.appends += 1
        fate = self.plan.get(self.appends)
        if fate in ("down", "lost reads"):
            self.reads_down = 2 if fate == "lost reads" else 0
            raise DOWN
        if fate == "conflict":
            raise CONFLICT
        result = await self._log.append(key, expected, batch, *fence)
        if fate == "lost":
            raise DOWN
        return result

    async def read(self, key: RunKey, *rest: int) -> Any:
        if self.reads_down:
            self.reads_down -= 1
            raise DOWN
        return await self._log.read(key, *rest)


DELAYS = [node(name, "core.delay", config={"ms": ms}) for name, ms in (("a", 50), ("b", 90))]
GATES = workflow([*DELAYS, node("c", "core.identity")], [edge("a", "c", "all_complete"), edge("b", "c")])
WORKFLOWS = {
    "pure": workflow([node("a"), node("b")], [edge("a", "b")], [variable("v", defaultValue="d")]),
    "failing": workflow([node("a", "core.fail"), node("b", "core.delay", config={"ms": 5})], [edge("a", "b")]),
    "waiting": GATES,
    "in pieces": workflow([node(f"n{index}") for index in range(6)], None, [variable("v", defaultValue="d")]),
}


async def story(
    bench: EngineHarness, document: dict[str, Any], plan: dict[int, str], at_once: bool
) -> list[tuple[str, bytes]]:
    """How the run ended and all that happened; independent nodes may take turns in another order."""
    bench.log.plan = plan
    key = await bench.start(document, at_once=at_once)
    reader = bench.feeds.join(key, -1)
    events = await bench.run_to_end(key)
    assert [event.sequence for event in events] == list(range(len(events)))
    if bench.executor.live_count:
        # The store has the end, and the run was told that it is away: it finds out a second later.
        await run_ready_tasks()
        bench.clock.advance(1000)
        await until(lambda: not bench.executor.live_count)
    shown = present(await bench.executor.read_run(key))
    stored = await bench.stored_run(key)
    assert shown.projection == stored.projection
    assert sorted(shown.rows, key=repr) == sorted(stored.rows, key=repr)
    assert len({event.event_id for event in events}) == len(events)
    seen = []
    while not reader.ended:
        seen += await reader.next(1)
    assert [event.sequence for event in seen] == list(range(len(events)))
    assert bench.executor.live_count == 0
    return [(events[-1].type, b""), *sorted((event.type, event.payload) for event in events)]


@pytest.mark.parametrize("name", WORKFLOWS)
@pytest.mark.parametrize("fate", ["down", "lost", "lost reads", "conflict"])
@pytest.mark.parametrize("at_once", [True, False])
async def test_a_run_ends_right_whichever_append_fails(
    monkeypatch: pytest.MonkeyPatch, name: str, fate: str, at_once: bool
) -> None:
    if name == "in pieces":
        monkeypatch.setattr(next_commit, "MAX_BATCH_EVENTS", 2)
    bench = EngineHarness(wrap=FlakyLog)
    expected = await story(bench, WORKFLOWS[name], {}, at_once)
    assert at_once or bench.log.appends
    for number in range(1, bench.log.appends + 1):
        once = {number: fate}
        assert await story(EngineHarness(wrap=FlakyLog), WORKFLOWS[name], once, at_once) == expected, once
        twice = {number: fate, number + 1: "down"}
        assert await story(EngineHarness(wrap=FlakyLog), WORKFLOWS[name], twice, at_once) == expected, twice


@pytest.mark.parametrize("size", [9, 11])
@pytest.mark.parametrize("fate", ["down", "lost", "conflict"])
async def test_a_run_goes_on_after_the_failure_of_a_batch_that_no_input_caused(
    monkeypatch: pytest.MonkeyPatch, fate: str, size: int
) -> None:
    """The batch continues a full one, and nothing but the run itself asks for it again."""
    monkeypatch.setattr(next_commit, "MAX_BATCH_EVENTS", size)
    ids = [f"n{index}" for index in range(6)]
    document = workflow([*map(node, ids), node("z", "test.gate")], [edge(ids[0], "z")])
    whole = EngineHarness(wrap=FlakyLog)
    await whole.start(document, at_once=False)
    await until(lambda: whole.gate_node.waiting)
    await run_ready_tasks()
    assert whole.log.appends > 1
    for number in range(1, whole.log.appends + 1):
        bench = EngineHarness(wrap=FlakyLog)
        bench.log.plan = {number: fate}
        key = await bench.start(document, at_once=False)
        await run_ready_tasks()
        await bench.advance(1000)
        await until(lambda bench=bench: bench.gate_node.waiting)
        await bench.run_to_end(key, release="z")
        assert (await bench.event_types(key))[-1] == "run.completed"


async def test_a_store_that_stays_away_is_asked_again_every_second() -> None:
    bench = EngineHarness(wrap=FlakyLog)
    bench.log.plan = dict.fromkeys(range(1, 6), "down")
    key = await bench.start(WORKFLOWS["pure"], at_once=False)
    started = bench.clock.now()
    await bench.run_to_end(key)
    assert bench.clock.now() - started == 5000


async def test_a_node_that_ended_while_the_store_was_away_is_not_run_again() -> None:
    bench = EngineHarness(wrap=FlakyLog)
    bench.log.plan = {1: "down", 2: "conflict"}
    key = await bench.start(workflow([node("a", "test.gate"), node("b", "test.gate")]))
    await until(lambda: len(bench.gate_node.waiting) == 2)
    await bench.release("a")
    await bench.advance(1000)
    await bench.run_to_end(key, release="b")
    assert [call.node_id for call in bench.gate_node.calls] == ["a", "b"]


@pytest.mark.parametrize("fate", ["down", "conflict"])
async def test_a_cancel_that_could_not_be_kept_is_refused_and_the_run_goes_on(fate: str) -> None:
    bench = EngineHarness(wrap=FlakyLog)
    bench.log.plan = {1: fate}
    key = await bench.start(workflow([node("a", "test.gate")]))
    await until(lambda: bench.gate_node.waiting)
    with pytest.raises(StoreUnavailable):
        await bench.cancel(key)
    await bench.run_to_end(key, release="a")
    assert (await bench.event_types(key))[-1] == "run.completed"


async def test_a_cancel_while_the_store_is_away_is_refused_in_a_second() -> None:
    bench = EngineHarness(wrap=FlakyLog)
    bench.log.plan = dict.fromkeys(range(1, 4), "lost reads")
    key = await bench.start(workflow([node("a")]), at_once=False)
    await run_ready_tasks()
    asking = [asyncio.create_task(bench.cancel(key)) for _ in range(2)]
    await run_ready_tasks()
    assert not any(task.done() for task in asking)
    await bench.advance(1000)
    assert all(isinstance(task.exception(), StoreUnavailable) for task in asking)
    await bench.run_to_end(key)
    assert (await bench.event_types(key))[-1] == "run.completed"


async def test_a_record_that_cannot_be_kept_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    bench, key = await EngineHarness(wrap=FlakyLog).with_gated_run(workflow([node("a", "test.gate")]))
    assert await bench.cancel(key) == "cancelling"

    async def refuse(record: Any) -> None:
        raise DOWN

    monkeypatch.setattr(bench.store.records, "save_record", refuse)
    with pytest.raises(StoreUnavailable):
        await bench.control.cancel_run(CALLER, key.run_id, {}, "k")
    await bench.run_to_end(key)


async def test_a_start_that_could_not_be_kept_starts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = EngineHarness()

    async def refuse(*arguments: Any) -> RunCreated:
        raise DOWN

    monkeypatch.setattr(bench.store.log, "create", refuse)
    with pytest.raises(StoreUnavailable):
        await bench.start(WORKFLOWS["pure"])
    assert bench.executor.live_count == 0


async def test_a_look_at_a_run_that_waits_for_the_store_is_answered_at_once() -> None:
    bench = EngineHarness(wrap=FlakyLog)
    bench.log.plan = {1: "down"}
    key = await bench.start(workflow([node("a", "test.gate")]))
    await until(lambda: bench.gate_node.waiting)
    bench.gate_node.release("a")
    await until(lambda: bench.log.appends)
    await run_ready_tasks()
    looking = asyncio.create_task(bench.executor.read_run(key))
    await run_ready_tasks()
    assert looking.done(), "it waits for a commit that nobody is making"
    await bench.run_to_end(key)


@pytest.mark.parametrize("at_once", [True, False])
async def test_a_run_that_was_stored_although_its_caller_was_refused_goes_on(
    monkeypatch: pytest.MonkeyPatch, at_once: bool
) -> None:
    bench = EngineHarness(wrap=FlakyLog)
    honest = bench.store.log.create

    async def lost(*given: Any) -> Any:
        await honest(*given)
        monkeypatch.setattr(bench.store.log, "create", honest)
        bench.log.reads_down = 2
        raise DOWN

    monkeypatch.setattr(bench.store.log, "create", lost)
    with pytest.raises(StoreUnavailable):
        await bench.start(GATES, at_once=at_once)
    (key,) = await unfinished(bench.store, None, 10)
    assert [event.type for event in await bench.run_to_end(key)].count("node.started") == 3
    assert (await bench.status(key), bench.executor.live_count) == ("completed", 0)
    await run_ready_tasks()
    assert bench.clock.next_wake is None, "it goes on looking"


def raising(when: Callable[[int], bool]) -> Any:
    """decide, until the count of calls says otherwise."""
    calls = 0
    real = next_commit.decide

    def decide(state: Any, bounds: Any, given: Any) -> Any:
        nonlocal calls
        calls += 1
        if when(calls):
            raise RuntimeError("canary-5d5d")
        return real(state, bounds, given)

    return decide


async def assert_failed_by_the_host(bench: EngineHarness, key: RunKey) -> None:
    events = await bench.run_to_end(key)
    assert [event.sequence for event in events] == list(range(len(events)))
    assert (await bench.payload(key, "run.failed"))["error"]["code"] == "host_invariant_broken"
    assert all(b"canary-5d5d" not in event.document for event in events)
    await run_ready_tasks()
    assert (bench.executor.live_count, bench.gate_node.waiting) == (0, {})


@pytest.mark.parametrize("call", range(1, 9))
async def test_an_error_of_ours_fails_the_run_instead_of_hanging_it(monkeypatch: pytest.MonkeyPatch, call: int) -> None:
    monkeypatch.setattr(next_commit, "decide", raising(lambda calls: calls == call))
    bench = EngineHarness()
    key = await bench.start(workflow([node("a"), node("b", "test.gate"), node("c", "test.gate")]), at_once=False)
    await run_ready_tasks()
    for node_id in list(bench.gate_node.waiting):
        bench.gate_node.release(node_id)
    await assert_failed_by_the_host(bench, key)


@pytest.mark.parametrize("call", range(1, 6))
async def test_an_error_of_ours_at_creation_is_found_again_and_fails_the_run(
    monkeypatch: pytest.MonkeyPatch, call: int
) -> None:
    calls: list[int] = []

    def broken(count: int) -> bool:
        calls.append(count)
        return len(calls) in (call, 2 * call)

    monkeypatch.setattr(next_commit, "decide", raising(broken))
    bench, key = await EngineHarness().with_run(workflow([node("a"), node("b", "test.gate")]))
    await assert_failed_by_the_host(bench, key)


async def test_a_broken_run_is_failed_once_the_store_is_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(next_commit, "decide", raising(lambda calls: calls == 1))
    bench = EngineHarness(wrap=FlakyLog)
    bench.log.reads_down = 2
    key = await bench.execute(workflow([node("a")]), at_once=False)
    assert (await bench.payload(key, "run.failed"))["error"]["code"] == "host_invariant_broken"
    assert bench.log.reads_down == 0


async def test_a_caller_who_waits_when_the_host_breaks_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    bench, key = await EngineHarness().with_gated_run(workflow([node("a", "test.gate")]))
    monkeypatch.setattr(next_commit, "decide", raising(lambda calls: calls == 1))
    assert len(await asyncio.gather(*(bench.cancel(key) for _ in range(3)), return_exceptions=True)) == 3
    await bench.run_to_end(key)
    assert bench.gate_node.cancelled == ["a"]
    assert await bench.cancel(key) == "failed"


async def test_a_run_that_cannot_even_be_failed_is_left_as_it_is(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(next_commit, "decide", raising(lambda calls: True))
    bench, key = await EngineHarness().with_run(workflow([node("a")]))
    await until(lambda: bench.executor.live_count == 0)
    await run_ready_tasks()
    assert await bench.event_types(key) == []
    assert bench.executor.live_count == 0
    assert "could not be marked as failed" in caplog.text
