"""What an expression reads, found in its tree: the members it names, so that nothing else needs to be handed to it."""

from collections.abc import Iterator

import msgspec

from weftwork.protocol.expressions.faults import expression_invalid
from weftwork.protocol.expressions.syntax_tree import Comprehension, Identifier, Member, Tree, children

ReadTree = dict[str, "ReadTree"]
"""Members by name, as deep as the source names them; an empty one is read whole."""


class References(msgspec.Struct, frozen=True):
    """The members of `inputs` and `variables` that are read, None for any of them, and the nodes."""

    inputs: frozenset[str] | None = frozenset()
    variables: frozenset[str] | None = frozenset()
    nodes: frozenset[str] = frozenset()

    def union(self, other: "References") -> "References":
        """What the two read together."""
        inputs = None if self.inputs is None or other.inputs is None else self.inputs | other.inputs
        variables = None if self.variables is None or other.variables is None else self.variables | other.variables
        return References(inputs, variables, self.nodes | other.nodes)


def find_reads(tree: Tree, names: tuple[str, ...], within: bool = False) -> ReadTree:
    """The parts of each name that the expression reads; `within`: only what it reads for every item of a walk."""
    reads: ReadTree = {}
    for path, walked in _paths(tree, names, frozenset(), False):
        if walked or not within:
            _add(reads, path)
    return reads


def references_from(reads: ReadTree) -> References:
    """expr-03 (host): which values an expression depends on is known before it runs; a node is named literally."""
    nodes = reads.get("nodes")
    if nodes == {}:
        raise expression_invalid('A node must be named: `nodes.id.outputs.port` or `nodes["id"].outputs.port`.')
    wrong = next(
        (f"{name}.{member}" for name, below in (nodes or {}).items() for member in below if member != "outputs"), None
    )
    if wrong is not None:
        raise expression_invalid(
            f"There is no `nodes.{wrong}`: of a node only its outputs can be read, `nodes.id.outputs.port`."
        )
    return References(_members_read(reads, "inputs"), _members_read(reads, "variables"), frozenset(nodes or ()))


def member_names(tree: Tree) -> Iterator[str]:
    """The keys that stand in the source."""
    if isinstance(tree, Member):
        yield tree.name
    for child in children(tree):
        yield from member_names(child)


def _members_read(reads: ReadTree, name: str) -> frozenset[str] | None:
    below = reads.get(name)
    return None if below == {} else frozenset(below or ())


def _paths(
    tree: Tree, names: tuple[str, ...], hidden: frozenset[str], walked: bool
) -> Iterator[tuple[tuple[str, ...], bool]]:
    """Every chain of literal members on a name, and whether a walk reads it for every item."""
    path = _path(tree, names, hidden)
    if path is not None:
        yield path, walked
    elif isinstance(tree, Comprehension):
        yield from _paths(tree.source, names, hidden, walked)
        for step in tree.steps:
            yield from _paths(step, names, hidden | {tree.variable}, True)
    else:
        for child in children(tree):
            yield from _paths(child, names, hidden, walked)


def _path(tree: Tree, names: tuple[str, ...], hidden: frozenset[str]) -> tuple[str, ...] | None:
    members: list[str] = []
    while isinstance(tree, Member):
        members.append(tree.name)
        tree = tree.operand
    if not isinstance(tree, Identifier) or tree.name in hidden:
        return None
    root = tree.name.removeprefix(".")
    return (root, *reversed(members)) if root in names else None


def _add(reads: ReadTree, path: tuple[str, ...]) -> None:
    *above, last = path
    for step in above:
        if reads.get(step) == {}:
            return
        reads = reads.setdefault(step, {})
    reads[last] = {}
