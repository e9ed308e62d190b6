"""The lines of one node of a run, and the selection of nodes if not all fit the screen.

Active, waiting and failed nodes are selected first, then their neighbours. Every text of the host goes through `clean`.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from weftwork.cli.console.table import colour
from weftwork.cli.console.text import clean
from weftwork.cli.console.units import count_of, format_duration, format_recent_time
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
    """A line below a node. A command, which the user may copy, is not indented with the tree."""

    text: str
    style: str = ""
    is_command: bool = False


def symbol(row: NodeProgress, is_ascii: bool) -> str:
    return _SYMBOLS.get(row.state, _SYMBOLS["pending"])[is_ascii]


def style(row: NodeProgress) -> str:
    return _STYLES.get(row.state) or colour(row.state)


def state_text(row: NodeProgress, now: float | None) -> str:
    """State, attempt, counts and duration of a node; empty if it has not started. `now` is the host's time."""
    if row.state == "pending":
        return "paused" if row.started is not None else ""
    awaits_retry = row.state == "retrying" and row.retry_at is not None and now is not None and row.retry_at > now
    parts = [row.state] if row.state not in ("completed", "running") and not awaits_retry else []
    if row.attempt >= 2:
        parts.append(f"attempt {row.attempt}" + (f" in {duration_text(now, row.retry_at)}" if awaits_retry else ""))
    if row.round >= 2:
        parts.append(f"{row.round} rounds" if row.state == "completed" else f"round {row.round}")
    if row.items:
        parts.append(count_of(row.items, "item"))
    if row.failed_items:
        parts.append(f"{row.failed_items} failed")
    if row.children:
        parts.append(count_of(len(row.children), "child run"))
    time = duration_text(row.started, now if row.state in ACTIVE_STATES else row.ended)
    if time and row.state != "skipped" and not awaits_retry:
        parts.append(time)
    return ", ".join(parts)


def detail_lines(row: NodeProgress, url: str, run_id: str) -> list[DetailLine]:
    """The error, the open interrupt with the command that answers it, what the node waits for, and the text that a
    model is writing."""
    lines: list[DetailLine] = []
    if row.error and row.state in ("failed", "retrying"):
        lines.append(DetailLine(error_text(row.error), "red"))
    if row.interrupt is not None and row.state == "suspended":
        lines += interrupt_lines("requests", row.interrupt)
        lines.append(DetailLine(answer_command(url, run_id, row.node_id), "", True))
    if row.provider_wait:
        lines.append(DetailLine(provider_wait_text(row.provider_wait), "yellow"))
    if row.model_text and row.state in ACTIVE_STATES:
        lines.append(DetailLine(clean(" ".join(row.model_text.split()), 200)[-80:], "italic"))
    return lines


def interrupt_lines(actor: str, interrupt: dict[str, Any]) -> list[DetailLine]:
    """The question, votes and deadline of an interrupt, after `actor` on the first line."""
    return [DetailLine(each, "magenta") for each in question_lines(actor, interrupt)]


def provider_wait_text(wait: dict[str, Any]) -> str:
    """The model provider for which a node waits, why, and the time of the next call, in UTC."""
    text = f'waits for provider "{clean(wait.get("provider", "?"), 60)}" ({clean(wait.get("code", "?"), 60)})'
    when = format_recent_time(wait.get("retryAt"), with_time=True)
    return f"{text}, next attempt {when} UTC" if when else text


def duration_text(start: float | None, end: float | None) -> str:
    return format_duration(end - start) if start is not None and end is not None and end >= start else ""


def error_text(error: dict[str, Any]) -> str:
    code, message = error.get("code"), error.get("message")
    parts = [clean(each, 400) for each in (code, message) if isinstance(each, str) and each]
    return ": ".join(parts) or "failed"


_PRIORITY: Final = ("failed", "suspended", "retrying", "running")
"""States in the order in which rows are selected."""


class HiddenRows(NamedTuple):
    """A range of adjacent nodes that are not shown."""

    first: int
    end: int


def select_rows(rows: Sequence[NodeProgress], room: int, height: Callable[[int], int]) -> list[int | HiddenRows]:
    """The indexes of the rows to show, in order, with a HiddenRows for each gap.

    `height` returns the number of lines of a row. It is called for few rows, regardless of their number.
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
    """The number of rows, with counts by state."""
    counts = Counter(row.state for row in rows)
    if len(counts) == 1:
        return f"{len(rows)} more {next(iter(counts))}"
    return f"{len(rows)} more: " + ", ".join(f"{number} {state}" for state, number in counts.items())


def _rank_rows(rows: Sequence[NodeProgress], limit: int) -> list[int]:
    """The most relevant rows: failed, suspended and active ones, then those nearest to them.

    If there are none, those nearest to the first row and to the row that ended last.
    """
    ranks = {state: at for at, state in enumerate(_PRIORITY)}
    urgent = sorted((ranks[row.state], at) for at, row in enumerate(rows) if row.state in ranks)
    chosen_rows = [at for _, at in urgent[:limit]]
    if len(chosen_rows) == limit:
        return chosen_rows
    distance = _distances(len(rows), chosen_rows or [0, max((row.ended or 0, at) for at, row in enumerate(rows))[1]])
    chosen_set = set(chosen_rows)
    nearest = sorted((each for each in range(len(rows)) if each not in chosen_set), key=distance.__getitem__)
    return chosen_rows + nearest[: limit - len(chosen_rows)]


def _distances(count: int, centres: Sequence[int]) -> list[int]:
    """The distance of each row to the nearest centre."""
    distances = [count] * count
    for centre in centres:
        distances[centre] = 0
    for at in range(1, count):
        distances[at] = min(distances[at], distances[at - 1] + 1)
    for at in range(count - 2, -1, -1):
        distances[at] = min(distances[at], distances[at + 1] + 1)
    return distances


def _insert_hidden(chosen: Sequence[int], count: int, height: Callable[[int], int]) -> list[int | HiddenRows]:
    parts: list[int | HiddenRows] = []
    start = 0
    for each in (*chosen, count):
        if each - start == 1 and height(start) == 1:
            # A line that says "1 more" would take as much room.
            parts.append(start)
        elif each > start:
            parts.append(HiddenRows(start, each))
        if each < count:
            parts.append(each)
        start = each + 1
    return parts
