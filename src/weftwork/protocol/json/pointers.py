"""JSON pointers (RFC 6901)."""

import re
from collections.abc import Iterator
from typing import Any

from weftwork.protocol.json.values import is_array, is_object


def escape_token(text: str) -> str:
    """A member name as one reference token."""
    return text.replace("~", "~0").replace("/", "~1")


def split_pointer(pointer: str) -> list[str]:
    """The member names and indices that a pointer leads through."""
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


_NOT_PRINTABLE = re.compile("[^ -~]")


def printable_token(name: str) -> str:
    """A member name as one token of a pointer, made printable and short so that an error stays one line."""
    return _NOT_PRINTABLE.sub(_escape_character, escape_token(name))[:120]


def _escape_character(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65_536 else f"\\U{code:08x}"


def match_pointer_pattern(value: Any, pattern: str) -> Iterator[tuple[str, Any]]:
    """What stands at a pointer pattern, where `*` is any one member or item; absent members give nothing."""
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
