"""The actions of fault points: kill the process, freeze or delay it, or raise the error that the place can raise."""

import logging
import os
import signal
import time
from collections.abc import Callable
from functools import partial
from typing import Final

from weftwork.ports.fault_points import POINTS, arm

log = logging.getLogger("weftwork.faults")

MAX_DELAY_MS: Final = 60_000
_SYNTAX: Final = "name:nth:action, separated by commas; an action is kill, freeze, raise or delay=MILLISECONDS"

Action = Callable[[], None]


def arm_points(text: str) -> None:
    """Arm fault points from text such as "writer.commit:3:kill,append.begin:1:raise".

    Raises ValueError for text that is not valid; then no fault point is armed.
    """
    actions: dict[tuple[str, int], Action] = {}
    for item in text.split(","):
        name, nth, action = _parse(item.strip())
        actions[name, nth] = partial(_announce, name, nth, action)
    log.warning("fault points are armed: this host fails on purpose", extra={"faults": text})
    arm(actions)


def _parse(item: str) -> tuple[str, int, Action]:
    parts = item.split(":")
    if len(parts) != 3:
        raise ValueError(f"{item!r} must be {_SYNTAX}")
    name, nth, action = parts
    if name not in POINTS:
        raise ValueError(f"there is no fault point {name!r}; use one of {', '.join(POINTS)}")
    if not (nth.isascii() and nth.isdigit() and int(nth) > 0):
        raise ValueError(f"{item!r}: nth must be a whole number of at least 1")
    return name, int(nth), _action(name, action)


def _action(name: str, text: str) -> Action:
    verb, _, value = text.partition("=")
    if text == "kill":
        return _kill
    if text == "freeze":
        return _freeze
    if text == "raise":
        fault = POINTS[name].fault
        if fault is None:
            raise ValueError(f"nothing can be raised at {name}; use kill, freeze or delay=MILLISECONDS")
        return partial(_fail, fault(f"fault point {name}"))
    if verb == "delay" and value.isascii() and value.isdigit() and int(value) <= MAX_DELAY_MS:
        # Blocks the event loop on purpose, to simulate a host that hangs.
        return partial(time.sleep, int(value) / 1000)
    raise ValueError(f"{text!r} is not an action; use kill, freeze, raise, or delay=0 to delay={MAX_DELAY_MS}")


def _announce(name: str, nth: int, action: Action) -> None:
    log.warning("fault point reached", extra={"point": name, "count": nth})
    action()


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _freeze() -> None:
    # Like a virtual machine that is suspended. It continues when it gets SIGCONT.
    os.kill(os.getpid(), signal.SIGSTOP)


def _fail(fault: Exception) -> None:
    raise fault
