"""The event stream of one run, until the run has ended, and the parser of its server-sent events.

A broken connection is reopened with the last event id, until the host has sent nothing for `RECONNECT_SECONDS`.
Events that a host sends twice are dropped. A host that does not stream is polled.
"""

import http.client
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from weftwork.cli.client.errors import ConnectionLost, DeadlineReached, HostUnreachable, RequestRefused
from weftwork.cli.client.transport import OpenResponse, Transport
from weftwork.cli.console.documents import as_list, as_object
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json.decoder import decode
from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.run.header import STATUSES, TERMINAL_STATUSES
from weftwork.protocol.wire.v1.paths import path_for

if TYPE_CHECKING:
    from weftwork.cli.client.http_client import Client

T = TypeVar("T")
MAX_FRAME_BYTES: Final = 64 * 2**20


class ReceivedFrame(NamedTuple):
    """One server-sent event with decoded `data`. A frame without an id has the id of the frame before it."""

    event: str
    data: Any
    id: str

    @property
    def event_type(self) -> str:
        """The event type from the document, because a host may name the frame after the stream mode."""
        event_type = as_object(self.data).get("type")
        return event_type if isinstance(event_type, str) else self.event

    @property
    def sequence(self) -> int | None:
        """The sequence of the event in its run's log; None if neither the document nor the frame id has one."""
        values = [as_object(self.data).get(name) for name in ("sequence", "seq")]
        sequence = next((each for each in values if isinstance(each, int) and not isinstance(each, bool)), None)
        return _decimal(self.id, None) if sequence is None else sequence


class FrameTooLarge(Exception):
    """A frame has more than `MAX_FRAME_BYTES`."""


class UnreadableFrame(NamedTuple):
    """A frame whose data is not JSON."""

    id: str


class FrameParser:
    """An incremental parser of server-sent events. Chunks may end anywhere; lines end with LF, CR or CRLF."""

    def __init__(self) -> None:
        self.retry_ms: int | None = None
        self._id = ""
        self._rest: list[bytes] = []
        """The pieces of the last line, which is not complete yet."""
        self._after_cr = False
        self._started = False
        self._event = ""
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, piece: bytes) -> list[ReceivedFrame | UnreadableFrame]:
        """The frames that this chunk completes; a `batch` frame yields one frame per event. Raises FrameTooLarge."""
        if self._after_cr and piece.startswith(b"\n"):
            piece = piece[1:]
            self._after_cr = False
        if not piece:
            return []
        self._after_cr = piece.endswith(b"\r")
        text = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        # Only complete lines are parsed, each once: a frame may arrive in very many chunks.
        *lines, rest = text.split(b"\n")
        self._size += len(piece)
        if not lines:
            self._rest.append(rest)
        else:
            lines[0] = b"".join([*self._rest, lines[0]])
            self._rest = [rest]
        frames: list[ReceivedFrame | UnreadableFrame] = []
        for line in lines:
            frames += self._line(line)
        if self._size > MAX_FRAME_BYTES:
            raise FrameTooLarge
        return frames

    def _line(self, line: bytes) -> list[ReceivedFrame | UnreadableFrame]:
        if not self._started:
            line, self._started = line.removeprefix(b"\xef\xbb\xbf"), True
        if not line:
            return self._frame()
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"event":
            self._event = value.decode("utf-8", "replace")
        elif name == b"data":
            self._data.append(value)
        elif name == b"id" and b"\0" not in value:
            self._id = value.decode("utf-8", "replace")
        elif name == b"retry" and value.isdigit() and len(value) < 9:
            self.retry_ms = int(value)
        return []

    def _frame(self) -> list[ReceivedFrame | UnreadableFrame]:
        event, data = self._event or "message", b"\n".join(self._data)
        self._event, self._data, self._size = "", [], sum(map(len, self._rest))
        if not data:
            return []
        try:
            document = decode(data)
        except ClientFault:
            return [UnreadableFrame(self._id)]
        if event == "batch" and is_array(document):
            return [frame_of_document(each, self._id) for each in document]
        return [ReceivedFrame(event, document, self._id)]


def frame_of_document(document: Any, last_id: str) -> ReceivedFrame:
    """The frame of an event from a batch or a poll; its id is the event's own sequence."""
    frame = ReceivedFrame("message", document, "")
    sequence = frame.sequence
    return ReceivedFrame(frame.event_type, document, last_id if sequence is None else str(sequence))


