"""TODO."""

from functools import lru_cache
from typing import Any, Final

from weftwork.protocol.expressions import cel
from weftwork.protocol.expressions.cost import COMPILING, MATCHING, MAX_WORK, states
from weftwork.protocol.expressions.faults import failed, invalid, over_limit

MAX_PATTERN: Final = 1024
"""Bytes of UTF-8."""
MAX_STATES: Final = 20_000


def check_pattern(pattern: str) -> str | None:
    """What is wrong with a regular expression (RE2 syntax), None if nothing is."""
    try:
        if len(pattern.encode()) > MAX_PATTERN:
            return f"is longer than {MAX_PATTERN:,} bytes"
    except UnicodeEncodeError:
        return "holds a lone surrogate"
    if states(pattern) > MAX_STATES:
        return "unfolds to too many states; use fewer repetitions and Unicode classes"
    return None if _searched("", pattern) is not None else "is not a valid regular expression"


def matches(text: str, pattern: str) -> bool:
    """expr-09 (host): whether the pattern is found anywhere in the text, in time linear in the text."""
    problem = check_pattern(pattern)
    if problem is not None:
        raise invalid(f"The pattern {problem}.")
    if match_cost(text, pattern) > MAX_WORK:
        raise over_limit("The text is too long for this pattern.")
    found = _searched(text, pattern)
    if found is None:
        raise failed("The text cannot be searched.")
    return found


def match_cost(text: str, pattern: str) -> int:
    """What it costs to search a text, in units of MAX_WORK."""
    return states(pattern) * (COMPILING + MATCHING * (1 + len(text) // 8))


def _searched(text: str, pattern: str) -> bool | None:
    program, _ = _search()
    outcome, said = cel.run(program, {"text": text, "pattern": pattern})
    return None if said is not None else outcome.value()


@lru_cache(maxsize=1)
def _search() -> tuple[Any, bytes]:
    return cel.compiled("text.matches(pattern)", ("text", "pattern"))
