"""Node types that call a model: callPrompt, chatCompletion, structuredOutput, generateEnvelope."""

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
from weftwork.adapters.nodes.ai.prompt_templates import (
    NO_TEMPLATE_PROMPTS,
    PROMPT_REF_CONFIG,
    TemplatePrompts,
    compose_prompts,
)
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
    """ai-04 (RFC 0094, D): one prompt, one streamed answer. Without any other text, `promptId` is the prompt."""
    composed = compose_prompts(call, context.untrusted, templates) or NO_TEMPLATE_PROMPTS
    if isinstance(composed, Failed):
        return composed
    prompt, system, media = await context.compute(partial(_render_prompts, call, "prompt", composed))
    if prompt is None and (prompt := call.config.get("promptId")) is None and not media:
        raise prompt_missing()
    messages = append_media((Message("user", composed.user_text(prompt or "")),), media)
    request = make_model_request(call, call.config, messages, composed.system_text(system))
    generated = await generate_text(context, call, request, composed.events)
    if isinstance(generated, Failed):
        return generated
    text = generated.answer.text
    return Completed({"text": text, "content": text, **answer_outputs(generated.answer)})


def _render_prompts(
    call: NodeCall, member: str, composed: TemplatePrompts = NO_TEMPLATE_PROMPTS
) -> tuple[str | None, str, list[Any]]:
    """The user prompt, the system prompt and the media parts. Raises ExpressionFault."""
    return composed.user or user_prompt(call, member), composed.system or system_prompt(call), media_parts(call)


_CALL_PROMPT: Final = NodeDeclaration(
    "core.ai.callPrompt",
    "Sends one prompt to a model and returns the answer.",
    effect="idempotent",
    instant=False,
    inputs=schemas.port_schema(**{port: MESSAGE_PORTS[port] for port in ("prompt", "input", "media")}),
    outputs=schemas.fixed_ports(
        text=schemas.typed("string", "The answer of the model."),
        content=schemas.typed("string", "The same text, under the name that other node types use."),
        **ANSWER_PORTS,
    ),
    config=schemas.closed_object(
        **PROMPT_CONFIG,
        **PROMPT_REF_CONFIG,
        promptId=schemas.name_string(
            "The name of the prompt, with which `promptOverrides` of a run can replace it. If there is no other text, "
            "the name is the prompt."
        ),
        **MODEL_CONFIG,
        **MEDIA_CONFIG,
        expectsStreaming=schemas.typed(
            "boolean",
            "Whether clients follow the answer while it is generated. No effect: answers are always streamed.",
        ),
    ),
    templates={"/prompt": (), "/systemPrompt": (), **MEDIA_TEMPLATES},
    prompt_templates="named",
    equal_outputs=("text", "content"),
    notes="""
The user prompt is the first of these that is present:

1. a [prompt template](../prompts.md) that the config or `defaults.promptRefs` of the workflow refers to
2. the input `prompt`
3. the text for `promptId` in `promptOverrides` of the run
4. the config member `prompt`
5. the input `input`
6. `promptId` itself

Without any of them the node fails with `node_input_missing`. A template of the system prompt overrides `systemPrompt`
in the same way. Untrusted values in the prompt are enclosed in `<UNTRUSTED>` markers.

`media` sends images, audio or documents to the model: see [Model input](../model-input.md). The outputs of the node are
then untrusted.

`ai.provider`, `ai.model`, `model`, `temperature` and `maxTokens` in `configurable` of the run override the config.

The answer is streamed in `output.chunk` events; a subscriber with `streamMode=messages` gets them as
`ai.message.chunk`. If the answer reaches its maximum length, the node returns the truncated text with the
`finishReason` `length`. If the model refuses, the node fails with `envelope_refusal`. If the provider does not answer,
the node fails with the code of the provider error, such as `provider_unavailable` or `provider_not_supported`.
""",
    example_config={
        "systemPrompt": "You summarize letters from customers in one sentence.",
        "prompt": "The letter: {{ports.letter}}",
        "maxTokens": 200,
    },
    example_inputs={"letter": {"type": "variable", "variableName": "letter"}},
)


