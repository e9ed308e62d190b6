"""Rows for people: a table on a terminal, aligned columns elsewhere. Every cell is made safe to print."""

import sys
from collections.abc import Iterable, Sequence
from typing import Any, Final

from weftwork.cli.console.text import clean, display_width, say, say_json, say_lines

GAP: Final = "  "
_MAX_CELL: Final = 200
_MIN_WIDTH: Final = 12
"""Columns of a text that is cut; with less it says nothing."""
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
    """The colour of a status; none for one that says nothing special."""
    return "magenta" if state.startswith("waiting-") else _COLOURS.get(state, "")


def print_table(head: Sequence[str], rows: Sequence[Sequence[object]], cut: Sequence[str] = ()) -> None:
    """Print rows below their heads. Statuses have colours.

    On a terminal a row is a line: columns of `cut` are as wide as there is room, and when that is not enough, columns
    are left out from the right. Names that other commands take are whole or not there.
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
    """What a command lists: its document as JSON, or a table of the rows, or on standard error that there are none."""
    if as_json:
        say_json(document)
    elif (found := list(rows)) or not empty:
        print_table(head, found, cut)
    else:
        say(empty, err=True)


def align(rows: Iterable[Sequence[str]], indent: str = "") -> list[str]:
    """Lines whose columns stand below each other; the last one is as long as it is."""
    return [(indent + GAP.join(cells)).rstrip() for cells in pad_columns(list(rows))]


def pad_columns(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """The cells of each row, as wide as the widest of their column."""
    widths = [max(map(display_width, column)) for column in zip(*rows, strict=True)]
    return [[cell + " " * (room - display_width(cell)) for cell, room in zip(row, widths, strict=True)] for row in rows]


def fit_columns(head: Sequence[str], rows: Sequence[Sequence[str]], cut: Sequence[str], room: int) -> dict[int, int]:
    """The columns that are shown, with their widths, so that a line holds them: the first whatever it takes."""
    natural = [max(display_width(row[at]) for row in (head, *rows)) for at in range(len(head))]
    least = [
        min(wide, max(_MIN_WIDTH, display_width(name))) if name in cut else wide
        for name, wide in zip(head, natural, strict=True)
    ]
    kept = {0: natural[0]}
    left = room - natural[0]
    for at in range(1, len(head)):
        if least[at] + len(GAP) > left:
            break
        kept[at] = least[at]
        left -= least[at] + len(GAP)
    for at in kept:
        more = min(natural[at] - kept[at], max(0, left))
        kept[at] += more
        left -= more
    return kept


def _draw(head: Sequence[str], rows: Sequence[Sequence[str]], cut: Sequence[str]) -> str:
    # Imported late: only a terminal needs it.
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, markup=False, emoji=False)
    widths = fit_columns(head, rows, cut, console.width)
    mark = "..." if console.options.ascii_only else "…"
    with console.capture() as written:
        for row in (head, *rows):
            line = Text()
            for at, room in widths.items():
                cell = _truncate(row[at], room, mark)
                style = "bold" if row is head else colour(row[at]) if head[at] == "status" else ""
                line.append(cell, style or None)
                line.append(" " * (room - display_width(cell)) + GAP)
            line.rstrip()
            console.print(line, soft_wrap=True)
    return written.get().rstrip("\n")


def _truncate(text: str, room: int, mark: str) -> str:
    """The text if there is room for it, else its beginning and a mark."""
    if display_width(text) <= room:
        return text
    kept = text
    while kept and display_width(kept) + len(mark) > room:
        kept = kept[:-1]
    return kept + mark
