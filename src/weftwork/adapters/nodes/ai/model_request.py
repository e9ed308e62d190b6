"""Builds the request of a node to a model: messages from its ports and its config, and which model answers."""

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
    "provider": name_string("Who answers; the host's first provider if nobody says."),
    "model": name_string("The model; the provider's usual one if nobody says.", model_request.MAX_MODEL_NAME),
    "temperature": typed("number", "How freely it answers.", minimum=0, maximum=2),
    "maxTokens": integer(1, model_request.MAX_TOKENS, "The longest answer."),
    "stopSequences": typed(
        "array",
        "Texts at which an answer ends.",
        maxItems=model_request.MAX_STOP_SEQUENCES,
        items={"type": "string", "minLength": 1, "maxLength": model_request.MAX_STOP_SEQUENCE_CHARS},
    ),
}
"""Config of every node that asks a model."""

PROMPT_CONFIG: Final[dict[str, Schema]] = {
    "systemPrompt": template_string("What the model is told before everything else.", 0),
    "prompt": template_string("What it is asked, if no port says."),
}

MEDIA_CONFIG: Final[dict[str, Schema]] = {
    "media": typed(
        "array",
        "What the model is shown beside the text, if no port says: names of assets (a mediaRef), or "
        "parts with one of `mediaRef`, `url` and `data`. All but `data` may be templates.",
        maxItems=MAX_PARTS,
        items={
            **template_string("", 1),
            "type": ["object", "string"],
            "dependentRequired": {"url": ["mimeType"], "data": ["mimeType"]},
            "properties": {
                "type": {"enum": ["image", "audio", "document", "file"], "description": "By the media type if absent."},
                "mimeType": template_string("The media type; what the asset is if absent."),
                "url": template_string("Where it is fetched."),
                "mediaRef": template_string("An asset of the tenant."),
                "data": typed("string", "The bytes, in base64; they need `mimeType`.", minLength=1),
            },
            "additionalProperties": False,
        },
    )
}
"""Config of a node that shows media."""

MEDIA_PORT: Final[dict[str, Schema]] = {
    "media": any_value(
        "What the model is shown beside the text: a mediaRef, an object that has one, a part, or a list "
        "of them; wins over the config."
    )
}
"""The port that goes with it."""

MEDIA_TEMPLATES: Final[dict[str, tuple[str, ...]]] = {
    "/media/*": (),
    **{f"/media/*/{member}": () for member in ("mimeType", "url", "mediaRef")},
}

MESSAGE_PORTS: Final[dict[str, Schema]] = {
    "messages": typed(
        "array",
        "The conversation so far; wins over every prompt.",
        minItems=1,
        maxItems=model_request.MAX_MESSAGES,
        items={
            "type": "object",
            "required": ["role", "content"],
            "properties": {
                "role": {"enum": ["user", "assistant", "system"], "description": "Who says it."},
                "content": {
                    "description": "A text, or a list of [parts](../model-input.md).",
                    "anyOf": [{"type": "string"}, {"type": "array", "items": _PART_SCHEMA}],
                },
            },
        },
    ),
    "prompt": any_value("What it is asked; wins over the config. Anything but a text is sent as JSON."),
    "input": any_value("What it is asked if nothing else says."),
    **MEDIA_PORT,
}
"""Ports of every node that asks a model; all others are there for templates."""

ANSWER_PORTS: Final[dict[str, Schema]] = {
    "model": typed("string", "The model that answered."),
    "finishReason": typed(
        "string", "Why the answer ended: `stop`, `length`, `content_filter`, `tool_calls` or `other`."
    ),
    "usage": {
        **port_schema(
            inputTokens=typed("integer", "What went in."),
            outputTokens=typed("integer", "What came out."),
            totalTokens=typed("integer", "Both."),
        ),
        "description": "What it took, of the last call.",
    },
}
"""Outputs that tell of the answer itself."""


