"""The time of a run: the wall clock, except that it never stops and never runs backwards within the run.

Every wait of a run begins with an event and ends at a time that follows from the timestamp of this event. If the wall
clock is set back, the timestamps of the events so far are in the future. A run therefore continues from its last event
at the rate of the monotonic clock, until the wall clock has caught up. New runs use the wall clock.
"""

from typing import Final

MAX_LAG_MS: Final = 100
"""time-02 (host): a parked run whose time is ahead of the wall clock by more than this is woken on the monotonic clock.
Smaller corrections of the wall clock delay the wake-up by this much at most."""


def run_time(wall: int, last: int, elapsed: int) -> int:
    """time-01 (host): the time of a run `elapsed` milliseconds after the time `last`, at which it had an event.

    As it is at least `last`, timestamps never decrease, and the time left of a wait is at most its whole length. As it
    is at least `last + elapsed`, setting the wall clock back neither stops nor lengthens a wait of a run in memory.
    """
    continued = last + elapsed
    return wall if wall > continued else continued


def is_ahead(origin: int, wall_origin: int) -> bool:
    """time-02 (host): whether a parked run has to be woken on the monotonic clock, because the wall clock is too late.

    An origin is a time less the reading of the monotonic clock at that time, in milliseconds.
    """
    return origin - wall_origin > MAX_LAG_MS


def origin_at_start(wall_origin: int, last_event_at: int, monotonic: int) -> int:
    """time-02 (host): the origin of the time of a run that an earlier process parked, at the start of this process.

    Its time continues from its last event, so that the time left of a wait is at most its whole length.
    """
    return max(wall_origin, last_event_at - monotonic)
