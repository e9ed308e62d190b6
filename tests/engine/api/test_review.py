"""Bundles and comparisons, page by page from the log: for the owner alone, and honest when a run goes away."""

import asyncio
import json
import threading
from typing import Any

import msgspec
import pytest
from hypothesis import strategies as st

from tests.engine.privacy.test_sensitive_values import CANARY, DOCUMENT, INPUTS, SECOND, RecordingNodes
from tests.harness.cases import fails_without
from tests.harness.definitions import edge, for_all, node, variable, workflow
from tests.harness.engine_harness import CALLER, EngineHarness, WrappedLog, fault_of, run_ready_tasks
from weftwork.adapters.memory.store import MemoryStore
from weftwork.conformance.endpoints import test_log
from weftwork.conformance.endpoints.run_observation import EventQuery, RunObservation
from weftwork.engine.api import review
from weftwork.engine.api.keyring import Principal
from weftwork.engine.api.review import THREAD_BYTES, Bundles, DocumentThread, RunDiffs
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json import schema
from weftwork.protocol.review.debug_bundle import EVENTS_TRUNCATED, MAX_BYTES
from weftwork.protocol.run.batch import Batch
from weftwork.protocol.run.events import Draft, Event
from weftwork.protocol.run.header import Owner, RunHeader, RunKey
from weftwork.protocol.run.projection import Projection
from weftwork.protocol.wire.v1.routes import SCOPES

OTHER = Principal.of("key_2", "other", "live", frozenset(SCOPES))
TESTER = Principal.of("key_3", "acme", "test", frozenset(SCOPES))


def bundles(bench: EngineHarness) -> Bundles:
    return Bundles(bench.runtime, bench.service, "0.1.0", bench.store.annotations)


async def whole(bench: EngineHarness, key: RunKey, **more: Any) -> tuple[dict[str, Any], list[bytes]]:
    pieces = await bundles(bench).open(CALLER, key.run_id, **more)
    parts: list[bytes] = []
    while (piece := await pieces.next_chunk()) is not None:
        parts.append(piece)
    assert await pieces.next_chunk() is None
    document = json.loads(b"".join(parts))
    assert schema.check("debug-bundle", document) == []
    return document, parts


async def long_run(store: MemoryStore, count: int, size: int) -> RunKey:
    await store.open()
    header = RunHeader("long-run-0000000000", CALLER.partition, Owner("acme", "key_1"), "w", "d", 1_000)
    kinds = ["run.started", *["acme.thing"] * (count - 2), "run.completed"]
    payload = msgspec.json.encode({"text": "x" * size})
    events = tuple(Event(header.run_id, at, f"e-{at:08}", kind, 1_000, payload) for at, kind in enumerate(kinds))
    await store.log.create(header, first=Batch(events, Projection("completed", count - 1, 1_000, 1_000)))
    return header.key


class PageRecordingLog(WrappedLog):
    def __init__(self, log: Any) -> None:
        super().__init__(log)
        self.read_at: list[tuple[int, int]] = []

    async def read(self, key: RunKey, after: int, limit: int, budget: int | None = None) -> list[Event]:
        found = await self._log.read(key, after, limit, budget)
        self.read_at.append((len(found), sum(event.size for event in found)))
        return found


@pytest.mark.rule("bundle-01")
async def test_a_bundle_is_the_log_and_the_snapshot() -> None:
    bench, key = await EngineHarness().with_gated_run(workflow([node("a", "test.gate"), node("b", "core.noop")]))
    live, _ = await whole(bench, key)
    assert (live["run"]["status"], live["run"]["endedAt"]) == ("running", None)
    await bench.run_to_end(key, release="a")
    document, _ = await whole(bench, key)
    assert document["events"] == [json.loads(event.document) for event in await bench.events(key)]
    assert document["run"]["status"] == "completed"
    assert document["metrics"]["nodeCount"] == 2
    spans = json.loads(msgspec.json.encode(await bench.service.run_spans(CALLER, key.run_id)))
    assert document["spans"] == spans


@pytest.mark.rule("bundle-07")
@pytest.mark.parametrize(("count", "size"), [(3_000, 20), (300, 5_000), (3, 300_000)])
async def test_a_log_is_read_one_page_at_a_time(count: int, size: int) -> None:
    bench = EngineHarness()
    key = await long_run(bench.store, count, size)
    pages = PageRecordingLog(bench.runtime.log)
    made = Bundles(msgspec.structs.replace(bench.runtime, log=pages), bench.service, "0.1.0", bench.store.annotations)
    pieces = await made.open(CALLER, key.run_id)
    assert pages.read_at == [], "nothing is read before it is wanted"
    largest = size + 2_000
    sizes: list[int] = []
    while (piece := await pieces.next_chunk()) is not None:
        # What is given on is what was just read, and no more was read for it.
        assert len(pages.read_at) <= len(sizes)
        sizes.append(len(piece))
    assert sum(each for each, _ in pages.read_at) == count
    assert max(each for each, _ in pages.read_at) <= review.PAGE_EVENTS
    assert max(weight for _, weight in pages.read_at) <= review.PAGE_BYTES + largest
    assert max(sizes) <= review.PAGE_BYTES + largest


