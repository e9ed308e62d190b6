"""The syntax tree of a compiled expression, read from its published encoding (cel.expr.CheckedExpr, a protobuf).

The tree is what is evaluated, so no string, comment, escape or shadowed name can mislead who looks at it. Macros are
expanded in it: map, filter, all, exists and exists_one are each a walk over the items of a source. What an expression
reads is found in it: the members it names, so that nothing else needs to be handed to it.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from weftwork.protocol.expressions.faults import expression_invalid

INDEX: Final = "_[_]"
TERNARY: Final = "_?_:_"
PLUS: Final = "_+_"


class Constant(msgspec.Struct, frozen=True):
    """A constant; `text` is None unless it is a string."""

    text: str | None
    size: int
    is_null: bool = False


class Identifier(msgspec.Struct, frozen=True):
    """A variable or a type. A leading dot passes by what shadows it."""

    name: str


class Member(msgspec.Struct, frozen=True):
    """`operand.name`, `operand["name"]` or `has(operand.name)`."""

    operand: "Tree"
    name: str


class FunctionCall(msgspec.Struct, frozen=True):
    """An operator or a function, a receiver being the first argument."""

    function: str
    arguments: "tuple[Tree, ...]"


class Construction(msgspec.Struct, frozen=True):
    """A list or an object that is built from its parts; `message` is a type's name where it is neither."""

    items: "tuple[Tree, ...]"
    message_type: str


class Comprehension(msgspec.Struct, frozen=True):
    """A walk over the items of `source`. `builds`: it gathers a list (map, filter), else it answers yes or no."""

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
    """A part of a serialised expression as an expression of its own."""
    return _encode_field(1, b"type.googleapis.com/cel.expr.CheckedExpr") + _encode_field(2, _encode_field(4, tree))


def _tree(encoded: bytes) -> Tree:
    for number, body in _fields(encoded):
        if number in _KINDS:
            return _KINDS[number](body)
    raise ValueError("an expression without a kind")


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


def _first_field(encoded: bytes, wanted: int) -> bytes:
    return next((value for number, value in _fields(encoded) if number == wanted), b"")


def _fields(encoded: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of one message, with their bytes or their number."""
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
"""Members by name, as deep as the source names them; an empty one is read whole."""


class References(msgspec.Struct, frozen=True):
    """The members of `inputs` and `variables` that are read, None for any of them, and the nodes."""

    inputs: frozenset[str] | None = frozenset()
    variables: frozenset[str] | None = frozenset()
    nodes: frozenset[str] = frozenset()

    def union(self, other: "References") -> "References":
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
    return References(members_read(reads, "inputs"), members_read(reads, "variables"), frozenset(nodes or ()))


def member_names(tree: Tree) -> Iterator[str]:
    """The literal keys."""
    if isinstance(tree, Member):
        yield tree.name
    for child in children(tree):
        yield from member_names(child)


def members_read(reads: ReadTree, name: str) -> frozenset[str] | None:
    """What of a name is read: these members of it, or all if None."""
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
