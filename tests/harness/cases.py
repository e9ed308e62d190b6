"""A table of cases that one test goes through: all of them are tried, and those that fail are named."""

from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")


def check_cases(cases: Iterable[T], check: Callable[[T], None], name: Callable[[T], str] = str) -> None:
    """Call `check` with every case. Raises a group of what failed; each error has the case's name as a note."""
    failed: list[Exception] = []
    for case in cases:
        try:
            check(case)
        except Exception as error:
            error.add_note(f"case: {name(case)}")
            failed.append(error)
    if failed:
        raise ExceptionGroup("cases that failed", failed)
