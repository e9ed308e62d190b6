"""Reads the signature of a node function: its input ports, its config, its outputs, and their JSON Schemas.

An input port annotated with Media also accepts the mediaRef of an asset (`accept_media_refs`, `expand_media_refs`).
Media is recognised by its name: a module with nodes must not load what runs them.
"""

import dataclasses
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

import msgspec

from weftwork.adapters.python.values import NotJson, as_json, convert
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.media.asset_references import MEDIA_REF_PATTERN

Function = Callable[..., Any]
ReturnKind = Literal["record", "mapping", "nothing", "value", "any"]

_POSITIONAL: Final = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_OBJECT_TYPES: Final = "a struct, a dataclass, a TypedDict or a dict"
_CONTEXT_MODULE: Final = "weftwork.adapters.python.context"
_REFERENCE: Final = "#/$defs/"
_NO_CONTEXT: Final = "the first parameter has to be the context: def name(ctx, ...)"
_NO_MEMBERS: Final[dict[str, Any]] = {"type": "object", "properties": {}, "additionalProperties": False}
_MEDIA_REF: Final[Any] = Annotated[
    str, msgspec.Meta(pattern=MEDIA_REF_PATTERN, description="The mediaRef of an asset.")
]


class SignatureError(Exception):
    """The signature cannot be that of a node; the message says what would do."""


class Signature(msgspec.Struct, frozen=True):
    """ports: types by name; inputs_type: the type of `inputs`, which takes them all; config: None if it takes none.

    return_kind: whether the members of what is returned are the output ports, or there are none, or there is the port
    `output` alone; `any` is decided by each value.
    """

    ports: dict[str, Any]
    inputs_type: Any
    config: Any
    return_kind: ReturnKind
    inputs_schema: dict[str, Any]
    outputs_schema: dict[str, Any]
    config_schema: dict[str, Any]


def read_signature(function: Function, names: dict[str, Any]) -> Signature:
    """Read a function; `names` are those that its annotations may use beside the globals. Raises SignatureError."""
    parameters = list(inspect.signature(function).parameters.values())
    if not parameters or parameters[0].kind not in _POSITIONAL:
        raise SignatureError(_NO_CONTEXT)
    _check_context(function, parameters[0], names)
    ports, config = _split_parameters(parameters[1:])
    kinds = {each.name: _annotation(function, each.name, each.annotation, names) for each in parameters[1:]}
    taken = _schema("config", lambda: _config(kinds[config.name])) if config is not None else dict(_NO_MEMBERS)
    given = _annotation(function, "return", inspect.signature(function).return_annotation, names)
    gives, outputs = _outputs(given)
    whole, inputs = _inputs(ports, kinds)
    return Signature(
        ports={each.name: kinds[each.name] for each in ports} if whole is None else {},
        inputs_type=whole,
        config=kinds[config.name] if config is not None else None,
        return_kind=gives,
        inputs_schema=inputs,
        outputs_schema=outputs,
        config_schema=taken,
    )


def _check_context(function: Function, first: inspect.Parameter, names: dict[str, Any]) -> None:
    """Raises SignatureError if the first parameter is annotated as something else than a context.

    A plain function may call it Context, by the name that everybody knows; it gets a PlainContext all the same.
    """
    kind: Any = Any
    try:
        kind = _annotation(function, first.name, first.annotation, names)
        found = {_context_name(each) for each in typing.get_args(kind) or (kind,)}
    except SignatureError:
        # A name that only type checkers know.
        found = {str(first.annotation).rpartition(".")[2]}
    if "Context" in found or ("PlainContext" in found and not inspect.iscoroutinefunction(function)):
        return
    if "PlainContext" in found:
        raise SignatureError("an async function gets a Context, not a PlainContext")
    if inspect.isclass(kind) and kind not in (Any, object) and not getattr(kind, "_is_protocol", False):
        raise SignatureError(f"{_NO_CONTEXT}, and {first.name} is annotated as {kind.__name__}")


def _context_name(kind: Any) -> str:
    """What the context is called, if this is its type. By name: a module with nodes loads nothing of what runs them."""
    return kind.__name__ if getattr(kind, "__module__", "") == _CONTEXT_MODULE and inspect.isclass(kind) else ""


def _split_parameters(parameters: list[inspect.Parameter]) -> tuple[list[inspect.Parameter], inspect.Parameter | None]:
    """The ports, and the config if there is one."""
    ports: list[inspect.Parameter] = []
    config: inspect.Parameter | None = None
    for each in parameters:
        match each.kind:
            case inspect.Parameter.POSITIONAL_OR_KEYWORD if each.name != "config":
                ports.append(each)
            case inspect.Parameter.POSITIONAL_OR_KEYWORD:
                raise SignatureError("config has to stand behind a star: def name(ctx, ..., *, config)")
            case inspect.Parameter.KEYWORD_ONLY if each.name == "config":
                config = each
            case inspect.Parameter.KEYWORD_ONLY:
                raise SignatureError(
                    f"{each.name} stands behind the star, where only config may; input ports stand before it"
                )
            case inspect.Parameter.POSITIONAL_ONLY:
                raise SignatureError(
                    f"{each.name} has no name for its callers; only the context may stand before the slash"
                )
            case _:
                raise SignatureError(f"{each} takes ports without names; take them all as inputs: dict instead")
    return ports, config


