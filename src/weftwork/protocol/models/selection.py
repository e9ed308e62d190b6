"""Selects the model for a node, and checks the configs of the mock providers for runs with a test key.

The options of the run take precedence over the config of the node, which takes precedence over the host's default.
Source: OpenWOP run-options.
"""

from collections.abc import Container, Mapping
from typing import Any, Final

import msgspec

from weftwork.protocol.errors import ClientFault, invalid
from weftwork.protocol.json.schema import check_inline, violations_fault
from weftwork.protocol.json.values import is_object

PROVIDER_OPTION: Final = "provider"
MODEL_OPTION: Final = "model"
CREDENTIAL_OPTION: Final = "credentialRef"
MAX_NAME: Final = 256
MAX_TOKENS: Final = 10_000_000
"""More than any model generates. JSON Schema counts 1e308 as an integer, but strict JSON readers reject integers that
large."""


class ModelSelection(msgspec.Struct, frozen=True):
    """The selected model. The host decides on every member that is empty or None."""

    provider: str = ""
    model: str = ""
    temperature: float | None = None
    max_tokens: int | None = None


def select_model(configurable: Mapping[str, Any], config: Mapping[str, Any]) -> ModelSelection:
    """model-17 (OpenWOP run-options): combine the options of the run with the config of a node.

    `ai.model` takes precedence over `model`. The node's model belongs to the node's provider: if the run selects
    another provider and no model, that provider's default model is used.
    """
    provider = _ai_option(configurable, PROVIDER_OPTION)
    node_provider = config.get("provider") or ""
    model = _ai_option(configurable, MODEL_OPTION) or configurable.get("model")
    if not model:
        model = config.get("model") if provider in (None, node_provider) else ""
    tokens = configurable.get("maxTokens", config.get("maxTokens"))
    return ModelSelection(
        provider or node_provider,
        model or "",
        configurable.get("temperature", config.get("temperature")),
        None if tokens is None else min(int(tokens), MAX_TOKENS),
    )


def requested_mock(configurable: Mapping[str, Any]) -> str | None:
    """The mock provider that answers the model calls of a run with a test key; None for a run without one."""
    mock = configurable.get("mockProvider")
    return str(mock.get("id", "")) if is_object(mock) else None


def check_selection(configurable: Mapping[str, Any], supported: Container[str], byok: Container[str] = ()) -> None:
    """model-18 (OpenWOP run-options): check the options `ai.*`, which may be flat or nested.

    `byok` holds the providers that accept the caller's credential. Raises ClientFault with the pointer of the first
    invalid option.
    """
    nested = configurable.get("ai", {})
    if not is_object(nested):
        raise invalid("ai must be an object.", "/configurable/ai")
    for name in (PROVIDER_OPTION, MODEL_OPTION, CREDENTIAL_OPTION):
        flat = f"ai.{name}"
        values = [(configurable[flat], flat)] if flat in configurable else []
        values += [(nested[name], f"ai/{name}")] if name in nested else []
        for value, at in values:
            if not isinstance(value, str) or not 0 < len(value) <= MAX_NAME:
                raise invalid(f"ai.{name} must be a string of 1 to {MAX_NAME} characters.", f"/configurable/{at}")
        if len(values) == 2 and values[0][0] != values[1][0]:
            raise invalid(
                f"ai.{name} is set twice, flat and nested, with different values. Set it once.", f"/configurable/{flat}"
            )
        if name == PROVIDER_OPTION and values and values[0][0] not in supported:
            raise invalid(
                "This host does not offer this provider. Discovery lists the offered ones in aiProviders.supported.",
                f"/configurable/{values[0][1]}",
            )
    if _ai_option(configurable, CREDENTIAL_OPTION) is not None:
        provider = _ai_option(configurable, PROVIDER_OPTION)
        if provider is None or provider not in byok:
            details = {} if provider is None else {"provider": provider}
            text = "The selected provider does not accept a caller's credential; remove ai.credentialRef."
            raise ClientFault("credential_forbidden", text, details or None)


def _ai_option(configurable: Mapping[str, Any], name: str) -> str | None:
    flat = configurable.get(f"ai.{name}")
    nested = configurable.get("ai")
    return flat if flat is not None or not is_object(nested) else nested.get(name)


MAX_DELAY_MS: Final = 5000
"""Limit of `delayMsPerToken` and `failAfterMs`."""
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
"""The schemas of the config members of each mock provider. Other members are ignored."""


def check_mock_config(provider: str, config: dict[str, Any]) -> None:
    """model-16 (OpenWOP run-options): check the config of a mock provider. Raises ClientFault for a violation."""
    at = "/configurable/mockProvider/config"
    violations = check_inline({"type": "object", "properties": MOCK_CONFIGS[provider]}, config, at)
    if violations:
        raise violations_fault("mockProvider", violations)
