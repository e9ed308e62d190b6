"""A pytest plugin that bounds every test: one that takes longer fails with its stacks, and the next one starts.

The bound is the ini option `test_seconds`, for each of a test's phases. An alarm raises the failure in the main
thread. asyncio swallows what is raised inside a callback or a task that nothing awaits, so the alarm repeats until the
phase is over. A phase that does not return to Python at all is left to `faulthandler_timeout`, which ends the process.
"""

import asyncio
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from typing import Any

import pytest

REPEAT_SECONDS = 5.0


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("test_seconds", "how long setting up, calling and tearing down a test may each take", default="300")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    yield from _bounded(item)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    yield from _bounded(item)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    yield from _bounded(item)


def _bounded(item: pytest.Item) -> Iterator[None]:
    seconds = float(item.config.getini("test_seconds"))

    def fail(number: int, frame: Any) -> None:
        pytest.fail(f"not done after {seconds:g} s\n{_stacks()}")

    before = signal.signal(signal.SIGALRM, fail)
    signal.setitimer(signal.ITIMER_REAL, seconds, REPEAT_SECONDS)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _stacks() -> str:
    """Where each thread is, and what each task of the loop that runs in this one awaits."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    lines: list[str] = []
    for ident, frame in sys._current_frames().items():
        lines += [f"thread {names.get(ident)}\n", *traceback.format_stack(frame)]
    loop = asyncio._get_running_loop()
    for task in asyncio.all_tasks(loop) if loop is not None else ():
        lines.append(f"task {task.get_name()}\n")
        awaited: Any = task.get_coro()
        while frame := getattr(awaited, "cr_frame", None):
            lines += traceback.format_stack(frame, 1)
            awaited = awaited.cr_await
    return "".join(lines)
