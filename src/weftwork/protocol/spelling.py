"""Suggestions for misspelt names: node types, members, inputs, workflows, settings."""

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice
from typing import Final

MAX_NAME: Final = 64
"""Longer names get no suggestion: the comparison takes time that is quadratic in the length."""
MAX_KNOWN: Final = 500
"""How many known names are compared. 500 comparisons take up to 10 ms."""
_MIN_SIMILARITY: Final = 0.75


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`; did you mean X?` as the end of a message, or an empty string if no known name is similar.

    The result names a known name and never repeats `name`, so it is safe in a message to the sender.
    """
    if len(name) > MAX_NAME:
        return ""
    close = get_close_matches(name, islice(known, MAX_KNOWN), 1, _MIN_SIMILARITY)
    return f"; did you mean {close[0]}?" if close else ""