@pytest.mark.rule("bundle-04", "bundle-07")
async def test_nothing_is_read_behind_the_cap() -> None:
    bench = EngineHarness()
    key = await long_run(bench.store, 12_000, 1_000)
    pages = PageRecordingLog(bench.runtime.log)
    made = Bundles(msgspec.structs.replace(bench.runtime, log=pages), bench.service, "0.1.0", bench.store.annotations)
    body = await _rest(await made.open(CALLER, key.run_id))
    document = json.loads(body)
    assert MAX_BYTES - 5_000 < len(body) <= MAX_BYTES
    assert (document["truncated"], document["truncatedReason"]) == (True, EVENTS_TRUNCATED)
    assert document["metrics"]["eventCount"] == 12_000 > len(document["events"])
    assert sum(each for each, _ in pages.read_at) < len(document["events"]) + review.PAGE_EVENTS


async def _rest(pieces: review.BundleStream) -> bytes:
    parts: list[bytes] = []
    while (piece := await pieces.next_chunk()) is not None:
        parts.append(piece)
    return b"".join(parts)


async def test_reading_all_of_it_at_once_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(review, "PAGE_EVENTS", 10**9)
    monkeypatch.setattr(review, "PAGE_BYTES", 10**12)
    bench = EngineHarness()
    key = await long_run(bench.store, 3_000, 1_000)
    _, parts = await whole(bench, key)
    assert max(map(len, parts)) > 3_000_000


class FreeThread(DocumentThread):
    """Does not wait for a slot."""

    async def run(self, size: int, function: Any, *arguments: Any) -> Any:
        return await asyncio.to_thread(function, *arguments) if size > THREAD_BYTES else function(*arguments)


@fails_without(review, "DocumentThread", FreeThread)
async def test_large_documents_are_searched_one_at_a_time_also_after_a_cancel() -> None:
    thread, active, most, ended = review.DocumentThread(), 0, 0, threading.Event()

    def work(number: int) -> int:
        nonlocal active, most
        active += 1
        most = max(most, active)
        ended.wait(5.0)
        active -= 1
        if number == 2:
            raise ValueError
        return number

    jobs = [asyncio.create_task(thread.run(THREAD_BYTES + 1, work, number)) for number in range(4)]
    while not active:
        await asyncio.sleep(0)
    jobs[0].cancel()
    # A small document does not wait.
    assert await thread.run(THREAD_BYTES, len, "abc") == 3
    assert (active, most) == (1, 1)
    ended.set()
    results = await asyncio.gather(*jobs, return_exceptions=True)
    assert [type(each) for each in results] == [asyncio.CancelledError, int, ValueError, int]
    assert most == 1


@pytest.mark.rule("bundle-05")
async def test_a_run_of_others_has_no_bundle() -> None:
    bench = EngineHarness()
    key = await long_run(bench.store, 3, 1)
    for caller, run_id in ((OTHER, key.run_id), (TESTER, key.run_id), (CALLER, "nobody")):
        with pytest.raises(ClientFault, match="no such run") as fault:
            await bundles(bench).open(caller, run_id)
        assert fault.value.code == "not_found"


@pytest.mark.rule("bundle-05")
async def test_a_run_that_is_deleted_meanwhile_is_no_shorter_bundle() -> None:
    bench = EngineHarness()
    key = await long_run(bench.store, 2_000, 1_000)
    pieces = await bundles(bench).open(CALLER, key.run_id)
    assert await pieces.next_chunk()
    assert await pieces.next_chunk()
    assert await bench.store.retention.delete(key, 2_000) is True
    while await bench.store.retention.purge():
        pass
    with pytest.raises(ClientFault):
        await _rest(pieces)


async def test_a_run_that_goes_on_meanwhile_is_told_as_it_stood() -> None:
    bench, key = await EngineHarness().with_gated_run(workflow([node("a", "test.gate")]))
    pieces = await bundles(bench).open(CALLER, key.run_id)
    await bench.run_to_end(key, release="a")
    document = json.loads(await _rest(pieces))
    assert document["run"]["status"] == "running"
    assert [event["type"] for event in document["events"]] == ["run.started", "node.started"]
    assert document["truncated"] is False


@pytest.mark.rule("bundle-02", "hide-03")
async def test_what_the_log_hides_is_in_no_bundle() -> None:
    witness = RecordingNodes()
    bench, key = await EngineHarness(*witness.types()).with_gated_run(DOCUMENT, inputs=INPUTS)
    shown = [json.dumps((await whole(bench, key))[0])]
    await bench.run_to_end(key, release="gate")
    shown.append(json.dumps((await whole(bench, key))[0]))
    for each in shown:
        assert CANARY not in each
        assert SECOND not in each
    assert witness.given, "and yet a node was given it"


