"""JSON Schemas from annotations, with every named type in `$defs` of its own schema."""

import dataclasses
import inspect
from collections.abc import Mapping
from typing import Annotated, Any, Final, get_args, get_origin

import msgspec

from weftwork.protocol.json.canonical import encode_stored

_REFERENCE: Final = "#/$defs/"


def schemas_for(kinds: list[Any]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The schema of each type, and the definitions that they share. Raises TypeError for what JSON does not have."""
    found, shared = msgspec.json.schema_components(kinds, ref_template=_REFERENCE + "{name}")
    return [dict(each) for each in found], shared


def object_schema(kind: Any) -> dict[str, Any]:
    """The schema of an object type with its members at the top. Raises TypeError."""
    (shape,), shared = schemas_for([kind])
    name = shape.pop("$ref", "").removeprefix(_REFERENCE)
    if name:
        shape = {**shared[name], **shape}
        shape.pop("title", None)
        others = {each: schema for each, schema in shared.items() if each != name}
        if _refers_to(shape, name) or any(_refers_to(schema, name) for schema in others.values()):
            others = shared
        shared = others
    if not shape.get("required", True):
        del shape["required"]
    return {**shape, "$defs": shared} if shared else shape


def ports_schema(members: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    """The schema of an object with these members; those without a default are required. Raises TypeError.

    A default is either the JSON that stands for it, or msgspec.UNSET where there is none to show.
    """
    found, shared = schemas_for(list(members.values()))
    properties = dict(zip(members, found, strict=True))
    for name, default in defaults.items():
        if default is not msgspec.UNSET:
            properties[name]["default"] = default
    shape: dict[str, Any] = {"type": "object", "properties": properties}
    required = [name for name in members if name not in defaults]
    if required:
        shape["required"] = required
    return {**shape, "$defs": shared} if shared else shape


def is_record(kind: Any) -> bool:
    """Whether this is a struct, a dataclass or a TypedDict that is an object in JSON."""
    plain: Any = unwrap_type(kind)
    if inspect.isclass(plain) and issubclass(plain, msgspec.Struct):
        return not plain.__struct_config__.array_like
    return inspect.isclass(plain) and (dataclasses.is_dataclass(plain) or _is_typed_dict(plain))


def is_mapping(kind: Any) -> bool:
    """Whether this is a dict with members of any name."""
    plain: Any = unwrap_type(kind)
    return inspect.isclass(plain) and not _is_typed_dict(plain) and issubclass(plain, Mapping)


def _is_typed_dict(kind: Any) -> bool:
    """Also one that comes from elsewhere than typing."""
    return hasattr(kind, "__total__") and issubclass(kind, dict)


def unwrap_type(kind: Any) -> Any:
    """A type without what annotates it and what fills it."""
    while get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    return get_origin(kind) or kind


def _refers_to(schema: Any, name: str) -> bool:
    return f'"{_REFERENCE}{name}"'.encode() in encode_stored(schema)
