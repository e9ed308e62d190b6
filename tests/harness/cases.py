"""Ways to run a test more than once: with every case of a table, and without the guard that it proves."""

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import pytest

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


def for_each(names: str | tuple[str, ...], cases: Iterable[Any]) -> Callable[[Callable[..., None]], Any]:
    """`pytest.mark.parametrize` as one test, for tables: a test costs pytest 3 ms, which is more than most cases take.

    All cases are tried, and those that fail are named. Not for fixtures that each case needs anew."""
    members = (names,) if isinstance(names, str) else names
    table = [(case,) if isinstance(names, str) else tuple(case) for case in cases]

    def decorate(test: Callable[..., None]) -> Any:
        @functools.wraps(test)
        def every(**given: Any) -> None:
            check_cases(table, lambda case: test(**given, **dict(zip(members, case, strict=True))), _shown)

        known = inspect.signature(test).parameters
        every.__signature__ = inspect.Signature([each for name, each in known.items() if name not in members])  # type: ignore[attr-defined]
        return every

    return decorate


def _shown(case: object) -> str:
    return repr(case)[:500]


def fails_without(*guard: Any, errors: tuple[type[Exception], ...] = ()) -> Callable[[Callable[..., Any]], Any]:
    """Run a test, and once more with a guard replaced, as `setattr` of monkeypatch would, or with several, each a list
    of such arguments: then it must fail, by an assertion or one of these errors."""
    guards = guard if isinstance(guard[0], list) else [guard]

    def decorate(test: Callable[..., Any]) -> Any:
        @functools.wraps(test)
        async def twice(*arguments: Any, **named: Any) -> None:
            await test(*arguments, **named)
            with pytest.MonkeyPatch.context() as patch:
                for each in guards:
                    patch.setattr(*each)
                with pytest.raises((AssertionError, pytest.fail.Exception, *errors)):
                    await test(*arguments, **named)

        return twice

    return decorate


def present(value: T | None) -> T:
    assert value is not None
    return value
