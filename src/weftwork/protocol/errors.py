"""The error table: every code the host may answer, with its HTTP status.

    Fault
    +-- ClientFault      the caller can mend it: 4xx (or a capacity answer), safe to show
    +-- HostFault        the host is at fault: 5xx, shows a correlation id and nothing else

Sources: OpenWOP rest-endpoints (error envelope and codes) and the settled additions 405, 413, 415.
"""

from typing import Any

import msgspec


class ErrorRow(msgspec.Struct, frozen=True):
    """One row: the HTTP status, whether a retry can help, and when it is used."""

    status: int
    retryable: bool
    when: str


ERRORS: dict[str, ErrorRow] = {
    "validation_error": ErrorRow(400, False, "The request is malformed or breaks a documented limit."),
    "unsupported_stream_mode": ErrorRow(400, False, "The stream mode is unknown or may not be combined."),
    "unsupported_mock_provider": ErrorRow(400, False, "The mock provider id is not offered."),
    "unauthenticated": ErrorRow(401, False, "No valid API key was sent."),
    "key_expired": ErrorRow(401, False, "The API key is past its expiry."),
    "key_revoked": ErrorRow(401, False, "The API key was revoked."),
    "forbidden": ErrorRow(403, False, "The key lacks the scope or may not name that tenant."),
    "mock_provider_forbidden": ErrorRow(403, False, "Mock providers need a test key."),
    "not_found": ErrorRow(404, False, "Nothing here that this key can see."),
    "method_not_allowed": ErrorRow(405, False, "The path exists, the method does not."),
    "run_already_active": ErrorRow(409, True, "X-Dedup: a run with this scope is still live."),
    "idempotency_key_mismatch": ErrorRow(409, False, "The Idempotency-Key was used with another body."),
    "idempotency_in_flight": ErrorRow(409, True, "A request with this Idempotency-Key is still running."),
    "payload_too_large": ErrorRow(413, False, "The body is larger than limits.maxRequestBodyBytes."),
    "unsupported_media_type": ErrorRow(415, False, "The body is not application/json or is encoded."),
    "capability_required": ErrorRow(422, False, "The workflow needs a capability this host does not offer."),
    "rate_limited": ErrorRow(429, True, "Too many requests or streams; see Retry-After."),
    "internal_error": ErrorRow(500, True, "The host failed; quote details.correlationId."),
    "capability_not_provided": ErrorRow(501, False, "This optional surface is not offered here."),
    "service_unavailable": ErrorRow(503, True, "At capacity, draining or without its store; see Retry-After."),
}

RUN_ERRORS: dict[str, str] = {
    "capability_not_provided": "A node needs a runtime capability that this host does not provide.",
    "recursion_limit_exceeded": "The run reached its limit of node executions.",
    "run_timeout": "The run reached its time limit.",
    "node_failed": "A node raised an error that it did not name.",
    "node_input_missing": "A node's required input had no value.",
    "node_config_invalid": "A node's resolved inputs or config do not fit its declaration.",
    "host_invariant_broken": "The host found its own records inconsistent and stopped the run.",
}
"""Codes of failed runs and nodes; node types may add their own."""


class Fault(Exception):
    """Base of everything the host raises on purpose."""


class ClientFault(Fault):
    """A refusal the caller can act on. `code` is a key of ERRORS; details never echo a submitted value."""

    def __init__(self, code: str, message: str, details: dict[str, Any] | None = None) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.details = details
        self.status = ERRORS[code].status


class HostFault(Fault):
    """Something on our side failed. The text is for the log, never for the wire."""


def invalid(message: str, pointer: str = "", **details: Any) -> ClientFault:
    """A `validation_error` that points at the offending place (RFC 6901) and never repeats its value."""
    return ClientFault("validation_error", message, {"pointer": pointer, **details})


def error_document(code: str, message: str, details: dict[str, Any] | None = None) -> dict[str, Any]:
    """err-01 (OpenWOP rest-endpoints): the closed error envelope `{error, message, details?}`."""
    document: dict[str, Any] = {"error": code, "message": message}
    if details:
        document["details"] = details
    return document
