"""One client connection: the limits on what it may send, its requests and responses, and how it is closed.

uvicorn's protocol class turns bytes into ASGI calls. Connection adds the limits: what a request may look like, how
many requests may be pipelined, and how long a client may take to send one.

Deadlines cost a request only a few numbers. Each connection keeps the time by which its client must have made
progress (`deadline`), and the server compares all of them with the clock a few times a second (`on_deadline`).

A rejected request gets an error document, sent after the responses that are still due on the connection. Nothing is
read after that, because the bytes behind a malformed request could be anything. The client may still be sending: if
the connection were closed at once it would be reset, and the client would never read the error. So the server writes
the error, sends EOF, and for a moment discards what the client still sends (`send_final`).

Responses find their connection in the ASGI scope as `weftwork.connection`. ASGI has no way to ask whether the write
buffer is full or to call back when the client disconnects; the connection has (`is_full`, `drained`, `on_lost`).
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
from weftwork.protocol.errors import ClientFault, invalid

log = logging.getLogger("weftwork.http")

SINGLE_WRITE_BYTES: Final = 32_768
"""Answers up to this size are written at once; larger ones go out at the client's pace."""
HEAD_SECONDS: Final = 10.0
"""From the connection, or from the first byte of a later request, to the end of its head."""
BODY_GRACE_SECONDS: Final = 5.0
MIN_BODY_RATE: Final = 1024
"""Bytes of a body that must have come for each second after the grace."""
MAX_BODY_PAUSE_SECONDS: Final = 60.0
"""How long a client may rest in a body, however much it has sent before."""
IDLE_SECONDS: Final = 15.0
"""How long a connection stays on which nothing is asked."""
MAX_PIPELINED: Final = 16
"""Requests that may wait behind one that is being answered."""
OVERHEAD_PER_BODY_BYTE: Final = 16
"""Bytes around the pieces of a body that each byte of it pays for."""
LINGER_SECONDS: Final = 1.0
"""How long a refused client is still listened to: it may be busy sending, and would not read the answer."""
FLUSH_SECONDS: Final = 30.0
"""How long the last bytes of an answer may take to leave."""

IDLE: Final = 0
"""Stage of a connection: no request is being received."""
READING_HEAD: Final = 1
READING_BODY: Final = 2
CLOSING: Final = 3
"""What the client sends is discarded."""


class RequestCycle(RequestResponseCycle):
    """uvicorn's, with a shorter way for what most answers are: head and body, known from the start."""

    def try_respond(self, status: int, headers: Headers, body: bytes) -> bool:
        """Send head and body with one write; says no, and has sent nothing, if that is not possible now.

        The headers say how long the body is. Raises ValueError for one that would be more than a line.
        """
        if self.flow.write_paused or self.disconnected or self.response_started or len(body) > SINGLE_WRITE_BYTES:
            return False
        lines = [STATUS_LINE[status], *[b"%b: %b\r\n" % header for header in (*self.default_headers, *headers)]]
        if not self.keep_alive:
            lines.append(b"connection: close\r\n")
        head = b"".join(lines)
        if head.count(b"\n") != len(lines) or head.count(b"\r") != len(lines):
            raise ValueError("a header is more than one line")
        self.response_started = self.response_complete = True
        self.waiting_for_100_continue = False
        self.transport.write(b"%b\r\n%b" % (head, body))
        self.message_event.set()
        if not self.keep_alive:
            self.transport.close()
        self.on_response()
        return True


class _RequestRejected(Exception):
    """Stops the parser; the answer is kept beside it."""


class _IgnoredTrailers:
    """Headers behind a body are dropped: they would pass every check of those before it."""

    def append(self, header: tuple[bytes, bytes]) -> None: ...


