"""Prompt templates: versioned texts with variables, references to them, and the selection of templates for a node.

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
"""The order in which the templates are sent to a model."""
SINGLE_REF_MEMBERS: Final[dict[PromptKind, str]] = {
    "system": "systemPromptRef",
    "schema-hint": "schemaHintPromptRef",
    "user": "userPromptRef",
}
"""The members of a node's config that hold one reference."""
FEW_SHOT: Final = "fewShotPromptRefs"
ADDITIONAL: Final = "additionalPromptRefs"
"""Members that hold lists of references. For ADDITIONAL, the kind of each template applies."""
REF_MEMBERS: Final = (*SINGLE_REF_MEMBERS.values(), FEW_SHOT, ADDITIONAL)
MAX_REFS: Final = 32
"""References in one list."""

MAX_TEMPLATE_BYTES: Final = 65_536
VARIABLE_SOURCES: Final = ("input", "variable", "context")
"""Sources of variable values. `secret` is not supported, because this host stores no secrets."""

_TEMPLATE_ID: Final = "[a-z0-9][a-z0-9._-]{0,127}"
_REF_VERSION: Final = r"[0-9]+\.[0-9]+\.[0-9]+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?"
_VERSION_PATTERN: Final = r"^[0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9}(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$"
_VERSION_PARTS: Final = re.compile(r"([0-9]+)\.([0-9]+)\.([0-9]+)(?:-([0-9A-Za-z.-]+))?(?:\+.*)?")


class PromptRef(msgspec.Struct, frozen=True):
    """A reference to a template. Without a version it refers to the highest one."""

    template_id: str
    version: str | None = None
    library_id: str | None = None
    overrides: dict[str, Any] = {}
    """Values of variables. They take precedence over all other bindings."""

    @property
    def text(self) -> str:
        """prompt-01 (RFC 0027 B): the reference as a string, as events record it."""
        return f"prompt:{self.template_id}{f'@{self.version}' if self.version is not None else ''}"


class PromptVariable(msgspec.Struct, frozen=True, rename="camel"):
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
"""prompt-01 (RFC 0027 B): a reference in a config, as a string or as an object."""

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


def parse_ref(document: Any) -> PromptRef:
    """prompt-01 (RFC 0027 B): parse a reference. The document must be valid by REF_SCHEMA."""
    if isinstance(document, str):
        template_id, _, version = document.removeprefix("prompt:").partition("@")
        return PromptRef(template_id, version or None)
    return PromptRef(
        document["templateId"],
        document.get("version"),
        document.get("libraryId"),
        document.get("variableOverrides", {}),
    )


def config_refs(config: Mapping[str, Any]) -> Iterator[tuple[PromptKind | None, PromptRef]]:
    """The references in a node's config, each with its kind. None means the kind of the template."""
    for kind, member in SINGLE_REF_MEMBERS.items():
        if member in config:
            yield kind, parse_ref(config[member])
    lists: tuple[tuple[PromptKind | None, str], ...] = (("few-shot", FEW_SHOT), (None, ADDITIONAL))
    for kind, member in lists:
        refs: Any = config.get(member)
        for ref in refs if is_array(refs) else ():
            yield kind, parse_ref(ref)


def workflow_prompt_refs(document: Mapping[str, Any]) -> dict[str, Any]:
    """The workflow's default references by kind. They apply to nodes without a reference of that kind."""
    refs: Any = document.get("defaults", {}).get("promptRefs")
    return refs if is_object(refs) else {}


def uses_templates(config: Mapping[str, Any], defaults: Mapping[str, Any]) -> bool:
    return bool(defaults) or any(member in config for member in REF_MEMBERS)


def check_template(document: Any) -> list[Violation]:
    """prompt-02 (RFC 0027 A): the violations of the template schema."""
    return schema.check_inline(TEMPLATE_SCHEMA, document, "")


def parse_template(document: dict[str, Any]) -> PromptTemplate:
    """Parse a document that `check_template` has found valid."""
    return msgspec.convert(document, PromptTemplate)


class PromptTemplates:
    """The templates of a host. Immutable. Raises ValueError for two different templates with one id and version."""

    def __init__(self, templates: Iterable[PromptTemplate] = ()) -> None:
        self._versions: dict[str, dict[str, PromptTemplate]] = {}
        for each in templates:
            versions = self._versions.setdefault(each.template_id, {})
            if versions.setdefault(each.version, each) != each:
                raise ValueError(
                    f"the prompt template {each.template_id} is defined twice in version {each.version}, with "
                    "different contents; give one of them another version"
                )

    def __len__(self) -> int:
        return sum(map(len, self._versions.values()))

    def find(self, ref: PromptRef) -> PromptTemplate | None:
        """prompt-03 (RFC 0027 B): the template of a reference, in its highest version if the reference has none. None
        if there is no such template, or if the reference names a library: this host has only one, without an id."""
        versions = self._versions.get(ref.template_id, {}) if ref.library_id is None else {}
        if ref.version is not None or not versions:
            return versions.get(ref.version or "")
        return max(versions.values(), key=lambda each: _precedence(each.version))


