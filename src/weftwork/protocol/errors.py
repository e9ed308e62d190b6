"""Error codes of responses and of failed runs, and the exceptions that carry them.

    Fault
    +-- ClientFault      the caller can act on it: a 4xx status, or 501 or 503; the message goes into the response
    +-- HostFault        the host is at fault: 500; the response holds a correlation id and nothing else

Sources: OpenWOP rest-endpoints (error envelope and codes). The host adds the statuses 405, 413 and 415.
"""

from typing import Any, Final

import msgspec


class ErrorRow(msgspec.Struct, frozen=True):
    status: int
    retryable: bool
    when: str


ERRORS: dict[str, ErrorRow] = {
    "validation_error": ErrorRow(400, False, "The request is malformed or exceeds a limit; see details.pointer."),
    "unsupported_stream_mode": ErrorRow(
        400, False, "The stream mode is unknown, or the modes cannot be combined in one stream."
    ),
    "unsupported_modality": ErrorRow(400, False, "No model of this host accepts a message part of this modality."),
    "unsupported_mock_provider": ErrorRow(
        400, False, "The host has no mock provider with this id; see details.supportedProviders."
    ),
    "channel_access_denied": ErrorRow(400, False, "The access list of the channel excludes this node or caller."),
    "channel_cross_engine_write_forbidden": ErrorRow(
        400, False, "Another engine may not write to a channel whose reducer is replace."
    ),
    "unauthenticated": ErrorRow(401, False, "The request has no valid API key."),
    "key_expired": ErrorRow(401, False, "The API key has expired."),
    "key_revoked": ErrorRow(401, False, "The API key was revoked."),
    "forbidden": ErrorRow(403, False, "The API key lacks the required scope, or has no access to the named tenant."),
    "untrusted_content_blocks_approval": ErrorRow(
        403, False, "An approval cannot be answered with content from an untrusted source."
    ),
    "mock_provider_forbidden": ErrorRow(403, False, "Only test keys may use mock providers."),
    "credential_forbidden": ErrorRow(403, False, "The model provider accepts no credentials from callers."),
    "not_found": ErrorRow(404, False, "The resource does not exist, or the API key has no access to it."),
    "interrupt_not_found": ErrorRow(404, False, "The node has no open interrupt."),
    "method_not_allowed": ErrorRow(405, False, "The path does not support this method; see the Allow header."),
    "run_already_active": ErrorRow(409, True, "A run with the same X-Dedup scope has not ended yet."),
    "idempotency_key_mismatch": ErrorRow(
        409, False, "The Idempotency-Key was already used with a different request body; send a new key."
    ),
    "conflict": ErrorRow(409, False, "The status of the run does not allow this request; see details.runStatus."),
    "run_terminal": ErrorRow(409, False, "The run has ended and can no longer be cancelled."),
    "workflow_version_conflict": ErrorRow(
        409, False, "This version of the workflow is already registered with other content; change the version."
    ),
    "workflow_limit_reached": ErrorRow(409, False, "The tenant has reached its limit of workflows or versions."),
    "annotation_limit_reached": ErrorRow(409, False, "The run has reached its limit of annotations."),
    "tenant_quota_exceeded": ErrorRow(
        409, False, "The tenant has reached its storage limit for event logs; delete runs, then send the request again."
    ),
    "interrupt_already_resolved": ErrorRow(
        409, False, "The interrupt is already resolved, or its run was cancelled or has ended; see details.runStatus."
    ),
    "idempotency_in_flight": ErrorRow(
        409, True, "An earlier request with this Idempotency-Key has not finished; send the request again later."
    ),
    "interrupt_expired": ErrorRow(410, False, "The link to the interrupt has expired; request a new link."),
    "payload_too_large": ErrorRow(
        413, False, "The request body is too large, or the tenant has reached its storage limit for assets."
    ),
    "unsupported_media_type": ErrorRow(
        415, False, "The request body is not application/json, or has a Content-Encoding."
    ),
    "capability_required": ErrorRow(
        422, False, "The workflow requires a capability that this host does not offer; see details.requiredCapability."
    ),
    "a2ui_surface_invalid": ErrorRow(
        422, False, "The payload is not a surface of a known catalogue version; only a test endpoint returns this."
    ),
    "rate_limited": ErrorRow(429, True, "Too many requests or open streams; retry after Retry-After."),
    "internal_error": ErrorRow(
        500, True, "The host failed. Its log has the cause under the id in details.correlationId."
    ),
    "capability_not_provided": ErrorRow(501, False, "This host does not offer this optional feature."),
    "service_unavailable": ErrorRow(
        503, True, "The host is at capacity, is shutting down, or cannot reach its store; retry after Retry-After."
    ),
}

