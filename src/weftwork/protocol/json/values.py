"""JSON values in Python: type guards, the absent value, equality, declared types, changed texts, and a size limit.

The size limit applies to values that nodes make: without it, a few nodes that double their input fill any disk.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeGuard

MAX_VALUE_COUNT: Final = 250_000
MAX_VALUE_TEXT: Final = 4 * 2**20
"""Characters of all texts and names in it."""
MAX_VALUE_DEPTH: Final = 100


class Absent:
    """No value, as distinct from null."""


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
    """wf-04 (OpenWOP workflow-definition): whether a value fits a variable's declared type; a boolean is no number."""
    if isinstance(value, bool):
        return name == "boolean"
    return isinstance(value, _JSON_TYPES[name])


def json_equal(one: Any, other: Any) -> bool:
    """Equal as JSON: true is not 1, and 1 is 1.0."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if is_object(one) and is_object(other):
        return one.keys() == other.keys() and all(json_equal(one[key], other[key]) for key in one)
    if is_array(one) and is_array(other):
        return len(one) == len(other) and all(json_equal(a, b) for a, b in zip(one, other, strict=True))
    return (type(one) is type(other) and one == other) or (
        isinstance(one, int | float) and isinstance(other, int | float) and one == other
    )


def is_too_large(value: Any) -> bool:
    """lim-10 (host): more values, text or levels than one value may have. The work is bounded by the same limits."""
    values, text, level = 0, 0, [value]
    for _ in range(MAX_VALUE_DEPTH + 1):
        below: list[Any] = []
        for each in level:
            if isinstance(each, str):
                text += len(each)
            elif is_object(each):
                values += len(each)
                text += sum(map(len, each))
                below += each.values()
            elif is_array(each):
                values += len(each)
                below += each
            if values > MAX_VALUE_COUNT or text > MAX_VALUE_TEXT:
                return True
        if not below:
            return False
        level = below
    return True


TextChange = Callable[[str], str]


def map_texts(value: Any, change: TextChange) -> Any:
    """A copy in which each text is what `change` makes of it. Members keep their order, and no two become one."""
    if isinstance(value, str):
        return change(value)
    if is_array(value):
        return [map_texts(each, change) for each in value]
    if is_object(value):
        values = [map_texts(each, change) for each in value.values()]
        return dict(zip(_unique_names(value, change), values, strict=True))
    return value


def _unique_names(names: Iterable[str], change: TextChange) -> list[str]:
    found: dict[str, None] = {}
    counts: dict[str, int] = {}
    for name in names:
        shown = base = change(name)
        while shown in found:
            counts[base] = counts.get(base, 1) + 1
            shown = f"{base}#{counts[base]}"
        found[shown] = None
    return list(found)
