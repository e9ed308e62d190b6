"""Builds the model request of a node from its inputs and config: the messages, the system prompt and the media."""

from typing import Any, Final

import msgspec

from weftwork.adapters.nodes.call_inputs import render
from weftwork.adapters.nodes.schemas import Schema, any_value, integer, name_string, port_schema, template_string, typed
from weftwork.engine.sdk import model_request
from weftwork.ports.models import Message, ModelRequest, Role
from weftwork.ports.node_outcome import Failed, StepFailed
from weftwork.ports.nodes import NodeCall
from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.media.message_parts import MAX_PARTS, normalize_part
from weftwork.protocol.models.answers import ModelAnswer
from weftwork.protocol.privacy.trust import wrap_untrusted

_PART_SCHEMA: Final[Schema] = {"type": "object", "required": ["type"], "properties": {"type": {"type": "string"}}}

MODEL_CONFIG: Final[dict[str, Schema]] = {
    "provider": name_string("The model provider. The default is the first provider of the host."),
    "model": name_string("The model. The default is the default model of the provider.", model_request.MAX_MODEL_NAME),
    "temperature": typed("number", "The sampling temperature.", minimum=0, maximum=2),
    "maxTokens": integer(1, model_request.MAX_TOKENS, "The maximum number of tokens in the answer."),
    "stopSequences": typed(
        "array",
        "Texts that end the answer.",
        maxItems=model_request.MAX_STOP_SEQUENCES,
        items={"type": "string", "minLength": 1, "maxLength": model_request.MAX_STOP_SEQUENCE_CHARS},
    ),
}
"""Config members of every node type that calls a model."""

PROMPT_CONFIG: Final[dict[str, Schema]] = {
    "systemPrompt": template_string("The system prompt.", 0),
    "prompt": template_string("The user prompt, if no input has one."),
}

MEDIA_CONFIG: Final[dict[str, Schema]] = {
    "media": typed(
        "array",
        "Media for the model, if the input `media` is absent. Each item is the `mediaRef` of an asset, or an object "
        "with one of `mediaRef`, `url` and `data`. All texts except `type` and `data` can be templates.",
        maxItems=MAX_PARTS,
        items={
            **template_string("", 1),
            "type": ["object", "string"],
            "dependentRequired": {"url": ["mimeType"], "data": ["mimeType"]},
            "properties": {
                "type": {
                    "enum": ["image", "audio", "document", "file"],
                    "description": "The type of the part. The default follows from the media type.",
                },
                "mimeType": template_string(
                    "The media type. Required with `url` and `data`; the default is the media type of the asset."
                ),
                "url": template_string("The URL from which the host fetches the media."),
                "mediaRef": template_string("The `mediaRef` of an asset of the tenant."),
                "data": typed("string", "The bytes in base64.", minLength=1),
            },
            "additionalProperties": False,
        },
    )
}
"""Config member of node types that send media to a model."""

MEDIA_PORT: Final[dict[str, Schema]] = {
    "media": any_value(
        "Media for the model: a `mediaRef`, an object with a `mediaRef`, a [part](../model-input.md), or a list of "
        "these. Overrides the config."
    )
}

MEDIA_TEMPLATES: Final[dict[str, tuple[str, ...]]] = {
    "/media/*": (),
    **{f"/media/*/{member}": () for member in ("mimeType", "url", "mediaRef")},
}

MESSAGE_PORTS: Final[dict[str, Schema]] = {
    "messages": typed(
        "array",
        "The conversation so far. Overrides every prompt.",
        minItems=1,
        maxItems=model_request.MAX_MESSAGES,
        items={
            "type": "object",
            "required": ["role", "content"],
            "properties": {
                "role": {"enum": ["user", "assistant", "system"], "description": "The role of the message."},
                "content": {
                    "description": "The content: a text, or a list of [parts](../model-input.md).",
                    "anyOf": [{"type": "string"}, {"type": "array", "items": _PART_SCHEMA}],
                },
            },
        },
    ),
    "prompt": any_value("The user prompt. Overrides the config. A value that is not a text is sent as JSON."),
    "input": any_value("The user prompt, if there is no other."),
    **MEDIA_PORT,
}
"""Inputs of node types that call a model. Other inputs can be used in templates."""

