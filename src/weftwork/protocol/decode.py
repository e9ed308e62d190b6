"""The one strict JSON decoder: every byte that comes in from outside passes here.

Theory. The standard C scanner does the parsing; what it lets through (duplicate keys, NaN,
infinities, lone surrogates, NUL, oversized integers, depth) is found by one bounded walk over the
result, which also knows the JSON pointer of what it finds. Errors name the pointer, never the value.
"""

import json
import math
import re
from typing import Any, Final

from weftwork.protocol.errors import invalid
from weftwork.protocol.pointer import token

MAX_DEPTH: Final = 64
MAX_NODES: Final = 100_000
MAX_INTEGER: Final = 2**53 - 1
_UNSAFE_TEXT = re.compile("[\x00\ud800-\udfff]")
_UNPRINTABLE = re.compile("[^ -~]")


class _Duplicate:
    """Stands where an object with a repeated member stood, until the walk reports it."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


def _members(pairs: list[tuple[str, Any]]) -> Any:
    members = dict(pairs)
    if len(members) == len(pairs):
        return members
    seen: set[str] = set()
    return _Duplicate(next(name for name, _ in pairs if name in seen or seen.add(name)))


_scan = json.JSONDecoder(object_pairs_hook=_members).decode


def escape(name: str) -> str:
    """A member name as one token of a pointer, made printable and short so that an error stays one line."""
    return _UNPRINTABLE.sub(_spelled_out, token(name))[:120]


def _spelled_out(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65_536 else f"\\U{code:08x}"


def decode(data: bytes) -> Any:
    """json-01 (readings, Evil JSON): strict JSON or `validation_error` with a pointer.

    Refuses: bytes that are not UTF-8, a byte-order mark, depth over 64, more than 100,000 values,
    duplicate members, NaN and infinities (also by overflow), integers beyond 2^53-1, lone
    surrogates and NUL in any string or name. Size is the caller's duty, before parsing.
    """
    if data.startswith(b"\xef\xbb\xbf"):
        raise invalid("The document starts with a byte-order mark; send plain UTF-8.")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise invalid(f"The document is not valid UTF-8 at byte {error.start}.") from None
    try:
        document = _scan(text)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}"
        raise invalid(f"The document is not valid JSON at {where}.") from None
    except RecursionError:
        raise invalid(f"The document is nested deeper than {MAX_DEPTH} levels.") from None
    except ValueError:
        raise invalid("The document holds a number with too many digits.") from None
    _walk(document)
    return document


def _walk(document: Any) -> None:
    """Depth first, with the pointer of each container; stops at the first violation."""
    budget = MAX_NODES
    stack: list[tuple[Any, str, int]] = [(document, "", 1)]
    while stack:
        value, pointer, depth = stack.pop()
        budget -= 1
        if budget < 0:
            raise invalid(f"The document holds more than {MAX_NODES} values.")
        kind = type(value)  # pyright: ignore[reportUnknownVariableType]
        if kind is str:
            if _UNSAFE_TEXT.search(value):
                raise invalid("A string holds NUL or a lone surrogate.", pointer)
        elif kind is dict:
            if depth > MAX_DEPTH:
                raise invalid(f"The document is nested deeper than {MAX_DEPTH} levels.", pointer)
            for name, member in value.items():
                at = f"{pointer}/{escape(name)}" if name else f"{pointer}/"
                if _UNSAFE_TEXT.search(name):
                    raise invalid("A member name holds NUL or a lone surrogate.", at)
                stack.append((member, at, depth + 1))
        elif kind is list:
            if depth > MAX_DEPTH:
                raise invalid(f"The document is nested deeper than {MAX_DEPTH} levels.", pointer)
            if len(value) > budget:
                raise invalid(f"The document holds more than {MAX_NODES} values.", pointer)
            for index, item in enumerate(value):
                stack.append((item, f"{pointer}/{index}", depth + 1))
        elif kind is int:
            if not -MAX_INTEGER <= value <= MAX_INTEGER:
                raise invalid("An integer is beyond 2^53-1; send it as a string.", pointer)
        elif kind is float:
            if not math.isfinite(value):
                raise invalid("A number is not finite.", pointer)
        elif kind is _Duplicate:
            raise invalid("An object repeats a member name.", f"{pointer}/{escape(value.name)}")
