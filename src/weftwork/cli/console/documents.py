"""Typed access to untrusted documents: a value of the expected type, or an empty one."""

from typing import Any

from weftwork.protocol.json.values import is_array, is_object


def as_object(value: Any) -> dict[str, Any]:
    return value if is_object(value) else {}


def as_list(value: Any) -> list[Any]:
    return value if is_array(value) else []


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def objects(value: Any) -> list[dict[str, Any]]:
    """The objects of an array; other items are skipped."""
    return [each for each in as_list(value) if is_object(each)]


def as_number(value: Any) -> int:
    return value if isinstance(value, int) else 0
