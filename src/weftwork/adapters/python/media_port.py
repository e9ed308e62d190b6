"""Ports that bring media: where an annotation says Media, the name of an asset does as well."""

import types
from typing import Annotated, Any, Final, Union, get_args, get_origin

import msgspec

from weftwork.protocol.json_value import is_array, is_object
from weftwork.protocol.media.reference import REF_PATTERN

_NAME: Final[Any] = Annotated[str, msgspec.Meta(pattern=REF_PATTERN, description="The mediaRef of an asset.")]


def widened(kind: Any) -> Any:
    """The annotation as those see it who bring something to the port; the same one if it says nothing of Media.

    Media themselves, or None, or lists of them, or objects with them as members. What is inside of other types is left
    as its author has made it.
    """
    inner = _inner(kind)
    if _is_media(kind):
        return Union[kind, _NAME]  # noqa: UP007
    if inner is None or (wider := widened(inner)) is inner:
        return kind
    origin = get_origin(kind)
    if origin is list:
        return list[wider]
    if origin is dict:
        return dict[str, wider]
    return Union[wider, None]  # noqa: UP007


def described(value: Any, kind: Any) -> Any:
    """What came to a port, with an object in the place of each name of an asset that stands for Media."""
    inner = _inner(kind)
    if isinstance(value, str) and _is_media(kind):
        return {"mediaRef": value}
    if inner is None or value is None:
        return value
    if get_origin(kind) is list:
        return [described(each, inner) for each in value] if is_array(value) else value
    if get_origin(kind) is dict:
        return {name: described(each, inner) for name, each in value.items()} if is_object(value) else value
    return described(value, inner)


def _inner(kind: Any) -> Any:
    """What a list has, an object by name, or what there is unless it is None."""
    origin, args = get_origin(kind), get_args(kind)
    if origin is list and args:
        return args[0]
    if origin is dict and args and args[0] is str:
        return args[1]
    some = [each for each in args if each is not type(None)]
    return some[0] if origin in (Union, types.UnionType) and len(some) == 1 < len(args) else None


def _is_media(kind: Any) -> bool:
    """By name: a module with nodes loads nothing of what runs them."""
    return getattr(kind, "__module__", "") == "weftwork.adapters.python.media" and kind.__name__ == "Media"
