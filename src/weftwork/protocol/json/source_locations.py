"""Converts JSON pointers to lines and columns in the text of a JSON document.

Theory of operation. One pass over the tokens of the text, with an explicit stack, follows a tree of the requested
pointers and records where each value starts. If a member is repeated the last one counts, as in a parser. Each record
therefore contains the offset of its container, and a record from a container that was replaced later is ignored.

Error messages escape and shorten unusual member names. If a pointer is not found by the original names, it is therefore
looked up again by the names as messages show them.
"""

import json
import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

from weftwork.protocol.json.decoder import MAX_DEPTH
from weftwork.protocol.json.pointers import escape_token, printable_token

Location = tuple[int, int]
"""Line and column, both starting at 1; columns count characters."""

_TOKEN: Final = re.compile(
    r'[ \t\n\r]*+(?:([{\[])|([}\]])|(,)|(:)|("(?:[^"\\]++|\\.)*+")|([^\s{}\[\],:"]++))', re.DOTALL
)
_NOT_FOUND: Final = -1


class _Token(IntEnum):
    """The groups of `_TOKEN`, by number."""

    OPEN = 1
    CLOSE = 2
    COMMA = 3
    COLON = 4
    STRING = 5


@dataclass(slots=True)
class _Target:
    """A requested value or an ancestor of one, with the offsets of its name, of its value and of its container."""

    children: dict[str, "_Target"] = field(default_factory=dict[str, "_Target"])
    name: int = _NOT_FOUND
    value: int = _NOT_FOUND
    container: int = _NOT_FOUND


@dataclass(slots=True)
class _Frame:
    """An open container. It has a `target` only if a requested value is inside."""

    target: _Target | None
    is_object: bool
    offset: int
    index: int = 0

    @property
    def item_target(self) -> _Target | None:
        return None if self.target is None else self.target.children.get(str(self.index))


def locate(data: bytes, pointers: Iterable[str], members: Collection[str] = ()) -> dict[str, Location]:
    """The location of each pointer's value, or of its closest existing ancestor if the value does not exist.

    For the pointers that are also in `members` it is the location of the member's name. Never fails: in a text that is
    not valid JSON, values before the syntax error are found.
    """
    remaining = list(dict.fromkeys(pointers))
    text = data.decode("utf-8", "replace")
    offsets: dict[str, int] = {}
    for naming in (escape_token, printable_token):
        root = _Target()
        for pointer in remaining:
            target = root
            for part in pointer.split("/")[1:]:
                target = target.children.setdefault(part, _Target())
        _scan(text, root, naming)
        missing: list[str] = []
        for pointer in remaining:
            offset, is_exact = _resolve(root, pointer, pointer in members)
            offsets[pointer] = max(offset, 0)
            if not is_exact:
                missing.append(pointer)
        if not missing:
            break
        remaining = missing
    places = _to_locations(text, offsets.values())
    return {pointer: places[offset] for pointer, offset in offsets.items()}


def locate_syntax_error(data: bytes) -> Location:
    """The location at which the bytes cannot be read as JSON; the start of the document if they can."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        return _to_locations(before, [len(before)])[len(before)]
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return error.lineno, error.colno
    except (RecursionError, ValueError):
        offset = _find_unreadable(text)
        return _to_locations(text, [offset])[offset]
    return locate(data, [""])[""]


def _find_unreadable(text: str) -> int:
    """The offset of the first container that is nested too deep, or of the first number with too many digits."""
    depth = position = 0
    while match := _TOKEN.match(text, position):
        position = match.end()
        kind = match.lastindex
        if kind == _Token.OPEN:
            depth += 1
            if depth > MAX_DEPTH:
                return match.start(_Token.OPEN)
        elif kind == _Token.CLOSE:
            depth -= 1
        elif kind is not None and kind > _Token.STRING and match[kind].lstrip("-").isdigit():
            try:
                int(match[kind])
            except ValueError:
                return match.start(kind)
    return 0


def _resolve(root: _Target, pointer: str, as_member: bool) -> tuple[int, bool]:
    """The offset of the pointer's value or of its closest ancestor, and whether it is that of the value itself."""
    target = root
    for part in pointer.split("/")[1:]:
        child = target.children[part]
        if child.value == _NOT_FOUND or child.container != target.value:
            return target.value, False
        target = child
    return (target.name if as_member else target.value), target.value != _NOT_FOUND


def _scan(text: str, root: _Target, naming: Callable[[str], str]) -> None:
    """Records the offsets of every target below `root`, the target of the whole document."""
    frames: list[_Frame] = []
    target: _Target | None = root
    name_is_next = False
    position = 0
    while match := _TOKEN.match(text, position):
        position = match.end()
        kind = match.lastindex or 0
        start = match.start(kind)
        if kind == _Token.COMMA:
            name_is_next, target = False, None
            if frames:
                frames[-1].index += 1
                name_is_next = frames[-1].is_object
                target = None if name_is_next else frames[-1].item_target
        elif kind == _Token.CLOSE:
            name_is_next = False
            if frames:
                frames.pop()
        elif kind == _Token.STRING and name_is_next:
            name_is_next, target = False, _member_target(frames[-1].target, match[kind], naming)
            if target is not None:
                target.name = start
        elif kind != _Token.COLON:
            if target is not None:
                target.value = start
                if frames:
                    target.container = frames[-1].offset
                if not frames or not frames[-1].is_object:
                    target.name = start
            if kind == _Token.OPEN:
                name_is_next = match[kind] == "{"
                frames.append(_Frame(target if target is not None and target.children else None, name_is_next, start))
                target = None if name_is_next else frames[-1].item_target


def _member_target(inside: _Target | None, raw: str, naming: Callable[[str], str]) -> _Target | None:
    if inside is None:
        return None
    try:
        name = json.loads(raw) if "\\" in raw else raw[1:-1]
    except ValueError:
        return None
    return inside.children.get(naming(name))


def _to_locations(text: str, offsets: Iterable[int]) -> dict[int, Location]:
    places: dict[int, Location] = {}
    line, newline, before = 1, -1, 0
    for offset in sorted(set(offsets)):
        breaks = text.count("\n", before, offset)
        if breaks:
            line += breaks
            newline = text.rfind("\n", before, offset)
        before = offset
        places[offset] = line, offset - newline
    return places
