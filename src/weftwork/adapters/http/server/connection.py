"""One client connection: its limits, its requests and responses, and how it is closed.

uvicorn's protocol class turns bytes into ASGI calls. Connection adds limits on the form of a request, on the number of
pipelined requests, and on the time that a client may take to send a request.

Deadlines cost a request only a few numbers. Each connection keeps the time by which its client must have made
progress (`deadline`), and the server compares all of them with the clock a few times a second (`on_deadline`).

A rejected request gets an error document, sent after the responses that are still due on the connection. The server
parses nothing after a malformed request, because it cannot know where the next request starts. The client may still be
sending: if the connection were closed at once, TCP would reset it and the client would never read the error. So the
server writes the error, sends EOF, and discards what the client sends for LINGER_SECONDS (`send_final`).

The response writer finds its connection in the ASGI scope as `weftwork.connection`. ASGI has no way to ask whether the
write buffer is full or to call back when the client disconnects; the connection has (`is_full`, `drained`, `on_lost`).
"""

import asyncio
import contextlib
import logging
import math
from collections.abc import Callable
from typing import Any, Final, NoReturn, cast
from urllib.parse import unquote

import httptools
import uvicorn
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from weftwork.adapters.http.asgi import Headers
from weftwork.adapters.http.host_errors import raw_error_response
from weftwork.adapters.http.server import limits
from weftwork.adapters.http.server.limits import ConnectionLimit
from weftwork.adapters.http.server.write_turns import WriteTurns
from weftwork.protocol.errors import ClientFault, invalid

log = logging.getLogger("weftwork.http")

SINGLE_WRITE_BYTES: Final = 32_768
"""Responses with a body up to this size are sent with one write; larger ones are sent at the client's pace."""
HEAD_SECONDS: Final = 10.0
"""Time for a request head, from the start of the connection or from the first byte of a later request."""
BODY_GRACE_SECONDS: Final = 5.0
"""Time at the start of a body in which MIN_BODY_RATE is not enforced."""
MIN_BODY_RATE: Final = 1024
"""Minimum average rate of a body after the grace period, in bytes per second."""
MAX_BODY_PAUSE_SECONDS: Final = 60.0
"""Maximum pause within a body, even if the average rate is above the minimum."""
IDLE_SECONDS: Final = 15.0
"""How long a connection without a request stays open."""
MAX_PIPELINED: Final = 16
"""Requests of a connection that may be queued behind the one that is being processed."""
OVERHEAD_PER_BODY_BYTE: Final = 16
"""Bytes of chunk framing that are allowed for each byte of a body, so that tiny chunks cannot inflate a request."""
LINGER_SECONDS: Final = 1.0
"""How long the bytes of a rejected client are read and discarded, so that it can read the error."""
FLUSH_SECONDS: Final = 30.0
"""How long a client may take to read the last bytes of a response."""

IDLE: Final = 0
"""Stage of a connection: no request is being received."""
READING_HEAD: Final = 1
READING_BODY: Final = 2
CLOSING: Final = 3
"""Stage of a connection: received bytes are discarded."""


class RequestCycle(RequestResponseCycle):
    """uvicorn's request cycle, with a fast path for responses whose head and body are complete from the start."""

    def try_respond(self, status: int, headers: Headers, body: bytes) -> bool:
        """Send head and body with one write. Returns False, and sends nothing, if that is not possible now.

        The headers must contain the length of the body. Raises ValueError for a header with a line break.
        """
        if self.flow.write_paused or self.disconnected or self.response_started or len(body) > SINGLE_WRITE_BYTES:
            return False
        lines = [*map(b": ".join, self.default_headers), *map(b": ".join, headers)]
        if not self.keep_alive:
            lines.append(b"connection: close")
        head = b"\r\n".join(lines)
        breaks = len(lines) - 1
        if head.count(b"\n") != breaks or head.count(b"\r") != breaks:
            raise ValueError("a response header contains a line break")
        self.response_started = self.response_complete = True
        self.waiting_for_100_continue = False
        self.transport.write(b"%b%b\r\n\r\n%b" % (STATUS_LINE[status], head, body))
        self.message_event.set()
        if not self.keep_alive:
            self.transport.close()
        self.on_response()
        return True


