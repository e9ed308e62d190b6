"""A fake outbound client for tests. It records requests and returns the responses of the test; nothing is sent."""

import inspect
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from ipaddress import ip_address
from typing import Any, Final, cast

import msgspec

from weftwork.adapters.python.values import as_json
from weftwork.ports.outbound import (
    BEFORE_SENDING,
    FetchFailed,
    FetchRefused,
    OutboundRequest,
    OutboundResponse,
    StreamTimeouts,
)
from weftwork.protocol.net.address import is_allowed, parse_address
from weftwork.protocol.net.outbound import MAX_REDIRECTS, CheckedRequest, check_request, follow_redirect
from weftwork.protocol.net.target import OutboundPolicy, OutboundRefused
from weftwork.testing.errors import UnexpectedRequest

_NO_MORE: Final = object()

Answers = Mapping[str, Any] | Callable[[OutboundRequest], Any]


def respond(
    status: int = 200, *, json: Any = None, content: bytes | str = b"", headers: Mapping[str, str] | None = None
) -> OutboundResponse:
    """A response for FakeOutbound. `json` sets the body and its content type."""
    lower_case = {name.lower(): value for name, value in (headers or {}).items()}
    body = content.encode() if isinstance(content, str) else content
    if json is not None:
        lower_case.setdefault("content-type", "application/json")
        body = msgspec.json.encode(as_json(json))
    return OutboundResponse(status, tuple(lower_case.items()), body, "")


class FakeOutbound:
    """Answers requests from a mapping with the keys `URL` or `METHOD URL`, or by a function of the request.

    An answer is a response (see `respond`), an integer (the status), a string or bytes (the body), an exception to
    raise, an iterator of answers, or any other value, which is sent as JSON. Requests that a host would refuse because
    of their URL, method or headers are refused here too. Names are not resolved. Redirects are followed as by a host.
    """

    def __init__(self, answers: Answers | None = None, *, http: bool = False, ports: tuple[int, ...] = (443,)) -> None:
        self._answers: Answers = answers if answers is not None else {}
        self._policy = OutboundPolicy(frozenset(ports), http)
        self.requests: list[OutboundRequest] = []
        self.unexpected: UnexpectedRequest | None = None

    async def fetch(self, request: OutboundRequest) -> OutboundResponse:
        """Implements ports.outbound.Outbound."""
        try:
            sent = check_request(request.url, request.method, request.headers, request.content, self._policy)
            for _ in range(MAX_REDIRECTS + 1):
                _check_address(sent)
                answer = await self._answer(sent)
                location = next((value for name, value in answer.headers if name.lower() == "location"), None)
                following = follow_redirect(sent, answer.status, location, self._policy) if request.redirects else None
                if following is None:
                    return msgspec.structs.replace(answer, url=sent.target.url)
                sent = following
        except OutboundRefused as refused:
            raise FetchRefused(refused.blocked, str(refused)) from None
        raise FetchFailed(f"There were more than {MAX_REDIRECTS} redirects.", True)

    @asynccontextmanager
    async def stream(self, request: OutboundRequest, timeouts: StreamTimeouts) -> AsyncGenerator["_FakeStream"]:
        """Implements ports.outbound.Outbound. The body arrives line by line."""
        yield _FakeStream(await self.fetch(msgspec.structs.replace(request, redirects=False)))

    async def close(self) -> None: ...

    async def _answer(self, sent: CheckedRequest) -> OutboundResponse:
        request = OutboundRequest(sent.target.url, sent.method, sent.headers, sent.content)
        if (check := BEFORE_SENDING.get()) is not None:
            await check()
        self.requests.append(request)
        try:
            answer = self._answers(request) if callable(self._answers) else self._look_up(request)
            return _response(await answer if inspect.isawaitable(answer) else answer, request)
        except UnexpectedRequest as error:
            # The runner raises it later, because a node that catches all exceptions would hide it.
            self.unexpected = self.unexpected or error
            raise

    def _look_up(self, request: OutboundRequest) -> Any:
        table = cast("Mapping[str, Any]", self._answers)
        for name in (f"{request.method} {request.url}", request.url):
            if name in table:
                return table[name]
        raise UnexpectedRequest(f"the test has no answer for {request.method} {request.url}; add it to fetch=")


class _FakeStream:
    def __init__(self, response: OutboundResponse) -> None:
        self._response = response
        self.status = response.status
        self._lines = iter(response.content.splitlines(keepends=True))

    def header(self, name: str) -> str | None:
        return next((value for key, value in self._response.headers if key.lower() == name.lower()), None)

    async def read(self) -> bytes:
        return next(self._lines, b"")

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        while line := await self.read():
            yield line


def _check_address(sent: CheckedRequest) -> None:
    """Refuse an IP address that is not public. Host names count as public."""
    try:
        ip_address(sent.target.host)
    except ValueError:
        return
    if not is_allowed(parse_address(sent.target.host)):
        raise OutboundRefused("The target is not a public address.")


def _response(answer: Any, request: OutboundRequest) -> OutboundResponse:
    while callable(answer) or isinstance(answer, Iterator):
        answer = next(cast("Iterator[Any]", answer), _NO_MORE) if isinstance(answer, Iterator) else answer(request)
    if answer is _NO_MORE:
        raise UnexpectedRequest(f"the test has no further answer for {request.method} {request.url}")
    if isinstance(answer, OutboundResponse):
        return answer
    if isinstance(answer, BaseException):
        raise answer
    if isinstance(answer, int) and not isinstance(answer, bool):
        return respond(answer)
    if isinstance(answer, str | bytes):
        return respond(content=answer)
    return respond(json=answer)
