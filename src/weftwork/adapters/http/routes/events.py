"""Routes of events: server-sent events, JSON pages, and long polling."""

from typing import Final

from weftwork.adapters.http.message import Request, Response
from weftwork.adapters.http.sse import SnapshotCache, SseStream
from weftwork.engine.api.keyring import Keyring
from weftwork.engine.api.runs import Runs
from weftwork.engine.streams.feeds import Reader
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.projection import Projection
from weftwork.protocol.wire import streams
from weftwork.protocol.wire.route import DEFAULT_POLL_SECONDS, MAX_CURSOR, MAX_EVENTS, MAX_POLL_SECONDS

POLL_PAGE: Final = 1000
PAGE_BYTES: Final = 4 * 2**20
"""An answer as JSON ends with the event that reaches this; its reader goes on from there."""


class EventRoutes:
    """streamRunEvents, pollRunEvents."""

    def __init__(self, service: Runs, keyring: Keyring, keepalive: float) -> None:
        self._runs = service
        self._keyring = keyring
        self._keepalive = keepalive
        self._snapshots = SnapshotCache(service)

    async def stream(self, request: Request) -> Response | None:
        """sse-11 (OpenWOP stream-modes): parameters are judged before the format is chosen."""
        modes = streams.parse_modes(request.query("streamMode"))
        buffer_ms = streams.parse_buffer(request.query("bufferMs"))
        given = request.query("lastEventId")
        streams.parse_cursor(given)  # judged even where the header wins
        cursor = streams.parse_cursor(request.header(b"last-event-id") or given)
        first = request.query_integer("fromSequence", 0, MAX_CURSOR, 0)
        limit = request.query_integer("limit", 1, MAX_EVENTS, MAX_EVENTS)
        if streams.wants_json(request.header(b"accept")):
            return await self._events_page(request, first, limit)
        self._runs.check_stream()
        stream = SseStream(
            self._runs, self._keyring, self._snapshots, request, modes, cursor, buffer_ms, self._keepalive
        )
        await stream.run()
        return None

    async def _events_page(self, request: Request, first: int, limit: int) -> Response:
        run_id = request.params["runId"]
        reader, standing = await self._runs.join(request.caller, run_id, first - 1)
        try:
            news = [] if reader.ended else await _read_page(reader, 0, limit)
        finally:
            self._runs.leave(request.caller, run_id)
        events = [event for event in news if event.sequence >= first]
        return Response(
            200, b'{"events":%b,"isComplete":%b}' % (_json_array(events), _complete_flag(events, standing, first - 1))
        )

    async def poll(self, request: Request) -> Response:
        """poll-01 (OpenWOP rest-endpoints): events after lastSequence; waits only while a live run has no news."""
        since = request.query_integer("since", -1, MAX_CURSOR, -1)
        last = request.query_integer("lastSequence", -1, MAX_CURSOR, since)
        timeout = request.query_integer("timeout", 1, MAX_POLL_SECONDS, DEFAULT_POLL_SECONDS)
        run_id = request.params["runId"]
        self._runs.check_stream()
        reader, standing = await self._runs.join(request.caller, run_id, last)
        try:
            news = [] if reader.ended else await request.run_until_disconnect(_read_page(reader, timeout, POLL_PAGE))
        finally:
            self._runs.leave(request.caller, run_id)
        self._keyring.check(request.caller)
        if news:
            standing = await self._runs.projection(request.caller, run_id)
        # A cursor ahead of a live run joins at the run's end; what is new there is still not after the cursor.
        events = [event for event in news if event.sequence > last]
        complete = _complete_flag(events, standing, last)
        highest = events[-1].sequence if events else max(last, standing.last_sequence)
        body = b'{"runId":"%b","events":%b,"isComplete":%b,"isTerminal":%b,"lastEventSeq":%d,"runStatus":"%b"}' % (
            run_id.encode(),
            _json_array(events),
            complete,
            complete,
            highest,
            standing.status.encode(),
        )
        return Response(200, body)


async def _read_page(reader: Reader, timeout: int, limit: int) -> list[Event]:
    """The next events and those that are there behind them, up to a limit and to PAGE_BYTES."""
    events = await reader.next(timeout, limit, PAGE_BYTES)
    size = sum([event.size for event in events])
    while events and not reader.ended and len(events) < limit and size < PAGE_BYTES:
        more = await reader.next(0, limit - len(events), PAGE_BYTES - size)
        if not more:
            break
        events += more
        size += sum([event.size for event in more])
    return events


def _complete_flag(events: list[Event], standing: Projection, after: int) -> bytes:
    seen = events[-1].sequence if events else after
    return b"true" if streams.is_complete(standing, seen) else b"false"


def _json_array(events: list[Event]) -> bytes:
    return b"[%b]" % b",".join([event.document for event in events])
