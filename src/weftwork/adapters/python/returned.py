"""What a step returned, as its function says that it does."""

import inspect
import typing
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from weftwork.adapters.python.errors import NodeError
from weftwork.adapters.python.values import converted


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling it gives something to await: an async function, method, partial or object."""
    while isinstance(function, partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004
    )


def returned(function: Callable[..., Any], name: str, value: Any) -> Any:
    """The recorded JSON in the type of the return annotation; as it is, without one or where there is no way back."""
    kind = _kind(function)
    try:
        return converted(value, kind)
    except msgspec.ValidationError:
        message = f"The result of the step {name} does not fit the return annotation of its function."
        raise NodeError("step_result_invalid", message) from None
    except TypeError:
        return converted(value, Any)


def _kind(function: Callable[..., Any]) -> Any:
    while isinstance(function, partial):
        function = function.func
    if not inspect.isroutine(function):
        function = getattr(function, "__call__", function)  # noqa: B004
    found = getattr(function, "__annotations__", {}).get("return", Any)
    if not isinstance(found, str):
        return found
    try:
        return typing.get_type_hints(function, include_extras=True)["return"]
    except Exception:
        return Any
