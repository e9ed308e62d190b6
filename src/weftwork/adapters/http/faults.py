"""Faults of the host that a caller can only wait out, and how long it is told to wait."""

from typing import Final

from weftwork.protocol.errors import ClientFault

STORE_RETRY_SECONDS: Final = 1
"""Most outages of a store are short."""
DRAIN_RETRY_SECONDS: Final = 5
"""About what a restart takes."""
CROWD_RETRY_SECONDS: Final = 5
"""Idle connections are closed within fifteen seconds, so some have gone by then."""


def no_store() -> ClientFault:
    message = "The host cannot reach its store; try again."
    return ClientFault("service_unavailable", message, {"retryAfter": STORE_RETRY_SECONDS})


def shutting_down() -> ClientFault:
    return ClientFault("service_unavailable", "The host is shutting down.", {"retryAfter": DRAIN_RETRY_SECONDS})


def crowded() -> ClientFault:
    message = "The host has as many connections as it may."
    return ClientFault("service_unavailable", message, {"retryAfter": CROWD_RETRY_SECONDS})
