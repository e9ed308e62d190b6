"""Every text of a JSON value rewritten: its values and the names of its members."""

from collections.abc import Callable, Iterable
from typing import Any

from weftwork.protocol.json.values import is_array, is_object

Change = Callable[[str], str]


def every_text(value: Any, change: Change) -> Any:
    """A copy in which each text is what `change` makes of it. Members keep their order, and no two become one."""
    if isinstance(value, str):
        return change(value)
    if is_array(value):
        return [every_text(each, change) for each in value]
    if is_object(value):
        values = [every_text(each, change) for each in value.values()]
        return dict(zip(_names(value, change), values, strict=True))
    return value


def _names(names: Iterable[str], change: Change) -> list[str]:
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
