"""`weftwork serve` under valgrind, which makes it some 50 times slower: limits in wall time are as much longer.

Otherwise a run that takes microseconds would exceed a limit of milliseconds, and the host would do what it never does
for such a run: commit between its steps, or take the interpreter lock from the thread that holds it.
"""

import sys
from typing import Final

from weftwork.cli.main import main
from weftwork.engine.run import next_commit

SLOWDOWN: Final = 50


def stretch() -> None:
    next_commit.MAX_BATCH_MS *= SLOWDOWN  # pyright: ignore[reportConstantRedefinition]
    next_commit.SHARED_BATCH_MS *= SLOWDOWN  # pyright: ignore[reportConstantRedefinition]
    sys.setswitchinterval(sys.getswitchinterval() * SLOWDOWN)


if __name__ == "__main__":
    stretch()
    main()
