"""Routes of events: server-sent events, JSON pages, and long polling."""

from typing import Final

from weftwork.adapters.http.message import Request, Response
from weftwork.adapters.http.sse import SnapshotCache, SseStream
from weftwork.engine.api.keyring import Keyring
from weftwork.engine.api.runs import EventStreams, Runs
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.projection import Projection
from weftwork.protocol.wire import streams
from weftwork.protocol.wire.route import DEFAULT_POLL_SECONDS, MAX_CURSOR, MAX_EVENTS, MAX_POLL_SECONDS

POLL_PAGE: Final = 1000


class EventRoutes:
    """streamRunEvents, pollRunEvents."""

    def __init__(self, service: Runs, streams: EventStreams, keyring: Keyring, keepalive: float) -> None:
        self._runs = service
        self._streams = streams
        self._keyring = keyring
        self._keepalive = keepalive
        self._snapshots = SnapshotCache(service)

    async def stream(self, request: Request) -> Response | None:
        """sse-11 (OpenWOP stream-modes): all parameters are validated before the format is chosen."""
        modes = streams.parse_modes(request.query("streamMode"))
        buffer_ms = streams.parse_buffer(request.query("bufferMs"))
        last_event_id = request.query("lastEventId")
        streams.parse_cursor(last_event_id)  # validated even if the header takes precedence
        cursor = streams.parse_cursor(request.header(b"last-event-id") or last_event_id)
        first = request.query_integer("fromSequence", 0, MAX_CURSOR, 0)
        limit = request.query_integer("limit", 1, MAX_EVENTS, MAX_EVENTS)
        if streams.wants_json(request.header(b"accept")):
            return await self._events_page(request, first, limit)
        stream = SseStream(
            self._streams, self._keyring, self._snapshots, request, modes, cursor, buffer_ms / 1000, self._keepalive
        )
        await stream.run()
        return None

    async def _events_page(self, request: Request, first: int, limit: int) -> Response:
        after = first - 1
        page, projection = await self._streams.read_page(request.caller, request.params["runId"], after, limit)
        events = [event for event in page if event.sequence > after]
        complete = _complete_flag(events, projection, after)
        return Response(200, b'{"events":%b,"isComplete":%b}' % (_json_array(events), complete))

    async def poll(self, request: Request) -> Response:
        """poll-01 (OpenWOP rest-endpoints): the events after lastSequence. Waits only if a live run has none yet."""
        since = request.query_integer("since", -1, MAX_CURSOR, -1)
        last = request.query_integer("lastSequence", -1, MAX_CURSOR, since)
        timeout = request.query_integer("timeout", 1, MAX_POLL_SECONDS, DEFAULT_POLL_SECONDS)
        run_id = request.params["runId"]
        read = self._streams.read_page(request.caller, run_id, last, POLL_PAGE, timeout)
        page, projection = await request.run_until_disconnect(read)
        # The key may have been revoked during the wait.
        self._keyring.check(request.caller)
        if page:
            projection = await self._runs.projection(request.caller, run_id)
        events = [event for event in page if event.sequence > last]
        complete = _complete_flag(events, projection, last)
        highest = events[-1].sequence if events else max(last, projection.last_sequence)
        body = b'{"runId":"%b","events":%b,"isComplete":%b,"isTerminal":%b,"lastEventSeq":%d,"runStatus":"%b"}' % (
            run_id.encode(),
            _json_array(events),
            complete,
            complete,
            highest,
            projection.status.encode(),
        )
        return Response(200, body)


def _complete_flag(events: list[Event], projection: Projection, after: int) -> bytes:
    last = events[-1].sequence if events else after
    return b"true" if streams.is_complete(projection, last) else b"false"


def _json_array(events: list[Event]) -> bytes:
    return b"[%b]" % b",".join([event.document for event in events])
