"""One connection: what comes in is held to limits of size, shape and time before it is a request.

Theory. uvicorn's protocol class turns bytes into ASGI calls. Here it is told what a request may look like, how
many may wait for their turn, and how long a client may take to send one. Time costs a request nothing but a few
numbers: each connection knows the instant by which its client must have got further (`deadline`), and the server
looks at all of them a few times a second.

What cannot be a request is answered with an error document, after the answers that are still due on the same
connection, and then nothing more is read: the bytes behind it could be anything.
"""

import asyncio
import math
from typing import Any, Final, NoReturn, cast
from urllib.parse import unquote

import httptools
import uvicorn
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.server import ServerState

from weftwork.adapters.http import ending, head
from weftwork.adapters.http.cycle import Cycle
from weftwork.adapters.http.door import Door
from weftwork.adapters.http.ending import BETWEEN, BODY, ENDING, HEAD, Ending
from weftwork.protocol.errors import ClientFault, invalid

HEAD_SECONDS: Final = 10.0
"""From the connection, or from the first byte of a later request, to the end of its head."""
BODY_GRACE_SECONDS: Final = 5.0
BODY_RATE: Final = 1024
"""Bytes of a body that must have come for each second after the grace."""
BODY_REST_SECONDS: Final = 60.0
"""How long a client may rest in a body, however much it has sent before."""
IDLE_SECONDS: Final = 15.0
"""How long a connection stays on which nothing is asked."""
PIPELINED: Final = 16
"""Requests that may wait behind one that is being answered."""
EXTRA_PER_BYTE: Final = 16
"""Bytes around the pieces of a body that each byte of it pays for."""


class _Refused(Exception):
    """Stops the parser; the answer is kept beside it."""


class _Trailers:
    """Headers behind a body are dropped: they would pass every check of those before it."""

    def append(self, header: tuple[bytes, bytes]) -> None: ...


