"""A host of a later time: what waited for it is due when it starts, and nothing has to be measured.

Started as a program of its own: `later_host.py HOURS` and what the command line of the host has after `python`.
"""

import runpy
import sys

from weftwork.adapters.system.clock_and_ids import SystemClock

HOUR_MS = 3_600_000


def later_command(hours: int, line: list[str]) -> list[str]:
    """A command that starts a host in Python, with a clock that is so many hours ahead."""
    python, *rest = (part for part in line if part != "-P")
    # -P: the modules beside this one are not there for the host.
    return [python, "-P", __file__, str(hours), *rest]


def _move_clock(hours: int) -> None:
    now = SystemClock.now
    SystemClock.now = lambda self: now(self) + hours * HOUR_MS  # type: ignore[method-assign]


if __name__ == "__main__":
    _, ahead, program, *sys.argv[1:] = sys.argv
    _move_clock(int(ahead))
    if program == "-m":
        runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(program, run_name="__main__")
