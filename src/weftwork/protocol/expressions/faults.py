"""Faults of expressions, in words of our own.

The words of the package underneath can hold values of a run, and those can be secret. So its words are only ever
recognised, never passed on; what is named of an expression stood in its source.
"""

import re
from collections.abc import Set
from functools import partial
from typing import Final

INVALID: Final = "expression_invalid"
FAILED: Final = "expression_failed"
LIMIT: Final = "expression_limit"

_PLACE = re.compile(r"<input>:(\d+):(\d+): ([^\n]*)")
_TOO_DEEP = re.compile(r"recursion (?:limit|depth)")
_UNDECLARED = re.compile(r"undeclared reference to '([\w.]{1,80})'")
_OVERLOAD = re.compile(r"(?:overload for '(\S+)' applied to '\((.*)\)'|overloads found : (\S+)\((.*)\))$")
_MEMBER_OVERLOAD = re.compile(r"overloads found : \((\w+)\)\.(\w+)\(([\w, ]*)\)$")
_KEY = re.compile(r'Key not found in map : "(.*)"$', re.DOTALL)
_TYPES = re.compile(r"[a-z0-9_ ,.()]*")
_NUMBERS: Final = frozenset({"int", "uint", "double"})
_NUMBER_HINT: Final = "the numbers of a run are doubles, so write 1.0 and not 1, or use double(...) or int(...)"

# fmt: off
_KNOWN_FAILURES: Final = (
    ("No value with name", "A name has no value here."),
    ("Key not found", "A computed key is not in its object."),
    ("Applying SELECT", "A member is read from something that is not an object."),
    ("Index error: index=", "An index is outside its list."),
    ("Index error", "An index into a list is not a whole number."),
    ("Invalid container type", "Something that is neither a list nor an object is indexed."),
    ("<jump_condition>", "What stands before `?` is neither true nor false."),
    ("overloads found : !_", "What stands behind `!` is neither true nor false."),
    ("overloads found : _&&_", "A side of `&&` is neither true nor false."),
    ("overloads found : _||_", "A side of `||` is neither true nor false."),
    ("by zero", "A division by zero."),
    ("overflow", "A whole number grows beyond 64 bits."),
    ("out of", "A number does not fit where it is converted to."),
    ("cannot convert", "A value cannot be converted."),
    ("conversion", "A value cannot be converted."),
    ("duplicate key", "An object is built with the same key twice."),
    ("Invalid map key", "An object is built with a key that is not text."),
    ("regular expression", "A pattern cannot be used."),
)
# fmt: on


class ExpressionFault(Exception):
    """An expression that cannot be used, or that has no value in this scope. `message` never holds a value."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


expression_invalid: Final = partial(ExpressionFault, INVALID)
"""The source is no expression that this host takes."""
expression_failed: Final = partial(ExpressionFault, FAILED)
"""The expression has no value here."""
expression_limit: Final = partial(ExpressionFault, LIMIT)
"""The expression, what it sees or what it gives is too large."""


def compile_fault(said: str, names: tuple[str, ...]) -> ExpressionFault:
    if _TOO_DEEP.search(said):
        return expression_limit("The expression is nested deeper than 32 levels.")
    place = _PLACE.search(said)
    if place is None:
        return expression_invalid("The expression is not valid.")
    where, problem = f"line {place[1]}, column {place[2]}", place[3]
    if unknown := _UNDECLARED.search(problem):
        listed = ", ".join(names)
        return expression_invalid(f"There is no name or function `{unknown[1]}` at {where}; the names are {listed}.")
    if "overload" in problem:
        return expression_invalid(
            f"At {where}: {_mismatch(problem.partition(' (')[0]) or 'an operator cannot take its values'}."
        )
    if "Syntax error" in problem:
        return expression_invalid(f"There is a syntax error at {where}.")
    return expression_invalid(f"The expression is not valid at {where}.")


def evaluation_fault(said: str, members: Set[str]) -> ExpressionFault:
    """expr-10 (host): why an evaluation ended without a value. `members`: the keys that stand in the source."""
    if "budget" in said:
        return expression_limit("The expression goes over more than 9,999 items in all.")
    if (key := _KEY.search(said)) and key[1] in members:
        return expression_failed(f"There is no member `{key[1]}`.")
    if mismatch := _mismatch(said):
        return expression_failed(f"{mismatch[0].upper()}{mismatch[1:]}.")
    return expression_failed(
        next((words for mark, words in _KNOWN_FAILURES if mark in said), "The expression has no value here.")
    )


def _mismatch(said: str) -> str | None:
    """An operator or function with the kinds of values it cannot take."""
    if member := _MEMBER_OVERLOAD.search(said):
        name, types = member[2], f"{member[1]}, {member[3]}".removesuffix(", ")
    elif found := _OVERLOAD.search(said):
        name, types = found[1] or found[3], found[2] or found[4] or ""
    else:
        return None
    name = name.replace("@", "").strip("_").replace("_", " ")
    types = types.replace("int64", "int").replace("null_type", "null")
    if name == "[" or not re.fullmatch(r"[\w<>=!&|?: +*/%-]{1,80}", name) or not _TYPES.fullmatch(types):
        return None
    kinds = set(types.split(", "))
    if name == "%":
        return f"`%` takes whole numbers, not {types}; use int(...)"
    text = f"`{name}` cannot take ({types})"
    return f"{text}; {_NUMBER_HINT}" if len(kinds & _NUMBERS) > 1 else text
