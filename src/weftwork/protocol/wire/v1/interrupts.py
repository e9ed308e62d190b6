"""Operations on interrupts: list them, answer them with a key or by a link, and create links."""

from typing import Any, Final

from weftwork.protocol.ids import ID_PATTERN, MAX_INTERRUPT_ID
from weftwork.protocol.people.interrupt_tokens import TOKEN_PATTERN
from weftwork.protocol.run.interrupts import STATUS_BY_KIND
from weftwork.protocol.timestamps import INSTANT_PATTERN
from weftwork.protocol.wire.route import IDEMPOTENCY_KEY, Parameter, Route, page_cursor, page_limit
from weftwork.protocol.wire.v1.paths import operation, path_for, path_prefix

INTERRUPT_TOKEN_PREFIX: Final = path_prefix("inspectInterruptByToken")
TOKEN_PREFIXES: Final = (INTERRUPT_TOKEN_PREFIX, path_prefix("getSurfaceByToken"))
"""The prefixes of all paths with the token of an interrupt."""
ORGANISATION_LOGO_PATH: Final = path_for("getOrganisationLogo")
INTERRUPT_CURSOR_PATTERN: Final = "^[A-Za-z0-9_-]{1,2048}$"
INTERRUPT_FILTERS: Final = ("open", "all")

_ID_SCHEMA: Final[dict[str, Any]] = {"type": "string", "pattern": ID_PATTERN}
_NODE_SCHEMA: Final[dict[str, Any]] = {"type": "string", "minLength": 1, "maxLength": 128}
_ANSWER_ERRORS: Final = ("interrupt_not_found", "interrupt_already_resolved")

INTERRUPT_ROUTES: Final[tuple[Route, ...]] = (
    Route(
        *operation("listRunInterrupts"),
        "List the interrupts of a run in order; open interrupts include a token.",
        scope="runs:read",
        response="interrupt-list",
        params=(Parameter("status", {"enum": list(INTERRUPT_FILTERS)}, "Only open interrupts (the default), or all."),),
    ),
    Route(
        *operation("resolveInterruptByRun"),
        "Answer the open interrupt of a node.",
        scope="approvals:respond",
        request="resolve-interrupt",
        response="resolve-interrupt-response",
        params=(
            IDEMPOTENCY_KEY,
            Parameter(
                "interruptId",
                {"type": "string", "minLength": 1, "maxLength": MAX_INTERRUPT_ID},
                "Answer only if this interrupt is the open one.",
            ),
        ),
        errors=(*_ANSWER_ERRORS, "conflict", "idempotency_key_mismatch"),
        unprocessable=True,
    ),
    Route(
        *operation("resolveApproval"),
        "An older name of resolveInterruptByRun; the body may be the answer itself.",
        scope="approvals:respond",
        request="resolve-approval",
        response="resolve-interrupt-response",
        params=(IDEMPOTENCY_KEY,),
        errors=(*_ANSWER_ERRORS, "conflict", "idempotency_key_mismatch"),
        unprocessable=True,
    ),
    Route(
        *operation("inspectInterruptByToken"),
        "Show the interrupt of a link, as JSON or as a page for browsers. Requires no API key.",
        path_patterns={"token": TOKEN_PATTERN},
        response="interrupt-question",
        errors=(*_ANSWER_ERRORS, "interrupt_expired"),
    ),
    Route(
        *operation("resolveInterruptByToken"),
        "Answer the interrupt of a link. Requires no API key.",
        path_patterns={"token": TOKEN_PATTERN},
        request="resolve-interrupt",
        response="resolve-interrupt-response",
        params=(IDEMPOTENCY_KEY,),
        errors=(*_ANSWER_ERRORS, "interrupt_expired", "forbidden", "conflict", "idempotency_key_mismatch"),
        unprocessable=True,
    ),
    Route(
        *operation("listInterrupts"),
        "List the tenant's open interrupts, oldest first, each with a token.",
        scope="runs:read",
        response="interrupt-list",
        params=(
            Parameter(
                "kind",
                {"type": "array", "items": {"type": "string", "enum": list(STATUS_BY_KIND)}},
                "Only interrupts of this kind; several values, repeated or separated by commas, match any of them.",
            ),
            Parameter("workflowId", _ID_SCHEMA, "Only interrupts of runs of this workflow."),
            Parameter("runId", _ID_SCHEMA, "Only interrupts of this run."),
            Parameter("nodeId", _NODE_SCHEMA, "Only interrupts of nodes with this id."),
            Parameter(
                "dueBefore",
                {"type": "string", "pattern": INSTANT_PATTERN},
                "Only interrupts that time out before this time, in UTC.",
            ),
            page_limit("Interrupts"),
            page_cursor(INTERRUPT_CURSOR_PATTERN),
        ),
    ),
    Route(
        *operation("createInterruptLink"),
        "Create a link to the open interrupt of a node, for a person without an API key.",
        scope="approvals:respond",
        success_status=201,
        request="interrupt-link-request",
        body_optional=True,
        response="interrupt-link",
        errors=_ANSWER_ERRORS,
    ),
    Route(
        *operation("getOrganisationLogo"),
        "The logo of the organisation for the pages behind links; 404 if the settings name none. Requires no API key.",
        errors=("not_found",),
        content="image/*",
    ),
)