RUN_ERRORS: dict[str, str] = {
    "capability_required": "A node requested an interrupt of a kind that this host does not offer.",
    "capability_not_provided": "A node needs a capability that this host, or the model selected for it, does not have.",
    "recursion_limit_exceeded": "The run reached its limit of node executions.",
    "run_state_too_large": "The values that a run holds would exceed `max_run_state_bytes`.",
    "run_log_too_large": "The event log of a run would exceed `max_run_log_bytes`.",
    "tenant_quota_exceeded": "The event logs of a tenant would exceed `max_log_bytes_per_tenant`.",
    "run_timeout": "The run reached its time limit.",
    "node_failed": "A node raised an exception that is not a NodeError with its own code.",
    "node_input_missing": "A required input of a node has no value.",
    "node_config_invalid": "The resolved inputs or config of a node do not match the schemas of its type.",
    "node_input_invalid": "An input cannot be converted to the parameter type of the node's function.",
    "node_output_invalid": "A node returned a value that is not JSON or does not match its declared outputs.",
    "node_output_too_large": "A node produced a value over the size limit of a run.",
    "node_timeout": "An attempt of a node exceeded its time limit.",
    "node_heartbeat_lost": "A node sent no heartbeat within its heartbeat timeout.",
    "node_threads_exhausted": "Nodes that did not stop after a timeout or cancellation hold too many threads.",
    "node_crashed": "The host process died repeatedly while it ran this node.",
    "replay_source_missing": "A replay needed something that its source has not recorded, or the source was deleted.",
    "node_misused": "A node used the API of the host in a way that is not allowed.",
    "step_failed": "A step of a node raised an exception that is not a NodeError with its own code.",
    "step_not_done": "A step of a node could not be performed and had no effect.",
    "step_result_invalid": "The result of a step does not match the return type of its function.",
    "version_out_of_range": "The run has pinned a version of a change that the code of the node no longer supports.",
    "host_capability_missing": "A node requested a feature that this host does not offer.",
    "provider_not_supported": "A node requested a model of a provider that this host does not offer.",
    "provider_unavailable": "The model provider failed, or its answer was incomplete.",
    "provider_timed_out": "The model provider did not answer within its time limits.",
    "provider_rate_limited": "The model provider limits the rate of calls.",
    "provider_quota_exhausted": "The account of the host at the model provider has no quota left.",
    "model_not_supported": "The model provider does not have the requested model.",
    "content_too_long": "The request of a node is too long for its model.",
    "response_schema_invalid": "The model provider does not support the schema of the requested answer.",
    "invalid_request": "The model provider does not accept the request of a node.",
    "unsupported_modality": "A message contains a part of a modality that the model does not accept.",
    "media_not_found": "A mediaRef refers to no asset of the run's tenant.",
    "media_too_large": "A media file exceeds the limit for its use, or the tenant has reached its storage limit.",
    "prompt_ref_unresolved": "A node refers to a prompt template that this host does not have.",
    "prompt_variable_unresolved": "A variable that a prompt template requires has no value.",
    "prompt_variable_invalid": "The value of a prompt template's variable has the wrong type.",
    "effect_failed": "A person answered that an effect with an unknown outcome had failed.",
    "variable_type_mismatch": "A node wrote a value to a variable that is declared with another type.",
    "loop_limit_exceeded": "A loop reached settings.maxLoopbackIterations, or a supervised loop reached "
    "maxLoopIterations or iterationCap.",
    "expression_invalid": "An expression has a syntax error or uses a feature that this host does not support.",
    "expression_failed": "The evaluation of an expression failed.",
    "expression_limit": "An expression exceeds a limit on its source, its inputs, its work or its result.",
    "expression_worker_lost": "The process that evaluated an expression of the node ended twice without a result.",
    "channel_write_invalid": "A node wrote a value that the reducer or the schema of the channel rejects.",
    "channel_access_denied": "The access list of the channel does not allow the node to write.",
    "channel_schema_breaking_change": "A channel holds values of an older schema version that the current schema "
    "cannot read.",
    "ssrf_blocked": "The host blocked an outbound request of a node; see details.blocked.",
    "fetch_failed": "An outbound request of a node could not be sent, or its response was incomplete.",
    "interrupt_rejected": "A person rejected the interrupt of a gate, or the gate's timeout passed without an answer.",
    "interrupt_timeout": "The timeout of an interrupt passed without an answer.",
    "untrusted_content_blocks_approval": "Untrusted content would have decided an approval without a person.",
    "question_hidden": "Nothing readable is left of a node's question once sensitive values are cut out of it.",
    "host_invariant_broken": "The host found an inconsistency in its own records and stopped the run.",
}
"""Codes of failed runs and nodes. Node types may use further codes."""
NO_SUCH_RUN: Final = "There is no such run."


class Fault(Exception):
    """Base of the exceptions that the host raises deliberately."""


class ClientFault(Fault):
    """An error that the caller can act on. `code` is a key of ERRORS. `message` and `details` go into the response, so
    they never repeat a submitted value."""

    def __init__(
        self, code: str, message: str, details: dict[str, Any] | None = None, status: int | None = None
    ) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.details = details
        self.status = status or ERRORS[code].status


class HostFault(Fault):
    """A failure of the host. Its text is written to the log and never sent to a caller."""


def invalid(message: str, pointer: str = "", **details: Any) -> ClientFault:
    """A `validation_error` for the value at `pointer` (RFC 6901). `message` must not repeat the value."""
    return ClientFault("validation_error", message, {"pointer": pointer, **details})


def run_not_deletable(status: str, retry_after: int | None = None) -> ClientFault:
    """run-08: the refusal to delete a run that has not ended; with `retry_after`, a run whose end the host is still
    processing."""
    if retry_after is None:
        return ClientFault("conflict", "The run has not ended; cancel it first.", {"runStatus": status})
    message = f"The run has ended, and the host is still processing its end. Retry in {retry_after} s."
    return ClientFault("conflict", message, {"runStatus": status, "retryAfter": retry_after})


def error_document(code: str, message: str, details: dict[str, Any] | None = None) -> dict[str, Any]:
    """err-01 (OpenWOP rest-endpoints): the closed error envelope `{error, message, details?}`."""
    document: dict[str, Any] = {"error": code, "message": message}
    if details:
        document["details"] = details
    return document
