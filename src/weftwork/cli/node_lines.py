"""What is told of one node of a run: a sign, a few words, and lines below for what needs more.

All texts of the host go through `shown`.
"""

from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from weftwork.cli.elapsed import spell
from weftwork.cli.node_row import ACTIVE, NodeRow
from weftwork.cli.plain import shown
from weftwork.cli.question import answer_command, asked
from weftwork.cli.question_state import standing
from weftwork.cli.table import colour

_SIGNS: Final = {
    "completed": ("✓", "+"),
    "failed": ("✗", "x"),
    "running": ("●", ">"),
    "retrying": ("↻", "~"),
    "suspended": ("?", "?"),
    "skipped": ("-", "-"),
    "cancelled": ("■", "#"),
    "pending": ("·", "."),
}
_STYLES: Final = {"skipped": "dim", "pending": "dim", "retrying": "yellow"}


class Detail(NamedTuple):
    """A line below a node. What is to be pasted into a shell has nothing to its left, and as much room as there is."""

    text: str
    style: str = ""
    is_pasted: bool = False


def sign(row: NodeRow, is_ascii: bool) -> str:
    return _SIGNS.get(row.state, _SIGNS["pending"])[is_ascii]


def style(row: NodeRow) -> str:
    return _STYLES.get(row.state) or colour(row.state)


def words(row: NodeRow, now: float | None) -> str:
    """How it stands; nothing about a node that has not begun. `now` is the host's time."""
    told = [each for each in (_attempt(row, now), _round(row), _items(row), _children(row)) if each]
    time = took(row.started, now if row.state in ACTIVE else row.ended)
    if time and row.state not in ("skipped", "pending") and not _is_put_off(row, now):
        told.append(time)
    if row.state == "pending":
        return "paused" if row.started is not None else ""
    if row.state not in ("completed", "running") and not _is_put_off(row, now):
        told.insert(0, row.state)
    return ", ".join(told)


def details(row: NodeRow, url: str, run_id: str) -> list[Detail]:
    """Why it failed, what it asks and how to answer, and what a model writes."""
    found: list[Detail] = []
    if row.error and row.state in ("failed", "retrying"):
        found.append(Detail(failure(row.error), "red"))
    if row.asked is not None and row.state == "suspended":
        found += asking("asks", row.asked)
        found.append(Detail(answer_command(url, run_id, row.node_id), "", True))
    if row.text and row.state in ACTIVE:
        found.append(Detail(shown(" ".join(row.text.split()), 200)[-80:], "italic"))
    return found


def asking(words: str, question: dict[str, Any]) -> list[Detail]:
    """What is asked, who has voted and until when there is time. The words say who asks."""
    first, *more = asked(question)
    return [Detail(each, "magenta") for each in (f"{words} {first}", *more, *standing(question, datetime.now(UTC)))]


def took(start: float | None, end: float | None) -> str:
    return spell(end - start) if start is not None and end is not None and end >= start else ""


def failure(error: dict[str, Any]) -> str:
    code, message = error.get("code"), error.get("message")
    parts = [shown(each, 400) for each in (code, message) if isinstance(each, str) and each]
    return ": ".join(parts) or "failed"


def _is_put_off(row: NodeRow, now: float | None) -> bool:
    return row.state == "retrying" and row.due is not None and now is not None and row.due > now


def _attempt(row: NodeRow, now: float | None) -> str:
    if row.attempt < 2:
        return ""
    wait = f" in {took(now, row.due)}" if _is_put_off(row, now) else ""
    return f"attempt {row.attempt}{wait}"


def _round(row: NodeRow) -> str:
    if row.round < 2:
        return ""
    return f"{row.round} rounds" if row.state == "completed" else f"round {row.round}"


def _items(row: NodeRow) -> str:
    return ("1 item" if row.items == 1 else f"{row.items} items") if row.items else ""


def _children(row: NodeRow) -> str:
    count = len(row.children)
    return f"{count} child {'run' if count == 1 else 'runs'}" if count else ""
