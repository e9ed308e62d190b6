"""Decides which prompt template a node uses: the layers that can name one, and their order. Source: RFC 0029 A."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from weftwork.protocol.models.prompt_templates import (
    PROMPT_ORDER,
    PromptKind,
    PromptRef,
    PromptTemplate,
    PromptTemplates,
    config_refs,
    parse_ref,
)

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
