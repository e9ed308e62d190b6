"""Ways to run a test more than once: with every case of a table, and without the guard that it proves."""

import contextlib
import functools
import inspect
import logging
import reprlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import pytest

T = TypeVar("T")


def check_cases(cases: Iterable[T], check: Callable[[T], None], name: Callable[[T], str] = str) -> None:
    """Call `check` with every case, as `each_case` does with a test."""
    each_case("case", *cases, ids=name)(lambda case: check(case))()


def each_case(names: str, *cases: Any, ids: Callable[[Any], str] = reprlib.repr) -> Any:
    """Run a test with every case, as `parametrize` of pytest does, but as one test: for many cases that take no time.

    A case is a value, or a tuple of the values of several names. The test's fixtures are made once for all cases. The
    first error is raised, with notes that name all cases that failed.
    """
    wanted = names.split(", ")
    rows = [case if len(wanted) > 1 else (case,) for case in cases]
    assert rows, "a table without cases"

    @contextlib.contextmanager
    def noted(row: Any, failed: list[BaseException]) -> Iterator[dict[str, Any]]:
        case = dict(zip(wanted, row, strict=True))
        try:
            yield case
        except (Exception, pytest.fail.Exception) as error:
            failed.append(error)
            failed[0].add_note(f"case: {', '.join(f'{name}={ids(value)}' for name, value in case.items())}")

    def decorate(test: Callable[..., Any]) -> Any:
        @functools.wraps(test)
        def over(**given: Any) -> None:
            failed: list[BaseException] = []
            for row in rows:
                with noted(row, failed) as case:
                    test(**given, **case)
            if failed:
                raise failed[0]

        @functools.wraps(test)
        async def over_async(**given: Any) -> None:
            failed: list[BaseException] = []
            for row in rows:
                with noted(row, failed) as case:
                    await test(**given, **case)
            if failed:
                raise failed[0]

        shape = inspect.signature(test)
        chosen: Any = over_async if inspect.iscoroutinefunction(test) else over
        rest = [parameter for name, parameter in shape.parameters.items() if name not in wanted]
        assert len(rest) == len(shape.parameters) - len(wanted), "a name that is no parameter of the test"
        chosen.__signature__ = shape.replace(parameters=rest)
        return chosen

    return decorate


def fails_without(
    *guard: Any, errors: tuple[type[Exception], ...] = (), match: str | None = None
) -> Callable[[Callable[..., Any]], Any]:
    """Run a test, and once more with a guard replaced, as `setattr` of monkeypatch would, or with several, each a list
    of such arguments: then it must fail, by an assertion or one of these errors, with a message that matches."""
    guards = guard if isinstance(guard[0], list) else [guard]

    @contextlib.contextmanager
    def sabotaged() -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            for each in guards:
                patch.setattr(*each)
            with pytest.raises((AssertionError, pytest.fail.Exception, *errors), match=match):
                yield

    def decorate(test: Callable[..., Any]) -> Any:
        @functools.wraps(test)
        def twice(*arguments: Any, **named: Any) -> None:
            test(*arguments, **named)
            with sabotaged():
                test(*arguments, **named)

        @functools.wraps(test)
        async def twice_async(*arguments: Any, **named: Any) -> None:
            await test(*arguments, **named)
            with sabotaged():
                await test(*arguments, **named)

        return twice_async if inspect.iscoroutinefunction(test) else twice

    return decorate


def problems(records: Sequence[logging.LogRecord]) -> list[logging.LogRecord]:
    """The records of level warning and above. A blocked event loop is none: a busy machine causes it."""
    return [each for each in records if each.levelno >= logging.WARNING and each.name != "weftwork.loop"]


def present(value: T | None) -> T:
    assert value is not None
    return value
