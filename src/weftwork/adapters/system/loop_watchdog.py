"""The loop watchdog: measures how long the event loop is blocked, and finds out by what.

Theory of operation. A timer on the loop runs every BEAT_SECONDS. The time between two beats is the time for which the
loop was blocked, rounded up to the next beat. A thread wakes up every SAMPLE_SECONDS, which gives every stall a sample.
While a beat is overdue, it wakes up every BEAT_SECONDS and samples the stack of the loop's thread, and `identify` makes
an activity of the stack. The code that is watched does nothing for this, so a request or a run costs the same with and
without the watchdog.

A native call that holds the GIL stops the thread as well. The interpreter hands the GIL over right after such a call,
while the caller is still on the stack, so the first sample finds it.

Time for which the machine gives the thread no CPU is not a stall: on Linux, the time in the run queue is subtracted.
Nor is a pause of the whole process, after which every sample shows a loop that waits for events.
"""

import asyncio
import contextlib
import logging
import os
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, Final

import msgspec

from weftwork.protocol.timestamps import iso

log = logging.getLogger("weftwork.loop")

BEAT_SECONDS: Final = 0.025
BLOCKED_SECONDS: Final = 0.1
"""A longer time between two beats is a stall. It is logged and counted."""
SAMPLE_SECONDS: Final = 0.05
"""Sampling begins this long after the last beat, so that a short stall has a sample as well."""
REPORT_SECONDS: Final = 1.0
"""A stall that lasts longer is logged while it lasts, because it may never end."""
LINE_SECONDS: Final = 10.0
"""Minimum time between two lines about the same stage and tenant. The later line counts the stalls between them."""
MAX_CAUSES: Final = 256
MAX_SAMPLES: Final = 400
MAX_RECENT: Final = 20

Activity = dict[str, str]
"""What the loop did: `stage`, and the fields that are known of runId, nodeId, tenant, typeId, operation and place."""
STAGE: Final = "stage"
IDLE_STAGE: Final = "loop"
"""The stage of a sample with no frame inside the loop: it waits for events, or is in native code of its own."""
IDLE_CPU_SECONDS: Final = 0.01
UNKNOWN: Final[Activity] = {STAGE: "unknown"}
"""No sample was taken: the thread of the watchdog did not get the CPU."""


class Stall(msgspec.Struct, frozen=True, rename="camel"):
    """One time for which the loop was blocked. `cpu_ms` is the CPU time of its thread; the rest was waiting."""

    at: str
    blocked_ms: int
    cpu_ms: int
    activity: Activity

    def log_fields(self) -> dict[str, Any]:
        return {"blockedMs": self.blocked_ms, "cpuMs": self.cpu_ms, **self.activity}


class StageCount(msgspec.Struct, rename="camel"):
    """The stalls of one stage."""

    count: int = 0
    total_ms: int = 0
    longest_ms: int = 0


class LoopReport(msgspec.Struct, frozen=True, rename="camel"):
    """The stalls since the start: by stage, and the most recent ones."""

    since: str
    threshold_ms: int
    stages: dict[str, StageCount]
    recent: list[Stall]


