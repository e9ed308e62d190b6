"""Decorators that declare node types, and helpers for the JSON Schemas of ports and config."""

from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any, Final, ParamSpec, TypeVar

from msgspec.structs import replace

from weftwork.ports.node_outcome import NodeOutcome
from weftwork.ports.nodes import InstantNode, NodeCall, NodeContext, WaitingNode
from weftwork.protocol.expressions.expression import MAX_SOURCE
from weftwork.protocol.expressions.template import MAX_TEMPLATE
from weftwork.protocol.ids import ID_PATTERN
from weftwork.protocol.workflow.node_types import NodeDeclaration

Schema = dict[str, Any]
WaitingRun = Callable[[NodeCall, NodeContext], Awaitable[NodeOutcome]]
P = ParamSpec("P")
RunT = TypeVar("RunT")
NodeT = TypeVar("NodeT")

MAX_NAME: Final = 128
MAX_KEYED_MEMBERS: Final = 100


def _node_decorator(
    declare: Callable[P, NodeDeclaration], make: Callable[[NodeDeclaration, RunT], NodeT]
) -> Callable[P, Callable[[RunT], NodeT]]:
    def decorator(*arguments: P.args, **members: P.kwargs) -> Callable[[RunT], NodeT]:
        return partial(make, declare(*arguments, **members))

    return decorator


def _waiting(declaration: NodeDeclaration, run: WaitingRun) -> WaitingNode:
    return WaitingNode(replace(declaration, instant=False), run)


instant_node: Final = _node_decorator(NodeDeclaration, InstantNode)
"""Decorator that makes a function an InstantNode. Its arguments are those of NodeDeclaration."""
waiting_node: Final = _node_decorator(NodeDeclaration, _waiting)
"""Decorator that makes a coroutine function a WaitingNode. Its arguments are those of NodeDeclaration."""


def closed_object(*required: str, rules: Schema | None = None, **members: Schema) -> Schema:
    """An object with only these members; `rules` are additional keywords."""
    shape: Schema = {**port_schema(**members), "additionalProperties": False, **(rules or {})}
    return {**shape, "required": list(required)} if required else shape


def port_schema(**members: Schema) -> Schema:
    """Inputs or outputs by port. Other ports are allowed, because an edge can deliver to any port name."""
    return {"type": "object", "properties": members}


def fixed_ports(**members: Schema) -> Schema:
    """The complete outputs by port: the host refuses a definition that uses another port."""
    return closed_object(**members)


def any_value(description: str) -> Schema:
    return {"description": description}


def typed(kind: str, description: str, **rules: Any) -> Schema:
    """A value of a JSON type; `rules` are additional keywords."""
    return {"type": kind, **rules, "description": description}


def one_of(values: Iterable[str], description: str, **rules: Any) -> Schema:
    return typed("string", description, enum=list(values), **rules)


def expression_string(description: str) -> Schema:
    return name_string(description, MAX_SOURCE)


def template_string(description: str, least: int = 1, **rules: Any) -> Schema:
    return {**typed("string", description, minLength=least, maxLength=MAX_TEMPLATE), **rules}


def name_string(description: str, longest: int = MAX_NAME, **rules: Any) -> Schema:
    return {**typed("string", description, minLength=1, maxLength=longest), **rules}


def path_id_string(description: str) -> Schema:
    """An id that is allowed in a URL path."""
    return typed("string", description, pattern=ID_PATTERN)


def integer(least: int, most: int, description: str, **rules: Any) -> Schema:
    return {**typed("integer", description, minimum=least, maximum=most), **rules}


def keyed_object(each: Schema, description: str, *taken: str, least: int = 1) -> Schema:
    """An object with member names that the author chooses, except the names in `taken`."""
    names: Schema = {"minLength": 1, "maxLength": MAX_NAME}
    if taken:
        names["not"] = {"enum": list(taken)}
    return {
        "type": "object",
        "propertyNames": names,
        "additionalProperties": each,
        "minProperties": least,
        "maxProperties": MAX_KEYED_MEMBERS,
        "description": description,
    }


def variable_mapping(to: str, of: str, scope: str = "") -> Schema:
    """The schema of a mapping that sets variables of the run `to` from variables of the run `of`."""
    text = f"Variables of {to}, each with the name of the variable of {of} that it is set from.{scope}"
    return keyed_object(name_string(f"The name of the variable of {of}."), text, least=0)
