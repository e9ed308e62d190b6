"""Operations on surfaces: read one and press a button, with a key or by a link."""

from typing import Any, Final

from weftwork.protocol.ids import MAX_INTERRUPT_ID
from weftwork.protocol.people.interrupt_tokens import TOKEN_PATTERN
from weftwork.protocol.surfaces.limits import COMPONENT_ID_PATTERN
from weftwork.protocol.wire.route import (
    IDEMPOTENCY_KEY,
    IF_NONE_MATCH,
    JAVASCRIPT_TYPE,
    STRING_SCHEMA,
    Parameter,
    Route,
)
from weftwork.protocol.wire.v1.paths import operation

_BY_RUN: Final = {"surfaceId": f"^.{{1,{MAX_INTERRUPT_ID}}}$"}
_BY_TOKEN: Final = {"token": TOKEN_PATTERN}
_ACTION: Final = {"actionId": COMPONENT_ID_PATTERN}
_ANSWERED: Final[dict[str, Any]] = {
    "request": "surface-action",
    "response": "resolve-interrupt-response",
    "params": (IDEMPOTENCY_KEY,),
    "unprocessable": True,
}
_ANSWER_ERRORS: Final = (
    "interrupt_not_found",
    "interrupt_already_resolved",
    "untrusted_content_blocks_approval",
    "conflict",
    "idempotency_key_mismatch",
)

SURFACE_ROUTES: Final[tuple[Route, ...]] = (
    Route(
        *operation("getSurface"),
        "Get a surface of a run by the id of its envelope, or the form that the host derives for an interrupt.",
        scope="runs:read",
        path_patterns=_BY_RUN,
        response="surface-view",
    ),
    Route(
        *operation("actOnSurface"),
        "Press a button of a surface: answer its interrupt with the values of the fields.",
        scope="approvals:respond",
        path_patterns={**_BY_RUN, **_ACTION},
        errors=_ANSWER_ERRORS,
        **_ANSWERED,
    ),
    Route(
        *operation("getSurfaceByToken"),
        "Get the form of the interrupt of a link. Requires no API key.",
        path_patterns=_BY_TOKEN,
        response="surface-view",
        errors=("interrupt_not_found", "interrupt_already_resolved", "interrupt_expired"),
    ),
    Route(
        *operation("actOnSurfaceByToken"),
        "Press a button of the form of a link. Requires no API key.",
        path_patterns={**_BY_TOKEN, **_ACTION},
        errors=(*_ANSWER_ERRORS, "interrupt_expired", "forbidden"),
        **_ANSWERED,
    ),
    Route(
        *operation("getSurfaceModule"),
        "Get the JavaScript module that renders surfaces, for pages of any origin.",
        content=JAVASCRIPT_TYPE,
        params=(
            IF_NONE_MATCH,
            Parameter("v", STRING_SCHEMA, "The version, as in the ETag. The response can then be cached for a year."),
        ),
    ),
)
