"""The loop watch: detects that the event loop is blocked, and names the node that blocks it.

A timer on the loop stores the time every tenth of a second, and a thread checks it as often. When it is too old, the
thread reads the stack of the loop's thread and looks for the function of a node. Calls of nodes have no extra cost.
"""

import asyncio
import logging
import sys
import threading
import time
from collections.abc import Iterable
from types import CodeType, FrameType
from typing import Any, Final

from weftwork.adapters.python.calls.steps import Steps
from weftwork.adapters.python.declaration.decorator import NodeFunction

log = logging.getLogger("weftwork.node")

MARK_SECONDS: Final = 0.1
BLOCKED_SECONDS: Final = 0.25


class LoopWatch:
    """Watches the event loop in which it is started, until it is stopped."""

    def __init__(self, nodes: Iterable[NodeFunction]) -> None:
        self._nodes: dict[CodeType, str] = {
            each.function.__code__: each.declaration.type_id  # pyright: ignore[reportFunctionMemberAccess]
            for each in nodes
        }
        self._marked = 0.0
        self._ended = threading.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._watched = 0

    def start(self) -> None:
        self._watched = threading.get_ident()
        self._mark()
        threading.Thread(target=self._watch, name="weftwork-loop-watch", daemon=True).start()

    def stop(self) -> None:
        self._ended.set()
        if self._timer is not None:
            self._timer.cancel()

    def _mark(self) -> None:
        self._marked = time.monotonic()
        self._timer = asyncio.get_running_loop().call_later(MARK_SECONDS, self._mark)

    def _watch(self) -> None:
        while not self._ended.wait(MARK_SECONDS):
            marked = self._marked
            if time.monotonic() - marked > MARK_SECONDS + BLOCKED_SECONDS:
                self._blocked(marked)

    def _blocked(self, marked: float) -> None:
        """Log the blocking node once, and again when the loop runs."""
        blocking: dict[str, Any] | None = None
        while self._marked == marked and not self._ended.is_set():
            if blocking is None:
                frames = sys._current_frames()  # pyright: ignore[reportPrivateUsage]
                blocking = find_blocking_node(frames.get(self._watched), self._nodes)
                if blocking is not None:
                    log.warning("a node blocks the event loop", extra=blocking)
            self._ended.wait(MARK_SECONDS)
        if blocking is not None:
            blocked_ms = int((self._marked - marked) * 1000)
            log.warning("the event loop runs again", extra={**blocking, "blockedMs": blocked_ms})


def find_blocking_node(frame: FrameType | None, nodes: dict[CodeType, str]) -> dict[str, Any] | None:
    """The node type on a stack, and the current line in its file; None if the stack contains no node."""
    frames: list[FrameType] = []
    while frame is not None:
        frames.append(frame)
        type_id = nodes.get(frame.f_code)
        if type_id is not None:
            return {"typeId": type_id, "place": _place(frames, frame.f_code.co_filename)}
        steps = frame.f_locals.get("self") if frame.f_code is _STEP_CODE else None
        if isinstance(steps, Steps):
            # A step runs in its own task, so its stack does not contain the function of the node.
            return {"typeId": steps.type_id, "place": _place(frames, "")}
        frame = frame.f_back
    return None


_STEP_CODE: Final = Steps.run_guarded.__code__


def _place(frames: list[FrameType], file: str) -> str:
    """The innermost frame in that file, or the innermost frame of all."""
    chosen = next((each for each in frames if each.f_code.co_filename == file), frames[0])
    return f"{chosen.f_code.co_filename}:{chosen.f_lineno}"
