"""Reads the signature of a node function: its input ports, its config, its outputs, and their JSON Schemas.

An input port annotated with Media also accepts the mediaRef of an asset (`accept_media_refs`, `expand_media_refs`).
Media is recognised by its name, because importing a module with nodes must not import the code that runs them.
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
_NO_CONTEXT: Final = "the first parameter must be the context: def name(ctx, ...)"
_NO_MEMBERS: Final[dict[str, Any]] = {"type": "object", "properties": {}, "additionalProperties": False}
_MEDIA_REF: Final[Any] = Annotated[
    str, msgspec.Meta(pattern=MEDIA_REF_PATTERN, description="The mediaRef of an asset.")
]


class SignatureError(Exception):
    """The function cannot be a node. The message says how to change its signature."""


class Signature(msgspec.Struct, frozen=True):
    """The parameters and the result of a node function.

    ports: the types of the input ports by name. inputs_type: the type of the parameter `inputs`, which gets all ports.
    config: the type of `config`, or None without that parameter.
    return_kind: `record` and `mapping` return the output ports by name, `value` returns the port `output`, `nothing`
    has no outputs, and for `any` each returned value decides.
    """

    ports: dict[str, Any]
    inputs_type: Any
    config: Any
    return_kind: ReturnKind
    inputs_schema: dict[str, Any]
    outputs_schema: dict[str, Any]
    config_schema: dict[str, Any]


def read_signature(function: Function, names: dict[str, Any]) -> Signature:
    """Read the signature of a function. Its annotations can use its globals and `names`. Raises SignatureError."""
    parameters = list(inspect.signature(function).parameters.values())
    if not parameters or parameters[0].kind not in _POSITIONAL:
        raise SignatureError(_NO_CONTEXT)
    _check_context(function, parameters[0], names)
    ports, config = _split_parameters(parameters[1:])
    kinds = {each.name: _annotation(function, each.name, each.annotation, names) for each in parameters[1:]}
    config_schema = _schema("config", lambda: _config(kinds[config.name])) if config is not None else dict(_NO_MEMBERS)
    return_type = _annotation(function, "return", inspect.signature(function).return_annotation, names)
    return_kind, outputs_schema = _outputs(return_type)
    inputs_type, inputs_schema = _inputs(ports, kinds)
    return Signature(
        ports={each.name: kinds[each.name] for each in ports} if inputs_type is None else {},
        inputs_type=inputs_type,
        config=kinds[config.name] if config is not None else None,
        return_kind=return_kind,
        inputs_schema=inputs_schema,
        outputs_schema=outputs_schema,
        config_schema=config_schema,
    )


def _check_context(function: Function, first: inspect.Parameter, names: dict[str, Any]) -> None:
    """Raises SignatureError if the annotation of the first parameter is not a context type.

    A plain function can use the annotation Context as well; it gets a PlainContext anyway.
    """
    kind: Any = Any
    try:
        kind = _annotation(function, first.name, first.annotation, names)
        type_names = {_context_name(each) for each in typing.get_args(kind) or (kind,)}
    except SignatureError:
        # The name exists only for type checkers, under `if TYPE_CHECKING`.
        type_names = {str(first.annotation).rpartition(".")[2]}
    if "Context" in type_names or ("PlainContext" in type_names and not inspect.iscoroutinefunction(function)):
        return
    if "PlainContext" in type_names:
        raise SignatureError("an async function gets a Context, not a PlainContext; change the annotation to Context")
    if inspect.isclass(kind) and kind not in (Any, object) and not getattr(kind, "_is_protocol", False):
        raise SignatureError(f"{_NO_CONTEXT}, but {first.name} is annotated as {kind.__name__}")


def _context_name(kind: Any) -> str:
    """The name of a context type, or an empty text. The type is recognised by name, without importing its module."""
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
                raise SignatureError("config must be keyword-only: def name(ctx, ..., *, config)")
            case inspect.Parameter.KEYWORD_ONLY if each.name == "config":
                config = each
            case inspect.Parameter.KEYWORD_ONLY:
                raise SignatureError(
                    f"{each.name} is keyword-only, but only config can be; move input ports before the star"
                )
            case inspect.Parameter.POSITIONAL_ONLY:
                raise SignatureError(
                    f"{each.name} is positional-only, but only the context can be; move input ports behind the slash"
                )
            case _:
                raise SignatureError(f"{each} is not supported; use the parameter inputs: dict to get all ports")
    return ports, config


def _annotation(function: Function, name: str, kind: Any, names: dict[str, Any]) -> Any:
    """The type of an annotation, with forward references resolved. Raises SignatureError."""
    if kind is inspect.Parameter.empty:
        return Any
    holder = types.SimpleNamespace(__annotations__={name: kind})
    module_names = getattr(function, "__globals__", {})
    try:
        return typing.get_type_hints(holder, module_names, names, include_extras=True)[name]
    except Exception as error:
        raise SignatureError(f"the annotation of {name} cannot be resolved: {error}") from None


def _schema(what: str, make: Callable[[], Any]) -> Any:
    try:
        return make()
    except SignatureError:
        raise
    except Exception as error:
        reason = str(error).strip().splitlines()[-1]
        raise SignatureError(f"{what} has an annotation that cannot be expressed as JSON Schema: {reason}") from None


def _inputs(ports: list[inspect.Parameter], kinds: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The type of the parameter `inputs`, or None without it, and the schema of the inputs."""
    names = [each.name for each in ports]
    if "inputs" in names:
        kind = kinds["inputs"]
        if names != ["inputs"]:
            raise SignatureError("inputs contains all ports, so it cannot be combined with other ports")
        if kind is Any:
            return dict[str, Any], {"type": "object"}
        if not is_record(kind) and not is_mapping(kind):
            raise SignatureError(f"inputs contains all ports, so its annotation must be {_OBJECT_TYPES}")
        return kind, _schema("inputs", lambda: object_schema(kind))
    for name in names:
        _schema(name, lambda name=name: schemas_for([kinds[name]]))
    defaults = {each.name: _default(each, kinds) for each in ports if each.default is not inspect.Parameter.empty}
    return None, _schema(
        "an input",
        lambda: ports_schema({name: accept_media_refs(kinds[name]) for name in names}, defaults),
    )


