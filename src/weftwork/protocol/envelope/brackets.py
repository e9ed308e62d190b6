"""Brackets: where in a text something stands that could be a JSON document. Nothing is decoded here.

Theory. A text is cut into what stands in fences and what stands around them. In each part, a bracket after which JSON
could go on is followed to the one that closes it, and the walk goes on behind that. A bracket that is not closed as it
should be ends the walk through its part: what stands inside it, or behind its end, may be a part of a document that
was cut off or went wrong, and is not to be taken for a document. So every character is looked at once.
"""

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from weftwork.protocol.decode import MAX_DEPTH

MAX_PARTS: Final = 1_000
"""Parts that a text is cut into; all that follows is in the last one."""

_FENCE: Final = re.compile(r"^[ \t]{0,3}(`{3,}|~{3,})([^\n`{[]*)$", re.MULTILINE)
_START: Final = re.compile(r'\{(?=[ \t\n\r]*["}])|\[(?=[ \t\n\r]*(?:[\[{"\]0-9-]|true|false|null))')
_BRACKET: Final = re.compile(r'[{}\[\]"]')
_STRING: Final = re.compile(r'(?:[^"\\]++|\\.)*+"', re.DOTALL)
_OPENERS: Final = {"}": "{", "]": "["}


class Part(msgspec.Struct, frozen=True):
    """A stretch of a text, inside a fence or not."""

    start: int
    end: int
    fenced: bool


def parts(text: str) -> list[Part]:
    """The text cut at its fences. A fence that is not closed reaches to the end."""
    found: list[Part] = []
    start, mark = 0, ""
    for fence in _FENCE.finditer(text):
        if mark and (not fence[1].startswith(mark) or fence[2].strip()):
            continue
        found.append(Part(start, fence.start(), bool(mark)))
        start, mark = fence.end(), "" if mark else fence[1]
        if not mark and len(found) >= MAX_PARTS:
            break
    found.append(Part(start, len(text), bool(mark)))
    return found


def spans(text: str, part: Part) -> Iterator[tuple[int, int]]:
    """Where brackets balance in this part, outermost ones only, in their order."""
    at = part.start
    while start := _START.search(text, at, part.end):
        at, closed = follow(text, start.start(), part.end)
        if not closed:
            return
        yield start.start(), at


def follow(text: str, start: int, end: int) -> tuple[int, bool]:
    """Where the bracket at `start` is closed, or where it is clear that it is not; and whether it is."""
    opened: list[str] = []
    at = start
    while found := _BRACKET.search(text, at, end):
        mark, at = found[0], found.end()
        if mark == '"':
            closing = _STRING.match(text, at, end)
            if closing is None:
                return end, False
            at = closing.end()
        elif mark in _OPENERS:
            if opened.pop() != _OPENERS[mark]:
                return at, False
            if not opened:
                return at, True
        else:
            opened.append(mark)
            if len(opened) > MAX_DEPTH:
                return at, False
    return end, False
