"""Files with workflow definitions: read, checked as a host would, and what a host says of them placed in their text."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from weftwork.cli.console.option_values import read_up_to
from weftwork.cli.console.text import clean
from weftwork.protocol.json.values import is_array, is_object

if TYPE_CHECKING:
    from weftwork.protocol.workflow.node_types import NodeDeclaration

# What else is needed is imported late: `workflows ls` and `run` of a workflow by its id need none of it.

Problems = list[dict[str, Any]]
"""Each with file, line, column, pointer and message."""


def read_definition(name: str) -> bytes:
    """At most one byte more than a definition may have; - is standard input."""
    from weftwork.protocol.workflow.registration import MAX_DEFINITION_BYTES

    return read_up_to(name, MAX_DEFINITION_BYTES)


def load_node_types(modules: tuple[str, ...]) -> Mapping[str, "NodeDeclaration"]:
    """The node types of the package, of installed ones and of these modules."""
    from weftwork.settings import SettingsError
    from weftwork.wiring.node_types import builtin_node_types, declarations_by_type, load_python_nodes

    try:
        written = [node.declaration for node in load_python_nodes(modules)]
    except SettingsError as error:
        raise click.UsageError(str(error)) from None
    return {**declarations_by_type(builtin_node_types()), **{each.type_id: each for each in written}}


def check_definition(name: str, types: Mapping[str, "NodeDeclaration"]) -> tuple[str, Problems]:
    """What there is in a good file, or what is wrong with a bad one."""
    from weftwork.cli.render.layout import count_summary, lay_out
    from weftwork.protocol.workflow.registration import find_problems

    try:
        document, problems = find_problems(read_definition(name), types)
    except OSError as error:
        return "", [unreadable_problem(name, error)]
    return (count_summary(lay_out(document)), []) if document is not None else ("", _problem_rows(name, problems))


def parse_definition(name: str, data: bytes) -> tuple[Any, Problems]:
    """The document, or why there is none. What it says is left to a host."""
    from weftwork.protocol.errors import ClientFault
    from weftwork.protocol.json.decoder import decode
    from weftwork.protocol.workflow.registration import MAX_DEFINITION_BYTES, check_shape

    try:
        if len(data) <= MAX_DEFINITION_BYTES:
            return decode(data), []
    except ClientFault:
        pass
    return None, _problem_rows(name, check_shape(data)[1])


def locate_problems(name: str, data: bytes, message: str, details: dict[str, Any]) -> Problems:
    """The problems that a refusal points at, in the order of the text; none if it points at nothing."""
    from weftwork.protocol.json.schema import Violation
    from weftwork.protocol.workflow.registration import locate_violations

    listed = details.get("violations")
    rows: list[Any] = listed if is_array(listed) and listed else [{**details, "message": message}]
    found = [
        Violation(row["pointer"], str(row.get("keyword", "")), clean(row.get("message", "is refused")))
        for row in rows
        if is_object(row) and isinstance(row.get("pointer"), str)
    ]
    return _problem_rows(name, locate_violations(data, found))


def unreadable_problem(name: str, error: OSError) -> dict[str, Any]:
    message = f"cannot be read: {error.strerror}"
    return {"file": name, "line": 1, "column": 1, "pointer": "", "message": message}


def problem_line(problem: dict[str, Any]) -> str:
    """A problem as one line."""
    where = f"{clean(problem['file'])}:{problem['line']}:{problem['column']}"
    return f"{where} {clean(problem['pointer']) or '/'}: {problem['message']}"


def require_valid_shape(name: str, data: bytes) -> dict[str, Any]:
    """A definition that can be drawn: its shape is right, whether or not this host could run it."""
    from weftwork.protocol.workflow.registration import check_shape

    document, problems = check_shape(data)
    if document is None:
        raise click.ClickException(
            f"{problem_line(_problem_rows(name, problems)[0])}; `weftwork workflows validate` tells more."
        )
    return document


def _problem_rows(name: str, problems: list[Any]) -> Problems:
    places = ("line", "column", "pointer", "message")
    return [{"file": name, **{each: getattr(problem, each) for each in places}} for problem in problems]