@waiting_node(
    "core.ai.chatCompletion",
    "Returns the next message of a model in a conversation.",
    effect="idempotent",
    inputs=schemas.port_schema(**MESSAGE_PORTS),
    outputs=schemas.fixed_ports(
        content=schemas.typed("string", "The answer of the model."),
        message=schemas.typed("object", "The answer as a message, which can be appended to `messages`."),
        **ANSWER_PORTS,
    ),
    config=schemas.closed_object(**PROMPT_CONFIG, **MODEL_CONFIG, **MEDIA_CONFIG),
    templates={"/prompt": (), "/systemPrompt": (), **MEDIA_TEMPLATES},
    equal_outputs=("content", "message"),
    notes="""
The input `messages` is the conversation. Without it, the conversation is one user message with the input `prompt`, else
the config member `prompt`, else the input `input`. Without any of them the node fails with `node_input_missing`. The
answer is streamed and recorded as by [core.ai.callPrompt](core.ai.callPrompt.md), and the node fails in the same cases.

The content of a message is a text or a list of parts: texts, images, audio and documents. See
[Model input](../model-input.md). `media` is added to the last message if that is a user message, and otherwise as a new
user message. If a part cannot be sent to the model, the node fails; parts are never dropped. In an untrusted
conversation, every text is enclosed in `<UNTRUSTED>` markers, and messages with the role `system` get the role `user`.
""",
    example_config={"systemPrompt": "You answer customers of a garden shop.", "temperature": 0.3},
    example_inputs={"messages": {"type": "variable", "variableName": "conversation"}},
)
async def _chat(call: NodeCall, context: NodeContext) -> NodeOutcome:
    generated = await generate_text(context, call, await context.compute(partial(build_request, call)))
    if isinstance(generated, Failed):
        return generated
    text = generated.answer.text
    return Completed(
        {"content": text, "message": {"role": "assistant", "content": text}, **answer_outputs(generated.answer)}
    )


def _check_output_schema(config: dict[str, Any]) -> list[Violation]:
    return check_caller_schema(output_shape(config["outputSchema"])[1], "/outputSchema")


