"""Faults of expressions: translates the error texts of the CEL package.

These texts may contain values of a run, which may be secret. They are therefore only matched and never passed on.
Messages contain only names that are in the source of the expression.
"""

import re
from collections.abc import Set
from functools import partial
from typing import Final

INVALID: Final = "expression_invalid"
FAILED: Final = "expression_failed"
LIMIT: Final = "expression_limit"
OUT_OF_MEMORY: Final = (
    "The expression needs more memory than an expression worker has. Read shorter lists, use fewer map and filter "
    "steps, or use the nodes core.flow.map and core.filter."
)
_TOO_MANY_ITERATIONS: Final = "INTERNAL: Iteration budget exceeded"
"""How the error text of the package begins. Other error texts can contain the same words in a value or a name."""

_PLACE = re.compile(r"<input>:(\d+):(\d+): ([^\n]*)")
_TOO_DEEP = re.compile(r"recursion (?:limit|depth)")
_UNDECLARED = re.compile(r"undeclared reference to '([\w.]{1,80})'")
_OVERLOAD = re.compile(
    r"(?:overload for '([^\s']++)' applied to '\(([^\n']*)\)'|overloads found : ([^\s(]++)\(([^\n:]*)\))$"
)
_MEMBER_OVERLOAD = re.compile(r"overloads found : \((\w+)\)\.(\w+)\(([\w, ]*)\)$")
_KEY = 'Key not found in map : "'
_TYPES = re.compile(r"[a-z0-9_ ,.()]*")
_NUMBERS: Final = frozenset({"int", "uint", "double"})
_NUMBER_HINT: Final = "numbers of a run are doubles; write 1.0 instead of 1, or convert with double(...) or int(...)"

# fmt: off
_KNOWN_FAILURES: Final = (
    ("No value with name", "A name in the expression has no value."),
    ("Key not found", "An object does not have the computed key."),
    ("Applying SELECT", "The expression reads a member of a value that is not an object."),
    ("Index error: index=", "A list index is out of range."),
    ("Index error", "A list index is not an integer."),
    ("Invalid container type", "The expression indexes a value that is neither a list nor an object."),
    ("<jump_condition>", "The operand before `?` is not true or false."),
    ("overloads found : !_", "The operand of `!` is not true or false."),
    ("overloads found : _&&_", "An operand of `&&` is not true or false."),
    ("overloads found : _||_", "An operand of `||` is not true or false."),
    ("by zero", "The expression has a division by zero."),
    ("overflow", "An integer exceeds 64 bits."),
    ("out of", "A number is out of range for its conversion."),
    ("cannot convert", "A value cannot be converted."),
    ("conversion", "A value cannot be converted."),
    ("duplicate key", "An object literal has the same key twice."),
    ("Invalid map key", "An object literal has a key that is not a string."),
    ("regular expression", "A pattern is not a valid regular expression."),
)
# fmt: on


class ExpressionFault(Exception):
    """An expression is invalid or its evaluation failed. `message` never contains a value of the run."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


expression_invalid: Final = partial(ExpressionFault, INVALID)
"""The source is not a supported expression."""
expression_failed: Final = partial(ExpressionFault, FAILED)
"""The evaluation failed."""
expression_limit: Final = partial(ExpressionFault, LIMIT)
"""The expression, the values that it reads or its result exceed a limit."""


def compile_fault(error: str, names: tuple[str, ...]) -> ExpressionFault:
    """The fault for an error text of the compiler. `names`: the names that the expression may use."""
    if _TOO_DEEP.search(error):
        return expression_limit("The expression is nested deeper than 32 levels.")
    place = _PLACE.search(error)
    if place is None:
        return expression_invalid("The expression is not valid.")
    where, problem = f"line {place[1]}, column {place[2]}", place[3]
    if unknown := _UNDECLARED.search(problem):
        listed = ", ".join(names)
        return expression_invalid(f"There is no name or function `{unknown[1]}` at {where}; the names are {listed}.")
    if "overload" in problem:
        mismatch = _mismatch(problem.partition(" (")[0]) or "an operator has operands of the wrong types"
        return expression_invalid(f"At {where}: {mismatch}.")
    if "Syntax error" in problem:
        return expression_invalid(f"There is a syntax error at {where}.")
    return expression_invalid(f"The expression is not valid at {where}.")


def evaluation_fault(error: str, members: Set[str]) -> ExpressionFault:
    """expr-10 (host): the fault for an error text of an evaluation. `members`: the keys in the source."""
    if error.startswith(_TOO_MANY_ITERATIONS):
        return expression_limit("The expression iterates over more than 9,999 items in total.")
    key = error.partition(_KEY)[2]
    if key.endswith('"') and key[:-1] in members:
        return expression_failed(f"There is no member `{key[:-1]}`.")
    if mismatch := _mismatch(error):
        return expression_failed(f"{mismatch[0].upper()}{mismatch[1:]}.")
    return expression_failed(
        next(
            (message for mark, message in _KNOWN_FAILURES if mark in error), "The evaluation of the expression failed."
        )
    )


def _mismatch(error: str) -> str | None:
    """A message with the operator or function and the types that it does not accept; None for another error."""
    if member := _MEMBER_OVERLOAD.search(error):
        name, types = member[2], f"{member[1]}, {member[3]}".removesuffix(", ")
    elif found := _OVERLOAD.search(error):
        name, types = found[1] or found[3], found[2] or found[4] or ""
    else:
        return None
    name = name.replace("@", "").strip("_").replace("_", " ")
    types = types.replace("int64", "int").replace("null_type", "null")
    if name == "[" or not re.fullmatch(r"[\w<>=!&|?: +*/%-]{1,80}", name) or not _TYPES.fullmatch(types):
        return None
    kinds = set(types.split(", "))
    if name == "%":
        return f"`%` requires integers, not {types}; convert with int(...)"
    text = f"`{name}` does not accept ({types})"
    return f"{text}; {_NUMBER_HINT}" if len(kinds & _NUMBERS) > 1 else text
