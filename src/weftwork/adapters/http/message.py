"""Requests and responses: the little of HTTP that the routes need, directly on ASGI.

Decoding a large body takes milliseconds during which the event loop serves nobody else. LoopSlices lets only one
request do so per turn of the loop, so that many large bodies together do not stall the host.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Coroutine
from dataclasses import InitVar, dataclass, field
from typing import Any, Final, TypeVar
from urllib.parse import parse_qsl, unquote

import msgspec

from weftwork.adapters.http.asgi import Headers, Receive, Scope, Send
from weftwork.adapters.http.response_writer import ResponseWriter
from weftwork.engine.api.keyring import Principal
from weftwork.protocol.errors import ClientFault, invalid
from weftwork.protocol.ids import is_path_id
from weftwork.protocol.json.decoder import decode
from weftwork.protocol.wire.route import REPLAY_HEADER, Route

T = TypeVar("T")
JSON = b"application/json"
SINGLE_VALUE_HEADERS: Final = ("Authorization", "Content-Type", "Host", "Idempotency-Key", "Last-Event-ID")
"""Headers that mean one thing: two of them are two requests in one."""
LARGE_BODY_BYTES: Final = 65_536
"""A body of more bytes is decoded in a slice of its own."""
DISCARD_CAPS: Final = 2
DISCARD_SECONDS: Final = 1.0
"""How much of a refused body is still read, in caps, and for how long: a client that is busy sending sees no answer."""
_REPLAYED: Final = (REPLAY_HEADER.lower().encode(), b"true")


class ClientDisconnected(Exception):
    """The client went away before its request was complete."""


class Response(msgspec.Struct):
    """A whole answer. Headers here are the route's own; the common ones are added on the way out."""

    status: int
    body: bytes = b""
    headers: Headers = []
    content_type: bytes = JSON


def json_response(status: int, document: Any, headers: Headers | None = None) -> Response:
    return Response(status, msgspec.json.encode(document), headers or [])


def replay_headers(replayed: bool) -> Headers:
    """How a caller sees that its key had led to this answer before."""
    return [_REPLAYED] if replayed else []


class LoopSlices:
    """Grants slices of the event loop: whoever has one may keep the loop busy until its next await."""

    _busy_loop: asyncio.AbstractEventLoop | None = None

    async def next_slice(self) -> None:
        """Wait for a turn of the loop in which no other slice was granted. Tasks that are ready run first."""
        loop = asyncio.get_running_loop()
        await asyncio.sleep(0)
        while self._busy_loop is loop:
            await asyncio.sleep(0)
        self._busy_loop = loop
        # Not sooner than in the next turn.
        loop.call_soon(self._release)

    def _release(self) -> None:
        self._busy_loop = None


_loop_slices = LoopSlices()