@waiting_node(
    "core.ai.structuredOutput",
    "Returns a value of a model that matches a JSON Schema.",
    effect="idempotent",
    inputs=schemas.port_schema(**MESSAGE_PORTS),
    outputs=schemas.fixed_ports(
        data=schemas.any_value("The value, which matches `outputSchema`; null if the model reported an error."),
        error=schemas.typed(
            "object", "The error that the model reported, with `code` and `message`. Absent if there is a value."
        ),
        **ANSWER_PORTS,
    ),
    config=schemas.closed_object(
        "outputSchema",
        outputSchema=schemas.typed(
            "object",
            "The JSON Schema of the value, in the [dialect](../channels.md#schemas) of this host. `$id` is ignored.",
        ),
        **PROMPT_CONFIG,
        **MODEL_CONFIG,
        **MEDIA_CONFIG,
        retryOnInvalidJson=schemas.integer(0, 16, "Ignored: the host decides how often it calls the model."),
    ),
    templates={"/prompt": (), "/systemPrompt": (), **MEDIA_TEMPLATES},
    check_config=_check_output_schema,
    notes="""
The messages come from inputs and config as for [core.ai.chatCompletion](core.ai.chatCompletion.md). The host sends the
schema to the model, and the node returns only a value that matches it. The host checks the
[schema](../channels.md#schemas) when the workflow is registered.

How the host handles an answer, with the event that it records:

- JSON in a code fence, with text around it or with small syntax errors: the host repairs it
  (`envelope.recovery.applied`).
- An answer that is not JSON or does not match the schema: the host sends the errors to the model and asks again
  (`envelope.retry.attempted`).
- A truncated answer: the host repeats the same request with a larger `maxTokens` (`envelope.truncated`).
- An answer that is still prose after the last retry: the host asks the model once to convert it into the format
  (`envelope.nlToFormat.engaged`).
- An answer that is still invalid: the node fails with `envelope_invalid`, or with `envelope_truncation_unrecoverable`
  if the last answer was truncated (`envelope.retry.exhausted`).
- A refusal: the node fails at once with `envelope_refusal`. Only the event `envelope.refusal` contains the text of the
  refusal.
- A `clarification.request` or `schema.request`: as by [core.ai.generateEnvelope](core.ai.generateEnvelope.md).
- An `error`, with which the model reports that it cannot do the task: the host logs it. The node completes with
  `data: null` and the output `error`. The edge condition `{"type": "contains", "left": "error", "right": "code"}` is
  true only in this case.

A document with the `type` of a [universal kind](../model-answers.md) and a `payload` is such an envelope and never the
value, unless `outputSchema` declares the members `type` and `payload` and the document matches it.
""",
    example_config={
        "systemPrompt": "You extract orders from emails.",
        "prompt": "The email: {{ports.mail}}",
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
    """ai-05 (RFC 0032, RFC 0033): a value that matches the schema, or the failure."""
    request = await context.compute(partial(build_request, call))
    name, shape = output_shape(call.config["outputSchema"])
    generated = await generate_value(context, call, request, shape, name)
    if isinstance(generated, Failed):
        return generated
    reported = {} if generated.error is None else {"error": generated.error}
    return Completed({"data": generated.value, **reported, **answer_outputs(generated.answer)})


@waiting_node(
    "core.ai.generateEnvelope",
    "Returns an envelope of a given kind from a model.",
    effect="idempotent",
    inputs=schemas.port_schema(
        userMessage=schemas.any_value("The user message. Overrides the config."),
        input=schemas.any_value("The user message, if there is no other."),
        **MEDIA_PORT,
    ),
    outputs=schemas.fixed_ports(
        envelopeType=schemas.typed("string", "The kind of the envelope."),
        payload=schemas.any_value("The payload of the envelope, validated and with secrets removed."),
        envelopeId=schemas.typed("string", "The id of the envelope."),
        contentTrust=schemas.typed("string", "`untrusted` if untrusted content was sent to the model, else `trusted`."),
        answer=schemas.any_value(
            "For a surface that asked a person: `action`, which is the id of the pressed button, and the values by "
            "field id."
        ),
        **ANSWER_PORTS,
    ),
    config=schemas.closed_object(
        "envelopeType",
        asks=schemas.typed(
            "boolean",
            "Whether a surface with a button suspends the node until a person has answered; the default is true. With "
            "false it is only an output, for example for the input `surface` of a gate.",
        ),
        envelopeType=schemas.name_string("The kind of envelope that the model must return.", MAX_KIND),
        systemPrompt=schemas.template_string("The system prompt.", 0),
        userMessage=schemas.template_string("The user message, if no input has one."),
        **MODEL_CONFIG,
        **MEDIA_CONFIG,
    ),
    templates={"/systemPrompt": (), "/userMessage": (), **MEDIA_TEMPLATES},
    notes="""
The host validates every envelope from the model: its shape, kind and payload, then the `envelopeContract` of the node,
the limits, secrets and trust, in this order. It records the outcome once. The accepted envelope of the kind
`envelopeType` becomes the outputs.

The model can send other envelopes first:

- `clarification.request`: the run is suspended until a person has answered. The host sends the answers to the model.
- `schema.request`: the host sends the schema to the model.
- `error`, with which the model reports that it cannot do the task: the host logs it and returns it as the outputs. The
  node does not fail.

The kind must be defined in `metadata.envelopeKinds` of the workflow or registered with the host. Otherwise the node
fails with `unknown_envelope_kind`. An answer that is not JSON, does not match the schema, is truncated or is a refusal
is handled as by [core.ai.structuredOutput](core.ai.structuredOutput.md), with the same codes.

If the contract does not accept a kind, the node fails with `envelope_contract_violation`; if the contract has
`discard-and-warn`, the host discards the envelope with a warning. If the model exceeds a limit for envelopes, schema
requests or clarification requests, the node fails with `cap_breached`. Envelopes of the kinds that the contract lists
under `artifacts` also become artifacts of the run.

With the kind `ui.a2ui-surface`, the model writes a [form](../../how-to/ask-with-a-form.md). If it has a button, the run
is suspended until a person has pressed one. A form that the model sends together with a clarification request becomes
the form of these questions.

`media` sends images, audio or documents to the model: see [Model input](../model-input.md). The envelope is then
untrusted.
""",
    example_config={
        "envelopeType": "vendor.example.ticket",
        "systemPrompt": "You convert complaints into tickets.",
        "userMessage": "The complaint: {{ports.complaint}}",
    },
    example_inputs={"complaint": {"type": "variable", "variableName": "complaint"}},
)
async def _generate(call: NodeCall, context: NodeContext) -> NodeOutcome:
    """ai-06 (RFC 0021, host.aiEnvelope.generate): an envelope of the configured kind from a model."""
    message, system, media = await context.compute(partial(_render_prompts, call, "userMessage"))
    if message is None and not system and not media:
        raise prompt_missing()
    user = Message("user", message or ("" if media else START_MESSAGE))
    request = make_model_request(call, call.config, append_media((user,), media), system)
    asks = call.config.get("asks", True)
    generated = await generate_envelope(context, call, request, call.config["envelopeType"], call.contract, asks)
    if isinstance(generated, Failed):
        return generated
    accepted = generated.accepted
    answer = {} if generated.reply is None else {"answer": generated.reply.value}
    return Completed(
        {
            "envelopeType": accepted.type,
            "payload": accepted.payload,
            "envelopeId": accepted.envelope_id,
            "contentTrust": accepted.content_trust,
            **answer,
            **answer_outputs(generated.answer),
        }
    )


def model_nodes(templates: PromptTemplates) -> tuple[NodeType, ...]:
    """The node types that call a model. `templates`: the prompt templates of core.ai.callPrompt."""
    call_prompt = WaitingNode(_CALL_PROMPT, partial(_call_prompt, templates=templates))
    return (call_prompt, _chat, _structured, _generate)
