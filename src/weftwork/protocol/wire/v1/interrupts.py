"""Operations on interrupts: who is asked what, and the answers, with a key or by a link. Part of wire_v1."""

from typing import Any, Final

from weftwork.protocol.ids import ID_PATTERN
from weftwork.protocol.run.interrupts import STATUS_BY_KIND
from weftwork.protocol.timestamps import INSTANT_PATTERN
from weftwork.protocol.wire.route import IDEMPOTENCY_KEY, MAX_PAGE, Parameter, Route

INTERRUPT_TOKEN_PREFIX: Final = "/v1/interrupts/"
"""What a token stands behind in a path."""
INTERRUPT_CURSOR_PATTERN: Final = "^[A-Za-z0-9_-]{1,2048}$"
INTERRUPT_FILTERS: Final = ("open", "all")

_ID_SCHEMA: Final[dict[str, Any]] = {"type": "string", "pattern": ID_PATTERN}
_NODE_SCHEMA: Final[dict[str, Any]] = {"type": "string", "minLength": 1, "maxLength": 128}
_ANSWER_ERRORS: Final = ("interrupt_not_found", "interrupt_already_resolved", "interrupt_gone")
_MUTATION_ERRORS: Final = ("idempotency_key_mismatch", "service_unavailable")

INTERRUPT_ROUTES: Final[tuple[Route, ...]] = (
    Route(
        "listRunInterrupts",
        "GET",
        "/v1/runs/{runId}/interrupts",
        "What a run has asked, in order; open interrupts come with a token.",
        scope="runs:read",
        response="interrupt-list",
        params=(
            Parameter(
                "status", {"enum": list(INTERRUPT_FILTERS)}, "Those that wait for an answer, by default, or all."
            ),
        ),
        errors=("not_found",),
    ),
    Route(
        "resolveInterruptByRun",
        "POST",
        "/v1/runs/{runId}/interrupts/{nodeId}",
        "Answer the open interrupt of a node.",
        scope="approvals:respond",
        request="resolve-interrupt",
        response="resolve-interrupt-response",
        params=(
            IDEMPOTENCY_KEY,
            Parameter("interruptId", {"type": "string", "minLength": 1, "maxLength": 160}, "This one and no other."),
        ),
        errors=("not_found", *_ANSWER_ERRORS, "conflict", *_MUTATION_ERRORS),
        unprocessable=True,
    ),
    Route(
        "resolveApproval",
        "POST",
        "/v1/runs/{runId}/approvals/{nodeId}",
        "resolveInterruptByRun under an older name; the body may be the answer itself.",
        scope="approvals:respond",
        request="resolve-approval",
        response="resolve-interrupt-response",
        params=(IDEMPOTENCY_KEY,),
        errors=("not_found", *_ANSWER_ERRORS, "conflict", *_MUTATION_ERRORS),
        unprocessable=True,
    ),
    Route(
        "inspectInterruptByToken",
        "GET",
        "/v1/interrupts/{token}",
        "The question behind a link, as JSON, or as a page for a browser. Needs no key.",
        response="interrupt-question",
        errors=(*_ANSWER_ERRORS, "interrupt_expired"),
    ),
    Route(
        "resolveInterruptByToken",
        "POST",
        "/v1/interrupts/{token}",
        "Answer the question behind a link. Needs no key.",
        request="resolve-interrupt",
        response="resolve-interrupt-response",
        params=(IDEMPOTENCY_KEY,),
        errors=(*_ANSWER_ERRORS, "interrupt_expired", "forbidden", "conflict", *_MUTATION_ERRORS),
        unprocessable=True,
    ),
    Route(
        "listInterrupts",
        "GET",
        "/v1/host/weftwork/interrupts",
        "The tenant's open interrupts, oldest first, each with a token.",
        scope="runs:read",
        response="interrupt-list",
        params=(
            Parameter(
                "kind",
                {"type": "array", "items": {"type": "string", "enum": list(STATUS_BY_KIND)}},
                "Only interrupts of this kind; repeated or with commas: one of these.",
            ),
            Parameter("workflowId", _ID_SCHEMA, "Only those of runs of this workflow."),
            Parameter("runId", _ID_SCHEMA, "Only those of this run."),
            Parameter("nodeId", _NODE_SCHEMA, "Only those of nodes of this name."),
            Parameter(
                "dueBefore",
                {"type": "string", "pattern": INSTANT_PATTERN},
                "Only those whose time is up before then, in UTC.",
            ),
            Parameter(
                "limit", {"type": "integer", "minimum": 1, "maximum": MAX_PAGE}, "Interrupts per page, 50 by default."
            ),
            Parameter(
                "cursor", {"type": "string", "pattern": INTERRUPT_CURSOR_PATTERN}, "nextCursor of the page before."
            ),
        ),
    ),
    Route(
        "createInterruptLink",
        "POST",
        "/v1/host/weftwork/runs/{runId}/interrupts/{nodeId}/links",
        "A link to the open interrupt of a node, for a person without a key.",
        scope="approvals:respond",
        success_status=201,
        request="interrupt-link-request",
        response="interrupt-link",
        errors=("not_found", *_ANSWER_ERRORS),
    ),
)
