"""The syntax tree of a compiled expression, read from its published encoding (cel.expr.CheckedExpr, a protobuf).

The tree is what is evaluated, so no string, comment, escape or shadowed name can mislead who looks at it. Macros are
expanded in it: map, filter, all, exists and exists_one are each a walk over the items of a source.
"""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

INDEX: Final = "_[_]"
TERNARY: Final = "_?_:_"
PLUS: Final = "_+_"


class Literal(msgspec.Struct, frozen=True):
    """A constant; `text` is None unless it is a string."""

    text: str | None
    size: int
    null: bool = False


class Name(msgspec.Struct, frozen=True):
    """A variable or a type. A leading dot passes by what shadows it."""

    name: str


class Member(msgspec.Struct, frozen=True):
    """`operand.name`, `operand["name"]` or `has(operand.name)`."""

    operand: "Tree"
    name: str


class Call(msgspec.Struct, frozen=True):
    """An operator or a function, a receiver being the first argument."""

    function: str
    arguments: "tuple[Tree, ...]"


class Group(msgspec.Struct, frozen=True):
    """A list or an object that is built from its parts; `message` is a type's name where it is neither."""

    items: "tuple[Tree, ...]"
    message: str


class Each(msgspec.Struct, frozen=True):
    """A walk over the items of `source`. `builds`: it gathers a list (map, filter), else it answers yes or no."""

    variable: str
    gathered: str
    source: "Tree"
    steps: "tuple[Tree, ...]"
    builds: bool
    encoded_source: bytes


Tree = Literal | Name | Member | Call | Group | Each


def read_tree(encoded: bytes) -> Tree:
    """The tree of a serialised expression."""
    return _tree(_one(_one(encoded, 2), 4))


def children(tree: Tree) -> "tuple[Tree, ...]":
    """What stands directly below."""
    if isinstance(tree, Member):
        return (tree.operand,)
    if isinstance(tree, Call):
        return tree.arguments
    if isinstance(tree, Group):
        return tree.items
    return (tree.source, *tree.steps) if isinstance(tree, Each) else ()


def standalone(tree: bytes) -> bytes:
    """A part of a serialised expression as an expression of its own."""
    return _field(1, b"type.googleapis.com/cel.expr.CheckedExpr") + _field(2, _field(4, tree))


def _tree(encoded: bytes) -> Tree:
    for number, body in _fields(encoded):
        if number in _KINDS:
            return _KINDS[number](body)
    raise ValueError("an expression without a kind")


def _literal(body: bytes) -> Tree:
    for number, value in _fields(body):
        if number == 6:
            return Literal(value.decode(), len(value))
        if number == 7:
            return Literal(None, len(value))
        if number == 1:
            return Literal(None, 0, null=True)
    return Literal(None, 0)


def _name(body: bytes) -> Tree:
    return Name(_one(body, 1).decode())


def _member(body: bytes) -> Tree:
    return Member(_tree(_one(body, 1)), _one(body, 2).decode())


def _call(body: bytes) -> Tree:
    function = _one(body, 2).decode()
    arguments = tuple(_tree(value) for number, value in _fields(body) if number in (1, 3))
    if function == INDEX and isinstance(key := arguments[1], Literal) and key.text is not None:
        return Member(arguments[0], key.text)
    return Call(function, arguments)


def _list(body: bytes) -> Tree:
    return Group(tuple(_tree(value) for number, value in _fields(body) if number == 1), "")


def _object(body: bytes) -> Tree:
    entries = [value for number, value in _fields(body) if number == 2]
    items = [_tree(value) for entry in entries for number, value in _fields(entry) if number in (3, 4)]
    return Group(tuple(items), _one(body, 1).decode())


def _each(body: bytes) -> Tree:
    source = _one(body, 2)
    steps = tuple(_tree(_one(body, number)) for number in (5, 6))
    builds = isinstance(_tree(_one(body, 4)), Group)
    return Each(_one(body, 1).decode(), _one(body, 3).decode(), _tree(source), steps, builds, source)


_KINDS: Final = {3: _literal, 4: _name, 5: _member, 6: _call, 7: _list, 8: _object, 9: _each}


def _one(encoded: bytes, wanted: int) -> bytes:
    return next((value for number, value in _fields(encoded) if number == wanted), b"")


def _fields(encoded: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of one message, with their bytes or their number."""
    at = 0
    while at < len(encoded):
        key, at = _number(encoded, at)
        if key & 7 == 0:
            value, at = _number(encoded, at)
            yield key >> 3, value
            continue
        size, at = _number(encoded, at) if key & 7 == 2 else (8 if key & 7 == 1 else 4, at)
        yield key >> 3, encoded[at : at + size]
        at += size


def _number(encoded: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = encoded[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def _field(number: int, value: bytes) -> bytes:
    size, length = len(value), bytearray()
    while size > 127:
        length.append(size & 127 | 128)
        size >>= 7
    return bytes([number << 3 | 2, *length, size]) + value
