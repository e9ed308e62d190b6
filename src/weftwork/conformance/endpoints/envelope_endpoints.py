"""Test endpoints about what nodes are told and tell of envelopes: reliability events and prompt wrapping.

A reliability event is written only if the live path could have written it.
"""

from typing import Any, Final

from weftwork.adapters.http.message import Request, Response, json_response
from weftwork.conformance.endpoints.envelope_acceptance import nested_error_response
from weftwork.conformance.endpoints.test_log import TestLog
from weftwork.protocol.ids import is_node_id
from weftwork.protocol.json import schema
from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.privacy.trust import DEFAULT_SOURCE, render_for_model
from weftwork.protocol.run.events import Draft

RECOVERY_EVENT: Final = "envelope.recovery.applied"
_RECOVERY_MEMBERS: Final = frozenset({"nodeId", "path", "byteOffset"})
_CREDENTIAL: Final = "credentialRef"
_CANARY: Final = "secret-canary-"


class ReliabilityEventEndpoint:
    """emitEnvelopeReliability."""

    def __init__(self, log: TestLog) -> None:
        self._log = log

    async def emit(self, request: Request) -> Response:
        """env-33 (RFC 0032): only payloads that fit their closed schemas are written, and nothing that leaks."""
        body = await request.json()
        wrong = schema.check("emit-envelope-reliability", body)
        if wrong and is_object(body):
            return _violation_response(wrong[0], "")
        schema.require("emit-envelope-reliability", body)
        kind, payload = body["type"], body["payload"]
        if _has_credential(payload):
            return nested_error_response("envelope_reliability_credential_leak", "The payload holds a credential.")
        if kind == RECOVERY_EVENT and not payload.keys() <= _RECOVERY_MEMBERS:
            return nested_error_response("envelope_recovery_content_leak", "The payload holds more than where and how.")
        if found := schema.check_payload(kind, payload):
            return _violation_response(found[0], "/payload")
        node_id: str = body.get("nodeId", payload["nodeId"])
        draft = Draft(kind, payload, node_id if is_node_id(node_id) else None, body.get("correlationId"))
        written = self._log.append(request.caller.partition, body["runId"], (draft,))
        return json_response(200, {"event": written[0]})


def _violation_response(violation: schema.Violation, at: str) -> Response:
    return nested_error_response(
        "invalid_argument", f"The value at the pointer '{at}{violation.pointer}' {violation.message}."
    )


def _has_credential(payload: dict[str, Any]) -> bool:
    stack: list[Any] = [payload]
    while stack:
        value = stack.pop()
        if isinstance(value, str):
            if _CANARY in value:
                return True
        elif is_object(value):
            if any(name == _CREDENTIAL or _CANARY in name for name in value):
                return True
            stack += value.values()
        elif is_array(value):
            stack += value
    return False


async def wrap_prompt(request: Request) -> Response:
    """wrapPrompt: the very text that a prompt of a later node would hold."""
    body = await request.json()
    schema.require("prompt-wrap", body)
    prompt = render_for_model(
        body["payload"],
        body.get("contentTrust"),
        type=body.get("eventType", "event"),
        source=body.get("source", DEFAULT_SOURCE),
        attributes=body.get("attributes"),
    )
    return json_response(200, {"prompt": prompt})
