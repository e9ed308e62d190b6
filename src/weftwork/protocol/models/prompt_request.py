"""Prompts on request, for the test endpoints: which templates a node would use, and the texts that it would send.

The functions select and compose prompts as nodes do. The results are the payloads of the events that a run would write,
so they contain no value of a variable that comes from a secret.
"""

from typing import Any, Literal

import msgspec

from weftwork.protocol.errors import ClientFault, invalid
from weftwork.protocol.models.prompt_composition import (
    Binding,
    UnboundVariable,
    compose,
    prompt_composed,
    prompt_resolved,
)
from weftwork.protocol.models.prompt_templates import (
    ADDITIONAL,
    MAX_REFS,
    PromptKind,
    PromptTemplates,
    PromptVariable,
    ResolvedPrompt,
    parse_template,
    resolve_prompts,
    unresolved_chain,
)


class PromptRequest(msgspec.Struct, frozen=True, rename="camel"):
    """The references of a node and, to compose prompts, the values of variables."""

    node_id: str = "node"
    agent_id: str | None = None
    node_config: dict[str, Any] = {}
    ref: Any = None
    refs: list[Any] = []
    """`ref` and `refs`: references that are used according to the kinds of their templates."""
    workflow_defaults: dict[str, Any] = {}
    prompt_overrides: dict[str, str] = {}
    kind: PromptKind | None = None
    """Only the prompts of this kind."""
    template: dict[str, Any] | None = None
    """A template to compose instead of the templates of references."""
    variables: dict[str, Any] = {}
    content_trust: Literal["trusted", "untrusted"] = "trusted"
    """The trust of all variables."""
    untrusted: list[str] = []
    """The names of untrusted variables."""


def parse_prompt_request(body: dict[str, Any]) -> PromptRequest:
    """Parse a body that its schema has found valid."""
    return msgspec.convert(body, PromptRequest)


def resolve_for_request(request: PromptRequest, templates: PromptTemplates) -> list[dict[str, Any]]:
    """prompt-12 (RFC 0029 B, conformance seam): the payload of agent.promptResolved for each prompt of the node. A
    requested kind without a reference has a payload whose `resolved` is null. Raises ClientFault."""
    slots = _resolve(request, templates)
    if slots or request.kind is None:
        return [prompt_resolved(request.node_id, slot, request.agent_id).members() for slot in slots]
    chain = unresolved_chain(request.kind, bool(request.prompt_overrides))
    return [{"nodeId": request.node_id, "kind": request.kind, "chain": chain, "resolved": None}]


def compose_for_request(request: PromptRequest, templates: PromptTemplates) -> list[dict[str, Any]]:
    """prompt-13 (RFC 0027 E, conformance seam): the payload of prompt.composed for each prompt of the node. Raises
    ClientFault."""
    if request.template is not None:
        template = parse_template(request.template)
        templates = PromptTemplates([template])
        request = msgspec.structs.replace(
            request, node_config={}, workflow_defaults={}, ref=template.ref.text, refs=[], kind=None
        )
    return [_compose(request, slot) for slot in _resolve(request, templates)]


def prompt_document(payloads: list[dict[str, Any]]) -> dict[str, Any]:
    """The response: all payloads, and the members of the only one at the root too."""
    return {**(payloads[0] if len(payloads) == 1 else {}), "prompts": payloads}


def _resolve(request: PromptRequest, templates: PromptTemplates) -> list[ResolvedPrompt]:
    """The prompts of the node, in the order in which a model gets them."""
    config = request.node_config
    single = [] if request.ref is None else [request.ref]
    additional = [*config.get(ADDITIONAL, ()), *single, *request.refs]
    if len(additional) > MAX_REFS:
        raise invalid(f"A node can have at most {MAX_REFS} additional references.", "/refs")
    slots = resolve_prompts(
        {**config, ADDITIONAL: additional}, request.workflow_defaults, request.prompt_overrides, templates
    )
    if request.kind is not None:
        slots = [slot for slot in slots if slot.kind == request.kind]
    for slot in slots:
        if slot.template is None:
            raise _refusal("prompt_ref_unresolved", "This host does not have the template of a reference.", slot)
    return slots


def _compose(request: PromptRequest, slot: ResolvedPrompt) -> dict[str, Any]:
    assert slot.template is not None, "an unresolved reference was not refused"
    is_untrusted = request.content_trust == "untrusted"

    def find(variable: PromptVariable) -> Binding | None:
        name = variable.name
        if name not in request.variables:
            return None
        untrusted = is_untrusted or name in request.untrusted
        return Binding(request.variables[name], untrusted, variable.source == "secret")

    text = slot.template.text if slot.override_text is None else slot.override_text
    composed = compose(slot.template, text, slot.ref.overrides, find)
    if isinstance(composed, UnboundVariable):
        message = "A variable of a template has no value, or a value of the wrong type."
        raise _refusal(composed.code, message, slot, variable=composed.name)
    return prompt_composed(request.node_id, slot, composed).members()


def _refusal(code: str, message: str, slot: ResolvedPrompt, **details: Any) -> ClientFault:
    """A refusal that names the code with which a node would fail."""
    return invalid(message, code=code, ref=slot.ref.text, **details)
