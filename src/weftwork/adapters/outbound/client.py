"""The one client for everything that the host sends to somebody else."""

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from weftwork.adapters.outbound.guard import Guard
from weftwork.adapters.outbound.resolver import Resolver, SystemResolver
from weftwork.adapters.outbound.response import Answer, Progress
from weftwork.ports.outbound import FetchFailed, FetchRefused, OutboundRequest, OutboundResponse
from weftwork.protocol.net.outbound import MAX_REDIRECTS, CheckedRequest, FetchLimits, check_request, follow_redirect
from weftwork.protocol.net.target import OutboundPolicy, OutboundRefused

if TYPE_CHECKING:
    from weftwork.adapters.outbound.exchange import Exchange

AT_ONCE: Final = 256
"""Requests that are out at the same time; others wait, within their time."""


class GuardedClient:
    """out-06 (RFC 0076): requests within their caps, straight to what was judged, by no proxy."""

    def __init__(
        self,
        policy: OutboundPolicy | None = None,
        limits: FetchLimits | None = None,
        resolver: Resolver | None = None,
        guard: Guard | None = None,
        agent: str = "weftwork",
    ) -> None:
        self._policy = policy or OutboundPolicy()
        self._limits = limits or FetchLimits()
        self._resolver = resolver or SystemResolver()
        self._guard = guard or Guard(self._resolver, self._policy.private)
        self._agent = agent
        self._exchange: Exchange | None = None
        self._loading = asyncio.Lock()
        self._room = asyncio.Semaphore(AT_ONCE)
        self._closed = False

    async def fetch(self, request: OutboundRequest) -> OutboundResponse:
        """Raises FetchRefused or FetchFailed."""
        if self._closed:
            raise FetchFailed("The host is closing.", False)
        try:
            first = check_request(request.url, request.method, request.headers, request.content, self._policy)
        except OutboundRefused as refused:
            raise FetchRefused(refused.blocked, str(refused)) from None
        progress = Progress()
        limit = _least(request.timeout_ms, self._limits.timeout_ms)
        try:
            async with asyncio.timeout(limit / 1000), self._room:
                return await self._follow(request, first, progress)
        except TimeoutError:
            raise FetchFailed(f"There was no whole answer within {limit} ms.", progress.sent) from None

    async def _follow(self, request: OutboundRequest, first: CheckedRequest, progress: Progress) -> OutboundResponse:
        exchange = await self._loaded()
        most = _least(request.max_bytes, self._limits.max_bytes)
        sent = first
        for _ in range(MAX_REDIRECTS + 1):
            answer = await exchange.send(sent, most, progress)
            following = self._next(sent, answer) if request.redirects else None
            if following is None:
                return OutboundResponse(answer.status, answer.headers, answer.content, sent.target.url)
            sent = following
        raise FetchFailed(f"There were more than {MAX_REDIRECTS} redirects.", progress.sent)

    def _next(self, sent: CheckedRequest, answer: Answer) -> CheckedRequest | None:
        try:
            return follow_redirect(sent, answer.status, answer.location, self._policy)
        except OutboundRefused as refused:
            raise FetchRefused(refused.blocked, str(refused)) from None

    async def _loaded(self) -> "Exchange":
        """Most hosts never send anything, so what it takes is loaded with the first request, beside the loop."""
        async with self._loading:
            if self._exchange is None:
                self._exchange = await asyncio.to_thread(_load, self._guard, self._agent)
        return self._exchange

    async def close(self) -> None:
        self._closed = True
        self._resolver.close()


def _load(guard: Guard, agent: str) -> "Exchange":
    from weftwork.adapters.outbound.exchange import Exchange

    # At its level of detail the library would log headers.
    logging.getLogger("httpcore2").setLevel(logging.WARNING)
    return Exchange(guard, agent)


def _least(given: int, most: int) -> int:
    return min(given, most) if given > 0 else most
