"""Builds the model request of a node, and names the reason why an answer ended."""

from collections.abc import Mapping
from typing import Any, Final

from weftwork.ports.models import Message, ModelRequest
from weftwork.ports.nodes import NodeCall
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
