"""Prompt templates: named, versioned texts with variables. Source: RFC 0027 A."""

import re
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from weftwork.protocol import schema
from weftwork.protocol.prompt_ref import PROMPT_KINDS, PromptKind, PromptRef
from weftwork.protocol.schema import Violation

MAX_TEXT: Final = 65_536
SOURCES: Final = ("input", "variable", "context")
"""Where values come from that are bound to variables. Secrets are none of them: this host keeps none."""
_ID: Final = "^[a-z0-9][a-z0-9._-]{0,127}$"
_VERSION: Final = r"^[0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9}(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$"
_PARTS: Final = re.compile(r"([0-9]+)\.([0-9]+)\.([0-9]+)(?:-([0-9A-Za-z.-]+))?(?:\+.*)?")


class PromptVariable(msgspec.Struct, frozen=True, rename="camel"):
    """A place in a text."""

    name: str
    type: str = "string"
    required: bool = False
    source: str = "input"
    extract_path: str | None = None
    default_value: Any = msgspec.UNSET


class PromptTemplate(msgspec.Struct, frozen=True, rename="camel"):
    """One version of a template."""

    template_id: str
    version: str
    kind: PromptKind
    text: str
    variables: tuple[PromptVariable, ...] = ()

    @property
    def ref(self) -> PromptRef:
        return PromptRef(self.template_id, self.version)


TEMPLATE: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["templateId", "version", "kind", "text"],
    "properties": {
        "templateId": {"type": "string", "pattern": _ID},
        "version": {"type": "string", "maxLength": 128, "pattern": _VERSION},
        "kind": {"enum": list(PROMPT_KINDS)},
        "text": {"type": "string", "maxLength": MAX_TEXT},
        "name": {"type": "string", "maxLength": 200},
        "description": {"type": "string", "maxLength": 2000},
        "variables": {
            "type": "array",
            "maxItems": 100,
            "items": {
                "type": "object",
                "required": ["name", "type", "required"],
                "properties": {
                    "name": {"type": "string", "pattern": "^[a-zA-Z_][a-zA-Z0-9_]{0,63}$"},
                    "type": {"enum": ["string", "number", "boolean", "array", "object"]},
                    "required": {"type": "boolean"},
                    "source": {"enum": [*SOURCES, "secret"]},
                    "extractPath": {"type": "string", "maxLength": 256},
                    "defaultValue": {},
                    "description": {"type": "string", "maxLength": 500},
                },
                "additionalProperties": False,
            },
        },
        "modelHints": {"type": "object"},
        "tags": {"type": "array", "maxItems": 32, "items": {"type": "string", "minLength": 1, "maxLength": 64}},
        "meta": {"type": "object"},
    },
    "additionalProperties": False,
}


def check_template(document: Any) -> list[Violation]:
    """prompt-02 (RFC 0027 A): what keeps a document from being a template."""
    return schema.check_inline(TEMPLATE, document, "")


def parse_template(document: dict[str, Any]) -> PromptTemplate:
    """The template that a document is which `check_template` finds nothing wrong with."""
    return msgspec.convert(document, PromptTemplate)


class Templates:
    """The templates of a host. Immutable."""

    def __init__(self, templates: Iterable[PromptTemplate] = ()) -> None:
        self._versions: dict[str, dict[str, PromptTemplate]] = {}
        for each in templates:
            versions = self._versions.setdefault(each.template_id, {})
            if versions.setdefault(each.version, each) != each:
                raise ValueError(f"version {each.version} of the prompt template {each.template_id} is there twice")

    def __len__(self) -> int:
        return sum(map(len, self._versions.values()))

    def find(self, ref: PromptRef) -> PromptTemplate | None:
        """prompt-03 (RFC 0027 B): the template that is named; the highest version if none is. There is one library."""
        versions = self._versions.get(ref.template_id, {}) if ref.library_id is None else {}
        if ref.version is not None or not versions:
            return versions.get(ref.version or "")
        return max(versions.values(), key=lambda each: _rank(each.version))


def _rank(version: str) -> tuple[Any, ...]:
    """Semantic Versioning, precedence: a version that is released comes after those before its release."""
    found = _PARTS.fullmatch(version)
    assert found is not None, "a version that fits its pattern"
    before = tuple(_identifier(each) for each in found[4].split(".")) if found[4] is not None else ()
    return (int(found[1]), int(found[2]), int(found[3]), found[4] is None, before)


def _identifier(text: str) -> tuple[bool, int, str]:
    numeric = text.isdecimal()
    return (not numeric, int(text) if numeric else 0, "" if numeric else text)
