"""`weftwork serve` that counts the calls it makes: Python and C functions, by thread.

Theory. `sys.setprofile` reports the calls of one thread, so every thread gets a counter of its own the first time it
reports anything; no two threads write to the same one. The bench asks for the counts by a line on standard input. The
thread that answers is not counted, and it answers when the counts have been the same for some milliseconds: what the
host still does after it has sent a response belongs to the request before, not to the next one. `call` stands for an
entry into a Python function, generator or coroutine, `c_call` for a function written in C that Python code calls.
"""

import os
import sys
import threading
import time
from types import FrameType
from typing import Any, Final, TextIO

import msgspec

QUIET_SECONDS: Final = 0.001
QUIET_LOOKS: Final = 3
MOST_LOOKS: Final = 2_000

Counts = dict[str, list[int]]
"""Thread name -> [Python calls, C calls]."""
_COUNTS: Counts = {}


def _install(*_: Any) -> None:
    """The profile function of a thread that has no counter yet."""
    counter = _COUNTS.setdefault(threading.current_thread().name, [0, 0])

    def count(_frame: FrameType, event: str, _argument: Any) -> None:
        if event == "call":
            counter[0] += 1
        elif event == "c_call":
            counter[1] += 1

    sys.setprofile(count)


def _quiet() -> Counts:
    """The counts, once they rest."""
    seen: Counts = {}
    same = 0
    for _ in range(MOST_LOOKS):
        now = {name: [*counter] for name, counter in _COUNTS.copy().items()}
        same = same + 1 if now == seen else 0
        if same >= QUIET_LOOKS:
            break
        seen = now
        time.sleep(QUIET_SECONDS)
    return seen


def _answer(out: TextIO) -> None:
    for _ in sys.stdin:
        out.write(msgspec.json.encode(_quiet()).decode() + "\n")
        out.flush()


def main() -> None:
    """Standard output is for counts alone; what the host prints goes to standard error."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    threading.Thread(target=_answer, args=(out,), name="bench-answer", daemon=True).start()

    from weftwork.cli.main import main as weftwork

    threading.setprofile(_install)
    _install()
    weftwork()


if __name__ == "__main__":
    main()
