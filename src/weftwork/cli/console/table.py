"""Tables on a terminal, aligned columns elsewhere. Every cell is made printable."""

import sys
from collections.abc import Iterable, Sequence
from typing import Any, Final

from weftwork.cli.console.text import clean, display_width, say, say_json, say_lines

GAP: Final = "  "
_MAX_CELL: Final = 200
_MIN_WIDTH: Final = 12
"""Minimum width of a truncated column; a narrower one would be unreadable."""
_COLOURS: Final = {
    "ok": "green",
    "completed": "green",
    "running": "cyan",
    "failed": "red",
    "fail": "red",
    "cancelled": "yellow",
    "cancelling": "yellow",
    "warn": "yellow",
    "paused": "magenta",
    "suspended": "magenta",
}


def colour(state: str) -> str:
    """The colour of a status; empty if it has none."""
    return "magenta" if state.startswith("waiting-") else _COLOURS.get(state, "")


def print_table(head: Sequence[str], rows: Sequence[Sequence[object]], cut: Sequence[str] = ()) -> None:
    """Print rows below their column heads. Statuses are coloured.

    On a terminal every row fits one line: the columns of `cut` are truncated first, then columns are omitted from the
    right. Ids that other commands accept are therefore complete or absent.
    """
    cells = [[clean(cell, _MAX_CELL) for cell in row] for row in rows]
    say_lines([_draw(head, cells, cut)] if sys.stdout.isatty() else align([head, *cells]))


def print_listing(
    document: Any,
    as_json: bool,
    head: Sequence[str],
    rows: Iterable[Sequence[object]],
    cut: Sequence[str] = (),
    empty: str = "",
) -> None:
    """Print a listing: the document as JSON, or a table; without rows, `empty` on standard error."""
    if as_json:
        say_json(document)
    elif (cells := list(rows)) or not empty:
        print_table(head, cells, cut)
    else:
        say(empty, err=True)


def align(rows: Iterable[Sequence[str]], indent: str = "") -> list[str]:
    """Lines with aligned columns; the last column is not padded."""
    return [(indent + GAP.join(cells)).rstrip() for cells in pad_columns(list(rows))]


def pad_columns(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """The cells of each row, padded to the width of their column."""
    widths = [max(map(display_width, column)) for column in zip(*rows, strict=True)]
    return [[cell + " " * (room - display_width(cell)) for cell, room in zip(row, widths, strict=True)] for row in rows]


def fit_columns(head: Sequence[str], rows: Sequence[Sequence[str]], cut: Sequence[str], room: int) -> dict[int, int]:
    """The indexes and widths of the columns that fit `room`. The first column is always included in full."""
    natural = [max(display_width(row[at]) for row in (head, *rows)) for at in range(len(head))]
    minimum = [
        min(wide, max(_MIN_WIDTH, display_width(name))) if name in cut else wide
        for name, wide in zip(head, natural, strict=True)
    ]
    widths = {0: natural[0]}
    remaining = room - natural[0]
    for at in range(1, len(head)):
        if minimum[at] + len(GAP) > remaining:
            break
        widths[at] = minimum[at]
        remaining -= minimum[at] + len(GAP)
    for at in widths:
        extra = min(natural[at] - widths[at], max(0, remaining))
        widths[at] += extra
        remaining -= extra
    return widths


def _draw(head: Sequence[str], rows: Sequence[Sequence[str]], cut: Sequence[str]) -> str:
    # Imported late: only a terminal needs rich.
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, markup=False, emoji=False)
    widths = fit_columns(head, rows, cut, console.width)
    mark = "..." if console.options.ascii_only else "…"
    with console.capture() as written:
        for row in (head, *rows):
            line = Text()
            for at, room in widths.items():
                cell = truncate(row[at], room, mark)
                style = "bold" if row is head else colour(row[at]) if head[at] == "status" else ""
                line.append(cell, style or None)
                line.append(" " * (room - display_width(cell)) + GAP)
            line.rstrip()
            console.print(line, soft_wrap=True)
    return written.get().rstrip("\n")


def truncate(text: str, room: int, mark: str) -> str:
    """The text, truncated to `room` columns with a mark at the end if it is longer."""
    if display_width(text) <= room:
        return text
    # Characters without width are counted as well, so that a long run of them is cut too.
    prefix = text[: 2 * room]
    while prefix and display_width(prefix) + len(mark) > room:
        prefix = prefix[:-1]
    return prefix + mark
