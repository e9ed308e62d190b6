"""Conversion of values for expressions: JSON numbers become doubles, and integral results become integers again."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from weftwork.protocol.expressions import cel
from weftwork.protocol.expressions.faults import expression_failed, expression_limit
from weftwork.protocol.expressions.syntax_tree import ReadTree
from weftwork.protocol.json.decoder import MAX_DEPTH, MAX_INTEGER
from weftwork.protocol.json.values import is_array, is_object

MAX_LIST: Final = 10_000
MAX_RESULT: Final = 256 * 1024
"""Maximum size of a result in bytes of JSON."""

_MAX_VALUE_DEPTH: Final = MAX_DEPTH + 8
"""Values of a run can be deeper than the decoded documents that they contain."""
_MAX_NUMBER_BYTES: Final = 24
MAX_WEIGHT_AT_ONCE: Final = 500_000
"""Maximum weight, in the units of `cost`, of a result that is converted in one call of the CEL package."""
_KINDS: Final = {"bytearray": "bytes", "datetime": "a timestamp", "timedelta": "a duration"}


ANY_NUMBER: Final = 2**63


class TooManyValues(Exception):
    """A scope reader has reached its limit of values."""


@dataclass(slots=True)
class ScopeReader:
    """Copies the values that an expression reads from a scope and weighs them. expr-02 (host): every number becomes a
    double."""

    max_values: int = ANY_NUMBER
    """The reader raises TooManyValues before it copies more."""
    longest_list: int = 0
    weight: int = 0
    values: int = 0
    has_null: bool = False

    def read(self, scope: Mapping[str, Any], reads: ReadTree) -> dict[str, Any]:
        """expr-04 (host): only the members that are read. Raises ExpressionFault for a list or object with more than
        10,000 items."""
        return {name: self._read_part(scope[name], below) for name, below in reads.items() if name in scope}

    def _read_part(self, value: Any, reads: ReadTree) -> Any:
        if reads and is_object(value):
            self.weight += 1
            return {name: self._read_part(value[name], below) for name, below in reads.items() if name in value}
        self.values += 1
        return self._read_whole(value, 0)

    def _read_whole(self, value: Any, depth: int) -> Any:
        self.weight += 1
        kind = value.__class__
        if kind is str:
            self.weight += len(value) >> 3
            return value
        if kind is float or kind is bool:
            return value
        if kind is int:
            if not -MAX_INTEGER <= value <= MAX_INTEGER:
                raise expression_failed("The expression reads an integer beyond 2^53-1.")
            return float(value)
        if value is None:
            self.has_null = True
            return value
        below = depth + 1
        if is_array(value):
            self._enter_container(len(value), depth)
            return [self._read_whole(item, below) for item in value]
        if is_object(value):
            self._enter_container(len(value), depth)
            return self._read_members(value, below)
        if isinstance(value, str | int | float):
            return self._read_subclass(value)
        raise expression_failed("The expression reads a value that is not JSON.")

    def _read_members(self, value: dict[str, Any], depth: int) -> dict[str, Any]:
        """Texts and numbers are read here, because a call for each of them would take half of the time."""
        copied: dict[str, Any] = {}
        text = weight = 0
        for name, item in value.items():
            text += len(name)
            kind = item.__class__
            if kind is str:
                weight += 1 + (len(item) >> 3)
                copied[name] = item
            elif kind is int and -MAX_INTEGER <= item <= MAX_INTEGER:
                weight += 1
                copied[name] = float(item)
            else:
                copied[name] = self._read_whole(item, depth)
        self.weight += weight + (text >> 3)
        return copied

    def _read_subclass(self, value: str | float) -> Any:
        self.weight += len(value) >> 3 if isinstance(value, str) else 0
        return value if isinstance(value, str) else float(value)

    def _enter_container(self, items: int, depth: int) -> None:
        if items > MAX_LIST:
            raise expression_limit(f"The expression reads a list or object with more than {MAX_LIST:,} items.")
        if depth > _MAX_VALUE_DEPTH:
            raise expression_limit(f"The expression reads a value nested deeper than {_MAX_VALUE_DEPTH} levels.")
        self.values += items
        if self.values > self.max_values:
            raise TooManyValues
        if items > self.longest_list:
            self.longest_list = items


def select_reads(scope: Mapping[str, Any], reads: ReadTree) -> dict[str, Any]:
    """The members of a scope that an expression reads. Nothing is copied below them."""
    return {name: _select(scope[name], below) for name, below in reads.items() if name in scope}


def _select(value: Any, reads: ReadTree) -> Any:
    return select_reads(value, reads) if reads and is_object(value) else value


def weigh_value(value: Any) -> int:
    """The weight of a value that `ScopeReader` has copied."""
    if isinstance(value, str):
        return 1 + (len(value) >> 3)
    if is_object(value):
        return 1 + (sum(map(len, value)) >> 3) + sum(map(weigh_value, value.values()))
    return 1 + sum(map(weigh_value, value)) if is_array(value) else 1


def weigh_reads(value: Any, reads: ReadTree) -> int:
    """The weight of members of a value that `ScopeReader` has copied."""
    if not reads or not is_object(value):
        return weigh_value(value)
    return sum(weigh_reads(value[name], below) for name, below in reads.items() if name in value)


def result_to_json(outcome: Any, nulls: bool, most: int) -> Any:
    """expr-07 (host): the outcome as JSON of at most 256 KiB, with sorted members.

    Raises ExpressionFault for a larger result, or for values that JSON cannot express. `nulls`: the outcome may contain
    null; `most`: an upper bound of its weight. A small outcome without null is converted in one call, which is faster;
    `cel.outcome_value` explains the exception for null.
    """
    at_once = not nulls and most <= MAX_WEIGHT_AT_ONCE
    writer = _ResultWriter((lambda value: value) if at_once else cel.outcome_value)
    value = writer.value(outcome.plain_value() if at_once else outcome, 0)
    if writer.size * _MAX_NUMBER_BYTES > MAX_RESULT and len(msgspec.json.encode(value)) > MAX_RESULT:
        raise result_too_large()
    return value


def result_too_large() -> Exception:
    return expression_limit(f"The result is larger than the limit of {MAX_RESULT // 1024} KiB.")


@dataclass(slots=True)
class _ResultWriter:
    """Converts an outcome to JSON. Raises as soon as the result exceeds the limit, because an outcome shares parts and
    can be far larger as JSON than in memory."""

    unwrap: Callable[[Any], Any]
    size: int = 0
    """A lower bound of the size of the JSON encoding."""

    def value(self, outcome: Any, depth: int) -> Any:
        value = self.unwrap(outcome)
        if value is None or isinstance(value, bool):
            return self._count(value, 4)
        if isinstance(value, str):
            return self._count(_text(value), len(value) + 2)
        if isinstance(value, int | float):
            return self._count(_number(value), 1)
        if depth >= MAX_DEPTH:
            raise expression_limit(f"The result is nested deeper than {MAX_DEPTH} levels.")
        if is_array(value):
            self._count(None, 1 + len(value))
            return [self.value(item, depth + 1) for item in value]
        if is_object(value):
            return self._object(value, depth)
        raise expression_failed(
            f"The result contains {_KINDS.get(value.__class__.__name__, 'a type')}, which JSON cannot express."
        )

    def _object(self, members: dict[Any, Any], depth: int) -> dict[str, Any]:
        if not all(isinstance(name, str) for name in members):
            raise expression_failed("The result contains an object with a key that is not a string.")
        # The order of members in the CEL package differs between processes.
        names = sorted(members)
        self._count(None, 1 + sum(4 + len(_text(name)) for name in names))
        return {name: self.value(members[name], depth + 1) for name in names}

    def _count(self, value: Any, size: int) -> Any:
        self.size += size
        if self.size > MAX_RESULT:
            raise result_too_large()
        return value


def _text(value: str) -> str:
    if "\0" in value:
        raise expression_failed("The result contains a string with NUL.")
    return value


def _number(value: int | float) -> int | float:
    if not math.isfinite(value):
        raise expression_failed("The result contains NaN or an infinity.")
    if isinstance(value, int):
        if not -MAX_INTEGER <= value <= MAX_INTEGER:
            raise expression_failed("The result contains an integer beyond 2^53-1.")
        return value
    return int(value) if value.is_integer() and abs(value) <= MAX_INTEGER else value
