"""Feeds: every reader gets every event exactly once, however it joins, and nobody is left behind."""

import asyncio
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.definitions import example_count
from tests.harness.engine_harness import run, run_ready_tasks, until
from tests.harness.event_source import KEY, source_and_feeds
from weftwork.engine.streams import feeds as module
from weftwork.engine.streams.feeds import Reader
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


@settings(max_examples=example_count(60), deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 120), st.integers(1, 5))
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


async def test_readers_share_one_event() -> None:
    log, feeds = source_and_feeds()
    one, other = feeds.join(KEY, -1), feeds.join(KEY, -1)
    feeds.publish(KEY, log.add(1))
    assert (await one.next(1))[0] is (await other.next(1))[0]


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


async def test_a_reader_waits_no_longer_than_it_was_told() -> None:
    _, feeds = source_and_feeds()
    reader = feeds.join(KEY, -1)
    assert await reader.next(0) == []
    assert await reader.next(0.01) == []
    assert not reader.ended


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
    seen = [event.sequence for event in await reader.next(0)]
    assert seen == ([1, 2] if doubted else [])


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


async def test_the_end_of_a_wait_is_no_news() -> None:
    log, feeds = source_and_feeds()
    reader = feeds.join(KEY, -1)
    assert await reader.next(0.01) == []
    assert log.reads == 1, "the log is not read again when the time is over"
    feeds.publish(KEY, log.add(1))
    assert len(await reader.next(0)) == 1


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