class Connection(HttpToolsProtocol):
    """One client. The server calls `on_deadline` when `deadline` has passed."""

    parser: httptools.HttpRequestParser
    app: Any
    active_cycle: RequestCycle | None = None
    """The request that is being answered."""
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
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.deadline = math.inf
        self.stage = IDLE
        self.final_response: bytes | None = None
        """The error that ends the connection, while other responses are due before it."""
        self.scope_template: dict[str, Any] = {}
        """What the scopes of all its requests have in common."""
        self._flush_until = 0.0
        self._limit = limit
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
        # uvicorn tells only the newest request; the one that is being answered may be an older one.
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

    # What a response asks of its connection

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
            # An offer that is not taken up: what follows it is the next request.
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
            # It began behind another request in what was just read, so those bytes were not counted.
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
            self._stop_parser(invalid(f"More than {MAX_PIPELINED} requests wait for their turn."))
        scope["method"] = parser.get_method().decode("ascii")
        scope["http_version"] = version
        path, _, scope["query_string"] = target.partition(b"?")
        scope["raw_path"] = path
        text = path.decode("ascii")
        scope["path"] = unquote(text) if "%" in text else text
        before = self.active_cycle
        cycle = self.cycle = RequestCycle(
            scope=scope,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=self.access_log,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=self.expect_100_continue,
            keep_alive=version == "1.1" and parser.should_keep_alive(),
            on_response=self.on_response_complete,
        )
        if before is None or before.response_complete:
            self._start_cycle(cycle)
        else:
            self.pipeline.appendleft((cycle, self.app))
            if len(self.pipeline) > MAX_PIPELINED // 2:
                # Not sooner: whoever does not read does not see a client go away.
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
        """Exactly, where the bytes read so far may be more than a head, or less."""
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
        log.debug("request refused before it was one", extra={"reason": fault.message})
        answer = raw_error_response(fault, self.server_state.default_headers)
        torn = self.cycle if self.stage == READING_BODY else None
        if torn is not None and self.pipeline and self.pipeline[0][0] is torn:
            self.pipeline.popleft()
        elif torn is not None and not torn.response_complete:
            # The one that is being answered will never be whole.
            if torn.response_started:
                self.close()
                return
            torn.disconnected = True
            torn.message_event.set()
            self.send_final(answer)
            return
        elif torn is not None:
            # It has its answer already; nobody waits for another.
            self.close()
            return
        running = self.active_cycle
        if running is not None and not running.response_complete:
            self.final_response = answer
            self.deadline = math.inf
        else:
            self.send_final(answer)

    def send_final(self, answer: bytes) -> None:
        """Write the last response and EOF, and discard what the client still sends until it closes."""
        self.stage = CLOSING
        self.final_response = None
        now = self.loop.time()
        self.deadline = now + LINGER_SECONDS
        self._flush_until = now + FLUSH_SECONDS
        self.transport.write(answer)
        # The client may be gone by now.
        with contextlib.suppress(OSError, RuntimeError):
            self.transport.write_eof()

    def close(self) -> None:
        self.stage = CLOSING
        self.deadline = self.loop.time() + FLUSH_SECONDS
        self.transport.close()

    # Deadlines

    def on_deadline(self, now: float) -> None:
        """Reject or close what is overdue, or set a new deadline if the client is not to blame."""
        if self.stage == CLOSING or self.transport.is_closing():
            # Not while the client is still reading the last response.
            if now < self._flush_until and self.transport.get_write_buffer_size():
                self.deadline = now + LINGER_SECONDS
            else:
                self.deadline = math.inf
                self.transport.abort()
        elif self.flow.read_paused:
            # What is missing is not let in.
            self._body_started_at, self._body_received = now, 0
            self.deadline = now + HEAD_SECONDS
        elif self.stage == IDLE:
            self.close()
        elif self.stage == READING_HEAD:
            message = f"The head of the request was not there within {HEAD_SECONDS:g} seconds."
            self.reject(invalid(message))
        else:
            self._check_body_rate(now)

    def _check_body_rate(self, now: float) -> None:
        if self.cycle.waiting_for_100_continue:
            self._body_started_at = now
        due = self._body_started_at + BODY_GRACE_SECONDS + self._body_received / MIN_BODY_RATE
        if due > now:
            over = max(0.0, due - now - MAX_BODY_PAUSE_SECONDS)
            self._body_started_at -= over
            self.deadline = due - over
        else:
            message = f"The body of the request comes in at less than {MIN_BODY_RATE} bytes per second."
            self.reject(invalid(message))
