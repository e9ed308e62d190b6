"""The decorator @weftwork.node, which declares a function as a node type."""

import inspect
import re
from collections.abc import Callable
from types import FrameType, FunctionType
from typing import Any, Final, TypeVar, cast, get_args

import msgspec

from weftwork.adapters.python.declaration.signature import Function, Signature, SignatureError, read_signature
from weftwork.protocol.models.capability_gate import ModelRef, requirement_problem
from weftwork.protocol.workflow.node_types import Effect, NodeDeclaration

F = TypeVar("F", bound=Callable[..., Any])

NODE_ATTRIBUTE: Final = "__weftwork_node__"
"""The attribute of a decorated function that holds its NodeFunction."""
MAX_TYPE_ID: Final = 128
RESERVED_PREFIXES: Final = ("core.", "openwop.", "conformance.", "local.", "weftwork.")

_TYPE_ID: Final = re.compile(r"[a-z][a-zA-Z0-9._-]*")
_VERSION: Final = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    r"(-((0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?"
    r"(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?",
    re.ASCII,
)


class NodeFunction(msgspec.Struct, frozen=True):
    """A decorated function: its declaration, its signature, and its place (file and line)."""

    function: Function
    declaration: NodeDeclaration
    signature: Signature
    is_async: bool
    heartbeat_timeout: float | None
    place: str


def node(
    type_id: str | None = None,
    *,
    version: str = "1.0.0",
    effect: Effect = "pure",
    title: str | None = None,
    concurrency: int = 0,
    requires: tuple[str, ...] | list[str] = (),
    required_model_capabilities: tuple[str, ...] | list[str] = (),
    fallback_model: str | None = None,
    heartbeat_timeout: float | None = None,
) -> Callable[[F], F]:
    """Declare an async or plain function `(ctx, ports..., *, config)` as a node type.

    `required_model_capabilities` are the capabilities that the model of a node must have, and `fallback_model`, as
    PROVIDER/MODEL, the model for a node whose selected model lacks one. The function itself is not changed and can
    still be called directly. Raises TypeError or ValueError, with the file and line of the function, if the declaration
    is invalid.
    """
    if not isinstance(type_id, str):
        raise TypeError('the decorator needs the type id of the node: @weftwork.node("acme.score")')
    here = inspect.currentframe()
    names, around = _caller_locals(here), _caller_place(here)
    del here

    def declare(function: F) -> F:
        place = place_of(function) or around
        try:
            _check_declaration(function, type_id, version, effect)
            _check_numbers(concurrency, heartbeat_timeout, requires)
            fallback = _check_model_needs(required_model_capabilities, fallback_model)
            signature = read_signature(function, names)
        except SignatureError as error:
            raise TypeError(f"{place}: {_function_name(function)} cannot be the node {type_id!r}: {error}") from None
        except ValueError as error:
            raise ValueError(f"{place}: {_function_name(function)}: {error}") from None
        text = inspect.getdoc(function) or ""
        is_async = inspect.iscoroutinefunction(function)
        declaration = NodeDeclaration(
            type_id,
            title or text.partition("\n")[0].strip() or type_id,
            effect=effect,
            instant=False,
            resumes_after_crash=False,
            holds_thread=not is_async,
            concurrency=concurrency,
            source=f"{function.__module__}:{_function_name(function)}",
            version=version,
            requires=tuple(requires),
            required_model_capabilities=tuple(required_model_capabilities),
            fallback_model=fallback,
            inputs=signature.inputs_schema,
            outputs=signature.outputs_schema,
            config=signature.config_schema,
            notes=text,
        )
        setattr(
            function, NODE_ATTRIBUTE, NodeFunction(function, declaration, signature, is_async, heartbeat_timeout, place)
        )
        return function

    return declare


def node_of(function: Any) -> NodeFunction | None:
    """The node that the decorator attached to a function, or None."""
    attached = getattr(function, NODE_ATTRIBUTE, None)
    return attached if isinstance(attached, NodeFunction) else None


def place_of(function: Any) -> str:
    """File and line of a function; an empty text for any other object."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code is not None else ""


def _check_declaration(function: Any, type_id: str, version: Any, effect: Any) -> None:
    """Raises SignatureError if the function cannot be a node, ValueError for an invalid argument of the decorator."""
    if len(type_id) > MAX_TYPE_ID or _TYPE_ID.fullmatch(type_id) is None:
        raise ValueError(
            f"{type_id!r} is not a valid type id: it must begin with a lowercase letter, contain only letters, digits, "
            f"dots, dashes and underscores, and have up to {MAX_TYPE_ID} characters"
        )
    if "." not in type_id:
        raise ValueError(f"{type_id!r} has no prefix; add your own, such as acme.{type_id}")
    if type_id.startswith(RESERVED_PREFIXES):
        raise ValueError(f"{type_id!r}: the prefixes {' '.join(RESERVED_PREFIXES)} are reserved; use your own prefix")
    if not isinstance(version, str) or _VERSION.fullmatch(version) is None:
        raise ValueError(f"{version!r} is not a valid version; use a semantic version such as 1.0.0")
    if effect not in get_args(Effect):
        raise ValueError(f"{effect!r} is not a valid effect; use one of {', '.join(get_args(Effect))}")
    if not isinstance(function, FunctionType):
        raise SignatureError("it is not a function; decorate a function made with def or async def")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise SignatureError("it is a generator; a node must return its outputs")
    known = node_of(function)
    if known is not None:
        raise SignatureError(f"it is already the node {known.declaration.type_id!r}")


def _check_numbers(concurrency: Any, heartbeat_timeout: Any, requires: Any) -> None:
    if not isinstance(concurrency, int) or concurrency < 0:
        raise ValueError("concurrency must be an integer of 0 or more; 0 means no limit")
    if heartbeat_timeout is not None and not (isinstance(heartbeat_timeout, int | float) and heartbeat_timeout > 0):
        raise ValueError("heartbeat_timeout must be a number of seconds greater than 0")
    if isinstance(requires, str) or not all(isinstance(name, str) for name in requires):
        raise ValueError("requires must be a list of capability names")


def _check_model_needs(required: Any, fallback: Any) -> ModelRef | None:
    """The fallback model. Raises ValueError for invalid requirements."""
    if not isinstance(required, tuple | list):
        raise ValueError("required_model_capabilities must be a list of capability names")
    if fallback is None:
        ref = None
    elif isinstance(fallback, str):
        provider, _, model = fallback.partition("/")
        ref = ModelRef(provider, model)
    else:
        raise ValueError('fallback_model must be a text such as "local/tiny": a provider, a slash and a model')
    problem = requirement_problem(tuple(cast("list[str]", required)), ref)
    if problem is not None:
        raise ValueError(problem)
    return ref


def _caller_locals(frame: FrameType | None) -> dict[str, Any]:
    """The local names of the calling function, which annotations of a nested function can use."""
    around = frame.f_back if frame is not None else None
    return dict(around.f_locals) if around is not None and around.f_locals is not around.f_globals else {}


def _caller_place(frame: FrameType | None) -> str:
    """File and line of the call of the decorator."""
    around = frame.f_back if frame is not None else None
    return f"{around.f_code.co_filename}:{around.f_lineno}" if around is not None else ""


def _function_name(function: Any) -> str:
    return getattr(function, "__qualname__", None) or repr(function)
