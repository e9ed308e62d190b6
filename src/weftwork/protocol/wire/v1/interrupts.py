"""Operations on interrupts: who is asked what, and the answers, with a key or by a link. Part of wire_v1."""

from typing import Any, Final

from weftwork.protocol.ids import ID_PATTERN
from weftwork.protocol.run.interrupts import STATUS_BY_KIND
from weftwork.protocol.timestamps import INSTANT_PATTERN
from weftwork.protocol.wire.route import IDEMPOTENCY, MAX_PAGE, Param, Route

TOKENS: Final = "/v1/interrupts/"
"""What a token stands behind in a path."""
CURSOR_PATTERN: Final = "^[A-Za-z0-9_-]{1,2048}$"
OPEN_OR_ALL: Final = ("open", "all")

_ID: Final[dict[str, Any]] = {"type": "string", "pattern": ID_PATTERN}
_NODE: Final[dict[str, Any]] = {"type": "string", "minLength": 1, "maxLength": 128}
_ANSWERED: Final = ("interrupt_not_found", "interrupt_already_resolved", "interrupt_gone")
_MUTATION: Final = ("idempotency_key_mismatch", "service_unavailable")

INTERRUPTS: Final[tuple[Route, ...]] = (
    Route(
        "listRunInterrupts",
        "GET",
        "/v1/runs/{runId}/interrupts",
        "What a run has asked, in order; open interrupts come with a token.",
        scope="runs:read",
        response="interrupt-list",
        params=(Param("status", {"enum": list(OPEN_OR_ALL)}, "Those that wait for an answer, by default, or all."),),
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
            IDEMPOTENCY,
            Param("interruptId", {"type": "string", "minLength": 1, "maxLength": 160}, "This one and no other."),
        ),
        errors=("not_found", *_ANSWERED, "conflict", *_MUTATION),
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
        params=(IDEMPOTENCY,),
        errors=("not_found", *_ANSWERED, "conflict", *_MUTATION),
        unprocessable=True,
    ),
    Route(
        "inspectInterruptByToken",
        "GET",
        "/v1/interrupts/{token}",
        "The question behind a link, as JSON, or as a page for a browser. Needs no key.",
        response="interrupt-question",
        errors=(*_ANSWERED, "interrupt_expired"),
    ),
    Route(
        "resolveInterruptByToken",
        "POST",
        "/v1/interrupts/{token}",
        "Answer the question behind a link. Needs no key.",
        request="resolve-interrupt",
        response="resolve-interrupt-response",
        params=(IDEMPOTENCY,),
        errors=(*_ANSWERED, "interrupt_expired", "forbidden", "conflict", *_MUTATION),
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
            Param(
                "kind",
                {"type": "array", "items": {"type": "string", "enum": list(STATUS_BY_KIND)}},
                "Only interrupts of this kind; repeated or with commas: one of these.",
            ),
            Param("workflowId", _ID, "Only those of runs of this workflow."),
            Param("runId", _ID, "Only those of this run."),
            Param("nodeId", _NODE, "Only those of nodes of this name."),
            Param(
                "dueBefore",
                {"type": "string", "pattern": INSTANT_PATTERN},
                "Only those whose time is up before then, in UTC.",
            ),
            Param(
                "limit", {"type": "integer", "minimum": 1, "maximum": MAX_PAGE}, "Interrupts per page, 50 by default."
            ),
            Param("cursor", {"type": "string", "pattern": CURSOR_PATTERN}, "nextCursor of the page before."),
        ),
    ),
    Route(
        "createInterruptLink",
        "POST",
        "/v1/host/weftwork/runs/{runId}/interrupts/{nodeId}/links",
        "A link to the open interrupt of a node, for a person without a key.",
        scope="approvals:respond",
        ok=201,
        request="interrupt-link-request",
        response="interrupt-link",
        errors=("not_found", *_ANSWERED),
    ),
)
