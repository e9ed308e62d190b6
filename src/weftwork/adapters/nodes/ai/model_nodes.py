"""Node types that ask a model: callPrompt, chatCompletion, structuredOutput, generateEnvelope."""

from functools import partial
from typing import Any, Final

from weftwork.adapters.nodes import schemas
from weftwork.adapters.nodes.ai.model_request import (
    ANSWER_PORTS,
    MEDIA_CONFIG,
    MEDIA_PORT,
    MEDIA_TEMPLATES,
    MESSAGE_PORTS,
    MODEL_CONFIG,
    PROMPT_CONFIG,
    answer_outputs,
    build_request,
    media_parts,
    prompt_missing,
    system_prompt,
    user_prompt,
)
from weftwork.adapters.nodes.ai.prompt_templates import NO_TEMPLATE_PROMPTS, PROMPT_REF_CONFIG, compose_prompts
from weftwork.adapters.nodes.schemas import waiting_node
from weftwork.engine.sdk.generation import generate_envelope, generate_text, generate_value, output_shape
from weftwork.engine.sdk.model_request import START_MESSAGE, append_media, make_model_request
from weftwork.ports.models import Message
from weftwork.ports.node_outcome import Completed, Failed, NodeOutcome
from weftwork.ports.nodes import NodeCall, NodeContext, NodeType, WaitingNode
from weftwork.protocol.envelopes.gate_rules import MAX_KIND
from weftwork.protocol.json.caller_schema import check_caller_schema
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.models.prompt_templates import PromptTemplates
from weftwork.protocol.workflow.node_types import NodeDeclaration


async def _call_prompt(call: NodeCall, context: NodeContext, templates: PromptTemplates) -> NodeOutcome:
    """ai-04 (RFC 0094, D): one prompt, one answer, which is streamed. A prompt that is only named is its name."""
    told = compose_prompts(call, context.untrusted, templates) or NO_TEMPLATE_PROMPTS
    if isinstance(told, Failed):
        return told
    prompt = told.user or user_prompt(call)
    system = told.system or system_prompt(call)
    media = media_parts(call)
    if prompt is None and (prompt := call.config.get("promptId")) is None and not media:
        raise prompt_missing()
    messages = append_media((Message("user", told.user_text(prompt or "")),), media)
    request = make_model_request(call, call.config, messages, told.system_text(system))
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
    inputs=schemas.port_schema(**{port: MESSAGE_PORTS[port] for port in ("prompt", "input", "media")}),
    outputs=schemas.fixed_ports(
        text=schemas.typed("string", "What the model said."),
        content=schemas.typed("string", "The same, under the name that other nodes give it."),
        **ANSWER_PORTS,
    ),
    config=schemas.closed_object(
        **PROMPT_CONFIG,
        **PROMPT_REF_CONFIG,
        promptId=schemas.name_string(
            "The name of the prompt, by which `promptOverrides` of a run can replace it; without any text "
            "it is the prompt."
        ),
        **MODEL_CONFIG,
        **MEDIA_CONFIG,
        expectsStreaming=schemas.typed(
            "boolean", "Whether somebody follows the answer as it comes; it is streamed in any case."
        ),
    ),
    templates={"/prompt": (), "/systemPrompt": (), **MEDIA_TEMPLATES},
    prompt_templates="named",
    equal_outputs=("text", "content"),
    notes="""
The answer comes in pieces, each of them an event `output.chunk`; a subscriber with `streamMode=messages` sees them as
`ai.message.chunk`. What came into the run from outside stands in the prompt behind `<UNTRUSTED>` marks.

What is asked is the port `prompt`, else the text that the run's `promptOverrides` has for `promptId`, else the config
`prompt`, else the port `input`, else `promptId` itself; without any of them the node fails with `node_input_missing`.
References to [prompt templates](../prompts.md) come before the texts of the ports and of the config, and so do those
that the workflow has in `defaults.promptRefs`; a text beside one is not used.

`media` shows the model images, sound or documents beside that: [What models see](../model-input.md). All that the model
says then is untrusted.

`ai.provider`, `ai.model`, `model`, `temperature` and `maxTokens` of the run's `configurable` win over the config.

An answer that is cut short is given as it is, with the `finishReason` `length`. A refusal fails the node with
`envelope_refusal`. If the provider gives no answer, the node fails with the code of its fault, such as
`provider_unavailable` or `provider_not_supported`.
""",
    example_config={
        "systemPrompt": "You sum up letters of customers in one sentence.",
        "prompt": "The letter: {{ports.letter}}",
        "maxTokens": 200,
    },
    example_inputs={"letter": {"type": "variable", "variableName": "letter"}},
)


