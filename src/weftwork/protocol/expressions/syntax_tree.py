"""The syntax tree of a compiled expression, decoded from its published encoding (cel.expr.CheckedExpr, a protobuf).

CEL evaluates this tree, so strings, comments, escapes and shadowed names cannot mislead an analysis of it. Macros are
expanded: each map, filter, all, exists and exists_one is a comprehension over the items of a source. The tree also
shows which members an expression reads, so that the host passes only these to it.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from weftwork.protocol.expressions.faults import expression_invalid

INDEX: Final = "_[_]"
TERNARY: Final = "_?_:_"
PLUS: Final = "_+_"


class Constant(msgspec.Struct, frozen=True):
    """A literal. Only a string has a `text`."""

    text: str | None
    size: int
    is_null: bool = False


class Identifier(msgspec.Struct, frozen=True):
    """A variable or a type. A name with a leading dot is not shadowed by loop variables."""

    name: str


class Member(msgspec.Struct, frozen=True):
    """`operand.name`, `operand["name"]` or `has(operand.name)`."""

    operand: "Tree"
    name: str


class FunctionCall(msgspec.Struct, frozen=True):
    """An operator or a function. The receiver of a method is the first argument."""

    function: str
    arguments: "tuple[Tree, ...]"


class Construction(msgspec.Struct, frozen=True):
    """A list or object literal, or a protobuf message if `message_type` is not empty."""

    items: "tuple[Tree, ...]"
    message_type: str


class Comprehension(msgspec.Struct, frozen=True):
    """An iteration over the items of `source`. `builds_list`: the result is a list (map, filter), else a boolean."""

    variable: str
    accumulator: str
    source: "Tree"
    steps: "tuple[Tree, ...]"
    builds_list: bool
    encoded_source: bytes


Tree = Constant | Identifier | Member | FunctionCall | Construction | Comprehension


def read_tree(encoded: bytes) -> Tree:
    return _tree(_first_field(_first_field(encoded, 2), 4))


def children(tree: Tree) -> "tuple[Tree, ...]":
    if isinstance(tree, Member):
        return (tree.operand,)
    if isinstance(tree, FunctionCall):
        return tree.arguments
    if isinstance(tree, Construction):
        return tree.items
    return (tree.source, *tree.steps) if isinstance(tree, Comprehension) else ()


def as_standalone(tree: bytes) -> bytes:
    """A serialised subtree as a complete serialised expression."""
    return _encode_field(1, b"type.googleapis.com/cel.expr.CheckedExpr") + _encode_field(2, _encode_field(4, tree))


def _tree(encoded: bytes) -> Tree:
    for number, body in _fields(encoded):
        if number in _KINDS:
            return _KINDS[number](body)
    raise ValueError("the serialised expression has a node of unknown kind")


def _constant(body: bytes) -> Tree:
    for number, value in _fields(body):
        if number == 6:
            return Constant(value.decode(), len(value))
        if number == 7:
            return Constant(None, len(value))
        if number == 1:
            return Constant(None, 0, is_null=True)
    return Constant(None, 0)


def _call(body: bytes) -> Tree:
    function = _first_field(body, 2).decode()
    arguments = tuple(_tree(value) for number, value in _fields(body) if number in (1, 3))
    if function == INDEX and isinstance(key := arguments[1], Constant) and key.text is not None:
        return Member(arguments[0], key.text)
    return FunctionCall(function, arguments)


def _object(body: bytes) -> Tree:
    entries = [value for number, value in _fields(body) if number == 2]
    items = [_tree(value) for entry in entries for number, value in _fields(entry) if number in (3, 4)]
    return Construction(tuple(items), _first_field(body, 1).decode())


def _comprehension(body: bytes) -> Tree:
    source = _first_field(body, 2)
    steps = tuple(_tree(_first_field(body, number)) for number in (5, 6))
    builds = isinstance(_tree(_first_field(body, 4)), Construction)
    return Comprehension(
        _first_field(body, 1).decode(), _first_field(body, 3).decode(), _tree(source), steps, builds, source
    )


_KINDS: Final[dict[int, Callable[[bytes], Tree]]] = {
    3: _constant,
    4: lambda body: Identifier(_first_field(body, 1).decode()),
    5: lambda body: Member(_tree(_first_field(body, 1)), _first_field(body, 2).decode()),
    6: _call,
    7: lambda body: Construction(tuple(_tree(value) for number, value in _fields(body) if number == 1), ""),
    8: _object,
    9: _comprehension,
}


def _first_field(encoded: bytes, field_number: int) -> bytes:
    return next((value for number, value in _fields(encoded) if number == field_number), b"")


def _fields(encoded: bytes) -> Iterator[tuple[int, Any]]:
    """Number and value of each field of a protobuf message. Values are bytes, or integers for varints."""
    at = 0
    while at < len(encoded):
        key, at = _varint(encoded, at)
        if key & 7 == 0:
            value, at = _varint(encoded, at)
            yield key >> 3, value
            continue
        size, at = _varint(encoded, at) if key & 7 == 2 else (8 if key & 7 == 1 else 4, at)
        yield key >> 3, encoded[at : at + size]
        at += size


def _varint(encoded: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = encoded[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def _encode_field(number: int, value: bytes) -> bytes:
    size, length = len(value), bytearray()
    while size > 127:
        length.append(size & 127 | 128)
        size >>= 7
    return bytes([number << 3 | 2, *length, size]) + value


ReadTree = dict[str, "ReadTree"]
"""The members that an expression reads, nested as in its source. An empty dict means that the whole value is read."""


class References(msgspec.Struct, frozen=True):
    """The inputs, variables and nodes that an expression reads. None means that it may read any of them."""

    inputs: frozenset[str] | None = frozenset()
    variables: frozenset[str] | None = frozenset()
    nodes: frozenset[str] = frozenset()

    def union(self, other: "References") -> "References":
        inputs = None if self.inputs is None or other.inputs is None else self.inputs | other.inputs
        variables = None if self.variables is None or other.variables is None else self.variables | other.variables
        return References(inputs, variables, self.nodes | other.nodes)


def find_reads(tree: Tree, names: tuple[str, ...], within: bool = False) -> ReadTree:
    """The members of each name that the expression reads. `within`: only those that it reads for every item of a
    comprehension."""
    reads: ReadTree = {}
    for path, walked in _paths(tree, names, frozenset(), False):
        if walked or not within:
            _add(reads, path)
    return reads


def references_from(reads: ReadTree) -> References:
    """expr-03 (host): the values that an expression depends on, known before it is evaluated.

    Raises ExpressionFault if a node is not named literally.
    """
    nodes = reads.get("nodes")
    if nodes == {}:
        raise expression_invalid('A node must be named: `nodes.id.outputs.port` or `nodes["id"].outputs.port`.')
    unknown = next(
        (f"{name}.{member}" for name, below in (nodes or {}).items() for member in below if member != "outputs"), None
    )
    if unknown is not None:
        raise expression_invalid(
            f"There is no `nodes.{unknown}`: only the outputs of a node can be read, as `nodes.id.outputs.port`."
        )
    return References(members_read(reads, "inputs"), members_read(reads, "variables"), frozenset(nodes or ()))


def member_names(tree: Tree) -> Iterator[str]:
    """The literal member names in the tree."""
    if isinstance(tree, Member):
        yield tree.name
    for child in children(tree):
        yield from member_names(child)


def members_read(reads: ReadTree, name: str) -> frozenset[str] | None:
    """The members of a name that are read; None if the whole value is read."""
    below = reads.get(name)
    return None if below == {} else frozenset(below or ())


def _paths(
    tree: Tree, names: tuple[str, ...], hidden: frozenset[str], walked: bool
) -> Iterator[tuple[tuple[str, ...], bool]]:
    """Every chain of literal members of a name, and whether a comprehension reads it for every item."""
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
