"""Builds the model request of a node, and names the reason why an answer ended.

Parts of messages are not looked at here: the engine resolves them when a model is really called, so that a node that is
entered again gets its recorded answers whatever has become of the media since. Only the outer form of what is given is
the caller's to check: a text or a list as the content of a message.
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
"""The message where all is said in the system prompt: no model answers to nothing."""

_FINISH_REASONS: Final = {
    "stop": "stop",
    "length": "length",
    "content-filter": "content_filter",
    "tool-call": "tool_calls",
}


def make_message(role: Role, content: Any, wrap: Callable[[str], str] | None = None) -> Message:
    """ai-03 (RFC 0091, parts of messages): a message as its author gave it. `wrap` is put around each text."""
    text = plain_text(content)
    if text is not None:
        return Message(role, wrap(text) if wrap is not None else text)
    parts = tuple(wrap_text_part(part, wrap) if wrap is not None else part for part in content)
    return UnresolvedMessage(role, "\n".join(part["text"] for part in parts if _is_text(part)), parts)


def wrap_text_part(part: Any, wrap: Callable[[str], str]) -> Any:
    """The part with `wrap` around its text; a part of another type, or what is none, as it is."""
    return {**part, "text": wrap(part["text"])} if _is_text(part) else part


def append_media(messages: Sequence[Message], media: Sequence[Any]) -> tuple[Message, ...]:
    """The conversation with these parts at its end, as said by the user: in the last message if that is the user's,
    else in one of their own."""
    if not media:
        return tuple(messages)
    earlier, last = (messages[:-1], messages[-1]) if messages and messages[-1].role == "user" else (messages, None)
    text = last.text if last is not None else ""
    known = last.parts if isinstance(last, UnresolvedMessage) else ()
    texts = ({"type": "text", "text": text},) if text and not known else ()
    return (*earlier, UnresolvedMessage("user", text, (*known, *texts, *media)))


def make_model_request(
    call: NodeCall, given: Mapping[str, Any], messages: tuple[Message, ...], system: str
) -> ModelRequest:
    """Who answers and how; what the run's options say wins over what the node was given."""
    choice = select_model(call.configurable, given)
    return ModelRequest(
        choice.provider,
        choice.model,
        messages,
        system,
        choice.temperature,
        choice.max_tokens,
        tuple(given.get("stopSequences", ())),
        node_id=call.node_id,
        run_id=call.run_id,
        mock=call.configurable.get("mockProvider"),
    )


def finish_reason(stop: StopReason) -> str:
    """Why an answer ended, in the words of the wire."""
    return _FINISH_REASONS.get(stop, "other")


def _is_text(part: Any) -> bool:
    return is_object(part) and part.get("type") == "text" and isinstance(part.get("text"), str)
