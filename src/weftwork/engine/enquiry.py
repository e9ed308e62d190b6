"""An enquiry: what a node asks of a model, and the words in which nodes tell of the answer."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from weftwork.ports.models import Message, ModelRequest, StopReason
from weftwork.ports.nodes import Failed, NodeCall
from weftwork.protocol.model_choice import chosen

MAX_MESSAGES: Final = 1_000
MAX_TOKENS: Final = 10_000_000
MAX_NAME: Final = 256
MAX_STOPS: Final = 16
MAX_STOP: Final = 256
BEGIN: Final = "Begin."
"""The message where all is said in the system prompt: no model answers to nothing."""
UNSUPPORTED: Final = Failed(
    "unsupported_modality", "A message has a part that is no text, and this host sends text alone.", retryable=False
)
TEXTLESS: Final = Failed("node_config_invalid", "A text part of a message has no text.", retryable=False)

_FINISHED: Final = {"stop": "stop", "length": "length", "content-filter": "content_filter", "tool-call": "tool_calls"}


def enquiry(call: NodeCall, given: Mapping[str, Any], messages: tuple[Message, ...], system: str) -> ModelRequest:
    """Who answers and how; what the run's options say wins over what the node was given."""
    choice = chosen(call.configurable, given)
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


def text_of(content: str | Sequence[Mapping[str, Any]]) -> str | Failed:
    """ai-03 (RFC 0091, parts of messages): the text of a message; its parts are joined line by line."""
    if isinstance(content, str):
        return content
    if any(part.get("type") != "text" for part in content):
        return UNSUPPORTED
    texts = [part.get("text") for part in content]
    if not all(isinstance(text, str) for text in texts):
        return TEXTLESS
    return "\n".join(map(str, texts))


def finish_reason(stop: StopReason) -> str:
    """Why an answer ended, in the words of the wire."""
    return _FINISHED.get(stop, "other")
