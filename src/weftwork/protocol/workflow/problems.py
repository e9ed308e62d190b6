"""The problems that keep the text of a workflow definition from being registered, with the line and column of each."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json import schema
from weftwork.protocol.json.decoder import decode
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.json.source_locations import locate, locate_syntax_error
from weftwork.protocol.workflow.node_types import NodeDeclaration
from weftwork.protocol.workflow.plan import plan_workflow
from weftwork.protocol.workflow.validation import parse_workflow

MAX_DEFINITION_BYTES: Final = 16 * 2**20

_NAME_RULES: Final = frozenset({"additionalProperties", "unevaluatedProperties", "propertyNames"})


class Problem(msgspec.Struct, frozen=True):
    """One problem and its place. Holds nothing that was written in the text."""

    line: int
    column: int
    pointer: str
    message: str


def find_problems(data: bytes, types: Mapping[str, NodeDeclaration]) -> tuple[dict[str, Any] | None, list[Problem]]:
    """The definition, or what keeps a host with these node types from registering it, in the order of the text.

    Shape comes first: what only a document of the right shape can be asked is asked when the shape is right.
    """
    document, problems = check_shape(data)
    if document is None:
        return None, problems
    workflow, violations = parse_workflow(document, types)
    if workflow is not None:
        _, violations = plan_workflow(workflow)
    return (None, locate_violations(data, violations)) if violations else (document, [])


def check_shape(data: bytes) -> tuple[dict[str, Any] | None, list[Problem]]:
    """The document if it has the shape of a definition, or what is wrong with it."""
    if len(data) > MAX_DEFINITION_BYTES:
        return None, [Problem(1, 1, "", f"is larger than {MAX_DEFINITION_BYTES} bytes")]
    try:
        document: Any = decode(data)
    except ClientFault as fault:
        pointer: str = (fault.details or {}).get("pointer", "")
        line, column = locate(data, [pointer], [pointer])[pointer] if pointer else locate_syntax_error(data)
        return None, [Problem(line, column, pointer, fault.message)]
    violations = schema.check("workflow-definition", document)
    return (None, locate_violations(data, violations)) if violations else (document, [])


def locate_violations(data: bytes, violations: list[Violation]) -> list[Problem]:
    """The violations with their places in the text, in its order."""
    members = {each.pointer for each in violations if each.rule in _NAME_RULES}
    places = locate(data, (each.pointer for each in violations), members)
    found = [Problem(*places[each.pointer], each.pointer, each.message) for each in violations]
    return sorted(found, key=lambda each: (each.line, each.column))
