"""Prompt templates: named, versioned texts with variables; references to them; which ones a node uses.

Sources: RFC 0027 A (templates) and B (references), RFC 0029.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Literal

import msgspec

from weftwork.protocol.json import schema
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.json.values import is_array, is_object

PromptKind = Literal["system", "user", "few-shot", "schema-hint"]
PROMPT_KINDS: Final[tuple[PromptKind, ...]] = ("system", "user", "few-shot", "schema-hint")
PROMPT_ORDER: Final[tuple[PromptKind, ...]] = ("system", "schema-hint", "few-shot", "user")
"""In which a model is told them."""
SINGLE_REF_MEMBERS: Final[dict[PromptKind, str]] = {
    "system": "systemPromptRef",
    "schema-hint": "schemaHintPromptRef",
    "user": "userPromptRef",
}
"""The members of a node's config that hold one reference."""
FEW_SHOT: Final = "fewShotPromptRefs"
ADDITIONAL: Final = "additionalPromptRefs"
"""Lists of references; those of the second are of whatever kind their templates are."""
REF_MEMBERS: Final = (*SINGLE_REF_MEMBERS.values(), FEW_SHOT, ADDITIONAL)
MAX_REFS: Final = 32
"""In a list."""

MAX_TEMPLATE_BYTES: Final = 65_536
VARIABLE_SOURCES: Final = ("input", "variable", "context")
"""Where values come from that are bound to variables. Secrets are none of them: this host keeps none."""

_TEMPLATE_ID: Final = "[a-z0-9][a-z0-9._-]{0,127}"
_REF_VERSION: Final = r"[0-9]+\.[0-9]+\.[0-9]+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?"
_VERSION_PATTERN: Final = r"^[0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9}(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$"
_VERSION_PARTS: Final = re.compile(r"([0-9]+)\.([0-9]+)\.([0-9]+)(?:-([0-9A-Za-z.-]+))?(?:\+.*)?")


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


REF_SCHEMA: Final[dict[str, Any]] = {
    "anyOf": [
        {"type": "string", "maxLength": 512, "pattern": f"^prompt:{_TEMPLATE_ID}(?:@{_REF_VERSION})?$"},
        {
            "type": "object",
            "required": ["templateId"],
            "properties": {
                "libraryId": {"type": "string", "pattern": f"^{_TEMPLATE_ID}$"},
                "templateId": {"type": "string", "pattern": f"^{_TEMPLATE_ID}$"},
                "version": {"type": "string", "maxLength": 256, "pattern": f"^{_REF_VERSION}$"},
                "variableOverrides": {"type": "object", "maxProperties": 100},
            },
            "additionalProperties": False,
        },
    ]
}
"""prompt-01 (RFC 0027 B): a reference in a config, as a text or as an object."""

