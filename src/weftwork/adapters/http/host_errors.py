"""Errors of the host itself: 503 responses with Retry-After, and responses to bytes that are not a valid request."""

from http import HTTPStatus
from typing import Final

import msgspec

from weftwork.adapters.http.asgi import Headers
from weftwork.protocol.errors import ClientFault, error_document

STORE_RETRY_SECONDS: Final = 1
"""Short, because most outages of a store are."""
DAMAGE_RETRY_SECONDS: Final = 60
"""Long, because the operator has to restore the store first."""
DOCTOR: Final = "weftwork doctor"
DRAIN_RETRY_SECONDS: Final = 5
"""About the duration of a restart."""
CONNECTIONS_RETRY_SECONDS: Final = 5
"""Connections are closed after fifteen idle seconds, so by then some have probably been closed."""
BODIES_RETRY_SECONDS: Final = 1
"""Most bodies are processed within milliseconds."""


def _unavailable(message: str, retry_seconds: int) -> ClientFault:
    return ClientFault("service_unavailable", message, {"retryAfter": retry_seconds})


def store_unavailable() -> ClientFault:
    return _retry_later("The store of the host is not available.", STORE_RETRY_SECONDS)


def store_damaged() -> ClientFault:
    """The same code as for other failures of the store; the client cannot do anything about either."""
    message = "The host cannot read a part of its store, which is damaged. Its operator has to restore it."
    return _retry_later(message, DAMAGE_RETRY_SECONDS)


def shutting_down() -> ClientFault:
    return _retry_later("The host is shutting down.", DRAIN_RETRY_SECONDS)


def _retry_later(message: str, seconds: int) -> ClientFault:
    return _unavailable(f"{message} Retry in {seconds} s.", seconds)


def too_many_connections(limit: int) -> ClientFault:
    message = (
        f"The host is at its limit of {limit:,} connections. Retry in {CONNECTIONS_RETRY_SECONDS} s, or raise "
        "max_connections."
    )
    return _unavailable(message, CONNECTIONS_RETRY_SECONDS)


def too_many_bodies(holder: str, limit: int, setting: str) -> ClientFault:
    message = (
        f"The request bodies in progress of {holder} reach the limit of {limit:,} bytes. Retry in "
        f"{BODIES_RETRY_SECONDS} s, or raise `{setting}`."
    )
    return _unavailable(message, BODIES_RETRY_SECONDS)


def raw_error_response(fault: ClientFault, common: Headers | None = None) -> bytes:
    """err-02: a complete HTTP/1.1 response with an error document, for errors found before the ASGI application runs.

    It has the same headers as every other error document, and `connection: close`.
    """
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
