"""Rewrites every text of a JSON value: its strings and the names of its members."""

from collections.abc import Callable, Iterable
from typing import Any

from weftwork.protocol.json.values import is_array, is_object

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
    """Changed names, of which no two are the same."""
    found: dict[str, None] = {}
    counts: dict[str, int] = {}
    for name in names:
        shown = base = change(name)
        while shown in found:
            counts[base] = counts.get(base, 1) + 1
            shown = f"{base}#{counts[base]}"
        found[shown] = None
    return list(found)