class LoopWatchdog:
    """Watches the event loop in which it is started, until it is stopped."""

    def __init__(self, identify: Callable[[FrameType], Activity], now: Callable[[], int]) -> None:
        self._identify = identify
        self._now = now
        self._lines = LineLimit()
        self._samples: list[Activity] = []
        self._beat_at = 0.0
        self._beat_cpu = 0.0
        self._run_queue = RunQueueTime()
        self._beat_queued = b""
        self._is_reported = False
        self._started_at = 0
        self._stages: dict[str, StageCount] = {}
        self._recent: deque[Stall] = deque(maxlen=MAX_RECENT)
        # A plain lock: waiting for it is a single call, and `stop` ends the wait.
        self._running = threading.Lock()
        self._timer: asyncio.TimerHandle | None = None
        self._thread_id = 0

    def start(self) -> None:
        self._thread_id = threading.get_ident()
        self._started_at = self._now()
        self._running.acquire()
        self._run_queue.open()
        self._next_beat(time.monotonic(), time.thread_time())
        threading.Thread(target=self._watch, name="weftwork-loop-watchdog", daemon=True).start()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._running.release()
            self._run_queue.close()

    def report(self) -> dict[str, Any]:
        """A LoopReport as a document. Called on the loop."""
        threshold = int(BLOCKED_SECONDS * 1000)
        report = LoopReport(iso(self._started_at), threshold, self._stages, [*self._recent])
        return msgspec.to_builtins(report)

    def _next_beat(self, now: float, cpu: float) -> None:
        self._beat_at, self._beat_cpu, self._beat_queued = now, cpu, self._run_queue.read()
        self._timer = asyncio.get_running_loop().call_later(BEAT_SECONDS, self._beat)

    def _beat(self) -> None:
        now, cpu = time.monotonic(), time.thread_time()
        blocked = now - self._beat_at
        if blocked > BLOCKED_SECONDS:
            blocked -= self._run_queue.seconds_since(self._beat_queued)
            is_idle = all(each[STAGE] == IDLE_STAGE for each in self._samples)
            if blocked > BLOCKED_SECONDS and not (is_idle and cpu - self._beat_cpu < IDLE_CPU_SECONDS):
                self._record(blocked, cpu - self._beat_cpu, now)
        if self._samples:
            self._samples = []
        self._is_reported = False
        self._next_beat(now, cpu)

    def _record(self, blocked: float, cpu: float, now: float) -> None:
        length, activity = round(blocked * 1000), main_activity(self._samples)
        stall = Stall(iso(self._now() - length), length, round(cpu * 1000), activity)
        self._recent.append(stall)
        stage = self._stages.setdefault(activity[STAGE], StageCount())
        stage.count += 1
        stage.total_ms += stall.blocked_ms
        stage.longest_ms = max(stage.longest_ms, stall.blocked_ms)
        if count := self._lines.take(activity, now, self._is_reported):
            log.warning("the event loop was blocked", extra={**stall.log_fields(), "count": count})

    def _watch(self) -> None:
        interval = SAMPLE_SECONDS
        while not self._running.acquire(timeout=interval):
            blocked = time.monotonic() - self._beat_at
            interval = SAMPLE_SECONDS
            if blocked > SAMPLE_SECONDS:
                interval = BEAT_SECONDS
                self._sample(blocked)

    def _sample(self, blocked: float) -> None:
        samples = self._samples
        if len(samples) < MAX_SAMPLES:
            frame = sys._current_frames().get(self._thread_id)  # pyright: ignore[reportPrivateUsage]
            try:
                samples.append(self._identify(frame) if frame is not None else UNKNOWN)
            except Exception:
                # The stack changes while it is read. A watchdog must survive what it sees.
                samples.append(UNKNOWN)
        activity = main_activity(samples)
        if blocked > REPORT_SECONDS and not self._is_reported and activity[STAGE] != IDLE_STAGE:
            self._is_reported = True
            log.warning("the event loop is blocked", extra={"blockedMs": round(blocked * 1000), **activity})


class RunQueueTime:
    """The time that a thread has spent waiting for a CPU, from /proc. Zero on systems that do not have it."""

    def __init__(self) -> None:
        self._file: int | None = None

    def open(self) -> None:
        """Open the file of the calling thread."""
        with contextlib.suppress(OSError):
            self._file = os.open(f"/proc/self/task/{threading.get_native_id()}/schedstat", os.O_RDONLY | os.O_CLOEXEC)

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def read(self) -> bytes:
        """The counters as text: a read per beat, which is only parsed after a stall."""
        return b"" if self._file is None else os.pread(self._file, 100, 0)

    def seconds_since(self, before: bytes) -> float:
        first, last = before.split(), self.read().split()
        return (int(last[1]) - int(first[1])) / 1e9 if len(first) > 1 < len(last) else 0.0


class LineLimit:
    """Limits the lines about one stage and tenant to one per LINE_SECONDS."""

    def __init__(self) -> None:
        self._causes: dict[tuple[str, str], tuple[float, int]] = {}
        """The time of the last line of each cause, and the number of stalls since then."""

    def take(self, activity: Activity, now: float, always: bool = False) -> int:
        """The number of stalls that a line about this one stands for; 0 if there is to be no line."""
        cause = activity[STAGE], activity.get("tenant", "")
        last, count = self._causes.pop(cause, (now - LINE_SECONDS, 0))
        is_due = always or now - last >= LINE_SECONDS
        self._causes[cause] = (now, 0) if is_due else (last, count + 1)
        if len(self._causes) > MAX_CAUSES:
            del self._causes[next(iter(self._causes))]
        return count + 1 if is_due else 0


def main_activity(samples: Sequence[Activity]) -> Activity:
    """The activity that most samples show, with the place of its first sample."""
    if not samples:
        return UNKNOWN
    causes = [tuple((name, value) for name, value in each.items() if name != "place") for each in samples]
    return samples[causes.index(Counter(causes).most_common(1)[0][0])]
