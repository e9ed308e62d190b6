"""Feeds: every reader gets every event exactly once, however it joins, by pages or live, within bounds."""

import asyncio
import random
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import strategies as st

from tests.harness.definitions import edge, for_all, node, workflow
from tests.harness.engine_harness import CALLER, EngineHarness, fault_of, run, run_ready_tasks, until
from tests.harness.event_source import KEY, source_and_feeds
from weftwork.engine.api import runs
from weftwork.engine.streams import feeds as module
from weftwork.engine.streams.feeds import Reader
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.protocol.limits import Limits
from weftwork.protocol.run.events import DOCUMENT_OVERHEAD, Event
from weftwork.protocol.run.header import RunKey


async def read_all(reader: Reader, dice: random.Random) -> list[int]:
    seen: list[int] = []
    while not reader.ended:
        events = await reader.next(5, dice.choice([1, 2, 256]))
        assert events or reader.ended
        seen += [event.sequence for event in events]
        for _ in range(dice.choice([0, 0, 1, 5])):
            await asyncio.sleep(0)
    return seen


@for_all(60, st.integers(0, 2**32), st.integers(1, 120), st.integers(1, 5))
async def test_readers_who_join_at_any_time_get_everything_once(seed: int, total: int, readers: int) -> None:
    dice = random.Random(seed)
    log, feeds = source_and_feeds()
    reading: list[tuple[int, asyncio.Task[list[int]]]] = []

    async def join(after: int) -> list[int]:
        reader = feeds.join(KEY, after)
        try:
            return await read_all(reader, random.Random(seed + after))
        finally:
            feeds.leave(KEY)

    while len(log.events) < total or len(reading) < readers:
        if len(reading) < readers and dice.random() < 0.3:
            after = dice.randint(-1, len(log.events) - 1) if len(log.events) < total else -1
            reading.append((after, asyncio.create_task(join(after))))
        elif len(log.events) < total:
            count = min(dice.choice([1, 1, 3, 80]), total - len(log.events))
            batch = log.add(count, terminal=len(log.events) + count == total)
            if dice.random() < 0.5:
                await asyncio.sleep(0)  # durable, but not published yet
            feeds.publish(KEY, batch)
        if dice.random() < 0.5:
            await asyncio.sleep(0)
    for after, task in reading:
        assert await task == list(range(after + 1, total))
    assert (feeds.readers, feeds._feeds) == (0, {})


async def test_a_reader_who_lags_behind_the_tail_reads_the_log() -> None:
    log, feeds = source_and_feeds()
    reader = feeds.join(KEY, -1)
    feeds.publish(KEY, log.add(1))
    assert [event.sequence for event in await reader.next(1)] == [0]
    reads = log.reads
    feeds.publish(KEY, log.add(module.TAIL_EVENTS))
    assert len(await reader.next(1)) == module.TAIL_EVENTS
    assert log.reads == reads, "what the tail holds is not read again"
    feeds.publish(KEY, log.add(module.TAIL_EVENTS + 9))
    assert len(await reader.next(1, 9)) == 9
    assert log.reads == reads + 1
    assert len(await reader.next(1)) == module.READ_BYTES // (DOCUMENT_OVERHEAD + 2) + 1
    assert log.reads == reads + 1, "what is left of the lag is in the tail"


async def test_closing_ends_readers_after_what_is_durable() -> None:
    log, feeds = source_and_feeds()
    waiting, lagging = feeds.join(KEY, -1), feeds.join(KEY, -1)
    task = asyncio.create_task(waiting.next(5))
    await run_ready_tasks()
    log.add(3)
    feeds.close()
    assert len(await task) == 3
    assert await waiting.next(5) == []
    assert waiting.ended
    assert len(await lagging.next(5, 2)) == 2
    assert not lagging.ended
    assert len(await lagging.next(5, 2)) == 1
    assert await lagging.next(5) == []
    late = feeds.join(RunKey("live:acme", "run-2"), -1)
    await late.next(5)
    assert await late.next(5) == []
    assert late.ended


