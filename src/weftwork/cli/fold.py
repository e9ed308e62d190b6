"""Which nodes are shown when there are more than fit: those that matter now, and what is next to them."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from weftwork.cli.node_row import NodeRow

_MATTERS: Final = ("failed", "suspended", "retrying", "running")
"""The first ones first."""
_WORDS: Final = {"pending": "waiting"}


class Folded(NamedTuple):
    """Nodes that stand next to each other and are not shown. There are at least two."""

    first: int
    end: int


def fold(rows: Sequence[NodeRow], room: int, height: Callable[[int], int]) -> list[int | Folded]:
    """Numbers of the rows to be shown, in order, with a line for those in between that are not.

    `height` tells how many lines a row takes; it is asked of few, however many there are.
    """
    count = len(rows)
    if not rows or (count <= room and sum(map(height, range(count))) <= room):
        return list(range(count))
    ranked = _ranked(rows, max(room, 1))
    while True:
        parts = _parts(sorted(ranked), count, height)
        lines = sum(height(each) if isinstance(each, int) else 1 for each in parts)
        if lines <= room or len(ranked) <= 1:
            return parts
        ranked.pop()


def folded_words(rows: Sequence[NodeRow]) -> str:
    """How many there are, and how they stand."""
    counts: dict[str, int] = {}
    for row in rows:
        state = _WORDS.get(row.state, row.state)
        counts[state] = counts.get(state, 0) + 1
    if len(counts) == 1:
        return f"{len(rows)} more {next(iter(counts))}"
    return f"{len(rows)} more: " + ", ".join(f"{number} {state}" for state, number in counts.items())


def _ranked(rows: Sequence[NodeRow], most: int) -> list[int]:
    """The rows that matter most: what runs or needs somebody, then what is nearest to that.

    When nothing does, the first one and what ended last stand in for it.
    """
    ranks = {state: at for at, state in enumerate(_MATTERS)}
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


def _parts(chosen: Sequence[int], count: int, height: Callable[[int], int]) -> list[int | Folded]:
    found: list[int | Folded] = []
    start = 0
    for each in (*chosen, count):
        if each - start == 1 and height(start) == 1:
            # A line that says so would take as much room.
            found.append(start)
        elif each > start:
            found.append(Folded(start, each))
        if each < count:
            found.append(each)
        start = each + 1
    return found
