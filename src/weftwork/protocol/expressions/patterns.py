"""Regular expressions in expressions and in conditions of edges, with a bounded cost."""

from functools import lru_cache
from typing import Any, Final

from weftwork.protocol.expressions import cel
from weftwork.protocol.expressions.cost import COMPILE_UNITS_PER_STATE, MATCH_UNITS_PER_STATE, MAX_WORK, count_states
from weftwork.protocol.expressions.faults import expression_failed, expression_invalid, expression_limit

MAX_PATTERN: Final = 1024
"""Bytes of UTF-8."""
MAX_PATTERN_STATES: Final = 20_000


def check_pattern(pattern: str) -> str | None:
    """What is wrong with a regular expression (RE2 syntax), None if nothing is."""
    try:
        if len(pattern.encode()) > MAX_PATTERN:
            return f"is longer than {MAX_PATTERN:,} bytes"
    except UnicodeEncodeError:
        return "holds a lone surrogate"
    if count_states(pattern) > MAX_PATTERN_STATES:
        return "unfolds to too many states; use fewer repetitions and Unicode classes"
    return None if _search_text("", pattern) is not None else "is not a valid regular expression"


def matches(text: str, pattern: str) -> bool:
    """expr-09 (host): whether the pattern is found anywhere in the text, in time linear in the text."""
    problem = check_pattern(pattern)
    if problem is not None:
        raise expression_invalid(f"The pattern {problem}.")
    if match_cost(text, pattern) > MAX_WORK:
        raise expression_limit("The text is too long for this pattern.")
    found = _search_text(text, pattern)
    if found is None:
        raise expression_failed("The text cannot be searched.")
    return found


def match_cost(text: str, pattern: str) -> int:
    """What it costs to search a text, in units of MAX_WORK."""
    return count_states(pattern) * (COMPILE_UNITS_PER_STATE + MATCH_UNITS_PER_STATE * (1 + len(text) // 8))


def _search_text(text: str, pattern: str) -> bool | None:
    program, _ = _search_program()
    outcome, said = cel.evaluate_program(program, {"text": text, "pattern": pattern})
    return None if said is not None else outcome.value()


@lru_cache(maxsize=1)
def _search_program() -> tuple[Any, bytes]:
    return cel.compile_program("text.matches(pattern)", ("text", "pattern"))