ANSWER_PORTS: Final[dict[str, Schema]] = {
    "model": typed("string", "The name of the model that answered."),
    "finishReason": typed(
        "string", "Why the answer ended: `stop`, `length`, `content_filter`, `tool_calls` or `other`."
    ),
    "usage": {
        **port_schema(
            inputTokens=typed("integer", "The number of tokens in the request."),
            outputTokens=typed("integer", "The number of tokens in the answer."),
            totalTokens=typed("integer", "The sum of both."),
        ),
        "description": "The token usage of the last model call.",
    },
}
"""Outputs with metadata of the answer."""


def prompt_missing() -> StepFailed:
    message = "The node has no prompt: set the input prompt, userMessage or messages, or the config of the prompt."
    return StepFailed(Failed("node_input_missing", message, retryable=False))


def build_request(call: NodeCall) -> ModelRequest:
    """The model request of a node with PROMPT_CONFIG. Raises StepFailed, ExpressionFault."""
    return model_request.make_model_request(call, call.config, build_messages(call), system_prompt(call))


def render_fenced(call: NodeCall, text: str) -> str:
    """ai-02 (RFC 0021, trust): render a template of the config, with untrusted values in `<UNTRUSTED>` markers.

    Raises ExpressionFault.
    """
    return call.scope.render(text, {"ports": call.inputs}, wrap=fence_untrusted)


def fence_untrusted(value: Any) -> str:
    """The value as text in `<UNTRUSTED>` markers."""
    return wrap_untrusted(value, type="input")


def port_as_text(call: NodeCall, port: str) -> str:
    """The value of an input as text, in `<UNTRUSTED>` markers if it is untrusted."""
    value = call.inputs[port]
    if port in call.untrusted:
        return fence_untrusted(value)
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def system_prompt(call: NodeCall) -> str:
    """Raises ExpressionFault."""
    return render_fenced(call, call.config["systemPrompt"]) if call.config.get("systemPrompt") else ""


def user_prompt(call: NodeCall, member: str = "prompt") -> str | None:
    """The user prompt: the input `member`, else the run's override of `promptId`, else the config, else `input`.

    Raises ExpressionFault.
    """
    if member in call.inputs:
        return port_as_text(call, member)
    overrides = call.configurable.get("promptOverrides")
    override = overrides.get(call.config.get("promptId", "")) if is_object(overrides) else None
    if isinstance(override, str):
        return override
    if member in call.config:
        return render_fenced(call, call.config[member])
    return port_as_text(call, "input") if "input" in call.inputs else None


def media_parts(call: NodeCall) -> list[Any]:
    """media-50 (host): the media parts of the input `media`, else of the config. Raises ExpressionFault."""
    if "media" in call.inputs:
        media: Any = call.inputs["media"]
        parts: list[Any] = [normalize_part(each) for each in (media if is_array(media) else [media])]
        return (
            [model_request.wrap_text_part(each, fence_untrusted) for each in parts]
            if "media" in call.untrusted
            else parts
        )
    if "media" not in call.config:
        return []
    return [normalize_part(_render_part(call, each)) for each in call.config["media"]]


def _render_part(call: NodeCall, part: str | dict[str, Any]) -> Any:
    # The members are references and URLs, not text for the model, so untrusted values need no markers.
    if isinstance(part, str):
        return render(call, part)
    return {name: value if name in ("type", "data") else render(call, value) for name, value in part.items()}


def build_messages(call: NodeCall) -> tuple[Message, ...]:
    """ai-03 (RFC 0091, parts of messages): the input `messages`, else one message with the prompt; then the media.

    The parts are not checked here but when the model is called.

    Raises StepFailed, ExpressionFault.
    """
    media = media_parts(call)
    if "messages" not in call.inputs:
        prompt = user_prompt(call)
        if prompt is None and not media:
            raise prompt_missing()
        return model_request.append_media((Message("user", prompt or ""),), media)
    untrusted = "messages" in call.untrusted
    wrap = fence_untrusted if untrusted else None
    messages: list[Message] = []
    for message in call.inputs["messages"]:
        # Untrusted content must not instruct the model, so it cannot have the role system.
        role: Role = "user" if untrusted and message["role"] == "system" else message["role"]
        messages.append(model_request.make_message(role, message["content"], wrap))
    return model_request.append_media(tuple(messages), media)


def answer_outputs(answer: ModelAnswer) -> dict[str, Any]:
    """The values of ANSWER_PORTS."""
    tokens = answer.usage
    usage = {"inputTokens": tokens.input_tokens, "outputTokens": tokens.output_tokens}
    return {
        "model": answer.model,
        "finishReason": model_request.finish_reason(answer.stop),
        "usage": {**usage, "totalTokens": tokens.input_tokens + tokens.output_tokens},
    }