@waiting_node(
    "core.ai.chatCompletion",
    "Gives what a model says next in a conversation.",
    effect="idempotent",
    inputs=schemas.port_schema(**MESSAGE_PORTS),
    outputs=schemas.fixed_ports(
        content=schemas.typed("string", "What the model said."),
        message=schemas.typed("object", "The same as a message, to add to the others."),
        **ANSWER_PORTS,
    ),
    config=schemas.closed_object(**PROMPT_CONFIG, **MODEL_CONFIG, **MEDIA_CONFIG),
    templates={"/prompt": (), "/systemPrompt": (), **MEDIA_TEMPLATES},
    equal_outputs=("content", "message"),
    notes="""
The answer is streamed, recorded and given like that of [core.ai.callPrompt](core.ai.callPrompt.md), and the node fails
in the same cases. The port `messages` brings the conversation. Without it the one message is the port `prompt`, else
the config `prompt`, else the port `input`; without any of them the node fails with `node_input_missing`.

The content of a message is a text, or a list of parts: texts, images, sound and documents, as
[What models see](../model-input.md) tells. `media` is added to the end of the conversation. What cannot be shown to the
model fails the node, and is never left out. In a conversation that came from outside every text stands behind
`<UNTRUSTED>` marks, and a message of the role `system` becomes one of a user.
""",
    example_config={"systemPrompt": "You answer customers of a garden shop.", "temperature": 0.3},
    example_inputs={"messages": {"type": "variable", "variableName": "conversation"}},
)
async def _chat(call: NodeCall, context: NodeContext) -> NodeOutcome:
    spoken = await generate_text(context, call, build_request(call))
    if isinstance(spoken, Failed):
        return spoken
    text = spoken.answer.text
    return Completed(
        {"content": text, "message": {"role": "assistant", "content": text}, **answer_outputs(spoken.answer)}
    )


def _check_output_schema(config: dict[str, Any]) -> list[Violation]:
    return check_caller_schema(output_shape(config["outputSchema"])[1], "/outputSchema")


@waiting_node(
    "core.ai.structuredOutput",
    "Asks a model for a value that fits a schema.",
    effect="idempotent",
    inputs=schemas.port_schema(**MESSAGE_PORTS),
    outputs=schemas.fixed_ports(data=schemas.any_value("The value; it fits the schema."), **ANSWER_PORTS),
    config=schemas.closed_object(
        "outputSchema",
        outputSchema=schemas.typed(
            "object", "A JSON Schema of the value, in the dialect of callers; `$id` is left aside."
        ),
        **PROMPT_CONFIG,
        **MODEL_CONFIG,
        **MEDIA_CONFIG,
        retryOnInvalidJson=schemas.integer(0, 16, "Left aside: how often a model is asked is the host's."),
    ),
    templates={"/prompt": (), "/systemPrompt": (), **MEDIA_TEMPLATES},
    check_config=_check_output_schema,
    notes="""
What is asked comes from ports and config as with [core.ai.chatCompletion](core.ai.chatCompletion.md). The host tells
the model the schema, and no value leaves the node that does not fit it. The [schema](../channels.md#schemas) is checked
when the workflow is registered.

An answer is read strictly, then leniently: a fence around the JSON, words before and after it and small slips of
notation are repaired (`envelope.recovery.applied`). One that cannot be read, or does not fit, is sent back with what is
wrong (`envelope.retry.attempted`); one that was cut short is asked for again with more room and no other word
(`envelope.truncated`). After as many answers as the host allows, a model that keeps writing prose is asked once more to
put it into the form (`envelope.nlToFormat.engaged`).

When that is used up (`envelope.retry.exhausted`), the node fails with `envelope_invalid`, or with
`envelope_truncation_unrecoverable` if no answer was whole. A refusal fails it at once with `envelope_refusal`, and the
words of the refusal stand in the event `envelope.refusal` alone.
""",
    example_config={
        "systemPrompt": "You read orders that come by mail.",
        "prompt": "The mail: {{ports.mail}}",
        "outputSchema": {
            "title": "Order",
            "type": "object",
            "required": ["article", "amount"],
            "properties": {
                "article": {"type": "string"},
                "amount": {"type": "integer", "minimum": 1},
            },
            "additionalProperties": False,
        },
    },
    example_inputs={"mail": {"type": "variable", "variableName": "mail"}},
)
async def _structured(call: NodeCall, context: NodeContext) -> NodeOutcome:
    """ai-05 (RFC 0032, RFC 0033): the one value that fits the schema, or the failure that says why there is none."""
    request = build_request(call)
    name, wanted = output_shape(call.config["outputSchema"])
    filled = await generate_value(context, call, request, wanted, name)
    return filled if isinstance(filled, Failed) else Completed({"data": filled.value, **answer_outputs(filled.answer)})


