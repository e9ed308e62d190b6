"""How an open question stands: who has voted, and until when it takes an answer."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final, TypeGuard

from weftwork.cli.elapsed import clock, instant, spell
from weftwork.cli.plain import shown
from weftwork.protocol.json_value import is_array, is_object

VOTERS: Final = 10
"""Of so many the names are shown."""
_NAME: Final = 60


def progress(question: dict[str, Any]) -> str:
    """`1 of 3`: how many of the approvals that are needed are there; nothing where one answer is enough."""
    told = question.get("progress")
    if is_object(told) and _is_count(told.get("granted")) and _is_count(told.get("required")):
        # An event said so.
        return f"{told['granted']} of {told['required']}" if told["required"] > 1 else ""
    data = question.get("data")
    required = data.get("requiredApprovals") if is_object(data) else None
    if not _is_count(required) or required < 2:
        return ""
    # Imported late: `weftwork --help` needs none of it.
    from weftwork.protocol.approval import GRANTS

    return f"{sum(action in GRANTS for _, action in _votes(question))} of {required}"


def takes_votes(question: dict[str, Any]) -> bool:
    """Whether more than one answer is waited for."""
    return progress(question) != ""


def due(question: dict[str, Any], now: datetime) -> str:
    """`in 2 h 10 min` or `overdue`; nothing for a question that waits for ever."""
    end = instant(question.get("dueAt"))
    if end is None:
        return ""
    left = (end - now).total_seconds() * 1000
    return f"in {spell(left)}" if left > 0 else "overdue"


def standing(question: dict[str, Any], now: datetime) -> Iterator[str]:
    """Lines to print below what is asked."""
    so_far = progress(question)
    if so_far:
        cast = [(shown(name, _NAME), shown(action, _NAME)) for name, action in _votes(question)]
        named = ", ".join(f"{name} {action}" for name, action in cast[:VOTERS])
        more = f" and {len(cast) - VOTERS} more" if len(cast) > VOTERS else ""
        yield f"  approvals: {so_far}" + (f" ({named}{more})" if named else "")
    if when := due(question, now):
        yield f"  answer by {clock(question.get('dueAt'))} UTC, {when}"


def _votes(question: dict[str, Any]) -> list[tuple[str, str]]:
    listed = question.get("votes")
    found = [each for each in listed if is_object(each)] if is_array(listed) else []
    return [(str(each.get("voter", "?")), str(each.get("action", "?"))) for each in found]


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
