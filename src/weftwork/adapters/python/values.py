"""Converts values between JSON and the types that authors of nodes use."""

import dataclasses
import inspect
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sized
from typing import Any, Final, cast

import msgspec

from weftwork.protocol.json.decoder import MAX_INTEGER
from weftwork.protocol.json.pointers import printable_token
from weftwork.protocol.json.values import MAX_VALUE_COUNT, MAX_VALUE_DEPTH, MAX_VALUE_TEXT, is_array, is_object

MAX_LOGGED_TEXT: Final = 256
MAX_SEARCH_DEPTH: Final = 20
"""How many levels are searched for the part of a value that is not JSON."""

_CONTAINERS: Final = (list, tuple, dict, set, frozenset)

_UNSAFE: Final = re.compile("[\x00\ud800-\udfff]")


class NotJson(Exception):
    """A value that cannot be stored as JSON: where (`pointer`, RFC 6901) and `why`, without the value itself."""

    def __init__(self, pointer: str, why: str) -> None:
        super().__init__(f"{pointer or 'the value'} {why}")
        self.pointer = pointer
        self.why = why


class ValueTooLarge(NotJson):
    """A value that exceeds the size limits; the rest of it is not checked."""

    def __init__(self) -> None:
        super().__init__(
            "", f"has more than {MAX_VALUE_TEXT:,} characters, {MAX_VALUE_COUNT:,} values or {MAX_VALUE_DEPTH} levels"
        )


def as_json(value: Any, bounded: bool = True) -> Any:
    """A copy of the value as JSON that the log can store. Raises NotJson, or ValueTooLarge at the first exceeded limit.

    Structs, dataclasses, enums, dates, UUIDs, decimals, sets and bytes are converted as msgspec does. The same rules as
    for JSON from HTTP apply: finite numbers, integers within 2^53-1, and texts without NUL and lone surrogates.
    """
    if bounded and isinstance(value, _CONTAINERS) and len(cast("Sized", value)) > MAX_VALUE_COUNT:
        raise ValueTooLarge
    try:
        builtins = msgspec.to_builtins(value, str_keys=True, enc_hook=_encode_subclass)
        return _check_value(builtins, _SizeBudget() if bounded else None, 0)
    except NotJson:
        raise
    except RecursionError:
        raise NotJson("", "is nested too deeply, or contains itself") from None
    except Exception as error:
        raise _locate_problem(value, error) from None


class _NotSerializable(NotImplementedError):
    """The value has no JSON form."""


class _SizeBudget:
    """The rest of the size limits of one value."""

    __slots__ = ("text", "values")

    def __init__(self) -> None:
        self.values = MAX_VALUE_COUNT
        self.text = MAX_VALUE_TEXT

    def take(self, values: int, text: int, level: int) -> None:
        self.values -= values
        self.text -= text
        if self.values < 0 or self.text < 0 or level > MAX_VALUE_DEPTH:
            raise ValueTooLarge


def _encode_subclass(value: Any) -> Any:
    """Convert subclasses of str, int, float and Mapping to these types. Raises _NotSerializable."""
    for kind in (str, int, float):
        if isinstance(value, kind):
            return kind(value)
    if isinstance(value, Mapping):
        return dict(cast("Mapping[Any, Any]", value))
    if inspect.isawaitable(value):
        raise _NotSerializable("is an awaitable; is an await missing?")
    raise _NotSerializable(f"is an object of type {type(value).__name__}")


def _locate_problem(value: Any, error: Exception, depth: int = 0) -> NotJson:
    """The part of a value that is not JSON; `error` is what converting the whole value raised.

    The messages of other exceptions are not repeated, because they could contain the value.
    """
    for name, part in _children(value) if depth < MAX_SEARCH_DEPTH else ():
        try:
            msgspec.to_builtins(part, str_keys=True, enc_hook=_encode_subclass)
        except Exception as inner:
            problem = _locate_problem(part, inner, depth + 1)
            return NotJson(f"/{printable_token(str(name))}{problem.pointer}", problem.why)
    if isinstance(error, _NotSerializable):
        return NotJson("", str(error))
    if isinstance(error, TypeError) and str(error).startswith("Only dicts"):
        return NotJson("", "has a member whose name is neither a string nor a number")
    return NotJson("", f"could not be converted: {type(error).__name__}")