@dataclass(slots=True, eq=False)
class Request:
    """One request on its way to a route."""

    scope: Scope
    _receive: Receive
    send: InitVar[Send]
    max_body_bytes: int
    path: str = field(init=False)
    headers: dict[bytes, bytes] = field(init=False)
    writer: ResponseWriter = field(init=False)
    has_unread_body: bool = field(init=False)
    """Whether the request has a body that has not been read to its end."""
    params: dict[str, str] = field(default_factory=dict[str, str])
    route: Route | None = None
    principal: Principal | None = None
    error_renderer: Callable[[ClientFault], Response] | None = None
    """Renders an error for callers that do not read JSON, such as a browser."""
    traceparent: str = ""
    caller_traceparent: str | None = None
    """What the caller sent, if it is a traceparent."""
    _query: list[tuple[str, str]] | None = None

    def __post_init__(self, send: Send) -> None:
        self.path = self.scope["path"]
        self.headers = headers = dict(self.scope["headers"])
        self.writer = ResponseWriter(self.scope, send)
        self.has_unread_body = b"transfer-encoding" in headers or headers.get(b"content-length", b"0") != b"0"

    def check_headers(self) -> None:
        """Refuse a header that says two things."""
        given = self.scope["headers"]
        if len(given) == len(self.headers):
            return
        names = [name for name, _ in given]
        for name in SINGLE_VALUE_HEADERS:
            if names.count(name.lower().encode()) > 1:
                raise invalid(f"{name} was sent more than once.", parameter=name)

    def header(self, name: bytes) -> str | None:
        value = self.headers.get(name)
        return value.decode("latin-1") if value is not None else None

    @property
    def idempotency_key(self) -> str | None:
        value = self.headers.get(b"idempotency-key")
        return value.decode("latin-1") if value is not None else None

    @property
    def caller(self) -> Principal:
        assert self.principal is not None, "a route with a scope is only reached with a principal"
        return self.principal

    def query(self, name: str) -> str | None:
        """The last value given for a query parameter."""
        values = self.query_values(name)
        return values[-1] if values else None

    def query_values(self, name: str) -> list[str]:
        if self._query is None:
            raw = self.scope["query_string"].decode("latin-1")
            try:
                self._query = parse_qsl(raw, keep_blank_values=True, errors="strict", max_num_fields=100)
            except ValueError:
                raise invalid("The query string is not valid UTF-8 or has too many fields.") from None
        return [value for key, value in self._query if key == name]

    def query_integer(self, name: str, low: int, high: int, default: int) -> int:
        """A whole number in its range, or 400 naming the parameter."""
        text = self.query(name)
        if text is None:
            return default
        digits = text[1:] if text.startswith("-") else text
        if not (digits.isascii() and digits.isdigit() and len(digits) <= 16) or not low <= int(text) <= high:
            raise invalid(f"{name} must be a whole number from {low} to {high}.", parameter=name)
        return int(text)

    def query_id(self, name: str, message: str, is_id: Callable[[str], object] = is_path_id) -> str | None:
        """An id, None if it was not given, or 400 with the message."""
        given = self.query(name)
        if given is not None and not is_id(given):
            raise invalid(message, parameter=name)
        return given

    def cursor(self, is_cursor: Callable[[str], object] = is_path_id) -> str | None:
        return self.query_id("cursor", "cursor must be the nextCursor of a page.", is_cursor)

    async def body(self) -> bytes:
        """wire-04 (RFC 0094 H): the body, refused by its declared length or, on the stream, at the cap."""
        declared = self.headers.get(b"content-length")
        if declared is not None and int(declared) > self.max_body_bytes:
            raise body_too_large(self.max_body_bytes)
        received: list[bytes] = []
        size = 0
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnected
            chunk: bytes = message.get("body", b"")
            size += len(chunk)
            if size > self.max_body_bytes:
                raise body_too_large(self.max_body_bytes)
            received.append(chunk)
            if not message.get("more_body", False):
                self.has_unread_body = False
                return b"".join(received)

    async def body_chunks(self) -> AsyncGenerator[bytes, None]:
        """The body as it comes in; no more is taken than is asked for, and nothing is kept."""
        self.check_encoding()
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnected
            if message.get("body"):
                yield message["body"]
            if not message.get("more_body", False):
                self.has_unread_body = False
                return

    def check_encoding(self) -> None:
        """Refuse a body that would have to be unpacked."""
        encoding = self.headers.get(b"content-encoding", b"identity")
        if encoding.lower() != b"identity":
            raise ClientFault("unsupported_media_type", "Send the body without Content-Encoding.")

    async def json(self, optional: bool = False) -> Any:
        """The body as strictly decoded JSON; an absent body is an empty object where that is allowed."""
        self.check_encoding()
        data = await self.body()
        if not data and optional:
            return {}
        kind = self.headers.get(b"content-type", b"").split(b";")[0].strip().lower()
        if kind != JSON:
            raise ClientFault("unsupported_media_type", "Send the body as Content-Type: application/json.")
        if len(data) <= LARGE_BODY_BYTES:
            return decode(data)
        await _loop_slices.next_slice()
        document = decode(data)
        # What follows takes as long again.
        await _loop_slices.next_slice()
        return document

    async def discard_body(self) -> None:
        """Read on and keep nothing, until the body, the client, our patience or its allowance is at an end."""
        if self.headers.get(b"expect", b"").lower() == b"100-continue":
            return  # it was told not to send the body
        left = self.max_body_bytes * DISCARD_CAPS
        try:
            async with asyncio.timeout(DISCARD_SECONDS):
                while left > 0:
                    message = await self._receive()
                    left -= len(message.get("body", b""))
                    if not message.get("more_body", False):
                        return
        except TimeoutError:
            return

    async def abort(self) -> None:
        """Let go of a client that can be told nothing any more."""
        self.writer.abort()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DISCARD_SECONDS):
                await self.wait_disconnected()

    async def run_until_disconnect(self, work: Coroutine[Any, Any, T]) -> T:
        """What the work comes to, unless the client goes away first: then it is cancelled. Raises
        ClientDisconnected."""
        connection = self.writer.connection
        task = asyncio.current_task()
        if connection is None or task is None or self.has_unread_body:
            return await self._race_with_disconnect(work)
        # The connection itself tells, so this needs no task that waits for it.
        gone = False

        def leave() -> None:
            nonlocal gone
            gone = True
            task.cancel()

        connection.on_lost = leave
        try:
            if connection.is_lost:
                work.close()
                await self.abort()
                raise ClientDisconnected
            return await work
        except asyncio.CancelledError:
            if not gone:
                raise
            task.uncancel()
            raise ClientDisconnected from None
        finally:
            connection.on_lost = None

    async def _race_with_disconnect(self, work: Coroutine[Any, Any, T]) -> T:
        result = asyncio.ensure_future(work)
        gone = asyncio.ensure_future(self.wait_disconnected())
        try:
            await asyncio.wait((result, gone), return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
            result.cancel()
            await asyncio.wait((result, gone))
        if result.cancelled():
            raise ClientDisconnected
        return result.result()

    async def wait_disconnected(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass


def body_too_large(cap: int) -> ClientFault:
    return ClientFault("payload_too_large", f"The body is larger than {cap} bytes.", {"maxRequestBodyBytes": cap})


def decode_segment(text: str) -> str:
    """A path segment as the caller meant it."""
    return unquote(text, errors="strict") if "%" in text else text
