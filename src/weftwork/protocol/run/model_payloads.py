"""Payloads of the events of model calls, their prompts and their envelopes. See `payloads`.

Sources: OpenWOP run-event-payloads, RFC 0021, RFC 0026, RFC 0027, RFC 0031 D, RFC 0032, RFC 0094 D.
"""

from typing import Any

from msgspec import UNSET, UnsetType

from weftwork.protocol.run import events
from weftwork.protocol.run.events import Payload
from weftwork.protocol.run.payloads import JsonObject


class ModelAnswered(Payload, frozen=True):
    """The answer of a model, or the `fault` if the call failed."""

    event_type = events.MODEL_ANSWERED
    node_id: str
    call: str
    provider: str | UnsetType = UNSET
    model: str | UnsetType = UNSET
    text: str | UnsetType = UNSET
    stop: str | UnsetType = UNSET
    input_tokens: int | UnsetType = UNSET
    output_tokens: int | UnsetType = UNSET
    detail: str | UnsetType = UNSET
    safety_category: str | UnsetType = UNSET
    tool_calls: list[JsonObject] | UnsetType = UNSET
    shown: list[str] | UnsetType = UNSET
    """References of the assets in the messages to the model."""
    media: list[JsonObject] | UnsetType = UNSET
    fault: JsonObject | UnsetType = UNSET
    request_keys: JsonObject | UnsetType = UNSET
    """The semantic keys of the request by recipe: {v1, v2}."""


class ProviderWaiting(Payload, frozen=True):
    """The node waits for a model provider, and calls it again at `retry_at`, a timestamp."""

    event_type = events.PROVIDER_WAITING
    node_id: str
    provider: str
    code: str
    retry_at: str


class ProviderRetried(Payload, frozen=True):
    """The wait for a model provider is over, and the node is called again as the same attempt."""

    event_type = events.PROVIDER_RETRIED
    node_id: str


class OutputChunk(Payload, frozen=True):
    """evt-07 (RFC 0094 D): a part of a model's answer. Streams derive `ai.message.chunk` from it."""

    event_type = events.OUTPUT_CHUNK
    node_id: str
    run_id: str
    chunk: str
    is_last: bool
    meta: JsonObject


class ProviderUsage(Payload, frozen=True):
    event_type = "provider.usage"
    provider: str
    model: str
    input_tokens: int
    output_tokens: int
    total_tokens: int
    node_id: str
    cache_read_tokens: int | UnsetType = UNSET
    cost_estimate_usd: float | UnsetType = UNSET


class ModelSubstituted(Payload, frozen=True):
    """The node uses its fallback model, because the original one lacks required capabilities."""

    event_type = "model.capability.substituted"
    node_id: str
    original_provider: str
    original_model: str
    fallback_provider: str
    fallback_model: str
    missing_capabilities: list[str]


class ModelInsufficient(Payload, frozen=True):
    """The node is refused, because the model lacks required capabilities and there is no usable fallback model."""

    event_type = "model.capability.insufficient"
    node_id: str
    provider: str
    model: str
    missing_capabilities: list[str]
    fallback_attempted: bool


class EnvelopeRecorded(Payload, frozen=True):
    """The gate's result for an envelope. The members after `payload` depend on the status: accepted, gated,
    breached. `rendering`, `label` and `traceparent` are those of the envelope's `meta`."""

    event_type = events.ENVELOPE_RECORDED
    node_id: str
    correlation_id: str
    envelope_id: str
    type: str
    schema_version: int
    status: str
    payload: Any = UNSET
    redaction_count: int | UnsetType = UNSET
    rendering: JsonObject | UnsetType = UNSET
    drift: bool | UnsetType = UNSET
    floor: int | UnsetType = UNSET
    code: str | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    allowed_kinds: list[str] | UnsetType = UNSET
    refusal_mode: str | UnsetType = UNSET
    cap_kind: str | UnsetType = UNSET
    limit: int | UnsetType = UNSET
    observed: int | UnsetType = UNSET
    label: str | UnsetType = UNSET
    traceparent: str | UnsetType = UNSET


class EnvelopeRetryAttempted(Payload, frozen=True):
    event_type = "envelope.retry.attempted"
    node_id: str
    attempt: int
    reason: str
    previous_error: str | UnsetType = UNSET


class EnvelopeRetryExhausted(Payload, frozen=True):
    event_type = "envelope.retry.exhausted"
    node_id: str
    total_attempts: int
    final_reason: str
    final_error: str | UnsetType = UNSET


class EnvelopeRefusal(Payload, frozen=True):
    event_type = "envelope.refusal"
    node_id: str
    provider: str
    model: str
    refusal_text: str | None
    safety_category: str | None


class EnvelopeTruncated(Payload, frozen=True):
    event_type = "envelope.truncated"
    node_id: str
    provider: str
    model: str
    stop_reason: str
    partial_payload_available: bool
    output_token_count: int | None


class NlToFormatEngaged(Payload, frozen=True):
    event_type = "envelope.nlToFormat.engaged"
    node_id: str
    original_envelope_type: str
    fallback_calls: int


class EnvelopeRecoveryApplied(Payload, frozen=True):
    event_type = "envelope.recovery.applied"
    node_id: str
    path: str
    byte_offset: int | None


class PromptResolved(Payload, frozen=True):
    event_type = "agent.promptResolved"
    node_id: str
    kind: str
    chain: list[JsonObject]
    resolved: str
    agent_id: str | UnsetType = UNSET


class PromptComposed(Payload, frozen=True):
    """A composed prompt. Texts over the size limit are omitted."""

    event_type = "prompt.composed"
    node_id: str
    refs: list[str]
    kind: str
    hash: str
    variable_hashes: dict[str, str]
    content_trust: str
    composed: str | UnsetType = UNSET
    variable_bindings: JsonObject | UnsetType = UNSET
    system_prompt: str | UnsetType = UNSET
    user_prompt: str | UnsetType = UNSET
