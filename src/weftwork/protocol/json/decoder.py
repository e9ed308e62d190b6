"""The strict JSON decoder for all documents from outside the host.

Theory of operation. Python's C scanner parses the text. It accepts duplicate members, NaN, infinities, lone surrogates,
NUL, large integers and any depth, so one bounded walk over the result looks for these. The walk is optimised for valid
documents: it builds a JSON pointer only for an error, and it inspects strings only if the bytes contain an escape that
could produce a forbidden character. Errors contain the pointer, never the value.
"""

import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from weftwork.protocol.errors import invalid
from weftwork.protocol.json.pointers import printable_token

MAX_DEPTH: Final = 64
MAX_DOCUMENT_VALUES: Final = 100_000
MAX_INTEGER: Final = 2**53 - 1
_UNSAFE_TEXT = re.compile("[\x00\ud800-\udfff]")
_UNSAFE_ESCAPE = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])")
"""Without such an escape no string can be unsafe: JSON forbids a raw NUL, and UTF-8 a raw surrogate."""

_Place = tuple["_Place", str | int] | None
"""The position of a container: the position of its parent, and its name or index there."""


@dataclass(slots=True)
class _Duplicate:
    """Replaces an object with a repeated member until the walk reports it."""

    name: str


def _build_object(pairs: list[tuple[str, Any]]) -> Any:
    members = dict(pairs)
    if len(members) == len(pairs):
        return members
    seen: set[str] = set()
    return _Duplicate(next(name for name, _ in pairs if name in seen or seen.add(name)))


_scan = json.JSONDecoder(object_pairs_hook=_build_object).decode


def decode(data: bytes, most: int = MAX_DOCUMENT_VALUES) -> Any:
    """json-01 (readings, Evil JSON): the decoded document. Raises a `validation_error` with a pointer.

    Rejects bytes that are not UTF-8, a byte-order mark, depth over 64, more than `most` values, duplicate members, NaN
    and infinities (also by overflow), integers beyond 2^53-1, and lone surrogates and NUL in any string or name. The
    caller limits the size of `data` before the call.
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
        raise invalid("The document contains a number with too many digits.") from None
    _check_values(document, _UNSAFE_ESCAPE.search(data) is None, most)
    return document


def _check_values(document: Any, plain: bool, most: int) -> None:
    """Raises for the first violation. `plain`: no string in the document can be unsafe."""
    budget = most
    stack: list[tuple[Any, _Place, int]] = [([document], None, 0)]
    while stack:
        container, place, depth = stack.pop()
        budget -= len(container)
        if budget < 0:
            raise invalid(f"The document has more than {most} values.", _pointer(place))
        items: Iterable[tuple[str | int, Any]]
        if container.__class__ is dict:
            items = container.items()
        else:
            listed: list[Any] = container
            items = enumerate(listed)
        for key, value in items:
            if not plain and isinstance(key, str) and _UNSAFE_TEXT.search(key):
                raise invalid("A member name contains NUL or a lone surrogate.", _pointer((place, key)))
            kind: Any = value.__class__
            if kind is str:
                if plain or not _UNSAFE_TEXT.search(value):
                    continue
            elif kind is int:
                if -MAX_INTEGER <= value <= MAX_INTEGER:
                    continue
            elif kind is dict or kind is list:
                if depth < MAX_DEPTH:
                    if value:
                        stack.append((value, (place, key) if depth else None, depth + 1))
                    continue
            elif kind is bool or value is None or (kind is float and math.isfinite(value)):
                continue
            raise _violation(value, (place, key) if depth else None)


def _violation(value: Any, place: _Place) -> Exception:
    if isinstance(value, _Duplicate):
        return invalid("An object repeats a member name.", _pointer((place, value.name)))
    if isinstance(value, str):
        return invalid("A string contains NUL or a lone surrogate.", _pointer(place))
    if isinstance(value, int):
        return invalid("An integer is beyond 2^53-1; send it as a string.", _pointer(place))
    if isinstance(value, float):
        return invalid("A number is NaN, infinite or too large for a double.", _pointer(place))
    return invalid(f"The document is nested deeper than {MAX_DEPTH} levels.", _pointer(place))


def _pointer(place: _Place) -> str:
    parts: list[str] = []
    while place is not None:
        place, key = place
        parts.append(f"/{printable_token(key) if isinstance(key, str) else key}")
    return "".join(reversed(parts))
