"""The node type core.ai.callPrompt: sends one prompt to a model and streams the answer."""

from typing import Final

from weftwork.adapters.nodes.ai.model_request import (
    ANSWER_PORTS,
    MEDIA_CONFIG,
    MEDIA_TEMPLATES,
    MESSAGE_PORTS,
    MODEL_CONFIG,
    PROMPT_CONFIG,
    PROMPT_MISSING,
    answer_outputs,
    build_model_request,
    media_parts,
    system_prompt,
    user_prompt,
)
from weftwork.adapters.nodes.ai.prompt_templates import NO_TEMPLATE_PROMPTS, PROMPT_REF_CONFIG, compose_prompts
from weftwork.adapters.nodes.call_inputs import expression_failure
from weftwork.adapters.nodes.schemas import closed_object, fixed_ports, name_string, port_schema, reference_notes, typed
from weftwork.engine.sdk.generation import generate_text
from weftwork.engine.sdk.model_request import append_media
from weftwork.ports.models import Message
from weftwork.ports.node_outcome import Completed, Failed, NodeOutcome
from weftwork.ports.nodes import NodeCall, NodeContext, NodeType, WaitingNode
from weftwork.protocol.expressions.faults import ExpressionFault
from weftwork.protocol.models.prompt_templates import PromptTemplates
from weftwork.protocol.workflow.node_types import NodeDeclaration


async def _call_prompt(call: NodeCall, context: NodeContext, templates: PromptTemplates) -> NodeOutcome:
    """ai-04 (RFC 0094, D): one prompt, one answer, which is streamed. A prompt that is only named is its name."""
    told = compose_prompts(call, context.untrusted, templates) or NO_TEMPLATE_PROMPTS
    if isinstance(told, Failed):
        return told
    try:
        prompt = told.user or user_prompt(call)
        system = told.system or system_prompt(call)
        media = media_parts(call)
    except ExpressionFault as fault:
        return expression_failure(fault)
    if prompt is None and (prompt := call.config.get("promptId")) is None and not media:
        return PROMPT_MISSING
    messages = append_media((Message("user", told.user_text(prompt or "")),), media)
    request = build_model_request(call, messages, told.system_text(system))
    spoken = await generate_text(context, call, request, told.events)
    if isinstance(spoken, Failed):
        return spoken
    text = spoken.answer.text
    return Completed({"text": text, "content": text, **answer_outputs(spoken.answer)})


_CALL_PROMPT: Final = NodeDeclaration(
    "core.ai.callPrompt",
    "Asks a model one thing, and gives what it says.",
    effect="idempotent",
    instant=False,
    inputs=port_schema(**{port: MESSAGE_PORTS[port] for port in ("prompt", "input", "media")}),
    outputs=fixed_ports(
        text=typed("string", "What the model said."),
        content=typed("string", "The same, under the name that other nodes give it."),
        **ANSWER_PORTS,
    ),
    config=closed_object(
        **PROMPT_CONFIG,
        **PROMPT_REF_CONFIG,
        promptId=name_string(
            "The name of the prompt, by which `promptOverrides` of a run can replace it; without any text "
            "it is the prompt."
        ),
        **MODEL_CONFIG,
        **MEDIA_CONFIG,
        expectsStreaming=typed(
            "boolean", "Whether somebody follows the answer as it comes; it is streamed in any case."
        ),
    ),
    templates={"/prompt": (), "/systemPrompt": (), **MEDIA_TEMPLATES},
    prompt_templates="named",
    equal_outputs=("text", "content"),
    notes=reference_notes(
        """
The answer comes in pieces, each of them an event `output.chunk`; a subscriber with `streamMode=messages` sees them as
`ai.message.chunk`. What came into the run from outside stands in the prompt behind `<UNTRUSTED>` marks.

What is asked is the port `prompt`, else the text that the run's `promptOverrides` has for `promptId`, else the config
`prompt`, else the port `input`, else `promptId` itself; without any of them the node fails with `node_input_missing`.
References to [prompt templates](../prompts.md) come before the texts of the ports and of the config, and so do those
that the workflow has in `defaults.promptRefs`; a text beside one is not used.

`media` shows the model images, sound or documents beside that: [What models see](../perception.md). All that the model
says then is untrusted.

`ai.provider`, `ai.model`, `model`, `temperature` and `maxTokens` of the run's `configurable` win over the config.

An answer that is cut short is given as it is, with the `finishReason` `length`. A refusal fails the node with
`envelope_refusal`. If the provider gives no answer, the node fails with the code of its fault, such as
`provider_unavailable` or `provider_not_supported`.
""",
        "core.ai.callPrompt",
        {
            "systemPrompt": "You sum up letters of customers in one sentence.",
            "prompt": "The letter: {{ports.letter}}",
            "maxTokens": 200,
        },
        {"letter": {"type": "variable", "variableName": "letter"}},
    ),
)


def call_prompt_nodes(templates: PromptTemplates) -> tuple[NodeType, ...]:
    """The type, which finds prompts among these templates."""

    async def run(call: NodeCall, context: NodeContext) -> NodeOutcome:
        return await _call_prompt(call, context, templates)

    return (WaitingNode(_CALL_PROMPT, run),)
