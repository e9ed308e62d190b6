"""What a step returned, as its function says that it does."""

import inspect
import typing
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from weftwork.adapters.python.errors import misused
from weftwork.adapters.python.values import converted


def bound(function: Any, arguments: tuple[Any, ...]) -> Callable[[], Any]:
    """The function of a step with its arguments. Raises NodeError for what is no function."""
    if callable(function):
        return partial(function, *arguments)
    if inspect.iscoroutine(function):
        # Nobody will await it, and the node hears of that here.
        function.close()
    raise misused("ctx.step takes the function itself, not what it returned: ctx.step(name, function, *arguments).")


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling it gives something to await: an async function, method, partial or object."""
    while isinstance(function, partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004
    )


def fits(function: Callable[..., Any], value: Any) -> bool:
    """Whether what the function gave, as JSON, is of its return annotation."""
    try:
        converted(value, _kind(function))
    except msgspec.ValidationError:
        return False
    except TypeError:
        # There is no way back to this type.
        return True
    return True


def returned(function: Callable[..., Any], value: Any) -> Any:
    """The recorded JSON in the type of the return annotation; as it is, without one, where there is no way back, and
    where it does not fit: what the function gave did, so this is the word of a person, or of older code."""
    try:
        return converted(value, _kind(function))
    except (msgspec.ValidationError, TypeError):
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
