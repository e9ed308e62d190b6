"""The outbound client. All requests of the host to other servers go through it."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from contextvars import ContextVar
from typing import Final, Literal, Protocol

import msgspec

BEFORE_SENDING: Final[ContextVar[Callable[[], Awaitable[None]] | None]] = ContextVar("before_sending", default=None)
"""Awaited right before the first byte of a request is sent, after all waits: for a place, for the address and for the
connection. The engine sets it in the context of an effect, to find out then whether this process may still act."""


class OutboundRequest(msgspec.Struct, frozen=True):
    """A request to send. `timeout_ms` and `max_bytes` can only lower the limits of the host; 0 means the host's
    limit."""

    url: str
    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    content: bytes = b""
    timeout_ms: int = 0
    max_bytes: int = 0
    redirects: bool = True
    """Whether to follow redirects. Each target is checked like the first URL."""


class OutboundResponse(msgspec.Struct, frozen=True):
    """A complete response within the limits."""

    status: int
    headers: tuple[tuple[str, str], ...]
    content: bytes
    url: str
    """The final URL, after redirects."""


class StreamTimeouts(msgspec.Struct, frozen=True):
    """The time limits of a streamed response, in milliseconds. `first_byte` is from the end of the request to the first
    byte of the body, `idle` between two pieces of it, `total` from the beginning of the call to the end of the body."""

    connect_ms: int
    first_byte_ms: int
    idle_ms: int
    total_ms: int


class OutboundStream(Protocol):
    """A response whose body is read piece by piece."""

    @property
    def status(self) -> int: ...

    def header(self, name: str) -> str | None:
        """The first header with that name, in any case; None if the response has no such header."""
        ...

    async def read(self) -> bytes:
        """The next decoded piece of the body, as it arrives; empty only at the complete end of the body. Raises
        FetchFailed."""
        ...

    def chunks(self) -> AsyncGenerator[bytes, None]:
        """All pieces that `read` returns."""
        ...


class FetchRefused(Exception):
    """The client blocked the request or the response. `blocked` is `ssrf` or `upgrade`. The message is the host's own
    and quotes nothing of the response."""

    def __init__(self, blocked: str, message: str) -> None:
        super().__init__(message)
        self.blocked = blocked


FailureReason = Literal["connect", "first_byte", "idle", "total", "lost", "invalid", "too_large"]
"""Why there is no complete response. `connect`: no connection could be established in time. `first_byte`: the body of
a stream did not begin in time. `idle` and `total`: it paused or lasted for too long. `lost`: the connection ended
early. `invalid`: the response is not valid HTTP, or its encoding is not supported. `too_large`: it exceeds the limit of
bytes."""


class FetchFailed(Exception):
    """There is no complete response: the connection was refused or reset, or the response was too slow, too large or
    not HTTP. The message is the host's own and quotes nothing of the response.

    `sent` is true if any part of the request may have reached the server.
    """

    def __init__(self, message: str, sent: bool, reason: FailureReason = "lost") -> None:
        super().__init__(message)
        self.sent = sent
        self.reason: FailureReason = reason


class Outbound(Protocol):
    """Sends requests to public addresses only, unless the operator set `allow_private_network`."""

    async def fetch(self, request: OutboundRequest) -> OutboundResponse:
        """Raises FetchRefused or FetchFailed."""
        ...

    def stream(self, request: OutboundRequest, timeouts: StreamTimeouts) -> AbstractAsyncContextManager[OutboundStream]:
        """Send a request and read the body of its response as it arrives, up to `max_bytes` of the request. Redirects
        are not followed, and only `timeouts` limits the time. Leaving the context closes the connection. Raises
        FetchRefused or FetchFailed."""
        ...

    async def close(self) -> None: ...
