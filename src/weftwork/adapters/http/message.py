"""Requests and responses: the part of HTTP that the routes need, directly on ASGI.

Decoding a large body blocks the event loop for milliseconds, so it waits for a turn like other long work.
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
from weftwork.adapters.http.server.limits import BodyMemory
from weftwork.adapters.http.server.request_turns import MAX_IN_PROGRESS, RequestTurns
from weftwork.adapters.http.shared_bodies import LargeBody
from weftwork.engine.api.keyring import Principal
from weftwork.protocol.errors import ClientFault, invalid
from weftwork.protocol.ids import is_path_id
from weftwork.protocol.json.decoder import decode
from weftwork.protocol.wire.route import REPLAY_HEADER, Route

T = TypeVar("T")
JSON = b"application/json"
SINGLE_VALUE_HEADERS: Final = ("Authorization", "Content-Type", "Host", "Idempotency-Key", "Last-Event-ID")
"""Headers that may occur once. With two values, a proxy and the host could each act on a different one."""
MAX_QUERY_FIELDS: Final = 100
LARGE_BODY_BYTES: Final = 65_536
"""A larger body is decoded in its own slice of the event loop."""
MAX_DISCARDED_BODIES: Final = 2
"""How much of a refused body is still read, as a multiple of the maximum body size."""
DISCARD_SECONDS: Final = 1.0
"""How long a refused body is still read. A client that is busy sending does not read the response before that."""
_REPLAYED: Final = (REPLAY_HEADER.lower().encode(), b"true")


class ClientDisconnected(Exception):
    """The client disconnected before it received its response."""


class Response(msgspec.Struct):
    """A complete response. `headers` are those of the route; the application adds the common ones."""

    status: int
    body: bytes = b""
    headers: Headers = []
    content_type: bytes = JSON
    large: LargeBody | None = None
    """Replaces `body` if the document is large, so that it is sent in pieces."""


def json_response(status: int, document: Any, headers: Headers | None = None) -> Response:
    return Response(status, msgspec.json.encode(document), headers or [])


def replay_headers(replayed: bool) -> Headers:
    """The header that marks a response as the replay of an earlier request with the same idempotency key."""
    return [_REPLAYED] if replayed else []


@dataclass(slots=True, eq=False)
class Request:
    """One request, and the writer of its response."""

    scope: Scope
    _receive: Receive
    send: InitVar[Send]
    max_body_bytes: int
    _body_memory: BodyMemory
    turns: RequestTurns
    path: str = field(init=False)
    headers: dict[bytes, bytes] = field(init=False)
    writer: ResponseWriter = field(init=False)
    has_unread_body: bool = field(init=False)
    """Whether the request has a body that was not read completely."""
    params: dict[str, str] = field(init=False)
    route: Route | None = None
    principal: Principal | None = None
    error_renderer: Callable[[ClientFault], Response] | None = None
    """Renders an error for callers that do not read JSON, such as a browser."""
    traceparent: str = ""
    caller_traceparent: str | None = None
    """The traceparent header of the request, if it is valid."""
    held_body_bytes: int = 0
    """Bytes of the body that are counted in BodyMemory until `release_body`."""
    has_turn: bool = False
    """Whether the request counts as in progress."""
    _query: list[tuple[str, str]] | None = None

    def __post_init__(self, send: Send) -> None:
        self.path = self.scope["path"]
        self.headers = headers = dict(self.scope["headers"])
        self.writer = ResponseWriter(self.scope, send)
        self.params = {}
        self.has_unread_body = b"transfer-encoding" in headers or headers.get(b"content-length", b"0") != b"0"

    def check_headers(self) -> None:
        """Raise ClientFault if one of SINGLE_VALUE_HEADERS was sent more than once."""
        sent = self.scope["headers"]
        if len(sent) == len(self.headers):
            return
        names = [name for name, _ in sent]
        for name in SINGLE_VALUE_HEADERS:
            if names.count(name.lower().encode()) > 1:
                raise invalid(f"The header {name} was sent more than once.", parameter=name)

    def header(self, name: bytes) -> str | None:
        value = self.headers.get(name)
        return value.decode("latin-1") if value is not None else None

    @property
    def idempotency_key(self) -> str | None:
        value = self.headers.get(b"idempotency-key")
        return value.decode("latin-1") if value is not None else None

    @property
    def caller(self) -> Principal:
        assert self.principal is not None, "the application authenticates callers of routes with a scope"
        return self.principal

    @property
    def run_id(self) -> str:
        """The id of the run in the path."""
        return self.params["runId"]

    def query(self, name: str) -> str | None:
        """The last value of a query parameter, or None if it was not sent."""
        values = self.query_values(name)
        return values[-1] if values else None

    def query_values(self, name: str) -> list[str]:
        if self._query is None:
            raw = self.scope["query_string"].decode("latin-1")
            try:
                self._query = parse_qsl(raw, keep_blank_values=True, errors="strict", max_num_fields=MAX_QUERY_FIELDS)
            except ValueError:
                message = f"The query string is not valid UTF-8 or has more than {MAX_QUERY_FIELDS} fields."
                raise invalid(message) from None
        return [value for key, value in self._query if key == name]

    def query_integer(self, name: str, low: int, high: int, default: int) -> int:
        """A whole number from `low` to `high`, or `default` if it was not sent. Raises ClientFault with the name."""
        text = self.query(name)
        if text is None:
            return default
        digits = text[1:] if text.startswith("-") else text
        if not (digits.isascii() and digits.isdigit() and len(digits) <= 16) or not low <= int(text) <= high:
            raise invalid(f"{name} must be a whole number from {low} to {high}.", parameter=name)
        return int(text)

    def query_id(self, name: str, message: str, is_id: Callable[[str], object] = is_path_id) -> str | None:
        """An id, or None if it was not sent. Raises ClientFault with the message."""
        value = self.query(name)
        if value is not None and not is_id(value):
            raise invalid(message, parameter=name)
        return value

    def cursor(self, is_cursor: Callable[[str], object] = is_path_id) -> str | None:
        return self.query_id("cursor", "cursor must be the nextCursor of an earlier page.", is_cursor)

    async def body(self) -> bytes:
        """wire-04 (RFC 0094 H): the body. One that is too large is refused by its Content-Length, or at the limit.

        Raises ClientFault, before it reads more, if too many bytes of bodies are in memory.
        """
        declared = self.headers.get(b"content-length")
        if declared is not None and int(declared) > self.max_body_bytes:
            raise body_too_large(self.max_body_bytes)
        chunks: list[bytes] = []
        size = 0
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnected
            chunk: bytes = message.get("body", b"")
            size += len(chunk)
            if size > self.max_body_bytes:
                raise body_too_large(self.max_body_bytes)
            chunks.append(chunk)
            if not message.get("more_body", False):
                self.has_unread_body = False
                if size > LARGE_BODY_BYTES:
                    self._hold_body(size)
                return b"".join(chunks)
            # The declared length counts from the start, so that a body is not refused when most of it has been sent.
            self._hold_body(size if declared is None else int(declared))

    def _hold_body(self, size: int) -> None:
        """Count the body as `size` bytes in memory."""
        if size > self.held_body_bytes:
            self._body_memory.hold(*self._body_holder, size - self.held_body_bytes)
            self.held_body_bytes = size

    def release_body(self) -> None:
        """Stop counting the body, when the request has been answered."""
        self._body_memory.release(*self._body_holder, self.held_body_bytes)
        self.held_body_bytes = 0

    @property
    def _body_holder(self) -> tuple[str, str]:
        """The partition and the key that the body counts for. Callers with a token instead of a key share one."""
        caller = self.principal
        return ("", "") if caller is None else (caller.partition, caller.key_id)

    async def wait_for_turn(self) -> None:
        """Wait while too many requests are in progress."""
        await self.turns.wait(self._partition)
        self.has_turn = True

    @property
    def _partition(self) -> str:
        return "" if self.principal is None else self.principal.partition

    async def body_chunks(self) -> AsyncGenerator[bytes, None]:
        """The body as it arrives. The next chunk is read when the caller asks for it; nothing is buffered."""
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
        """Raise ClientFault for a compressed body, whose real size is unknown before it is decompressed."""
        encoding = self.headers.get(b"content-encoding", b"identity")
        if encoding.lower() != b"identity":
            raise ClientFault("unsupported_media_type", "Send the body without Content-Encoding.")

    @property
    def media_type(self) -> bytes:
        return self.headers.get(b"content-type", b"").split(b";")[0].strip().lower()

    async def json(self, optional: bool = False, media_types: tuple[bytes, ...] = (JSON,)) -> Any:
        """The body as strictly decoded JSON. With `optional`, a missing body is an empty object."""
        self.check_encoding()
        data = await self.body()
        if not data and optional:
            return {}
        if self.media_type not in media_types:
            names = " or ".join(each.decode() for each in media_types)
            raise ClientFault("unsupported_media_type", f"Send the body as Content-Type: {names}.")
        if len(data) > LARGE_BODY_BYTES:
            return await self._decode_large(data)
        if self.turns.in_progress < MAX_IN_PROGRESS:
            self.turns.in_progress += 1
            self.has_turn = True
        else:
            await self.wait_for_turn()
        return decode(data)

    async def _decode_large(self, data: bytes) -> Any:
        """The decoded body. It counts as in progress only afterwards: otherwise large bodies, which have to wait for
        requests, would wait for each other."""
        turns = self.turns
        await turns.wait_for_slice(self._partition)
        document = decode(data)
        # The handler that continues here validates the document, which takes about as long again.
        await turns.wait_for_slice(self._partition)
        turns.in_progress += 1
        self.has_turn = True
        return document

    async def discard_body(self) -> None:
        """Read and discard the rest of the body, up to MAX_DISCARDED_BODIES and DISCARD_SECONDS."""
        if self.headers.get(b"expect", b"").lower() == b"100-continue":
            return  # the final response tells the client not to send the body
        remaining = self.max_body_bytes * MAX_DISCARDED_BODIES
        try:
            async with asyncio.timeout(DISCARD_SECONDS):
                while remaining > 0:
                    message = await self._receive()
                    remaining -= len(message.get("body", b""))
                    if not message.get("more_body", False):
                        return
        except TimeoutError:
            return

    async def abort(self) -> None:
        """Abort the connection and wait up to DISCARD_SECONDS until it is closed."""
        self.writer.abort()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DISCARD_SECONDS):
                await self.wait_disconnected()

    async def run_until_disconnect(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of the work. Cancels it and raises ClientDisconnected if the client disconnects first."""
        connection = self.writer.connection
        task = asyncio.current_task()
        if connection is None or task is None or self.has_unread_body:
            return await self._race_with_disconnect(work)
        # The connection calls back when it is lost, so no second task is needed to wait for that.
        is_lost = False

        def on_lost() -> None:
            nonlocal is_lost
            is_lost = True
            task.cancel()

        connection.on_lost = on_lost
        try:
            if connection.is_lost:
                work.close()
                await self.abort()
                raise ClientDisconnected
            return await work
        except asyncio.CancelledError:
            if not is_lost:
                raise
            task.uncancel()
            raise ClientDisconnected from None
        finally:
            connection.on_lost = None

    async def _race_with_disconnect(self, work: Coroutine[Any, Any, T]) -> T:
        result = asyncio.ensure_future(work)
        disconnect = asyncio.ensure_future(self.wait_disconnected())
        try:
            await asyncio.wait((result, disconnect), return_when=asyncio.FIRST_COMPLETED)
        finally:
            disconnect.cancel()
            result.cancel()
            await asyncio.wait((result, disconnect))
        if result.cancelled():
            raise ClientDisconnected
        return result.result()

    async def wait_disconnected(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass


def body_too_large(limit: int) -> ClientFault:
    return ClientFault("payload_too_large", f"The body is larger than {limit} bytes.", {"maxRequestBodyBytes": limit})


def decode_segment(text: str) -> str:
    """Percent-decode a path segment. Raises UnicodeDecodeError."""
    return unquote(text, errors="strict") if "%" in text else text
