"""A tree of runs as lines: one line per run; many siblings with the same status share one line.

Every text of the host goes through `clean`.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from weftwork.cli.client.run_tree import TreeRun
from weftwork.cli.console.table import colour
from weftwork.cli.console.text import clean
from weftwork.cli.console.units import format_elapsed

if TYPE_CHECKING:
    from rich.text import Text

_STROKES: Final = (("├─ ", "└─ ", "│  "), ("|- ", "`- ", "|  "))
LEVEL_WIDTH: Final = 3
"""Columns per level."""
_BLANK: Final = " " * LEVEL_WIDTH


class OutlineRow(NamedTuple):
    """A node of an outline. Rows of the same branch have the same number; 0 is the main branch at level 0."""

    node_id: str
    type_id: str = ""
    level: int = 0
    branch: int = 0


def branch_prefixes(rows: Sequence[OutlineRow], deepest: int, is_ascii: bool) -> list[tuple[str, str]]:
    """For each row, the prefix of its first line and of the lines below it.

    Rows may have been omitted: a branch starts at its first row that is present. Rows deeper than `deepest` are drawn
    at that level.
    """
    fork, end, pass_by = _STROKES[is_ascii]
    levels = [min(each.level, deepest) for each in rows]
    seen_branches: set[int] = set()
    is_branch_start: list[bool] = []
    for each in rows:
        is_branch_start.append(each.branch != 0 and each.branch not in seen_branches)
        seen_branches.add(each.branch)
    # From the last row up: whether another branch starts at a level before a shallower row ends that level.
    follows = [False] * (deepest + 2)
    prefixes: list[tuple[str, str]] = []
    for level, is_first in zip(reversed(levels), reversed(is_branch_start), strict=True):
        lanes = [pass_by if follows[at] else _BLANK for at in range(1, level + 1)]
        below = "".join([*lanes, pass_by if follows[level + 1] else _BLANK])
        if is_first and level:
            lanes[-1] = fork if follows[level] else end
        prefixes.append(("".join(lanes), below))
        follows[level + 1 :] = [False] * (deepest + 1 - level)
        follows[level] = follows[level] or (is_first and level > 0)
    return prefixes[::-1]


MAX_SIBLINGS: Final = 20
"""Maximum number of siblings with the same workflow and status that are listed one by one."""
MAX_DEPTH: Final = 40
_FEWER_SIBLINGS: Final = (10, 5, 2, 1, 0)
"""Smaller limits, tried in order until the tree fits."""

StyledText = tuple[str, str]
"""A text and its style."""


class HiddenSiblings(msgspec.Struct):
    """Siblings with the same workflow and status that are counted, not listed."""

    is_all: bool
    """Whether none of these siblings is listed."""
    is_named: bool
    """Whether the line must name the workflow, since there are siblings of other workflows."""
    runs: list[TreeRun] = []


class TreeLine(NamedTuple):
    """A line for one run or for several."""

    prefix: str
    parts: list[StyledText]

    @property
    def text(self) -> str:
        return self.prefix + "".join(text for text, _ in self.parts)


def run_tree_lines(top: TreeRun, is_ascii: bool, most: int | None = None, only_open: bool = False) -> list[TreeLine]:
    """The tree in at most `most` lines. With `only_open`, ended runs are counted instead of listed."""
    open_runs: set[int] | None = None
    if only_open:
        # The active runs and their ancestors. From the last run up, since a run comes after its parent.
        open_runs = set()
        for run in reversed(list(top.walk(with_forks=True))):
            if not run.is_terminal or any(id(each) in open_runs for each in (*run.children, *run.forks)):
                open_runs.add(id(run))
    rows = list(_rows(top, MAX_SIBLINGS, open_runs))
    for max_siblings in _FEWER_SIBLINGS:
        if most is None or len(rows) <= most:
            break
        rows = list(_rows(top, max_siblings, open_runs))
    places = [OutlineRow("", "", level, at) for at, (_, level) in enumerate(rows)]
    drawn: list[TreeLine] = []
    for (each, _), (lanes, _) in zip(rows, branch_prefixes(places, MAX_DEPTH, is_ascii), strict=True):
        hidden = isinstance(each, HiddenSiblings)
        parts = [(_hidden_siblings_text(each, is_ascii), "dim")] if hidden else run_parts(each)
        drawn.append(TreeLine(lanes, parts))
    if most is None or len(drawn) <= most:
        return drawn
    dots = "..." if is_ascii else "…"
    return [*drawn[: most - 1], TreeLine("", [(f"{dots} and {len(drawn) - most + 1} more lines", "dim")])][:most]


def run_parts(run: TreeRun) -> list[StyledText]:
    """Workflow, mode and start of a fork, status, run id, duration so far, and the node at which the run waits or its
    error code."""
    duration = format_elapsed(run.started_at, run.ended_at or datetime.now(UTC).isoformat())
    at = f"at {clean(run.detail, 60)}" if run.detail and run.is_waiting else clean(run.detail, 60)
    status = clean(run.status or "started", 40)
    return [
        (clean(run.workflow_id or "run", 100), "bold"),
        (f"  {clean(run.fork, 60)}" if run.fork else "", "blue"),
        (f"  {status}", colour(run.status)),
        (f"  {clean(run.run_id, 60)}", "dim"),
        (f"  {duration}" if duration else "", ""),
        (f"  {at}" if at else "", "red" if run.status == "failed" else ""),
    ]


def rich_line(line: TreeLine, overflow: Any, margin: str = "") -> "Text":
    """One line that rich does not wrap; `overflow` as in rich."""
    from rich.text import Text

    text = Text(no_wrap=True, overflow=overflow)
    text.append(margin + line.prefix, "dim")
    for content, style in line.parts:
        text.append(content, style or None)
    return text


def _rows(
    top: TreeRun, max_siblings: int, open_runs: set[int] | None
) -> Iterator[tuple[TreeRun | HiddenSiblings, int]]:
    """Each run with its level, before its children."""
    stack: list[tuple[TreeRun | HiddenSiblings, int]] = [(top, 0)]
    while stack:
        each, level = stack.pop()
        yield each, level
        if isinstance(each, TreeRun):
            children = _siblings(each.children, max_siblings, open_runs)
            forks = _siblings(each.forks, max_siblings, open_runs)
            stack += [(below, level + 1) for below in reversed([*children, *forks])]


def _siblings(runs: Sequence[TreeRun], max_siblings: int, open_runs: set[int] | None) -> list[TreeRun | HiddenSiblings]:
    """The siblings in their order; those beyond `max_siblings` of a workflow and status become one HiddenSiblings,
    placed after the last listed one."""
    shown: list[TreeRun | HiddenSiblings] = []
    counts: dict[tuple[str, str, bool], int] = {}
    hidden: dict[tuple[str, str, bool], HiddenSiblings] = {}
    is_mixed = len({run.workflow_id for run in runs}) > 1
    for run in runs:
        is_closed = open_runs is not None and id(run) not in open_runs
        kind = (run.workflow_id, run.status, is_closed)
        room = 0 if is_closed else max_siblings
        counts[kind] = counts.get(kind, 0) + 1
        if counts[kind] <= room:
            shown.append(run)
            continue
        if kind not in hidden:
            hidden[kind] = HiddenSiblings(is_all=room == 0, is_named=is_mixed or room == 0)
            shown.append(hidden[kind])
        hidden[kind].runs.append(run)
    # A line that counts one run would take as much room as the run.
    return [
        each.runs[0] if isinstance(each, HiddenSiblings) and len(each.runs) == 1 and max_siblings else each
        for each in shown
    ]


def _hidden_siblings_text(more: HiddenSiblings, is_ascii: bool) -> str:
    first, count = more.runs[0], len(more.runs)
    below = sum(1 for run in more.runs for _ in run.walk(with_forks=True)) - count
    name = f" {clean(first.workflow_id, 60)}" if more.is_named and first.workflow_id else ""
    joiner = "" if more.is_all else "and "
    tail = f", with {below} below them" if below else ""
    more_word = "" if more.is_all else " more"
    status = clean(first.status or "started", 40)
    return f"{'...' if is_ascii else '…'} {joiner}{count}{more_word}{name} ({status}){tail}"