def _annotation(function: Function, name: str, kind: Any, names: dict[str, Any]) -> Any:
    """The type that stands there, with the names in it looked up."""
    if kind is inspect.Parameter.empty:
        return Any
    holder = types.SimpleNamespace(__annotations__={name: kind})
    known = getattr(function, "__globals__", {})
    try:
        return typing.get_type_hints(holder, known, names, include_extras=True)[name]
    except Exception as error:
        raise SignatureError(f"the annotation of {name} cannot be read: {error}") from None


def _schema(what: str, make: Callable[[], Any]) -> Any:
    try:
        return make()
    except SignatureError:
        raise
    except Exception as error:
        reason = str(error).strip().splitlines()[-1]
        raise SignatureError(f"{what} has an annotation that JSON has nothing for: {reason}") from None


def _inputs(ports: list[inspect.Parameter], kinds: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The type that takes all ports, if there is one, and the schema of the inputs."""
    names = [each.name for each in ports]
    if "inputs" in names:
        kind = kinds["inputs"]
        if names != ["inputs"]:
            raise SignatureError("inputs stands for all ports, so no other may stand beside it")
        if kind is Any:
            return dict[str, Any], {"type": "object"}
        if not is_record(kind) and not is_mapping(kind):
            raise SignatureError(f"inputs stands for all ports and has to be {_OBJECT_TYPES}")
        return kind, _schema("inputs", lambda: object_schema(kind))
    for name in names:
        _schema(name, lambda name=name: schemas_for([kinds[name]]))
    defaults = {each.name: _default(each, kinds) for each in ports if each.default is not inspect.Parameter.empty}
    return None, _schema(
        "an input",
        lambda: ports_schema({name: accept_media_refs(kinds[name]) for name in names}, defaults),
    )


def _default(port: inspect.Parameter, kinds: dict[str, Any]) -> Any:
    """The default as the schema shows it; the function has its own. Raises SignatureError if it does not
    fit its annotation."""
    value, kind = port.default, kinds[port.name]
    if value is msgspec.UNSET and msgspec.UnsetType in typing.get_args(kind):
        return value
    try:
        made = as_json(value)
    except NotJson:
        made = msgspec.UNSET
    try:
        # What JSON has nothing for may be of its type all the same.
        msgspec.convert(value, kind) if made is msgspec.UNSET else convert(made, kind)
    except msgspec.ValidationError:
        hint = f"; write {port.name}: ... | None" if value is None else ""
        raise SignatureError(f"the default of {port.name} does not fit its annotation{hint}") from None
    return made


def _config(kind: Any) -> dict[str, Any]:
    if kind is Any or is_mapping(kind):
        return {"type": "object"} if kind is Any else object_schema(kind)
    if not is_record(kind):
        raise SignatureError(f"config has to be {_OBJECT_TYPES}")
    # Closed, so that a member that is misspelt is found when the workflow is registered.
    return {**object_schema(kind), "additionalProperties": False}


def _outputs(kind: Any) -> tuple[ReturnKind, dict[str, Any]]:
    if kind is Any:
        return "any", {"type": "object"}
    if kind is type(None):
        return "nothing", dict(_NO_MEMBERS)
    if is_record(kind):
        return "record", {**_schema("return", lambda: object_schema(kind)), "additionalProperties": False}
    if is_mapping(kind):
        return "mapping", _schema("return", lambda: object_schema(kind))
    shape = _schema("return", lambda: ports_schema({"output": kind}, {}))
    return "value", {**shape, "additionalProperties": False}


def accept_media_refs(kind: Any) -> Any:
    """The annotation as those see it who bring something to the port; the same one if it says nothing of Media.

    Media themselves, or None, or lists of them, or objects with them as members. What is inside of other types is left
    as its author has made it.
    """
    inner = _inner_type(kind)
    if _is_media(kind):
        return Union[kind, _MEDIA_REF]  # noqa: UP007
    if inner is None or (wider := accept_media_refs(inner)) is inner:
        return kind
    origin = get_origin(kind)
    if origin is list:
        return list[wider]
    if origin is dict:
        return dict[str, wider]
    return Union[wider, None]  # noqa: UP007


def expand_media_refs(value: Any, kind: Any) -> Any:
    """What came to a port, with an object in the place of each name of an asset that stands for Media."""
    inner = _inner_type(kind)
    if isinstance(value, str) and _is_media(kind):
        return {"mediaRef": value}
    if inner is None or value is None:
        return value
    if get_origin(kind) is list:
        return [expand_media_refs(each, inner) for each in value] if is_array(value) else value
    if get_origin(kind) is dict:
        return {name: expand_media_refs(each, inner) for name, each in value.items()} if is_object(value) else value
    return expand_media_refs(value, inner)


def _inner_type(kind: Any) -> Any:
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
    return getattr(kind, "__module__", "") == "weftwork.adapters.python.calls.media" and kind.__name__ == "Media"


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
