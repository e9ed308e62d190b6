"""Directives: what a model is told about the form of its answer, before its first attempt."""

from typing import Any, Final, Literal

from weftwork.protocol.envelope.corrective import shown_schema
from weftwork.protocol.json_value import is_object

PROMPT_DIRECTIVE: Final[Literal["mandatory", "advisory", "off"]] = "advisory"
"""RFC 0030: a model is asked to give its reasoning where the schema has a place for it, and may leave it out."""

_ONLY: Final = "Answer with one JSON value and nothing else: no words around it, no code fence."
_REASONING: Final = (
    "If it helps, put your reasoning into the member `reasoning`, before the other members. It is read by people, and "
    "nothing is decided by it; leave it out if you have nothing to say there. Put no secrets into it."
)


def envelope_directive(kind: str, version: int, schema: dict[str, Any], reasoning: bool) -> str:
    """rel-12 (RFC 0030): asks for an envelope of a kind. `reasoning`: whether to ask for it where the schema has it."""
    lines = [
        f"Your answer is an envelope of the kind {kind}, version {version}.",
        f'{_ONLY} It is {{"type": "{kind}", "payload": …}}, or the payload alone; the payload has to fit the schema.',
    ]
    if reasoning and declares_reasoning(schema):
        lines.append(_REASONING)
    return "\n".join([*lines, shown_schema(schema)])


def output_directive(schema: dict[str, Any]) -> str:
    """rel-12: asks for a value that fits a schema."""
    return "\n".join([f"{_ONLY} It has to fit the schema.", shown_schema(schema)])


def declares_reasoning(schema: dict[str, Any]) -> bool:
    """Whether a payload may have a member `reasoning` at its top."""
    properties = schema.get("properties")
    return is_object(properties) and "reasoning" in properties
