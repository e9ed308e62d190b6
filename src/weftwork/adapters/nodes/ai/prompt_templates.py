"""Composes the prompts of a node from prompt templates, with the events and warnings about them."""

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from weftwork.adapters.nodes.schemas import Schema, typed
from weftwork.ports.node_outcome import AppendLog, EmitEvent, Failed
from weftwork.ports.nodes import NodeCall
from weftwork.protocol.json.values import is_object
from weftwork.protocol.models.prompt_composition import (
    Binding,
    ComposedPrompt,
    UnboundVariable,
    compose,
    prompt_composed,
    prompt_resolved,
)
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

SUPERSEDED: Final = "prompt_ref_supersedes_inline"
_INLINE_MEMBERS: Final = {"systemPromptRef": ("systemPrompt",), "userPromptRef": ("prompt", "userPrompt")}
"""A reference, and the config members that it overrides."""

PROMPT_REF_CONFIG: Final[dict[str, Schema]] = {
    "systemPromptRef": {**REF_SCHEMA, "description": "The template of the system prompt."},
    "schemaHintPromptRef": {**REF_SCHEMA, "description": "The template that describes the format of the answer."},
    "userPromptRef": {**REF_SCHEMA, "description": "The template of the user prompt."},
    "fewShotPromptRefs": typed(
        "array",
        "Templates with examples, in the order in which the model gets them.",
        maxItems=MAX_REFS,
        items=REF_SCHEMA,
    ),
    "additionalPromptRefs": typed(
        "array",
        "More templates. The kind of each template decides where it is used.",
        maxItems=MAX_REFS,
        items=REF_SCHEMA,
    ),
}
"""Config members of node types that use prompt templates."""
assert set(PROMPT_REF_CONFIG) == {*SINGLE_REF_MEMBERS.values(), FEW_SHOT, ADDITIONAL}


class TemplatePrompts(msgspec.Struct, frozen=True):
    """The composed prompts by kind; empty if there is no template of the kind."""

    system: str = ""
    schema_hint: str = ""
    examples: str = ""
    user: str = ""
    events: tuple[EmitEvent | AppendLog, ...] = ()
    """Committed once, together with the answer of the model."""

    def system_text(self, system: str) -> str:
        """The system prompt, followed by the schema hint."""
        return _join_texts((system, self.schema_hint))

    def user_text(self, user: str) -> str:
        """The examples, followed by the user prompt."""
        return _join_texts((self.examples, user))


NO_TEMPLATE_PROMPTS: Final = TemplatePrompts()


def compose_prompts(call: NodeCall, untrusted: bool, templates: PromptTemplates) -> TemplatePrompts | Failed | None:
    """prompt-09 (RFC 0027 E, RFC 0029 B): the prompts that a node's references select, or None without references.

    `untrusted`: whether this execution of the node got untrusted content. For each template the events contain one
    agent.promptResolved, followed by one prompt.composed.
    """
    overrides: Any = call.configurable.get("promptOverrides")
    slots = resolve_prompts(call.config, call.prompt_refs, overrides if is_object(overrides) else {}, templates)
    if not slots:
        return None
    texts: dict[PromptKind, list[str]] = {kind: [] for kind in PROMPT_ORDER}
    events: list[EmitEvent | AppendLog] = _superseded_warnings(call.config)
    for slot in slots:
        composed = _compose_slot(call, slot, untrusted)
        if isinstance(composed, Failed):
            return composed
        texts[slot.kind].append(composed.text)
        resolved = prompt_resolved(call.node_id, slot, (call.agent or {}).get("agentId"))
        events += [EmitEvent.of(resolved), EmitEvent.of(prompt_composed(call.node_id, slot, composed))]
    system, hint, examples, user = (_join_texts(texts[kind]) for kind in PROMPT_ORDER)
    return TemplatePrompts(system, hint, examples, user, tuple(events))


def _join_texts(texts: Iterable[str]) -> str:
    return "\n\n".join(text for text in texts if text)


def _compose_slot(call: NodeCall, slot: ResolvedPrompt, untrusted: bool) -> ComposedPrompt | Failed:
    if slot.template is None:
        text = f"This host has no prompt template {slot.ref.text}; add it to a folder of the setting prompts."
        return Failed("prompt_ref_unresolved", text, {"ref": slot.ref.text}, retryable=False)

    def find(variable: PromptVariable) -> Binding | None:
        return _bind_variable(call, variable, untrusted)

    text = slot.template.text if slot.override_text is None else slot.override_text
    composed = compose(slot.template, text, slot.ref.overrides, find)
    if isinstance(composed, UnboundVariable):
        what = "has no value" if composed.code == "prompt_variable_unresolved" else "has a value of the wrong type"
        text = f"The variable {composed.name} of the prompt template {slot.ref.text} {what}."
        return Failed(composed.code, text, {"ref": slot.ref.text, "variable": composed.name}, retryable=False)
    return composed


def _bind_variable(call: NodeCall, variable: PromptVariable, untrusted: bool) -> Binding | None:
    """The value of a variable, or None. If the node hides its data, only the model gets the value; events mask it."""
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


def _superseded_warnings(config: dict[str, Any]) -> list[EmitEvent | AppendLog]:
    """prompt-10 (RFC 0027 C): a reference overrides an inline text; a node with both gets a warning."""
    return [
        AppendLog(
            "warn",
            f"{SUPERSEDED}: {ref} overrides {inline}, which is not used.",
            {"code": SUPERSEDED, "ref": ref, "inline": inline},
        )
        for ref, inlines in _INLINE_MEMBERS.items()
        for inline in inlines
        if ref in config and inline in config
    ]
