"""The time of a run, whatever the wall clock says."""

import pytest
from hypothesis import strategies as st

from tests.harness.definitions import for_all
from weftwork.protocol.run.run_time import MAX_LAG_MS, is_ahead, origin_at_start, run_time

TIMES = st.integers(0, 2**48)
LENGTHS = st.integers(0, 2**40)


@pytest.mark.rule("time-01")
@for_all(200, TIMES, TIMES, LENGTHS, LENGTHS, TIMES)
def test_the_time_of_a_run_never_stops_and_is_never_behind_the_wall_clock(
    wall: int, last: int, elapsed: int, more: int, later: int
) -> None:
    now = run_time(wall, last, elapsed)
    assert now in (wall, last + elapsed)
    assert now >= max(wall, last + elapsed)
    assert run_time(later, last, elapsed + more) >= last + elapsed + more
    assert run_time(later, now, more) >= now + more, "the time went back, or slower than the monotonic clock"


@pytest.mark.rule("time-01", "time-02")
@for_all(200, TIMES, LENGTHS, LENGTHS, TIMES)
def test_the_time_left_of_a_wait_is_at_most_its_length(wall: int, length: int, since: int, monotonic: int) -> None:
    """A wait that began at or before the last event, whatever the wall clock says when the run is loaded."""
    began, last = 2**41, 2**41 + since
    end = began + length
    assert end - run_time(wall, last, 0) <= length
    origin = origin_at_start(wall - monotonic, last, monotonic)
    assert origin + monotonic == run_time(wall, last, 0)
    assert end - (origin + monotonic) <= length


@pytest.mark.rule("time-02")
def test_small_corrections_of_the_clock_are_tolerated() -> None:
    assert [is_ahead(1_000 + lag, 1_000) for lag in (-1, 0, MAX_LAG_MS, MAX_LAG_MS + 1)] == [False, False, False, True]