def _children(value: Any) -> list[tuple[Any, Any]]:
    """The members with their JSON names, or the items with their indexes."""
    if isinstance(value, msgspec.Struct):
        names = zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True)
        return [(json_name, getattr(value, name, None)) for json_name, name in names]
    if dataclasses.is_dataclass(value):
        return [(each.name, getattr(value, each.name, None)) for each in dataclasses.fields(value)]
    if is_object(value):
        return [*value.items()]
    return [*enumerate(cast("Iterable[Any]", value))] if isinstance(value, list | tuple) else []


def is_storable(text: str) -> bool:
    """Whether the text has no NUL and no lone surrogates, so that the log can store it."""
    return _UNSAFE.search(text) is None


def _check_value(value: Any, room: _SizeBudget | None, level: int) -> Any:
    kind: Any = value.__class__
    if kind is str:
        if _UNSAFE.search(value) is not None:
            raise NotJson("", "contains NUL or a lone surrogate")
        if room is not None:
            room.take(0, len(value), 0)
    elif kind is int:
        if not -MAX_INTEGER <= value <= MAX_INTEGER:
            raise NotJson("", "is an integer beyond 2^53-1; use a string instead")
    elif kind is float:
        if not math.isfinite(value):
            raise NotJson("", "is not a finite number")
    elif is_object(value):
        return _members(value, room, level)
    elif is_array(value) or isinstance(value, tuple):
        return _items(cast("Collection[Any]", value), room, level)
    return value


def _members(value: dict[str, Any], room: _SizeBudget | None, level: int) -> dict[str, Any]:
    if room is not None:
        room.take(len(value), sum(map(len, value)), level)
    members: dict[str, Any] = {}
    for name, member in value.items():
        if _UNSAFE.search(name) is not None:
            raise NotJson("", "has a member whose name contains NUL or a lone surrogate")
        try:
            members[str(name)] = _check_value(member, room, level + 1)
        except ValueTooLarge:
            raise
        except NotJson as error:
            raise NotJson(f"/{printable_token(name)}{error.pointer}", error.why) from None
    return members


def _items(value: Collection[Any], room: _SizeBudget | None, level: int) -> list[Any]:
    if room is not None:
        room.take(len(value), 0, level)
    items: list[Any] = []
    for item in value:
        try:
            items.append(_check_value(item, room, level + 1))
        except ValueTooLarge:
            raise
        except NotJson as error:
            raise NotJson(f"/{len(items)}{error.pointer}", error.why) from None
    return items


def convert(value: Any, kind: Any) -> Any:
    """The JSON value as a new object of the author's type. Raises msgspec.ValidationError."""
    if isinstance(value, dict | list):
        value = msgspec.to_builtins(value)
    try:
        return msgspec.convert(value, kind, str_keys=True)
    except msgspec.ValidationError:
        # JSON Schema counts 1.0 as an integer; msgspec does not.
        whole, changed = _with_integers(value)
        if not changed:
            raise
        return msgspec.convert(whole, kind, str_keys=True)


def _with_integers(value: Any) -> tuple[Any, bool]:
    """The value with whole floats converted to integers, and whether there were any."""
    if isinstance(value, float) and value.is_integer():
        return int(value), True
    if is_array(value):
        items = [_with_integers(item) for item in value]
        return [item for item, _ in items], any(changed for _, changed in items)
    if is_object(value):
        members = {name: _with_integers(member) for name, member in value.items()}
        return {name: member for name, (member, _) in members.items()}, any(each[1] for each in members.values())
    return value, False


def to_loggable(value: Any) -> Any:
    """The value as JSON, or as text if it is not JSON, because a log line must not fail a node."""
    if is_object(value):
        return {storable_text(name, MAX_LOGGED_TEXT): _to_loggable_value(member) for name, member in value.items()}
    return _to_loggable_value(value)


def _to_loggable_value(value: Any) -> Any:
    try:
        return as_json(value)
    except ValueTooLarge:
        return f"({type(value).__name__})"
    except NotJson:
        return storable_text(value, MAX_LOGGED_TEXT)


def storable_text(text: Any, max_chars: int) -> str:
    """The text, shortened to `max_chars` characters, with characters replaced that the log cannot store."""
    try:
        text = str(text)
    except Exception:
        text = f"({type(text).__name__})"
    return _UNSAFE.sub("\ufffd", text[:max_chars])
