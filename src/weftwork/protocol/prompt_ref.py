"""References to prompt templates: where a node names them, and in which forms. Source: RFC 0027 B."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal

import msgspec

from weftwork.protocol.json_value import is_array, is_object

PromptKind = Literal["system", "user", "few-shot", "schema-hint"]
PROMPT_KINDS: Final[tuple[PromptKind, ...]] = ("system", "user", "few-shot", "schema-hint")
ORDER: Final[tuple[PromptKind, ...]] = ("system", "schema-hint", "few-shot", "user")
"""In which a model is told them."""
SINGLE: Final[dict[PromptKind, str]] = {
    "system": "systemPromptRef",
    "schema-hint": "schemaHintPromptRef",
    "user": "userPromptRef",
}
"""The members of a node's config that hold one reference."""
FEW_SHOT: Final = "fewShotPromptRefs"
MORE: Final = "additionalPromptRefs"
"""Lists of references; those of the second are of whatever kind their templates are."""
MEMBERS: Final = (*SINGLE.values(), FEW_SHOT, MORE)
MOST_REFS: Final = 32
"""In a list."""

_ID: Final = "[a-z0-9][a-z0-9._-]{0,127}"
_VERSION: Final = r"[0-9]+\.[0-9]+\.[0-9]+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?"


class PromptRef(msgspec.Struct, frozen=True):
    """Names a template; without a version its highest one."""

    template_id: str
    version: str | None = None
    library_id: str | None = None
    overrides: dict[str, Any] = {}
    """Values of its variables, over whatever else would be bound to them."""

    @property
    def text(self) -> str:
        """prompt-01 (RFC 0027 B): the form that events hold."""
        return f"prompt:{self.template_id}{f'@{self.version}' if self.version is not None else ''}"


REF: Final[dict[str, Any]] = {
    "anyOf": [
        {"type": "string", "maxLength": 512, "pattern": f"^prompt:{_ID}(?:@{_VERSION})?$"},
        {
            "type": "object",
            "required": ["templateId"],
            "properties": {
                "libraryId": {"type": "string", "pattern": f"^{_ID}$"},
                "templateId": {"type": "string", "pattern": f"^{_ID}$"},
                "version": {"type": "string", "maxLength": 256, "pattern": f"^{_VERSION}$"},
                "variableOverrides": {"type": "object", "maxProperties": 100},
            },
            "additionalProperties": False,
        },
    ]
}
"""prompt-01 (RFC 0027 B): a reference in a config, as a text or as an object."""


def parse_ref(given: Any) -> PromptRef:
    """prompt-01 (RFC 0027 B): the reference that a value is which fits REF."""
    if isinstance(given, str):
        template_id, _, version = given.removeprefix("prompt:").partition("@")
        return PromptRef(template_id, version or None)
    return PromptRef(
        given["templateId"], given.get("version"), given.get("libraryId"), given.get("variableOverrides", {})
    )


def refs_of(config: Mapping[str, Any]) -> Iterator[tuple[PromptKind | None, PromptRef]]:
    """The references of a node's config, each with its kind; None is that of its template."""
    for kind, member in SINGLE.items():
        if member in config:
            yield kind, parse_ref(config[member])
    lists: tuple[tuple[PromptKind | None, str], ...] = (("few-shot", FEW_SHOT), (None, MORE))
    for kind, member in lists:
        listed: Any = config.get(member)
        for given in listed if is_array(listed) else ():
            yield kind, parse_ref(given)


def defaults_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """The references that a workflow has for nodes that name none, by kind."""
    found: Any = document.get("defaults", {}).get("promptRefs")
    return found if is_object(found) else {}


def composes(config: Mapping[str, Any], defaults: Mapping[str, Any]) -> bool:
    """Whether a node that can be told by templates is."""
    return bool(defaults) or any(member in config for member in MEMBERS)
