"""The lines of one node of a run, and the choice of nodes where not all of them fit the screen.

Every text of the host goes through `clean`. The nodes that are chosen are those that matter now, and their
neighbours.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from weftwork.cli.console.table import colour
from weftwork.cli.console.text import clean
from weftwork.cli.console.units import count_of, format_duration
from weftwork.cli.render.interrupt_text import answer_command, question_lines
from weftwork.cli.render.run_progress import ACTIVE_STATES, NodeProgress

_SYMBOLS: Final = {
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


class DetailLine(NamedTuple):
    """A line below a node. What is to be pasted into a shell has nothing to its left, and as much room as there is."""

    text: str
    style: str = ""
    is_command: bool = False


def symbol(row: NodeProgress, is_ascii: bool) -> str:
    return _SYMBOLS.get(row.state, _SYMBOLS["pending"])[is_ascii]


def style(row: NodeProgress) -> str:
    return _STYLES.get(row.state) or colour(row.state)


def state_text(row: NodeProgress, now: float | None) -> str:
    """How it stands; nothing about a node that has not begun. `now` is the host's time."""
    if row.state == "pending":
        return "paused" if row.started is not None else ""
    awaits_retry = row.state == "retrying" and row.retry_at is not None and now is not None and row.retry_at > now
    told = [row.state] if row.state not in ("completed", "running") and not awaits_retry else []
    if row.attempt >= 2:
        told.append(f"attempt {row.attempt}" + (f" in {duration_text(now, row.retry_at)}" if awaits_retry else ""))
    if row.round >= 2:
        told.append(f"{row.round} rounds" if row.state == "completed" else f"round {row.round}")
    if row.items:
        told.append(count_of(row.items, "item"))
    if row.children:
        told.append(count_of(len(row.children), "child run"))
    time = duration_text(row.started, now if row.state in ACTIVE_STATES else row.ended)
    if time and row.state != "skipped" and not awaits_retry:
        told.append(time)
    return ", ".join(told)


def detail_lines(row: NodeProgress, url: str, run_id: str) -> list[DetailLine]:
    """Why it failed, what it asks and how to answer, and what a model writes."""
    found: list[DetailLine] = []
    if row.error and row.state in ("failed", "retrying"):
        found.append(DetailLine(error_text(row.error), "red"))
    if row.interrupt is not None and row.state == "suspended":
        found += interrupt_lines("asks", row.interrupt)
        found.append(DetailLine(answer_command(url, run_id, row.node_id), "", True))
    if row.model_text and row.state in ACTIVE_STATES:
        found.append(DetailLine(clean(" ".join(row.model_text.split()), 200)[-80:], "italic"))
    return found


def interrupt_lines(words: str, question: dict[str, Any]) -> list[DetailLine]:
    """What is asked, who has voted and until when there is time. The words say who asks."""
    return [DetailLine(each, "magenta") for each in question_lines(words, question)]


def duration_text(start: float | None, end: float | None) -> str:
    return format_duration(end - start) if start is not None and end is not None and end >= start else ""


def error_text(error: dict[str, Any]) -> str:
    code, message = error.get("code"), error.get("message")
    parts = [clean(each, 400) for each in (code, message) if isinstance(each, str) and each]
    return ": ".join(parts) or "failed"


_PRIORITY: Final = ("failed", "suspended", "retrying", "running")
"""The first ones first."""


class HiddenRows(NamedTuple):
    """Nodes that stand next to each other and are not shown. There are at least two."""

    first: int
    end: int


def select_rows(rows: Sequence[NodeProgress], room: int, height: Callable[[int], int]) -> list[int | HiddenRows]:
    """Numbers of the rows to be shown, in order, with a line for those in between that are not.

    `height` tells how many lines a row takes; it is asked of few, however many there are.
    """
    count = len(rows)
    if not rows or (count <= room and sum(map(height, range(count))) <= room):
        return list(range(count))
    ranked = _rank_rows(rows, max(room, 1))
    while True:
        parts = _insert_hidden(sorted(ranked), count, height)
        lines = sum(height(each) if isinstance(each, int) else 1 for each in parts)
        if lines <= room or len(ranked) <= 1:
            return parts
        ranked.pop()


def hidden_rows_text(rows: Sequence[NodeProgress]) -> str:
    """How many there are, and how they stand."""
    counts = Counter("waiting" if row.state == "pending" else row.state for row in rows)
    if len(counts) == 1:
        return f"{len(rows)} more {next(iter(counts))}"
    return f"{len(rows)} more: " + ", ".join(f"{number} {state}" for state, number in counts.items())


def _rank_rows(rows: Sequence[NodeProgress], most: int) -> list[int]:
    """The rows that matter most: what runs or needs somebody, then what is nearest to that.

    When nothing does, the first one and what ended last stand in for it.
    """
    ranks = {state: at for at, state in enumerate(_PRIORITY)}
    urgent = sorted((ranks[row.state], at) for at, row in enumerate(rows) if row.state in ranks)
    found = [at for _, at in urgent[:most]]
    if len(found) == most:
        return found
    distance = _distances(len(rows), found or [0, max((row.ended or 0, at) for at, row in enumerate(rows))[1]])
    chosen = set(found)
    near = sorted((each for each in range(len(rows)) if each not in chosen), key=distance.__getitem__)
    return found + near[: most - len(found)]


def _distances(count: int, centres: Sequence[int]) -> list[int]:
    """How far each row is from the nearest centre."""
    found = [count] * count
    for centre in centres:
        found[centre] = 0
    for at in range(1, count):
        found[at] = min(found[at], found[at - 1] + 1)
    for at in range(count - 2, -1, -1):
        found[at] = min(found[at], found[at + 1] + 1)
    return found


def _insert_hidden(chosen: Sequence[int], count: int, height: Callable[[int], int]) -> list[int | HiddenRows]:
    found: list[int | HiddenRows] = []
    start = 0
    for each in (*chosen, count):
        if each - start == 1 and height(start) == 1:
            # A line that says so would take as much room.
            found.append(start)
        elif each > start:
            found.append(HiddenRows(start, each))
        if each < count:
            found.append(each)
        start = each + 1
    return found
