"""The seam that writes an event about the reliability of an answer, if the live path could have written it."""

from typing import Any, Final

from weftwork.adapters.http.message import Request, Response, json_response
from weftwork.adapters.http.seam_refusal import seam_refusal
from weftwork.engine.test_log import TestLog
from weftwork.protocol import schema
from weftwork.protocol.events import Draft
from weftwork.protocol.ids import is_node_id
from weftwork.protocol.json_value import is_array, is_object

RECOVERY: Final = "envelope.recovery.applied"
_RECOVERED: Final = frozenset({"nodeId", "path", "byteOffset"})
_CREDENTIAL: Final = "credentialRef"
_CANARY: Final = "secret-canary-"


class ReliabilitySeam:
    """emitEnvelopeReliability."""

    def __init__(self, log: TestLog) -> None:
        self._log = log

    async def emit(self, request: Request) -> Response:
        """env-33 (RFC 0032): only payloads that fit their closed schemas are written, and nothing that leaks."""
        body = await request.document()
        wrong = schema.check("emit-envelope-reliability", body)
        if wrong and is_object(body):
            return _wrong(wrong[0], "")
        schema.require("emit-envelope-reliability", body)
        kind, payload = body["type"], body["payload"]
        if _leaks(payload):
            return seam_refusal("envelope_reliability_credential_leak", "The payload holds a credential.")
        if kind == RECOVERY and not payload.keys() <= _RECOVERED:
            return seam_refusal("envelope_recovery_content_leak", "The payload holds more than where and how.")
        if found := schema.check_payload(kind, payload):
            return _wrong(found[0], "/payload")
        node_id: str = body.get("nodeId", payload["nodeId"])
        draft = Draft(kind, payload, node_id if is_node_id(node_id) else None, body.get("correlationId"))
        written = self._log.append(request.caller.partition, body["runId"], (draft,))
        return json_response(200, {"event": written[0]})


def _wrong(violation: schema.Violation, at: str) -> Response:
    return seam_refusal("invalid_argument", f"The value at the pointer '{at}{violation.pointer}' {violation.message}.")


def _leaks(payload: dict[str, Any]) -> bool:
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
