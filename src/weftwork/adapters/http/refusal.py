"""Refusals that are said before there is a request: a whole response as bytes, after which nothing more is read."""

from http import HTTPStatus

import msgspec

from weftwork.adapters.http.asgi import Headers
from weftwork.protocol.errors import ClientFault, error_document


def refusal(fault: ClientFault, common: Headers | None = None) -> bytes:
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
