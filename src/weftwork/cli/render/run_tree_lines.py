"""A tree of runs in lines: one line per run, and one for many that have the same status.

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
"""Columns of one level."""
_BLANK: Final = " " * LEVEL_WIDTH


class OutlineRow(NamedTuple):
    """A node of an outline. Rows of one branch have its number; 0 is what belongs to no branch, at level 0."""

    node_id: str
    type_id: str = ""
    level: int = 0
    branch: int = 0


def branch_prefixes(places: Sequence[OutlineRow], deepest: int, is_ascii: bool) -> list[tuple[str, str]]:
    """For each row what stands before its first line, and before the lines below that.

    Rows may be missing: the first one that is there of a branch begins it. What is deeper than the deepest level
    stands at that one.
    """
    fork, end, pass_by = _STROKES[is_ascii]
    levels = [min(each.level, deepest) for each in places]
    begun: set[int] = set()
    begins: list[bool] = []
    for each in places:
        begins.append(each.branch != 0 and each.branch not in begun)
        begun.add(each.branch)
    # From the last row up: whether another branch begins at a level before something shallower ends it.
    follows = [False] * (deepest + 2)
    found: list[tuple[str, str]] = []
    for level, is_first in zip(reversed(levels), reversed(begins), strict=True):
        lanes = [pass_by if follows[at] else _BLANK for at in range(1, level + 1)]
        below = "".join([*lanes, pass_by if follows[level + 1] else _BLANK])
        if is_first and level:
            lanes[-1] = fork if follows[level] else end
        found.append(("".join(lanes), below))
        follows[level + 1 :] = [False] * (deepest + 1 - level)
        follows[level] = follows[level] or (is_first and level > 0)
    return found[::-1]


MAX_SIBLINGS: Final = 20
"""Siblings of one workflow and one status that are shown one by one."""
MAX_DEPTH: Final = 40
_FEWER_SIBLINGS: Final = (10, 5, 2, 1, 0)
"""How many instead, tried one after the other, until the tree fits."""

StyledText = tuple[str, str]
"""A text and its style."""


class HiddenSiblings(msgspec.Struct):
    """Siblings that stand alike and are not shown."""

    is_all: bool
    """None of them is shown."""
    is_named: bool
    """There are siblings of other workflows."""
    runs: list[TreeRun] = []


class TreeLine(NamedTuple):
    """A line for a run, or for several."""

    prefix: str
    parts: list[StyledText]

    @property
    def text(self) -> str:
        return self.prefix + "".join(text for text, _ in self.parts)


def run_tree_lines(top: TreeRun, is_ascii: bool, most: int | None = None, only_open: bool = False) -> list[TreeLine]:
    """The tree, in at most so many lines. With `only_open`, runs that are over are counted where they would stand."""
    open_runs: set[int] | None = None
    if only_open:
        # The runs that are not over, and those above them. From the last one up: each stands behind its parent.
        open_runs = set()
        for run in reversed(list(top.walk())):
            if not run.is_terminal or any(id(each) in open_runs for each in run.children):
                open_runs.add(id(run))
    rows = list(_rows(top, MAX_SIBLINGS, open_runs))
    for few in _FEWER_SIBLINGS:
        if most is None or len(rows) <= most:
            break
        rows = list(_rows(top, few, open_runs))
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
    """Workflow, status, run id, how long it took so far, and where it waits or why it failed."""
    took = format_elapsed(run.started_at, run.ended_at or datetime.now(UTC).isoformat())
    at = f"at {clean(run.detail, 60)}" if run.detail and run.is_waiting else clean(run.detail, 60)
    status = clean(run.status or "started", 40)
    return [
        (clean(run.workflow_id or "run", 100), "bold"),
        (f"  {status}", colour(run.status)),
        (f"  {clean(run.run_id, 60)}", "dim"),
        (f"  {took}" if took else "", ""),
        (f"  {at}" if at else "", "red" if run.status == "failed" else ""),
    ]


def rich_line(line: TreeLine, overflow: Any, margin: str = "") -> "Text":
    """One line that is cut rather than wrapped, or left to the terminal."""
    from rich.text import Text

    text = Text(no_wrap=True, overflow=overflow)
    text.append(margin + line.prefix, "dim")
    for said, style in line.parts:
        text.append(said, style or None)
    return text


def _rows(top: TreeRun, few: int, open_runs: set[int] | None) -> Iterator[tuple[TreeRun | HiddenSiblings, int]]:
    """Each run before its children, with its level."""
    rest: list[tuple[TreeRun | HiddenSiblings, int]] = [(top, 0)]
    while rest:
        each, level = rest.pop()
        yield each, level
        if isinstance(each, TreeRun):
            rest += [(below, level + 1) for below in reversed(_siblings(each.children, few, open_runs))]


def _siblings(runs: Sequence[TreeRun], few: int, open_runs: set[int] | None) -> list[TreeRun | HiddenSiblings]:
    """In their order; what is too much of one kind is gathered behind the last one of it that is shown."""
    found: list[TreeRun | HiddenSiblings] = []
    seen: dict[tuple[str, str, bool], int] = {}
    gathered: dict[tuple[str, str, bool], HiddenSiblings] = {}
    is_mixed = len({run.workflow_id for run in runs}) > 1
    for run in runs:
        is_closed = open_runs is not None and id(run) not in open_runs
        kind = (run.workflow_id, run.status, is_closed)
        room = 0 if is_closed else few
        seen[kind] = seen.get(kind, 0) + 1
        if seen[kind] <= room:
            found.append(run)
            continue
        if kind not in gathered:
            gathered[kind] = HiddenSiblings(is_all=room == 0, is_named=is_mixed or room == 0)
            found.append(gathered[kind])
        gathered[kind].runs.append(run)
    # A line that stands for one run would take as much room as the run.
    return [
        each.runs[0] if isinstance(each, HiddenSiblings) and len(each.runs) == 1 and few else each for each in found
    ]


def _hidden_siblings_text(more: HiddenSiblings, is_ascii: bool) -> str:
    first, count = more.runs[0], len(more.runs)
    below = sum(1 for run in more.runs for _ in run.walk()) - count
    name = f" {clean(first.workflow_id, 60)}" if more.is_named and first.workflow_id else ""
    word = "" if more.is_all else "and "
    tail = f", with {below} below them" if below else ""
    kept = "" if more.is_all else " more"
    status = clean(first.status or "started", 40)
    return f"{'...' if is_ascii else '…'} {word}{count}{kept}{name} ({status}){tail}"
