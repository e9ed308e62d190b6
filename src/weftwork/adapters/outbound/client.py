"""The only client for requests that the host sends to other servers."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Final

from weftwork.adapters.outbound.guard import AddressGuard
from weftwork.adapters.outbound.resolver import Resolver, SystemResolver
from weftwork.adapters.outbound.response import RawResponse, SendProgress
from weftwork.adapters.outbound.stream import HttpStream, StreamDeadline
from weftwork.ports.outbound import FetchFailed, FetchRefused, OutboundRequest, OutboundResponse, StreamTimeouts
from weftwork.protocol.net.outbound import MAX_REDIRECTS, CheckedRequest, FetchLimits, check_request, follow_redirect
from weftwork.protocol.net.target import OutboundPolicy, OutboundRefused

if TYPE_CHECKING:
    from weftwork.adapters.outbound.exchange import HttpExchange

MAX_CONCURRENT_REQUESTS: Final = 256
"""Requests in progress at the same time. Other requests wait, and the wait counts toward their timeout."""
MAX_CONCURRENT_STREAMS: Final = 512
"""Streams in progress at the same time. A stream may last for minutes, so streams do not take the places of other
requests. Other streams wait, and the wait counts toward their total timeout."""


class GuardedClient:
    """out-06 (RFC 0076): sends requests directly to checked addresses, without a proxy, and limits time and size."""

    def __init__(
        self,
        policy: OutboundPolicy | None = None,
        limits: FetchLimits | None = None,
        resolver: Resolver | None = None,
        guard: AddressGuard | None = None,
        agent: str = "weftwork",
    ) -> None:
        self._policy = policy or OutboundPolicy()
        self._limits = limits or FetchLimits()
        self._resolver = resolver or SystemResolver()
        self._guard = guard or AddressGuard(self._resolver, self._policy.private)
        self._agent = agent
        self._exchange: HttpExchange | None = None
        self._loading = asyncio.Lock()
        self._semaphore = asyncio.Semaphore(MAX_CONCURRENT_REQUESTS)
        self._streams = asyncio.Semaphore(MAX_CONCURRENT_STREAMS)
        self._closed = False

    def with_resolver(self, resolver: Resolver) -> "GuardedClient":
        """A client with the same policy and limits that uses another resolver."""
        return GuardedClient(self._policy, self._limits, resolver, agent=self._agent)

    async def fetch(self, request: OutboundRequest) -> OutboundResponse:
        """Send a request and follow its redirects, if it allows them. Raises FetchRefused or FetchFailed."""
        first = self._check(request)
        progress = SendProgress()
        limit = _effective_limit(request.timeout_ms, self._limits.timeout_ms)
        try:
            async with asyncio.timeout(limit / 1000), self._semaphore:
                return await self._follow(request, first, progress)
        except TimeoutError:
            raise FetchFailed(f"There was no complete response within {limit} ms.", progress.sent, "total") from None

    @asynccontextmanager
    async def stream(self, request: OutboundRequest, timeouts: StreamTimeouts) -> AsyncGenerator[HttpStream]:
        """See ports.outbound.Outbound. Connections are checked and limited as for `fetch`."""
        checked = self._check(request)
        max_bytes = _effective_limit(request.max_bytes, self._limits.max_bytes)
        deadline = StreamDeadline(timeouts)
        async with AsyncExitStack() as stack:
            stack.callback(deadline.close)
            try:
                async with deadline.opening():
                    await stack.enter_async_context(self._streams)
                    exchange = await self._get_exchange()
                    deadline.begin_connecting()
                    head, body = await stack.enter_async_context(exchange.stream(checked, max_bytes, deadline))
            except TimeoutError:
                raise deadline.failure() from None
            yield HttpStream(head, body, deadline)

    def _check(self, request: OutboundRequest) -> CheckedRequest:
        if self._closed:
            raise FetchFailed("The host is shutting down.", False, "connect")
        try:
            return check_request(request.url, request.method, request.headers, request.content, self._policy)
        except OutboundRefused as refused:
            raise FetchRefused(refused.blocked, str(refused)) from None

    async def _follow(
        self, request: OutboundRequest, first: CheckedRequest, progress: SendProgress
    ) -> OutboundResponse:
        exchange = await self._get_exchange()
        max_bytes = _effective_limit(request.max_bytes, self._limits.max_bytes)
        current = first
        for _ in range(MAX_REDIRECTS + 1):
            response = await exchange.send(current, max_bytes, progress)
            redirected = self._redirect(current, response) if request.redirects else None
            if redirected is None:
                return OutboundResponse(response.status, response.headers, response.content, current.target.url)
            current = redirected
        raise FetchFailed(f"There were more than {MAX_REDIRECTS} redirects.", progress.sent)

    def _redirect(self, sent: CheckedRequest, response: RawResponse) -> CheckedRequest | None:
        try:
            return follow_redirect(sent, response.status, response.location, self._policy)
        except OutboundRefused as refused:
            raise FetchRefused(refused.blocked, str(refused)) from None

    async def _get_exchange(self) -> "HttpExchange":
        """Load httpcore2 and the certificates with the first request, in a thread: many hosts never send a request."""
        async with self._loading:
            if self._exchange is None:
                self._exchange = await asyncio.to_thread(_new_exchange, self._guard, self._agent)
        return self._exchange

    async def close(self) -> None:
        self._closed = True
        self._resolver.close()


def _new_exchange(guard: AddressGuard, agent: str) -> "HttpExchange":
    from weftwork.adapters.outbound.exchange import HttpExchange

    # With its debug messages the library would log headers.
    logging.getLogger("httpcore2").setLevel(logging.WARNING)
    return HttpExchange(guard, agent)


def _effective_limit(requested: int, maximum: int) -> int:
    return min(requested, maximum) if requested > 0 else maximum
