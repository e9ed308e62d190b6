"""How node types are declared: decorators that make a function one, and the schemas that they share."""

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
"""Makes an InstantNode of a function; the arguments are those of NodeDeclaration."""
waiting_node: Final = _node_decorator(NodeDeclaration, _waiting)
"""The same with a WaitingNode, whose `instant` is false."""


def closed_object(*required: str, rules: Schema | None = None, **members: Schema) -> Schema:
    """An object with these members and no others; `rules` are further keywords."""
    found: Schema = {**port_schema(**members), "additionalProperties": False, **(rules or {})}
    return {**found, "required": list(required)} if required else found


def port_schema(**members: Schema) -> Schema:
    """Inputs or outputs by port. Others may be there too, because an edge brings a value under any name."""
    return {"type": "object", "properties": members}


def fixed_ports(**members: Schema) -> Schema:
    """Outputs by port, all that there are: a definition that names another is refused."""
    return closed_object(**members)


def any_value(description: str) -> Schema:
    """Any JSON value."""
    return {"description": description}


def typed(kind: str, description: str, **rules: Any) -> Schema:
    """A value of that type; `rules` are further keywords."""
    return {"type": kind, **rules, "description": description}


def one_of(values: Iterable[str], description: str, **rules: Any) -> Schema:
    """One of these texts."""
    return typed("string", description, enum=list(values), **rules)


def expression_string(description: str) -> Schema:
    return name_string(description, MAX_SOURCE)


def template_string(description: str, least: int = 1, **rules: Any) -> Schema:
    return {**typed("string", description, minLength=least, maxLength=MAX_TEMPLATE), **rules}


def name_string(description: str, longest: int = MAX_NAME, **rules: Any) -> Schema:
    return {**typed("string", description, minLength=1, maxLength=longest), **rules}


def path_id_string(description: str) -> Schema:
    """An id that can stand in a path."""
    return typed("string", description, pattern=ID_PATTERN)


def integer(least: int, most: int, description: str, **rules: Any) -> Schema:
    return {**typed("integer", description, minimum=least, maximum=most), **rules}


def keyed_object(each: Schema, description: str, *taken: str, least: int = 1) -> Schema:
    """An object whose member names are chosen by the author, except for the names that are taken."""
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
    """By which variables of one run get the values of another's."""
    text = f"Variable of {to} -> variable of {of} whose value it gets{scope}."
    return keyed_object(name_string(f"The variable of {of}."), text, least=0)