def prompt_missing() -> StepFailed:
    message = "Neither a port nor the config says what to ask."
    return StepFailed(Failed("node_input_missing", message, retryable=False))


def build_request(call: NodeCall) -> ModelRequest:
    """What the ports and the config of a node with PROMPT_CONFIG come to. Raises StepFailed, ExpressionFault."""
    return model_request.make_model_request(call, call.config, build_messages(call), system_prompt(call))


def render_fenced(call: NodeCall, text: str) -> str:
    """ai-02 (RFC 0021, trust): a template of the config. What came from outside stands in it behind a fence. Raises
    ExpressionFault."""
    return call.scope.render(text, {"ports": call.inputs}, wrap=fence_untrusted)


def fence_untrusted(value: Any) -> str:
    """Content from outside, as a model is to see it."""
    return wrap_untrusted(value, type="input")


def port_as_text(call: NodeCall, port: str) -> str:
    """The value of a port as a text, which stands behind a fence if it came from outside."""
    value = call.inputs[port]
    if port in call.untrusted:
        return fence_untrusted(value)
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def system_prompt(call: NodeCall) -> str:
    """Raises ExpressionFault."""
    return render_fenced(call, call.config["systemPrompt"]) if call.config.get("systemPrompt") else ""


def user_prompt(call: NodeCall, member: str = "prompt") -> str | None:
    """What is asked: the port, else what the run says of this prompt, else the config. Raises ExpressionFault."""
    if member in call.inputs:
        return port_as_text(call, member)
    overrides = call.configurable.get("promptOverrides")
    replaced = overrides.get(call.config.get("promptId", "")) if is_object(overrides) else None
    if isinstance(replaced, str):
        return replaced
    if member in call.config:
        return render_fenced(call, call.config[member])
    return port_as_text(call, "input") if "input" in call.inputs else None


def media_parts(call: NodeCall) -> list[Any]:
    """media-50 (host): what is shown beside the text: the port `media`, else the config. Raises ExpressionFault."""
    if "media" in call.inputs:
        given: Any = call.inputs["media"]
        listed: list[Any] = [normalize_part(each) for each in (given if is_array(given) else [given])]
        return (
            [model_request.wrap_text_part(each, fence_untrusted) for each in listed]
            if "media" in call.untrusted
            else listed
        )
    return [normalize_part(_render_part(call, each)) for each in call.config.get("media", ())]


def _render_part(call: NodeCall, part: str | dict[str, Any]) -> Any:
    # Names and addresses, and no text for a model: what is from outside needs no fence.
    if isinstance(part, str):
        return render(call, part)
    return {name: value if name in ("type", "data") else render(call, value) for name, value in part.items()}


def build_messages(call: NodeCall) -> tuple[Message, ...]:
    """ai-03 (RFC 0091, parts of messages): the conversation of the port `messages`, else one message with the prompt;
    and what is shown beside it. Its parts are looked at when a model is asked.

    Raises StepFailed, ExpressionFault.
    """
    media = media_parts(call)
    if "messages" not in call.inputs:
        prompt = user_prompt(call)
        if prompt is None and not media:
            raise prompt_missing()
        return model_request.append_media((Message("user", prompt or ""),), media)
    outside = "messages" in call.untrusted
    wrap = fence_untrusted if outside else None
    found: list[Message] = []
    for given in call.inputs["messages"]:
        # Nobody outside gives a model orders, whatever role they claim.
        role: Role = "user" if outside and given["role"] == "system" else given["role"]
        found.append(model_request.make_message(role, given["content"], wrap))
    return model_request.append_media(tuple(found), media)


def answer_outputs(answer: ModelAnswer) -> dict[str, Any]:
    """The outputs that tell of the answer itself."""
    spent = answer.usage
    usage = {"inputTokens": spent.input_tokens, "outputTokens": spent.output_tokens}
    return {
        "model": answer.model,
        "finishReason": model_request.finish_reason(answer.stop),
        "usage": {**usage, "totalTokens": spent.input_tokens + spent.output_tokens},
    }