@pytest.mark.rule("seam-02", "bundle-06")
async def test_seams_see_a_run_and_what_was_projected_for_its_id() -> None:
    bench, key = await EngineHarness().with_ended_run(workflow([node("a", "core.noop")]))
    await run_ready_tasks()
    log = test_log.TestLog(bench.runtime.clock, bench.runtime.ids)
    seen = RunObservation(bench.runtime.log, bench.runtime.clock, bench.service, bundles(bench), log)
    real = [json.loads(event.document) for event in await bench.events(key)]
    assert await seen.events(CALLER, key.run_id, EventQuery()) == real
    assert await seen.events(CALLER, key.run_id, EventQuery(node_id="a")) == real[1:3]
    added = log.append(CALLER.partition, key.run_id, [Draft("acme.thing", {}, "a", "corr")])
    assert await seen.events(CALLER, key.run_id, EventQuery(node_id="a")) == [*real[1:3], *added]
    for other in (OTHER, TESTER):
        assert await seen.events(other, key.run_id, EventQuery()) == []
        assert await seen.spans(other, key.run_id) == []
        assert (await seen.export(other, key.run_id))["events"] == []
    assert (await seen.export(CALLER, key.run_id))["events"] == real
    projected = log.append(CALLER.partition, "elsewhere", [Draft("acme.thing", {"text": "sk-" + "x" * 20}, "a")])
    bare = await seen.export(CALLER, "elsewhere")
    assert schema.check("debug-bundle", bare) == []
    assert bare["metrics"]["eventCount"] == len(projected) == 1
    assert bare["events"][0]["payload"] == {"text": "[REDACTED:credential]"}


COMPARED = "canary-9f3a"
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
@for_all(80, SIZES, SIZES, st.integers(1, 6), st.sampled_from([1, 700, 5_000]))
async def test_pages_of_any_size_give_the_same(a: list[int], b: list[int], page: int, budget: int) -> None:
    honest = review.DIFF_PAGE_EVENTS, review.DIFF_PAGE_BYTES
    review.DIFF_PAGE_EVENTS, review.DIFF_PAGE_BYTES = page, budget  # pyright: ignore[reportAttributeAccessIssue]
    try:
        bench = await EngineHarness().open()
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
        review.DIFF_PAGE_EVENTS, review.DIFF_PAGE_BYTES = honest  # pyright: ignore[reportAttributeAccessIssue]


async def most_at_once() -> int:
    """The most bytes of a log that are read at once to compare two long ones."""
    bench = await EngineHarness().open()
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


async def test_no_more_than_a_page_of_each_log_is_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    bound = review.DIFF_PAGE_BYTES + 2_000
    assert 100_000 < await most_at_once() < bound
    monkeypatch.setattr(review, "DIFF_PAGE_EVENTS", 100_000)
    assert 100_000 < await most_at_once() < bound
    monkeypatch.setattr(review, "DIFF_PAGE_BYTES", 2**40)
    assert await most_at_once() > bound


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
    bench, live = await EngineHarness().with_settled_run(CHAIN, inputs={"word": "x"})
    ended = await bench.start(CHAIN, inputs={"word": "x"})
    await run_ready_tasks()
    bench.gate_node.release("b")
    assert await bench.run_to_end(ended)
    for pair in ((live, ended), (ended, live), (live, live)):
        document = await compared(bench, *pair)
        assert (document["divergedAtSeq"], document["eventDiffs"], document["truncated"]) == (None, [], True)
    states = {"/status": {"a": "running", "b": "completed"}, "/outputs/b": {"b": {}}}
    assert (await compared(bench, live, ended))["stateDiff"] == states
    await bench.close()


@pytest.mark.rule("diff-04")
async def test_what_the_runs_hide_is_not_in_the_difference() -> None:
    bench = EngineHarness()
    keys = [await bench.start(CHAIN, inputs={"secret": f"{COMPARED}-{n}", "word": f"say {COMPARED}-{n}"}) for n in "ab"]
    await run_ready_tasks()
    document = await compared(bench, keys[0], keys[1])
    assert COMPARED not in json.dumps(document)
    assert document["stateDiff"] == {}, "masks are equal"
    await bench.close()


async def test_a_run_that_is_not_there_or_is_deleted_meanwhile_is_not_found() -> None:
    bench = await EngineHarness().open()
    one, other = await written(bench.store, "one", [1] * 600), await written(bench.store, "other", [1] * 600)
    nobody = RunKey(CALLER.partition, "nobody")
    for pair, caller in (((one, nobody), CALLER), ((nobody, one), CALLER), ((one, one), OTHER)):
        assert (await fault_of(compared(bench, *pair, caller))).code == "not_found"
    honest = bench.log.read

    async def read(key: RunKey, after: int, *rest: Any) -> Any:
        if after > 0:
            await bench.store.retention.delete(other, 0)
        return await honest(key, after, *rest)

    bench.log.read = read
    assert (await fault_of(compared(bench, one, other))).code == "not_found"
