"""Builds the model request of a node, and maps the reason why an answer ended to its wire name.

Parts of messages are not checked here. The engine resolves them when a model is actually called, so that a node that is
called again gets its recorded answers even if the media have changed. The caller only ensures that the content of a
message is a text or a list.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from weftwork.ports.models import Message, ModelRequest, Role, UnresolvedMessage
from weftwork.ports.nodes import NodeCall
from weftwork.protocol.json.values import is_object
from weftwork.protocol.media.message_parts import plain_text
from weftwork.protocol.models.answers import StopReason
from weftwork.protocol.models.selection import select_model

MAX_MESSAGES: Final = 1_000
MAX_TOKENS: Final = 10_000_000
MAX_MODEL_NAME: Final = 256
MAX_STOP_SEQUENCES: Final = 16
MAX_STOP_SEQUENCE_CHARS: Final = 256
START_MESSAGE: Final = "Begin."
"""The user message of a node that has only a system prompt, because models need at least one message."""

_FINISH_REASONS: Final = {
    "stop": "stop",
    "length": "length",
    "content-filter": "content_filter",
    "tool-call": "tool_calls",
}


def make_message(role: Role, content: Any, wrap: Callable[[str], str] | None = None) -> Message:
    """ai-03 (RFC 0091, parts of messages): a message with the author's content. `wrap` is applied to each text."""
    text = plain_text(content)
    if text is not None:
        return Message(role, wrap(text) if wrap is not None else text)
    parts = tuple(wrap_text_part(part, wrap) if wrap is not None else part for part in content)
    return UnresolvedMessage(role, "\n".join(part["text"] for part in parts if _is_text(part)), parts)


def wrap_text_part(part: Any, wrap: Callable[[str], str]) -> Any:
    """The part with `wrap` applied to its text. Parts of other types, and invalid parts, are returned unchanged."""
    return {**part, "text": wrap(part["text"])} if _is_text(part) else part


def append_media(messages: Sequence[Message], media: Sequence[Any]) -> tuple[Message, ...]:
    """The messages with these parts added as content of the user: in the last message if it has role "user", else in a
    new message."""
    if not media:
        return tuple(messages)
    earlier, last = (messages[:-1], messages[-1]) if messages and messages[-1].role == "user" else (messages, None)
    text = last.text if last is not None else ""
    parts = last.parts if isinstance(last, UnresolvedMessage) else ()
    texts = ({"type": "text", "text": text},) if text and not parts else ()
    return (*earlier, UnresolvedMessage("user", text, (*parts, *texts, *media)))


def make_model_request(
    call: NodeCall, settings: Mapping[str, Any], messages: tuple[Message, ...], system: str
) -> ModelRequest:
    """The request with the selected provider, model and parameters. Options of the run override those of the node."""
    choice = select_model(call.configurable, settings)
    return ModelRequest(
        choice.provider,
        choice.model,
        messages,
        system,
        choice.temperature,
        choice.max_tokens,
        tuple(settings.get("stopSequences", ())),
        node_id=call.node_id,
        run_id=call.run_id,
        mock=call.configurable.get("mockProvider"),
    )


def finish_reason(stop: StopReason) -> str:
    """The wire name of the reason why an answer ended."""
    return _FINISH_REASONS.get(stop, "other")


def _is_text(part: Any) -> bool:
    return is_object(part) and part.get("type") == "text" and isinstance(part.get("text"), str)