async def test_news_that_a_reader_knows_already_does_not_end_its_wait() -> None:
    log, feeds = source_and_feeds()
    known = log.add(2)
    reader = feeds.join(KEY, 1)
    task = asyncio.create_task(reader.next(5))
    await run_ready_tasks()
    feeds.publish(KEY, known)
    await run_ready_tasks()
    assert not task.done()
    feeds.publish(KEY, log.add(1))
    assert [event.sequence for event in await task] == [2]


@pytest.mark.parametrize("doubted", [False, True])
async def test_what_was_never_published_is_found_once_the_feed_is_doubted(doubted: bool) -> None:
    log, feeds = source_and_feeds()
    reader = feeds.join(KEY, -1)
    feeds.publish(KEY, log.add(1))
    assert len(await reader.next(1)) == 1
    log.add(2)
    if doubted:
        feeds.invalidate(KEY)
        feeds.invalidate(RunKey("live:acme", "nobody"))
    assert [event.sequence for event in await reader.next(0)] == ([1, 2] if doubted else [])


async def test_a_feed_lives_as_long_as_it_is_read() -> None:
    log, feeds = source_and_feeds()
    feeds.publish(KEY, log.add(1))
    assert feeds._feeds == {}
    feeds.join(KEY, -1)
    feeds.join(KEY, -1)
    assert feeds.readers == 2
    feeds.leave(KEY)
    assert len(feeds._feeds) == 1
    feeds.leave(KEY)
    assert (feeds._feeds, feeds.readers) == ({}, 0)


async def test_a_reader_who_is_cancelled_leaves_nothing_in_the_feed() -> None:
    _, feeds = source_and_feeds()
    reader = feeds.join(KEY, -1)
    task = asyncio.create_task(reader.next(5))
    await until(lambda: reader._feed.waiters)
    task.cancel()
    await asyncio.wait((task,))
    assert reader._feed.waiters == set()


