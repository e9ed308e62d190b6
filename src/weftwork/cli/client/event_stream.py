"""One event stream over many connections, to the end of its run.

A connection that breaks is made anew with the id that came last, for as long as `PATIENCE` without a sign of the
host. What a host sends again all the same is left out. A host that does not stream is polled.
"""

import http.client
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from weftwork.cli.client.errors import Broken, Refused, TimeUp, Unreachable
from weftwork.cli.client.sse import Frame, Parser, TooLarge, Unreadable, batched
from weftwork.cli.client.transport import Connection, Opened
from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.run.header import STATUSES, TERMINAL_STATUSES

if TYPE_CHECKING:
    from weftwork.cli.client.http_client import Client


PATIENCE: Final = 60.0
"""Seconds without a sign of the host before it is given up."""
POLL_SECONDS: Final = 20
REST: Final = 1.0
"""Seconds at least between two polls that bring nothing."""
_FIRST_DELAY: Final = 0.25
_MOST_DELAY: Final = 5.0
_ENDS: Final = frozenset({"run.completed", "run.failed", "run.cancelled"})
_NO_STREAM: Final = (404, 405, 406, 501)
_BUSY: Final = (429, 502, 503, 504)
_SYNTHETIC: Final = ("state.snapshot", "run.annotated")


class _NoStream(Exception):
    """The host does not stream."""


