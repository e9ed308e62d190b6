"""Routes of events: server-sent events, JSON pages, and long polling."""

from typing import Final

from weftwork.adapters.http.message import Request, Response
from weftwork.adapters.http.sse import Pump
from weftwork.engine.feeds import Reader, weight
from weftwork.engine.service import Service
from weftwork.ports.eventlog import Stored
from weftwork.protocol import streams
from weftwork.protocol.events import Event
from weftwork.protocol.wire_v1 import MAX_EVENTS, MAX_POLL_SECONDS, POLL_SECONDS

POLL_PAGE: Final = 1000
PAGE_BYTES: Final = 4 * 2**20
"""An answer as JSON ends with the event that reaches this; its reader goes on from there."""
_LARGEST = 2**53 - 1


class EventRoutes:
    """streamRunEvents, pollRunEvents."""

    def __init__(self, service: Service, keepalive: float) -> None:
        self._service = service
        self._keepalive = keepalive

    async def stream(self, request: Request) -> Response | None:
        """sse-11 (OpenWOP stream-modes): parameters are judged before the format is chosen."""
        modes = streams.parse_modes(request.query("streamMode"))
        buffer_ms = streams.parse_buffer(request.query("bufferMs"))
        cursor = streams.parse_cursor(request.header(b"last-event-id") or request.query("lastEventId"))
        if streams.wants_json(request.header(b"accept")):
            return await self._page(request)
        pump = Pump(self._service, request, modes, cursor, buffer_ms, self._keepalive)
        await pump.run()
        return None

    async def _page(self, request: Request) -> Response:
        first = request.integer("fromSequence", 0, _LARGEST, 0)
        limit = request.integer("limit", 1, MAX_EVENTS, MAX_EVENTS)
        run_id = request.params["runId"]
        reader, stored = await self._service.join(request.caller, run_id, first - 1)
        try:
            news = [] if reader.ended else await _gather(reader, 0, limit)
        finally:
            self._service.leave(request.caller, run_id)
        events = [event for event in news if event.sequence >= first]
        return Response(200, b'{"events":%b,"isComplete":%b}' % (_array(events), _complete(events, stored, first - 1)))

    async def poll(self, request: Request) -> Response:
        """poll-01 (OpenWOP rest-endpoints): events after lastSequence; waits only while a live run has no news."""
        name = "lastSequence" if request.query("lastSequence") is not None else "since"
        last = request.integer(name, -1, _LARGEST, -1)
        timeout = request.integer("timeout", 1, MAX_POLL_SECONDS, POLL_SECONDS)
        run_id = request.params["runId"]
        reader, stored = await self._service.join(request.caller, run_id, last)
        try:
            news = [] if reader.ended else await request.while_there(_gather(reader, timeout, POLL_PAGE))
        finally:
            self._service.leave(request.caller, run_id)
        if news:
            stored = await self._service.stored(request.caller, run_id)
        # A cursor ahead of a live run joins at the run's end; what is new there is still not after the cursor.
        events = [event for event in news if event.sequence > last]
        complete = _complete(events, stored, last)
        highest = events[-1].sequence if events else max(last, stored.projection.last_sequence)
        body = b'{"runId":"%b","events":%b,"isComplete":%b,"isTerminal":%b,"lastEventSeq":%d,"runStatus":"%b"}' % (
            run_id.encode(),
            _array(events),
            complete,
            complete,
            highest,
            stored.projection.status.encode(),
        )
        return Response(200, body)


async def _gather(reader: Reader, timeout: int, limit: int) -> list[Event]:
    """The next events and those that are there behind them, up to a limit and to PAGE_BYTES."""
    events = await reader.next(timeout, limit, PAGE_BYTES)
    size = sum(map(weight, events))
    while events and not reader.ended and len(events) < limit and size < PAGE_BYTES:
        more = await reader.next(0, limit - len(events), PAGE_BYTES - size)
        if not more:
            break
        events += more
        size += sum(map(weight, more))
    return events


def _complete(events: list[Event], stored: Stored, after: int) -> bytes:
    seen = events[-1].sequence if events else after
    return b"true" if streams.is_complete(stored.projection, seen) else b"false"


def _array(events: list[Event]) -> bytes:
    return b"[%b]" % b",".join([event.document for event in events])
