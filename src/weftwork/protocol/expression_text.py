"""Templates as text: where the expressions begin and end."""

import re
from typing import Final

from weftwork.protocol.expression_fault import invalid

OPEN: Final = "{{"
CLOSE: Final = "}}"

# fmt: off
_PASSED = re.compile(
    r"(?://[^\n]*"
    r"|(?:[rR][bB]?|[bB][rR])(?:\"\"\".*?\"\"\"|'''.*?'''|\"[^\"\n]*\"|'[^'\n]*')"
    r"|\"\"\"(?:\\.|[^\\])*?\"\"\"|'''(?:\\.|[^\\])*?'''|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
    r"|\w+)",
    re.DOTALL,
)
"""Comments, strings and names: braces in them are no braces, and a letter before a quote belongs to it or does not."""
# fmt: on


def split(text: str) -> list[str]:
    """The text in pieces: plain ones at even places, sources of expressions at odd ones."""
    pieces: list[str] = []
    at = 0
    while (start := text.find(OPEN, at)) >= 0:
        end = _end(text, start + len(OPEN))
        pieces += [text[at:start], text[start + len(OPEN) : end]]
        at = end + len(CLOSE)
    return [*pieces, text[at:]]


def _end(text: str, at: int) -> int:
    depth, start = 0, at
    while at < len(text):
        passed = _PASSED.match(text, at)
        if passed is not None:
            at = passed.end()
            continue
        if depth == 0 and text.startswith(CLOSE, at):
            return at
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    raise invalid(f"The expression that opens with {OPEN} at character {start - 1} is not closed with {CLOSE}.")
