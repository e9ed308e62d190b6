"""A host whose wall clock a test sets while the host runs.

`sabotage.py` starts it as a program of its own, with one of the functions of this file. The wall clock of that process
is ahead of the real one by the number of milliseconds in a file; the monotonic clock is the real one.
"""

import mmap
import os
import time
from pathlib import Path

CLOCK_FILE = "CLOCK_FILE"
"""The variable of the environment that names the file."""
SIZE = 8


def set_clock(file: Path, milliseconds: int) -> None:
    """Set the wall clocks of all hosts with this file, so far ahead of the real time, or behind it."""
    data = milliseconds.to_bytes(SIZE, "little", signed=True)
    if file.exists():
        with file.open("r+b") as opened:
            opened.write(data)
    else:
        file.write_bytes(data)


def shifted() -> None:
    descriptor = os.open(os.environ[CLOCK_FILE], os.O_RDONLY)
    ahead = mmap.mmap(descriptor, SIZE, prot=mmap.PROT_READ)
    time_ns = time.time_ns

    def shifted_ns() -> int:
        return time_ns() + int.from_bytes(ahead[:], "little", signed=True) * 1_000_000

    time.time_ns = shifted_ns
    time.time = lambda: shifted_ns() / 1_000_000_000


def wall_clock_only() -> None:
    """Runs follow the wall clock, as if they had no clock of their own."""
    from weftwork.engine.nodes import run_clock

    shifted()
    run_clock.run_time = lambda wall, last, elapsed: wall  # type: ignore[assignment]


def never_ahead() -> None:
    """Parked runs are woken by the wall clock alone."""
    from weftwork.engine.host import parked_clocks

    shifted()
    parked_clocks.is_ahead = lambda origin, wall_origin: False  # type: ignore[assignment]
