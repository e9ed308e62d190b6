"""The loop watch: notices when the event loop stands still, and names the node that holds it.

Theory. The loop leaves a mark every tenth of a second, and a thread looks at the mark as often. When it is too old
the thread reads the stack of the loop's thread and looks for a function that is a node. Nothing is done per call.
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
    """Watches the loop in which it is started, until it is stopped."""

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
        """Name the node once, and tell when the loop turns again."""
        found: dict[str, Any] | None = None
        while self._marked == marked and not self._ended.is_set():
            if found is None:
                frames = sys._current_frames()  # pyright: ignore[reportPrivateUsage]
                found = find_blocking_node(frames.get(self._watched), self._nodes)
                if found is not None:
                    log.warning("a node blocks the event loop", extra=found)
            self._ended.wait(MARK_SECONDS)
        if found is not None:
            log.warning("the event loop turns again", extra={**found, "blockedMs": int((self._marked - marked) * 1000)})


def find_blocking_node(frame: FrameType | None, nodes: dict[CodeType, str]) -> dict[str, Any] | None:
    """The node type on a stack, with the line that its file has reached; None if no node is there."""
    frames: list[FrameType] = []
    while frame is not None:
        frames.append(frame)
        held = nodes.get(frame.f_code)
        if held is not None:
            return {"typeId": held, "place": _place(frames, frame.f_code.co_filename)}
        steps = frame.f_locals.get("self") if frame.f_code is _STEP_CODE else None
        if isinstance(steps, Steps):
            # A step has a task of its own: what stands above is the author's.
            return {"typeId": steps.type_id, "place": _place(frames, "")}
        frame = frame.f_back
    return None


_STEP_CODE: Final = Steps.run_guarded.__code__


def _place(frames: list[FrameType], file: str) -> str:
    """The innermost line in that file, or anywhere."""
    chosen = next((each for each in frames if each.f_code.co_filename == file), frames[0])
    return f"{chosen.f_code.co_filename}:{chosen.f_lineno}"
