"""Feeds are bounded: in what a reader is given, in what is kept for all of them, and in what is done at once."""

import asyncio
from itertools import pairwise

import pytest

from tests.harness.engine_harness import run_ready_tasks, until
from tests.harness.event_source import KEY, source_and_feeds
from weftwork.engine.streams import feeds as module
from weftwork.protocol.run.header import RunKey


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
        assert [event.sequence for event in await reader.reread(events[0].sequence, reader.sequence)] == [
            event.sequence for event in events
        ]
        seen += [event.sequence for event in events]
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
        held = sum(reader._feed.size for reader in readers.values())
        assert held == feeds._size <= bound
    kept = [key for key in keys if readers[key]._feed.tail]
    assert kept == keys[-count:], "those with the newest news"
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
