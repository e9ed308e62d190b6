"""Mock providers: what a run with a test key can have its model calls answered by. Source: OpenWOP run-options."""

from typing import Any, Final

from weftwork.protocol.json.schema import check_inline, violations_fault

MAX_DELAY_MS: Final = 5000
"""Per token; what an error may keep waiting as well."""
FINISH_REASONS: Final = ("stop", "length", "tool_calls", "content_filter")

_DELAY: Final = {"type": "integer", "minimum": 0, "maximum": MAX_DELAY_MS}
_COUNT: Final = {"type": "integer", "minimum": 0, "maximum": 2**53 - 1}
_USAGE: Final = {
    "type": "object",
    "properties": {"promptTokens": _COUNT, "completionTokens": _COUNT, "totalTokens": _COUNT},
}
_TOOL_CALL: Final = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "id": {"type": "string", "minLength": 1, "maxLength": 256},
        "name": {"type": "string", "minLength": 1, "maxLength": 256},
        "arguments": {"type": ["string", "object"]},
    },
}

MOCK_CONFIGS: Final[dict[str, dict[str, Any]]] = {
    "stream-text": {
        "tokens": {"type": "array", "maxItems": 10_000, "items": {"type": "string", "maxLength": 65_536}},
        "delayMsPerToken": _DELAY,
        "finishReason": {"type": "string", "enum": list(FINISH_REASONS)},
        "usage": _USAGE,
        "model": {"type": "string", "minLength": 1, "maxLength": 256},
    },
    "tool-calls": {"toolCalls": {"type": "array", "maxItems": 1000, "items": _TOOL_CALL}, "delayMsPerToken": _DELAY},
    "error": {
        "code": {"type": "string", "pattern": "^[A-Za-z][A-Za-z0-9_.-]{0,127}$"},
        "message": {"type": "string", "minLength": 1, "maxLength": 1000},
        "retryable": {"type": "boolean"},
        "failAfterMs": _DELAY,
    },
    "usage-only": {"usage": _USAGE},
}
"""What each takes as its config: the schemas of its members. Others are ignored."""


def check_mock_config(provider: str, config: dict[str, Any]) -> None:
    """model-16 (OpenWOP run-options): the config of a mock provider is one that it can play."""
    at = "/configurable/mockProvider/config"
    violations = check_inline({"type": "object", "properties": MOCK_CONFIGS[provider]}, config, at)
    if violations:
        raise violations_fault("mockProvider", violations)
