"""Copies: the texts of sensitive values, and how they are found inside other texts. Bounded in every direction.

This is the second line of hiding. It works on texts alone, and only on the first ones: the first line,
data flow, does not depend on it. Source: readings (What the log may hide).

Theory. Whether there is a copy anywhere in a value is asked of a linear-time engine, once for the whole value:
mostly there is none. Where exactly copies stand is found by a pattern that a hostile text can make slow, so
the caller gives it little text at a time.
"""

import re
from typing import Any, Final

import jsonschema_rs

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
        self._free: jsonschema_rs.Validator | None = None

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
                    self._pattern = self._free = None
            elif is_object(item):
                # By name, because that is the order in which a restarted host finds them in the log.
                open_values += [item[name] for name in sorted(item, reverse=True)]
            elif is_array(item):
                open_values += reversed(item)

    def absent(self, value: Any) -> bool:
        """Whether no text inside the value holds a learnt one; member names are not looked at."""
        if not self._markers:
            return True
        if self._free is None:
            self._free = _free_of(list(self._markers))
        return self._free.is_valid(value)

    def mask(self, text: str) -> str:
        """The text with every learnt one in it replaced, the longest first."""
        if not self._markers:
            return text
        if self._pattern is None:
            self._pattern = re.compile(_alternation(list(self._markers)), re.DOTALL)
        return self._pattern.sub(lambda found: self._markers[found[0][:MAX_TEXT]], text)


def _free_of(texts: list[str]) -> jsonschema_rs.Validator:
    """Accepts every value in which none of the texts stands."""
    found = "|".join("".join(map(_literally, text)) for text in texts)
    plain = {"anyOf": [{"not": {"type": "string"}}, {"not": {"pattern": found}}]}
    everywhere = {**plain, "items": {"$ref": "#"}, "additionalProperties": {"$ref": "#"}}
    return jsonschema_rs.validator_for(everywhere, pattern_options=jsonschema_rs.RegexOptions(), offline=True)


def _literally(letter: str) -> str:
    return letter if letter.isascii() and letter.isalnum() else f"\\x{{{ord(letter):x}}}"


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
