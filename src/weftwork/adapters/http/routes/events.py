"""Routes of events: server-sent events, JSON pages, and long polling."""

from typing import Any, Final

import msgspec

from weftwork.adapters.http.message import Request, Response
from weftwork.adapters.http.shared_bodies import LargeBody, SharedBodies, SharedBody
from weftwork.adapters.http.snapshots import SnapshotCache
from weftwork.adapters.http.sse import SseStream
from weftwork.engine.api.keyring import Keyring, Principal
from weftwork.engine.api.runs import EventStreams, Runs
from weftwork.protocol.envelopes.kinds import SURFACE_KIND
from weftwork.protocol.json.pieces import Piece, join_small
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.projection import Projection
from weftwork.protocol.scopes import DEBUG
from weftwork.protocol.wire import streams
from weftwork.protocol.wire.route import DEFAULT_POLL_SECONDS, MAX_CURSOR, MAX_EVENTS, MAX_POLL_SECONDS
from weftwork.protocol.wire.surface_frames import DELTA_PARAMETER, DELTA_TYPE, SurfaceDeltas, parse_delta

POLL_PAGE: Final = 1000
LARGE_PAGE_BYTES: Final = 32_768
"""A page of events that is larger is kept once for all clients that are being sent it."""


class EventRoutes:
    """streamRunEvents, pollRunEvents."""

    def __init__(
        self,
        service: Runs,
        streams: EventStreams,
        keyring: Keyring,
        keepalive: float,
        snapshots: SnapshotCache,
        bodies: SharedBodies,
    ) -> None:
        self._runs = service
        self._streams = streams
        self._keyring = keyring
        self._keepalive = keepalive
        self._snapshots = snapshots
        self._bodies = bodies

    async def stream(self, request: Request) -> Response | None:
        """sse-11 (OpenWOP stream-modes): all parameters are validated before the format is chosen."""
        modes = streams.parse_modes(request.query("streamMode"))
        deltas = SurfaceDeltas() if parse_delta(request.query(DELTA_PARAMETER)) else None
        buffer_ms = streams.parse_buffer(request.query("bufferMs"))
        last_event_id = request.query("lastEventId")
        streams.parse_cursor(last_event_id)  # validated even if the header takes precedence
        cursor = streams.parse_cursor(request.header(b"last-event-id") or last_event_id)
        first = request.query_integer("fromSequence", 0, MAX_CURSOR, 0)
        limit = request.query_integer("limit", 1, MAX_EVENTS, MAX_EVENTS)
        if streams.wants_json(request.header(b"accept")):
            return await self._events_page(request, first, limit, deltas)
        stream = SseStream(
            self._streams,
            self._keyring,
            self._snapshots,
            request,
            modes,
            cursor,
            buffer_ms / 1000,
            self._keepalive,
            deltas,
        )
        await stream.run()
        return None

    async def _events_page(self, request: Request, first: int, limit: int, deltas: SurfaceDeltas | None) -> Response:
        after = first - 1
        run_id = request.run_id
        events, projection = await self._streams.read_page(request.caller, run_id, after, limit)
        head, tail = b'{"events":[', b'],"isComplete":%b}' % _complete_flag(events, projection, after)
        if deltas is not None:
            head = b'{"deltas":%b,"events":[' % msgspec.json.encode(_delta_documents(events, deltas))
        return self._page_response(request.caller, run_id, head, events, tail)

    async def poll(self, request: Request) -> Response:
        """poll-01 (OpenWOP rest-endpoints): the events after lastSequence, which may be beyond the end of the log.
        Waits only if a live run has none yet."""
        since = request.query_integer("since", -1, MAX_CURSOR, -1)
        last = request.query_integer("lastSequence", -1, MAX_CURSOR, since)
        timeout = request.query_integer("timeout", 1, MAX_POLL_SECONDS, DEFAULT_POLL_SECONDS)
        run_id = request.run_id
        read = self._streams.read_page(request.caller, run_id, last, POLL_PAGE, timeout)
        events, projection = await request.run_until_disconnect(read)
        # The key may have been revoked during the wait.
        self._keyring.check(request.caller)
        if events:
            projection = await self._runs.projection(request.caller, run_id)
        complete = _complete_flag(events, projection, last)
        highest = events[-1].sequence if events else max(last, projection.last_sequence)
        tail = b'],"isComplete":%b,"isTerminal":%b,"lastEventSeq":%d,"runStatus":"%b"}' % (
            complete,
            complete,
            highest,
            projection.status.encode(),
        )
        return self._page_response(request.caller, run_id, b'{"runId":"%b","events":[' % run_id.encode(), events, tail)

    def _page_response(self, caller: Principal, run_id: str, head: bytes, events: list[Event], tail: bytes) -> Response:
        """A page of events. A large page is shared by all clients that are being sent the same events."""
        if sum([event.size for event in events]) <= LARGE_PAGE_BYTES:
            return Response(200, b"%b%b%b" % (head, b",".join([event.document for event in events]), tail))
        # Callers without the scope runs:debug see other events.
        key = (
            EventRoutes,
            caller.run(run_id),
            events[0].sequence,
            events[-1].sequence,
            DEBUG in caller.scopes,
            head,
            tail,
        )
        body = self._bodies.get(key) or self._bodies.add(key, SharedBody(_page_pieces(head, events, tail)))
        return Response(200, large=LargeBody(body, self._bodies.may_wait))


def _delta_documents(events: list[Event], deltas: SurfaceDeltas) -> list[dict[str, Any]]:
    """surf-53: the deltas that a stream would send in place of surfaces on this page. The events of a page are those of
    the log, so they are whole."""
    documents = [deltas.document(event) for event in events if event.type == SURFACE_KIND]
    return [each for each in documents if each["type"] == DELTA_TYPE]


def _page_pieces(head: bytes, events: list[Event], tail: bytes) -> list[Piece]:
    parts = [part for event in events for part in (b",", event.document)]
    return list(join_small([head, *parts[1:], tail]))


def _complete_flag(events: list[Event], projection: Projection, after: int) -> bytes:
    last = events[-1].sequence if events else after
    return b"true" if streams.is_complete(projection, last) else b"false"