class EventStream:
    """Iterate once. Ends behind the last event of the run, or when the run is over and nothing more comes."""

    def __init__(
        self, client: "Client", connection: Connection, path: str, last_event_id: str | None, query: Mapping[str, Any]
    ) -> None:
        self._client = client
        self._connection = connection
        self._path = path
        self._query = query
        self._last_id = last_event_id or ""
        self._seen = _whole(last_event_id)
        self._floor = self._seen
        """Events up to here were there before this connection."""
        self._connected = False
        self._outage: float | None = None
        self._delay = _FIRST_DELAY
        self._over = False
        self._any = False
        self._warned = False

    def __iter__(self) -> Iterator[Frame]:
        try:
            yield from self._streamed()
        except _NoStream:
            self._client.notify("this host does not stream here; asking again and again instead")
            yield from self._polled()

    def _streamed(self) -> Iterator[Frame]:
        while True:
            try:
                for frame in self._connection_frames():
                    yield frame
                    if _ends(frame):
                        return
                if self._ended():
                    return
                self._wait_again(None)
            except _Quiet:
                # A host without keep-alives: nobody knows whether it is still there until it is asked anew.
                continue
            except Unreachable as error:
                if not self._connected and not isinstance(error, Broken):
                    raise
                self._wait_again(error)
            except Refused as refused:
                if refused.status in _NO_STREAM and not self._connected:
                    if refused.status == 404 and self._is_missing():
                        raise
                    raise _NoStream from None
                if refused.status not in _BUSY:
                    raise
                self._wait_again(refused)

    def _connection_frames(self) -> Iterator[Frame]:
        """The new frames of one connection."""
        headers = {"Accept": "text/event-stream", "Cache-Control": "no-cache"}
        if self._last_id:
            headers["Last-Event-ID"] = self._last_id
        opened = self._connection.open("GET", self._path, self._query, None, headers, self._client.time_left())
        try:
            if opened.kind != "text/event-stream":
                raise _NoStream
            self._connected = True
            self._floor = self._seen
            parser = Parser()
            while piece := self._piece(opened):
                self._alive()
                for found in parser.feed(piece):
                    if frame := self._taken(found):
                        yield frame
                if parser.retry_ms is not None:
                    self._delay = min(parser.retry_ms / 1000, _MOST_DELAY)
        except TooLarge:
            raise Unreachable(f"{self._client.url} sends an event that is too large to be shown.") from None
        finally:
            opened.close()

    def _piece(self, opened: Opened) -> bytes:
        left = self._client.time_left()
        opened.limit(left)
        try:
            return opened.response.read1(65_536)
        except TimeoutError:
            if self._client.time_left() == 0:
                raise TimeUp from None
            raise _Quiet from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise self._connection.broken(error) from None

    def _taken(self, found: Frame | Unreadable) -> Frame | None:
        """The frame if it is new, with the place in the stream moved on."""
        if found.id:
            self._last_id = found.id
        if isinstance(found, Unreadable):
            if not self._warned:
                self._client.notify("the host sends something that is not JSON; it is left out")
            self._warned = True
            return None
        self._any = True
        sequence = found.sequence
        if sequence is None or found.kind in _SYNTHETIC:
            return found
        # Two frames of one connection may have the same sequence: an event and what is projected from it.
        if sequence <= self._floor and not _half(found.id):
            return None
        self._seen = max(self._seen, sequence)
        return found

    def _alive(self) -> None:
        if self._outage is not None:
            self._outage = None
            self._client.notify("connected again")
        self._delay = _FIRST_DELAY

    def _ended(self) -> bool:
        """The host closed the stream: because the run is over, or because it wants to be asked anew."""
        if self._over:
            return True
        self._over = _is_end(self._status())
        # Asked once more, for what may have been missed; unless all of it would come again.
        return self._over and self._last_id == "" and self._any

    def _status(self) -> str | None:
        """How the run stands; None if nobody can say. A run that is gone is over."""
        try:
            document = self._client.get(self._path.removesuffix("/events"))
        except Unreachable:
            return None
        except Refused as refused:
            return "completed" if refused.status in (404, 410) else None
        status = document.get("status") if is_object(document) else None
        return status if isinstance(status, str) else None

    def _is_missing(self) -> bool:
        """Whether there is no such run, rather than no such stream."""
        try:
            self._client.get(self._path.removesuffix("/events"))
        except Refused as refused:
            return refused.status == 404
        except Unreachable:
            pass
        return False

    def _wait_again(self, error: Unreachable | Refused | None) -> None:
        """Before the next connection; raises when the patience is over."""
        if self._over:
            return
        now = time.monotonic()
        if self._outage is None:
            self._outage = now
            what = "is busy" if isinstance(error, Refused) else "cannot be heard any more"
            self._client.notify(f"{self._client.url} {what}; trying again for {PATIENCE:g} s")
        elif now - self._outage >= PATIENCE:
            raise error or Unreachable(f"{self._client.url} closes the stream again and again; try again later.")
        wait = self._delay
        if isinstance(error, Refused) and error.retry_after is not None:
            wait = min(max(wait, error.retry_after), PATIENCE)
        self._delay = min(self._delay * 2, _MOST_DELAY) or _FIRST_DELAY
        self._client.sleep(wait)

    def _polled(self) -> Iterator[Frame]:
        while True:
            started = time.monotonic()
            page = self._page()
            if page is None:
                continue
            listed = page.get("events")
            found = [batched(each, "") for each in listed] if is_array(listed) else []
            fresh = [each for each in found if each.sequence is None or each.sequence > self._seen]
            for frame in fresh:
                self._seen = max(self._seen, frame.sequence if frame.sequence is not None else self._seen)
                yield frame
                if _ends(frame):
                    return
            if page.get("isComplete") is True or page.get("isTerminal") is True:
                return
            if not fresh:
                if _is_end(self._status()):
                    return
                self._client.sleep(max(0.0, REST - (time.monotonic() - started)))

    def _page(self) -> dict[str, Any] | None:
        """What a poll brings; None if it is to be tried again."""
        left = self._client.time_left()
        if left == 0:
            raise TimeUp
        wait = POLL_SECONDS if left is None else max(1, min(POLL_SECONDS, int(left)))
        try:
            page = self._client.get(f"{self._path}/poll", lastSequence=self._seen, timeout=wait)
        except Unreachable as error:
            if not self._connected:
                raise
            self._wait_again(error)
            return None
        except Refused as refused:
            if not self._connected or refused.status not in _BUSY:
                raise
            self._wait_again(refused)
            return None
        if not is_object(page):
            raise Unreachable(f"{self._client.url} answers a poll with something that is no list of events.")
        self._connected = True
        self._alive()
        return page


class _Quiet(Exception):
    """Nothing came for as long as a request may take."""


def _ends(frame: Frame) -> bool:
    if frame.kind == "state.snapshot":
        inner = frame.data.get("payload")
        found = (frame.data.get("status"), inner.get("status") if is_object(inner) else None)
        return any(status in TERMINAL_STATUSES for status in found)
    return frame.kind in _ENDS


def _is_end(status: str | None) -> bool:
    """A status that nobody knows is taken for an end: every live one is in the catalogue."""
    return status is not None and (status in TERMINAL_STATUSES or status not in STATUSES)


def _whole(text: str | None) -> int:
    return int(text) if text is not None and text.isascii() and text.isdecimal() and len(text) < 17 else -1


def _half(text: str) -> bool:
    """Whether the id is that of a projection, which stands behind the event of the same sequence."""
    return text.endswith(".5")