TEMPLATE_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["templateId", "version", "kind", "text"],
    "properties": {
        "templateId": {"type": "string", "pattern": f"^{_TEMPLATE_ID}$"},
        "version": {"type": "string", "maxLength": 128, "pattern": _VERSION_PATTERN},
        "kind": {"enum": list(PROMPT_KINDS)},
        "text": {"type": "string", "maxLength": MAX_TEMPLATE_BYTES},
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
                    "source": {"enum": [*VARIABLE_SOURCES, "secret"]},
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


def parse_ref(given: Any) -> PromptRef:
    """prompt-01 (RFC 0027 B): parse a value that fits REF_SCHEMA."""
    if isinstance(given, str):
        template_id, _, version = given.removeprefix("prompt:").partition("@")
        return PromptRef(template_id, version or None)
    return PromptRef(
        given["templateId"], given.get("version"), given.get("libraryId"), given.get("variableOverrides", {})
    )


def config_refs(config: Mapping[str, Any]) -> Iterator[tuple[PromptKind | None, PromptRef]]:
    """The references of a node's config, each with its kind; None is that of its template."""
    for kind, member in SINGLE_REF_MEMBERS.items():
        if member in config:
            yield kind, parse_ref(config[member])
    lists: tuple[tuple[PromptKind | None, str], ...] = (("few-shot", FEW_SHOT), (None, ADDITIONAL))
    for kind, member in lists:
        listed: Any = config.get(member)
        for given in listed if is_array(listed) else ():
            yield kind, parse_ref(given)


def workflow_prompt_refs(document: Mapping[str, Any]) -> dict[str, Any]:
    """The references that a workflow has for nodes that name none, by kind."""
    found: Any = document.get("defaults", {}).get("promptRefs")
    return found if is_object(found) else {}


def uses_templates(config: Mapping[str, Any], defaults: Mapping[str, Any]) -> bool:
    return bool(defaults) or any(member in config for member in REF_MEMBERS)


def check_template(document: Any) -> list[Violation]:
    """prompt-02 (RFC 0027 A): what keeps a document from being a template."""
    return schema.check_inline(TEMPLATE_SCHEMA, document, "")


def parse_template(document: dict[str, Any]) -> PromptTemplate:
    """The template that a document is which `check_template` finds nothing wrong with."""
    return msgspec.convert(document, PromptTemplate)


class PromptTemplates:
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
        return max(versions.values(), key=lambda each: _precedence(each.version))


def _precedence(version: str) -> tuple[Any, ...]:
    """Semantic Versioning, precedence: a version that is released comes after those before its release."""
    found = _VERSION_PARTS.fullmatch(version)
    assert found is not None, "a version that fits its pattern"
    # Numbers come before words.
    parts = [(each, each.isdecimal()) for each in found[4].split(".")] if found[4] is not None else []
    before = tuple((not number, int(each) if number else 0, "" if number else each) for each, number in parts)
    return (int(found[1]), int(found[2]), int(found[3]), found[4] is None, before)


NO_CANDIDATE: Final = "no candidate at this layer"
NO_AGENTS: Final = "this host binds no prompts to agents"


class ResolvedPrompt(msgspec.Struct, frozen=True):
    """A template that a node uses, and how it came to be that one."""

    kind: PromptKind
    ref: PromptRef
    """With the version that was found."""
    template: PromptTemplate | None
    """None: this host has no such template."""
    chain: tuple[dict[str, Any], ...]
    override_text: str | None = None
    """The text that the run gives instead of the template's."""


def resolve_prompts(
    config: Mapping[str, Any], workflow: Mapping[str, Any], overrides: Mapping[str, Any], templates: PromptTemplates
) -> list[ResolvedPrompt]:
    """prompt-04 (RFC 0029 A, readings, Prompt overrides): the templates of a node, in the order in which a model
    is told them.

    The node's own config comes before the defaults of the workflow. `overrides` are texts of the run by template id: a
    text replaces that of the template, whichever layer named it. Agents and the host have none of their own.
    """
    found = [_resolve(kind, ref, workflow, overrides, templates, True) for kind, ref in config_refs(config)]
    named = {slot.kind for slot in found}
    for kind in PROMPT_ORDER:
        if kind not in named and kind in workflow:
            found.append(_resolve(kind, parse_ref(workflow[kind]), workflow, overrides, templates, False))
    return sorted(found, key=lambda slot: PROMPT_ORDER.index(slot.kind))


def _resolve(
    kind: PromptKind | None,
    ref: PromptRef,
    workflow: Mapping[str, Any],
    overrides: Mapping[str, Any],
    templates: PromptTemplates,
    own: bool,
) -> ResolvedPrompt:
    template = templates.find(ref)
    shown = msgspec.structs.replace(ref, version=template.version) if template is not None else ref
    kind = kind or (template.kind if template is not None else "user")
    replaced = overrides.get(ref.template_id) if template is not None else None
    text = replaced if isinstance(replaced, str) else None
    chain = tuple(_resolution_chain(kind, shown, workflow, bool(overrides), text is not None, own))
    return ResolvedPrompt(kind, shown, template, chain, text)


def _resolution_chain(
    kind: PromptKind, ref: PromptRef, workflow: Mapping[str, Any], asked: bool, replaced: bool, own: bool
) -> Iterator[dict[str, Any]]:
    """One entry per layer that was asked, the one that applied among them. The run's is asked if it says anything."""
    above = "run-configurable" if replaced else "node"
    if replaced:
        yield {"layer": "run-configurable", "source": ref.text, "applied": True}
    elif asked:
        yield {"layer": "run-configurable", "applied": False, "reason": NO_CANDIDATE}
    if own:
        yield {"layer": "node", "source": ref.text, **_applied_members(not replaced, above)}
    else:
        yield {"layer": "node", "applied": False, "reason": NO_CANDIDATE}
    yield {"layer": "agent-intrinsic", "applied": False, "reason": NO_AGENTS}
    if kind in workflow:
        source = parse_ref(workflow[kind]).text if own else ref.text
        yield {"layer": "workflow-defaults", "source": source, **_applied_members(not own and not replaced, above)}
    else:
        yield {"layer": "workflow-defaults", "applied": False, "reason": NO_CANDIDATE}
    yield {"layer": "host-defaults", "applied": False, "reason": NO_CANDIDATE}


def _applied_members(applied: bool, above: str) -> dict[str, Any]:
    return {"applied": True} if applied else {"applied": False, "reason": f"superseded by the layer {above}"}


def prompt_family(templates: int) -> dict[str, Any] | None:
    """prompt-11 (RFC 0027, RFC 0029): the block of a host that has so many templates; none without any."""
    if not templates:
        return None
    return {
        "supported": True,
        "endpointsSupported": False,
        "templateKinds": list(PROMPT_KINDS),
        "variableSources": list(VARIABLE_SOURCES),
        "maxTemplateBytes": MAX_TEMPLATE_BYTES,
        "observability": "full",
        "packsSupported": False,
        "mutableLibrary": False,
        "agentBindings": False,
    }