class _RequestRejected(Exception):
    """Stops the parser. `Connection._fault` has the error for the client."""


class _IgnoredTrailers:
    """Receives the trailers of a body and drops them, because they come after the checks of the headers."""

    def append(self, header: tuple[bytes, bytes]) -> None: ...


class Connection(HttpToolsProtocol):
    """One client connection. The server calls `on_deadline` when `deadline` has passed."""

    parser: httptools.HttpRequestParser
    app: Any
    active_cycle: RequestCycle | None = None
    """The request that is being processed."""
    on_lost: Callable[[], object] | None = None
    """Called when the client disconnects. The response that is being sent sets and clears it."""

    def __init__(
        self,
        config: uvicorn.Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        limit: ConnectionLimit,
        turns: WriteTurns,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.deadline = math.inf
        self.stage = IDLE
        self.final_response: bytes | None = None
        """The error that ends the connection, while other responses are due before it."""
        self.scope_template: dict[str, Any] = {}
        """The members that the scopes of all requests have in common."""
        self._flush_until = 0.0
        self._limit = limit
        self.turns = turns
        self._is_spare = False
        self._now = 0.0
        self._size = 0
        self._overhead = 0
        self._is_head_unmeasured = False
        self._body_started_at = 0.0
        self._body_received = 0
        self._queued_bytes = 0
        self._fault: ClientFault | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._now = self.loop.time()
        self.deadline = self._now + HEAD_SECONDS
        self.scope_template = {
            "type": "http",
            "asgi": {"version": self.asgi_version, "spec_version": "2.3"},
            "http_version": "1.1",
            "server": self.server,
            "client": self.client,
            "scheme": self.scheme,
            "root_path": "",
            "weftwork.connection": self,
        }
        place = self._limit.admit(len(self.connections))
        if place == "spare":
            self._is_spare = True
        elif place == "rejected":
            self.send_final(self._limit.rejection)
        elif place == "dropped":
            self.stage = CLOSING
            self.transport.write(self._limit.rejection)
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self.on_lost is not None:
            self.on_lost()
        # uvicorn notifies only the newest request, but an older one may still be in progress.
        for cycle in (self.active_cycle, *(cycle for cycle, _ in self.pipeline)):
            if cycle is not None and not cycle.response_complete:
                cycle.disconnected = True
                cycle.message_event.set()
        self.pipeline.clear()
        self.deadline = math.inf
        self._break_reference_cycles()

    def _break_reference_cycles(self) -> None:
        """Remove the connection from its own scopes, so that it is freed at once and not by the garbage collector."""
        scopes: list[Any] = [self.scope_template, self.scope]
        scopes += [cycle.scope for cycle in (self.cycle, self.active_cycle) if cycle]
        for scope in scopes:
            if scope:
                scope.pop("weftwork.connection", None)

    # Used by the response writer

    @property
    def is_full(self) -> bool:
        return self.flow.write_paused

    @property
    def is_lost(self) -> bool:
        return self.transport.is_closing()

    async def drained(self) -> None:
        """Wait until the write buffer has room, or the connection is closed."""
        await self.flow.drain()

    def disable_buffering(self) -> None:
        """Treat the connection as full while any byte is unsent. A slow reader of a stream then holds one frame."""
        if not self.is_lost:
            self.transport.set_write_buffer_limits(high=0)

    def restore_buffering(self) -> None:
        if not self.is_lost:
            self.transport.set_write_buffer_limits()

    def abort(self) -> None:
        """Close and discard the write buffer. `close` would wait indefinitely for a client that does not read."""
        self.transport.abort()

    # Receiving

    def data_received(self, data: bytes) -> None:
        if self.stage == CLOSING or self.final_response is not None:
            return
        extra = self._overhead
        size = self._size = len(data)
        self._overhead = extra + size if extra > 0 else size
        self._now = self.loop.time()
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as offer:
            # The host does not accept upgrades, so the bytes that follow are the next request.
            rest = data[offer.args[0] :]
            if rest:
                self.data_received(rest)
                return
        except httptools.HttpParserError:
            self.reject(self._fault or invalid("This is not a valid HTTP request."))
            return
        if self._overhead > limits.MAX_HEAD_BYTES:
            self.reject(invalid(limits.head_too_large_message()))
        elif self.stage == READING_HEAD and self._overhead == 0:
            # This head began in the same read as the end of the previous request, so its bytes were not counted.
            self._is_head_unmeasured = True

    # Callbacks of the parser

    def on_message_begin(self) -> None:
        self.url = b""
        self.expect_100_continue = False
        self.headers = []
        self.scope = {**self.scope_template, "headers": self.headers}  # type: ignore[typeddict-item]
        self.stage = READING_HEAD
        if self.cycle is not None:  # pyright: ignore[reportUnnecessaryComparison]
            self.deadline = self._now + HEAD_SECONDS

    def on_headers_complete(self) -> None:
        parser, target, headers, scope = self.parser, self.url, self.headers, self.scope
        version = parser.get_http_version()
        if self._is_head_unmeasured or self._overhead > limits.MAX_HEAD_BYTES or self._size > limits.MAX_HEAD_BYTES:
            self._check_head_size()
        fault = limits.head_problem(target, headers, version, parser.should_upgrade())
        if fault is not None:
            self._stop_parser(invalid(fault))
        if self._is_spare and self._limit.rejects(len(self.connections), target):
            self._stop_parser(self._limit.fault)
        if len(self.pipeline) >= MAX_PIPELINED:
            message = (
                f"More than {MAX_PIPELINED} pipelined requests are queued. Wait for responses before sending more."
            )
            self._stop_parser(invalid(message))
        scope["method"] = parser.get_method().decode("ascii")
        scope["http_version"] = version
        path, _, scope["query_string"] = target.partition(b"?")
        scope["raw_path"] = path
        text = path.decode("ascii")
        scope["path"] = unquote(text) if "%" in text else text
        active = self.active_cycle
        keep_alive = version == "1.1" and parser.should_keep_alive()
        # Not by keyword, which would double the cost of the call.
        cycle = self.cycle = RequestCycle(
            scope,
            self.transport,
            self.flow,
            self.logger,
            self.access_logger,
            self.access_log,
            self.server_state.default_headers,
            asyncio.Event(),
            self.expect_100_continue,
            keep_alive,
            self.on_response_complete,
        )
        if active is None or active.response_complete:
            self._start_cycle(cycle)
        else:
            self.pipeline.appendleft((cycle, self.app))
            if len(self.pipeline) > MAX_PIPELINED // 2:
                # Not earlier: while reading is paused, the server does not notice that a client disconnects.
                self.flow.pause_reading()
        self.headers = _IgnoredTrailers()  # type: ignore[assignment]
        self.stage = READING_BODY
        self._body_started_at = self._now
        self._body_received = self._overhead = 0
        self.deadline = self._now + BODY_GRACE_SECONDS

    def on_body(self, body: bytes) -> None:
        size = len(body)
        self._body_received += size
        self._overhead -= size + size * OVERHEAD_PER_BODY_BYTE
        cycle = self.cycle
        if cycle.response_complete:
            return
        cycle.body += body
        if cycle is not self.active_cycle:
            self._queued_bytes += size
        if len(cycle.body) > HIGH_WATER_LIMIT or self._queued_bytes > HIGH_WATER_LIMIT:
            self.flow.pause_reading()
        cycle.message_event.set()

    def on_message_complete(self) -> None:
        self.stage = IDLE
        self._overhead = 0
        self.deadline = math.inf
        cycle = self.cycle
        if not cycle.response_complete:
            cycle.more_body = False
            cycle.message_event.set()

    def _check_head_size(self) -> None:
        """Measure the head itself, when the count of received bytes may include other bytes or miss some."""
        self._is_head_unmeasured = False
        if limits.head_size(self.url, self.headers) > limits.MAX_HEAD_BYTES:
            self._stop_parser(invalid(limits.head_too_large_message()))

    def _stop_parser(self, fault: ClientFault) -> NoReturn:
        self._fault = fault
        raise _RequestRejected

    # Responses

    def _start_cycle(self, cycle: RequestCycle) -> None:
        self.active_cycle = cycle
        task = self.loop.create_task(cycle.run_asgi(self.app))
        task.add_done_callback(self.tasks.discard)
        self.tasks.add(task)

    def on_response_complete(self) -> None:
        now = self.loop.time()
        if self.transport.is_closing():
            self.deadline = now + FLUSH_SECONDS
            return
        if self.pipeline:
            cycle = cast(RequestCycle, self.pipeline.pop()[0])
            self._queued_bytes -= len(cycle.body)
            self._start_cycle(cycle)
        elif self.final_response is not None:
            self.send_final(self.final_response)
        elif self.stage == IDLE:
            self.deadline = now + IDLE_SECONDS
        if self._queued_bytes <= HIGH_WATER_LIMIT:
            self.flow.resume_reading()

    # Closing

    def shutdown(self) -> None:
        if self.stage == CLOSING:
            self.transport.close()
        else:
            super().shutdown()

    def reject(self, fault: ClientFault) -> None:
        """Send this error and close, after the responses that are due before it."""
        log.debug("malformed request rejected", extra={"reason": fault.message})
        response = raw_error_response(fault, self.server_state.default_headers)
        incomplete = self.cycle if self.stage == READING_BODY else None
        if incomplete is not None and self.pipeline and self.pipeline[0][0] is incomplete:
            self.pipeline.popleft()
        elif incomplete is not None and not incomplete.response_complete:
            # The request in progress will never be complete.
            if incomplete.response_started:
                self.close()
                return
            incomplete.disconnected = True
            incomplete.message_event.set()
            self.send_final(response)
            return
        elif incomplete is not None:
            # The request already has its response, so the client does not expect another.
            self.close()
            return
        active = self.active_cycle
        if active is not None and not active.response_complete:
            self.final_response = response
            self.deadline = math.inf
        else:
            self.send_final(response)

    def send_final(self, response: bytes) -> None:
        """Write the last response and EOF, and discard what the client still sends until it closes."""
        self.stage = CLOSING
        self.final_response = None
        now = self.loop.time()
        self.deadline = now + LINGER_SECONDS
        self._flush_until = now + FLUSH_SECONDS
        self.transport.write(response)
        # The client may have disconnected.
        with contextlib.suppress(OSError, RuntimeError):
            self.transport.write_eof()

    def close(self) -> None:
        self.stage = CLOSING
        self.deadline = self.loop.time() + FLUSH_SECONDS
        self.transport.close()

    # Deadlines

    def on_deadline(self, now: float) -> None:
        """Reject the request or close the connection. Sets a new deadline if the client did not cause the delay."""
        if self.stage == CLOSING or self.transport.is_closing():
            # The client may still be reading the last response.
            if now < self._flush_until and self.transport.get_write_buffer_size():
                self.deadline = now + LINGER_SECONDS
            else:
                self.deadline = math.inf
                self.transport.abort()
        elif self.flow.read_paused:
            # The server itself has paused reading, so the client cannot make progress.
            self._body_started_at, self._body_received = now, 0
            self.deadline = now + HEAD_SECONDS
        elif self.stage == IDLE:
            self.close()
        elif self.stage == READING_HEAD:
            self.reject(invalid(f"The head of the request was not complete within {HEAD_SECONDS:g} seconds."))
        else:
            self._check_body_rate(now)

    def _check_body_rate(self, now: float) -> None:
        if self.cycle.waiting_for_100_continue:
            self._body_started_at = now
        due = self._body_started_at + BODY_GRACE_SECONDS + self._body_received / MIN_BODY_RATE
        if due > now:
            # A client that sent fast has earned time. Cut it to the maximum pause.
            excess = max(0.0, due - now - MAX_BODY_PAUSE_SECONDS)
            self._body_started_at -= excess
            self.deadline = due - excess
        else:
            self.reject(invalid(f"The body of the request arrived at less than {MIN_BODY_RATE} bytes per second."))
