"""Values on their way between JSON and the types of an author."""

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

import msgspec

from weftwork.protocol.decode import MAX_INTEGER, escape
from weftwork.protocol.json_value import is_array, is_object

MAX_SHOWN: Final = 256

_UNSAFE: Final = re.compile("[\x00\ud800-\udfff]")


class NotJson(Exception):
    """A value that the log cannot hold: where in it (RFC 6901), and why, without the value itself."""

    def __init__(self, pointer: str, why: str) -> None:
        super().__init__(f"{pointer or 'the value'} {why}")
        self.pointer = pointer
        self.why = why


def as_json(value: Any) -> Any:
    """A copy of the value in JSON, as the log takes it. Raises NotJson.

    Structs, dataclasses, enums, dates, UUIDs, decimals, sets and bytes become what msgspec makes of them. Numbers are
    finite, integers within 2^53-1, texts without NUL and lone surrogates: what comes in over HTTP is held to the same.
    """
    try:
        return _checked(msgspec.to_builtins(value, str_keys=True, enc_hook=_plain))
    except RecursionError:
        raise NotJson("", "is nested too deeply, or holds itself") from None
    except (TypeError, ValueError, NotImplementedError) as error:
        raise NotJson("", f"is not JSON: {error}") from None


def _plain(value: Any) -> Any:
    """Subclasses of plain types are as good as these."""
    for kind in (str, int, float):
        if isinstance(value, kind):
            return kind(value)
    if isinstance(value, Mapping):
        return dict(cast("Mapping[Any, Any]", value))
    raise NotImplementedError(f"an object of type {type(value).__name__}")


def _checked(value: Any) -> Any:
    kind: Any = value.__class__
    if kind is str:
        if _UNSAFE.search(value) is not None:
            raise NotJson("", "holds NUL or a lone surrogate")
    elif kind is int:
        if not -MAX_INTEGER <= value <= MAX_INTEGER:
            raise NotJson("", "is an integer beyond 2^53-1; give it as text")
    elif kind is float:
        if not math.isfinite(value):
            raise NotJson("", "is a number that is not finite")
    elif is_object(value):
        return _members(value)
    elif is_array(value) or isinstance(value, tuple):
        return _items(cast("Iterable[Any]", value))
    return value


def _members(value: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, member in value.items():
        if _UNSAFE.search(name) is not None:
            raise NotJson("", "has a member whose name holds NUL or a lone surrogate")
        try:
            made[str(name)] = _checked(member)
        except NotJson as error:
            raise NotJson(f"/{escape(name)}{error.pointer}", error.why) from None
    return made


def _items(value: Iterable[Any]) -> list[Any]:
    made: list[Any] = []
    for item in value:
        try:
            made.append(_checked(item))
        except NotJson as error:
            raise NotJson(f"/{len(made)}{error.pointer}", error.why) from None
    return made


def converted(value: Any, kind: Any) -> Any:
    """A JSON value as the author's type; nothing in it is shared with the value. Raises msgspec.ValidationError."""
    if isinstance(value, dict | list):
        value = msgspec.to_builtins(value)
    try:
        return msgspec.convert(value, kind, str_keys=True)
    except msgspec.ValidationError:
        # 1.0 is an integer for JSON Schema, and for those who send it.
        whole, changed = _whole(value)
        if not changed:
            raise
        return msgspec.convert(whole, kind, str_keys=True)


def _whole(value: Any) -> tuple[Any, bool]:
    """The value with integers where a number has no fraction, and whether that made a difference."""
    if isinstance(value, float) and value.is_integer():
        return int(value), True
    if is_array(value):
        items = [_whole(item) for item in value]
        return [item for item, _ in items], any(changed for _, changed in items)
    if is_object(value):
        members = {name: _whole(member) for name, member in value.items()}
        return {name: member for name, (member, _) in members.items()}, any(each[1] for each in members.values())
    return value, False


def loggable(value: Any) -> Any:
    """The value in JSON, or its text where it is none: a line in a log is no reason to fail."""
    if is_object(value):
        return {shown(name, MAX_SHOWN): _said(member) for name, member in value.items()}
    return _said(value)


def _said(value: Any) -> Any:
    try:
        return as_json(value)
    except NotJson:
        return shown(value, MAX_SHOWN)


def shown(text: Any, most: int) -> str:
    """Text that can be stored, and is not longer than it may be."""
    try:
        text = str(text)
    except Exception:
        text = f"({type(text).__name__})"
    return _UNSAFE.sub("\ufffd", text[:most])
