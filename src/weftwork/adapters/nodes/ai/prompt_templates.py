"""Composes the prompts of a node from templates, with the events and warnings that tell about it."""

from collections.abc import Iterable
from typing import Any, Final

import msgspec
from msgspec import UNSET

from weftwork.adapters.nodes.schemas import Schema, typed
from weftwork.ports.node_outcome import AppendLog, EmitEvent, Failed
from weftwork.ports.nodes import NodeCall
from weftwork.protocol.json.values import is_object
from weftwork.protocol.models.prompt_composition import Binding, ComposedPrompt, UnboundVariable, compose
from weftwork.protocol.models.prompt_templates import (
    ADDITIONAL,
    FEW_SHOT,
    MAX_REFS,
    PROMPT_ORDER,
    REF_SCHEMA,
    SINGLE_REF_MEMBERS,
    PromptKind,
    PromptTemplates,
    PromptVariable,
    ResolvedPrompt,
    resolve_prompts,
)
from weftwork.protocol.run.model_payloads import PromptComposed, PromptResolved

MAX_EVENT_PROMPT: Final = 65_536
"""Characters of a prompt that events hold; of a longer one only its hash."""
SUPERSEDED: Final = "prompt_ref_supersedes_inline"
_INLINE_MEMBERS: Final = {"systemPromptRef": ("systemPrompt",), "userPromptRef": ("prompt", "userPrompt")}
"""Members that a reference stands before."""
_COMPOSITION: Final = {"system": "system-only", "schema-hint": "system-only"}
"""prompt.composed, kind: what a template becomes a part of; any other is a part of what the user says."""

PROMPT_REF_CONFIG: Final[dict[str, Schema]] = {
    "systemPromptRef": {**REF_SCHEMA, "description": "The template of what the model is told before everything else."},
    "schemaHintPromptRef": {**REF_SCHEMA, "description": "The template that says which form the answer has."},
    "userPromptRef": {**REF_SCHEMA, "description": "The template of what it is asked."},
    "fewShotPromptRefs": typed("array", "Templates with examples, in this order.", maxItems=MAX_REFS, items=REF_SCHEMA),
    "additionalPromptRefs": typed(
        "array", "More templates, each used as its own kind says.", maxItems=MAX_REFS, items=REF_SCHEMA
    ),
}
"""Config of every node that can be told by templates."""
assert set(PROMPT_REF_CONFIG) == {*SINGLE_REF_MEMBERS.values(), FEW_SHOT, ADDITIONAL}


class TemplatePrompts(msgspec.Struct, frozen=True):
    """What a model is told by templates, by their kind; empty where none says anything."""

    system: str = ""
    schema_hint: str = ""
    examples: str = ""
    user: str = ""
    events: tuple[EmitEvent | AppendLog, ...] = ()
    """To be committed with the answer, once."""

    def system_text(self, system: str) -> str:
        """All that comes before the conversation, if it begins with this."""
        return _join_texts((system, self.schema_hint))

    def user_text(self, user: str) -> str:
        """All that is asked, if it ends with this."""
        return _join_texts((self.examples, user))


NO_TEMPLATE_PROMPTS: Final = TemplatePrompts()
"""No template tells anything."""


def compose_prompts(call: NodeCall, untrusted: bool, templates: PromptTemplates) -> TemplatePrompts | Failed | None:
    """prompt-09 (RFC 0027 E, RFC 0029 B): the prompts of a node by its references, None if it has none.

    `untrusted`: whether this entry of the node was given content from outside. For each template there is one
    agent.promptResolved and then one prompt.composed.
    """
    overrides: Any = call.configurable.get("promptOverrides")
    found = resolve_prompts(call.config, call.prompt_refs, overrides if is_object(overrides) else {}, templates)
    if not found:
        return None
    texts: dict[PromptKind, list[str]] = {kind: [] for kind in PROMPT_ORDER}
    said: list[EmitEvent | AppendLog] = _superseded_warnings(call.config)
    for slot in found:
        composed = _compose_slot(call, slot, untrusted)
        if isinstance(composed, Failed):
            return composed
        texts[slot.kind].append(composed.text)
        said += [_resolved_event(call, slot), EmitEvent.of(_composed_payload(call, slot, composed))]
    system, hint, examples, user = (_join_texts(texts[kind]) for kind in PROMPT_ORDER)
    return TemplatePrompts(system, hint, examples, user, tuple(said))


def _join_texts(texts: Iterable[str]) -> str:
    return "\n\n".join(text for text in texts if text)


def _compose_slot(call: NodeCall, slot: ResolvedPrompt, untrusted: bool) -> ComposedPrompt | Failed:
    if slot.template is None:
        text = f"This host has no prompt template {slot.ref.text}."
        return Failed("prompt_ref_unresolved", text, {"ref": slot.ref.text}, retryable=False)

    def find(variable: PromptVariable) -> Binding | None:
        return _bind_variable(call, variable, untrusted)

    text = slot.template.text if slot.override_text is None else slot.override_text
    composed = compose(slot.template, text, slot.ref.overrides, find)
    if isinstance(composed, UnboundVariable):
        what = "has no value" if composed.code == "prompt_variable_unresolved" else "has a value of another type"
        text = f"The variable {composed.name} of the prompt template {slot.ref.text} {what}."
        return Failed(composed.code, text, {"ref": slot.ref.text, "variable": composed.name}, retryable=False)
    return composed


def _bind_variable(call: NodeCall, variable: PromptVariable, untrusted: bool) -> Binding | None:
    """What stands in a node that hides is shown to nobody but the model."""
    name = variable.name
    match variable.source:
        case "input" if name in call.inputs:
            return Binding(call.inputs[name], name in call.untrusted, call.hides)
        case "variable" if call.scope.has_variable(name):
            return Binding(call.scope.variable(name), untrusted, call.hides)
        case "context" if name in ("runId", "nodeId"):
            return Binding({"runId": call.run_id, "nodeId": call.node_id}[name])
        case _:
            return None


def _resolved_event(call: NodeCall, slot: ResolvedPrompt) -> EmitEvent:
    agent = (call.agent or {}).get("agentId")
    named = UNSET if agent is None else agent
    return EmitEvent.of(PromptResolved(call.node_id, slot.kind, list(slot.chain), slot.ref.text, named))


def _composed_payload(call: NodeCall, slot: ResolvedPrompt, composed: ComposedPrompt) -> PromptComposed:
    text = composed.visible_text
    is_shown = len(text) <= MAX_EVENT_PROMPT
    return PromptComposed(
        call.node_id,
        [slot.ref.text],
        _COMPOSITION.get(slot.kind, "user-only"),
        composed.hash,
        composed.hashes,
        "untrusted" if composed.untrusted else "trusted",
        text if is_shown else UNSET,
        composed.bindings if is_shown else UNSET,
        text if is_shown and slot.kind == "system" else UNSET,
        text if is_shown and slot.kind == "user" else UNSET,
    )


def _superseded_warnings(config: dict[str, Any]) -> list[EmitEvent | AppendLog]:
    """prompt-10 (RFC 0027 C): a reference stands before a text, and whoever wrote both is told."""
    return [
        AppendLog(
            "warn",
            f"{SUPERSEDED}: {ref} stands before {inline}, which is not used.",
            {"code": SUPERSEDED, "ref": ref, "inline": inline},
        )
        for ref, inlines in _INLINE_MEMBERS.items()
        for inline in inlines
        if ref in config and inline in config
    ]
