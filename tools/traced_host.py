"""Runs `weftwork` under a profiler that records which functions of the package are called, by thread.

`tools/walkthroughs.py` starts this program and sends it commands through a pipe. Both commands wait until the host is
at rest: `start` begins a new recording, `stop` answers with the recording, one line of JSON with a list of thread, file
and function in the order of the first call. A recording is under way from the start of the process.

A coroutine that is resumed counts as called. Functions that are called while a module is imported do not count: which
modules are already imported depends on what the process has done before.
"""

import inspect
import json
import os
import sys
import threading
import time
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final, NamedTuple

import weftwork

PACKAGE: Final = f"{Path(weftwork.__file__).parent}{os.sep}"
WATCHDOG: Final = f"{PACKAGE}adapters{os.sep}system{os.sep}loop_watchdog.py"
"""Its timer runs all the time, and the profiler makes the host so slow that it also samples. Neither is work."""
WATCHDOG_THREAD: Final = "weftwork-loop-watchdog"
REST_SECONDS: Final = 0.005
REST_LOOKS: Final = 12
"""The host is at rest when so many looks in a row, so far apart, see no call in between."""
MOST_LOOKS: Final = 2_500


class Call(NamedTuple):
    """A function of the package. `file` is relative to the package, `function` is a qualified name."""

    thread: str
    file: str
    function: str


def is_importing(frame: FrameType | None) -> bool:
    """Whether the frame, or a frame that has called it, is the body of a module or class of the package."""
    while frame is not None:
        code = frame.f_code
        if not code.co_flags & inspect.CO_OPTIMIZED and code.co_filename.startswith(PACKAGE):
            return True
        frame = frame.f_back
    return False


class Recorder:
    """Functions in the order in which each thread calls them first."""

    def __init__(self) -> None:
        self.total = 0
        """Calls since the process has started, repeated ones included."""
        self.start()

    def start(self) -> None:
        """Begin a new recording."""
        self._seen: set[tuple[CodeType, int]] = set()
        self.calls: list[Call] = []

    def profile(self, frame: FrameType, event: str, _argument: Any) -> None:
        """The profile function of all threads."""
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(PACKAGE) or code.co_filename == WATCHDOG:
            return
        if threading.current_thread().name == WATCHDOG_THREAD:
            return
        self.total += 1
        key = (code, threading.get_ident())
        if key not in self._seen and not is_importing(frame):
            self._seen.add(key)
            file = code.co_filename.removeprefix(PACKAGE).replace(os.sep, "/")
            self.calls.append(Call(threading.current_thread().name, file, code.co_qualname))

    def wait_for_rest(self) -> None:
        quiet = 0
        for _ in range(MOST_LOOKS):
            before = self.total
            time.sleep(REST_SECONDS)
            quiet = quiet + 1 if self.total == before else 0
            if quiet == REST_LOOKS:
                return


def obey(recorder: Recorder, commands: int, answers: int) -> None:
    """Carry out the commands of the pipe until it is closed."""
    with open(commands, encoding="ascii") as lines, open(answers, "w", encoding="utf-8") as out:
        for line in lines:
            recorder.wait_for_rest()
            calls = recorder.calls
            if line.strip() == "start":
                recorder.start()
            out.write(json.dumps(calls) + "\n")
            out.flush()


def main(commands: int, answers: int, arguments: list[str]) -> None:
    """Run `weftwork` with these arguments. The thread that obeys commands is not recorded."""
    from weftwork.cli.main import main as command

    recorder = Recorder()
    threading.Thread(target=obey, args=(recorder, commands, answers), daemon=True).start()
    threading.setprofile(recorder.profile)
    sys.setprofile(recorder.profile)
    sys.argv = ["weftwork", *arguments]
    command()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
