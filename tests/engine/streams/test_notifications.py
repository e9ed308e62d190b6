"""Notes: told once, behind their event, to those who are there and want them; events are as exact as without them."""

import asyncio
import random
from typing import Any

import pytest
from hypothesis import strategies as st

from tests.harness.definitions import for_all
from tests.harness.engine_harness import run, run_ready_tasks
from tests.harness.event_source import KEY, source_and_feeds
from weftwork.engine.streams import feeds as module
from weftwork.engine.streams.feeds import Feeds, Notifications, Reader
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.wire.streams import StreamFrame

OTHER = RunKey("live:acme", "run-2")


def note(text: str = "said", size: int = 4) -> StreamFrame:
    return StreamFrame("", "run.annotated", text.encode().ljust(size))


def hearing(feeds: Feeds, sequence: int, key: RunKey = KEY) -> Reader:
    reader = feeds.join(key, sequence)
    reader.wants_notifications = True
    return reader


def words(reader: Reader) -> list[str]:
    return [each.frame.data.decode().strip() for each in reader.take_notifications()]


async def test_a_note_ends_the_wait_of_those_who_hear() -> None:
    log, feeds = source_and_feeds()
    log.add(3)
    hears, deaf = hearing(feeds, 2), feeds.join(KEY, 2)
    waits = [asyncio.create_task(reader.next(5)) for reader in (hears, deaf)]
    await run_ready_tasks()
    feeds.notify(KEY, 2, note())
    assert await waits[0] == []
    assert words(hears) == ["said"]
    assert words(hears) == [], "each is given once"
    await run_ready_tasks()
    assert not waits[1].done(), "a poll is not woken by what it cannot give"
    assert words(deaf) == []
    feeds.publish(KEY, log.add(1))
    assert [event.sequence for event in await waits[1]] == [3]
    assert [event.sequence for event in await hears.next(5)] == [3]


async def test_a_note_waits_for_the_events_before_it() -> None:
    log, feeds = source_and_feeds()
    reader = hearing(feeds, -1)
    feeds.publish(KEY, log.add(5))
    feeds.notify(KEY, 3, note())
    assert not reader.has_notification
    assert [event.sequence for event in await reader.next(5)] == [0, 1, 2, 3]
    assert reader.has_notification
    assert await reader.next(5) == [], "the note comes first"
    assert words(reader) == ["said"]
    assert [event.sequence for event in await reader.next(5)] == [4]


async def test_who_comes_later_or_reads_another_run_is_not_told() -> None:
    log, feeds = source_and_feeds()
    log.add(1)
    early, other = hearing(feeds, 0), hearing(feeds, 0, OTHER)
    feeds.notify(KEY, 0, note("first"))
    late = hearing(feeds, 0)
    feeds.notify(KEY, 0, note("second"))
    assert (words(early), words(late), words(other)) == (["first", "second"], ["second"], [])


async def test_nothing_is_kept_of_a_run_that_nobody_reads() -> None:
    _, feeds = source_and_feeds()
    feeds.notify(KEY, 0, note())
    assert feeds._notifications.count == 0
    for key in (KEY, OTHER):
        hearing(feeds, 0, key)
    feeds.notify(KEY, 0, note())
    feeds.notify(OTHER, 0, note())
    feeds.leave(KEY)
    assert list(feeds._notifications._runs) == list(feeds._notifications._order) == [OTHER]
    feeds.leave(OTHER)
    assert (feeds._notifications._runs, list(feeds._notifications._order), feeds._notifications._size) == ({}, [], 0)


def heaviest(notes: Notifications) -> int:
    """The most that notes of many runs weigh while they come in."""
    most = 0
    for number in range(50):
        notes.add(RunKey("live:acme", f"run-{number % 7}"), 0, note(str(number), 100))
        most = max(most, sum(each.size for kept in notes._runs.values() for each in kept))
        assert notes._size == sum(each.size for kept in notes._runs.values() for each in kept)
        assert len(notes._order) == sum(map(len, notes._runs.values()))
    return most


def test_all_notes_together_are_bounded_and_the_newest_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_NOTIFICATION_BYTES", 1_000)
    notes = Notifications()
    assert heaviest(notes) == 1_000
    kept = sorted(int(each.frame.data) for deque in notes._runs.values() for each in deque)
    assert kept == list(range(40, 50))
    notes.add(KEY, 0, note("large", 5_000))
    assert [each.frame.data.strip() for each in notes.after(KEY, 0)] == [b"large"], "one is kept however large it is"


def test_without_the_bound_they_would_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_NOTIFICATION_BYTES", 2**40)
    assert heaviest(Notifications()) == 5_000


async def follow(reader: Reader, dice: random.Random) -> list[Any]:
    """Sequences and words in the order in which they come, to the end of the run."""
    seen: list[Any] = []
    while not reader.ended:
        seen += [event.sequence for event in await reader.next(5, dice.choice([1, 2, 256]))]
        if not reader.ended:
            seen += words(reader)
        for _ in range(dice.choice([0, 0, 1, 5])):
            await asyncio.sleep(0)
    return seen


async def talk(seed: int, total: int) -> tuple[list[Any], list[list[Any]]]:
    """What happened to a run with notes in between, and what readers who were there from the start saw of it."""
    dice = random.Random(seed)
    log, feeds = source_and_feeds()
    readers = [hearing(feeds, -1) for _ in range(3)]
    reading = [asyncio.create_task(follow(each, random.Random(seed + n))) for n, each in enumerate(readers)]
    happened: list[Any] = []
    while len(log.events) < total:
        count = min(dice.choice([1, 1, 3, 80]), total - len(log.events))
        batch = log.add(count, terminal=len(log.events) + count == total)
        if dice.random() < 0.5:
            await asyncio.sleep(0)  # durable, but not published yet
        feeds.publish(KEY, batch)
        happened += [event.sequence for event in batch]
        if len(log.events) < total and dice.random() < 0.5:
            happened.append(f"note {len(happened)}")
            feeds.notify(KEY, len(log.events) - 1, note(happened[-1]))
        if dice.random() < 0.5:
            await asyncio.sleep(0)
    return happened, list(await asyncio.gather(*reading))


@for_all(60, st.integers(0, 2**32), st.integers(1, 120))
async def test_every_reader_sees_events_and_notes_as_they_happened(seed: int, total: int) -> None:
    happened, seen = await talk(seed, total)
    assert seen == [happened] * 3


def test_a_note_that_did_not_wait_for_its_event_would_be_seen_too_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Reader, "_due_notifications", Reader._pending_notifications)
    found = [run(lambda seed=seed: talk(seed, 60)) for seed in range(20)]
    assert any(seen != [happened] * 3 for happened, seen in found)


async def test_a_note_while_the_log_is_read_does_not_end_a_reader_before_its_events(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The host drains just then: what is committed is still given, behind the note."""

    log, feeds = source_and_feeds()
    log.add(1)
    reader = hearing(feeds, 0)
    honest = log.read

    async def read(*arguments: Any) -> Any:
        monkeypatch.setattr(log, "read", honest)
        log.add(2)
        feeds.notify(KEY, 0, note())
        feeds.close()
        return await honest(*arguments)

    monkeypatch.setattr(log, "read", read)
    assert await reader.next(5) == []
    assert not reader.ended
    assert words(reader) == ["said"]
    assert [event.sequence for event in await reader.next(5)] == [1, 2]
    assert await reader.next(5) == []
    assert reader.ended