RECONNECT_SECONDS: Final = 60.0
"""Seconds without a byte from the host before the stream fails."""
POLL_SECONDS: Final = 20
MIN_POLL_INTERVAL: Final = 1.0
"""Minimum seconds between two polls that return no events."""
_FIRST_DELAY: Final = 0.25
_MAX_DELAY: Final = 5.0
_TERMINAL_EVENTS: Final = frozenset({"run.completed", "run.failed", "run.cancelled"})
_NO_STREAM_STATUSES: Final = (404, 405, 406, 501)
_BUSY_STATUSES: Final = (429, 502, 503, 504)
_SYNTHETIC_EVENTS: Final = ("state.snapshot", "run.annotated")


class _StreamingUnsupported(Exception):
    """The host does not stream."""


class _ReadIdle(Exception):
    """The host sent nothing within the read timeout."""


class EventStream:
    """Iterate once. Ends after the run's terminal event, or when the run has ended and the host sends nothing more."""

    def __init__(
        self,
        client: "Client",
        transport: Transport,
        run_id: str,
        last_event_id: str | None,
        query: Mapping[str, Any],
    ) -> None:
        self._client = client
        self._transport = transport
        self._run_id = run_id
        self._path = path_for("streamRunEvents", runId=run_id)
        self._query = query
        self._last_id = last_event_id or ""
        self._last_sequence = _decimal(last_event_id or "", -1)
        self._replay_floor = self._last_sequence
        """Events up to this sequence were received before the current connection."""
        self._connected = False
        self._outage: float | None = None
        self._delay = _FIRST_DELAY
        self._run_ended = False
        self._has_frames = False
        self._warned = False

    def __iter__(self) -> Iterator[ReceivedFrame]:
        try:
            yield from self._stream_frames()
        except _StreamingUnsupported:
            self._client.notify("this host does not stream events; polling instead")
            yield from self._poll_frames()

    def _stream_frames(self) -> Iterator[ReceivedFrame]:
        while True:
            try:
                for frame in self._connection_frames():
                    yield frame
                    if _is_terminal_frame(frame):
                        return
                if self._is_complete():
                    return
                self._wait_before_reconnect(None)
            except _ReadIdle:
                # A host without keep-alives: only a new request shows whether it is still up.
                continue
            except HostUnreachable as error:
                if not self._connected and not isinstance(error, ConnectionLost):
                    raise
                self._wait_before_reconnect(error)
            except RequestRefused as refused:
                if refused.status in _NO_STREAM_STATUSES and not self._connected:
                    if refused.status == 404 and self._is_missing():
                        raise
                    raise _StreamingUnsupported from None
                if refused.status not in _BUSY_STATUSES:
                    raise
                self._wait_before_reconnect(refused)

    def _connection_frames(self) -> Iterator[ReceivedFrame]:
        """The new frames of one connection."""
        headers = {"Accept": "text/event-stream", "Cache-Control": "no-cache"}
        if self._last_id:
            headers["Last-Event-ID"] = self._last_id
        opened = self._transport.open(
            "GET", self._path, query=self._query, headers=headers, max_seconds=self._client.time_left()
        )
        try:
            if opened.media_type != "text/event-stream":
                raise _StreamingUnsupported
            self._connected = True
            self._replay_floor = self._last_sequence
            parser = FrameParser()
            while piece := self._read_chunk(opened):
                self._mark_alive()
                for received in parser.feed(piece):
                    if frame := self._accept(received):
                        yield frame
                if parser.retry_ms is not None:
                    self._delay = min(parser.retry_ms / 1000, _MAX_DELAY)
        except FrameTooLarge:
            raise HostUnreachable(
                f"{self._client.url} sent an event larger than {MAX_FRAME_BYTES // 2**20} MiB; the stream was closed."
            ) from None
        finally:
            opened.close()

    def _read_chunk(self, opened: OpenResponse) -> bytes:
        remaining = self._client.time_left()
        opened.set_timeout(remaining)
        try:
            return opened.response.read1(65_536)
        except TimeoutError:
            if self._client.time_left() == 0:
                raise DeadlineReached from None
            raise _ReadIdle from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise self._transport.connection_lost(error) from None

    def _accept(self, received: ReceivedFrame | UnreadableFrame) -> ReceivedFrame | None:
        """The frame if it is new, else None. Advances the position from which a new connection resumes."""
        if received.id:
            self._last_id = received.id
        if isinstance(received, UnreadableFrame):
            if not self._warned:
                self._client.notify("the host sent an event that is not valid JSON; it is skipped")
            self._warned = True
            return None
        self._has_frames = True
        sequence = received.sequence
        if sequence is None or received.event_type in _SYNTHETIC_EVENTS:
            return received
        # Two frames of one connection may have the same sequence: an event, and its projection with an id that ends
        # with .5.
        if sequence <= self._replay_floor and not received.id.endswith(".5"):
            return None
        self._last_sequence = max(self._last_sequence, sequence)
        return received

    def _mark_alive(self) -> None:
        if self._outage is not None:
            self._outage = None
            self._client.notify("reconnected")
        self._delay = _FIRST_DELAY

    def _is_complete(self) -> bool:
        """Whether a stream that the host closed is complete, or must be opened again."""
        if self._run_ended:
            return True
        self._run_ended = is_terminal_status(self._status())
        # Connect once more for events that may have been missed, unless that would repeat all of them.
        return self._run_ended and self._last_id == "" and self._has_frames

    def _status(self) -> str | None:
        """The run's status; None if the host does not return it. A deleted run counts as completed."""
        try:
            document = self._client.get(path_for("getRun", runId=self._run_id))
        except HostUnreachable:
            return None
        except RequestRefused as refused:
            return "completed" if refused.status in (404, 410) else None
        status = as_object(document).get("status")
        return status if isinstance(status, str) else None

    def _is_missing(self) -> bool:
        """Whether the run does not exist, as opposed to a host without this route."""
        try:
            self._client.get(path_for("getRun", runId=self._run_id))
        except RequestRefused as refused:
            return refused.status == 404
        except HostUnreachable:
            pass
        return False

    def _wait_before_reconnect(self, error: HostUnreachable | RequestRefused | None) -> None:
        """Sleep before the next connection. Raises the error if the host has sent nothing for RECONNECT_SECONDS."""
        if self._run_ended:
            return
        now = time.monotonic()
        if self._outage is None:
            self._outage = now
            what = f"{self._client.url} is busy" if isinstance(error, RequestRefused) else "connection lost"
            self._client.notify(f"{what}; reconnecting for up to {RECONNECT_SECONDS:g} s")
        elif now - self._outage >= RECONNECT_SECONDS:
            raise error or HostUnreachable(
                f"{self._client.url} has closed the event stream repeatedly for {RECONNECT_SECONDS:g} s; try again "
                "later."
            )
        wait = self._delay
        if isinstance(error, RequestRefused) and error.retry_after is not None:
            wait = min(max(wait, error.retry_after), RECONNECT_SECONDS)
        self._delay = min(self._delay * 2, _MAX_DELAY) or _FIRST_DELAY
        self._client.sleep(wait)

    def _poll_frames(self) -> Iterator[ReceivedFrame]:
        while True:
            started = time.monotonic()
            page = self._poll_once()
            if page is None:
                continue
            frames = [frame_of_document(each, "") for each in as_list(page.get("events"))]
            new = [each for each in frames if each.sequence is None or each.sequence > self._last_sequence]
            for frame in new:
                self._last_sequence = max(self._last_sequence, -1 if frame.sequence is None else frame.sequence)
                yield frame
                if _is_terminal_frame(frame):
                    return
            if page.get("isComplete") is True or page.get("isTerminal") is True:
                return
            if not new:
                if is_terminal_status(self._status()):
                    return
                self._client.sleep(max(0.0, MIN_POLL_INTERVAL - (time.monotonic() - started)))

    def _poll_once(self) -> dict[str, Any] | None:
        """The response to one poll; None if the poll must be repeated."""
        remaining = self._client.time_left()
        if remaining == 0:
            raise DeadlineReached
        wait = POLL_SECONDS if remaining is None else max(1, min(POLL_SECONDS, int(remaining)))
        try:
            page = self._client.get(
                path_for("pollRunEvents", runId=self._run_id), lastSequence=self._last_sequence, timeout=wait
            )
        except HostUnreachable as error:
            if not self._connected:
                raise
            self._wait_before_reconnect(error)
            return None
        except RequestRefused as refused:
            if not self._connected or refused.status not in _BUSY_STATUSES:
                raise
            self._wait_before_reconnect(refused)
            return None
        if not is_object(page):
            raise HostUnreachable(f"{self._client.url} sent a response without events; check --url.")
        self._connected = True
        self._mark_alive()
        return page


def _is_terminal_frame(frame: ReceivedFrame) -> bool:
    if frame.event_type == "state.snapshot":
        statuses = (frame.data.get("status"), as_object(frame.data.get("payload")).get("status"))
        return any(status in TERMINAL_STATUSES for status in statuses)
    return frame.event_type in _TERMINAL_EVENTS


def is_terminal_status(status: str | None) -> bool:
    """Whether the run has ended. An unknown status counts as terminal: STATUSES has every non-terminal one."""
    return status is not None and (status in TERMINAL_STATUSES or status not in STATUSES)


def _decimal(text: str, default: T) -> int | T:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 17 else default
