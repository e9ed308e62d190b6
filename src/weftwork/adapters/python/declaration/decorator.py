"""The decorator that makes a node of a function."""

import inspect
import re
from collections.abc import Callable
from types import FrameType, FunctionType
from typing import Any, Final, TypeVar, get_args

import msgspec

from weftwork.adapters.python.declaration.signature import Function, Signature, SignatureError, read_signature
from weftwork.protocol.workflow.node_types import Effect, NodeDeclaration

F = TypeVar("F", bound=Callable[..., Any])

NODE_ATTRIBUTE: Final = "__weftwork_node__"
"""The attribute of a function that is a node."""
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
    """A function that is a node: what it declares, how it is called, and where it stands."""

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
    heartbeat_timeout: float | None = None,
) -> Callable[[F], F]:
    """Make a node type of an async or plain function `(ctx, ports..., *, config)`.

    The function stays what it is and can be called as before. What cannot work is refused here, with the place.
    """
    if not isinstance(type_id, str):
        raise TypeError('the decorator takes the type id of the node: @weftwork.node("acme.score")')
    here = inspect.currentframe()
    names, around = _caller_locals(here), _caller_place(here)
    del here

    def declare(function: F) -> F:
        place = place_of(function) or around
        try:
            _check_declaration(function, type_id, version, effect)
            _check_numbers(concurrency, heartbeat_timeout, requires)
            signature = read_signature(function, names)
        except SignatureError as refused:
            raise TypeError(f"{place}: {_function_name(function)} cannot be the node {type_id!r}: {refused}") from None
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
    """The node that a function is, if it is one."""
    found = getattr(function, NODE_ATTRIBUTE, None)
    return found if isinstance(found, NodeFunction) else None


def place_of(function: Any) -> str:
    """File and line of a function; empty for what is none."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code is not None else ""


def _check_declaration(function: Any, type_id: str, version: Any, effect: Any) -> None:
    """Raises SignatureError for a function that cannot be a node, ValueError for what the decorator cannot take."""
    if len(type_id) > MAX_TYPE_ID or _TYPE_ID.fullmatch(type_id) is None:
        raise ValueError(
            f"{type_id!r} is no type id: it starts with a small letter, goes on with letters, digits, dots, "
            f"dashes and underscores, and has up to {MAX_TYPE_ID} of them"
        )
    if "." not in type_id:
        raise ValueError(f"{type_id!r} has no prefix of your own; write one such as acme.{type_id}")
    if type_id.startswith(RESERVED_PREFIXES):
        raise ValueError(f"{type_id!r}: names in {' '.join(RESERVED_PREFIXES)} are taken; use a prefix of your own")
    if not isinstance(version, str) or _VERSION.fullmatch(version) is None:
        raise ValueError(f"{version!r} is no version; write one such as 1.0.0")
    if effect not in get_args(Effect):
        raise ValueError(f"{effect!r} is no effect; there are {', '.join(get_args(Effect))}")
    if not isinstance(function, FunctionType):
        raise SignatureError("it is no function; decorate one made with def or async def")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise SignatureError("it yields; a node returns what it gives")
    known = node_of(function)
    if known is not None:
        raise SignatureError(f"it is the node {known.declaration.type_id!r} already")


def _check_numbers(concurrency: Any, heartbeat_timeout: Any, requires: Any) -> None:
    if not isinstance(concurrency, int) or concurrency < 0:
        raise ValueError("concurrency is 0 for no limit, or how many may run at once")
    if heartbeat_timeout is not None and not (isinstance(heartbeat_timeout, int | float) and heartbeat_timeout > 0):
        raise ValueError("heartbeat_timeout takes seconds, more than none")
    if isinstance(requires, str) or not all(isinstance(name, str) for name in requires):
        raise ValueError("requires takes a list of names")


def _caller_locals(frame: FrameType | None) -> dict[str, Any]:
    """Names of the function around a decorated one, which its annotations may use."""
    around = frame.f_back if frame is not None else None
    return dict(around.f_locals) if around is not None and around.f_locals is not around.f_globals else {}


def _caller_place(frame: FrameType | None) -> str:
    """Where the decorator is called."""
    around = frame.f_back if frame is not None else None
    return f"{around.f_code.co_filename}:{around.f_lineno}" if around is not None else ""


def _function_name(function: Any) -> str:
    return getattr(function, "__qualname__", None) or repr(function)