@pytest.mark.parametrize("early", [True, False])
def test_a_reader_who_looks_before_it_can_be_woken_misses_events(early: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log is read with the waiter in place: what is committed and published while it is read ends the wait."""

    class LateWaiters(set[Any]):
        def add(self, waiter: Any) -> None:
            asyncio.get_running_loop().call_later(0.01, super().add, waiter)

    async def work() -> list[Event]:
        log, feeds = source_and_feeds()
        reader = feeds.join(KEY, -1)
        if not early:
            reader._feed.waiters = LateWaiters()
        honest = log.read

        async def read(*arguments: Any) -> list[Event]:
            found = await honest(*arguments)
            monkeypatch.setattr(log, "read", honest)
            feeds.publish(KEY, log.add(1))
            # As if the tail could not be used: the reader has to be woken to look again.
            feeds._drop(KEY)
            return found

        monkeypatch.setattr(log, "read", read)
        return await reader.next(0.1)

    assert len(run(work) or []) == early


async def test_a_reader_waits_no_longer_than_it_was_told_and_the_end_of_a_wait_is_no_news() -> None:
    log, feeds = source_and_feeds()
    reader, other = feeds.join(KEY, -1), feeds.join(KEY, -1)
    assert await reader.next(0.01) == []
    assert log.reads == 1, "the log is not read again when the time is over"
    assert await reader.next(0) == []
    assert not reader.ended
    feeds.publish(KEY, log.add(1))
    (event,) = await reader.next(0)
    assert (await other.next(1))[0] is event, "readers share one event"


async def test_events_that_another_executor_wrote_in_between_are_read_from_the_log() -> None:
    log, feeds = source_and_feeds()
    reader = feeds.join(KEY, -1)
    feeds.publish(KEY, log.add(2))
    assert [event.sequence for event in await reader.next(1)] == [0, 1]
    log.add(2)
    feeds.publish(KEY, log.add(1))
    assert [event.sequence for event in await reader.next(1)] == [2, 3, 4]
    feeds.leave(KEY)
    assert feeds._size == 0


@pytest.mark.parametrize("place", ["log", "tail"])
@pytest.mark.parametrize("sizes", [[2] * 90, [900_000] * 40, [2] * 70 + [500_000] * 70, [20_000, 2, 70_000] * 9])
async def test_the_event_that_reaches_the_budget_is_the_last(place: str, sizes: list[int]) -> None:
    log, feeds = source_and_feeds()
    reader = feeds.join(KEY, -1)
    seen: list[int] = []
    for at, size in enumerate(sizes):
        batch = log.add(1, terminal=at == len(sizes) - 1, size=size)
        if place == "tail":
            feeds.publish(KEY, batch)
    while not reader.ended:
        events = await reader.next(1)
        assert sum(event.size for event in events[:-1]) < module.READ_BYTES
        sequences = [event.sequence for event in events]
        assert [event.sequence for event in await reader.reread(sequences[0], reader.sequence)] == sequences
        seen += sequences
    assert seen == list(range(len(sizes)))


@pytest.mark.parametrize(("bound", "most"), [(module.MAX_CONCURRENT_READS, module.MAX_CONCURRENT_READS), (1000, 100)])
async def test_few_pages_are_read_at_the_same_time(bound: int, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_CONCURRENT_READS", bound)
    log, feeds = source_and_feeds()
    log.add(40, terminal=True, size=900_000)
    readers = [feeds.join(KEY, -1) for _ in range(100)]
    pages = await asyncio.gather(*(reader.next(1) for reader in readers))
    assert [[event.sequence for event in page] for page in pages] == [[0]] * 100
    assert log.max_concurrent_reads == most


async def test_the_tail_is_bounded_in_bytes() -> None:
    log, feeds = source_and_feeds()
    reader = feeds.join(KEY, -1)
    tail = reader._feed.tail
    for _ in range(10):
        feeds.publish(KEY, log.add(1, size=300_000))
        assert sum(event.size for event in tail) <= module.TAIL_BYTES
    assert len(tail) == 3
    feeds.publish(KEY, log.add(1, size=2 * module.TAIL_BYTES))
    assert len(tail) == 1, "one event is kept, however large: all readers want it"
    feeds.invalidate(KEY)
    feeds.publish(KEY, log.add(module.TAIL_EVENTS + 1))
    assert len(tail) == module.TAIL_EVENTS


@pytest.mark.parametrize(("bound", "count"), [(module.ALL_TAILS_BYTES, 9), (2**40, 20)])
async def test_all_tails_together_are_bounded_in_bytes(bound: int, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ALL_TAILS_BYTES", bound)
    log, feeds = source_and_feeds()
    keys = [RunKey("live:acme", f"run-{number}") for number in range(20)]
    readers = {key: feeds.join(key, -1) for key in keys}
    batch = log.add(1, size=900_000)
    for key in keys:
        feeds.publish(key, batch)
        assert sum(reader._feed.size for reader in readers.values()) == feeds._size <= bound
    assert [key for key in keys if readers[key]._feed.tail] == keys[-count:], "those with the newest news"
    for reader in readers.values():
        assert [event.sequence for event in await reader.next(1)] == [0], "the others read the log"
    for key in keys:
        feeds.leave(key)
    assert (feeds._size, feeds._tails) == (0, {})


@pytest.mark.parametrize("bound", [module.WAKE_BATCH, 1000])
async def test_readers_are_woken_a_few_at_a_time(bound: int, monkeypatch: pytest.MonkeyPatch) -> None:
    many = 3 * module.WAKE_BATCH
    monkeypatch.setattr(module, "WAKE_BATCH", bound)
    log, feeds = source_and_feeds()
    readers = [feeds.join(KEY, -1) for _ in range(many)]
    tasks = [asyncio.create_task(reader.next(5)) for reader in readers]
    await until(lambda: log.reads == many and not log.reading)
    await run_ready_tasks()
    feeds.publish(KEY, log.add(1))
    turns = [0]
    while turns[-1] < many:
        await asyncio.sleep(0)
        turns.append(sum(task.done() for task in tasks))
    assert max(after - before for before, after in pairwise(turns)) == min(bound, many)


async def test_what_is_durable_and_not_published_yet_is_found_again() -> None:
    log, feeds = source_and_feeds()
    log.add(3)
    reader = feeds.join(KEY, -1)
    feeds.publish(KEY, (log.events[1],))
    assert [event.sequence for event in await reader.next(1)] == [0, 1, 2]
    # The tail ends before it: that does not mean that there is nothing.
    assert [event.sequence for event in await reader.reread(2, 2)] == [2]


STEPS = workflow([node("a"), node("b"), node("c")], [edge("a", "b"), edge("b", "c")])


@pytest.mark.rule("lim-08")
async def test_a_reader_too_many_is_refused_and_one_that_does_not_wait_is_not() -> None:
    bench = EngineHarness(limits=Limits(max_streams=1))
    key = await bench.execute(STEPS)
    await bench.streams.join(CALLER, key.run_id, -1)
    for late in (bench.streams.join(CALLER, key.run_id, -1), bench.streams.read_page(CALLER, key.run_id, -1, 9, 1.0)):
        fault = await fault_of(late)
        assert fault.code == "rate_limited"
        assert fault.details == {"retryAfter": 5, "retryAfterMs": 5000, "scope": "global"}
    events, _ = await bench.streams.read_page(CALLER, key.run_id, -1, 2)
    assert [event.sequence for event in events] == [0, 1]
    bench.streams.leave(CALLER, key.run_id)
    assert bench.feeds.readers == 0


@pytest.mark.rule("poll-01")
async def test_a_page_after_the_end_of_a_live_log_waits_for_a_later_event_or_the_end() -> None:
    gates = [node(name, "test.gate") for name in "abc"]
    bench = EngineHarness()
    key = await bench.start(workflow(gates, [edge("a", "b"), edge("b", "c")]))
    await until(lambda: "a" in bench.gate_node.waiting)
    last = len(await bench.events(key)) - 1
    # The end of a and the start of b are not after the first cursor; nothing is after the second.
    near, far = [
        asyncio.create_task(bench.streams.read_page(CALLER, key.run_id, after, 9, 60)) for after in (last + 2, 1000)
    ]
    await run_ready_tasks()
    await bench.release("a")
    await run_ready_tasks()
    assert not near.done(), "the page has ended early, and empty"
    await bench.release("b")
    events, projection = await near
    assert [event.sequence for event in events] == [last + 3, last + 4]
    assert projection.status == "running"
    assert not far.done()
    await bench.release("c")
    events, projection = await far
    assert (events, projection.status) == ([], "completed")


async def test_pages_are_the_log_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = EngineHarness()
    key = await bench.execute(STEPS)
    log = await bench.events(key)
    assert (await bench.streams.read_page(CALLER, key.run_id, -1, 1000))[0] == log
    monkeypatch.setattr(runs, "PAGE_BYTES", 1)
    after, seen = -1, 0
    while page := (await bench.streams.read_page(CALLER, key.run_id, after, 1000))[0]:
        assert len(page) == 1, "a page ends with the event that reaches its bytes"
        after, seen = page[-1].sequence, seen + 1
    assert (seen, bench.feeds.readers) == (len(log), 0)


async def test_a_page_leaves_its_feed_when_the_log_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = EngineHarness()
    key = await bench.execute(STEPS)

    async def fail(*_: Any) -> Any:
        raise StoreUnavailable("gone")

    monkeypatch.setattr(bench.feeds, "_log", SimpleNamespace(read=fail))
    with pytest.raises(StoreUnavailable):
        await bench.streams.read_page(CALLER, key.run_id, -1, 1000)
    assert bench.feeds.readers == 0
