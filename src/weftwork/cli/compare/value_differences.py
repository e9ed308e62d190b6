"""The places at which two JSON values differ, and both values there as short texts."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from weftwork.cli.console.text import clean
from weftwork.protocol.json.pointers import escape_token
from weftwork.protocol.json.values import is_array, is_object

MISSING: Final = object()
"""Stands for a value that only one side has."""
_CONTEXT: Final = 12
"""Characters that are shown before the first difference of two long texts."""


class ValueDifference(NamedTuple):
    pointer: str
    a: Any
    b: Any


def value_differences(a: Any, b: Any, pointer: str = "") -> Iterator[ValueDifference]:
    """The innermost places at which the values differ, as JSON pointers."""
    if is_object(a) and is_object(b):
        for name in sorted(a.keys() | b.keys()):
            yield from value_differences(a.get(name, MISSING), b.get(name, MISSING), f"{pointer}/{escape_token(name)}")
    elif is_array(a) and is_array(b):
        for at in range(max(len(a), len(b))):
            one, other = (each[at] if at < len(each) else MISSING for each in (a, b))
            yield from value_differences(one, other, f"{pointer}/{at}")
    elif isinstance(a, bool) is not isinstance(b, bool) or a != b:
        yield ValueDifference(pointer, a, b)


def value_texts(difference: ValueDifference, room: int) -> tuple[str, str]:
    """Both values in at most `room` characters. Two long texts are shown around their first difference."""
    a, b = difference.a, difference.b
    start = 0
    if isinstance(a, str) and isinstance(b, str) and max(len(a), len(b)) > room - 2:
        shared = next((at for at, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
        start = max(0, shared - _CONTEXT)
    return _text(a, start, room), _text(b, start, room)


def _text(value: Any, start: int, room: int) -> str:
    if value is MISSING:
        return "-"
    if not isinstance(value, str):
        return clean(value, room)
    # Cut before it is cleaned, because a value may have many megabytes.
    cut = value[start : start + room + 1]
    return clean(
        f'"{"…" if start else ""}{cut}"' if len(value) <= start + room else f'"{"…" if start else ""}{cut}', room
    )