def _default(port: inspect.Parameter, kinds: dict[str, Any]) -> Any:
    """The default of a port as JSON for the schema, or UNSET if it has no JSON form.

    Raises SignatureError if the default does not match the annotation.
    """
    value, kind = port.default, kinds[port.name]
    if value is msgspec.UNSET and msgspec.UnsetType in typing.get_args(kind):
        return value
    try:
        document = as_json(value)
    except NotJson:
        document = msgspec.UNSET
    try:
        # A value without a JSON form can still match its annotation.
        msgspec.convert(value, kind) if document is msgspec.UNSET else convert(document, kind)
    except msgspec.ValidationError:
        hint = f"; write {port.name}: ... | None" if value is None else ""
        raise SignatureError(f"the default of {port.name} does not match its annotation{hint}") from None
    return document


def _config(kind: Any) -> dict[str, Any]:
    if kind is Any or is_mapping(kind):
        return {"type": "object"} if kind is Any else object_schema(kind)
    if not is_record(kind):
        raise SignatureError(f"the annotation of config must be {_OBJECT_TYPES}")
    # Closed, so that a misspelt member is refused when the workflow is registered.
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
    """The annotation of a port, extended so that a mediaRef is accepted in place of Media.

    Applies to Media, `Media | None`, lists of Media and dicts of Media. Any other annotation is returned unchanged.
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
    """The value of a port, with each mediaRef that stands for Media replaced by an object."""
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
    """The type of the items of a list, of the members of a dict, or of an optional value; otherwise None."""
    origin, args = get_origin(kind), get_args(kind)
    if origin is list and args:
        return args[0]
    if origin is dict and args and args[0] is str:
        return args[1]
    some = [each for each in args if each is not type(None)]
    return some[0] if origin in (Union, types.UnionType) and len(some) == 1 < len(args) else None


def _is_media(kind: Any) -> bool:
    """Recognised by name, without importing the module of Media."""
    return getattr(kind, "__module__", "") == "weftwork.adapters.python.calls.media" and kind.__name__ == "Media"


def schemas_for(kinds: list[Any]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The schema of each type, and their shared definitions. Raises TypeError for a type without a JSON form."""
    schemas, shared = msgspec.json.schema_components(kinds, ref_template=_REFERENCE + "{name}")
    return [dict(each) for each in schemas], shared


def object_schema(kind: Any) -> dict[str, Any]:
    """The schema of an object type with its members at the root instead of behind a $ref. Raises TypeError."""
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

    A default is JSON, or msgspec.UNSET if it has no JSON form.
    """
    schemas, shared = schemas_for(list(members.values()))
    properties = dict(zip(members, schemas, strict=True))
    for name, default in defaults.items():
        if default is not msgspec.UNSET:
            properties[name]["default"] = default
    shape: dict[str, Any] = {"type": "object", "properties": properties}
    required = [name for name in members if name not in defaults]
    if required:
        shape["required"] = required
    return {**shape, "$defs": shared} if shared else shape


def is_record(kind: Any) -> bool:
    """Whether the type is a struct, dataclass or TypedDict whose JSON form is an object."""
    plain: Any = unwrap_type(kind)
    if inspect.isclass(plain) and issubclass(plain, msgspec.Struct):
        return not plain.__struct_config__.array_like
    return inspect.isclass(plain) and (dataclasses.is_dataclass(plain) or _is_typed_dict(plain))


def is_mapping(kind: Any) -> bool:
    """Whether the type is a dict or another Mapping, with any member names."""
    plain: Any = unwrap_type(kind)
    return inspect.isclass(plain) and not _is_typed_dict(plain) and issubclass(plain, Mapping)


def _is_typed_dict(kind: Any) -> bool:
    """Also recognises TypedDict of typing_extensions."""
    return hasattr(kind, "__total__") and issubclass(kind, dict)


def unwrap_type(kind: Any) -> Any:
    """The type without Annotated and without its type arguments."""
    while get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    return get_origin(kind) or kind


def _refers_to(schema: Any, name: str) -> bool:
    return f'"{_REFERENCE}{name}"'.encode() in encode_stored(schema)