def _precedence(version: str) -> tuple[Any, ...]:
    """A sort key by Semantic Versioning 2.0.0, section 11: a release sorts after its pre-releases."""
    match = _VERSION_PARTS.fullmatch(version)
    assert match is not None, "the version does not match its pattern"
    # Numeric identifiers sort before alphanumeric ones.
    parts = [(each, each.isdecimal()) for each in match[4].split(".")] if match[4] is not None else []
    pre_release = tuple((not number, int(each) if number else 0, "" if number else each) for each, number in parts)
    return (int(match[1]), int(match[2]), int(match[3]), match[4] is None, pre_release)


NO_CANDIDATE: Final = "no candidate at this layer"
NO_AGENTS: Final = "this host binds no prompts to agents"


class ResolvedPrompt(msgspec.Struct, frozen=True):
    """A template that a node uses, and how it was selected."""

    kind: PromptKind
    ref: PromptRef
    """The reference, with the version of the template."""
    template: PromptTemplate | None
    """None if this host has no such template."""
    chain: tuple[dict[str, Any], ...]
    """One entry per layer of the resolution, with the reason if the layer was not applied."""
    override_text: str | None = None
    """The run's replacement for the text of the template."""


def resolve_prompts(
    config: Mapping[str, Any], workflow: Mapping[str, Any], overrides: Mapping[str, Any], templates: PromptTemplates
) -> list[ResolvedPrompt]:
    """prompt-04 (RFC 0029 A, readings, Prompt overrides): the templates of a node, in the order in which they are sent
    to the model.

    The node's config takes precedence over the workflow's defaults. `overrides` holds texts of the run by template id.
    Such a text replaces the template's text, no matter which layer selected the template. The agent and host layers are
    always empty.
    """
    resolved = [_resolve(kind, ref, workflow, overrides, templates, True) for kind, ref in config_refs(config)]
    own_kinds = {slot.kind for slot in resolved}
    for kind in PROMPT_ORDER:
        if kind not in own_kinds and kind in workflow:
            resolved.append(_resolve(kind, parse_ref(workflow[kind]), workflow, overrides, templates, False))
    return sorted(resolved, key=lambda slot: PROMPT_ORDER.index(slot.kind))


def _resolve(
    kind: PromptKind | None,
    ref: PromptRef,
    workflow: Mapping[str, Any],
    overrides: Mapping[str, Any],
    templates: PromptTemplates,
    own: bool,
) -> ResolvedPrompt:
    template = templates.find(ref)
    exact_ref = msgspec.structs.replace(ref, version=template.version) if template is not None else ref
    kind = kind or (template.kind if template is not None else "user")
    override = overrides.get(ref.template_id) if template is not None else None
    text = override if isinstance(override, str) else None
    chain = tuple(_resolution_chain(kind, exact_ref.text, workflow, bool(overrides), text is not None, own))
    return ResolvedPrompt(kind, exact_ref, template, chain, text)


def _resolution_chain(
    kind: PromptKind, ref: str, workflow: Mapping[str, Any], has_overrides: bool, replaced: bool, own: bool
) -> Iterator[dict[str, Any]]:
    """One entry per layer, highest precedence first. The layer of the run is listed only if the run has overrides."""
    above = "run-configurable" if replaced else "node"
    if replaced:
        yield {"layer": "run-configurable", "source": ref, "applied": True}
    elif has_overrides:
        yield {"layer": "run-configurable", "applied": False, "reason": NO_CANDIDATE}
    if own:
        yield {"layer": "node", "source": ref, **_applied_members(not replaced, above)}
    else:
        yield {"layer": "node", "applied": False, "reason": NO_CANDIDATE}
    yield {"layer": "agent-intrinsic", "applied": False, "reason": NO_AGENTS}
    if kind in workflow:
        source = parse_ref(workflow[kind]).text if own else ref
        yield {"layer": "workflow-defaults", "source": source, **_applied_members(not own and not replaced, above)}
    else:
        yield {"layer": "workflow-defaults", "applied": False, "reason": NO_CANDIDATE}
    yield {"layer": "host-defaults", "applied": False, "reason": NO_CANDIDATE}


def unresolved_chain(kind: PromptKind, has_overrides: bool) -> list[dict[str, Any]]:
    """The chain for a kind of prompt without any reference."""
    return list(_resolution_chain(kind, "", {}, has_overrides, replaced=False, own=False))


def _applied_members(applied: bool, above: str) -> dict[str, Any]:
    return {"applied": True} if applied else {"applied": False, "reason": f"superseded by the layer {above}"}


def prompt_family(templates: int) -> dict[str, Any] | None:
    """prompt-11 (RFC 0027, RFC 0029): the `prompts` block of discovery for this number of templates; None for 0."""
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
