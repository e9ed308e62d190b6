"""The nodes of a definition as an outline: in the order of the graph, branches indented, each node once.

Theory. Without the edges that lead back the graph has no cycle, and each node has a nearest node that every way to it
passes: the node stands below that one. A node that alone comes next goes on at the same level, so a chain does not
indent. Where ways part, each begins a branch one level in; the node where they meet again goes on at the level where
they parted. One that joins only some of them stands among them. What a loop repeats is indented below its head if
something else follows the head.
"""

from typing import Any, Final

from weftwork.cli.console.documents import as_object, as_text, objects
from weftwork.cli.render.layout import WorkflowLayout, lay_out
from weftwork.cli.render.run_tree_lines import OutlineRow

_ROOT: Final = 0
"""Stands before all nodes, which are numbered from 1 in the order of the graph."""


def outline(document: Any) -> list[OutlineRow]:
    """Every node once, whatever else the document holds; nothing if it has no nodes."""
    drawn = _read(document)
    graph = _DominatorTree(drawn)
    found: list[OutlineRow] = []
    branches = 0
    # What is still to come, the next one last: a number, its level and its branch.
    rest = [(_ROOT, 0, 0)]
    while rest:
        number, level, branch = rest.pop()
        if number != _ROOT:
            node_id = drawn.order[number - 1]
            found.append(OutlineRow(node_id, drawn.nodes[node_id]["typeId"], level, branch))
        parted, last = graph.below(number)
        if last is not None:
            rest.append((last, level, branch))
        for each in reversed(parted):
            branches += 1
            rest.append((each, level + 1, branches))
    return found


def _read(document: Any) -> WorkflowLayout:
    """What can be read of a definition; nodes without an id and edges from or to nowhere are left out."""
    known = as_object(document)
    nodes = [
        {"id": each["id"], "typeId": as_text(each.get("typeId"))}
        for each in objects(known.get("nodes"))
        if isinstance(each.get("id"), str)
    ]
    edges = [
        {"id": "", "sourceNodeId": source, "targetNodeId": target}
        for each in objects(known.get("edges"))
        if isinstance(source := each.get("sourceNodeId"), str) and isinstance(target := each.get("targetNodeId"), str)
    ]
    return lay_out({"nodes": nodes, "edges": edges})


class _DominatorTree:
    """The nodes by number, each below the nearest one that every way to it passes (its dominator)."""

    def __init__(self, drawn: WorkflowLayout) -> None:
        count = len(drawn.order) + 1
        number = {node_id: at for at, node_id in enumerate(drawn.order, 1)}
        before: list[list[int]] = [[] for _ in range(count)]
        for line in drawn.forward:
            before[number[line.target]].append(number[line.source])
        self._parent = [_ROOT] * count
        self._depth = [0] * count
        # Leads some way up, so that climbing takes few steps also in a chain of thousands.
        self._jump = [_ROOT] * count
        self._children: list[list[int]] = [[] for _ in range(count)]
        for each in range(1, count):
            self._add_node(each, before[each])
        self._siblings_reached: list[list[int]] = [[] for _ in range(count)]
        """To which of its siblings a way leads from it, or from what stands below it."""
        self._join_nodes: set[int] = set()
        for each in range(1, count):
            parent = self._parent[each]
            for source in before[each]:
                if source != parent:
                    self._siblings_reached[self._ancestor_at(source, self._depth[each])].append(each)
                    self._join_nodes.add(each)
        self._in_loop = self._loop_bodies([(number[line.source], number[line.target]) for line in drawn.back])

    def below(self, number: int) -> tuple[list[int], int | None]:
        """The branches that begin below a node, and what goes on at its own level behind them, if anything does."""
        children = self._children[number]
        body = [each for each in children if each in self._in_loop]
        rest = [each for each in children if each not in self._in_loop]
        if not rest:
            body, rest = [], children
        last = self._join_node(rest)
        return [*body, *(each for each in rest if each != last)], last

    def _join_node(self, children: list[int]) -> int | None:
        """Where all ways meet that do not just end."""
        if len(children) == 1:
            return children[0]
        joins = [each for each in children if each in self._join_nodes]
        return joins[-1] if joins and all(self._siblings_reached[each] for each in joins[:-1]) else None

    def _add_node(self, number: int, before: list[int]) -> None:
        parent = before[0] if before else _ROOT
        for other in before[1:]:
            parent = self._common_ancestor(parent, other)
        self._parent[number] = parent
        self._depth[number] = self._depth[parent] + 1
        self._children[parent].append(number)
        far = self._jump[parent]
        is_even = self._depth[parent] - self._depth[far] == self._depth[far] - self._depth[self._jump[far]]
        self._jump[number] = self._jump[far] if is_even else parent

    def _ancestor_at(self, number: int, depth: int) -> int:
        """What stands above at this depth."""
        while self._depth[number] > depth:
            far = self._jump[number]
            number = far if self._depth[far] >= depth else self._parent[number]
        return number

    def _common_ancestor(self, one: int, other: int) -> int:
        """The nearest that stands above both. Numbers of one depth jump equally far."""
        depth = min(self._depth[one], self._depth[other])
        one, other = self._ancestor_at(one, depth), self._ancestor_at(other, depth)
        while one != other:
            up = self._parent if self._jump[one] == self._jump[other] else self._jump
            one, other = up[one], up[other]
        return one

    def _loop_bodies(self, back: list[tuple[int, int]]) -> set[int]:
        """What a way leads from back to the node above it."""
        found: set[int] = set()
        for source, target in back:
            depth = self._depth[target]
            if source != target and self._ancestor_at(source, depth) == target:
                found.add(self._ancestor_at(source, depth + 1))
        for each in range(len(self._parent) - 1, _ROOT, -1):
            if not found.isdisjoint(self._siblings_reached[each]):
                found.add(each)
        return found
