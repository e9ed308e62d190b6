"""Measures how the cost of processing a text grows with its length, between n and 8n.

Linear work grows by 8, quadratic work by 64; at most 16 is allowed. Opcodes are counted, so the number is the same in
every run. What runs in C, such as a match or a copy, is one opcode of any length: there, thread CPU time is measured.
A cost below a floor passes, because it can be noise, and would be far above the floor if it were quadratic.
"""

import gc
import sys
from collections.abc import Callable
from time import thread_time
from types import FrameType
from typing import Any

GROWTH = 8
MAX_RATIO = 16.0
FLOOR_SECONDS = 0.004
"""Linear matching of 32,768 characters takes less than 1 ms, quadratic matching at least 30 ms."""
FLOOR_OPCODES = 3_000
_ATTEMPTS = 3
_MAX_SHORT = 0.03
_PACKAGE = "weftwork"


class TooSlow(AssertionError):
    """The cost grows faster than the length of the text."""


def check_time(process: Callable[[int], Callable[[], Any]], length: int, *, may_explode: bool = True) -> None:
    """Raise TooSlow if the thread CPU time grows by more than MAX_RATIO from `length` to GROWTH * `length`.

    `process` prepares a call for a text of a given length. The fastest of several attempts counts. With `may_explode`,
    short texts come first, because exponential or cubic time would not end with the full length.
    """
    for short in (8, 12, 16, 20, 24, length // 8, length) if may_explode else ():
        if (seconds := _fastest(process(short), 1)) > _MAX_SHORT and _fastest(process(short), 2) > _MAX_SHORT:
            raise TooSlow(f"{short} characters take {seconds * 1000:.0f} ms")
    long = _fastest(process(GROWTH * length), 1)
    if long <= FLOOR_SECONDS:
        return
    short = _fastest(process(length), _ATTEMPTS)
    # The longer text is measured again only if its first attempt is too slow.
    if long > MAX_RATIO * short and long < 1:
        long = min(long, _fastest(process(GROWTH * length), _ATTEMPTS))
    if long > FLOOR_SECONDS and long > MAX_RATIO * short:
        raise TooSlow(
            f"{length} characters take {short * 1000:.2f} ms, {GROWTH * length} take {long * 1000:.2f} ms: "
            f"{long / short:.0f} times as long, at most {MAX_RATIO:.0f} times is linear"
        )


def check_opcodes(process: Callable[[int], Callable[[], Any]], length: int) -> None:
    """Raise TooSlow if the executed opcodes grow by more than MAX_RATIO from `length` to GROWTH * `length`."""
    short = max(count_opcodes(process(length), 10**7), FLOOR_OPCODES)
    long = count_opcodes(process(GROWTH * length), int(MAX_RATIO * short) + 1)
    if long > MAX_RATIO * short:
        raise TooSlow(
            f"{length} characters take {short} opcodes, {GROWTH * length} take more than {MAX_RATIO:.0f} times"
        )


class _Stopped(BaseException):
    pass


def count_opcodes(call: Callable[[], Any], most: int) -> int:
    """The opcodes of the package that a call executes. Stops counting above `most`."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        if event == "call":
            if not frame.f_globals.get("__name__", "").startswith(_PACKAGE):
                return None
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
        elif event == "opcode":
            count += 1
            if count > most:
                raise _Stopped
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    except _Stopped:
        pass
    finally:
        sys.settrace(before)
    return count


def _fastest(call: Callable[[], Any], attempts: int) -> float:
    seconds: list[float] = []
    collects = gc.isenabled()
    gc.disable()
    try:
        for _ in range(attempts):
            start = thread_time()
            call()
            seconds.append(thread_time() - start)
    finally:
        if collects:
            gc.enable()
    return min(seconds)
