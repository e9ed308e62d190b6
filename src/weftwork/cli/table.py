"""Rows for people: a table on a terminal, aligned columns elsewhere. Every cell is made safe to print."""

import sys
from collections.abc import Sequence
from typing import Any, Final

from weftwork.cli.plain import say, shown

GAP: Final = "  "
_CELL: Final = 200
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


def print_table(head: Sequence[str], rows: Sequence[Sequence[object]], coloured: str = "status") -> None:
    """Print rows below their heads. The cells of one column get the colours of the statuses they name."""
    cells = [[shown(cell, _CELL) for cell in row] for row in rows]
    if sys.stdout.isatty():
        say(_drawn(head, cells, coloured))
        return
    for line in aligned([list(head), *cells]):
        say(line)


def aligned(rows: Sequence[Sequence[str]], indent: str = "") -> list[str]:
    """Lines whose columns stand below each other; the last one is as long as it is."""
    from weftwork.protocol.drawing_sketch import width

    widths = [max(width(row[at]) for row in rows) for at in range(len(rows[0]))] if rows else []
    lines: list[str] = []
    for row in rows:
        padded = [cell + " " * (room - width(cell)) for cell, room in zip(row, widths, strict=True)]
        lines.append((indent + GAP.join(padded)).rstrip())
    return lines


def _drawn(head: Sequence[str], rows: Sequence[Sequence[str]], coloured: str) -> str:
    # Imported late: only a terminal needs it.
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name in head:
        # The first column holds what the next command needs, in one piece.
        table.add_column(name, overflow="fold", no_wrap=name in (head[0], coloured))
    for row in rows:
        styled: list[Any] = [
            Text(cell, style=colour(cell) if name == coloured else "") for name, cell in zip(head, row, strict=True)
        ]
        table.add_row(*styled)
    console = Console()
    with console.capture() as written:
        console.print(table)
    return written.get().rstrip("\n")
