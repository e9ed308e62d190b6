"""The lines to the left of an outline that show which rows belong to which branch."""

from collections.abc import Sequence
from typing import Final, NamedTuple

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
        beside = [pass_by if follows[at] else _BLANK for at in range(1, level + 1)]
        below = "".join([*beside, pass_by if follows[level + 1] else _BLANK])
        if is_first and level:
            beside[-1] = fork if follows[level] else end
        found.append(("".join(beside), below))
        follows[level + 1 :] = [False] * (deepest + 1 - level)
        follows[level] = follows[level] or (is_first and level > 0)
    return found[::-1]
