"""Finds regular expressions and hand-written scanners in the source, by its syntax.

A regular expression is every call of a function of `re` that takes a pattern. Its name is the module and the constant
that it is assigned to, or the function that it is in; a second one of the same name gets `#2`.

A scanner is a function that goes through a text step by step. What is a text is derived from annotations (`str`,
`bytes`, `bytearray`, `memoryview`), from literals and f-strings, and from operations that return text: slices, `+`,
and methods such as `strip`. A function is a scanner if one of these is true:

- It passes a position to a search: `find(x, at)`, `startswith(x, at)`, `match(text, at)` and the like.
- A `while` loop of it calls a search or a trimming method, as in `while text.startswith(x)`.
- A loop takes an index or a slice of a text, or counts through the length of a text.
- A loop or comprehension iterates over a text, or over its parts or matches, as from `split` and `finditer`.
- A loop searches, splits, replaces or decodes a text that was made outside the loop, also with `in`.
- A loop extends or rebuilds a text that was made outside the loop, as in `text = text.replace(x, y)`.
- A method extends a text of its object, because each call is a step.

The heuristic prefers too many findings to too few: a function that goes through something else, or through a text of
the host itself, is listed with a reason instead of inputs.
"""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TypeGuard

SOURCE = Path(__file__).parents[3] / "src" / "weftwork"
LEFT_OUT = ("testing/",)
"""The kit for the tests of node authors. It reads no text of others."""

PATTERN_CALLS = frozenset("compile match search fullmatch split findall finditer sub subn".split())
UNANCHORED = frozenset("search split findall finditer sub subn".split())
SEARCHES = frozenset(
    "find rfind index rindex startswith endswith match fullmatch search count finditer findall".split()
)
DIVISIONS = frozenset("finditer findall split rsplit splitlines".split())
TRIMS = frozenset(
    "lstrip partition removeprefix removesuffix replace rpartition rsplit rstrip split splitlines strip "
    "translate".split()
)
REPEATED = SEARCHES | TRIMS | {"sub", "subn", "finditer", "findall", "encode", "decode"}
TEXT_TYPES = frozenset({"str", "bytes", "bytearray", "memoryview"})
TEXT_RESULTS = frozenset(
    "casefold decode encode format hex join lower lstrip read_bytes read_text removeprefix removesuffix replace rstrip "
    "strip sub translate upper".split()
)
PASSING = frozenset("enumerate filter iter map reversed set sorted zip".split())
"""Functions whose result goes through their argument."""

Function = ast.FunctionDef | ast.AsyncFunctionDef
Loop = ast.While | ast.For | ast.AsyncFor | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


@dataclass(frozen=True)
class PatternSite:
    name: str
    """Module, then the constant or function, such as `protocol/ids.py:_TENANT`."""
    call: ast.Call = field(compare=False)
    constant: str
    """The name of the constant; empty for a call inside a function."""


@cache
def modules(root: Path = SOURCE) -> dict[str, ast.Module]:
    """The syntax of every module in scope, by its path."""
    paths = [(path.relative_to(root).as_posix(), path) for path in sorted(root.rglob("*.py"))]
    return {name: ast.parse(path.read_text("utf-8")) for name, path in paths if not name.startswith(LEFT_OUT)}


def pattern_sites(name: str, tree: ast.Module) -> list[PatternSite]:
    modules_named_re = {alias.asname or "re" for alias in _aliases(tree, "re")}
    functions = {alias.asname or alias.name for alias in _aliases_from(tree, "re") if alias.name in PATTERN_CALLS}
    if not modules_named_re and not functions:
        return []
    found: list[PatternSite] = []
    seen: Counter[str] = Counter()
    for owner, constant, node in _owned(tree):
        if isinstance(node, ast.Call) and _is_pattern_call(node.func, modules_named_re, functions):
            seen[owner] += 1
            number = f"#{seen[owner]}" if seen[owner] > 1 else ""
            found.append(PatternSite(f"{name}:{owner}{number}", node, constant))
    return found


def _aliases(tree: ast.AST, module: str) -> list[ast.alias]:
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import)]
    return [alias for node in imports for alias in node.names if alias.name == module]


def _aliases_from(tree: ast.AST, module: str) -> list[ast.alias]:
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module == module]
    return [alias for node in imports for alias in node.names]


def _is_pattern_call(called: ast.expr, modules_named_re: set[str], functions: set[str]) -> bool:
    if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
        return called.value.id in modules_named_re and called.attr in PATTERN_CALLS
    return isinstance(called, ast.Name) and called.id in functions


def _owned(tree: ast.Module) -> Iterator[tuple[str, str, ast.AST]]:
    """Every node with the name of its owner, and with the name of its constant if it is outside functions."""

    def visit(node: ast.AST, path: list[str], constant: str, inside: bool) -> Iterator[tuple[str, str, ast.AST]]:
        for child in ast.iter_child_nodes(node):
            below, name, within = path, constant, inside
            if isinstance(child, Function | ast.ClassDef):
                below, within = [*path, child.name], inside or isinstance(child, Function)
            elif isinstance(child, ast.Assign | ast.AnnAssign) and not inside:
                target = child.targets[0] if isinstance(child, ast.Assign) else child.target
                name = ast.unparse(target)
            yield ".".join([*below, name] if name else below), name, child
            yield from visit(child, below, name, within)

    yield from visit(tree, [], "", False)


