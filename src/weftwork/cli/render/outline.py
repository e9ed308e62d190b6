"""The nodes of a definition as an outline: in graph order, with branches indented, each node once.

Theory of operation: without back edges the graph is acyclic, and each node has an immediate dominator, the nearest node
that every path to it passes. The outline places each node below its immediate dominator. An only child stays at the
level of its dominator, so a chain is not indented. At a fork, each branch starts one level deeper; the node where all
branches join continues at the level of the fork. A node that joins only some branches is listed among them. The body of
a loop is indented below the loop's first node if another node follows the loop.
"""

from typing import Any, Final

from weftwork.cli.console.documents import as_object, as_text, objects
from weftwork.cli.render.layout import WorkflowLayout, lay_out
from weftwork.cli.render.run_tree_lines import OutlineRow

_ROOT: Final = 0
"""A virtual node before all others, which are numbered from 1 in graph order."""


def outline(document: Any) -> list[OutlineRow]:
    """One row per node; empty if the document has no nodes. The document need not be valid."""
    layout = _read(document)
    graph = _DominatorTree(layout)
    rows: list[OutlineRow] = []
    branches = 0
    # Nodes to visit, the next one last: number, level and branch.
    stack = [(_ROOT, 0, 0)]
    while stack:
        number, level, branch = stack.pop()
        if number != _ROOT:
            node_id = layout.order[number - 1]
            rows.append(OutlineRow(node_id, layout.nodes[node_id]["typeId"], level, branch))
        branches_below, continuation = graph.below(number)
        if continuation is not None:
            stack.append((continuation, level, branch))
        for each in reversed(branches_below):
            branches += 1
            stack.append((each, level + 1, branches))
    return rows


def _read(document: Any) -> WorkflowLayout:
    """The layout of the readable part of a definition; nodes without an id and incomplete edges are skipped."""
    definition = as_object(document)
    nodes = [
        {"id": each["id"], "typeId": as_text(each.get("typeId"))}
        for each in objects(definition.get("nodes"))
        if isinstance(each.get("id"), str)
    ]
    edges = [
        {"id": "", "sourceNodeId": source, "targetNodeId": target}
        for each in objects(definition.get("edges"))
        if isinstance(source := each.get("sourceNodeId"), str) and isinstance(target := each.get("targetNodeId"), str)
    ]
    return lay_out({"nodes": nodes, "edges": edges})


class _DominatorTree:
    """The dominator tree of the nodes, by number, with skip pointers for fast ancestor lookups."""

    def __init__(self, layout: WorkflowLayout) -> None:
        count = len(layout.order) + 1
        number = {node_id: at for at, node_id in enumerate(layout.order, 1)}
        predecessors: list[list[int]] = [[] for _ in range(count)]
        for line in layout.forward:
            predecessors[number[line.target]].append(number[line.source])
        self._parent = [_ROOT] * count
        self._depth = [0] * count
        # Skip pointers: finding an ancestor takes logarithmic time, also in a chain of thousands of nodes.
        self._jump = [_ROOT] * count
        self._children: list[list[int]] = [[] for _ in range(count)]
        for each in range(1, count):
            self._add_node(each, predecessors[each])
        self._siblings_reached: list[list[int]] = [[] for _ in range(count)]
        """The siblings to which an edge leads from the node or from one of its descendants."""
        self._join_nodes: set[int] = set()
        for each in range(1, count):
            parent = self._parent[each]
            for source in predecessors[each]:
                if source != parent:
                    self._siblings_reached[self._ancestor_at(source, self._depth[each])].append(each)
                    self._join_nodes.add(each)
        self._in_loop = self._loop_bodies([(number[line.source], number[line.target]) for line in layout.back])

    def below(self, number: int) -> tuple[list[int], int | None]:
        """The branches that start below a node, and the node that continues at its level after them, if any."""
        children = self._children[number]
        body = [each for each in children if each in self._in_loop]
        rest = [each for each in children if each not in self._in_loop]
        if not rest:
            body, rest = [], children
        continuation = self._join_node(rest)
        return [*body, *(each for each in rest if each != continuation)], continuation

    def _join_node(self, children: list[int]) -> int | None:
        """The child at which all branches join that do not end before; None if there is no such node."""
        if len(children) == 1:
            return children[0]
        joins = [each for each in children if each in self._join_nodes]
        return joins[-1] if joins and all(self._siblings_reached[each] for each in joins[:-1]) else None

    def _add_node(self, number: int, predecessors: list[int]) -> None:
        parent = predecessors[0] if predecessors else _ROOT
        for other in predecessors[1:]:
            parent = self._common_ancestor(parent, other)
        self._parent[number] = parent
        self._depth[number] = self._depth[parent] + 1
        self._children[parent].append(number)
        skip = self._jump[parent]
        is_balanced = self._depth[parent] - self._depth[skip] == self._depth[skip] - self._depth[self._jump[skip]]
        self._jump[number] = self._jump[skip] if is_balanced else parent

    def _ancestor_at(self, number: int, depth: int) -> int:
        """The ancestor at this depth."""
        while self._depth[number] > depth:
            skip = self._jump[number]
            number = skip if self._depth[skip] >= depth else self._parent[number]
        return number

    def _common_ancestor(self, one: int, other: int) -> int:
        """The nearest common ancestor. The skip pointers of nodes at the same depth reach the same depth."""
        depth = min(self._depth[one], self._depth[other])
        one, other = self._ancestor_at(one, depth), self._ancestor_at(other, depth)
        while one != other:
            up = self._parent if self._jump[one] == self._jump[other] else self._jump
            one, other = up[one], up[other]
        return one

    def _loop_bodies(self, back: list[tuple[int, int]]) -> set[int]:
        """The nodes from which a path leads back to the node above them."""
        bodies: set[int] = set()
        for source, target in back:
            depth = self._depth[target]
            if source != target and self._ancestor_at(source, depth) == target:
                bodies.add(self._ancestor_at(source, depth + 1))
        for each in range(len(self._parent) - 1, _ROOT, -1):
            if not bodies.isdisjoint(self._siblings_reached[each]):
                bodies.add(each)
        return bodies
