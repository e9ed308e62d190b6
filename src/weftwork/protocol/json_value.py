"""Telling JSON values apart, and from no value, in a way the type checker follows."""

from typing import Any, Final, TypeGuard


class Absent:
    """No value, as distinct from null."""


ABSENT: Final = Absent()


def is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    """Whether this is a JSON object."""
    return isinstance(value, dict)


def is_array(value: Any) -> TypeGuard[list[Any]]:
    """Whether this is a JSON array."""
    return isinstance(value, list)
