"""The only client for requests that the host sends to other servers."""

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from weftwork.adapters.outbound.guard import AddressGuard
from weftwork.adapters.outbound.resolver import Resolver, SystemResolver
from weftwork.adapters.outbound.response import RawResponse, SendProgress
from weftwork.ports.outbound import FetchFailed, FetchRefused, OutboundRequest, OutboundResponse
from weftwork.protocol.net.outbound import MAX_REDIRECTS, CheckedRequest, FetchLimits, check_request, follow_redirect
from weftwork.protocol.net.target import OutboundPolicy, OutboundRefused

if TYPE_CHECKING:
    from weftwork.adapters.outbound.exchange import HttpExchange

MAX_CONCURRENT_REQUESTS: Final = 256
"""Requests that are out at the same time; others wait, within their time."""


class GuardedClient:
    """out-06 (RFC 0076): requests within their caps, straight to what was judged, by no proxy."""

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
        self._closed = False

    def with_resolver(self, resolver: Resolver) -> "GuardedClient":
        """A client of the same limits that looks names up there."""
        return GuardedClient(self._policy, self._limits, resolver, agent=self._agent)

    async def fetch(self, request: OutboundRequest) -> OutboundResponse:
        """Raises FetchRefused or FetchFailed."""
        if self._closed:
            raise FetchFailed("The host is closing.", False)
        try:
            first = check_request(request.url, request.method, request.headers, request.content, self._policy)
        except OutboundRefused as refused:
            raise FetchRefused(refused.blocked, str(refused)) from None
        progress = SendProgress()
        limit = _effective_limit(request.timeout_ms, self._limits.timeout_ms)
        try:
            async with asyncio.timeout(limit / 1000), self._semaphore:
                return await self._follow(request, first, progress)
        except TimeoutError:
            raise FetchFailed(f"There was no whole answer within {limit} ms.", progress.sent) from None

    async def _follow(
        self, request: OutboundRequest, first: CheckedRequest, progress: SendProgress
    ) -> OutboundResponse:
        exchange = await self._get_exchange()
        most = _effective_limit(request.max_bytes, self._limits.max_bytes)
        sent = first
        for _ in range(MAX_REDIRECTS + 1):
            answer = await exchange.send(sent, most, progress)
            following = self._redirect(sent, answer) if request.redirects else None
            if following is None:
                return OutboundResponse(answer.status, answer.headers, answer.content, sent.target.url)
            sent = following
        raise FetchFailed(f"There were more than {MAX_REDIRECTS} redirects.", progress.sent)

    def _redirect(self, sent: CheckedRequest, answer: RawResponse) -> CheckedRequest | None:
        try:
            return follow_redirect(sent, answer.status, answer.location, self._policy)
        except OutboundRefused as refused:
            raise FetchRefused(refused.blocked, str(refused)) from None

    async def _get_exchange(self) -> "HttpExchange":
        """Most hosts never send anything, so what it takes is loaded with the first request, beside the loop."""
        async with self._loading:
            if self._exchange is None:
                self._exchange = await asyncio.to_thread(_new_exchange, self._guard, self._agent)
        return self._exchange

    async def close(self) -> None:
        self._closed = True
        self._resolver.close()


def _new_exchange(guard: AddressGuard, agent: str) -> "HttpExchange":
    from weftwork.adapters.outbound.exchange import HttpExchange

    # At its level of detail the library would log headers.
    logging.getLogger("httpcore2").setLevel(logging.WARNING)
    return HttpExchange(guard, agent)


def _effective_limit(given: int, most: int) -> int:
    return min(given, most) if given > 0 else most
