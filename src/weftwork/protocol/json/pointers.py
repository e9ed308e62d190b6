"""JSON pointers (RFC 6901)."""

import re
from collections.abc import Iterator
from typing import Any

from weftwork.protocol.json.values import is_array, is_object


def escape_token(text: str) -> str:
    """A member name as one token of a pointer."""
    return text.replace("~", "~0").replace("/", "~1")


def split_pointer(pointer: str) -> list[str]:
    """The unescaped tokens of a pointer: member names and indexes."""
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


_NOT_PRINTABLE = re.compile("[^ -~]")


def printable_token(name: str) -> str:
    """A member name as one token of a pointer, escaped to printable ASCII and cut to 120 characters for messages."""
    return _NOT_PRINTABLE.sub(_escape_character, escape_token(name))[:120]


def _escape_character(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65_536 else f"\\U{code:08x}"


def match_pointer_pattern(value: Any, pattern: str) -> Iterator[tuple[str, Any]]:
    """Pointer and value of every place that matches a pattern, in which `*` matches any one member or item."""
    places = [("", value)]
    for step in split_pointer(pattern):
        below: list[tuple[str, Any]] = []
        for pointer, place in places:
            if is_array(place) and step == "*":
                below += [(f"{pointer}/{index}", item) for index, item in enumerate(place)]
            if not is_object(place):
                continue
            names = list(place) if step == "*" else [step] if step in place else []
            below += [(f"{pointer}/{printable_token(name)}", place[name]) for name in names]
        places = below
    yield from places
