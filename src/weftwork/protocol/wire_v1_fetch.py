"""The seam that sends one request by the guarded client. Part of the table in wire_v1."""

from typing import Final

from weftwork.protocol.route import Route

FETCH: Final[tuple[Route, ...]] = (
    Route(
        "safeFetch",
        "POST",
        "/v1/host/sample/http/safe-fetch",
        "Send a request by the guarded client and tell what became of it.",
        scope="runs:create",
        request="safe-fetch",
        response="safe-fetch-response",
        seam=True,
    ),
)
