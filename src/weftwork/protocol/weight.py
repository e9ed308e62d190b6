"""How large a value may be that a node makes: without a bound, a few nodes that double what they get fill any disk."""

from typing import Any, Final

from weftwork.protocol.json_value import is_array, is_object

MAX_VALUES: Final = 250_000
MAX_TEXT: Final = 4 * 2**20
"""Characters of all texts and names in it."""
MAX_DEPTH: Final = 100


def is_too_large(value: Any) -> bool:
    """lim-10 (host): more values, text or levels than one value may have. The work is bounded by the same limits."""
    values, text, level = 0, 0, [value]
    for _ in range(MAX_DEPTH + 1):
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
            if values > MAX_VALUES or text > MAX_TEXT:
                return True
        if not below:
            return False
        level = below
    return True
