"""The outbound client: the only one for requests that this host makes to others."""

from typing import Protocol

import msgspec


class OutboundRequest(msgspec.Struct, frozen=True):
    """A request to be sent. Caps that are not given are the host's; larger ones than the host's do not count."""

    url: str
    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    content: bytes = b""
    timeout_ms: int = 0
    max_bytes: int = 0
    redirects: bool = True
    """Whether redirects are followed, each one checked like the first address."""


class OutboundResponse(msgspec.Struct, frozen=True):
    """What came back, whole and within the caps."""

    status: int
    headers: tuple[tuple[str, str], ...]
    content: bytes
    url: str
    """Where it came from, after redirects."""


class FetchRefused(Exception):
    """The guard let the request not out, or the answer not in. `blocked` is `ssrf` or `upgrade`; the words are ours."""

    def __init__(self, blocked: str, message: str) -> None:
        super().__init__(message)
        self.blocked = blocked


class FetchFailed(Exception):
    """No whole answer came: refused, reset, too slow, too large, not HTTP. The message is ours and echoes nothing.

    sent: whether anything of the request may have reached the other side.
    """

    def __init__(self, message: str, sent: bool) -> None:
        super().__init__(message)
        self.sent = sent


class Outbound(Protocol):
    """Sends requests to public addresses only, unless the operator allowed more."""

    async def fetch(self, request: OutboundRequest) -> OutboundResponse:
        """Raises FetchRefused or FetchFailed."""
        ...

    async def close(self) -> None: ...