def pattern_uses(trees: dict[str, ast.Module]) -> dict[str, set[str]]:
    """For each constant with a pattern, the methods that are taken from it anywhere: `match`, `fullmatch`, `search`."""
    own = {name: {site.constant for site in pattern_sites(name, tree)} - {""} for name, tree in trees.items()}
    constants = {constant: f"{name}:{constant}" for name, found in own.items() for constant in found}
    uses: dict[str, set[str]] = {}
    for name, tree in trees.items():
        nodes = list(ast.walk(tree))
        imports = [node for node in nodes if isinstance(node, ast.ImportFrom)]
        known = {
            alias.name: constants[alias.name] for node in imports for alias in node.names if alias.name in constants
        }
        known |= {constant: f"{name}:{constant}" for constant in own[name]}
        for node in nodes if known else ():
            match node:
                case ast.Attribute(value=ast.Name(id=constant), attr=method) if constant in known:
                    uses.setdefault(known[constant], set()).update({method} & PATTERN_CALLS)
                case _:
                    pass
    return {name: {"search" if each in UNANCHORED else each for each in used} for name, used in uses.items()}


def scanners(name: str, tree: ast.Module) -> dict[str, list[str]]:
    """The scanners of a module, each with the reasons why it is one."""
    found: dict[str, list[str]] = {}

    def visit(node: ast.AST, path: list[str], attributes: frozenset[str]) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef):
                visit(child, [*path, child.name], _text_attributes(child))
            elif isinstance(child, Function):
                if reasons := _FunctionScan(child, attributes).reasons():
                    found[f"{name}:{'.'.join([*path, child.name])}"] = reasons
            else:
                visit(child, path, attributes)

    visit(tree, [], frozenset())
    return found


def _text_attributes(node: ast.ClassDef) -> frozenset[str]:
    fields = {
        f"self.{each.target.id}"
        for each in node.body
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name) and _is_text_type(each.annotation)
    }
    for each in node.body:
        if isinstance(each, Function) and each.name == "__init__":
            fields |= {name for name in _text_names(each, frozenset()) if name.startswith("self.")}
    return frozenset(fields)


def _is_text_type(annotation: ast.expr | None) -> bool:
    if isinstance(annotation, ast.BinOp):
        return _is_text_type(annotation.left) or _is_text_type(annotation.right)
    return isinstance(annotation, ast.Name) and annotation.id in TEXT_TYPES


def _text_names(function: Function, attributes: frozenset[str]) -> frozenset[str]:
    """The names in a function that hold a text."""
    every = function.args
    given = [*every.posonlyargs, *every.args, *every.kwonlyargs]
    names = {each.arg for each in given if _is_text_type(each.annotation)} | attributes
    while True:
        before = len(names)
        for node in ast.walk(function):
            names |= {name for name, value in _assignments(node) if _is_text(value, names)}
            if isinstance(node, ast.AnnAssign) and _is_text_type(node.annotation):
                names.add(ast.unparse(node.target))
        if len(names) == before:
            return frozenset(names)


def _assignments(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(node, ast.NamedExpr):
        yield node.target.id, node.value
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        yield ast.unparse(node.target), node.value
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            parts, values = [target], [node.value]
            if isinstance(target, ast.Tuple):
                parts = target.elts
                values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value] * len(parts)
            for part, value in zip(parts, values, strict=False):
                yield ast.unparse(part.value if isinstance(part, ast.Starred) else part), value


def _is_text(value: ast.expr, names: Iterable[str]) -> bool:
    match value:
        case ast.JoinedStr() | ast.Constant(value=str() | bytes()):
            return True
        case ast.Name() | ast.Attribute():
            return ast.unparse(value) in names
        case ast.Call(func=ast.Attribute(value=owner, attr=method)):
            return method in TEXT_RESULTS and ast.unparse(owner) != "msgspec.structs"
        case ast.Call(func=ast.Name(id=called)):
            return called in TEXT_TYPES
        case ast.Subscript(slice=ast.Slice()):
            return _is_text(value.value, names)
        case ast.BinOp(op=ast.Add() | ast.Mod()):
            return _is_text(value.left, names) or _is_text(value.right, names)
        case ast.IfExp():
            return _is_text(value.body, names) or _is_text(value.orelse, names)
        case _:
            return False


