"""Workflow definition files: reads and validates them as a host does, and locates a host's violations in their text."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from weftwork.cli.console.option_values import read_up_to
from weftwork.cli.console.text import clean
from weftwork.protocol.json.values import is_array, is_object

if TYPE_CHECKING:
    from weftwork.protocol.workflow.node_types import NodeDeclaration

# Other imports are late: `workflows ls` and `run` with a workflow id do not need them.

Problems = list[dict[str, Any]]
"""Each with file, line, column, pointer and message."""


def read_definition(name: str) -> bytes:
    """The bytes of the file, at most one more than a definition may have; - is standard input. Raises OSError."""
    from weftwork.protocol.workflow.registration import MAX_DEFINITION_BYTES

    return read_up_to(name, MAX_DEFINITION_BYTES)


def load_node_types(modules: tuple[str, ...]) -> Mapping[str, "NodeDeclaration"]:
    """The built-in node types, those of installed packages, and those of the modules. Raises UsageError."""
    from weftwork.settings import SettingsError
    from weftwork.wiring.node_types import builtin_node_types, declarations_by_type, load_python_nodes

    try:
        written = [node.declaration for node in load_python_nodes(modules)]
    except SettingsError as error:
        raise click.UsageError(str(error)) from None
    return {**declarations_by_type(builtin_node_types()), **{each.type_id: each for each in written}}


def check_definition(name: str, types: Mapping[str, "NodeDeclaration"]) -> tuple[str, Problems]:
    """A summary of a valid definition and no problems, or an empty summary and the problems."""
    from weftwork.cli.render.layout import count_summary, lay_out
    from weftwork.protocol.workflow.registration import find_problems

    try:
        document, problems = find_problems(read_definition(name), types)
    except OSError as error:
        return "", [unreadable_problem(name, error)]
    return (count_summary(lay_out(document)), []) if document is not None else ("", _problem_rows(name, problems))


def parse_definition(name: str, data: bytes) -> tuple[Any, Problems]:
    """The decoded document, or the problems that prevent decoding. The content is not validated."""
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
    """The violations of a host's error with their lines and columns, in file order; none if it has no pointer."""
    from weftwork.protocol.json.schema import Violation
    from weftwork.protocol.workflow.registration import locate_violations

    listed = details.get("violations")
    rows: list[Any] = listed if is_array(listed) and listed else [{**details, "message": message}]
    violations = [
        Violation(row["pointer"], str(row.get("keyword", "")), clean(row.get("message", "is refused")))
        for row in rows
        if is_object(row) and isinstance(row.get("pointer"), str)
    ]
    return _problem_rows(name, locate_violations(data, violations))


def unreadable_problem(name: str, error: OSError) -> dict[str, Any]:
    message = f"cannot be read: {error.strerror}"
    return {"file": name, "line": 1, "column": 1, "pointer": "", "message": message}


def problem_line(problem: dict[str, Any]) -> str:
    """FILE:LINE:COLUMN POINTER: MESSAGE."""
    where = f"{clean(problem['file'])}:{problem['line']}:{problem['column']}"
    return f"{where} {clean(problem['pointer']) or '/'}: {problem['message']}"


def require_valid_shape(name: str, data: bytes) -> dict[str, Any]:
    """The document, if it matches the schema of a definition, even if no host could run it. Raises ClickException."""
    from weftwork.protocol.workflow.registration import check_shape

    document, problems = check_shape(data)
    if document is None:
        raise click.ClickException(
            f"{problem_line(_problem_rows(name, problems)[0])}; `weftwork workflows validate` lists all problems."
        )
    return document


def _problem_rows(name: str, problems: list[Any]) -> Problems:
    places = ("line", "column", "pointer", "message")
    return [{"file": name, **{each: getattr(problem, each) for each in places}} for problem in problems]
