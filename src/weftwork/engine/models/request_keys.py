"""The wire form of a model request, from which its semantic keys are made.

It holds what the provider was asked, and nothing about how: no ids, no credentials, no bytes of media. Known secrets
are masked, because a digest of a short secret could be guessed.
"""

from typing import Any

import msgspec

from weftwork.ports.models import Message, ModelProvider, ModelRequest, ModelTextPart
from weftwork.protocol.models.answers import clean_text
from weftwork.protocol.models.request_key import SemanticRequest, media_part_document, schema_format, semantic_keys
from weftwork.protocol.privacy.secret_matcher import SecretMatcher, redact_value


def request_keys(
    request: ModelRequest, provider: ModelProvider, secrets: SecretMatcher | None
) -> dict[str, str] | None:
    """model-40 (OpenWOP replay, LLM cache-key recipe): the keys of a request with resolved media, by recipe. None if
    the request has no canonical JSON, as with a schema that a node made with values that are not JSON."""
    document = _semantic_request(request, provider)
    if secrets is not None:
        document, _ = redact_value(document, secrets)
    try:
        return semantic_keys(document)
    except (ValueError, TypeError, RecursionError):
        return None


def _semantic_request(request: ModelRequest, provider: ModelProvider) -> dict[str, Any]:
    messages = [_message_document(message) for message in request.messages]
    if request.system:
        messages.insert(0, {"role": "system", "content": clean_text(request.system)})
    return SemanticRequest(
        provider.name,
        request.model or provider.default_model,
        messages,
        tuple(msgspec.structs.asdict(tool) for tool in request.tools),
        request.temperature,
        schema_format(request.response_schema, request.payload_schema),
        request.max_tokens,
        request.stop,
    ).document()


def _message_document(message: Message) -> dict[str, Any]:
    if isinstance(message.content, str):
        return {"role": message.role, "content": clean_text(message.content)}
    parts = [
        {"type": "text", "text": clean_text(part.text)}
        if isinstance(part, ModelTextPart)
        else media_part_document(part.modality, part.media_type, part.sha256)
        for part in message.content
    ]
    return {"role": message.role, "content": parts}
