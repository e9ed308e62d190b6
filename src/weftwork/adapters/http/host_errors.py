"""Errors of the host itself: 503 responses with Retry-After, and errors sent before there is a request."""

from http import HTTPStatus
from typing import Final

import msgspec

from weftwork.adapters.http.asgi import Headers
from weftwork.protocol.errors import ClientFault, error_document

STORE_RETRY_SECONDS: Final = 1
"""Most outages of a store are short."""
DRAIN_RETRY_SECONDS: Final = 5
"""About what a restart takes."""
CONNECTIONS_RETRY_SECONDS: Final = 5
"""Idle connections are closed within fifteen seconds, so some have gone by then."""


def store_unavailable() -> ClientFault:
    message = "The host cannot reach its store; try again."
    return ClientFault("service_unavailable", message, {"retryAfter": STORE_RETRY_SECONDS})


def shutting_down() -> ClientFault:
    return ClientFault("service_unavailable", "The host is shutting down.", {"retryAfter": DRAIN_RETRY_SECONDS})


def too_many_connections() -> ClientFault:
    message = "The host has as many connections as it may."
    return ClientFault("service_unavailable", message, {"retryAfter": CONNECTIONS_RETRY_SECONDS})


def raw_error_response(fault: ClientFault, common: Headers | None = None) -> bytes:
    """err-02: the answer to what is not taken in, with the headers of every other error document."""
    body = msgspec.json.encode(error_document(fault.code, fault.message, fault.details))
    lines = [
        f"HTTP/1.1 {fault.status} {HTTPStatus(fault.status).phrase}",
        "content-type: application/json",
        f"content-length: {len(body)}",
        "cache-control: no-store",
        "x-content-type-options: nosniff",
        "connection: close",
        *(f"{name.decode()}: {value.decode()}" for name, value in common or ()),
    ]
    details = fault.details or {}
    if "retryAfter" in details:
        lines.append(f"retry-after: {details['retryAfter']}")
    return "\r\n".join([*lines, "", ""]).encode() + body
