"""Loops: which edges lead back, what lies inside a loop, and which edges leave it.

Theory. A back-edge leads to a node from which its source can be reached without it; without back-edges the graph has
no cycle. All back-edges to one node make one loop. The body of the loop is everything between that node and the sources
of the back-edges, including the loops on the way. A round is over when the whole body is settled: then either a
back-edge fires and the body starts again, or the loop has ended. Edges that leave the body are settled when the loop
has ended and not before, so nothing outside sees a value of a round that happened to be fast. Source: readings (Loops).
"""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from weftwork.protocol.workflow.definition import Edge

MAX_LOOPS: Final = 64
"""Loops of one workflow: what each costs grows with the others."""


class Loop(msgspec.Struct, frozen=True):
    """One loop: where it begins again, the edges that lead back there, and the nodes that a round resets."""

    target: str
    back_edges: tuple[Edge, ...]
    body: frozenset[str]


def find_back_edges(node_ids: Sequence[str], edges: Sequence[Edge]) -> set[str]:
    """wf-15 (readings, Loops): ids of the edges that lead back, found depth first in document order.

    The search starts from the nodes without incoming edges, then from whatever it has not reached.
    """
    outgoing: dict[str, list[Edge]] = {node_id: [] for node_id in node_ids}
    for edge in edges:
        outgoing[edge.source].append(edge)
    targets = {edge.target for edge in edges}
    starts = [node_id for node_id in node_ids if node_id not in targets]
    found: set[str] = set()
    done: set[str] = set()
    for start in (*starts, *node_ids):
        if start not in done:
            _search(start, outgoing, done, found)
    return found


def _search(start: str, outgoing: Mapping[str, list[Edge]], done: set[str], found: set[str]) -> None:
    path = {start}
    stack = [(start, iter(outgoing[start]))]
    while stack:
        node_id, rest = stack[-1]
        edge = next(rest, None)
        if edge is None:
            stack.pop()
            path.discard(node_id)
            done.add(node_id)
        elif edge.target in path:
            found.add(edge.id)
        elif edge.target not in done:
            path.add(edge.target)
            stack.append((edge.target, iter(outgoing[edge.target])))


def find_loops(
    back: Sequence[Edge], forward: Sequence[Edge], index: Mapping[str, int], above: Sequence[int]
) -> tuple[Loop, ...]:
    """The loops, inner ones first. `index` numbers the nodes; `above[i]` has a bit for each node above node i."""
    if not back:
        return ()
    before: dict[str, list[str]] = {node_id: [] for node_id in index}
    for edge in (*forward, *back):
        before[edge.target].append(edge.source)
    grouped: dict[str, list[Edge]] = {}
    for edge in back:
        grouped.setdefault(edge.target, []).append(edge)
    loops = [
        Loop(target, tuple(several), _body(target, several, before, index, above))
        for target, several in grouped.items()
    ]
    return tuple(sorted(loops, key=lambda loop: (len(loop.body), index[loop.target])))


def _body(
    target: str,
    back: Sequence[Edge],
    before: Mapping[str, list[str]],
    index: Mapping[str, int],
    above: Sequence[int],
) -> frozenset[str]:
    """Whatever comes after the target and leads to a source of the loop without passing the target again."""
    body = {target}
    rest = [edge.source for edge in back]
    while rest:
        node_id = rest.pop()
        if node_id not in body and above[index[node_id]] >> index[target] & 1:
            body.add(node_id)
            rest += before[node_id]
    return frozenset(body)


def loops_left_by(loops: Sequence[Loop], edge: Edge) -> tuple[int, ...]:
    """wf-16 (readings, Loops): the loops that a forward edge leaves."""
    return tuple(i for i, loop in enumerate(loops) if edge.source in loop.body and edge.target not in loop.body)
