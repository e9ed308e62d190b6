"""The parked runs that are ahead of a wall clock that was set back."""

import logging
from collections.abc import Callable
from typing import Any

import pytest

from tests.harness.cases import each_case, fails_without, present
from tests.harness.engine_harness import CALLER
from weftwork.engine.host import parked_clocks
from weftwork.engine.host.parked_clocks import ParkedClock, ParkedClocks
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.ports.storage.run_queries import TimedRun
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.run.run_time import MAX_LAG_MS
from weftwork.testing.deterministic import START, ManualClock

HOUR = 3_600_000
A, B, C, D, E = (CALLER.run(name) for name in "abcde")


class Parked:
    """The parked runs of a store, on a manual clock."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.live: set[RunKey] = set()
        self.runs: list[TimedRun] = []
        self.reads = 0
        self.during_reads: list[Callable[[], object]] = []
        """What happens while each of the next pages is on its way."""
        self.clocks = ParkedClocks(self.clock, self, self.live.__contains__)  # type: ignore[arg-type]

    async def timed_runs(self, after: TimedRun | None, limit: int) -> list[TimedRun]:
        self.reads += 1
        start = 0 if after is None else self.runs.index(after) + 1
        page = self.runs[start : start + limit]
        if self.during_reads:
            self.during_reads.pop(0)()
        return page

    def add(self, run: RunKey, wake_in: int, last: int = START) -> None:
        """A run that waits so long, which an earlier process parked."""
        self.runs.append(TimedRun(run, START + wake_in, last, len(self.runs)))

    def park(self, run: RunKey, wake_in: int) -> int:
        """Park a run as this host does, with the time of the wall clock; the time until it is woken."""
        origin = self.clock.now() - self.passed
        wake_at = self.clock.now() + wake_in
        self.runs.append(TimedRun(run, wake_at, self.clock.now(), len(self.runs)))
        return present(self.clocks.on_parked(run, origin, wake_at)) - self.passed

    @property
    def passed(self) -> int:
        return self.clock.monotonic_ns() // 1_000_000

    async def due(self) -> list[RunKey]:
        await self.clocks.refresh()
        return self.clocks.due(10)

    async def wakes(self) -> list[tuple[RunKey, int]]:
        """The runs that are due because of this object, and when."""
        found: list[tuple[RunKey, int]] = []
        await self.clocks.refresh()
        while (when := self.clocks.next_wake()) is not None:
            self.clock.advance(max(0, when - self.passed))
            for run in await self.due():
                found.append((run, self.passed))
                self.clocks.on_loaded(run)
        return found


async def test_nothing_is_kept_while_the_clock_is_not_set_back() -> None:
    store = Parked()
    store.add(A, HOUR)
    await store.clocks.refresh()
    assert store.park(B, HOUR) == HOUR
    for forward in (0, 1, HOUR, 1000 * HOUR):
        store.clock.shift(forward)
        store.clock.advance(10)
        assert await store.due() == []
    assert (store.clocks.next_wake(), store.clocks._ahead, store.clocks._wakes) == (None, {}, [])
    assert store.clocks.on_loaded(A) is None
    assert store.reads == 2, "the store was read again"


_on_parked = ParkedClocks.on_parked


def _by_run_time(self: ParkedClocks, run: RunKey, origin: int, wake_at: int | None) -> int | None:
    _on_parked(self, run, origin, wake_at)
    return ParkedClock(origin, wake_at).wake_monotonic


@pytest.mark.rule("time-02")
@fails_without(ParkedClocks, "on_parked", _by_run_time, match="is woken")
@each_case("lag", -10 * MAX_LAG_MS, 0, MAX_LAG_MS)
async def test_a_run_that_is_not_kept_is_woken_when_the_wall_clock_reaches_its_time(lag: int) -> None:
    """The origin of a run is less than that of the wall clock if the thread was interrupted while it was computed."""
    store = Parked()
    await store.clocks.refresh()
    store.clock.advance(10)
    when = store.clocks.on_parked(A, START + lag, START + HOUR)
    assert when == HOUR, "it is woken at another time"
    assert store.clocks.on_parked(A, START + lag, None) is None


@pytest.mark.rule("time-02")
@fails_without(parked_clocks, "MAX_READINGS", 0, errors=(UnboundLocalError,))
@each_case("back, kept", (MAX_LAG_MS, False), (MAX_LAG_MS + 1, True), (HOUR, True))
async def test_runs_that_were_parked_before_are_woken_in_time(back: int, kept: bool) -> None:
    store = Parked()
    store.add(A, HOUR)
    await store.clocks.refresh()
    store.park(B, HOUR // 2)
    store.clock.shift(-back)
    assert await store.wakes() == ([(B, HOUR // 2 + 1), (A, HOUR + 1)] if kept else [])


@pytest.mark.rule("time-02")
async def test_small_steps_back_add_up(caplog: pytest.LogCaptureFixture) -> None:
    store = Parked()
    store.add(A, HOUR)
    await store.clocks.refresh()
    for _ in range(3):
        store.clock.shift(-MAX_LAG_MS // 2)
        await store.clocks.refresh()
    assert await store.wakes() == [(A, HOUR + 1)]
    (record,) = (each for each in caplog.records if each.levelno == logging.WARNING)
    assert record.__dict__["ms"] == 3 * MAX_LAG_MS // 2


@pytest.mark.rule("time-02")
@fails_without(ParkedClocks, "_compare", ParkedClocks._read_wall_origin)
async def test_a_run_that_is_parked_right_after_the_change_has_the_new_time() -> None:
    """The change is noticed when the run is parked, before the store is read, in which the run is already."""
    store = Parked()
    store.add(A, HOUR)
    await store.clocks.refresh()
    store.clock.shift(-HOUR // 2)
    assert store.park(B, HOUR) == HOUR
    assert await store.wakes() == [(A, HOUR + 1)]


@pytest.mark.rule("time-02")
async def test_a_run_that_is_parked_while_the_store_is_read_has_its_own_time() -> None:
    store = Parked()
    store.add(A, HOUR)
    await store.clocks.refresh()
    store.clock.shift(-HOUR // 2)
    store.during_reads = [lambda: store.park(B, HOUR)]
    assert await store.wakes() == [(A, HOUR + 1)]
    assert store.clocks.on_loaded(B) is None


NEVER: Any = property(lambda self: 0, lambda self, value: None)


@pytest.mark.rule("time-02")
@fails_without(ParkedClocks, "_changes", NEVER)
@fails_without(ParkedClocks, "_parked_in_scan", property(lambda self: {}, lambda self, value: None))
async def test_the_clock_is_set_back_again_while_the_store_is_read() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parked_clocks, "PAGE_SIZE", 1)
        store = Parked()
        store.add(A, HOUR)
        store.add(B, 2 * HOUR)
        await store.clocks.refresh()
        store.clock.shift(-HOUR)

        def park() -> None:
            store.park(C, 3 * HOUR)
            store.park(D, 4 * HOUR)

        def set_back_again() -> None:
            store.clock.shift(-5 * HOUR)
            store.park(E, HOUR)

        # The page with C has been read when the clock is set back again.
        store.during_reads = [park, lambda: None, lambda: None, set_back_again]
        hours = [(run, when // HOUR) for run, when in await store.wakes()]
        assert hours == [(A, 1), (B, 2), (C, 3), (D, 4)]


@pytest.mark.rule("time-02")
@fails_without(ParkedClocks, "_changes", NEVER)
async def test_the_clock_is_set_back_during_the_first_reading() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parked_clocks, "PAGE_SIZE", 1)
        store = Parked()
        store.add(A, HOUR)
        store.add(B, 2 * HOUR, START + HOUR)

        def set_back() -> None:
            store.clock.shift(-5 * HOUR)
            store.park(C, HOUR)

        store.during_reads = [lambda: None, set_back]
        assert sorted(await store.wakes(), key=str) == [(A, HOUR + 1), (B, HOUR + 1)]


@fails_without(ParkedClocks, "_is_live", property(lambda self: lambda run: False))
async def test_a_live_run_is_not_kept_and_a_loaded_one_is_forgotten() -> None:
    store = Parked()
    for run in (A, B, C):
        store.add(run, HOUR)
    await store.clocks.refresh()
    store.clock.shift(-HOUR)
    store.live.add(B)
    assert store.clocks.on_loaded(C) == START, "the change was not noticed"
    store.live.add(C)
    assert await store.wakes() == [(A, HOUR + 1)]


@pytest.mark.rule("time-02")
@fails_without(ParkedClocks, "_drop_caught_up", lambda self, wall_origin: None)
async def test_a_clock_that_is_set_forward_again_catches_up() -> None:
    store = Parked()
    store.add(A, HOUR)
    await store.clocks.refresh()
    store.add(B, HOUR)
    store.clock.shift(-5 * HOUR)
    await store.clocks.refresh()
    assert store.clocks.on_loaded(A) == START
    assert store.park(A, HOUR) == HOUR
    assert list(store.clocks._ahead) == [B]
    store.clock.shift(5 * HOUR)
    await store.clocks.refresh()
    assert (store.clocks._ahead, await store.wakes()) == ({}, [])


@pytest.mark.rule("time-02")
async def test_a_store_that_fails_is_read_again() -> None:
    store = Parked()
    store.add(A, HOUR)
    await store.clocks.refresh()

    def fail() -> None:
        raise StoreUnavailable("gone")

    store.clock.shift(-HOUR)
    store.during_reads = [fail]
    with pytest.raises(StoreUnavailable):
        await store.clocks.refresh()
    assert await store.wakes() == [(A, HOUR + 1)]


@fails_without(ParkedClocks, "drop", lambda self, run: None)
async def test_a_run_that_cannot_be_loaded_is_dropped() -> None:
    store = Parked()
    store.add(A, HOUR)
    await store.clocks.refresh()
    store.clock.shift(-HOUR)
    await store.clocks.refresh()
    store.clock.advance(HOUR + 1)
    assert await store.due() == [A]
    assert await store.due() == [A], "the run is no longer due"
    store.clocks.drop(A)
    assert (await store.due(), store.clocks._ahead) == ([], {})


@pytest.mark.rule("time-02")
@each_case("last, woken", (START - HOUR, []), (START + HOUR, [(A, HOUR + 1)]))
async def test_the_first_reading_finds_runs_whose_last_event_is_in_the_future(
    last: int, woken: list[tuple[RunKey, int]]
) -> None:
    store = Parked()
    store.add(A, 2 * HOUR, last)
    assert await store.wakes() == woken


class Interrupted(ManualClock):
    """A thread that is interrupted between the readings of two clocks."""

    pause = 0

    def now(self) -> int:
        now = super().now()
        pause, self.pause = self.pause, 0
        self.advance(pause)
        return now


@fails_without(parked_clocks, "MAX_READING_NS", 10**18, match="set back")
async def test_an_interruption_between_two_readings_is_no_change_of_the_clock() -> None:
    store = Parked()
    store.clock = clock = Interrupted()
    store.clocks = ParkedClocks(clock, store, store.live.__contains__)  # type: ignore[arg-type]
    store.add(A, HOUR)
    await store.clocks.refresh()
    clock.pause = 10 * MAX_LAG_MS
    await store.clocks.refresh()
    assert store.clocks._ahead == {}, "the clock seems to be set back"
