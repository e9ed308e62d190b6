"""The error table: every code the host may answer, with its HTTP status.

    Fault
    +-- ClientFault      the caller can mend it: 4xx (or a capacity answer), safe to show
    +-- HostFault        the host is at fault: 5xx, shows a correlation id and nothing else

Sources: OpenWOP rest-endpoints (error envelope and codes) and the settled additions 405, 413, 415.
"""

from typing import Any, Final

import msgspec


class ErrorRow(msgspec.Struct, frozen=True):
    """One row: the HTTP status, whether a retry can help, and when it is used."""

    status: int
    retryable: bool
    when: str


ERRORS: dict[str, ErrorRow] = {
    "validation_error": ErrorRow(400, False, "The request is malformed or breaks a documented limit."),
    "unsupported_stream_mode": ErrorRow(400, False, "The stream mode is unknown or may not be combined."),
    "unsupported_modality": ErrorRow(400, False, "A message has a part that no model of this host takes."),
    "unsupported_mock_provider": ErrorRow(400, False, "The mock provider id is not offered."),
    "channel_access_denied": ErrorRow(400, False, "The channel does not let this node or caller in."),
    "channel_cross_engine_write_forbidden": ErrorRow(400, False, "Another engine may not replace a channel."),
    "unauthenticated": ErrorRow(401, False, "No valid API key was sent."),
    "key_expired": ErrorRow(401, False, "The API key is past its expiry."),
    "key_revoked": ErrorRow(401, False, "The API key was revoked."),
    "forbidden": ErrorRow(403, False, "The key lacks the scope or may not name that tenant."),
    "untrusted_content_blocks_approval": ErrorRow(403, False, "An approval takes no answer from an untrusted source."),
    "mock_provider_forbidden": ErrorRow(403, False, "Mock providers need a test key."),
    "credential_forbidden": ErrorRow(403, False, "The model provider takes no credential of the caller's."),
    "not_found": ErrorRow(404, False, "Nothing here that this key can see."),
    "interrupt_not_found": ErrorRow(404, False, "No interrupt is open at this node."),
    "method_not_allowed": ErrorRow(405, False, "The path exists, the method does not."),
    "run_already_active": ErrorRow(409, True, "X-Dedup: a run with this scope is still live."),
    "idempotency_key_mismatch": ErrorRow(409, False, "The Idempotency-Key was used with another body."),
    "conflict": ErrorRow(409, False, "The run is not in a state for this; see details.runStatus."),
    "run_terminal": ErrorRow(409, False, "The run has ended and can no longer be cancelled."),
    "workflow_version_conflict": ErrorRow(409, False, "This version of the workflow is there with other content."),
    "workflow_limit_reached": ErrorRow(409, False, "The tenant has as many workflows or versions as it may."),
    "annotation_limit_reached": ErrorRow(409, False, "The run has as many annotations as it may."),
    "interrupt_already_resolved": ErrorRow(409, False, "The interrupt has its answer, or its run has ended."),
    "idempotency_in_flight": ErrorRow(409, True, "A request with this Idempotency-Key is still running."),
    "interrupt_expired": ErrorRow(410, False, "The link is older than it may be; ask for a new one."),
    "interrupt_gone": ErrorRow(410, False, "The interrupt went with its cancelled run."),
    "payload_too_large": ErrorRow(413, False, "The body is larger than it may be, or the tenant has no room for it."),
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
    "node_input_invalid": "A node's input does not convert to the type that its function takes.",
    "node_output_invalid": "A node returned what is not JSON, or does not fit what it declares.",
    "node_output_too_large": "A node made a value that is larger than a run may hold.",
    "node_timeout": "An attempt of a node took longer than its time limit.",
    "node_heartbeat_lost": "Nothing was heard of a node for longer than it allows.",
    "node_threads_exhausted": "Too many threads are held by nodes that were left behind.",
    "node_crashed": "The host ended too often while a node ran.",
    "node_misused": "A node asked something of the host that it may not.",
    "step_failed": "A step of a node raised an error that it did not name.",
    "step_not_done": "A step of a node could not be done; nothing has happened.",
    "step_result_invalid": "What a step returned does not fit what its function says it returns.",
    "version_out_of_range": "The run has pinned a version of a change that the node does not know.",
    "host_capability_missing": "A node asked for something that this host does not offer.",
    "provider_not_supported": "A node asked for a model of a provider that this host does not offer.",
    "provider_unavailable": "No answer came from the provider of a model.",
    "unsupported_modality": "A message has a part that the model does not take.",
    "media_not_found": "A mediaRef leads to nothing that the tenant of the run has.",
    "media_too_large": "Media are larger than they may be where they were used, or the tenant has no room for them.",
    "prompt_ref_unresolved": "A node refers to a prompt template that this host does not have.",
    "prompt_variable_unresolved": "A prompt template needs a variable that has no value.",
    "prompt_variable_invalid": "A variable of a prompt template has a value of another type.",
    "effect_failed": "Somebody has said that an effect of unknown outcome failed.",
    "variable_type_mismatch": "A node wrote a value into a variable that is declared with another type.",
    "loop_limit_exceeded": "A loop went round as often as settings.maxLoopbackIterations allows, or a supervised one "
    "as often as maxLoopIterations or iterationCap does.",
    "expression_invalid": "An expression is not one that this host can read.",
    "expression_failed": "An expression gave no value.",
    "expression_limit": "An expression is over a bound of its source, its inputs or its result.",
    "channel_write_invalid": "A node wrote a value that its channel does not take.",
    "channel_access_denied": "A node may not write to the channel.",
    "channel_schema_breaking_change": "A channel holds values of an older schema that the present one does not read.",
    "ssrf_blocked": "A node wanted to send a request that the guard does not let out.",
    "fetch_failed": "A node's request was not sent, or no whole answer came.",
    "interrupt_rejected": "A person said no at a gate, or nobody answered there in time.",
    "interrupt_timeout": "Nobody answered a question of a node in time.",
    "host_invariant_broken": "The host found its own records inconsistent and stopped the run.",
}
"""Codes of failed runs and nodes; node types may add their own."""
NO_SUCH_RUN: Final = "There is no such run."


class Fault(Exception):
    """Base of everything the host raises on purpose."""


class ClientFault(Fault):
    """A refusal the caller can act on. `code` is a key of ERRORS; details never echo a submitted value."""

    def __init__(
        self, code: str, message: str, details: dict[str, Any] | None = None, status: int | None = None
    ) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.details = details
        self.status = status or ERRORS[code].status


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