@waiting_node(
    "core.ai.generateEnvelope",
    "Asks a model for an envelope of one kind.",
    effect="idempotent",
    inputs=schemas.port_schema(
        userMessage=schemas.any_value("What the model is asked; wins over the config."),
        input=schemas.any_value("What it is asked if nothing else says."),
        **MEDIA_PORT,
    ),
    outputs=schemas.fixed_ports(
        envelopeType=schemas.typed("string", "The kind."),
        payload=schemas.any_value("What the envelope holds, checked and without secrets."),
        envelopeId=schemas.typed("string", "The id of the envelope."),
        contentTrust=schemas.typed("string", "`untrusted` if something from outside went into it, else `trusted`."),
        **ANSWER_PORTS,
    ),
    config=schemas.closed_object(
        "envelopeType",
        envelopeType=schemas.name_string("The kind that is wanted.", MAX_KIND),
        systemPrompt=schemas.template_string("What the model is told before everything else.", 0),
        userMessage=schemas.template_string("What it is asked, if no port says."),
        **MODEL_CONFIG,
        **MEDIA_CONFIG,
    ),
    templates={"/systemPrompt": (), "/userMessage": (), **MEDIA_TEMPLATES},
    notes="""
Every envelope that the model sends goes through the gate of the host: its shape, its kind, its payload, the node's
`envelopeContract`, the limits, secrets and trust are judged in this order, and the outcome is recorded once. The one of
the wanted kind becomes the outputs.

The model may first ask: a `clarification.request` suspends the run until a person has answered, and the answers go back
to the model. A `schema.request` is answered with the schema. An `error`, by which a model says that it cannot do it, is
logged and given like the envelope that was wanted: it is no failure of the node.

`media` gives the model images, sound or documents: [Model input](../model-input.md). The envelope is untrusted then.

The schema of a kind comes with the workflow, in `metadata.envelopeKinds`, or is known to the host; for any other kind
the node fails with `unknown_envelope_kind`.

Answers that cannot be read, do not fit, are cut short or refuse are treated as by
[core.ai.structuredOutput](core.ai.structuredOutput.md), with the same codes. A kind that the contract does not accept
fails the node with `envelope_contract_violation`, or is left aside with a warning if the contract says
`discard-and-warn`. One envelope, schema or question too many fails it with `cap_breached`. Kinds that the contract
lists under `artifacts` become artifacts of the run as well.
""",
    example_config={
        "envelopeType": "vendor.example.ticket",
        "systemPrompt": "You turn complaints into tickets.",
        "userMessage": "The complaint: {{ports.complaint}}",
    },
    example_inputs={"complaint": {"type": "variable", "variableName": "complaint"}},
)
async def _generate(call: NodeCall, context: NodeContext) -> NodeOutcome:
    """ai-06 (RFC 0021, host.aiEnvelope.generate): an envelope of the kind that the config names, from a model."""
    message = user_prompt(call, "userMessage")
    system = system_prompt(call)
    media = media_parts(call)
    if message is None and not system and not media:
        raise prompt_missing()
    said = Message("user", message or ("" if media else START_MESSAGE))
    request = make_model_request(call, call.config, append_media((said,), media), system)
    made = await generate_envelope(context, call, request, call.config["envelopeType"], call.contract)
    if isinstance(made, Failed):
        return made
    accepted = made.accepted
    return Completed(
        {
            "envelopeType": accepted.type,
            "payload": accepted.payload,
            "envelopeId": accepted.envelope_id,
            "contentTrust": accepted.content_trust,
            **answer_outputs(made.answer),
        }
    )


def model_nodes(templates: PromptTemplates) -> tuple[NodeType, ...]:
    """The types; core.ai.callPrompt finds prompts among these templates."""
    call_prompt = WaitingNode(_CALL_PROMPT, partial(_call_prompt, templates=templates))
    return (call_prompt, _chat, _structured, _generate)
