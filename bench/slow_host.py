"""`weftwork serve` under valgrind, which makes it some 50 times slower, and on a busy machine hundreds of times: limits
in wall time are 1000 times longer.

Otherwise a run that takes microseconds would exceed a limit of milliseconds, and the host would do what it never does
for such a run: commit between its steps, take the interpreter lock from the thread that holds it, or find out what
blocks the event loop.
"""

import sys
from typing import Final

from weftwork.adapters.system import loop_watchdog
from weftwork.cli.main import main
from weftwork.engine.run import next_commit

SLOWDOWN: Final = 1000
"""With 50, at a load of 15 on two cores, a run with a node in Python made two commits instead of one."""


def stretch() -> None:
    next_commit.MAX_BATCH_MS *= SLOWDOWN  # pyright: ignore[reportConstantRedefinition]
    next_commit.SHARED_BATCH_MS *= SLOWDOWN  # pyright: ignore[reportConstantRedefinition]
    for name in ("BEAT_SECONDS", "SAMPLE_SECONDS", "BLOCKED_SECONDS", "REPORT_SECONDS"):
        setattr(loop_watchdog, name, getattr(loop_watchdog, name) * SLOWDOWN)
    sys.setswitchinterval(sys.getswitchinterval() * SLOWDOWN)


if __name__ == "__main__":
    stretch()
    main()