class _FunctionScan:
    def __init__(self, function: Function, attributes: frozenset[str]) -> None:
        self._function = function
        self._names = _text_names(function, attributes)
        assigned = [pair for node in ast.walk(function) for pair in _assignments(node)]
        self._divided = {name for name, value in assigned if _is_division(value)}

    def reasons(self) -> list[str]:
        found = [
            f"searches from a position: {ast.unparse(node)}"
            for node in ast.walk(self._function)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
            if node.func.attr in SEARCHES and len(node.args) >= 2
            if self._is_searched(node.func)
        ]
        for node in ast.walk(self._function):
            if isinstance(node, ast.AugAssign | ast.Assign) and (reason := self._grown(node)):
                found.append(f"{reason}: {ast.unparse(node)}")
            if isinstance(node, Loop):
                found += self._in_loop(node)
        return list(dict.fromkeys(found))

    def _is_searched(self, method: ast.Attribute) -> bool:
        """Whether the object of a search is a text or a pattern, and not a store or the module `re`."""
        if method.attr in ("match", "fullmatch", "search", "finditer", "findall"):
            return not (isinstance(method.value, ast.Name) and method.value.id == "re")
        return self._is_variable_text(method.value)

    def _in_loop(self, loop: Loop) -> Iterator[str]:
        inner, iterated, bound = _parts(loop)
        for each in iterated:
            if self._goes_through(each):
                yield f"goes through a text: {ast.unparse(each)}"
        for part in inner:
            for node in ast.walk(part):
                if reason := self._reason(node, bound, isinstance(loop, ast.While)):
                    yield f"{reason}: {ast.unparse(node)}"

    def _goes_through(self, iterated: ast.expr) -> bool:
        if _is_division(iterated) or (isinstance(iterated, ast.Name) and iterated.id in self._divided):
            return True
        while isinstance(iterated, ast.Call) and isinstance(iterated.func, ast.Name) and iterated.func.id in PASSING:
            iterated = iterated.args[-1 if iterated.func.id in ("map", "filter") else 0]
        if isinstance(iterated, ast.Call) and ast.unparse(iterated.func) == "range":
            measured = [each.args[0] for each in ast.walk(iterated) if _is_length(each)]
            return any(self._is_variable_text(each) for each in measured)
        return self._is_variable_text(iterated)

    def _is_variable_text(self, value: ast.expr) -> bool:
        return not isinstance(value, ast.Constant) and _is_text(value, self._names)

    def _is_outer(self, value: ast.expr, bound: set[str]) -> bool:
        """Whether the value is a text that was made outside the loop that binds these names."""
        used = {each.id for each in ast.walk(value) if isinstance(each, ast.Name)}
        return self._is_variable_text(value) and not used & bound

    def _reason(self, node: ast.AST, bound: set[str], is_while: bool) -> str:
        match node:
            case ast.Call(func=ast.Attribute(value=owner, attr=method)):
                if is_while and method in SEARCHES | TRIMS:
                    return "searches or trims in a while loop"
                if method in REPEATED and any(self._is_outer(each, bound) for each in (owner, *node.args)):
                    return "processes the same text in each step"
            case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[searched]) if self._is_outer(searched, bound):
                return "searches the same text in each step"
            case ast.Subscript(ctx=ast.Load()) if not isinstance(node.slice, ast.Constant):
                return "takes a part in each step" if self._is_variable_text(node.value) else ""
            case ast.AugAssign() | ast.Assign():
                return self._rebuilt(node)
            case _:
                pass
        return ""

    def _grown(self, node: ast.AugAssign | ast.Assign) -> str:
        """Why the statement makes a method a step of a scanner."""
        target = node.target if isinstance(node, ast.AugAssign) else node.targets[0]
        return self._rebuilt(node) if isinstance(target, ast.Attribute) else ""

    def _rebuilt(self, node: ast.AugAssign | ast.Assign) -> str:
        match node:
            case ast.AugAssign(op=ast.Add()):
                return "extends a text" if _is_text(node.target, self._names) else ""
            case ast.Assign(targets=[ast.Name() | ast.Attribute() as target]) if _is_text(node.value, self._names):
                same = ast.unparse(target)
                parts = [each for each in ast.walk(node.value) if isinstance(each, ast.Name | ast.Attribute)]
                return "rebuilds a text" if same in map(ast.unparse, parts) else ""
            case _:
                return ""


def _is_division(node: ast.AST) -> bool:
    """Whether it is the parts or matches of a text that is no constant."""
    while isinstance(node, ast.IfExp | ast.Subscript):
        node = node.body if isinstance(node, ast.IfExp) else node.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in PASSING:
        return any(map(_is_division, node.args))
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr not in DIVISIONS:
        return False
    return not isinstance(node.func.value, ast.Constant)


def _is_length(node: ast.AST) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "len"


def _parts(loop: Loop) -> tuple[list[ast.AST], list[ast.expr], set[str]]:
    """What is executed in each step, what is iterated over, and the names that are bound in each step."""
    match loop:
        case ast.While():
            return [loop.test, *loop.body], [], set()
        case ast.For() | ast.AsyncFor():
            inner, iterated, targets = [*loop.body], [loop.iter], [loop.target]
        case _:
            made = [loop.key, loop.value] if isinstance(loop, ast.DictComp) else [loop.elt]
            inner = [*made, *(test for each in loop.generators for test in each.ifs)]
            iterated = [each.iter for each in loop.generators]
            targets = [each.target for each in loop.generators]
    bound = {name.id for each in targets for name in ast.walk(each) if isinstance(name, ast.Name)}
    return list(inner), iterated, bound