class Connection(Ending):
    """One client. `deadline` is when the watchdog calls `overdue`."""

    parser: httptools.HttpRequestParser
    app: Any

    def __init__(
        self,
        config: uvicorn.Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        door: Door,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._door = door
        self._spare = False
        self._now = 0.0
        self._size = 0
        self._extra = 0
        self._unweighed = False
        self._begun = 0.0
        self._received = 0
        self._parked = 0
        self._fault: ClientFault | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._now = self.loop.time()
        self.deadline = self._now + HEAD_SECONDS
        self.template = {
            "type": "http",
            "asgi": {"version": self.asgi_version, "spec_version": "2.3"},
            "http_version": "1.1",
            "server": self.server,
            "client": self.client,
            "scheme": self.scheme,
            "root_path": "",
            "weftwork.line": self,
        }
        place = self._door.place(len(self.connections))
        if place != "inside":
            self._crowd(place)

    def _crowd(self, place: str) -> None:
        if place == "spare":
            self._spare = True
        elif place == "outside":
            self.say_last(self._door.answer)
        else:
            self.stage = ENDING
            self.transport.write(self._door.answer)
            self.transport.close()

    def data_received(self, data: bytes) -> None:
        if self.stage == ENDING or self.last is not None:
            return
        extra = self._extra
        size = self._size = len(data)
        self._extra = extra + size if extra > 0 else size
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
            self.refuse(self._fault or invalid("This is not a valid HTTP request."))
            return
        if self._extra > head.HEAD_BYTES:
            self.refuse(invalid(head.oversize()))
        elif self.stage == HEAD and self._extra == 0:
            # It began behind another request in what was just read, so those bytes were not counted.
            self._unweighed = True

    # What the parser finds

    def on_message_begin(self) -> None:
        self.url = b""
        self.expect_100_continue = False
        self.headers = []
        self.scope = {**self.template, "headers": self.headers}  # type: ignore[typeddict-item]
        self.stage = HEAD
        if self.cycle is not None:  # pyright: ignore[reportUnnecessaryComparison]
            self.deadline = self._now + HEAD_SECONDS

    def on_headers_complete(self) -> None:
        parser, target, headers, scope = self.parser, self.url, self.headers, self.scope
        version = parser.get_http_version()
        if self._unweighed or self._extra > head.HEAD_BYTES or self._size > head.HEAD_BYTES:
            self._weigh()
        fault = head.head_fault(target, headers, version, parser.should_upgrade())
        if fault is not None:
            self._stop(invalid(fault))
        if self._spare and self._door.refuses(len(self.connections), target):
            self._stop(self._door.fault)
        if len(self.pipeline) >= PIPELINED:
            self._stop(invalid(f"More than {PIPELINED} requests wait for their turn."))
        scope["method"] = parser.get_method().decode("ascii")
        scope["http_version"] = version
        path, _, scope["query_string"] = target.partition(b"?")
        scope["raw_path"] = path
        text = path.decode("ascii")
        scope["path"] = unquote(text) if "%" in text else text
        before = self.running
        cycle = self.cycle = Cycle(
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
            self._run(cycle)
        else:
            self.pipeline.appendleft((cycle, self.app))
            if len(self.pipeline) > PIPELINED // 2:
                # Not sooner: whoever does not read does not see a client go away.
                self.flow.pause_reading()
        self.headers = _Trailers()  # type: ignore[assignment]
        self.stage = BODY
        self._begun = self._now
        self._received = self._extra = 0
        self.deadline = self._now + BODY_GRACE_SECONDS

    def on_body(self, body: bytes) -> None:
        size = len(body)
        self._received += size
        self._extra -= size + size * EXTRA_PER_BYTE
        cycle = self.cycle
        if cycle.response_complete:
            return
        cycle.body += body
        if cycle is not self.running:
            self._parked += size
        if len(cycle.body) > HIGH_WATER_LIMIT or self._parked > HIGH_WATER_LIMIT:
            self.flow.pause_reading()
        cycle.message_event.set()

    def on_message_complete(self) -> None:
        self.stage = BETWEEN
        self._extra = 0
        self.deadline = math.inf
        cycle = self.cycle
        if not cycle.response_complete:
            cycle.more_body = False
            cycle.message_event.set()

    def _weigh(self) -> None:
        """Exactly, where the bytes read so far may be more than a head, or less."""
        self._unweighed = False
        if head.weigh(self.url, self.headers) > head.HEAD_BYTES:
            self._stop(invalid(head.oversize()))

    def _stop(self, fault: ClientFault) -> NoReturn:
        self._fault = fault
        raise _Refused

    # Answers

    def _run(self, cycle: Cycle) -> None:
        self.running = cycle
        task = self.loop.create_task(cycle.run_asgi(self.app))
        task.add_done_callback(self.tasks.discard)
        self.tasks.add(task)

    def on_response_complete(self) -> None:
        now = self.loop.time()
        if self.transport.is_closing():
            self.deadline = now + ending.FLUSH_SECONDS
            return
        if self.pipeline:
            cycle = cast(Cycle, self.pipeline.pop()[0])
            self._parked -= len(cycle.body)
            self._run(cycle)
        elif self.last is not None:
            self.say_last(self.last)
        elif self.stage == BETWEEN:
            self.deadline = now + IDLE_SECONDS
        if self._parked <= HIGH_WATER_LIMIT:
            self.flow.resume_reading()

    # Time

    def overdue(self, now: float) -> None:
        """The deadline has passed: say so, close, or go on if the client is not to blame."""
        if self.stage == ENDING or self.transport.is_closing():
            self.give_up(now)
        elif self.flow.read_paused:
            # What is missing is not let in.
            self._begun, self._received = now, 0
            self.deadline = now + HEAD_SECONDS
        elif self.stage == BETWEEN:
            self.close()
        elif self.stage == HEAD:
            message = f"The head of the request was not there within {HEAD_SECONDS:g} seconds."
            self.refuse(invalid(message))
        else:
            self._judge_body(now)

    def _judge_body(self, now: float) -> None:
        if self.cycle.waiting_for_100_continue:
            self._begun = now
        due = self._begun + BODY_GRACE_SECONDS + self._received / BODY_RATE
        if due > now:
            over = max(0.0, due - now - BODY_REST_SECONDS)
            self._begun -= over
            self.deadline = due - over
        else:
            message = f"The body of the request comes in at less than {BODY_RATE} bytes per second."
            self.refuse(invalid(message))
