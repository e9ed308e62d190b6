"""Copies: the texts of sensitive values, and how they are found inside other texts. Bounded in every direction.

This is the second line of hiding. It works on texts alone, and only on the first ones: the first line,
data flow, does not depend on it. Source: readings (What the log may hide).
"""

import re
from typing import Any, Final

from weftwork.protocol.json_value import is_array, is_object

MIN_TEXT: Final = 4
"""Characters; a shorter text stands in too many others to be searched for."""
MAX_TEXT: Final = 64
"""Characters that are compared. Where a text that long or longer begins, the rest of the string is masked with it."""
MAX_TEXTS: Final = 64
"""Texts per run that are searched for: the first ones, objects taken in the order of their names."""
MAX_VALUES: Final = 4096
"""Values inside one sensitive value that are looked at for texts."""


class Copies:
    """Texts to be found, each with the marker that replaces it."""

    def __init__(self) -> None:
        self._markers: dict[str, str] = {}
        self._pattern: re.Pattern[str] | None = None

    def learn(self, marker: str, value: Any) -> None:
        """From now on the texts inside `value` are searched for, as far as the bounds allow."""
        open_values = [value]
        budget = MAX_VALUES
        while open_values and budget and len(self._markers) < MAX_TEXTS:
            budget -= 1
            item = open_values.pop()
            if isinstance(item, str):
                if len(item) >= MIN_TEXT and item[:MAX_TEXT] not in self._markers:
                    self._markers[item[:MAX_TEXT]] = marker
                    self._pattern = None
            elif is_object(item):
                # By name, because that is the order in which a restarted host finds them in the log.
                open_values += [item[name] for name in sorted(item, reverse=True)]
            elif is_array(item):
                open_values += reversed(item)

    def mask(self, text: str) -> str:
        """The text with every learnt one in it replaced, the longest first."""
        if not self._markers:
            return text
        if self._pattern is None:
            self._pattern = re.compile(_alternation(list(self._markers)), re.DOTALL)
        return self._pattern.sub(lambda found: self._markers[found[0][:MAX_TEXT]], text)


def _alternation(texts: list[str], depth: int = 0) -> str:
    """A pattern that finds the longest of the texts. What several of them start with is written once, so that
    a character costs at most one comparison per character of the longest text, not of all of them."""
    groups: dict[str, list[str]] = {}
    for text in texts:
        groups.setdefault(text[:1], []).append(text)
    ends = groups.pop("", None)
    branches: list[str] = []
    for group in groups.values():
        length = _shared(min(group), max(group))
        branches.append(re.escape(group[0][:length]) + _alternation([t[length:] for t in group], depth + length))
    if ends:
        branches.append(".*" if depth == MAX_TEXT else "")
    return f"(?:{'|'.join(branches)})"


def _shared(first: str, last: str) -> int:
    pairs = zip(first, last, strict=False)
    return next((index for index, (a, b) in enumerate(pairs) if a != b), min(len(first), len(last)))
