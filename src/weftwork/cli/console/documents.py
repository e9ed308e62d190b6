"""Parts of documents that any host may send: of the type that is wanted, or empty."""

from typing import Any

from weftwork.protocol.json.values import is_array, is_object


def as_object(value: Any) -> dict[str, Any]:
    return value if is_object(value) else {}


def as_list(value: Any) -> list[Any]:
    return value if is_array(value) else []


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def objects(value: Any) -> list[dict[str, Any]]:
    """The objects of an array; what else is in it is left out."""
    return [each for each in as_list(value) if is_object(each)]
