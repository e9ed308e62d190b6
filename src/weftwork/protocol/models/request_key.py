"""The semantic keys of a model request: SHA-256 digests of the members that can change the answer.

Two requests with the same key ask a model for the same thing, over any connection, with any credential, in any run. The
keys are stored with the recorded answer, so that a replay finds the answer and does not call the model again.

The specification has two recipes. v1 is the one that hosts exchange. v2 adds the members that v1 ignores although they
change the answer, such as the token limit; a host that reuses an answer compares v2.

What the settings of a provider add to each request, such as a seed or members of `body`, is in neither key: the keys
identify what the run asked for.

Sources: OpenWOP replay (LLM cache-key recipe), RFC 0041, RFC 8785.
"""

import hashlib
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from weftwork.protocol.json.canonical import encode_canonical

V1_MEMBERS: Final = ("provider", "model", "messages", "tools", "temperature", "topP", "topK", "responseFormat")
V2_MEMBERS: Final = (*V1_MEMBERS, "maxOutputTokens", "stop", "seed", "safetySettings", "providerOptions")
V2_RECIPE: Final = "openwop-semantic-request-v2"


class SemanticRequest(msgspec.Struct, frozen=True):
    """The members of this host's requests that can change the answer."""

    provider: str
    model: str
    messages: list[dict[str, Any]]
    tools: Sequence[dict[str, Any]] = ()
    temperature: float | None = None
    response_format: dict[str, Any] | None = None
    max_output_tokens: int | None = None
    stop: Sequence[str] = ()

    def document(self) -> dict[str, Any]:
        members: dict[str, Any] = {"provider": self.provider, "model": self.model, "messages": self.messages}
        if self.tools:
            members["tools"] = list(self.tools)
        if self.temperature is not None:
            members["temperature"] = self.temperature
        if self.response_format is not None:
            members["responseFormat"] = self.response_format
        if self.max_output_tokens is not None:
            members["maxOutputTokens"] = self.max_output_tokens
        if self.stop:
            members["stop"] = list(self.stop)
        return members


def media_part_document(modality: str, media_type: str, sha256: str) -> dict[str, Any]:
    """A medium counts by its digest and type, so that its key does not depend on where the bytes come from."""
    return {"type": modality, "mediaType": media_type, "sha256": sha256}


def schema_format(
    response_schema: dict[str, Any] | None, payload_schema: dict[str, Any] | None
) -> dict[str, Any] | None:
    """The `responseFormat` for the schemas of an answer and of its envelope's payload; None without schemas."""
    if response_schema is None and payload_schema is None:
        return None
    schemas = {"schema": response_schema, "payloadSchema": payload_schema}
    return {"type": "json_schema", **{name: schema for name, schema in schemas.items() if schema is not None}}


def semantic_keys(request: dict[str, Any]) -> dict[str, str]:
    """model-40 (OpenWOP replay, LLM cache-key recipe): the keys of a request by recipe, {v1, v2}.

    `request` needs `provider`, `model` and `messages`. Absent members are left out of the digest, and members of no
    recipe are ignored. Raises ValueError or TypeError for a value that has no canonical JSON.
    """
    members = {name: request[name] for name in V2_MEMBERS if name in request}
    members["provider"] = members["provider"].lower()
    if "tools" in members:
        # The order of tools means nothing to a model. Equal names stay in the order of the request.
        members["tools"] = sorted(members["tools"], key=lambda tool: tool["name"])
    encoded = {name: encode_canonical(value) for name, value in members.items()}
    v1 = {name: value for name, value in encoded.items() if name in V1_MEMBERS}
    return {"v1": _digest(v1), "v2": _digest({**encoded, "recipe": encode_canonical(V2_RECIPE)})}


def _digest(encoded: dict[str, bytes]) -> str:
    """The digest of the canonical JSON of an object whose members, with ASCII names, are already encoded."""
    return hashlib.sha256(
        b"{%b}" % b",".join(b'"%b":%b' % (name.encode(), encoded[name]) for name in sorted(encoded))
    ).hexdigest()
