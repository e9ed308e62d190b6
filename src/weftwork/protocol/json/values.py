"""JSON values in Python: type guards, the absent value, equality, declared types, mapped strings, and a size limit.

The size limit applies to values that nodes produce. Without it, a few nodes that double their input could fill the
disk.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeGuard

MAX_VALUE_COUNT: Final = 250_000
MAX_VALUE_TEXT: Final = 4 * 2**20
"""Characters of all strings and member names in a value."""
MAX_VALUE_DEPTH: Final = 100


class Absent:
    """The type of ABSENT, which means that there is no value, as distinct from null."""


ABSENT: Final = Absent()


def is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def is_array(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


_JSON_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "string": (str,),
    "number": (int, float),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
}


def has_type(value: Any, name: str) -> bool:
    """wf-04 (OpenWOP workflow-definition): whether a value has the declared type. A boolean is not a number."""
    if isinstance(value, bool):
        return name == "boolean"
    return isinstance(value, _JSON_TYPES[name])


def json_equal(one: Any, other: Any) -> bool:
    """Equality of JSON values: 1 equals 1.0, and true does not equal 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if is_object(one) and is_object(other):
        return one.keys() == other.keys() and all(json_equal(one[key], other[key]) for key in one)
    if is_array(one) and is_array(other):
        return len(one) == len(other) and all(json_equal(a, b) for a, b in zip(one, other, strict=True))
    return (type(one) is type(other) and one == other) or (
        isinstance(one, int | float) and isinstance(other, int | float) and one == other
    )


LONG_TEXT: Final = 1024
"""Characters from which a text that is not ASCII counts with four bytes for each."""
VALUE_BYTES: Final = 16


def is_too_large(value: Any) -> bool:
    """lim-10 (host): whether a value exceeds a limit on values, text or depth. The work is bounded by the same
    limits."""
    return memory_size(value) < 0


def memory_size(value: Any) -> int:
    """The approximate size of a value in memory; -1 if it exceeds a limit of `is_too_large`."""
    values, text, wide, level = 0, 0, 0, [value]
    for _ in range(MAX_VALUE_DEPTH + 1):
        below: list[Any] = []
        for each in level:
            # Without `is_object`, because its call for each value would be a third of the cost.
            if isinstance(each, str):
                text += (length := len(each))
                if length > LONG_TEXT and not each.isascii():
                    wide += 3 * length
            elif isinstance(each, dict):
                members: dict[str, Any] = each  # pyright: ignore[reportUnknownVariableType]
                values += len(members)
                text += sum(map(len, members))
                below += members.values()
            elif isinstance(each, list):
                items: list[Any] = each  # pyright: ignore[reportUnknownVariableType]
                values += len(items)
                below += items
            if values > MAX_VALUE_COUNT or text > MAX_VALUE_TEXT:
                return -1
        if not below:
            return text + wide + VALUE_BYTES * values
        level = below
    return -1


TextChange = Callable[[str], str]


def map_texts(value: Any, change: TextChange) -> Any:
    """A copy in which `change` is applied to each string and member name.

    Members keep their order. If two names of an object become equal, the later one gets a suffix such as `#2`.
    """
    if isinstance(value, str):
        return change(value)
    if is_array(value):
        return [map_texts(each, change) for each in value]
    if is_object(value):
        values = [map_texts(each, change) for each in value.values()]
        return dict(zip(_unique_names(value, change), values, strict=True))
    return value


def _unique_names(names: Iterable[str], change: TextChange) -> list[str]:
    unique: dict[str, None] = {}
    counts: dict[str, int] = {}
    for name in names:
        candidate = base = change(name)
        while candidate in unique:
            counts[base] = counts.get(base, 1) + 1
            candidate = f"{base}#{counts[base]}"
        unique[candidate] = None
    return list(unique)
