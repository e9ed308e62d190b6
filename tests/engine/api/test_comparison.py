"""Comparing runs: pages of two logs side by side, however they fall; live runs, deleted ones, other tenants'."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.definitions import edge, example_count, node, variable, workflow
from tests.harness.engine_harness import CALLER, EngineHarness, run, run_ready_tasks
from weftwork.adapters.memory.store import MemoryStore
from weftwork.engine.api import review as module
from weftwork.engine.api.keyring import Principal
from weftwork.engine.api.review import RunDiffs
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json import schema
from weftwork.protocol.run.batch import Batch
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.header import Owner, RunHeader, RunKey
from weftwork.protocol.run.projection import Projection
from weftwork.protocol.wire.v1.routes import SCOPES

OTHER = Principal.of("key_2", "other", "live", frozenset(SCOPES))
CANARY = "canary-9f3a"
CHAIN = workflow(
    [node("a", "core.identity", inputs={"x": {"type": "variable", "variableName": "word"}}), node("b", "test.gate")],
    [edge("a", "b")],
    [variable("word"), variable("secret", sensitive=True)],
)


async def compared(bench: EngineHarness, a: RunKey, b: RunKey, caller: Principal = CALLER) -> dict[str, Any]:
    made = await RunDiffs(bench.runtime, bench.executor).compare(caller, a.run_id, b.run_id)
    document = json.loads(msgspec.json.encode(made))
    assert schema.check("run-diff-response", document) == []
    return document


async def written(store: MemoryStore, run_id: str, sizes: list[int]) -> RunKey:
    """An ended run with a payload of each size."""
    header = RunHeader(run_id, CALLER.partition, Owner("acme", "key_1"), "w", "d", 1_000)
    kinds = ["acme.thing"] * (len(sizes) - 1) + ["run.completed"]
    events = tuple(
        Event(run_id, at, f"{run_id}-{at}", kind, 1_000 + at, msgspec.json.encode({"text": "x" * size}))
        for at, (kind, size) in enumerate(zip(kinds, sizes, strict=True))
    )
    projection = Projection("completed", len(sizes) - 1, 1_000, 1_000)
    await store.log.create(header, first=Batch(events, projection))
    return header.key


SIZES = st.lists(st.sampled_from([0, 1, 300, 2_000]), min_size=1, max_size=25)


@pytest.mark.rule("diff-01")
@settings(max_examples=example_count(80), deadline=None)
@given(SIZES, SIZES, st.integers(1, 6), st.sampled_from([1, 700, 5_000]))
async def test_pages_of_any_size_give_the_same(a: list[int], b: list[int], page: int, budget: int) -> None:
    honest = module.DIFF_PAGE_EVENTS, module.DIFF_PAGE_BYTES
    module.DIFF_PAGE_EVENTS, module.DIFF_PAGE_BYTES = page, budget  # pyright: ignore[reportAttributeAccessIssue]
    try:
        bench = EngineHarness()
        await bench.store.open()
        one, other = await written(bench.store, "one", a), await written(bench.store, "other", b)
        document = await compared(bench, one, other)
        ops: dict[int, str] = {}
        for at in range(max(len(a), len(b))):
            kinds = [(size[at], at == len(size) - 1) if at < len(size) else None for size in (a, b)]
            if kinds[0] != kinds[1]:
                ops[at] = "added" if kinds[0] is None else "removed" if kinds[1] is None else "changed"
        assert {each["seq"]: each["op"] for each in document["eventDiffs"]} == ops
        assert document["truncated"] is False
        for each in document["eventDiffs"]:
            for name, key in (("aEvent", one), ("bEvent", other)):
                assert each.get(name, {}).get("eventId") in (None, f"{key.run_id}-{each['seq']}")
    finally:
        module.DIFF_PAGE_EVENTS, module.DIFF_PAGE_BYTES = honest  # pyright: ignore[reportAttributeAccessIssue]


def most_at_once() -> int:
    """The most bytes of a log that are read at once to compare two long ones."""

    async def work() -> int:
        bench = EngineHarness()
        await bench.store.open()
        sizes = [1_000] * 2_000
        one, other = await written(bench.store, "one", sizes), await written(bench.store, "other", sizes)
        honest, most = bench.log.read, 0

        async def read(*arguments: Any) -> Any:
            nonlocal most
            page = await honest(*arguments)
            most = max(most, sum(event.size for event in page))
            return page

        bench.log.read = read
        assert (await compared(bench, one, other))["eventDiffs"] == []
        return most

    return run(work)


def test_no_more_than_a_page_of_each_log_is_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    bound = module.DIFF_PAGE_BYTES + 2_000
    assert 100_000 < most_at_once() < bound
    monkeypatch.setattr(module, "DIFF_PAGE_EVENTS", 100_000)
    assert 100_000 < most_at_once() < bound
    monkeypatch.setattr(module, "DIFF_PAGE_BYTES", 2**40)
    assert most_at_once() > bound


@pytest.mark.rule("diff-02")
async def test_two_runs_of_one_workflow_are_equal_and_differ_by_their_inputs() -> None:
    bench = EngineHarness()
    keys: list[RunKey] = []
    for word in ("same", "same", "other"):
        keys.append(await bench.start(CHAIN, inputs={"word": word}))
        await run_ready_tasks()
        bench.gate_node.release("b")
        await bench.run_to_end(keys[-1])
        bench.clock.advance(5_000)
    document = await compared(bench, keys[0], keys[1])
    assert (document["divergedAtSeq"], document["eventDiffs"], document["stateDiff"]) == (None, [], {})
    document = await compared(bench, keys[0], keys[2])
    assert document["divergedAtSeq"] == 0
    assert document["stateDiff"] == {"/variables/word": {"a": "same", "b": "other"}}
    assert {each["op"] for each in document["eventDiffs"]} == {"changed"}


@pytest.mark.rule("diff-03")
async def test_a_live_run_is_compared_as_far_as_it_has_come() -> None:
    bench = EngineHarness()
    live = await bench.start(CHAIN, inputs={"word": "x"})
    await run_ready_tasks()
    ended = await bench.start(CHAIN, inputs={"word": "x"})
    await run_ready_tasks()
    bench.gate_node.release("b")
    assert await bench.run_to_end(ended)
    for pair in ((live, ended), (ended, live), (live, live)):
        document = await compared(bench, *pair)
        assert (document["divergedAtSeq"], document["eventDiffs"], document["truncated"]) == (None, [], True)
    assert (await compared(bench, live, ended))["stateDiff"] == {
        "/status": {"a": "running", "b": "completed"},
        "/outputs/b": {"b": {}},
    }
    await bench.close()


@pytest.mark.rule("diff-04")
async def test_what_the_runs_hide_is_not_in_the_difference() -> None:
    bench = EngineHarness()
    keys = [await bench.start(CHAIN, inputs={"secret": f"{CANARY}-{n}", "word": f"say {CANARY}-{n}"}) for n in "ab"]
    await run_ready_tasks()
    document = await compared(bench, keys[0], keys[1])
    assert CANARY not in json.dumps(document)
    assert document["stateDiff"] == {}, "masks are equal"
    await bench.close()


async def test_a_run_that_is_not_there_is_not_found() -> None:
    bench = EngineHarness()
    await bench.store.open()
    one, nobody = await written(bench.store, "one", [1, 2]), RunKey(CALLER.partition, "nobody")
    for pair, caller in (((one, nobody), CALLER), ((nobody, one), CALLER), ((one, one), OTHER)):
        with pytest.raises(ClientFault, match="not_found"):
            await compared(bench, *pair, caller)


async def test_a_run_that_is_deleted_meanwhile_is_not_found() -> None:
    bench = EngineHarness()
    await bench.store.open()
    one, other = await written(bench.store, "one", [1] * 600), await written(bench.store, "other", [1] * 600)
    honest = bench.log.read

    async def read(key: RunKey, after: int, *rest: Any) -> Any:
        if after > 0:
            await bench.store.retention.delete(other, 0)
        return await honest(key, after, *rest)

    bench.log.read = read
    with pytest.raises(ClientFault, match="not_found"):
        await compared(bench, one, other)
